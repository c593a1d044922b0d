//! Quoting in less room: whole sentences where they fit, and a mark wherever something is left out.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Stands wherever a quotation leaves something out.
pub const GAP: &str = "[…]";
/// Opens and closes a block of code.
pub(super) const FENCE: &str = "```";
/// The most characters of one text that are looked at: its beginning, and as many again of its end.
const MOST_CHARS: usize = 24_000;

/// Quarter tokens of a line in which names and numbers are looked for to tell its kind.
const LONGEST_LINE: usize = 240;
/// So many sentences of one kind are told before any of another waits for a further one.
const ALIKE: usize = 3;

/// Names and numbers, told by their form alone: paths, file names, code, numbers, joined words.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x) [\w.~-]*/[\w./-]+ | \b[\w-]+\.[A-Za-z]{1,5}\b | `[^`]+` | \b\d[\d.,:%]*\w* | [A-Za-z]*[a-z][A-Z]\w+
        | \b[A-Z]{2,}[\w-]*\d | \b\w+_\w+ | \b\w+-[\w-]+\b",
    )
    .ok()
});

/// Words that are long enough to tell one line from another.
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[^\W_]{4,}|\d{2,}").ok());

/// Size of a text in quarter tokens, about: one for an ASCII character, four for one of a wide script, two for others.
pub fn size(text: &str) -> usize {
    text.chars().map(width).sum()
}

fn width(letter: char) -> usize {
    match letter {
        '\0'..='\u{7f}' => 1,
        '\u{80}'..='\u{2e7f}' => 2,
        _ => 4,
    }
}

/// Returns the names and numbers of a text.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    NAMES.iter().flat_map(move |names| names.find_iter(text)).map(|found| found.as_str())
}

/// Returns the words by which a text is compared with others.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    WORDS.iter().flat_map(move |words| words.find_iter(text)).map(|found| found.as_str())
}

/// Returns how many different names and numbers a text holds.
pub fn density(text: &str) -> usize {
    names(text).collect::<HashSet<_>>().len()
}

/// A line without its names and numbers: lines alike are of one kind.
pub(super) fn shape(line: &str) -> String {
    let line = prefix(line, LONGEST_LINE);
    let mut shape = line.to_owned();
    for name in names(line) {
        shape = shape.replacen(name, "@", 1);
    }
    prefix(&trimmed(&shape), 60).to_owned()
}

/// Returns true if words say what kind of line it is: each of a list of nothing but names and numbers says something of its
/// own.
pub(super) fn names_a_kind(shape: &str) -> bool {
    shape.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().nth(1).is_some())
}

