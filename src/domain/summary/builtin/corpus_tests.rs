//! Summary messages of real sessions over several compactions, measured, and written down for a reader where
//! `CONTEXTD_SUMMARIES` names a folder. The texts in one that `CONTEXTD_SUMMARIES_BEFORE` names are measured beside them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::super::files::{FileOps, FileTable, OpenFile};
use super::super::ledger::{self, Recorder};
use super::super::testing::{settings, task, transcripts};
use super::super::user_text::{self, UserText};
use super::super::{Allowance, SummaryMessage};
use super::*;
use crate::domain::model::ledger::Ledger;
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::default_file_tools;
use crate::domain::summary::identifiers::{self, IdentifierSpan};

/// Compactions of a session, the tokens of one that is long enough for them, and what is kept free.
const ROUNDS: usize = 10;
const LONG: usize = 16_000;
const RESERVE: u32 = 8_192;
/// Least weight of an identifier that somebody spoke of, or used in a call, twice.
const USED_TWICE: u32 = 12;
const SOURCES: [&str; 11] = [
    "entireio-cli",
    "pi-mono",
    "tau-bench",
    "swe-agent",
    "swe-smith",
    "openhands-sdk",
    "aider-history",
    "glaive-toolcall-zh",
    "pydantic-ai-cassettes",
    "agentcmd",
    "claude-code-viewer",
];

/// Parts of a whole, added up over sessions.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    part: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, part: usize, of: usize) {
        self.part += part;
        self.of += of;
    }

    fn percent(self) -> f64 {
        100.0 * self.part as f64 / self.of.max(1) as f64
    }
}

#[derive(Debug, Default)]
struct Measured {
    sessions: usize,
    tokens: usize,
    identifiers: Share,
    /// Identifiers that were spoken or used in calls twice.
    used: Share,
    numbers: Share,
    calls: Share,
    lists: Share,
}

impl Measured {
    fn add(&mut self, other: &Measured) {
        self.sessions += other.sessions;
        self.tokens += other.tokens;
        self.identifiers.add(other.identifiers.part, other.identifiers.of);
        self.used.add(other.used.part, other.used.of);
        self.numbers.add(other.numbers.part, other.numbers.of);
        self.calls.add(other.calls.part, other.calls.of);
        self.lists.add(other.lists.part, other.lists.of);
    }
}

fn size(message: &Message) -> usize {
    let text = |text: &str| text.chars().count() / 4;
    text(&message.plain_text())
        + message.tool_calls().map(|call| text(&call.arguments.to_string()) + 10).sum::<usize>()
        + message.tool_results().map(|result| text(&result.plain_text())).sum::<usize>()
}

/// The session in about ten spans; a short one is one.
fn spans(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let all: usize = messages.iter().map(size).sum();
    let span = if all < LONG { all } else { all / ROUNDS };
    let mut spans = vec![Vec::new()];
    let mut tokens = 0;
    // As with any cut of ours, a call stays with its result.
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        let starts = message.role == Role::User && message.tool_results().next().is_none();
        if starts {
            open.clear();
        }
        if tokens >= span && open.is_empty() && (starts || message.role == Role::Assistant) {
            spans.push(Vec::new());
            tokens = 0;
        }
        open.extend(message.tool_calls().map(|call| call.id.clone()));
        message.tool_results().for_each(|result| {
            open.remove(&result.tool_call_id);
        });
        tokens += size(&message);
        spans.last_mut().expect("one").push(message);
    }
    spans
}

/// Spoken numbers with their units.
fn numbers(messages: &[Message]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (message, kind) in messages.iter().zip(user_text::of(messages)) {
        let speaks = matches!(kind, UserText::Said(_)) || message.role == Role::Assistant;
        if speaks {
            found.extend(identifiers::extract(&message.plain_text()).into_iter().filter(|one| is_number(one)));
        }
    }
    found
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['$', '€', '£', '¥']);
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c)).trim();
    let starts = digits.starts_with(|c: char| c.is_ascii_digit());
    starts
        && (digits.len() < text.len()
            || !unit.is_empty() && unit.len() < 9 && unit.chars().all(|c| c.is_alphabetic() || c == '%'))
}

/// Characters of the lines that only list words.
fn listed(text: &str) -> usize {
    let mut inside = false;
    let mut sum = 0;
    for line in text.lines() {
        if line.starts_with("## ") || line.starts_with('<') {
            inside = line == "## Identifiers" || line.starts_with("<read-files") || line.starts_with("<modified-files");
        }
        let rule = line.starts_with("- \"");
        let row = ["Mentioned: ", "Files: ", "Also named: "].iter().any(|label| line.contains(label));
        sum += if (inside && !rule) || row { line.len() } else { 0 };
    }
    sum
}

