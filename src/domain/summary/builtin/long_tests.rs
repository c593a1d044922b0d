//! Long sessions and large messages: what the whole chain takes of them, from calls to the summary message. With
//! `CONTEXTD_LONG=1` ten times as much; `--nocapture` shows the times, `--ignored` runs them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::super::framing::DEFAULT_PREFIX;
use super::super::identifiers::{self, IdentifierSpan};
use super::super::ledger::Recorder;
use super::super::testing::{assistant, call, result, settings, task, user};
use super::super::{Allowance, SummaryMessage};
use super::*;
use crate::domain::model::compaction::FileLists;
use crate::domain::model::ledger::Ledger;
use crate::domain::model::message::Message;

/// Messages and bytes of the smaller run.
const MESSAGES: usize = 10_000;
const BYTES: usize = 3_000_000;

fn factor() -> usize {
    if std::env::var("CONTEXTD_LONG").is_ok() { 10 } else { 1 }
}

/// A session in which everything differs from turn to turn.
fn session(messages: usize) -> Vec<Message> {
    let turn = |at: usize| {
        let output = format!("src/part{at}/file.rs:1: fn part{at}() took {at}.5 ms\n").repeat(4);
        [
            user(&format!("Now do part {at}, see ABC-{at}. Never touch part {at} again. It may take {at} seconds.")),
            call(
                "c",
                if at.is_multiple_of(3) { "bash" } else { "edit" },
                json!({"command": format!("make part{at}"), "path": format!("src/part{at}.rs")}),
            ),
            result("c", &output),
            assistant(&format!("I fixed part {at} in src/part{at}.rs, because the cache of part {at} was too small.")),
        ]
    };
    (0..messages / 4).flat_map(turn).collect()
}

/// The summary message of a span and of half of it, one after the other.
fn summed_up(messages: &[Message]) -> (String, Duration) {
    let begun = Instant::now();
    let allowance = Allowance::new(100_000, 16_384);
    let (mut ledger, mut carried, mut previous) = (Ledger::default(), Vec::new(), None);
    let mut text = String::new();
    for span in messages.chunks(messages.len().div_ceil(2).max(1)) {
        let (mut recorder, mut named) = (Recorder::default(), IdentifierSpan::default());
        for message in span {
            recorder.add(message);
            named.add(message);
        }
        ledger.extend(recorder);
        carried = identifiers::carry(&carried, named, allowance.identifiers);
        let body = summarise(&allowance.bounded(&SummaryTask { previous: previous.take(), ..task(span.to_vec()) }, 1));
        let files = FileLists::default();
        text = SummaryMessage {
            body: &body,
            ledger: &ledger,
            files: &files,
            identifiers: &carried,
            todos: &[],
            recalled: &[],
        }
        .text(&settings(), allowance);
        previous = Some(body);
    }
    (text, begun.elapsed())
}

#[test]
#[ignore = "takes minutes"]
fn long_sessions_are_summed_up_within_bounds() {
    for share in [4, 2, 1] {
        let messages = session(MESSAGES * factor() / share);
        let (text, took) = summed_up(&messages);
        println!("{} messages: {took:?}", messages.len());
        let allowance = Allowance::new(100_000, 16_384);
        let most = u64::from(allowance.body) + allowance.behind_body() + DEFAULT_PREFIX.len() as u64;
        assert!((text.len() as u64) < most * 4, "{} of {most}", text.len());
        let last = messages.len() / 4 - 1;
        assert!(text.contains("Now do part 0, see ABC-0") && text.contains(&format!("part{last}.rs")), "{text}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn large_messages_are_summed_up_within_bounds() {
    for piece in
        ["a/b", "12 ms ", "日本。", "\n- [x] ", "{\"a\": [", "fixed because ", "→ failed: ", "` ** ", "src/a.rs "]
    {
        let text = piece.repeat(BYTES * factor() / 8 / piece.len());
        let messages = [
            user(&text),
            assistant(&text),
            call("c", "bash", json!({"command": text})),
            result("c", &text),
            user("Now mend src/last.rs."),
            assistant(&text),
            call("d", "edit", json!({"path": "src/last.rs", "new": text})),
            result("d", &text),
        ];
        let (told, took) = summed_up(&messages);
        println!("{} bytes of {piece:?}: {took:?}", text.len() * 8);
        assert!(told.len() < 200_000 && told.contains("src/last.rs"), "{} bytes of {piece:?}", told.len());
    }
}
