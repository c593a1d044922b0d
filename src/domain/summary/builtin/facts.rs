//! Facts about the work in a transcript, found by rules.

use std::collections::HashSet;

use super::super::text::{brief, sentences, whole};
use super::super::todos::TodoList;
use super::super::user_text::{self, UserText};
use super::super::{identifiers, ledger};
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::todo::{Todo, TodoState};

mod asked;
mod closing;
mod continued;
pub(in crate::domain::summary) mod cues;
mod explained;
mod homes;
mod items;
mod steps;
mod turns;
mod work;

pub use asked::{SAID, is_correction};
pub use closing::is_outdated;
pub use cues::{gives_reason, is_settled};
pub use explained::explains;
pub use items::{Facts, ITEM_CHARS};
pub use steps::signature;
pub use work::{FileWork, joined};

use asked::Asked;
use steps::CallStep;
use turns::Turn;

/// Newest items kept of what grows with the span.
const MAX_FOUND: usize = 60;
/// Newest requests that are told though they were met; what came of the others is.
const NEWEST_GOALS: usize = 1;
/// Instructions of the system that one span tells, and how much of each.
const MAX_INSTRUCTIONS: usize = 8;
const INSTRUCTION_CHARS: usize = 240;
/// Opens one, and what else the system said.
const INSTRUCTED: &str = "System instruction: ";
const SYSTEM_SAID: &str = "The system said: ";
/// Decisions taken from one message.
const MAX_DECISIONS: usize = 3;

impl Facts {
    /// The facts of a span. `begins`: nothing is known of what came before it, so that the first request is the task.
    pub fn of(messages: &[Message], begins: bool) -> Facts {
        let mut facts = Facts::default();
        let told = user_text::of(messages);
        facts.texts(messages, &told, begins);
        let calls = ledger::calls(messages);
        facts.steps(&steps::of(messages, &told, &calls));
        let mut todos = TodoList::default();
        messages.iter().for_each(|message| todos.add(message));
        facts.todos(todos.into_items());
        facts.ending(messages, &told);
        let worked = std::mem::take(&mut facts.worked);
        facts.next.retain(|step| !is_settled_by(&worked, step));
        facts.worked = worked;
        facts.homes(messages, &told);
        facts
    }

    fn texts(&mut self, messages: &[Message], told: &[UserText], begins: bool) {
        let (mut answers, mut silent, mut first) = (false, true, None);
        let mut met: HashSet<String> = HashSet::new();
        let mut turn = Turn::default();
        // What the agent held to be so since the user spoke last.
        let mut held: Vec<String> = Vec::new();
        for (at, (message, text)) in messages.iter().zip(told).enumerate() {
            match text {
                UserText::Said(text) => {
                    if asked::denies(text) {
                        self.take_back(|item| held.contains(item));
                    }
                    held.clear();
                    let goal = self.heard(text, begins && silent && self.goal.is_empty(), answers);
                    turn = Turn::of(text, goal);
                    first = first.or(Some(text));
                    answers = false;
                }
                UserText::Continued(text) => continued::take(self, text),
                UserText::Agent(text) => self.context.push(brief(text, INSTRUCTION_CHARS)),
                UserText::Other if message.role == Role::Assistant => {
                    // The task may stand elsewhere, word for word: what comes after an answer is not it.
                    silent = false;
                    let text = message.plain_text();
                    // What is said without a call before the user speaks again tells how a stretch of work came out.
                    let calls = message.tool_calls().next().is_some();
                    let concludes = !calls && turn_ends(messages.get(at + 1), told.get(at + 1));
                    let decisions = closing::decisions(&text, MAX_DECISIONS);
                    let found = closing::findings(&text, concludes);
                    if concludes {
                        let done = closing::done(&text);
                        met.extend(turn.met(&text));
                        if done.is_empty() && !decisions.iter().any(|one| is_settled(one)) {
                            self.context.extend(turn.told(&text));
                        }
                        self.context.retain(|item| !closing::is_outdated(item, &done));
                        self.done.extend(done);
                    }
                    let taken_back = closing::retracted(&text);
                    self.take_back(|item| taken_back.iter().any(|named| closing::blames(item, named)));
                    held.extend(decisions.iter().chain(&found).cloned());
                    held = newest_of(held);
                    self.context.extend(found.into_iter().filter(|one| !decisions.contains(one)));
                    self.decisions.extend(decisions);
                    answers = closing::asks_back(&text) || concludes && text.contains(['?', '？']);
                }
                UserText::Other if matches!(message.role, Role::System | Role::Developer) => {
                    self.instructed(&message.plain_text());
                }
                UserText::Output(_) | UserText::Other => {}
            }
            for list in [&mut self.goal, &mut self.rules, &mut self.done, &mut self.decisions, &mut self.context] {
                // Not each time: what is let go is moved over.
                if list.len() > 2 * MAX_FOUND || at + 1 == messages.len() {
                    *list = newest_of(std::mem::take(list));
                }
            }
        }
        self.without_met(&met);
        if let Some(text) = first.filter(|_| begins && self.goal.is_empty()) {
            self.heard(text, true, false);
        }
    }

