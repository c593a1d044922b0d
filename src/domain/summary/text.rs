//! Small text tools that the summariser, the ledger and the identifiers share. All are linear.

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

/// [`one_line`] of at most `max` characters, reading no more of the text than that takes.
pub fn brief(text: &str, max: usize) -> String {
    let reach = text.char_indices().nth(max.saturating_mul(4)).map_or(text.len(), |(at, _)| at);
    let cut = reach < text.len();
    let line = one_line(&text[..reach]);
    if cut && line.chars().count() < max { format!("{line}…") } else { clip(&line, max) }
}

/// The first line that says something.
pub fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or("")
}

/// Size in quarter tokens, on the safe side: 1 for an ASCII character, 4 for any other.
pub fn quarters(text: &str) -> usize {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 4 }).sum()
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