/// The summary message after the last compaction of a session.
fn compact_all(messages: Vec<Message>) -> String {
    let tools = default_file_tools();
    let (mut ledger, mut carried, mut previous) = (Ledger::default(), Vec::new(), None);
    let (mut ops, mut open) = (FileOps::default(), OpenFile::default());
    let mut text = String::new();
    for span in spans(messages) {
        let replaced = span.iter().map(size).sum::<usize>() + text.len() / 4;
        let allowance = Allowance::new(replaced as u64, RESERVE);
        let (mut recorder, mut named) = (Recorder::default(), IdentifierSpan::default());
        for message in &span {
            recorder.add(message);
            named.add(message);
            ops.note(message, FileTable::new(&tools), &mut open);
        }
        ledger.extend(recorder);
        carried = identifiers::carry(&carried, named, allowance.identifiers);
        let task = SummaryTask { previous: previous.take(), ..task(span) };
        let body = summarise(&allowance.bounded(&SummaryTask { max_output_tokens: RESERVE * 4 / 5, ..task }, 1));
        let files = ops.lists();
        text = SummaryMessage {
            body: &body,
            ledger: &ledger,
            files: &files,
            identifiers: &carried,
            todos: &[],
            recalled: &[],
        }
        .text(&settings(), allowance);
        previous = Some(body);
    }
    text
}

/// What a summary message keeps of a session.
fn measure(all: &[Message], text: &str) -> Measured {
    let mut measured = Measured { sessions: 1, tokens: text.len() / 4, ..Measured::default() };
    let wanted: Vec<_> = identifiers::extract_span(all).into_iter().filter(|one| !one.is_rule()).collect();
    let mut kept = |share: fn(&mut Measured) -> &mut Share, wanted: &[_]| {
        let report = identifiers::check(text, wanted).1;
        share(&mut measured).add(report.kept as usize, report.found as usize);
    };
    kept(|measured| &mut measured.identifiers, &wanted);
    let used: Vec<_> = wanted.into_iter().filter(|one| one.weight >= USED_TWICE).collect();
    kept(|measured| &mut measured.used, &used);
    let numbers = numbers(all);
    measured.numbers.add(numbers.iter().filter(|one| text.contains(one.as_str())).count(), numbers.len());
    let calls = ledger::calls(all);
    let shown = |call: &&ledger::LedgerCall<'_>| {
        let described = ledger::describe(call.call, 60);
        described.split_once(": ").is_some_and(|(_, target)| text.contains(target.trim_end_matches('…')))
    };
    measured.calls.add(calls.iter().filter(shown).count(), calls.len());
    measured.lists.add(listed(text), text.len());
    measured
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn real_sessions_are_summed_up_without_word_lists() {
    let folder = |name: &str| std::env::var(name).ok().map(PathBuf::from);
    let (folder, before) = (folder("CONTEXTD_SUMMARIES"), folder("CONTEXTD_SUMMARIES_BEFORE"));
    let (mut total, mut long, mut old) = (Measured::default(), Measured::default(), Measured::default());
    for source in SOURCES {
        let sessions = transcripts(source);
        let every = if folder.is_some() { 1 } else { sessions.len().div_ceil(2).max(1) };
        let mut measured = Measured::default();
        for (at, messages) in sessions.into_iter().enumerate().step_by(every) {
            let name = format!("{source}-{at:02}-{}.md", messages.len());
            let is_long = messages.iter().map(size).sum::<usize>() >= LONG;
            let text = compact_all(messages.clone());
            let one = measure(&messages, &text);
            measured.add(&one);
            if is_long {
                long.add(&one);
                let texts = before.iter().filter_map(|before| std::fs::read_to_string(before.join(&name)).ok());
                texts.for_each(|text| old.add(&measure(&messages, &text)));
            }
            if let Some(folder) = &folder {
                std::fs::write(folder.join(name), &text).expect("written");
            }
        }
        println!("{source}: {}", told(&measured));
        total.add(&measured);
    }
    println!("long before: {}", told(&old));
    println!("long: {}", told(&long));
    println!("all: {}", told(&total));
    assert!(long.lists.percent() < 30.0 && long.numbers.percent() >= 75.0, "{}", told(&long));
}

fn told(measured: &Measured) -> String {
    format!(
        "{} sessions, {} tokens each, identifiers {:.1} % of {}, used {:.1} % of {}, numbers {:.1} % of {}, calls {:.1} % of {}, lists {:.1} %",
        measured.sessions,
        measured.tokens / measured.sessions.max(1),
        measured.identifiers.percent(),
        measured.identifiers.of,
        measured.used.percent(),
        measured.used.of,
        measured.numbers.percent(),
        measured.numbers.of,
        measured.calls.percent(),
        measured.calls.of,
        measured.lists.percent()
    )
}
