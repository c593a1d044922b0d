//! What is anchored of a session, in the recordings of harnesses that write in the user's name.

use std::io::BufRead;

use serde_json::Value;
use uuid::Uuid;

use super::tests::{path, settings};
use super::*;
use crate::data::Source;
use crate::format;
use crate::model::format::Format;
use crate::model::open_calls::OpenCalls;
use crate::model::shape::Shape;

fn anchoring() -> Settings {
    Settings { anchor_first_user: true, ..settings(9) }
}

#[test]
fn the_anchor_is_the_first_thing_that_the_user_wrote() {
    let mut path = path("u1 u1 u5 a9 u1 a9 u1 a9");
    path[0].shape.by_harness = true;
    path[1].shape.by_harness = true;
    let plan = prepare(&path, None, &anchoring()).unwrap();
    assert_eq!((plan.anchors, plan.history), (vec![2], vec![0, 1, 3, 4, 5]));
    path.iter_mut().for_each(|head| head.shape.by_harness = true);
    assert_eq!(prepare(&path, None, &anchoring()).unwrap().anchors, Vec::<usize>::new(), "no user wrote anything");
}

#[test]
fn a_preamble_that_an_earlier_compaction_anchored_stays() {
    let mut path = path("u1 u5 a9 k1 u1 a9 u1 a9");
    path[0].shape.by_harness = true;
    let record = crate::model::compaction::CompactionRecord { anchors: vec![path[0].id], ..Default::default() };
    let newest = NewestCompaction { index: 3, record: &record, first_kept: Some(1) };
    assert_eq!(prepare(&path, Some(newest), &anchoring()).unwrap().anchors, [0, 1]);
}

/// Heads and texts of a recorded session, as they arrive.
fn recorded(format: Format, items: &[Value]) -> (Vec<EntryMeta>, Vec<String>) {
    let (mut heads, mut texts, mut open) = (Vec::new(), Vec::new(), OpenCalls::default());
    for item in items.iter().filter_map(|item| format::read(format, &item.to_string()).ok()) {
        let seq = heads.len() as i64;
        let shape = Shape::of(&item, seq, &open, &[1; 64]);
        open.apply(seq, &shape);
        texts.push(item.message.as_ref().map(|message| message.plain_text()).unwrap_or_default());
        heads.push(EntryMeta {
            id: Uuid::from_u128(seq as u128 + 1),
            seq,
            depth: seq,
            kind: item.kind,
            role: item.message.map(|message| message.role),
            tokens: 1,
            path_tokens: 0,
            usage: None,
            shape,
        });
    }
    (heads, texts)
}

/// Openings of what no user types, and of what stands in the recordings.
const PREAMBLES: [&str; 10] = [
    "Caveat: The messages below",
    "<local-command",
    "<command-name>/clear",
    "<command-name>/exit",
    "<environment_context",
    "<user_instructions",
    "<system-reminder",
    "[Request interrupted",
    "# AGENTS.md",
    "This session is being continued",
];

/// Run with `--nocapture` for the table.
#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn no_recorded_session_is_anchored_to_a_preamble() {
    let files = [
        "agent-sessions-fixtures",
        "agentcmd",
        "claude-code-log",
        "claude-code-transcripts",
        "claude-code-viewer",
        "entireio-cli",
    ];
    let (mut sessions, mut others) = (0, 0);
    for file in files {
        let lines = Source::Shared.reader(&format!("corpus/{file}.jsonl")).lines().map_while(Result::ok);
        for session in lines.map(|line| serde_json::from_str::<Value>(&line).unwrap()) {
            let format = match session["format"].as_str() {
                Some("anthropic-messages") => Format::Anthropic,
                Some("openai-responses") => Format::OpenaiResponses,
                _ => continue,
            };
            let (heads, texts) = recorded(format, session["messages"].as_array().unwrap());
            let is_user = |head: &EntryMeta| head.role == Some(Role::User) && head.starts_turn();
            let first = heads.iter().position(is_user);
            let of_role = |head: &EntryMeta| head.role == Some(Role::User);
            let anchor = required(&heads, heads.len(), &anchoring()).into_iter().find(|index| of_role(&heads[*index]));
            sessions += 1;
            others += usize::from(anchor != first);
            let text = anchor.map(|index| texts[index].split_whitespace().collect::<Vec<_>>().join(" "));
            let shown = text.as_deref().map(|text| text.chars().take(90).collect::<String>());
            println!("{file:24} {first:?} → {anchor:?} {}", shown.unwrap_or_default());
            if let Some(text) = text {
                assert!(!PREAMBLES.iter().any(|opening| text.starts_with(opening)), "{text}");
            }
        }
    }
    println!("{sessions} sessions, {others} with another anchor than their first message in the user's role");
    assert!(others > 3);
}
