//! Texts of others on our pages. maud escapes what HTML would read; this shows what a reader would not see, or be misled
//! by, and keeps what is long from going to the browser.

use std::borrow::Cow;

use maud::{Markup, html};

/// Characters of a title or a name on a page.
pub const TITLE: usize = 120;
/// Characters of a text on a page, where all of it can be asked for elsewhere.
pub const TEXT: usize = 2_000;

/// Characters of what a search found, and those of them that stand before its first match: all matches that it is shown
/// for have room behind that.
const SNIPPET: usize = 420;
const LEAD: usize = 60;

/// The text with its control characters, and those that change the direction of writing, as symbols. Line ends and tabs
/// stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| symbol(c).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match symbol(c) {
            Some(symbol) => shown.push_str(&symbol),
            None => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn symbol(c: char) -> Option<Cow<'static, str>> {
    match c {
        '\n' | '\t' => None,
        // The pictures of the control characters stand in their order.
        '\0'..='\u{1f}' => char::from_u32(u32::from(c) + 0x2400).map(|picture| picture.to_string().into()),
        '\u{7f}' => Some("\u{2421}".into()),
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => Some(format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c)).into()),
        _ => None,
    }
}

/// The first `most` characters, and how many there are besides.
pub fn clip(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        None => (text, 0),
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
    }
}

/// The first `most` characters as they may stand in a `title` or in an attribute.
pub fn line(text: &str, most: usize) -> String {
    let (text, more) = clip(text, most);
    let ellipsis = if more > 0 { "…" } else { "" };
    format!("{}{ellipsis}", visible(text).replace(['\n', '\t'], " "))
}

/// A name or title of others, on one line.
pub fn name(text: &str) -> Markup {
    html! { bdi { (line(text, TITLE)) } }
}

/// A text of others with its line ends; `all` is where the rest of a long one can be read.
pub fn text(text: &str, most: usize, all: Option<&str>) -> Markup {
    text_as(text, most, all, |shown| html! { (visible(shown)) })
}

/// The same, where what is shown of it is written by `write`.
pub fn text_as(text: &str, most: usize, all: Option<&str>, write: impl Fn(&str) -> Markup) -> Markup {
    let (shown, more) = clip(text, most);
    html! {
        pre.text tabindex="0" { bdi { (write(shown)) } }
        @if more > 0 {
            p.more {
                @let more = format!("{} more characters", super::format::count(more as i64));
                @match all {
                    Some(all) => a href=(all) { (more) },
                    None => (more),
                }
            }
        }
    }
}

/// What a search found, from shortly before its first match on. Matches are told by marks in the text, which the text may
/// have of its own: the worst that comes of it is a word marked too many.
pub fn snippet(text: &str) -> Markup {
    let (before, found) = text.split_at(text.find("<mark>").unwrap_or(text.len()));
    let left_out = if found.is_empty() { 0 } else { before.chars().count().saturating_sub(LEAD) };
    let before = before.char_indices().nth(left_out).map_or("", |(at, _)| before.get(at..).unwrap_or_default());
    let mut room = SNIPPET;
    let mut shown = |part: &str| {
        let shown = if room > 0 { line(part, room) } else { String::new() };
        room = room.saturating_sub(part.chars().count());
        shown
    };
    let before = shown(before);
    let parts: Vec<(String, String)> = found
        .split("<mark>")
        .skip(1)
        .map(|part| part.split_once("</mark>").unwrap_or(("", part)))
        .map(|(marked, rest)| (shown(marked), shown(rest)))
        .filter(|(marked, rest)| !(marked.is_empty() && rest.is_empty()))
        .collect();
    html! {
        bdi {
            @if left_out > 0 { "…" }
            (before)
            @for (marked, rest) in parts { mark { (marked) } (rest) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_marked_and_nothing_else_is_markup() {
        let shown = snippet("a <mark>b</mark> <script>c</script> <mark>open").into_string();
        assert_eq!(shown, "<bdi>a <mark>b</mark> &lt;script&gt;c&lt;/script&gt; <mark></mark>open</bdi>");
    }

    #[test]
    fn what_was_found_is_shown_from_its_first_match_on() {
        let shown = snippet(&format!(
            "…{}<mark>first</mark>{}<mark>last</mark>{}",
            "a".repeat(240),
            "é".repeat(300),
            "z".repeat(300)
        ));
        let shown = shown.into_string();
        assert!(shown.starts_with("<bdi>…a") && shown.contains("<mark>first</mark>é"), "{shown}");
        assert!(shown.contains("é<mark>last</mark>z") && shown.ends_with("z…</bdi>"), "{shown}");
        assert!(shown.chars().count() < SNIPPET + 60, "{shown}");
        let long = snippet(&format!("{}<mark>{}</mark> end", "a".repeat(240), "b".repeat(900))).into_string();
        assert!(long.contains("<mark>bbb") && long.ends_with("b…</mark></bdi>"), "{long}");
        let none = snippet(&"a".repeat(900)).into_string();
        assert_eq!(none, format!("<bdi>{}…</bdi>", "a".repeat(SNIPPET)));
        let many = snippet(&"<mark>x</mark>".repeat(1_000)).into_string();
        assert_eq!(many.matches("<mark>x</mark>").count(), SNIPPET);
    }

    #[test]
    fn shows_what_would_not_be_seen() {
        assert_eq!(visible("plain\n\tשלום 👩‍👩‍👧 é"), "plain\n\tשלום 👩‍👩‍👧 é", "what only looks foreign stays");
        assert_eq!(visible("\u{1b}[31mred\u{1b}[0m\0\r\u{7f}"), "␛[31mred␛[0m␀␍␡");
        assert_eq!(visible("a\u{202e}txt.exe\u{2066}\u{200f}\u{85}"), "a⟨U+202E⟩txt.exe⟨U+2066⟩⟨U+200F⟩⟨U+0085⟩");
        assert_eq!(visible("\u{200b}\u{feff}\u{e0041}"), "⟨U+200B⟩⟨U+FEFF⟩⟨U+E0041⟩");
    }

    #[test]
    fn clips_by_characters() {
        assert_eq!(clip("éàü", 3), ("éàü", 0));
        assert_eq!(clip("éàü", 2), ("éà", 1));
        assert_eq!(clip(&"x".repeat(5_000_000), 2_000).1, 4_998_000);
        assert_eq!(line("one\ntwo three", 7), "one two…");
    }

    #[test]
    fn what_is_told_cannot_be_markup() {
        let shown = text("<script>alert(1)</script>\u{1b}", 10, Some("/ui/x?a=\"b\"")).into_string();
        assert!(!shown.contains("<script") && shown.contains("&lt;script&gt;al"), "{shown}");
        assert!(shown.contains("16 more characters") && shown.contains("a=&quot;b&quot;"), "{shown}");
    }
}