/// A number with its noun.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The text without white space around it; on one line where it has but one.
pub fn trimmed(text: &str) -> String {
    let text = text.trim();
    if text.contains('\n') { text.to_owned() } else { text.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// The text, or its beginning of `head` and its end of `tail` quarter tokens with a mark between them. Words stay whole
/// where the text has spaces.
pub fn shortened(text: &str, head: usize, tail: usize) -> String {
    let text = trimmed(text);
    if size(&text) <= head + tail + 12 {
        return text;
    }
    let beginning = whole_words_before(prefix(&text, head));
    let end = whole_words_behind(suffix(&text[beginning.len()..], tail));
    let mut told = format!("{} {GAP}", beginning.trim_end());
    if !end.trim().is_empty() {
        told.push(' ');
        told.push_str(end.trim_start());
    }
    told
}

/// The same where a text may say the same again and again, as what is pasted does: no sentence is told twice then.
pub fn shortened_once(text: &str, head: usize, tail: usize) -> String {
    if size(text) <= head + tail + 12 {
        return trimmed(text);
    }
    let text = bounded(text);
    let parts = sentences(&text);
    let repeats = repeats(&parts);
    if repeats.is_empty() {
        return shortened(&text, head, tail);
    }
    let mut told: Vec<&str> = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        if !repeats.contains(&at) {
            told.push(part);
        } else if told.last() != Some(&GAP) {
            told.push(GAP);
        }
    }
    shortened(&told.join(" "), head, tail)
}

/// The longest beginning of at most `most` quarter tokens.
pub fn prefix(text: &str, most: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += width(*letter);
        used > most
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// The longest end of at most `most` quarter tokens.
pub fn suffix(text: &str, most: usize) -> &str {
    let mut used = 0;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        used += width(letter);
        if used > most {
            break;
        }
        start = at;
    }
    &text[start..]
}

/// The text without the word that its end may cut.
pub fn whole_words_before(text: &str) -> &str {
    match text.rfind(char::is_whitespace) {
        Some(space) if is_one_word(&text[space..]) && space > 0 => &text[..space],
        _ => text,
    }
}

/// The text without the word that its beginning may cut.
pub fn whole_words_behind(text: &str) -> &str {
    match text.find(char::is_whitespace) {
        Some(space) if is_one_word(&text[..space]) => &text[space..],
        _ => text,
    }
}

/// Returns true if a text without spaces is one word: longer ones are passages of a script that has none, or addresses.
fn is_one_word(text: &str) -> bool {
    let length = text.chars().count();
    length <= 40 || length <= 160 && text.is_ascii() && text.contains('/')
}

/// The sentences and lines of a text, in order. A number or a single letter with a dot ends none.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    // Where a mark has a fellow in its line, what stands between them is code: a dot in it ends nothing.
    let mut code_until = 0;
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        if letter == '`' && at >= code_until {
            let line = text[end..].split('\n').next().unwrap_or_default();
            code_until = line.find('`').map_or(end, |closes| end + closes + 1);
        }
        if end <= start || at < code_until && letter != '\n' {
            continue;
        }
        let end = end + closing(&text[end..]);
        let ends = match letter {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | '؟' | '।' => {
                let spaced = text[end..].starts_with(char::is_whitespace);
                spaced && !(letter == '.' && is_numbering(&text[start..at]))
            }
            _ => false,
        };
        if ends {
            found.push(text[start..end].trim());
            start = end;
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Bytes of the marks at the beginning of a text that close what the sentence before it has opened.
fn closing(text: &str) -> usize {
    let closed = text.trim_start_matches(['”', '’', '」', '』', '）', ')', '》', '"', '\'', '*']);
    let bytes = text.len() - closed.len();
    // Where no space follows, a mark that looks alike on both sides may open the next sentence.
    let is_plain = text[..bytes].contains(['"', '\'', '*']);
    if is_plain && !closed.is_empty() && !closed.starts_with(char::is_whitespace) { 0 } else { bytes }
}

/// Returns true if a sentence asks.
fn asks(sentence: &str) -> bool {
    sentence.trim_end_matches(['*', '_', '"', '”', ')', ' ']).ends_with(['?', '？', '؟'])
}

/// Returns true if a dot behind this text numbers or abbreviates: a number that opens a line, or a single letter.
fn is_numbering(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let opens = word.len() == before.trim_start().len();
    // An entry of a list of texts stands between quotation marks.
    let word = word.trim_start_matches(['\'', '"', '[', '“', '„', '«', '「']);
    let number = !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let letters: Vec<&str> = word.split('.').collect();
    let initials = !word.is_empty()
        && letters.iter().all(|part| part.chars().count() <= 1 && part.chars().all(char::is_alphabetic));
    number && opens || initials
}

/// How a passage of the agent's is quoted.
#[derive(Debug, Clone, Copy)]
pub struct PassageRoom {
    /// Quarter tokens for all of it.
    pub all: usize,
    /// The most for one sentence.
    pub sentence: usize,
    /// A call follows, which says better what the last sentence announces.
    pub announces: bool,
    /// What has come of something is looked for: a question at the end, or a word of politeness, says nothing of it.
    pub is_outcome: bool,
    /// Whole sentences or none at all.
    pub is_whole: bool,
    /// The first sentence stays, be it with its beginning: it says what somebody asks.
    pub begins: bool,
}

impl PassageRoom {
    /// Of no particular kind.
    pub fn of(all: usize, sentence: usize) -> PassageRoom {
        PassageRoom { all, sentence, announces: false, is_outcome: false, is_whole: false, begins: false }
    }

    /// Up to this size a sentence stands whole.
    fn longest(&self) -> usize {
        self.sentence.min(self.all.max(60))
    }
}

/// A passage in at most so much room: whole where it fits, else its first and its last sentence and between them those
/// that hold most names and numbers; what stands between fences is code, and a part of it helps nobody. Every gap is marked.
/// Sentences that are `usual` tell nothing and give way first.
pub fn passage(text: &str, room: PassageRoom, usual: impl Fn(&str) -> bool) -> String {
    passages(&[text], room, usual).pop().unwrap_or_default()
}

/// The same of several passages that share the room: what is told of each, empty where that is nothing.
pub fn passages(texts: &[&str], room: PassageRoom, usual: impl Fn(&str) -> bool) -> Vec<String> {
    let texts: Vec<String> = texts.iter().map(|text| bounded(text)).collect();
    let mut by_text: Vec<Vec<&str>> = texts.iter().map(|text| sentences(text)).collect();
    let mut is_cut = vec![false; texts.len()];
    if room.announces {
        // What stands in the middle heads what follows.
        for (parts, is_cut) in by_text.iter_mut().zip(&mut is_cut) {
            while parts.last().is_some_and(|last| last.ends_with([':', '：'])) {
                parts.pop();
                *is_cut = true;
            }
        }
    }
    let mark_cut = |(mut told, is_cut): (String, bool)| {
        if is_cut && !told.is_empty() {
            mark_gap(&mut told);
        }
        told
    };
    let parts: Vec<&str> = by_text.iter().flatten().copied().collect();
    let repeats = repeats(&parts);
    let whole: usize = parts.iter().map(|part| size(part) + 1).sum();
    if whole <= room.all && repeats.is_empty() {
        let told = |(text, parts): (&String, &Vec<&str>)| {
            if room.announces { parts.join(" ") } else { trimmed(text) }
        };
        return texts.iter().zip(&by_text).map(told).zip(is_cut).map(mark_cut).collect();
    }
    let kept = chosen(&parts, &repeats, room, usual);
    joined(&by_text, &kept, room).into_iter().zip(is_cut).map(mark_cut).collect()
}

/// Quarter tokens of a sentence that says something by itself: shorter ones, such as the marks of lists, may come again.
const LEAST_SENTENCE: usize = 12;

/// The places of sentences that stand further ahead word for word: no sentence is told twice.
fn repeats(parts: &[&str]) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let mut repeats = HashSet::new();
    for (at, part) in parts.iter().enumerate() {
        if size(part) > LEAST_SENTENCE && !seen.insert(*part) {
            repeats.insert(at);
        }
    }
    repeats
}

/// Of a very long text the beginning and the end.
fn bounded(text: &str) -> String {
    if text.len() <= 2 * MOST_CHARS {
        return text.to_owned();
    }
    format!("{}\n{GAP}\n{}", prefix(text, MOST_CHARS), suffix(text, MOST_CHARS))
}

/// The places of the sentences that are told.
fn chosen(parts: &[&str], repeats: &HashSet<usize>, room: PassageRoom, usual: impl Fn(&str) -> bool) -> HashSet<usize> {
    let code = fenced(parts);
    // A rule between two parts of a text says nothing, nor does a number without what it numbers.
    let is_said = |at: &usize| !repeats.contains(at) && parts[*at].chars().any(char::is_alphabetic);
    let speaks = |at: &usize| is_said(at) && !code.contains(at);
    let mut told: Vec<usize> = (0..parts.len()).filter(speaks).collect();
    if told.is_empty() {
        told = (0..parts.len()).filter(is_said).collect();
    }
    let (first, last) = (told.first().copied().unwrap_or(0), told.last().copied().unwrap_or(0));
    let rank = |at: usize| {
        let place = match at {
            _ if usual(parts[at]) => -9.0,
            // The half of a sentence may say the contrary.
            _ if size(parts[at]) > room.longest() && !(room.begins && at == first) => -6.0,
            _ if at == last && room.announces => -1.0,
            // What a brief answer agrees to, but no outcome.
            _ if at == last && !room.is_outcome && asks(parts[at]) => 1.0,
            _ if at == last && !(room.is_outcome && (asks(parts[at]) || density(parts[at]) == 0)) => 3.0,
            _ if at == first && room.begins => 9.0,
            _ if at == first && !room.announces => 2.0,
            _ => 0.0,
        };
        // Nothing else leads to an address again.
        let marked = if is_marked(parts[at]) || parts[at].contains("://") { 1.5 } else { 0.0 };
        // Who asks for something writes in capitals what must not be missed.
        let shouted = if room.begins && is_shouted(parts[at]) { 4.0 } else { 0.0 };
        // Names and numbers within data say nothing of what somebody asks.
        let named = if room.begins && is_data(parts[at]) { 0 } else { density(parts[at]) };
        place + marked + shouted + named as f64 / (1.0 + size(parts[at]) as f64 / 120.0)
    };
    let mut order: Vec<(usize, f64)> = told.into_iter().map(|at| (at, rank(at))).collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    // Of sentences that differ in names and numbers alone a few say what the others do.
    let mut kinds: HashMap<String, usize> = HashMap::new();
    let is_one_more = |(at, _): &(usize, f64)| {
        let kind = shape(parts[*at]);
        if !names_a_kind(&kind) {
            return false;
        }
        let alike = kinds.entry(kind).or_default();
        *alike += 1;
        *alike > ALIKE
    };
    let (further, first_of_kind): (Vec<_>, Vec<_>) = order.into_iter().partition(is_one_more);
    let (mut kept, mut used) = (HashSet::new(), 0);
    for (at, _) in first_of_kind.into_iter().chain(further) {
        if kept.contains(&at) {
            continue;
        }
        // One row of several, or one entry, reads as if there were no other.
        let group = group(parts, at);
        let cost: usize = group.clone().map(|at| size(parts[at])).sum();
        let is_short = group.clone().all(|at| size(parts[at]) <= room.longest());
        if group.len() > 1 && is_short && used + cost <= room.all {
            used += cost;
            kept.extend(group.filter(|at| !repeats.contains(at)));
            continue;
        }
        let is_whole = size(parts[at]) <= room.longest() || room.begins && at == first;
        let cost = size(parts[at]).min(room.longest());
        let fits = if room.is_whole { is_whole } else { kept.is_empty() || is_whole };
        if fits && (kept.is_empty() || used + cost <= room.all) {
            kept.insert(at);
            used += cost;
        }
    }
    // A row says nothing without the names of its columns, and an entry of a list may hold only under what heads it.
    let heads_list = |at: usize| head_of_list(parts, at).filter(|head| size(parts[*head]) <= room.longest());
    let heads: HashSet<usize> =
        kept.iter().flat_map(|at| [head_of_table(parts, *at), heads_list(*at)]).flatten().collect();
    kept.extend(&heads);
    // A heading says nothing without what stands below it.
    let opens = |at: &usize| room.begins && *at == first;
    let stands = |at: &usize| !is_heading(parts[*at]) || kept.contains(&(at + 1)) || heads.contains(at) || opens(at);
    let told: HashSet<usize> = kept.iter().copied().filter(stands).collect();
    if told.is_empty() { kept } else { told }
}

/// Returns true if the writer has marked some of a sentence as what matters.
fn is_marked(part: &str) -> bool {
    part.split("**").nth(1).is_some_and(|marked| marked.chars().any(char::is_alphanumeric))
        && part.matches("**").count() > 1
}

/// Returns true for a line that holds several texts between quotation marks with colons, as JSON does.
fn is_data(part: &str) -> bool {
    part.matches("\":").count() >= 3
}

/// Returns true if several words in a row are written in capitals, and others are not.
fn is_shouted(part: &str) -> bool {
    let is_loud = |word: &str| {
        let letters = || word.chars().filter(|letter| letter.is_alphabetic());
        letters().nth(1).is_some() && letters().all(char::is_uppercase)
    };
    let words: Vec<&str> = part.split_whitespace().collect();
    words.windows(2).any(|pair| is_loud(pair[0]) && is_loud(pair[1])) && part.chars().any(char::is_lowercase)
}

/// The place of the first row of the table that a row stands in, unless it is that one.
fn head_of_table(parts: &[&str], at: usize) -> Option<usize> {
    let rows = parts.get(..=at)?.iter().rev().take_while(|part| is_row(part)).count();
    (rows > 1).then(|| at + 1 - rows)
}

/// Rows and entries of a table or a list that is told whole or not at all where it fits.
const MOST_OF_GROUP: usize = 10;

/// The table or the list in which a sentence stands, with what heads the list; else the sentence alone.
fn group(parts: &[&str], at: usize) -> Range<usize> {
    let alone = at..at + 1;
    let is_same: fn(&str) -> bool = match parts[at] {
        part if is_row(part) => is_row,
        part if is_entry(part) => is_entry,
        _ => return alone,
    };
    let before = parts[..at].iter().rev().take_while(|part| is_same(part)).count();
    let behind = parts[at..].iter().take_while(|part| is_same(part)).count();
    let group = at - before..at + behind;
    if group.len() > MOST_OF_GROUP {
        return alone;
    }
    match group.start.checked_sub(1) {
        Some(head) if is_entry(parts[at]) && parts[head].ends_with([':', '：']) => head..group.end,
        _ => group,
    }
}

fn is_row(part: &str) -> bool {
    part.starts_with('|') && part.ends_with('|') && part.len() > 2
}

fn is_entry(part: &str) -> bool {
    let number = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < part.len() && (number.starts_with(". ") || number.starts_with(") "));
    is_numbered || part.starts_with("- ") || part.starts_with("* ") || part.starts_with("• ")
}

/// Sentences before an entry of a list among which what heads the list is looked for.
const LIST_REACH: usize = 6;

/// The place of the sentence that heads the list in which an entry stands.
fn head_of_list(parts: &[&str], at: usize) -> Option<usize> {
    let before = at.saturating_sub(LIST_REACH)..at;
    let heads = |at: &usize| parts[*at].ends_with([':', '：']) && !is_entry(parts[*at]);
    is_entry(parts[at]).then(|| before.rev().find(heads))?
}

/// The places of what stands between fences, the fences too.
fn fenced(parts: &[&str]) -> HashSet<usize> {
    let mut is_open = false;
    let mut code = HashSet::new();
    for (at, part) in parts.iter().enumerate() {
        let is_fence = part.starts_with(FENCE) || part.starts_with("~~~");
        if is_fence || is_open {
            code.insert(at);
        }
        is_open ^= is_fence;
    }
    code
}

fn is_heading(part: &str) -> bool {
    let is_marked = part.starts_with('#') || part.starts_with("**") && part.ends_with("**");
    part.ends_with([':', '：']) || part.chars().count() < 90 && is_marked
}

/// What is told of each text; what goes between two of them is marked in the one that is told.
fn joined(by_text: &[Vec<&str>], kept: &HashSet<usize>, room: PassageRoom) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut at, mut next, mut is_last_told) = (0, 0, None);
    for parts in by_text {
        let mut told = String::new();
        for part in parts {
            if kept.contains(&at) {
                if at > next {
                    mark_gap(&mut told);
                }
                if !told.is_empty() {
                    told.push(' ');
                }
                // What a sentence says may hold only on the condition with which it ends.
                told.push_str(&shortened(part, room.longest() * 3 / 5, room.longest() * 2 / 5));
                next = at + 1;
                is_last_told = Some(all.len());
            }
            at += 1;
        }
        // Where words of this text stand, its end is marked at it, and not where the next one begins.
        if at > next && !told.is_empty() {
            mark_gap(&mut told);
            next = at;
        }
        all.push(told);
    }
    if next < at {
        match is_last_told.and_then(|last| all.get_mut(last)) {
            Some(last) => mark_gap(last),
            // Where no sentence fits, that there was one is all that is told.
            None => all.last_mut().into_iter().for_each(mark_gap),
        }
    }
    all
}

/// Marks that something is left out behind a text, once.
fn mark_gap(told: &mut String) {
    if told.ends_with(GAP) {
        return;
    }
    if !told.is_empty() {
        told.push(' ');
    }
    told.push_str(GAP);
}

/// Gaps that follow each other are one.
pub(super) fn one_gap(mut told: String) -> String {
    while told.contains("[…] […]") {
        told = told.replace("[…] […]", GAP);
    }
    told
}

/// Returns true if a line holds a letter or a digit.
pub(super) fn says(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests;
