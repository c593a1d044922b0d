//! Facts about the work in a transcript, found by rules.

use super::super::text::{brief, clip, sentences, words};
use super::super::user_text::{self, UserText};
use crate::domain::model::message::{Message, Role};
use crate::domain::summary::{identifiers, ledger};

mod continued;
mod cues;
mod items;
mod steps;
mod todos;

pub use items::{Facts, ITEM_CHARS};
pub use steps::{NO_RESULT, failed, signature};
use todos::TodoState;

const REQUEST_CHARS: usize = 600;
/// Newest items kept of what grows with the span.
const MAX_FOUND: usize = 60;
/// Instructions of the system that one span tells, and how much of each.
const MAX_INSTRUCTIONS: usize = 8;
const INSTRUCTION_CHARS: usize = 240;
/// Opens one.
const INSTRUCTED: &str = "System instruction: ";
/// Decisions taken from one message.
const MAX_DECISIONS: usize = 3;

/// Begins an item of `in_progress` that only says how the span ended.
pub const UNANSWERED: &str = "Not yet answered: ";

/// Begin what [`Facts::conclude`] says; a later summary says its own.
pub const ANSWER: &str = "Do what the user asked last: ";
pub const AWAIT: &str = "Get the user's answer: ";
pub const RESOLVE: &str = "Resolve: ";

impl Facts {
    pub fn of(messages: &[Message]) -> Facts {
        let mut facts = Facts::default();
        let told = user_text::of(messages);
        facts.texts(messages, &told);
        facts.actions(messages, &told);
        facts.ending(messages, &told);
        facts.references(messages);
        facts
    }

    fn texts(&mut self, messages: &[Message], told: &[UserText]) {
        for (at, (message, text)) in messages.iter().zip(told).enumerate() {
            match text {
                UserText::Said(text) => {
                    self.goal.extend(request(text));
                    self.rules.extend(identifiers::rules(text));
                }
                UserText::Continued(text) => continued::take(self, text),
                UserText::Output(_) => {}
                UserText::Other if message.role == Role::Assistant => {
                    // What is said without a call before the user speaks again tells how a stretch of work came out.
                    let calls = message.tool_calls().next().is_some();
                    let last = messages.get(at + 1).is_none();
                    let concludes = !calls && (last || matches!(told.get(at + 1), Some(UserText::Said(_))));
                    self.statements(&message.plain_text(), concludes);
                }
                UserText::Other if matches!(message.role, Role::System | Role::Developer) => {
                    self.instructed(&message.plain_text());
                }
                UserText::Other => {}
            }
            for list in [&mut self.goal, &mut self.done, &mut self.decisions] {
                // Not each time: what is let go is moved over.
                if list.len() > 2 * MAX_FOUND || at + 1 == messages.len() {
                    *list = newest_of(std::mem::take(list));
                }
            }
        }
    }

    /// Adds the words of the system in mid-conversation to the rules, as an instruction.
    fn instructed(&mut self, text: &str) {
        let text = brief(&text.split_whitespace().collect::<Vec<_>>().join(" "), INSTRUCTION_CHARS);
        if text.chars().any(char::is_alphanumeric) {
            self.rules.push(format!("{INSTRUCTED}{text}"));
        }
        let told = self.rules.iter().filter(|rule| rule.starts_with(INSTRUCTED)).count();
        if told > MAX_INSTRUCTIONS
            && let Some(oldest) = self.rules.iter().position(|rule| rule.starts_with(INSTRUCTED))
        {
            self.rules.remove(oldest);
        }
    }

    fn statements(&mut self, text: &str, concludes: bool) {
        if concludes {
            self.done.extend(conclusion(text));
        }
        let decisions = sentences(text).into_iter().filter(|one| cues::is_decision(one));
        self.decisions.extend(decisions.take(MAX_DECISIONS).map(|one| clip(&plain(&one), ITEM_CHARS)));
    }

    /// Adds what calls changed, what they failed at and nothing later put right, and the agent's own list of work.
    fn actions(&mut self, messages: &[Message], told: &[UserText]) {
        let calls = ledger::calls(messages);
        let steps = steps::of(messages, told, &calls);
        let progress = steps::progress(&steps);
        let ok = steps.iter().filter(|step| step.outcome == steps::StepOutcome::Ok);
        self.worked = ok.map(|step| step.attempt.clone()).collect();
        self.lookups = progress.lookups;
        // Conclusions first: they are few and say more than single calls.
        let unseen = progress.done.len().saturating_sub(MAX_FOUND);
        self.done.extend(progress.done.into_iter().skip(unseen));
        self.blocked = newest_of(progress.blocked);
        self.results = newest_of(progress.results);
        self.in_progress.extend(progress.pending);
        self.decisions.extend(progress.refused.into_iter().map(|key| format!("The user did not allow {key}")));
        for todo in todos::of(&calls) {
            self.planned = true;
            match todo.state {
                TodoState::Done => self.done.push(todo.text),
                TodoState::Open => self.in_progress.push(todo.text),
                TodoState::Pending => self.next.push(todo.text),
            }
        }
    }

