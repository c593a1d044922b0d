//! What a transcript says about the work, found by rules.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::super::identifiers;
use super::super::super::ledger::{self, LedgerCall};
use super::super::super::message::{Message, Role, ToolResult};
use super::super::framing;
use super::super::text::{brief, clip, first_line, sentences, words};

/// Raw items are kept at this length at most; rendering clips further.
pub const ITEM_CHARS: usize = 400;
const REQUEST_CHARS: usize = 600;
/// Newest items kept of what grows with the span.
const MAX_FOUND: usize = 60;

const DECISION_CUES: [&str; 20] = [
    "decided",
    "decision",
    "instead of",
    "rather than",
    "root cause",
    "the problem is",
    "the issue is",
    "the fix is",
    "because",
    "chose",
    "going with",
    "turns out",
    "the reason",
    "confirmed",
    "trade-off",
    "approach",
    "we'll use",
    "i'll use",
    "原因",
    "決定",
];
const NEXT_CUES: [&str; 14] = [
    "next",
    "remaining",
    "still need",
    "todo",
    "to do",
    "should then",
    "follow-up",
    "need to",
    "needs to",
    "will then",
    "once that",
    "afterwards",
    "次に",
    "接下来",
];
const INTENT_CUES: [&str; 10] =
    ["i'll", "i will", "let me", "now i", "let's", "i'm going to", "i need to", "working on", "going to", "now let"];

/// Everything that sections are filled from, oldest first within each list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub goal: Vec<String>,
    pub rules: Vec<String>,
    pub done: Vec<String>,
    pub in_progress: Vec<String>,
    pub blocked: Vec<String>,
    pub decisions: Vec<String>,
    pub questions: Vec<String>,
    pub next: Vec<String>,
    pub files: Vec<String>,
    /// Identifiers other than paths, the weightiest first, as `files` are.
    pub mentions: Vec<String>,
    pub context: Vec<String>,
    pub results: Vec<String>,
    /// Calls that changed nothing.
    pub lookups: usize,
}

/// Begins an item of `in_progress` that only says how the span ended.
pub const UNANSWERED: &str = "Not yet answered: ";
/// Ends one.
pub const NO_RESULT: &str = ": no result yet";

impl Facts {
    pub fn of(messages: &[Message]) -> Facts {
        let mut facts = Facts::default();
        let calls = ledger::calls(messages);
        facts.speech(messages);
        facts.actions(&calls);
        facts.todos(&calls);
        facts.ending(messages);
        facts.references(messages);
        facts
    }

    fn speech(&mut self, messages: &[Message]) {
        for (at, message) in messages.iter().enumerate() {
            let text = message.plain_text();
            match message.role {
                Role::User if !is_synthetic(&text) => {
                    self.goal.extend(request(&text));
                    self.rules.extend(identifiers::rules(&text));
                }
                Role::Assistant => {
                    // What is said without a call ends a stretch of work: it tells how it came out.
                    let concludes = message.tool_calls().next().is_none();
                    let answered = messages.get(at + 1).is_none_or(|next| next.role == Role::User);
                    if concludes && answered {
                        self.done.extend(conclusion(&text));
                    }
                    let decisions = sentences(&text).into_iter().filter(|one| cued(one, &DECISION_CUES));
                    self.decisions.extend(decisions.take(3).map(|one| clip(&one, ITEM_CHARS)));
                }
                _ => {}
            }
            for list in [&mut self.goal, &mut self.done, &mut self.decisions] {
                // Not each time: what is let go is moved over.
                if list.len() > 2 * MAX_FOUND || at + 1 == messages.len() {
                    *list = newest_of(std::mem::take(list));
                }
            }
        }
    }

