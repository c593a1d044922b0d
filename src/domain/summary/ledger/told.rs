//! Calls that the body of a summary tells already, each with how it ended: the ledger need not list them again.

use std::collections::HashSet;

use super::arguments::TOLD_CHARS;
use crate::domain::model::call_end::CallEnd;
use crate::domain::model::ledger::LedgerLine;
use crate::domain::record::effect;
use crate::domain::summary::text::{clip, without_bullet};

/// Stands between what was done to a file and what for.
pub const PURPOSE: &str = " — ";

/// Steps and files of a body, in the form that the built-in summariser gives them.
#[derive(Debug, Default)]
pub struct ToldCalls<'b> {
    worked: HashSet<&'b str>,
    failed: HashSet<&'b str>,
    /// Files that were written or edited.
    files: HashSet<&'b str>,
    /// These, and what a step that failed was to act on.
    pub paths: HashSet<&'b str>,
}

impl<'b> ToldCalls<'b> {
    /// Reads a body line by line.
    pub fn of(body: &'b str) -> ToldCalls<'b> {
        let mut told = ToldCalls::default();
        body.lines().for_each(|line| told.take(item(line)));
        told
    }

    fn take(&mut self, item: &'b str) {
        if let Some((step, _)) = item.split_once(" → ") {
            self.worked.insert(without_count(step).0);
        } else if let Some(step) = failed_step(item) {
            let (step, _) = without_count(step);
            self.failed.insert(step);
            self.paths.extend(step.split_once(": ").map(|(_, target)| target));
        } else if let Some((path, _)) = file_work(item) {
            self.files.insert(path);
            self.paths.insert(path);
        }
    }

    /// Returns true if the body tells of a line's calls, and that they ended as the line says.
    pub fn tells(&self, line: &LedgerLine) -> bool {
        let steps = match line.outcome {
            CallEnd::Returned => &self.worked,
            CallEnd::Failed | CallEnd::Refused => &self.failed,
            CallEnd::Open => return false,
        };
        let edited = line.outcome == CallEnd::Returned && !line.read_only && effect::writes(&line.name);
        edited && self.files.contains(line.target.as_str())
            || !steps.is_empty() && keys(line).iter().any(|key| steps.contains(key.as_str()))
    }
}

/// An item without its mark and label.
fn item(line: &str) -> &str {
    let line = without_bullet(line.trim());
    let line = ["[x] ", "[ ] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    line.strip_prefix("Obstacle: ").unwrap_or(line)
}

/// The step of an item that tells of its failure: `bash: make failed: no rule`, `bash: make failed`.
pub fn failed_step(item: &str) -> Option<&str> {
    item.split_once(" failed: ").map(|(step, _)| step).or_else(|| item.strip_suffix(" failed"))
}

/// What was tried, and how often: `bash: make (×3, 1 failed before)`.
pub fn without_count(step: &str) -> (&str, u32) {
    let Some((what, count)) = step.rsplit_once(" (×") else { return (step, 1) };
    let digits = count.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().map_or((step, 1), |times| (what, times))
}

/// The path and the work of an item that tells what was done to a file, without what that was for:
/// `src/a.rs: written, edited ×3 (login, check) — keep the session`.
pub fn file_work(item: &str) -> Option<(&str, &str)> {
    let item = item.split_once(PURPOSE).map_or(item, |(work, _)| work);
    item.rsplit_once(": ").filter(|(_, said)| tells_work(said))
}

fn tells_work(said: &str) -> bool {
    let verbs = said.split(" (").next().unwrap_or_default();
    verbs.split(", ").all(|verb| {
        let (word, times) = verb.split_once(" ×").unwrap_or((verb, "1"));
        matches!(word, "written" | "edited") && times.parse::<u32>().is_ok()
    })
}

/// The ways in which a body may name a line's calls: by the target, without its key, and with the other arguments.
fn keys(line: &LedgerLine) -> Vec<String> {
    let bare = match line.target.split_once('=') {
        Some((key, value)) if !effect::is_shell(&line.name) && !key.contains([' ', '/']) => value,
        _ => line.target.as_str(),
    };
    let named = |target: &str| match target {
        "" => line.name.clone(),
        target => format!("{}: {}", line.name, clip(target, TOLD_CHARS)),
    };
    let mut keys = vec![named(&line.target), named(bare)];
    if !line.rest.is_empty() {
        keys.push(format!("{}, {}", named(bare), line.rest));
    }
    keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Ledger, Recorder};
    use crate::domain::summary::testing::{call, failed, result};

    fn ledger() -> Ledger {
        let messages = [
            call("a", "bash", json!({"command": "cd /x && cargo test 2>&1 | tail -3"})),
            result("a", "test result: ok. 3 passed; 0 failed"),
            call("b", "bash", json!({"command": "make deploy"})),
            failed("b", "no rule"),
            call("c", "edit", json!({"path": "src/a.rs", "new": "fn scan() {}"})),
            result("c", "ok"),
            call("d", "edit", json!({"path": "src/b.rs"})),
            failed("d", "no such file"),
            call("e", "send_email", json!({"to": "ann@example.org", "cc": "bo@example.org"})),
            result("e", "sent"),
            call("f", "delete_file", json!({"path": "src/a.rs"})),
            result("f", "gone"),
        ];
        let mut recorder = Recorder::default();
        messages.iter().for_each(|message| recorder.add(message));
        let mut ledger = Ledger::default();
        ledger.extend(recorder);
        ledger
    }

    #[test]
    fn what_the_body_tells_is_counted_alone() {
        let body = "### Done\n- [x] bash: cargo test (×2, 1 failed before) → 3 passed\n- [x] src/a.rs: edited (scan) — scan: end at a mark\n\
            - send_email: ann@example.org, cc=bo@example.org → sent\n### Blocked\n- bash: make deploy failed: no rule";
        assert_eq!(
            ledger().render_beside(body, 1000),
            "told above, calls: bash ×2 (1 failed), edit, send_email\n\
             - edit(src/b.rs) → failed: no such file\n- delete_file(src/a.rs) → returned: gone"
        );
    }

    #[test]
    fn what_ended_otherwise_or_is_only_named_is_listed() {
        let body = "- [x] bash: make deploy → done\n- bash: cargo test failed\n- src/a.rs: edited the parser\n\
            - send_email: ann@example.org, cc=x → sent\nWe ran cargo test and made src/b.rs: edited ×2.";
        assert_eq!(ledger().render_beside(body, 1000), ledger().render(1000));
    }
}
