//! What a summary claims and the calls of its span deny: that the tests pass, that something was built or pushed.
//!
//! Only the clear case counts: every such call of the span failed.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::Value;

use super::reason::RejectReason;
use crate::domain::model::message::{Message, ToolCall, ToolResult};
use crate::domain::summary::text::{clip, sentences, words};

const KINDS: usize = 3;
/// Calls that wait for their results at the same time.
const MOST_OPEN: usize = 1_000;
const SHOWN: usize = 100;

/// Commands of each kind.
static COMMANDS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        r"\b(?:cargo (?:test|nextest)|pytest|(?:npm|yarn|pnpm|bun)(?: run)? test|go test|jest|vitest|make (?:test|check)|mvn (?:\w+ )?test|gradlew? test|rspec|dotnet test|ctest|phpunit|deno test|tox|-m unittest|mix test|swift test)\b",
        r"\b(?:cargo (?:build|check)|(?:npm|yarn|pnpm|bun) (?:run )?build|tsc|go build|make(?: build| all)?$|mvn (?:compile|package)|gradlew? build|dotnet build)\b",
        r"\bgit push\b",
    ])
    .ok()
});

/// Claims of each kind, about all of it.
static CLAIMS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        r"(?i)\b(?:all|every|the)\s+(?:\d+\s+|of the\s+)?(?:unit |integration |existing )?(?:tests?|specs|test suite|suite)\s+(?:are |is |now |all |have |has )*(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b|(?:^|[:;,.\]]\s*)tests?:? (?:are )?(?:all )?(?:pass(?:ed|ing)?|green)\b",
        r"(?i)\b(?:the )?(?:build|compilation)\s+(?:is |was |now )*(?:succeeds|succeeded|successful|passes|passed|green)\b|\b(?:compiles|builds) (?:cleanly|without errors|successfully)\b",
        r"(?i)\b(?:was|were|been|is|and|have|has|i|successfully) pushed\b|^pushed\b",
    ])
    .ok()
});

/// Words of a sentence that claims less, or of another time.
const HEDGES: &[&str] = &[
    "not",
    "no",
    "never",
    "fail",
    "fails",
    "failed",
    "failing",
    "failure",
    "failures",
    "error",
    "errors",
    "should",
    "until",
    "must",
    "ensure",
    "verify",
    "if",
    "when",
    "once",
    "before",
    "after",
    "need",
    "needs",
    "want",
    "wants",
    "goal",
    "expect",
    "expected",
    "previously",
    "except",
    "but",
    "to",
    "keep",
    "will",
    "would",
    "unless",
    "earlier",
    "initially",
    "were",
    "so",
    "confirm",
    "check",
    "whether",
    "unknown",
    "make",
    "makes",
    "get",
    "let",
];

static FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)test result: FAILED|\b[1-9]\d* (?:tests? )?(?:failed|failures?|failing)\b|^FAIL\b|^FAILED\b|npm ERR!|[Ee]xit code:? [1-9]|error: could not compile|error\[E\d{4}\]|error TS\d+|\[rejected\]|error: failed to push|^fatal: ",
    )
    .ok()
});

/// How the calls of each kind ended.
#[derive(Debug, Clone, Default)]
pub(super) struct LastRuns {
    open: HashMap<String, (usize, String)>,
    kinds: [Runs; KINDS],
}

#[derive(Debug, Clone, Default)]
struct Runs {
    failed: Option<String>,
    any_passed: bool,
}

impl LastRuns {
    pub(super) fn add(&mut self, message: &Message) {
        message.tool_results().for_each(|result| self.close(result));
        for call in message.tool_calls() {
            let Some((kind, command)) = recognised(call) else { continue };
            if self.open.len() < MOST_OPEN {
                self.open.insert(call.id.clone(), (kind, command));
            }
        }
        // A provider's own tools are answered inside the same message.
        message.tool_results().for_each(|result| self.close(result));
    }

    fn close(&mut self, result: &ToolResult) {
        let Some((kind, command)) = self.open.remove(&result.tool_call_id) else { return };
        let failed = result.is_error || FAILED.as_ref().is_some_and(|failed| failed.is_match(&result.plain_text()));
        let Some(runs) = self.kinds.get_mut(kind) else { return };
        runs.any_passed |= !failed;
        runs.failed = failed.then_some(command);
    }
}

fn recognised(call: &ToolCall) -> Option<(usize, String)> {
    let command = ["command", "cmd", "input"].iter().find_map(|key| call.arguments.get(*key))?;
    let command = match command {
        Value::String(command) => command.clone(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    let command = clip(&command, 2_000);
    let kind = COMMANDS.as_ref()?.matches(&command).iter().next()?;
    Some((kind, command))
}

/// Refuses a text that claims what every call of the span denies.
pub(super) fn check(text: &str, span: &LastRuns) -> Result<(), RejectReason> {
    let denied = |kind: usize| {
        let runs = span.kinds.get(kind).filter(|runs| !runs.any_passed)?;
        runs.failed.as_deref()
    };
    if (0..KINDS).all(|kind| denied(kind).is_none()) {
        return Ok(());
    }
    let Some(claims) = CLAIMS.as_ref() else { return Ok(()) };
    for sentence in sentences(text) {
        let call = claims.matches(&sentence).iter().find_map(denied);
        if let Some(call) = call.filter(|_| !words(&sentence).any(|word| is_hedge(&word))) {
            return Err(RejectReason::Contradiction { claim: clip(&sentence, SHOWN), call: clip(call, SHOWN) });
        }
    }
    Ok(())
}

fn is_hedge(word: &str) -> bool {
    word.ends_with("n't") || HEDGES.contains(&word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::summary::testing::{call, failed, result};

    fn after(messages: &[Message], text: &str) -> bool {
        let mut runs = LastRuns::default();
        messages.iter().for_each(|message| runs.add(message));
        check(text, &runs).is_err()
    }

    fn run(command: &str, result: Message) -> [Message; 2] {
        [call("1", "bash", json!({"command": command})), result]
    }

    #[test]
    fn sees_claims_that_the_calls_deny() {
        let red = run("cd api && cargo test --all", result("1", "test result: FAILED. 3 passed; 1 failed"));
        for claim in
            ["All tests pass.", "- [x] All 12 tests are passing", "The test suite is green.", "Tests: all passed"]
        {
            assert!(after(&red, claim), "{claim}");
        }
        let rest = [
            "All tests should pass.",
            "The tests pass except one.",
            "Not all tests pass.",
            "Make all tests pass",
            "Next: run it until all tests pass",
            "11 of 12 tests pass.",
        ];
        for claim in rest {
            assert!(!after(&red, claim), "{claim}");
        }
        assert!(after(&run("git push origin main", failed("1", "! [rejected]")), "The branch was pushed."));
        assert!(after(&run("npm run build", failed("1", "error TS2345")), "The build succeeded."));
    }

    #[test]
    fn one_run_that_worked_is_enough() {
        let mut runs = run("cargo test", failed("1", "boom")).to_vec();
        runs.extend(run("cargo test --lib", result("1", "test result: ok. 9 passed; 0 failed")));
        assert!(!after(&runs, "All tests pass."));
        runs.extend(run("cargo test", failed("1", "boom")));
        assert!(!after(&runs, "All tests pass."), "of the library they do");
    }
}
