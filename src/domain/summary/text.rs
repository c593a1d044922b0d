//! Small text tools that the summariser, the ledger and the identifiers share. All are linear.

use std::borrow::Cow;

/// The text on one line: runs of whitespace and control characters become one space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(512));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// At most `max` characters, the last of them `…` where something is missing. No word is cut where the text has
/// spaces.
pub fn clip(text: &str, max: usize) -> String {
    let mut ends = text.char_indices().map(|(at, _)| at).skip(max.saturating_sub(1));
    match (ends.next(), ends.next()) {
        (Some(end), Some(_)) => format!("{}…", whole_words(text, end).trim_end()),
        _ => text.to_owned(),
    }
}

/// The text up to `end`, or up to the last space of its second half where that cuts a word.
fn whole_words(text: &str, end: usize) -> &str {
    let (head, tail) = text.split_at(end);
    if tail.starts_with(char::is_whitespace) {
        return head;
    }
    match head.rfind(char::is_whitespace) {
        Some(space) if space >= end / 2 => &head[..space],
        _ => head,
    }
}

/// The text if it has at most `max` characters, else its longest beginning that ends with a sentence, or before the mark
/// that ends a clause. `None`: none that is a quarter as long ends there. Brackets and quotes stay whole.
pub fn whole(text: &str, max: usize) -> Option<String> {
    let Some((reach, _)) = text.char_indices().nth(max) else { return Some(text.to_owned()) };
    let head = text.get(..reach).unwrap_or(text);
    let (mut sentence, mut clause) = (0, 0);
    let mut open = OpenMarks::default();
    for (at, c) in head.char_indices() {
        open.take(c);
        let end = at + c.len_utf8();
        let spaced = text.get(end..).is_none_or(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if !open.is_none() {
            continue;
        }
        let before = head.get(..at).unwrap_or_default();
        if matches!(c, '。' | '！' | '？') || matches!(c, '.' | '!' | '?') && spaced && !is_abbreviation(before) {
            sentence = end;
        } else if matches!(c, '，' | '；') || matches!(c, ',' | ';' | ':' | '—' | '–') && spaced {
            clause = at;
        }
    }
    let end = if sentence * 4 >= reach { sentence } else { clause };
    (end * 4 >= reach && end > 0).then(|| head.get(..end).unwrap_or_default().trim_end().to_owned())
}

/// Brackets and quotes that are open at a place in a text.
#[derive(Default)]
struct OpenMarks {
    brackets: usize,
    ticks: bool,
    quotes: bool,
}

impl OpenMarks {
    fn take(&mut self, c: char) {
        match c {
            '(' | '[' | '{' | '（' | '「' => self.brackets += 1,
            ')' | ']' | '}' | '）' | '」' => self.brackets = self.brackets.saturating_sub(1),
            '`' => self.ticks = !self.ticks,
            '"' => self.quotes = !self.quotes,
            _ => {}
        }
    }

    fn is_none(&self) -> bool {
        self.brackets == 0 && !self.ticks && !self.quotes
    }
}

/// [`one_line`] of at most `max` characters, reading no more of the text than that takes.
pub fn brief(text: &str, max: usize) -> String {
    let reach = text.char_indices().nth(max.saturating_mul(4)).map_or(text.len(), |(at, _)| at);
    let cut = reach < text.len();
    let line = one_line(&text[..reach]);
    if cut && line.chars().count() < max { format!("{line}…") } else { clip(&line, max) }
}

/// The text without the marks that colour a terminal, as they are or as JSON and shells write them: `[31m` is no length.
pub fn without_colours(text: &str) -> Cow<'_, str> {
    const OPENINGS: [&str; 5] = ["\u{1b}[", "\\u001b[", "\\x1b[", "\\033[", "\\e["];
    if !text.contains('[') || !OPENINGS.iter().any(|opening| text.contains(opening)) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, opening)) = next_of(rest, &OPENINGS) {
        plain.push_str(&rest[..at]);
        let code = &rest[at + opening.len()..];
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(code.len());
        rest = code[end..].strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(&code[end..]);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn next_of<'o>(text: &str, openings: &[&'o str]) -> Option<(usize, &'o str)> {
    let at = text.char_indices().find(|(at, _)| openings.iter().any(|opening| text[*at..].starts_with(opening)))?.0;
    openings.iter().find(|opening| text[at..].starts_with(**opening)).map(|opening| (at, *opening))
}

/// The first line that says something.
pub fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or("")
}

/// Size in quarter tokens, on the safe side: 1 for an ASCII character, 4 for any other.
pub fn quarters(text: &str) -> usize {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 4 }).sum()
}

