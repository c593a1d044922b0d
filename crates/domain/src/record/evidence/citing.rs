//! The numbers that a statement cites: `#12`, `#12-#15` for calls, `u3` for messages of the user's.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

/// A range of more numbers shows nothing in particular.
const WIDEST: u32 = 60;

static CALLS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"#(\d{1,9})(?:\s?[-–—…]\s?#?(\d{1,9}))?").ok());
static USERS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bu(\d{1,9})(?:\s?[-–—…]\s?u?(\d{1,9}))?\b").ok());
/// What stands in brackets of any kind and holds a citation.
static BRACKETS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[(\[（【][^()\[\]（）【】]*[)\]）】]").ok());
/// The word that says that nothing was seen: one of ours, whatever the language around it.
static INFERRED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)[(\[（【,;]\s*inferred\s*[)\]）】,;]").ok());

/// What a statement cites, and the statement without it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Citation {
    pub calls: Vec<u32>,
    pub users: Vec<u32>,
    /// A range that is no citation: too wide, or its end comes before its beginning.
    pub is_vague: bool,
    pub says_inferred: bool,
    pub without: String,
}

/// Reads the citations. Those in brackets are meant where there are any: `#12` in a sentence may be an issue's number.
pub(super) fn of(text: &str) -> Citation {
    let mut citation = Citation::default();
    let (mut rest, mut bracketed) = (String::new(), String::new());
    let mut next = 0;
    for found in BRACKETS.iter().flat_map(|brackets| brackets.find_iter(text)) {
        if cites(found.as_str()) || is_inferred(found.as_str()) {
            rest.push_str(&text[next..found.start()]);
            bracketed.push_str(found.as_str());
            next = found.end();
        }
    }
    rest.push_str(&text[next..]);
    citation.says_inferred = is_inferred(&bracketed);
    let within = if cites(&bracketed) { &bracketed } else { &rest };
    (citation.calls, citation.users) =
        (numbers(&CALLS, within, &mut citation.is_vague), numbers(&USERS, within, &mut citation.is_vague));
    citation.without = if cites(&bracketed) { rest } else { bare(&rest) };
    citation
}

/// A text without what it cites and without numbers that only may be citations.
pub fn without_citations(text: &str) -> String {
    text.lines().map(|line| bare(&of(line).without)).collect::<Vec<_>>().join("\n")
}

fn cites(text: &str) -> bool {
    [&CALLS, &USERS].iter().any(|kind| kind.as_ref().is_some_and(|kind| kind.is_match(text)))
}

fn is_inferred(text: &str) -> bool {
    INFERRED.as_ref().is_some_and(|inferred| inferred.is_match(text))
}

fn bare(text: &str) -> String {
    let without = |text: &str, kind: &Option<Regex>| match kind {
        Some(kind) => kind.replace_all(text, "").into_owned(),
        None => text.to_owned(),
    };
    without(&without(text, &CALLS), &USERS)
}

fn numbers(kind: &Option<Regex>, text: &str, is_vague: &mut bool) -> Vec<u32> {
    let mut found = Vec::new();
    for captures in kind.iter().flat_map(|kind| kind.captures_iter(text)) {
        let number = |at: usize| captures.get(at).and_then(|number| number.as_str().parse::<u32>().ok());
        let Some(first) = number(1) else { continue };
        let last = number(2).unwrap_or(first);
        let range: RangeInclusive<u32> = first..=last;
        if range.is_empty() || last - first >= WIDEST {
            *is_vague = true;
            found.extend([first, last]);
        } else {
            found.extend(range);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_read() {
        let cited = |text: &str| {
            let Citation { calls, users, .. } = of(text);
            (calls, users)
        };
        assert_eq!(cited("Moved it (#4)."), (vec![4], vec![]));
        assert_eq!(cited("Moved it (#4-#6, #9; u2)."), (vec![4, 5, 6, 9], vec![2]));
        assert_eq!(cited("测试通过（#12–13）。"), (vec![12, 13], vec![]));
        assert_eq!(cited("Issue #881 is closed (#7)."), (vec![7], vec![]), "an issue's number is none");
        assert_eq!(cited("#7 ran the tests, as u3 asks."), (vec![7], vec![3]));
        assert_eq!(cited("The menu2 and u2f stay."), (vec![], vec![]));
        assert!(of("All of it (#1-#900).").is_vague && of("Backwards (#9-#3).").is_vague);
        assert!(of("The cache is stale (inferred).").says_inferred && !of("I inferred it.").says_inferred);
        assert_eq!(of("Port 5177 is used (#4).").without, "Port 5177 is used .");
    }
}
