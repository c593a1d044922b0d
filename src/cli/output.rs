//! The one place that writes to standard output and standard error. On a terminal nothing that a text holds can move the
//! cursor or turn a line around; into a file or a pipe it goes as it is.

use std::io::{ErrorKind, IsTerminal, Write};

use crate::cli::text::visible_lines;

/// Whoever read standard output has gone: it has what it wanted.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct Closed;

/// Writes a text, now.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    let text = for_reader(text, output.is_terminal());
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Closed.into()),
        written => written.map_err(|error| anyhow::Error::from(error).context("writing to standard output")),
    }
}

/// Writes lines of warnings to standard error.
pub fn warn(lines: &str) -> anyhow::Result<()> {
    let written = std::io::stderr().lock().write_all(visible_lines(lines).as_bytes());
    written.map_err(|error| anyhow::Error::from(error).context("writing to standard error"))
}

/// Says on standard error what is wrong. Where nobody can be told, nothing can be done.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "contextd: {}", visible_lines(text));
}

/// A text as it is written for who reads it.
fn for_reader(text: &str, is_terminal: bool) -> String {
    if is_terminal { visible_lines(text) } else { text.to_owned() }
}

/// The terminal's columns; `None` where standard output is none.
pub fn columns() -> Option<usize> {
    if !is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}

pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_what_hides_and_a_file_gets_it_as_it_is() {
        let text = "a\x1b[2Jb\u{202e}c\u{9b}d\r\n\te\x07\n";
        assert_eq!(for_reader(text, true), "a␛[2Jb<U+202E>c<U+009B>d␍\n e␇\n");
        assert_eq!(for_reader(text, false), text);
    }
}
