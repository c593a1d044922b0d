//! Recorded sessions with damage: whatever is accepted, every context that comes of it is one its provider takes.

use serde_json::{Value, json};

use crate::app::App;
use crate::corpus::recordings;
use crate::corpus::refused::is_broken_item;
use crate::drill_formats::Dice;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};

const SESSIONS: usize = 150;
const ITEMS: usize = 14;

/// Puts something else in a random place of the value.
fn damage(value: &mut Value, dice: &mut Dice) {
    let deeper = dice.below(4) > 0;
    match value {
        Value::Array(values) if deeper && !values.is_empty() => {
            let at = dice.below(values.len());
            match dice.below(6) {
                0 => drop(values.remove(at)),
                1 => values.push(values[at].clone()),
                _ => damage(&mut values[at], dice),
            }
        }
        Value::Object(fields) if deeper && !fields.is_empty() => {
            let at = dice.below(fields.len());
            let name = fields.keys().nth(at).unwrap().clone();
            match dice.below(6) {
                0 => drop(fields.remove(&name)),
                _ => damage(&mut fields[&name], dice),
            }
        }
        value => {
            let other =
                [json!(null), json!(""), json!([]), json!({}), json!(3), json!("other"), json!([{"type": "text"}])];
            *value = other[dice.below(other.len())].clone();
        }
    }
}

/// The beginning of a transcript with items damaged, lost, said twice and out of order.
fn damaged(items: &[Value], dice: &mut Dice) -> Vec<Value> {
    let mut items: Vec<Value> = items.iter().take(ITEMS).cloned().collect();
    for _ in 0..4 {
        let at = dice.below(items.len());
        match dice.below(5) {
            0 if items.len() > 1 => drop(items.remove(at)),
            1 => items.push(items[at].clone()),
            2 => items.swap(at, 0),
            _ => damage(&mut items[at], dice),
        }
    }
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_transcripts_are_refused_or_repaired() {
    let app = App::shared();
    let recordings = recordings();
    let with_calls = recordings.iter().filter(|one| one.format != "pi" && one.items.len() > 4);
    let (mut accepted, mut refused, mut compacted, mut faults) = (0, 0, 0, Vec::new());
    for (n, recording) in with_calls.cycle().take(SESSIONS).enumerate() {
        let mut dice = Dice::new(n as u64);
        let items = damaged(&recording.items, &mut dice);
        let session = app.session(json!({"settings": {"enabled": false, "keep_recent_tokens": 50}})).await;
        let mut stored = Vec::new();
        for item in &items {
            let body = json!({"format": recording.format, "items": [item]});
            match app.post(&format!("{session}/entries"), body).await.status {
                201 => stored.push(item.clone()),
                // What is refused is what was damaged.
                422 if !recording.items.contains(item) || is_broken_item(recording, item) => refused += 1,
                status => faults.push(format!("{}: {status} for {item}", recording.name)),
            }
        }
        accepted += stored.len();
        assert_eq!(kept_or_other(app, &session).await, stored, "{}", recording.name);
        check(app, &session, &recording.name, recording.format, &mut faults).await;
        compacted += usize::from(compact(app, &session, json!({})).await["status"] == "succeeded");
        check(app, &session, &format!("{}, compacted", recording.name), recording.format, &mut faults).await;
    }
    println!("damaged: {accepted} items accepted, {refused} refused, {compacted} sessions compacted");
    faults.iter().for_each(|fault| println!("  {}", fault.chars().take(700).collect::<String>()));
    assert!(faults.is_empty(), "{} faults", faults.len());
}

async fn kept_or_other(app: &App, session: &str) -> Vec<Value> {
    let entries = all(app, &format!("{session}/entries")).await;
    entries.into_iter().map(|mut entry| entry["item"].take()).collect()
}

async fn check(app: &App, session: &str, name: &str, own: &str, faults: &mut Vec<String>) {
    for format in FORMATS {
        let answer = app.get(&format!("{session}/context?format={format}")).await;
        if answer.status != 200 {
            faults.push(format!("{name}, {format}: {}", answer.text));
            continue;
        }
        let found = violations(format, messages(&answer.body), format == own);
        faults.extend(found.into_iter().map(|fault| format!("{name} ({own}), {format}: {fault}")));
    }
    for path in ["tool-calls", "files", "tree", "snapshot"] {
        let status = app.get(&format!("{session}/{path}")).await.status;
        if status != 200 {
            faults.push(format!("{name}, {path}: {status}"));
        }
    }
}