/// Takes `cost` of what is left of a room; returns false, and takes nothing, where less is left.
pub fn takes(left: &mut usize, cost: usize) -> bool {
    let fits = cost <= *left;
    *left -= if fits { cost } else { 0 };
    fits
}

/// The longest prefix of at most this many quarter tokens.
pub fn within(text: &str, max_quarters: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += if c.is_ascii() { 1 } else { 4 };
        if used > max_quarters {
            return &text[..at];
        }
    }
    text
}

/// The sentences of prose, on one line each. Code fences, tables and quoted logs are left out; list items stand alone.
pub fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || line.starts_with(['|', '<', '>', '#', '{', '}']) {
            continue;
        }
        split_line(without_bullet(line), &mut found);
    }
    found
}

/// The line without the mark of a list's item. `**bold**` is none.
pub fn without_bullet(line: &str) -> &str {
    ["- ", "* ", "• ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet)).unwrap_or(line).trim_start()
}

/// Returns true for an item of a list.
pub fn is_item(line: &str) -> bool {
    let numbered = || {
        line.split_once(['.', ')']).is_some_and(|(number, rest)| {
            number.len() < 3
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
                && rest.starts_with(' ')
        })
    };
    ["- ", "* ", "• ", "+ "].iter().any(|bullet| line.starts_with(bullet)) || numbered()
}

/// An item without its mark or number.
pub fn item_text(line: &str) -> &str {
    let line = without_bullet(line);
    let numbered = line.split_once([')', '.']).filter(|(number, rest)| {
        number.len() < 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with(' ')
    });
    numbered.map_or(line, |(_, rest)| rest.trim_start())
}

/// A sentence without marks of emphasis and the sounds of thinking.
pub fn plain(sentence: &str) -> String {
    const SOUNDS: [&str; 14] = [
        "I see that ",
        "I can see that ",
        "Yes, ",
        "Yeah, ",
        "Right — ",
        "Good — ",
        "Wait, ",
        "Hmm, ",
        "Actually, ",
        "So, ",
        "OK, ",
        "Okay, ",
        "✅ ",
        "✓ ",
    ];
    let text = sentence.replace("**", "");
    let mut text = text.trim();
    while let Some(rest) = SOUNDS.iter().find_map(|sound| text.strip_prefix(sound)) {
        text = rest;
    }
    text.to_owned()
}

fn split_line(line: &str, found: &mut Vec<String>) {
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let wide = matches!(c, '。' | '！' | '？');
        let narrow = matches!(c, '.' | '!' | '?') && chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if wide || narrow && !(c == '.' && is_abbreviation(&line[start..at])) {
            let end = at + c.len_utf8();
            push_sentence(&line[start..end], found);
            start = end;
        }
    }
    push_sentence(&line[start..], found);
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or(before);
    ["e.g", "i.e", "etc", "vs", "cf", "approx", "z.B", "No", "Mr", "Ms", "Dr"].contains(&word)
}

fn push_sentence(text: &str, found: &mut Vec<String>) {
    let line = one_line(text);
    if line.chars().filter(|c| c.is_alphanumeric()).count() > 1 {
        found.push(line);
    }
}

/// The lower-case words, letters and digits only.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('’', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_on_characters() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöüß", 3), "äö…");
        assert_eq!(clip("", 0), "");
        assert_eq!(brief("a\n\n b", 9), "a b");
        assert_eq!(brief(&"word ".repeat(99), 6), "word…");
    }

    #[test]
    fn cuts_where_something_ends() {
        let text = "Fix the login (e.g. tokens, roles). Then ship it, with care; tell Ann.";
        assert_eq!(whole(text, 80).as_deref(), Some(text));
        assert_eq!(whole(text, 50).as_deref(), Some("Fix the login (e.g. tokens, roles)."));
        assert_eq!(
            whole("Ship it with all the care you have, and tell Ann", 40).as_deref(),
            Some("Ship it with all the care you have")
        );
        assert_eq!(whole("nothing ends in here at all", 10), None);
        assert_eq!(whole("修复登录。然后更新文档和测试", 8).as_deref(), Some("修复登录。"));
    }

    #[test]
    fn splits_prose_and_skips_code() {
        let text = "Use v1.2.3 only. Never push!\n```\nlet x = 1. ok\n```\n- one item\n日本語。次。それも。";
        assert_eq!(sentences(text), ["Use v1.2.3 only.", "Never push!", "one item", "日本語。", "それも。"]);
    }

    #[test]
    fn measures_wide_text_dearer() {
        assert_eq!((quarters("abcd"), quarters("日本")), (4, 8));
        assert_eq!(within("ab日本", 6), "ab日");
    }
}
