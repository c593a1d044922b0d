//! Standard output.

use std::io::{ErrorKind, IsTerminal, Write};

/// Whoever read standard output has gone: it has what it wanted.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct Closed;

/// Writes a text, now.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Closed.into()),
        written => written.map_err(|error| anyhow::Error::from(error).context("writing to standard output")),
    }
}

/// The terminal's columns; `None` where standard output is none.
pub fn columns() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}
