//! What providers' documents and error messages say is refused and taken (`tests/data/refusals`), against the table, lint
//! and rebuilt contexts.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::lint;
use crate::context::pairing::{self, StoredSource};
use crate::context::view::plan_view;
use crate::format::openai_responses::{ItemIds, write_with};
use crate::format::refused::TABLE;
use crate::format::write::{Note, Piece};
use crate::format::{self, anthropic};
use crate::model::entry::EntryMeta;
use crate::model::format::Format;
use crate::model::open_calls::OpenCalls;
use crate::model::shape::Shape;

const PROVIDERS: [(Format, &str); 4] = [
    (Format::Anthropic, include_str!("../../../../../tests/data/refusals/anthropic.ndjson")),
    (Format::Gemini, include_str!("../../../../../tests/data/refusals/gemini.ndjson")),
    (Format::OpenaiChat, include_str!("../../../../../tests/data/refusals/openai_chat.ndjson")),
    (Format::OpenaiResponses, include_str!("../../../../../tests/data/refusals/openai_responses.ndjson")),
];

struct Example {
    format: Format,
    row: String,
    refused: bool,
    says: String,
    items: Vec<String>,
}

impl Example {
    fn name(&self) -> String {
        format!("{:?} {}: {}", self.format, self.row, self.says)
    }
}

fn examples() -> Vec<Example> {
    #[derive(Deserialize)]
    struct Line {
        row: String,
        refused: bool,
        says: String,
        items: Vec<Box<RawValue>>,
    }
    let of = |(format, lines): (Format, &str)| {
        let read = |line: &str| -> Line { serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")) };
        let example = |line: &str| {
            let Line { row, refused, says, items } = read(line);
            Example { format, row, refused, says, items: items.iter().map(|item| made(item.get())).collect() }
        };
        lines.lines().map(example).collect::<Vec<_>>()
    };
    PROVIDERS.into_iter().flat_map(of).collect()
}

/// An item with what is too long to be written down: `{"@times": n, "item": …}` in a list, `{"@repeat": n}` for a text,
/// `{"@png": [width, height]}` and `{"@pdf": pages}` for base64.
fn made(item: &str) -> String {
    if !item.contains("\"@") {
        return item.to_owned();
    }
    made_value(serde_json::from_str(item).unwrap()).to_string()
}

fn made_value(value: Value) -> Value {
    match value {
        Value::Array(list) => list.into_iter().flat_map(made_times).collect(),
        Value::Object(fields) => {
            let (number, list) = (|key: &str| fields.get(key)?.as_u64(), fields.get("@png").and_then(Value::as_array));
            if let Some(times) = number("@repeat") {
                "A".repeat(usize::try_from(times).unwrap()).into()
            } else if let Some(pages) = number("@pdf") {
                let pages = "<</Type/Page>>\n".repeat(usize::try_from(pages).unwrap());
                BASE64_STANDARD.encode(format!("%PDF-1.7\n{pages}")).into()
            } else if let Some(sides) = list {
                let side = |place: usize| u32::try_from(sides[place].as_u64().unwrap()).unwrap().to_be_bytes();
                let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &side(0), &side(1), &[8, 6, 0, 0, 0]].concat();
                BASE64_STANDARD.encode(png).into()
            } else {
                Value::Object(fields.into_iter().map(|(key, value)| (key, made_value(value))).collect())
            }
        }
        other => other,
    }
}

fn made_times(value: Value) -> Vec<Value> {
    match value.get("@times").and_then(Value::as_u64) {
        Some(times) => vec![made_value(value["item"].clone()); usize::try_from(times).unwrap()],
        None => vec![made_value(value)],
    }
}

fn codes(format: Format, items: &[String]) -> Vec<(&'static str, usize)> {
    let texts: Vec<&str> = items.iter().map(String::as_str).collect();
    let found = lint(format, &texts).unwrap();
    found.violations.iter().map(|violation| (violation.code.into_str(), violation.index)).collect()
}

