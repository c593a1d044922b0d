//! What stands where, and what is said of now.

use serde_json::json;

use super::super::testing::{call, call_with, flagged, result, said};
use super::*;
use crate::settings::Estimator;

/// A look at the state of something is no check, and what is run again behind the record says itself how it is.
#[test]
fn nothing_is_said_of_now_that_later_calls_may_have_changed() {
    let messages = [
        said(Role::User, "Make the tests pass."),
        call("a", "bash", "git log -1"),
        result("a", "c99ce2f"),
        call("b", "bash", "git log -1"),
        result("b", "d0a1b2c"),
        call("c", "bash", "cargo test"),
        flagged("c", "error: 3 failed", true),
        call("d", "bash", "cargo test"),
        result("d", "all 12 passed"),
        call("e", "bash", "ls src"),
        result("e", "a.rs"),
    ];
    let told = |kept: &[Message]| {
        let before: Vec<RecordItem<'_>> =
            messages.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
        let parts = RecordParts { before: &before, kept, ..RecordParts::default() };
        write(&parts, 3_000, |text| text.len() as u64 / 4)
    };
    let text = told(&[]);
    assert!(text.contains("nothing but reading was called since:\n- #4 bash(cargo test) → all 12 passed"), "{text}");
    assert_eq!(text.matches("git log").count(), 2, "{text}");
    let text = told(&[call("f", "bash", "git merge main")]);
    assert!(text.contains("may have changed the outcome:\n- #4 bash(cargo test)"), "{text}");
    let text = told(&[call("f", "bash", "cargo test")]);
    assert!(!text.contains("more than once"), "{text}");
}

#[test]
fn a_command_is_the_same_whatever_it_is_said_to_be_for() {
    let run = |id: &str, why: &str| {
        call_with(id, "Bash", json!({"command": "mise run test", "description": why, "timeout": why.len()}))
    };
    let messages = [
        said(Role::User, "Make the tests pass."),
        run("a", "Run the tests"),
        flagged("a", "exit 1: FAIL", true),
        run("b", "Run the tests once more"),
        result("b", "all passed"),
        call("c", "read", "src/a.rs"),
        result("c", "fn a() {}"),
    ];
    let text = written(&messages, 3_000);
    assert!(!text.contains("was not run again"), "{text}");
    assert!(text.contains("nothing but reading was called since:\n- #2 Bash(mise run test"), "{text}");
}

/// At every level what was said and done stands in the order of the conversation: a count where its calls were, words of
/// different messages on lines of their own.
#[test]
fn counts_and_words_stand_in_their_places() {
    let mut messages = Vec::new();
    for turn in 0..12 {
        messages.push(said(Role::User, &format!("Look at part {turn} and mend what is wrong there.")));
        for step in 0..4 {
            let id = format!("c{turn}_{step}");
            messages.push(call(&id, "read", &format!("src/part_{turn}_{step}.rs")));
            messages.push(result(&id, &"fn a() {}\n".repeat(30)));
        }
        messages.push(said(Role::Assistant, &format!("The cause is the lock in lib_{turn}.rs. It is held too long.")));
        let id = format!("d{turn}");
        messages.push(call(&id, "read", &format!("src/lib_{turn}.rs")));
        messages.push(result(&id, &"fn b() {}\n".repeat(30)));
        messages.push(said(Role::Assistant, &format!("Part_{turn} is understood now. The lock goes.")));
    }
    let mut counted = 0;
    for room in [450, 600, 800, 1_500] {
        let text = written(&messages, room);
        counted += text.matches("\n  (4 calls: #6-#9)\nAgent: The cause is the lock in lib_1.rs.").count();
        let (said, last) = (text.find("lib_1.rs"), text.find("(1 call: #10)"));
        assert!(last.is_none_or(|last| said.is_some_and(|said| said < last)), "{room}: {text}");
        for (_, turn) in text.split("u").filter_map(|turn| turn.split_once(" User: ")) {
            let places: Vec<_> =
                ["calls: #", "The cause is", "is understood"].iter().filter_map(|part| turn.find(part)).collect();
            assert!(places.is_sorted(), "{room}: {turn}");
            let line = turn.lines().find(|line| line.contains("The cause is"));
            assert!(line.is_none_or(|line| !line.contains("is understood")), "{room}: {turn}");
        }
    }
    assert!(counted > 0);
}

/// What a user says to a refused call is not told as what the call returned, also where no flag says that it failed.
#[test]
fn a_refusal_without_a_flag_is_quoted_from_its_beginning() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, \
                   the new_string was NOT written to the file). To tell you how to proceed, the user said:\nI tried gc from \
                   the main worktree - do we need read-tree there?";
    let mut messages = vec![said(Role::User, "Clean the worktree.")];
    for n in 0..6 {
        messages.push(call(&format!("c{n}"), "bash", &format!("git gc --prune={n}")));
        messages.push(result(&format!("c{n}"), if n % 2 == 0 { refused } else { "done" }));
        messages.push(said(Role::Assistant, "Let me look at read-tree and gc in the main worktree."));
    }
    let text = written(&messages, 700);
    let told: Vec<&str> = text.split("- #").filter(|call| call.contains("I tried gc")).collect();
    assert_eq!(told.len(), 3, "{text}");
    assert!(told.iter().all(|call| call.contains("→ The user doesn't want to proceed")), "{text}");
}

/// What a model reads though it stays with the agent is marked, so that notes need not repeat it.
#[test]
fn a_model_is_told_which_messages_stay() {
    let (first, running) = (said(Role::User, "Move the parser."), said(Role::User, "Now the lexer."));
    let places = [
        (first, RecordPlace::Kept),
        (said(Role::Assistant, "It is moved."), RecordPlace::Told),
        (running, RecordPlace::Running),
    ];
    let mut source = RecordSource::default();
    for (depth, (message, place)) in places.into_iter().enumerate() {
        source.take_before(message, (place, None), depth as i64, 0);
    }
    let shown = source.shown(10_000, None, Estimator::O200k).record;
    let told = "u1 User: [stays with the agent word for word] Move the parser.\nAgent: It is moved.\nu2 User: [stays with the agent word for word] Now the lexer.";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn files_read_in_a_row_are_told_in_a_row() {
    let mut messages = vec![said(Role::User, "Read the parser.")];
    for (id, path) in [("a", "src/a.rs"), ("b", "src/b.rs"), ("c", "src/c.rs")] {
        messages.push(call(id, "read", path));
        messages.push(result(id, &"let parsed = parse(text);\n".repeat(60)));
    }
    messages.push(call("d", "read", "src/d.rs"));
    messages.push(flagged("d", "no such file", true));
    let text = written(&messages, 300);
    assert!(text.contains("- #1-#3 read(src/a.rs → 60 lines; src/b.rs → 60 lines; src/c.rs → 60 lines)\n"), "{text}");
    assert!(text.contains("- #4 read(src/d.rs) → failed: no such file"), "{text}");
}

#[test]
fn a_command_that_the_user_ran_begins_a_turn() {
    let messages = [
        said(Role::User, "Fix src/net.rs."),
        said(Role::Assistant, "It is fixed."),
        said(
            Role::User,
            "<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args></command-args>",
        ),
        said(Role::Assistant, "I found nothing in src/net.rs."),
    ];
    let text = written(&messages, 500);
    assert!(text.contains("Agent: It is fixed.\nUser ran: /review\nAgent: I found nothing"), "{text}");
}
