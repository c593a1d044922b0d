//! What is told of runs and of what was broken off.

use serde_json::json;

use super::*;
use crate::record::testing::call_with;

/// A run in other words on the same file says how it is now: the older one no longer does.
#[test]
fn a_run_that_was_tried_otherwise_says_nothing_of_now() {
    let run = |id: &str, command: &str| call(id, "bash", command);
    let messages = |last: &str| {
        vec![
            said(Role::User, "Make the fetcher work."),
            run("a", "cd /app && python src/fetch.py 2>&1 | tail -60"),
            result("a", "KeyError: sha"),
            run("b", "cd /app && python src/fetch.py 2>&1 | tail -60"),
            result("b", "KeyError: sha"),
            run("c", last),
            result("c", "fetched 120 rows"),
            run("d", "git status"),
            result("d", "clean"),
        ]
    };
    let otherwise = written(&messages("cd /app && python src/fetch.py 2>&1 | tail -40"), 900);
    assert!(!otherwise.contains("Ran more than once") && !otherwise.contains("not run again"), "{otherwise}");
    let other = written(&messages("cd /app && python src/report.py | tail -60"), 900);
    assert!(other.contains("Ran more than once"), "{other}");
}

/// What a page calls by the same name may be another button each time.
#[test]
fn only_a_command_is_run_twice() {
    let again = |name: &str, arguments: serde_json::Value| {
        let mut messages = vec![said(Role::User, "Close the dialog.")];
        for id in ["a", "b", "c"] {
            messages.push(call_with(id, name, if id == "c" { json!({"kind": "look"}) } else { arguments.clone() }));
            messages.push(result(id, "ok, done"));
        }
        written(&messages, 900).contains("more than once")
    };
    assert!(!again("browser", json!({"kind": "click", "ref": "e1216"})));
    assert!(again("shell", json!({"command": "npm run check"})) && again("run_checks", json!({})));
}

/// An empty list is what a search found.
#[test]
fn an_empty_list_is_told() {
    let mut messages = vec![said(Role::User, "Find a flight.")];
    messages.push(call_with("s", "search_direct_flight", json!({"from": "ATL"})));
    messages.push(result("s", "[]"));
    messages.push(said(Role::Assistant, "There is none."));
    assert!(written(&messages, 600).contains("search_direct_flight(ATL) → []"));
}

/// In a long turn an error of its beginning is no late one, nor is one where the same file was reached with another tool.
#[test]
fn an_error_of_long_ago_is_no_late_one() {
    let failing =
        |id: &str, path: &str| [call(id, "read", path), crate::record::testing::flagged(id, "no such skill", true)];
    let messages = |between: usize, other: &str| {
        let mut messages = vec![said(Role::User, "Bau die Seite.")];
        messages.extend(failing("f", "skills/figma.md"));
        for n in 0..between {
            messages.push(call(&format!("b{n}"), "bash", &format!("make part{n}")));
            messages.push(result(&format!("b{n}"), &format!("built part {n}")));
        }
        messages.push(call("o", "view_file", other));
        messages.push(result("o", "# Figma"));
        messages.push(call("p", "bash", "git status"));
        messages.push(result("p", "clean"));
        messages
    };
    let late = |between: usize, other: &str| written(&messages(between, other), 1_500).contains("Ended lately");
    assert!(late(3, "docs/other.md"));
    assert!(!late(3, "skills/figma.md"), "another tool has reached it");
    assert!(!late(20, "docs/other.md"), "long ago");
}

/// Of many turns a word of consent is told, though its turn is left out.
#[test]
fn a_word_of_the_users_stays_where_its_turn_is_left_out() {
    let mut messages = Vec::new();
    for n in 0..60 {
        messages.push(said(
            Role::User,
            &if n % 2 == 0 {
                format!("Frag mich vor Schritt {n}, der {}", "lang und breit erklärt ist ".repeat(8))
            } else {
                format!("Ja, mach {n}.")
            },
        ));
        messages.push(said(
            Role::Assistant,
            &format!("Schritt {n}: {}", "etwas ist geschehen und wird berichtet ".repeat(6)),
        ));
    }
    let text = written(&messages, 900);
    let told = (1..60).step_by(2).filter(|n| text.contains(&format!("User: Ja, mach {n}."))).count();
    assert!(told >= 6 && text.contains("[…"), "{told}: {text}");
}
