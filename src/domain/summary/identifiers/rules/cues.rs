//! Words and turns of phrase by which one rule answers another.

/// Words that say nothing about what a rule is about.
pub const EMPTY: &str = "\
    a an the to of in on at for with and or but so is are be it its this that these those you your i we me \
    my our please just really always now from then all any every each should must shall will can may have \
    has do as by if want prefer like use using used make sure keep ok okay yes only also again instead \
    actually rather than over here there said what about forget rule anymore more longer fucking fine \
    allowed free feel up under below max maximum min minimum most least less within until before important \
    note remember verwende benutze nutze bitte die der das und ein eine fur auf mit immer doch lieber jetzt \
    ab du utilise utilisez le la les des un une pour en et de toujours plutot finalement usa utiliza el los \
    las una para con y siempre mejor на в и теперь лучше используй пожалуйста";
/// Words before a number that is a name.
pub const NUMBERED: &str = "\
    part step phase round task issue ticket module chapter kind group item number numbered milestone sprint pr \
    section stage file teil schritt phase aufgabe partie etape paso parte";
/// Words for answering: a language or a length is of all of them.
pub const ANSWER: &str = "\
    answer answers reply replies respond response responses speak talk antworte sprich reponds repondez \
    parle responde habla отвечай";
pub const NEGATIONS: &str = "\
    not no never don't dont without avoid stop cannot can't mustn't shouldn't hate nicht nie niemals kein \
    keine keinen ohne vermeide ne pas jamais sans evite nunca sin evita не никогда без нельзя";

pub const WIDE_NEGATIONS: &[&str] =
    &["不要|请勿|禁止|绝不|不准|不能|别|しないで|ないで|するな|하지 마|지 마|지 말|금지"];
/// Words that say that something said before no longer holds.
pub const CORRECTIONS: &[&str] = &[
    "actually|instead|no longer|anymore|any more|changed my mind|on second thought|from now on|after all|",
    "doch|stattdessen|nicht mehr|ab jetzt|finalement|plutot|desormais|en realidad|mejor|ya no|",
    "a partir de ahora|вместо|лучше|больше не|теперь|改用|改成|不再|其实|还是|从现在|やっぱり|やはり|今後|대신|이제|앞으로",
];
/// Begin a rule that corrects what was said before.
pub const OPENINGS: &[&str] = &["no, |no. |nein, |non, |нет, |wait, |不，|不对，|いや、|아니, "];
/// Begin a rule that only does away with something.
pub const CANCELS: &[&str] = &["forget |scratch |disregard |ignore |vergiss|oublie|olvida|забудь|忘掉|忘了"];
/// Stand between what is wanted and what is to be gone.
pub const NOT: &[&str] = &[
    ", not | instead of | rather than | and not | but not |, no |, nicht | statt | anstatt | anstelle |",
    " au lieu d| plutot que |, pas | et non | et pas | en lugar de | en vez de |, а не | вместо |而不是|，不要|",
    "，别",
];
/// Stand between what is to be gone and what is wanted.
pub const BUT: &[&str] = &["ではなく|じゃなく| 말고 | 대신 |の代わりに"];

/// Returns true if the word is one of a list's, which spaces part.
pub fn lists(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// The phrases of a list, which bars part: spaces at their ends count.
pub fn phrases(list: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    list.iter().flat_map(|line| line.split('|')).filter(|phrase| !phrase.is_empty())
}
