//! Real chat transcripts: what goes out is what came in, but for what the notes name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{appended, check, rebuilt};
use crate::domain::format::Format;

fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("CONTEXTD_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let corpus = root.join("corpus");
    corpus.is_dir().then_some(corpus)
}

fn sessions(corpus: &Path, format: &str) -> Vec<Value> {
    let mut sessions = Vec::new();
    for file in std::fs::read_dir(corpus).unwrap() {
        let path = file.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        let reader: Box<dyn Read> = match (name.ends_with(".jsonl"), name.ends_with(".jsonl.gz")) {
            (true, _) => Box::new(File::open(&path).unwrap()),
            (_, true) => Box::new(flate2::read::GzDecoder::new(File::open(&path).unwrap())),
            _ => continue,
        };
        for line in BufReader::new(reader).lines() {
            let session: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if session["format"] == format {
                sessions.push(session);
            }
        }
    }
    sessions
}

#[test]
fn real_chat_sessions_come_back_equal_but_for_what_is_noted() {
    let Some(corpus) = shared() else {
        println!("skipped: no shared corpus");
        return;
    };
    let sessions = sessions(&corpus, "openai-chat");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &sessions {
        let items = session["messages"].as_array().unwrap();
        let entries = appended(Format::OpenaiChat, items);
        let (out, notes) = rebuilt(&entries, Format::OpenaiChat);
        check_paired(&out);
        let (native, _) = rebuilt(&entries, Format::Native);
        check(&native, Format::Native);
        for note in &notes {
            *counts.entry(note.code).or_default() += 1;
            println!("{} {}: {} {:?} {}", session["source"], session["session_id"], note.code, note.entry, note.detail);
        }
        let untouched = |at: &usize| !notes.iter().any(|note| note.entry == Some(*at));
        let mut rest = out.iter();
        for at in (0..items.len()).filter(untouched) {
            assert!(
                rest.any(|message| *message == items[at]),
                "{} item {at} changed: {}",
                session["session_id"],
                items[at]
            );
        }
        if notes.is_empty() {
            assert_eq!(out, *items);
        }
    }
    println!("{} sessions, notes: {counts:?}", sessions.len());
    assert!(sessions.len() > 100);
}

/// As [`check`], with legacy calls named by their place.
fn check_paired(messages: &[Value]) {
    let entries = appended(Format::OpenaiChat, messages);
    let (again, notes) = rebuilt(&entries, Format::OpenaiChat);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(again, messages);
}