    /// Forgets what was held to be so and is denied.
    fn take_back(&mut self, denied: impl Fn(&String) -> bool) {
        for list in [&mut self.decisions, &mut self.context] {
            list.retain(|item| !denied(item));
        }
    }

    /// Leaves out requests that an answer said were met, but for the task, its corrections and the newest.
    fn without_met(&mut self, met: &HashSet<String>) {
        let newest = self.goal.len().saturating_sub(NEWEST_GOALS);
        let goals = std::mem::take(&mut self.goal).into_iter().enumerate();
        let stays = |at: usize, goal: &String| at == 0 || at >= newest || is_correction(goal) || !met.contains(goal);
        self.goal = goals.filter(|(at, goal)| stays(*at, goal)).map(|(_, goal)| goal).collect();
    }

    /// Takes in the user's words; returns the goal that they set.
    fn heard(&mut self, text: &str, is_task: bool, answers: bool) -> Option<String> {
        self.heard = true;
        self.rules.extend(identifiers::rules(text));
        match asked::sort(text, is_task, answers) {
            Asked::Goal(goal) => {
                self.goal.push(goal.clone());
                return Some(goal);
            }
            Asked::Told(told) => self.context.push(told),
            Asked::Nothing => {}
        }
        None
    }

    /// Adds the words of the system in mid-conversation to the rules, as an instruction where they order something.
    fn instructed(&mut self, text: &str) {
        let said = sentences(text).into_iter().filter(|sentence| cues::is_instruction(sentence)).take(6);
        let said = whole(&said.collect::<Vec<_>>().join(" "), INSTRUCTION_CHARS);
        // The marks of an edit in somebody's diff say nothing.
        let is_mark = |text: &str| [">>>", "<<<"].iter().any(|mark| text.starts_with(mark));
        let says = |text: &String| text.chars().any(char::is_alphanumeric) && !is_mark(text);
        let ordered = said.filter(says).map(|text| format!("{INSTRUCTED}{text}"));
        // One that is no order by its form is told by how it begins: it must not go unsaid.
        let told = || Some(brief(text, INSTRUCTION_CHARS)).filter(says).map(|text| format!("{SYSTEM_SAID}{text}"));
        self.rules.extend(ordered.or_else(told));
        let told = self.rules.iter().filter(|rule| is_of_system(rule)).count();
        if told > MAX_INSTRUCTIONS
            && let Some(oldest) = self.rules.iter().position(|rule| is_of_system(rule))
        {
            self.rules.remove(oldest);
        }
    }

    /// Adds what calls changed, and what they failed at and nothing later put right.
    fn steps(&mut self, steps: &[CallStep]) {
        let progress = steps::progress(steps);
        let ok = steps.iter().filter(|step| step.worked());
        self.worked = ok.map(|step| step.attempt.clone()).collect();
        // Conclusions first: they are few and say more than single calls.
        let unseen = progress.done.len().saturating_sub(2 * MAX_FOUND);
        self.done.extend(progress.done.into_iter().skip(unseen));
        let unseen = progress.files.len().saturating_sub(4 * MAX_FOUND);
        self.files = progress.files.into_iter().skip(unseen).collect();
        self.without_outdated();
        self.blocked = newest_of(progress.blocked);
        self.results = newest_of(progress.results);
        self.decisions.extend(progress.refused.into_iter().map(|key| format!("The user did not allow {key}")));
    }

