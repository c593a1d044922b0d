//! What is told of runs and of what was broken off.

use serde_json::json;

use super::*;
use crate::domain::record::testing::call_with;

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

/// An empty list is what a search found.
#[test]
fn an_empty_list_is_told() {
    let mut messages = vec![said(Role::User, "Find a flight.")];
    messages.push(call_with("s", "search_direct_flight", json!({"from": "ATL"})));
    messages.push(result("s", "[]"));
    messages.push(said(Role::Assistant, "There is none."));
    assert!(written(&messages, 600).contains("search_direct_flight(ATL) → []"));
}
