//! Answers of `tests/data/answers`: none of the bad ones is stored, all of the good ones are.

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::data::Source;
use crate::model::message::Message;
use crate::settings::Template;
use crate::summary::SummaryTask;
use crate::summary::testing::{assistant, call, failed, result, task, user};

/// A block of a file: the words of its head, and its lines.
struct Entry {
    head: Vec<String>,
    text: String,
}

fn entries(file: &str) -> Vec<Entry> {
    let text = Source::Own.text(&format!("answers/{file}"));
    let blocks = text.split("\n=== ").map(|block| block.trim_start_matches("=== "));
    let entry = |block: &str| {
        let (head, text) = block.split_once('\n')?;
        let head = head.split('|').map(|word| word.trim().to_owned()).collect();
        Some(Entry { head, text: repeated(text) })
    };
    blocks.filter_map(entry).collect()
}

/// The lines, those that say so several times.
fn repeated(text: &str) -> String {
    let line = |line: &str| {
        let times = line.strip_prefix('{').and_then(|line| line.split_once('}'));
        match times.and_then(|(times, line)| Some((times.parse::<usize>().ok()?, line))) {
            Some((times, line)) => vec![line.to_owned(); times].join("\n"),
            None => line.to_owned(),
        }
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

fn span(name: &str) -> Vec<Message> {
    let spans = entries("spans.txt");
    let span = spans.iter().find(|span| span.head == [name]).unwrap_or_else(|| panic!("no span {name}"));
    let mut calls = 0;
    let mut message = |line: &str| {
        let (who, said) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        let said = said.replace("\\n", "\n").replace("\\t", "\t");
        match who {
            "user" => user(&said),
            "assistant" => assistant(&said),
            "result" => result(&calls.to_string(), &said),
            "failed" => failed(&calls.to_string(), &said),
            tool => {
                calls += 1;
                call(&calls.to_string(), tool.strip_prefix("call ").unwrap(), json!({"command": said}))
            }
        }
    };
    span.text.lines().map(&mut message).collect()
}

fn judged(span_name: &str, template: &str, text: &str) -> Result<(), RejectReason> {
    let template = Template::deserialize(serde_json::Value::String(template.to_owned())).expect("a template");
    judge(&SummaryTask { template, ..task(span(span_name)) }, text)
}

/// As judged where the caller's own prompt asked for it: whatever its headings, and whatever it cites.
fn judged_freely(span_name: &str, text: &str) -> Result<(), RejectReason> {
    judge(&SummaryTask { prompt: Some("Write notes.".to_owned()), ..task(span(span_name)) }, text)
}

fn judge(task: &SummaryTask, text: &str) -> Result<(), RejectReason> {
    check_summary(clean(text), Some(Stop::End), u64::MAX, Estimator::O200k, &SpanEvidence::of(task))
}

#[test]
fn nothing_bad_is_stored() {
    let bad = entries("bad.txt");
    assert!(bad.len() >= 43, "{}", bad.len());
    let mut wrong = Vec::new();
    for Entry { head, text } in &bad {
        let [span, template, code] = head.as_slice() else { panic!("{head:?}") };
        let found = [judged(span, template, text), judged_freely(span, text)];
        let refused =
            |found: &Result<(), RejectReason>| found.as_ref().map_err(RejectReason::code) == Err(code.as_str());
        if found[0].is_ok() || !found.iter().any(refused) {
            wrong.push(format!("{span}: {code} wanted, {found:?} found:\n{text}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), bad.len(), wrong.join("\n"));
}

#[test]
fn nothing_good_is_refused() {
    let good = entries("good.txt");
    assert!(good.len() >= 40, "{}", good.len());
    let mut wrong = Vec::new();
    for Entry { head, text } in &good {
        let [span, _template] = head.as_slice() else { panic!("{head:?}") };
        if let Err(reason) = judged_freely(span, text) {
            wrong.push(format!("{span}: {reason}:\n{text}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), good.len(), wrong.join("\n"));
}

/// A good summary of one session is a bad one of any other that has names enough to be known by.
#[test]
fn nothing_good_is_stored_elsewhere() {
    let has_names = |name: &String| SpanEvidence::of(&task(span(name))).kept("").total >= 8;
    let spans: Vec<String> =
        entries("spans.txt").into_iter().map(|span| span.head[0].clone()).filter(has_names).collect();
    assert!(spans.len() >= 3, "{spans:?}");
    let mut stored = Vec::new();
    for Entry { head, text } in entries("good.txt") {
        let others = spans.iter().filter(|span| **span != head[0]);
        stored.extend(others.filter(|span| judged_freely(span, &text).is_ok()).map(|span| format!("{span}: {text}")));
    }
    assert!(stored.is_empty(), "{}:\n{}", stored.len(), stored.join("\n\n"));
}