/// Stored items, and the context that is rebuilt of them. `None`: an append would refuse one of them.
pub fn rebuilt(source: Format, items: &[String], target: Format) -> Option<(Vec<String>, Vec<Note>)> {
    rebuilt_by(source, items, target, false, |pieces, notes| format::write(target, pieces, notes))
}

fn rebuilt_by(
    source: Format,
    items: &[String],
    target: Format,
    keeps_ids: bool,
    write: impl Fn(&[Piece<'_>], &mut Vec<Note>) -> Vec<String>,
) -> Option<(Vec<String>, Vec<Note>)> {
    let mut open = OpenCalls::default();
    let mut heads = Vec::with_capacity(items.len());
    for (seq, item) in (0_i64..).zip(items) {
        let read = format::accept(source, item).ok()?;
        let shape = Shape::of(&read, seq, &open, &[]);
        open.apply(seq, &shape);
        let role = read.message.as_ref().map(|message| message.role);
        let id = uuid::Uuid::from_u64_pair(1, u64::try_from(seq).unwrap());
        heads.push(EntryMeta {
            id,
            seq,
            depth: seq,
            kind: read.kind,
            role,
            tokens: 1,
            path_tokens: seq + 1,
            usage: None,
            shape,
        });
    }
    let mut notes = Vec::new();
    let stored = |index: usize| StoredSource { format: source, item: &items[index], is_examined: false, keeps_ids };
    let view = plan_view(&heads, None);
    let pieces = pairing::pieces(&view, &heads, stored, |_| "summary".to_owned(), target, &mut notes);
    let written = write(&pieces, &mut notes);
    Some((written, notes))
}

#[test]
fn what_providers_refuse_is_refused_by_lint_and_never_handed_out() {
    let mut faults = Vec::new();
    for example in examples().iter().filter(|example| example.refused) {
        let found = codes(example.format, &example.items);
        if !found.iter().any(|(code, _)| *code == example.row) {
            faults.push(format!("{}: lint says {found:?}", example.name()));
        }
        let Some((out, notes)) = rebuilt(example.format, &example.items, example.format) else { continue };
        let left = codes(example.format, &out);
        if !left.is_empty() {
            faults.push(format!("{}: the context has {left:?}: {out:?}", example.name()));
        }
        if notes.is_empty() {
            faults.push(format!("{}: mended without a note", example.name()));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn what_providers_take_is_taken_and_handed_out_as_it_came() {
    let mut faults = Vec::new();
    let value = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    for example in examples().iter().filter(|example| !example.refused) {
        let found = codes(example.format, &example.items);
        let (out, notes) = rebuilt(example.format, &example.items, example.format).unwrap();
        let same = out.iter().map(value).eq(example.items.iter().map(value));
        if !found.is_empty() || !same || !notes.is_empty() {
            faults.push(format!("{}: lint says {found:?}, notes {notes:?}: {out:?}", example.name()));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_row_has_an_example_in_each_of_its_formats_and_no_example_is_without_a_row() {
    let rows: BTreeSet<(&str, &str)> = TABLE
        .iter()
        .flat_map(|row| row.formats.iter().map(|format| (format.into_str(), row.code.into_str())))
        .collect();
    let examples = examples();
    let shown: BTreeSet<(&str, &str)> = examples
        .iter()
        .filter(|example| example.refused)
        .map(|example| (example.format.into_str(), example.row.as_str()))
        .collect();
    assert_eq!(rows.difference(&shown).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "rows without an example");
    assert_eq!(shown.difference(&rows).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "examples without a row");
}

#[test]
fn no_other_format_is_handed_out_what_its_provider_refuses() {
    let mut faults = Vec::new();
    for example in examples() {
        for (target, _) in PROVIDERS {
            let Some((out, _)) = rebuilt(example.format, &example.items, target) else { continue };
            let left = codes(target, &out);
            if !left.is_empty() {
                faults.push(format!("{} as {target:?}: {left:?}: {out:?}", example.name()));
            }
        }
        for target in [Format::Native, Format::Pi] {
            let Some((out, _)) = rebuilt(example.format, &example.items, target) else { continue };
            let halves = out.iter().filter(|text| crate::model::json::lone_surrogates(text) > 0).count();
            if halves > 0 {
                faults.push(format!("{} as {target:?}: halves in {out:?}", example.name()));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn half_of_a_character_is_told_of_and_replaced_in_the_patch() {
    let items = [r#"{"role":"user","content":"a \ud99c"}"#, r#"{"role":"user","content":"b"}"#];
    let found = lint(Format::OpenaiChat, &items).unwrap();
    assert_eq!(found.violations.len(), 1, "{:?}", found.violations);
    let repaired: Vec<&str> = found.repaired.iter().map(|text| text.get()).collect();
    assert_eq!(repaired, [json!({"role": "user", "content": "a \u{fffd}"}).to_string().as_str(), items[1]]);
    assert_eq!(found.diff.len(), 1, "{:?}", found.diff);
}

#[test]
fn ids_that_repeat_come_back_as_they_came_to_who_asks_for_them() {
    let format = Format::OpenaiResponses;
    for (said, called, thought) in [("msg_0", "fc_0", "rs_0"), ("", "", "rs_0"), ("__fake_id__", "__fake_id__", "")] {
        let turn = |nth: usize| {
            let content = json!([{"type": "output_text", "text": format!("say {nth}"), "annotations": []}]);
            let (call, arguments) = (format!("call_{nth}"), "{}");
            [
                json!({"type": "message", "role": "user", "content": format!("do {nth}")}),
                json!({"id": thought, "type": "reasoning", "summary": [], "encrypted_content": "x"}),
                json!({"id": said, "type": "message", "role": "assistant", "status": "completed", "content": content}),
                json!({"id": thought, "type": "reasoning", "summary": [], "encrypted_content": "y"}),
                json!({"id": called, "type": "function_call", "call_id": call, "name": "f", "arguments": arguments}),
                json!({"type": "function_call_output", "call_id": call, "output": "3"}),
            ]
        };
        let items: Vec<String> = (0..4).flat_map(turn).map(|item| item.to_string()).collect();
        let given = |pieces: &[Piece<'_>], notes: &mut Vec<Note>| write_with(pieces, ItemIds::Given, notes);
        let (out, notes) = rebuilt_by(format, &items, format, true, given).unwrap();
        assert_eq!(out, items, "{said:?}: {notes:?}");
        let (sent, notes) = rebuilt(format, &items, format).unwrap();
        assert_ne!(sent, items);
        assert_eq!(codes(format, &sent), [], "{said:?}: {notes:?}");
    }
}

#[test]
fn a_model_with_a_larger_window_is_shown_more() {
    let pdf = |pages: u64| json!({"type": "base64", "media_type": "application/pdf", "data": {"@pdf": pages}});
    let document = |pages: u64| json!({"role": "user", "content": [{"type": "document", "source": pdf(pages)}]});
    let items = [document(150), document(450), document(1)].map(|item| made(&item.to_string()));
    let shown = |most: usize| {
        let write = |pieces: &[Piece<'_>], notes: &mut Vec<Note>| anthropic::write_within(pieces, most, notes);
        let (out, notes) = rebuilt_by(Format::Anthropic, &items, Format::Anthropic, false, write).unwrap();
        let shown = out.iter().zip(&items).map(|(out, item)| out == item).collect::<Vec<_>>();
        (shown, notes.iter().map(|note| note.entry).collect::<Vec<_>>())
    };
    assert_eq!(shown(600), (vec![false, true, true], vec![Some(0)]), "149 pages are left for the first");
    assert_eq!(shown(100), (vec![false, false, true], vec![Some(0), Some(1)]));
}
