use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::summary::testing::{call, failed, result};
use crate::domain::summary::text::quarters;

fn ledger(messages: &[Message]) -> Ledger {
    let mut ledger = Ledger::default();
    ledger.extend(recorded(messages));
    ledger
}

fn recorded(messages: &[Message]) -> Recorder {
    let mut recorder = Recorder::default();
    messages.iter().for_each(|message| recorder.add(message));
    recorder
}

#[test]
fn says_what_was_called_and_what_came_back() {
    let messages = [
        call("a", "edit", json!({"old": "x", "path": "src/lib.rs"})),
        result("a", "\n\nReplaced 1 block.\nmore"),
        call("b", "bash", json!({"command": "cargo test"})),
        failed("b", "error[E0308]: mismatched types"),
        call("c", "read", json!({"path": "a.md"})),
    ];
    assert_eq!(
        ledger(&messages).render(1000),
        "- edit(src/lib.rs, old=x) → returned: Replaced 1 block.\n\
         - bash(cargo test) → failed: error[E0308]: mismatched types\n\
         - read(a.md) → open"
    );
}

#[test]
fn a_call_that_was_not_approved_is_refused() {
    let item = |item: serde_json::Value| {
        let format = crate::domain::model::format::Format::OpenaiResponses;
        crate::domain::format::message_of(format, &item).unwrap().unwrap()
    };
    let asked = |id: &str| {
        item(json!({"type": "mcp_approval_request", "id": id, "name": "drop", "arguments": "{\"path\":\"a\"}"}))
    };
    let messages = [
        asked("m1"),
        item(
            json!({"type": "mcp_approval_response", "approval_request_id": "m1", "approve": false, "reason": "not yet"}),
        ),
        call("b", "bash", json!({"command": "ls"})),
        result("b", "a"),
        asked("m2"),
        item(json!({"type": "mcp_approval_response", "approval_request_id": "m2", "approve": true})),
        item(
            json!({"type": "mcp_call", "id": "c", "approval_request_id": "m2", "name": "drop", "arguments": "{\"path\":\"a\"}",
            "output": "gone"}),
        ),
    ];
    let told = ledger(&messages).lines.iter().map(|line| (line.name.clone(), line.outcome)).collect::<Vec<_>>();
    let named = |name: &str, end| (name.to_owned(), end);
    assert_eq!(told, [named("bash", CallEnd::Returned), named("drop", CallEnd::Returned)]);
    let told = ledger(&messages[..4]).render(1_000);
    assert!(told.contains("drop(a) → refused: not yet"), "{told}");
}

#[test]
fn tells_repeated_calls_once_and_reads_by_file() {
    let mut messages = Vec::new();
    for (at, outcome) in ["1 failed, 2 passed in 3s", "3 passed in 3s"].iter().enumerate() {
        messages.extend([call("r", "read", json!({"path": "src/a.rs", "offset": at * 10})), result("r", "fn a() {}")]);
        messages.extend([call("s", "read", json!({"path": "src/b.rs"})), failed("s", "no such file")]);
        messages.extend([call("t", "bash", json!({"command": "pytest -q"})), result("t", outcome)]);
    }
    messages.extend([call("p", "bash", json!({"command": "git push"})), result("p", "main -> main")]);
    let first = ledger(&messages);
    assert_eq!(
        first.render(90),
        "- bash ×2: pytest -q → returned: 3 passed in 3s\n- bash(git push) → returned: main -> main\n\
         - read ×2: src/a.rs → returned: fn a() {}\n\
         - read ×2 (2 failed): src/b.rs → failed: no such file"
    );
    assert_eq!(
        first.render(53),
        "- bash ×2: pytest -q → returned\n- bash(git push) → returned: main -> main\n- read ×4 (2 failed): src/a.rs ×2, src/b.rs ×2 (failed)"
    );
    assert_eq!(first.render(22), "other calls: read ×4 (2 failed), bash ×2\n- bash(git push) → returned");
    let mut second = first.clone();
    second.extend(recorded(&messages));
    assert_eq!(second.lines.iter().map(|line| line.calls).collect::<Vec<_>>(), [4, 4, 4, 2]);
}

#[test]
fn edits_are_told_by_file_with_how_they_ended() {
    let mut messages = Vec::new();
    for (at, path) in ["src/a.rs", "src/b.rs", "src/a.rs", "src/c.rs"].iter().enumerate() {
        messages.push(call("e", "edit", json!({"path": path, "old": format!("x{at}"), "new": "y"})));
        messages.push(if at == 3 { failed("e", "no such file") } else { result("e", "The file has been updated.") });
    }
    let mut plan = vec![call("t", "TodoWrite", json!({"todos": []})), result("t", "ok")];
    plan.extend(messages);
    let text = ledger(&plan).render(40);
    assert_eq!(
        text,
        "other calls: TodoWrite\n- edit ×4 (1 failed): src/a.rs ×2, src/b.rs, src/c.rs (failed) → others returned"
    );
    let many: Vec<Message> = (0..30)
        .flat_map(|at| {
            let path = format!("a/path/of/some/length/file{at:02}.rs");
            [call("e", "edit", json!({"path": path})), result("e", "The file has been updated.")]
        })
        .collect();
    let text = ledger(&many).render(1000);
    assert!(
        text.lines().count() == 3 && text.lines().all(|line| line.ends_with(" → returned") && line.len() < 500),
        "{text}"
    );
}

