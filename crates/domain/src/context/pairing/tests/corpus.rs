//! Chat transcripts, made up and real: what goes out is what came in, but for what the notes name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{appended, check, rebuilt};
use crate::data::Source;
use crate::format::corpus::sessions;
use crate::model::format::Format;

#[test]
fn made_up_chat_sessions_come_back_equal_but_for_what_is_noted() {
    come_back(Source::Own);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn real_chat_sessions_come_back_equal_but_for_what_is_noted() {
    assert!(come_back(Source::Shared) > 100);
}

/// How many sessions there are.
fn come_back(source: Source) -> usize {
    let sessions = sessions(source, Format::OpenaiChat);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &sessions {
        let items = &session.items;
        let entries = appended(Format::OpenaiChat, items);
        let (out, notes) = rebuilt(&entries, Format::OpenaiChat);
        check_paired(&out);
        let (native, _) = rebuilt(&entries, Format::Native);
        check(&native, Format::Native);
        for note in &notes {
            *counts.entry(note.code.into_str()).or_default() += 1;
            println!("{}: {} {:?} {}", session.name, note.code.into_str(), note.entry, note.detail);
        }
        let untouched = |at: &usize| !notes.iter().any(|note| note.entry == Some(*at));
        let mut rest = out.iter();
        for at in (0..items.len()).filter(untouched) {
            assert!(rest.any(|message| *message == items[at]), "{} item {at} changed: {}", session.name, items[at]);
        }
        if notes.is_empty() {
            assert_eq!(out, *items);
        }
    }
    println!("{} sessions, notes: {counts:?}", sessions.len());
    sessions.len()
}

/// As [`check`], with legacy calls named by their place.
fn check_paired(messages: &[Value]) {
    let entries = appended(Format::OpenaiChat, messages);
    let (again, notes) = rebuilt(&entries, Format::OpenaiChat);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(again, messages);
}