    /// Adds what the end of the span leaves open.
    fn ending(&mut self, messages: &[Message], told: &[UserText]) {
        let asked = told.iter().enumerate().rev().find_map(|(at, text)| match text {
            UserText::Said(text) => Some((at, text)),
            _ => None,
        });
        let spoke = |message: &&Message| message.role == Role::Assistant && !message.plain_text().trim().is_empty();
        let answer = messages.iter().rposition(|message| spoke(&message));
        if let Some((at, text)) = asked
            && answer.is_none_or(|answered| answered < at)
        {
            self.in_progress.extend(request(text).map(|text| format!("{UNANSWERED}{text}")));
        }
        let Some((at, message)) = answer.and_then(|at| Some((at, messages.get(at)?))) else { return };
        let open = asked.is_none_or(|(asked, _)| asked < at);
        for sentence in sentences(&message.plain_text()).iter().map(|one| clip(&plain(one), ITEM_CHARS)) {
            if sentence.ends_with(['?', '？']) {
                if open {
                    self.questions.push(sentence);
                }
            } else if cues::is_next(&sentence) {
                self.next.push(sentence);
            } else if open && cues::is_intent(&sentence) {
                self.in_progress.push(sentence);
            }
        }
    }

    /// Says what comes next where nobody said it.
    pub fn conclude(&mut self) {
        if !self.next.is_empty() {
            return;
        }
        let unanswered = self.in_progress.iter().rev().find_map(|item| item.strip_prefix(UNANSWERED));
        self.next.extend(match (unanswered, self.questions.last(), self.blocked.last()) {
            (Some(request), _, _) => Some(format!("{ANSWER}{request}")),
            (None, Some(question), _) => Some(format!("{AWAIT}{question}")),
            (None, None, Some(obstacle)) => Some(format!("{RESOLVE}{obstacle}")),
            (None, None, None) => None,
        });
    }

    fn references(&mut self, messages: &[Message]) {
        let wanted = identifiers::extract_span(messages).into_iter().filter(|one| !one.is_rule());
        (self.files, self.mentions) = wanted.map(|one| one.text).partition(|text| text.contains(['/', '\\']));
    }
}

/// Returns the user's request, from the first lines of a message that say something. `None` for a mere yes or thanks.
fn request(text: &str) -> Option<String> {
    let mut fenced = false;
    let lines = text.lines().map(str::trim).filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced && line.chars().any(char::is_alphanumeric) && !line.starts_with('<')
    });
    let said: Vec<&str> = lines.take(12).collect();
    let text = brief(&said.join(" "), REQUEST_CHARS);
    (!text.is_empty() && !cues::is_nod(&text)).then_some(text)
}

/// The sentence that opens a closing answer, politeness and plans aside, with the one that follows where it is short.
fn conclusion(text: &str) -> Option<String> {
    let says = |one: &String| {
        let enough = !one.is_ascii() || words(one).take(4).count() > 3;
        enough && !one.ends_with(['?', '？', ':', '：']) && !cues::is_filler(one) && !cues::is_intent(one)
    };
    let said: Vec<String> = sentences(text).iter().map(|one| plain(one)).filter(says).take(2).collect();
    let (first, rest) = said.split_first()?;
    let text = if first.len() < 80 { [std::slice::from_ref(first), rest].concat().join(" ") } else { first.clone() };
    Some(clip(&text, ITEM_CHARS))
}

/// A sentence without marks of emphasis and the sounds of thinking.
fn plain(sentence: &str) -> String {
    let text = sentence.replace("**", "");
    let mut text = text.trim();
    while let Some(rest) = ["Wait, ", "Hmm, ", "Actually, ", "So, ", "OK, ", "Okay, ", "Now "]
        .iter()
        .find_map(|sound| text.strip_prefix(sound))
    {
        text = rest;
    }
    text.to_owned()
}

/// Returns true if a text says what was decided or found out.
pub fn decides(text: &str) -> bool {
    sentences(text).iter().any(|sentence| cues::is_decision(sentence))
}

/// The first item and the newest of the rest.
fn newest_of(mut list: Vec<String>) -> Vec<String> {
    if list.len() > MAX_FOUND {
        let surplus = list.len() - MAX_FOUND;
        list.drain(1..=surplus);
    }
    list
}
