//! Standard output.

use std::io::Write;

use anyhow::Context;

pub fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("writing to standard output")
}