    /// What calls changed, what they failed at and nothing later put right.
    fn actions(&mut self, calls: &[LedgerCall<'_>]) {
        let keys: Vec<String> = calls.iter().map(|call| ledger::describe(call.call, 120)).collect();
        let mut last: HashMap<&str, usize> = HashMap::new();
        let mut times: HashMap<&str, u32> = HashMap::new();
        for (at, key) in keys.iter().enumerate() {
            last.insert(key, at);
            *times.entry(key).or_default() += 1;
        }
        let mut actions = Vec::new();
        for (at, (call, key)) in calls.iter().zip(&keys).enumerate() {
            let says = call.result.map(|result| brief(&telling_line(result), 160)).unwrap_or_default();
            let read_only = ledger::is_read_only(call.call);
            self.lookups += usize::from(read_only);
            if last.get(key.as_str()) != Some(&at) || todo_list(call).is_some() {
                continue;
            }
            let repeats = times.get(key.as_str()).filter(|&&n| n > 1).map(|n| format!(" (×{n})")).unwrap_or_default();
            match call.result {
                Some(result) if failed(result) => self.blocked.push(format!("{key}{repeats} failed: {says}")),
                Some(_) if read_only => self.results.push(format!("{key}: {says}")),
                Some(_) => actions.push(format!("{key}{repeats} → {}", if says.is_empty() { "ok" } else { &says })),
                None => self.in_progress.push(format!("{key}{NO_RESULT}")),
            }
        }
        let unseen = actions.len().saturating_sub(MAX_FOUND);
        self.results.extend(actions.iter().rev().take(3).rev().cloned());
        // Conclusions first: they are few and say more than single calls.
        self.done.extend(actions.into_iter().skip(unseen));
        self.blocked = newest_of(std::mem::take(&mut self.blocked));
        self.results = newest_of(std::mem::take(&mut self.results));
    }

    /// The newest todo list or plan says best what is done and what is not.
    fn todos(&mut self, calls: &[LedgerCall<'_>]) {
        let Some(items) = calls.iter().rev().find_map(todo_list) else { return };
        for item in items {
            let text =
                ["content", "step", "title", "description", "task"].iter().find_map(|key| item.get(key)?.as_str());
            let Some(text) = text.map(|text| brief(text, ITEM_CHARS)) else { continue };
            match item.get("status").and_then(Value::as_str) {
                Some("completed" | "done") => self.done.push(text),
                Some("in_progress") => self.in_progress.push(text),
                _ => self.next.push(text),
            }
        }
    }

    /// What the end of the span leaves open.
    fn ending(&mut self, messages: &[Message]) {
        let spoken = |role| {
            messages.iter().enumerate().rev().find(|(_, message)| {
                let text = message.plain_text();
                message.role == role && !text.trim().is_empty() && !is_synthetic(&text)
            })
        };
        let (user, assistant) = (spoken(Role::User), spoken(Role::Assistant));
        if let Some((at, message)) = user
            && assistant.is_none_or(|(answered, _)| answered < at)
        {
            self.in_progress.extend(request(&message.plain_text()).map(|text| format!("{UNANSWERED}{text}")));
        }
        let Some((at, message)) = assistant else { return };
        let said = sentences(&message.plain_text());
        let open = user.is_none_or(|(asked, _)| asked < at);
        for sentence in said.iter().map(|one| clip(one, ITEM_CHARS)) {
            if sentence.ends_with(['?', '？']) {
                if open {
                    self.questions.push(sentence);
                }
            } else if cued(&sentence, &NEXT_CUES) {
                self.next.push(sentence);
            } else if cued(&sentence, &INTENT_CUES) {
                self.in_progress.push(sentence);
            }
        }
    }

    fn references(&mut self, messages: &[Message]) {
        let rules: HashSet<&String> = self.rules.iter().collect();
        let wanted: Vec<String> =
            identifiers::extract_span(messages).into_iter().filter(|one| !rules.contains(one)).collect();
        (self.files, self.mentions) = wanted.into_iter().partition(|one| one.contains(['/', '\\']));
    }
}

/// Text that a harness put under the user's name, and our own summaries.
fn is_synthetic(text: &str) -> bool {
    let text = text.trim();
    const MARKS: [&str; 7] = [
        "<system-reminder",
        "<local-command",
        "<command-",
        "<task-notification",
        "<environment_context",
        "[Request interrupted",
        "Caveat:",
    ];
    text.is_empty() || framing::is_framed(text) || MARKS.iter().any(|mark| text.starts_with(mark))
}

/// What the user asks for, from the first lines of a message that say something.
fn request(text: &str) -> Option<String> {
    let mut fenced = false;
    let lines = text.lines().map(str::trim).filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced && line.chars().any(char::is_alphanumeric) && !line.starts_with('<')
    });
    let said: Vec<&str> = lines.take(12).collect();
    let text = brief(&said.join(" "), REQUEST_CHARS);
    (!text.is_empty()).then_some(text)
}

/// The sentence that opens a closing answer, with the one that follows where it is short.
fn conclusion(text: &str) -> Option<String> {
    let said: Vec<String> = sentences(text)
        .into_iter()
        .filter(|one| {
            let one = one.trim_end_matches('*');
            !one.ends_with(['?', '？', ':', '：'])
        })
        .take(2)
        .collect();
    let (first, rest) = said.split_first()?;
    let text = if first.len() < 80 { [std::slice::from_ref(first), rest].concat().join(" ") } else { first.clone() };
    (words(&text).take(3).count() > 2 || !text.is_ascii()).then(|| clip(&text, ITEM_CHARS))
}

fn failed(result: &ToolResult) -> bool {
    if result.is_error {
        return true;
    }
    let text = result.plain_text();
    let start: String = first_line(&text).chars().take(60).collect::<String>().to_lowercase();
    ["error", "traceback", "fatal:", "exception", "command failed", "permission denied"]
        .iter()
        .any(|cue| start.starts_with(cue))
}

/// The line of a result that tells most: the first that names an error, else the first.
fn telling_line(result: &ToolResult) -> String {
    let text = result.plain_text();
    let error = text.lines().take(400).find(|line| {
        let line = line.trim_start();
        ["error", "Error", "fatal", "E   ", "panicked"].iter().any(|cue| line.starts_with(cue))
            || line.contains("Error: ")
    });
    let exception = || text.lines().rev().find(|line| line.contains("Error")).unwrap_or(first_line(&text)).to_owned();
    match error {
        Some(line) => line.trim().to_owned(),
        None if text.starts_with("Traceback") => exception(),
        None => {
            let mut lines = text.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
            let first = lines.next().unwrap_or_default();
            // A bare exit code says less than what follows it.
            let more = if first.starts_with("Exit code") { lines.next() } else { None };
            more.map_or_else(|| first.to_owned(), |more| format!("{first}: {more}"))
        }
    }
}

fn todo_list<'a>(call: &LedgerCall<'a>) -> Option<&'a Vec<Value>> {
    ["todos", "plan", "items"]
        .iter()
        .find_map(|key| call.call.arguments.get(key)?.as_array())
        .filter(|items| items.iter().any(|item| item.get("status").is_some()))
}

fn cued(sentence: &str, cues: &[&str]) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    cues.iter().any(|cue| lower.contains(cue))
}

/// The first item and the newest of the rest.
fn newest_of(mut list: Vec<String>) -> Vec<String> {
    if list.len() > MAX_FOUND {
        let surplus = list.len() - MAX_FOUND;
        list.drain(1..=surplus);
    }
    list
}
