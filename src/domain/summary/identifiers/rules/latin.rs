//! Languages in Latin letters: which of them a text is in, and their tables of patterns.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::table::RuleTable;
use super::{english, french, german, spanish};

/// A [`RuleTable`], compiled.
struct Compiled {
    noise: Regex,
    fillers: Regex,
    idle: Regex,
    rules: RegexSet,
    polite: Regex,
}

impl Compiled {
    fn of(table: &RuleTable) -> Option<Compiled> {
        let ascii = |pattern: &str| RegexBuilder::new(pattern).unicode(false).build().ok();
        let rules = table.rules.iter().map(|rule| rule.replace('@', table.order));
        Some(Compiled {
            noise: ascii(table.noise)?,
            fillers: ascii(&format!(
                r"^(?:(?:{})\b[\s,.:;!~-]*|(?:no|nein|non|wait|hey)[,.;:!-]+\s*|[0-9]{{1,2}}[.)]\s+|[^a-z0-9$]+)+",
                table.fillers
            ))?,
            idle: ascii(&table.idle.join("|"))?,
            polite: ascii(table.polite)?,
            rules: RegexSetBuilder::new(rules).unicode(false).size_limit(64 << 20).build().ok()?,
        })
    }

    fn is_rule(&self, sentence: &str) -> bool {
        if sentence.trim_end().ends_with('?') && !self.polite.is_match(sentence.as_bytes()) {
            return false;
        }
        let said = self.noise.replace_all(sentence.as_bytes(), &b""[..]);
        let said = self.idle.replace_all(&said, &b" ~ "[..]);
        let said = self.fillers.replace(&said, &b""[..]);
        self.rules.is_match(&said)
    }
}

static ENGLISH: LazyLock<Option<Compiled>> = LazyLock::new(|| Compiled::of(&english::TABLE));
static GERMAN: LazyLock<Option<Compiled>> = LazyLock::new(|| Compiled::of(&german::TABLE));
static FRENCH: LazyLock<Option<Compiled>> = LazyLock::new(|| Compiled::of(&french::TABLE));
static SPANISH: LazyLock<Option<Compiled>> = LazyLock::new(|| Compiled::of(&spanish::TABLE));

/// More of a text than this does not tell its language better.
const TELLING: usize = 4_000;

/// Languages that a text may be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latin {
    english: bool,
    german: bool,
    french: bool,
    spanish: bool,
}

impl Latin {
    /// The languages of most frequent words; any where there are none.
    pub fn of(text: &str) -> Latin {
        let start = text.char_indices().nth(TELLING).map_or(text, |(end, _)| &text[..end]);
        let folded = folded(start);
        let mut counts = [0_usize; 4];
        for word in folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            for (count, table) in
                counts.iter_mut().zip([&english::TABLE, &german::TABLE, &french::TABLE, &spanish::TABLE])
            {
                *count += usize::from(table.words.contains(&word));
            }
        }
        let [english, german, french, spanish] = counts;
        let most = counts.into_iter().max().unwrap_or(0);
        let is = |count: usize| count == most;
        Latin { english: is(english), german: is(german), french: is(french), spanish: is(spanish) }
    }

    pub fn is_rule(self, folded: &str) -> bool {
        let tables =
            [(self.english, &ENGLISH), (self.german, &GERMAN), (self.french, &FRENCH), (self.spanish, &SPANISH)];
        tables.into_iter().any(|(spoken, table)| spoken && table.as_ref().is_some_and(|table| table.is_rule(folded)))
    }
}

/// The text in lower case ASCII.
pub fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_ascii() => folded.push(c),
            'à' | 'á' | 'â' | 'ä' | 'ã' | 'å' => folded.push('a'),
            'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
            'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
            'ò' | 'ó' | 'ô' | 'ö' | 'õ' => folded.push('o'),
            'ù' | 'ú' | 'û' | 'ü' => folded.push('u'),
            'ç' => folded.push('c'),
            'ñ' => folded.push('n'),
            'ß' => folded.push_str("ss"),
            'œ' => folded.push_str("oe"),
            'æ' => folded.push_str("ae"),
            '‘' | '’' => folded.push('\''),
            '“' | '”' | '«' | '»' => folded.push('"'),
            '–' | '—' => folded.push('-'),
            '€' | '£' | '¥' => folded.push('$'),
            '…' => folded.push_str("..."),
            _ => folded.push(' '),
        }
    }
    folded
}