    /// Leaves out what the span's work on files may have mended.
    fn without_outdated(&mut self) {
        let worked: Vec<String> = self.files.iter().map(FileWork::told).collect();
        for list in [&mut self.context, &mut self.decisions] {
            list.retain(|item| !closing::is_outdated(item, &worked));
        }
    }

    /// Adds the agent's own list of work.
    fn todos(&mut self, todos: Vec<Todo>) {
        self.planned = !todos.is_empty();
        for todo in todos {
            match todo.state {
                TodoState::Done => self.done.push(todo.text),
                TodoState::InProgress => self.in_progress.push(todo.text),
                TodoState::Pending => self.next.push(todo.text),
            }
        }
    }

    /// Adds what the last answer leaves open. Of what stands behind the span nothing is known, so nothing is claimed
    /// of a request or a call at its very end.
    fn ending(&mut self, messages: &[Message], told: &[UserText]) {
        let spoke = |message: &Message| message.role == Role::Assistant && !message.plain_text().trim().is_empty();
        let Some(at) = messages.iter().rposition(spoke) else { return };
        let Some(message) = messages.get(at) else { return };
        let went_on = told.iter().skip(at + 1).any(|text| matches!(text, UserText::Said(_)));
        let acted = messages.iter().skip(at).any(|message| message.tool_calls().next().is_some());
        if acted {
            return;
        }
        let text = message.plain_text();
        if !went_on {
            self.questions = closing::questions(&text);
        }
        self.next.extend(closing::next(&text));
    }

    /// Adds where the identifiers stand that nothing else tells of.
    fn homes(&mut self, messages: &[Message], told: &[UserText]) {
        let wanted: Vec<TrackedIdentifier> =
            identifiers::extract_span(messages).into_iter().filter(|one| !one.is_rule()).collect();
        let so_far = self.told().join("\n");
        let (missing, _) = identifiers::check(&so_far, &wanted);
        self.context.extend(homes::of(messages, told, &missing));
        self.named = wanted
            .iter()
            .filter(|one| one.about.is_none() && !homes::is_opaque(&one.text))
            .map(|one| one.text.clone())
            .collect();
        self.weights = wanted.into_iter().map(|one| (one.text, one.weight)).collect();
    }

    fn told(&self) -> Vec<String> {
        let lists = [
            &self.goal,
            &self.rules,
            &self.done,
            &self.in_progress,
            &self.blocked,
            &self.decisions,
            &self.next,
            &self.context,
        ];
        lists.into_iter().flatten().cloned().chain(self.files.iter().map(FileWork::told)).collect()
    }
}

/// Returns true for a rule that the system laid down, not the user.
pub fn is_of_system(rule: &str) -> bool {
    rule.starts_with(INSTRUCTED) || rule.starts_with(SYSTEM_SAID)
}

/// Returns true if a command that worked is what a next step names: a commit, a push.
pub fn is_settled_by(worked: &[String], step: &str) -> bool {
    let lower = step.to_lowercase();
    let settles = |attempt: &String, verb: &str| attempt.strip_prefix("$ git ") == Some(verb) && lower.contains(verb);
    worked.iter().any(|attempt| ["commit", "push", "merge"].iter().any(|verb| settles(attempt, verb)))
}

/// Returns true if what comes next is no part of the turn: nothing, or a message in the user's name that is no output.
fn turn_ends(next: Option<&Message>, told: Option<&UserText>) -> bool {
    let of_user = |next: &Message| next.role == Role::User && next.tool_results().next().is_none();
    next.is_none_or(of_user) && !matches!(told, Some(UserText::Output(_)))
}

/// The first item and the newest of the rest.
fn newest_of(mut list: Vec<String>) -> Vec<String> {
    if list.len() > MAX_FOUND {
        let surplus = list.len() - MAX_FOUND;
        list.drain(1..=surplus);
    }
    list
}
