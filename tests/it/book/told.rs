//! Outputs that stand in the book word for word.

use std::collections::HashMap;
use std::path::Path;

use regex::{Captures, Regex};

const WRITE: &str = "CONTEXTD_BOOK";

/// An output with what differs from run to run put in words of the same width: ids in the order in which they appear, times.
pub fn settled(output: &str) -> String {
    let id = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
    let mut known = HashMap::<String, usize>::new();
    let named = id.replace_all(output, |found: &Captures<'_>| {
        let next = known.len() + 1;
        let number = *known.entry(found[0].to_owned()).or_insert(next);
        format!("0199aa00-0000-7000-8000-{number:012}")
    });
    let day = Regex::new(r"\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d UTC)").unwrap();
    let named = day.replace_all(&named, "2026-01-02 $1");
    let time = Regex::new(r"\d\d:\d\d:\d\d UTC").unwrap();
    let named = time.replace_all(&named, "03:04:05 UTC");
    let ago = Regex::new(r"\d+ (s|min) ago").unwrap();
    ago.replace_all(&named, "1 s ago").trim_end().to_owned()
}

/// Lines as they are compared: how wide a column is may depend on what time it is.
fn squeezed(text: &str) -> Vec<String> {
    text.trim_end().lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// What the book says otherwise than the service.
#[derive(Default)]
pub struct Drift {
    writes: bool,
    told: Vec<String>,
}

impl Drift {
    /// With the environment's wish to have the book written anew.
    pub fn asked() -> Drift {
        Drift { writes: std::env::var(WRITE).is_ok_and(|value| value == "write"), told: Vec::new() }
    }

    /// Compares a block of a chapter with what was told; writes it anew where that is asked for.
    pub fn compare(&mut self, chapter: &str, block: &str, told: &str) {
        if squeezed(block) == squeezed(told) {
            return;
        }
        if self.writes {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(chapter);
            let page = std::fs::read_to_string(&file).unwrap();
            let fenced = |text: &str| format!("\n```output exact\n{text}\n```");
            let (old, new) = (fenced(block), fenced(told));
            assert!(page.contains(&old), "{chapter}: a block that is to be written anew is not there");
            return std::fs::write(&file, page.replacen(&old, &new, 1)).unwrap();
        }
        self.told.push(format!("{chapter} says\n{block}\nbut the service says\n{told}"));
    }

    /// Fails where something differed.
    pub fn end(self) {
        assert!(
            self.told.is_empty(),
            "{}\n\n`{WRITE}=write cargo test --test it book::every_command_of_the_book_works` writes the book anew",
            self.told.join("\n\n")
        );
    }
}

#[test]
fn what_differs_from_run_to_run_is_settled() {
    let (a, b) = ("01a210fa-4366-7561-8651-c043e2c6f913", "01a210fa-4733-71b3-9aa4-8e9bc1f46ff4");
    assert_eq!(
        settled(&format!("{b} {a} {b}, 12 s ago, 2026-11-25 04:32:56 UTC\n")),
        "0199aa00-0000-7000-8000-000000000001 0199aa00-0000-7000-8000-000000000002 0199aa00-0000-7000-8000-000000000001, 1 s ago, 2026-01-02 03:04:05 UTC"
    );
    let mut drift = Drift::default();
    drift.compare("a chapter", "ID    AGO\nx     1 s ago", "ID   AGO\nx    1 s ago\n");
    assert!(drift.told.is_empty());
    drift.compare("a chapter", "5 tokens", "6 tokens");
    assert_eq!(drift.told.len(), 1);
}
