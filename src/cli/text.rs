//! Text for terminals: what a transcript holds can neither move the cursor nor turn a line around.

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text on one line, with whatever does not show made visible.
pub fn visible(text: &str) -> String {
    shown(text, false)
}

/// As [`visible`], with its lines kept.
pub fn visible_lines(text: &str) -> String {
    shown(text, true)
}

fn shown(text: &str, keeps_lines: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' if keeps_lines => shown.push('\n'),
            '\n' | '\t' => shown.push(' '),
            // Unicode has a picture of each.
            '\0'..='\x1f' => shown.push(char::from_u32(0x2400 + u32::from(char)).unwrap_or(' ')),
            '\x7f' => shown.push('\u{2421}'),
            _ if char.is_control() || is_unseen(char) => {
                let _ = write!(shown, "<U+{:04X}>", u32::from(char));
            }
            _ => shown.push(char),
        }
    }
    shown
}

/// What turns text around, has no width, or ends lines without being a line feed.
fn is_unseen(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text that fits so many columns, with `…` where it is not all.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut taken = 1;
    for char in text.chars() {
        taken += char.width().unwrap_or(0);
        if taken > columns {
            break;
        }
        cut.push(char);
    }
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// With spaces up to so many columns.
pub fn padded(text: &str, columns: usize, is_right: bool) -> String {
    let spaces = " ".repeat(columns.saturating_sub(width(text)));
    if is_right { spaces + text } else { text.to_owned() + &spaces }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        assert_eq!(visible("\x1b[31mred\x1b[0m\nline\u{7f}"), "␛[31mred␛[0m line␡");
        assert_eq!(visible("\u{202e}desrever\u{9b}x\u{200b}"), "<U+202E>desrever<U+009B>x<U+200B>");
        assert_eq!(visible_lines("a\r\nb\tc"), "a␍\nb c");
        assert_eq!(visible("emoji 👩‍🚀 and Ä"), "emoji 👩‍🚀 and Ä");
    }

    #[test]
    fn what_is_too_wide_is_cut() {
        assert_eq!(
            (cut("abc", 3).as_str(), cut("abcd", 3).as_str(), cut("日本語", 5).as_str()),
            ("abc", "ab…", "日本…")
        );
        assert_eq!((cut("abc", 0).as_str(), cut("abc", 1).as_str()), ("", "…"));
        assert_eq!((padded("日", 4, false), padded("7", 3, true)), ("日  ".to_owned(), "  7".to_owned()));
    }
}
