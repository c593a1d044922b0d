//! Terms and where they match.

/// One word, or the words of a phrase, folded. In a text the words of a phrase are parted by any white space.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    words: Vec<String>,
}

/// Bytes `start..end` of a text; `whole`: they are not part of a longer word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    pub start: usize,
    pub end: usize,
    pub whole: bool,
}

/// Lower case, byte for byte as long as the text: a place in one is the same place in the other. The few letters whose
/// lower case has another length stay.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(lower).collect()
}

fn lower(letter: char) -> char {
    let mut lowered = letter.to_lowercase();
    match (lowered.next(), lowered.next()) {
        (Some(one), None) if one.len_utf8() == letter.len_utf8() => one,
        _ => letter,
    }
}

impl Term {
    /// `None`: there is nothing but white space.
    pub fn of(text: &str) -> Option<Term> {
        let words: Vec<String> = text.split_whitespace().map(fold).collect();
        (!words.is_empty()).then_some(Term { words })
    }

    /// See [`super::Query::probes`]. Of letters only those without case, or ASCII, which is lowered on both sides.
    pub fn probe(&self) -> Option<String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let caseless = |letter: char| {
            letter.is_alphanumeric() && !letter.is_ascii() && letter.to_lowercase().eq(letter.to_uppercase())
        };
        let runs = self.words.iter().flat_map(|word| word.split(|letter| !plain(letter) && !caseless(letter)));
        runs.max_by_key(|run| run.len()).filter(|run| !run.is_empty()).map(str::to_owned)
    }

    /// Every match, in order. `folded` is [`fold`] of `text`.
    pub fn matches<'t>(&'t self, text: &'t str, folded: &'t str) -> impl Iterator<Item = Match> + 't {
        let first = self.words.first().map_or("", String::as_str);
        folded.match_indices(first).filter_map(move |(start, found)| {
            let end = self.rest(folded, start + found.len())?;
            let begins = beginning(text, start)?;
            let ends = ending(text, start, end)?;
            Some(Match { start, end, whole: begins && ends })
        })
    }

    /// Where the further words of a phrase end, if they follow at `at`.
    fn rest(&self, folded: &str, mut at: usize) -> Option<usize> {
        for word in self.words.iter().skip(1) {
            let rest = folded.get(at..)?;
            let trimmed = rest.trim_start();
            if trimmed.len() == rest.len() || !trimmed.starts_with(word.as_str()) {
                return None;
            }
            at = folded.len() - trimmed.len() + word.len();
        }
        Some(at)
    }
}

/// Returns true if a match at `start` begins a whole word, false if only a part of one; `None`: it begins neither.
fn beginning(text: &str, start: usize) -> Option<bool> {
    let mut after = text.get(start..)?.chars();
    let (first, second) = (after.next()?, after.next());
    let Some(before) = text.get(..start)?.chars().next_back() else { return Some(true) };
    if !in_word(first) || !in_word(before) || unspaced(first) || unspaced(before) {
        return Some(true);
    }
    let hump = first.is_uppercase() && (before.is_lowercase() || second.is_some_and(char::is_lowercase));
    let part = before == '_' || first == '_' || hump || before.is_numeric() != first.is_numeric();
    part.then_some(false)
}

/// Returns true if a match ends with a whole word, false if within one; `None`: it ends within a number, which is then
/// another number.
fn ending(text: &str, start: usize, end: usize) -> Option<bool> {
    let Some(after) = text.get(end..)?.chars().next() else { return Some(true) };
    let matched = text.get(start..end)?;
    let last = matched.chars().next_back()?;
    if !in_word(after) || !in_word(last) || unspaced(after) || unspaced(last) {
        return Some(true);
    }
    let before_digits = matched.trim_end_matches(|letter: char| letter.is_ascii_digit()).chars().next_back();
    let is_number = last.is_ascii_digit() && !before_digits.is_some_and(char::is_alphanumeric);
    (!is_number || !after.is_ascii_digit()).then_some(false)
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Letters of scripts that are written without spaces between words, and of Korean, whose words carry endings.
fn unspaced(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}')
}
