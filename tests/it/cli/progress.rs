//! Progress of imports and exports: for whoever looks on, and for nobody else.

use std::path::Path;

use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::terminal::{Shows, Terminal};
use super::{contextd, end_of, lines};
use crate::drill_support::*;
use crate::patience::until;

/// A file of so many turns.
fn file_of(folder: &Path, count: usize) -> (String, String) {
    let file = folder.join("items.jsonl");
    let items: String = turns(0..count, 3).iter().map(|item| format!("{item}\n")).collect();
    std::fs::write(&file, &items).unwrap();
    (file.to_str().unwrap().to_owned(), items)
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_and_exports_say_nothing_of_progress_to_a_file() {
    let data = tempfile::tempdir().unwrap();
    let (file, items) = file_of(data.path(), 300);
    let folder = data.path().join("data");
    let base = ["--data-dir", folder.to_str().unwrap()];
    let ran = end_of(contextd(&[&["import", &file, "--format", "openai_chat"], base.as_slice()].concat())).await;
    assert!(!ran.err.contains("items imported"), "{ran:?}");
    let id = ran.good();
    let ran = end_of(contextd(&[&["export", id.trim(), "--format", "openai_chat"], base.as_slice()].concat())).await;
    assert!(!ran.err.contains("KiB written"), "{ran:?}");
    assert_eq!(lines(&ran.good()), lines(&items));
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_and_exports_tell_a_terminal_how_far_they_are() {
    let data = tempfile::tempdir().unwrap();
    let (file, items) = file_of(data.path(), 3_000);
    let folder = data.path().join("data");
    let in_terminal = async |args: &[&str], said: &str| {
        let args = [args, &["--format", "openai_chat", "--data-dir", folder.to_str().unwrap()]].concat();
        let mut terminal = Terminal::start(&args, Shows::ErrorsAlone, 100, 30);
        let mut out = String::new();
        terminal.child.stdout.take().unwrap().read_to_string(&mut out).await.unwrap();
        assert!(terminal.ended().await.success(), "{}", terminal.text());
        until("it says how far it is", async || terminal.text().contains(said)).await;
        out
    };
    let id = in_terminal(&["import", &file], "items imported").await;
    let written: Vec<Value> = lines(&in_terminal(&["export", id.trim()], "KiB written").await);
    assert_eq!(written, lines(&items), "what is written is the items alone");
}
