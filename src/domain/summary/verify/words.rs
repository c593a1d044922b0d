//! Words that tell something, of which a summary says what it is about.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::domain::record::words::{LEAST, Word};

/// Words that stand in summaries of everything.
const COMMON: &str = "about above according action actions active actual actually added adding after again agent agents
    along already also although always another answer answered anything asked asks assistant available based because been
    before begin being below between blocked both cannot carry change changed changes check completed complete constraints
    content context continue conversation could critical current currently decided decision decisions details different
    does doing done each earlier either else ensure established even every everything existing files file final first
    following found from further goal goals have having here history however identified important include included includes
    including information initial instead into issue issues items just keep key last later like list made main make many
    message messages more most much must need needed needs never next none note notes nothing noted only other over part
    pending possible preferences previous previously problem progress provided question questions recent related relevant
    remaining request requested requests required result results same session should since some state status step steps
    still such summary take taken task tasks than that their them then there these they thing things this those through
    time together topic under until update updated updates used user users uses using very want wanted wants were what
    when where whether which while will with within without work worked working works would written your
    aber alle auch beim dass dem denen diese dieser dieses durch eine einem einen einer eines erledigt fortschritt für haben
    hat kein keine muss müssen nach nicht noch nächste oder schritte sein sich sind sowie über und wenn werden wird wurde
    wurden ziel zusammenfassung nutzer benutzer
    avec cette dans des elle être fait leur mais nous objectif pour prochaines étapes sans sont sur tous tout une utilisateur
    como con cuando debe desde ellos entre esta este esto está hacer han hasta muy objetivo para pasos pero por porque
    próximos que sido sin sobre también todo todos una usuario
    была было были быть для если или как когда который надо нет после при пользователь также только цель чтобы что это";

static COMMON_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| COMMON.split_whitespace().collect());

/// Returns true if a word tells something: no number, and none of the words of every summary.
pub(super) fn tells(word: Word<'_>) -> bool {
    if word.is_pair {
        return true;
    }
    let is_long = word.text.chars().nth(LEAST - 1).is_some();
    is_long && word.text.chars().any(char::is_alphabetic) && !COMMON_WORDS.contains(word.text)
}

/// [`tells`] for a word as it stands in a text.
pub(super) fn tells_in_text(word: &str) -> bool {
    !COMMON_WORDS.contains(word.to_lowercase().as_str())
}
