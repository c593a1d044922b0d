//! A text as words that can be compared, whatever its script.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Letters of a word that tell it from others; endings differ between forms.
const STEM: usize = 6;
/// A shorter word says little.
const LEAST: usize = 4;

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

/// A word: whole, and without its ending.
#[derive(Debug, Clone, Copy)]
pub struct Word<'w> {
    pub text: &'w str,
    /// Two neighbouring signs of a script that puts no spaces.
    pub is_pair: bool,
}

impl Word<'_> {
    pub(super) fn hash(&self) -> u64 {
        hashed(self.text)
    }

    /// Hash of the word without its ending.
    pub fn stem(&self) -> u64 {
        let word = self.text.strip_suffix('s').filter(|word| word.len() >= LEAST - 1).unwrap_or(self.text);
        let end = word.char_indices().nth(STEM).map_or(word.len(), |(at, _)| at);
        hashed(&word[..end])
    }
}

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

/// Calls `found` for every word of a text in order, in small letters.
pub fn each(text: &str, found: &mut dyn FnMut(Word<'_>)) {
    let mut word = String::new();
    let mut before: Option<char> = None;
    let flush = |word: &mut String, found: &mut dyn FnMut(Word<'_>)| {
        if !word.is_empty() {
            found(Word { text: word, is_pair: false });
            word.clear();
        }
    };
    for c in text.chars() {
        if is_unspaced(c) {
            flush(&mut word, found);
            if let Some(before) = before.replace(c) {
                let pair: String = [before, c].iter().collect();
                found(Word { text: &pair, is_pair: true });
            }
            continue;
        }
        before = None;
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else {
            flush(&mut word, found);
        }
    }
    flush(&mut word, found);
}

/// Han, kana, Hangul, Thai: no spaces, or endings that stick to the word.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