#[test]
fn what_only_reads_as_a_failure_returned() {
    let messages = [
        call("a", "update_reservation", json!({"reservation_id": "GV1N64", "cabin": "economy"})),
        result("a", "Error: not enough seats on flight HAT290"),
        call("b", "edit", json!({"path": "a.rs", "old_string": "x".repeat(50), "new_string": "y".repeat(50)})),
        result("b", "The file a.rs has been updated successfully."),
        call("c", "apply_patch", json!({"input": "*** Begin Patch\n*** Update File: src/x.rs\n*** End Patch"})),
        result("c", "Success"),
    ];
    assert_eq!(
        ledger(&messages).render(1000),
        "- update_reservation(reservation_id=GV1N64, cabin=economy) → returned: Error: not enough seats on flight HAT290\n\
         - apply_patch(src/x.rs) → returned: Success\n- edit(a.rs) → returned"
    );
}

#[test]
fn a_repeated_id_answers_the_newest_open_call() {
    let messages =
        [call("a", "one", json!({})), result("a", "first"), call("a", "two", json!({})), result("a", "second")];
    let says: Vec<_> = ledger(&messages).lines.into_iter().map(|line| (line.name, line.says)).collect();
    assert_eq!(says, [("one".into(), "first".into()), ("two".into(), "second".into())]);
}

#[test]
fn side_effects_keep_their_target_longest() {
    let mut messages = Vec::new();
    for at in 0..40 {
        messages.push(call("r", "read", json!({"path": format!("some/long/folder/name/file-{at}.rs")})));
        messages.push(result("r", "a line of text that somebody wrote into the file"));
    }
    messages.push(call("w", "send_email", json!({"to": "ann@example.org", "body": "hello there"})));
    messages.push(result("w", "sent"));
    let text = ledger(&messages).render(40);
    assert!(text.starts_with("other calls: read ×") && text.contains("- send_email(to=ann@example.org"), "{text}");
}

/// Adds up the names and counts that a rendered ledger states.
fn stated(text: &str) -> BTreeMap<String, (u64, u64)> {
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in text.lines() {
        let groups: Vec<&str> = match line.strip_prefix("- ") {
            Some(line) => vec![line.split(": ").next().unwrap_or(line)],
            None => line.split_once(": ").expect("totals").1.split(", ").collect(),
        };
        for group in groups {
            let (calls, errors) = match group.split_once('×') {
                Some((_, rest)) => {
                    let number = |text: &str| text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                    (number(rest), rest.split_once(" (").map_or(0, |(_, errors)| number(errors)))
                }
                None => (1, u64::from(group.contains("→ failed") || group.contains("(1 failed)"))),
            };
            let name = group.split([' ', '(']).next().expect("a name").to_owned();
            let entry = counts.entry(name).or_default();
            *entry = (entry.0 + calls, entry.1 + errors);
        }
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// After ten compactions every call is still there, by name and count, however small the bound.
    #[test]
    fn counts_are_conserved(
        rounds in prop::collection::vec(prop::collection::vec((0usize..5, any::<bool>(), 0usize..3), 0..70), 10),
        max_tokens in 0u32..4000,
    ) {
        let names = ["read", "edit", "bash", "get_user", "book"];
        let mut ledger = Ledger::default();
        let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for round in rounds {
            let mut messages = Vec::new();
            for (name, fails, length) in round {
                messages.push(call("x", names[name], json!({"path": "p".repeat(length * 100)})));
                messages.push(if fails { failed("x", "went wrong") } else { result("x", "went well") });
                let entry = expected.entry(names[name].to_owned()).or_default();
                *entry = (entry.0 + 1, entry.1 + u64::from(fails));
            }
            ledger.extend(recorded(&messages));
            let stored = serde_json::to_string(&ledger).expect("serialises");
            ledger = serde_json::from_str(&stored).expect("reads");
            prop_assert!(ledger.lines.len() <= MAX_LINES);
        }
        let text = ledger.render(max_tokens);
        prop_assert_eq!(&stated(&text), &expected);
        let listed: u64 = ledger.lines.iter().map(|line| line.calls).sum();
        let known = ledger.totals.iter().map(|total| total.calls).sum::<u64>() + listed;
        prop_assert_eq!(known, expected.values().map(|(calls, _)| calls).sum::<u64>());
        prop_assert!(quarters(&text) <= (max_tokens as usize * 4).max(names.len() * 40));
    }
}
