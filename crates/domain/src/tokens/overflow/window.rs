//! The window that a refusal names, read by what every such sentence holds: a number that a word for a bound governs, and
//! that is counted in tokens of what was sent. Who wrote the sentence plays no part.

use std::sync::LazyLock;

use regex::Regex;

/// A longer text is read up to here, in bytes.
const MAX_READ: usize = 4_000;
/// How far before its number a bound may stand, in bytes.
const REACH: usize = 120;
/// No model has a window of so few or so many tokens: the number means something else.
const LEAST_NAMED: u64 = 1_000;
const MOST_NAMED: u64 = 100_000_000;

/// What the answer may take, under any name: that is a bound on another thing.
const OUTPUT: &str = r"max_?(?:(?:new|output|completion)_?)?tokens|max (?:(?:new|output|completion) )?tokens\b|(?:completion|output|reasoning|thinking|generated|budget)[_ ]tokens";
/// What is sent, in whatever words.
const INPUT: &str = r"tokens?\b|context|prompt|\binputs?\b|sequence|token_?count";
/// What is counted in something else, or is a part with a bound of its own.
const OTHER_UNITS: &str = r"\b(?:strings?|characters?|chars|bytes?|[kmg]i?b|arrays?|items|pixels?|images?|pages?|files?|tools|seconds|minutes|batch)\b";
/// Words for a bound. The weak ones name a size that need not be one.
const STRONG: &str = r"\b(?:max(?:imum)?|limit(?:ed)?|only|at most|up to|no more than|must have|cannot)\b|exceed(?:s|ed|ing)?\b[^:]*$|(?:less|fewer|long|great|larg|more)(?:er)? than\b|less than or equal to|<=?|≤";
const WEAK: &str = r"context (?:window|length|size)|context_(?:window|length|size)";

fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are constants and a test compiles them")]
    Regex::new(&format!("(?i){text}")).expect("a constant pattern")
}

static RE_NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d[\d,._]*(?:\s?[km]\b)?"));
static RE_OUTPUT: LazyLock<Regex> = LazyLock::new(|| pattern(OUTPUT));
static RE_INPUT: LazyLock<Regex> = LazyLock::new(|| pattern(INPUT));
static RE_OTHER_UNITS: LazyLock<Regex> = LazyLock::new(|| pattern(OTHER_UNITS));
static RE_STRONG: LazyLock<Regex> = LazyLock::new(|| pattern(STRONG));
static RE_WEAK: LazyLock<Regex> = LazyLock::new(|| pattern(WEAK));
/// A bound may follow its number.
static RE_BEHIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:tokens?\s*)?(?:,? ?(?:which )?is the |as )?max(?:imum)?\b"));
/// It is a bound from below.
static RE_LEAST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:(?:great|larg|more)(?:er)? than or equal to|>=|≥|at least|minimum(?: of)?)\W*$"));
/// It is by how much too many there are, not how many there may be.
static RE_EXCESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bby (?:about )?\W?$"));
/// What stands in brackets behind such a word alone may be a code.
static RE_BARE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:limit|exceeded)\s*\($"));
/// llama.cpp's own field, and a range: nothing around the number says what it is.
static RE_FIELDS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [pattern(r"n_ctx\W{0,4}(\d[\d,._]*)"), pattern(r"range of input length should be \[\d+, ?(\d[\d,._]*)\]")]
});

/// A number as it stands in the text, and by what it is taken for the window.
struct Candidate {
    size: u64,
    /// The smaller, the surer.
    doubt: u32,
}

/// The window that a refusal names, in tokens. `None`: it names none.
pub fn named_window(text: &str) -> Option<u32> {
    let text = text.get(..text.floor_char_boundary(MAX_READ.min(text.len())))?;
    let field = RE_FIELDS.iter().find_map(|field| number(field.captures(text)?.get(1)?.as_str()));
    let found = field.or_else(|| {
        let candidates: Vec<Candidate> = clauses(text).flat_map(candidates).collect();
        candidates.iter().min_by_key(|candidate| candidate.doubt).map(|candidate| candidate.size)
    });
    found.filter(|size| *size <= MOST_NAMED).and_then(|size| u32::try_from(size).ok())
}

/// The sentences of a text, the lines of one that has none, and the texts in a body.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '…', '"']).flat_map(|line| line.split(". "))
}

fn candidates(clause: &str) -> Vec<Candidate> {
    let numbers: Vec<(usize, usize, u64)> = RE_NUMBER
        .find_iter(clause)
        .filter(|found| stands_alone(clause, found.start(), found.end()))
        .filter_map(|found| Some((found.start(), found.end(), number(found.as_str())?)))
        .collect();
    let largest = numbers.iter().map(|(_, _, size)| *size).max().unwrap_or(0);
    let mut found = Vec::new();
    let mut from = 0;
    for (start, end, size) in &numbers {
        let near = clause.floor_char_boundary(from.max(start.saturating_sub(REACH)));
        let before = &clause[near..*start];
        from = *end;
        let is_size = (LEAST_NAMED..=MOST_NAMED).contains(size);
        if !is_size
            || RE_EXCESS.is_match(before)
            || RE_LEAST.is_match(before)
            || (RE_BARE.is_match(before) && largest <= *size)
        {
            continue;
        }
        let doubt = match () {
            () if before.contains('>') => 0,
            () if RE_STRONG.is_match(before) => {
                if RE_INPUT.is_match(before) && before.contains("context") {
                    1
                } else {
                    2
                }
            }
            () if RE_BEHIND.is_match(&clause[*end..]) => 2,
            () if RE_WEAK.is_match(before) => 3,
            () => continue,
        };
        if counts_input(&clause[..*start], &clause[*end..]) && !RE_OTHER_UNITS.is_match(clause) {
            found.push(Candidate { size: *size, doubt });
        }
    }
    found
}

/// Returns true if what is bounded is what was sent: what is named before the number, else behind it. The output alone is not.
fn counts_input(before: &str, behind: &str) -> bool {
    let names = |text: &str| {
        let output = RE_OUTPUT.is_match(text);
        let input = RE_INPUT.is_match(&RE_OUTPUT.replace_all(text, " "));
        (output, input)
    };
    match (names(before), names(behind)) {
        ((_, true), _) | ((false, false), (false, true)) => true,
        ((true, false), _) => false,
        // What two numbers of one thing are told in.
        ((false, false), (output, _)) => !output && before.to_ascii_lowercase().contains("length"),
    }
}

/// Returns true if the number is no part of a name: `gpt-4o`, `llama-3.1-8b`.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '/');
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    !before.is_some_and(joins) && !after.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
}

/// A number as people write it: with separators, or in thousands.
fn number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let unit = match text.trim_end().chars().next_back() {
        Some('k' | 'K') => 1_000,
        Some('m' | 'M') => 1_000_000,
        _ => 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
