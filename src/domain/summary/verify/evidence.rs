//! What is known of the span that a summary stands for.

use super::language::Profile;
use super::orders;
use super::outcomes::LastRuns;
use super::share::Share;
use super::values::SpokenValues;
use super::voice::{self, Voice};
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::Template;
use crate::domain::summary::identifiers::{IdentifierSpan, stands_in};
use crate::domain::summary::user_text::UserTextClassifier;
use crate::domain::summary::{SummaryPart, SummaryTask};

/// An identifier weighs enough where a person, the model or a call used it; what was only printed does not count.
const WEIGHTY: u32 = 6;
/// The most identifiers that a summary is asked for.
const MOST_WEIGHTY: usize = 40;

/// What a summary is judged by: the span that it replaces, the summary before it, and what else its writer was shown.
/// The messages are not copied; what is kept of them is bounded.
#[derive(Debug, Clone, Default)]
pub struct SpanEvidence {
    tasks: Vec<SummaryTask>,
    context: Vec<String>,
    weighty: Vec<String>,
    pub(super) profile: Profile,
    pub(super) values: SpokenValues,
    pub(super) runs: LastRuns,
    /// The user's own sentences that read like somebody else's orders.
    pub(super) orders: Vec<String>,
}

impl SpanEvidence {
    /// Looks at the spans of all tasks of one answer.
    pub fn of(tasks: &[SummaryTask]) -> SpanEvidence {
        let mut evidence = SpanEvidence { tasks: tasks.to_vec(), ..SpanEvidence::default() };
        let mut span = IdentifierSpan::default();
        for task in tasks {
            let replacing = task.shown.as_ref().map(|shown| Message::text(Role::Assistant, &**shown));
            let before = task.previous.as_ref().map(|previous| Message::text(Role::Assistant, previous.as_str()));
            before.iter().chain(&replacing).for_each(|message| span.add(message));
            // What a hook left out is not missed.
            let messages: &[Message] = if replacing.is_some() { &[] } else { &task.messages };
            messages.iter().for_each(|message| span.add(message));
            task.messages.iter().for_each(|message| evidence.runs.add(message));
            evidence.orders.extend(orders::said(&task.messages));
        }
        evidence.weighty = weighty(span);
        evidence.listen();
        evidence
    }

    /// Adds what the writer was shown besides the span. How a call ended may stand there.
    pub fn with_context(mut self, texts: impl IntoIterator<Item = String>) -> SpanEvidence {
        self.context.extend(texts);
        self.runs = LastRuns::default();
        self
    }

    fn listen(&mut self) {
        let (mut profile, mut values) = (Profile::default(), SpokenValues::default());
        self.each_text(&mut |voice, text| {
            profile.add(voice, text);
            values.add(voice, text);
        });
        (self.profile, self.values) = (profile, values);
    }

    /// Returns true if an answer was asked to have headings.
    pub(super) fn wants_headings(&self) -> bool {
        let wants = |task: &SummaryTask| {
            let has_template = task.part == SummaryPart::TurnPrefix || task.template != Template::Prose;
            has_template && task.prompt.is_none() && task.instructions.is_none()
        };
        !self.tasks.is_empty() && self.tasks.iter().all(wants)
    }

    /// Calls `hear` with every text that the writer of a summary could know, in order.
    pub(super) fn each_text(&self, hear: &mut dyn FnMut(Voice, &str)) {
        for task in &self.tasks {
            let told = [&task.previous, &task.focus_topic, &task.instructions, &task.prompt];
            told.into_iter().flatten().for_each(|text| hear(Voice::Note, text));
            task.shown.iter().for_each(|text| hear(Voice::Model, text));
            let mut classifier = UserTextClassifier::default();
            task.messages.iter().for_each(|message| voice::each_text(message, &mut classifier, hear));
        }
        self.context.iter().for_each(|text| hear(Voice::Note, text));
    }

    /// Returns true if a value stands somewhere in what the writer could know.
    pub(super) fn has(&self, value: &str) -> bool {
        let mut has = false;
        self.each_text(&mut |_, text| has = has || stands_in(text, value));
        has
    }

    /// Counts the weighty identifiers of the span that a text keeps: whole, or by the end of the path.
    pub(super) fn kept(&self, text: &str) -> Share {
        let kept = |identifier: &String| {
            let end = identifier.rsplit(['/', '\\']).next().filter(|end| end.len() > 3).unwrap_or(identifier);
            stands_in(text, identifier) || stands_in(text, end)
        };
        Share::of(self.weighty.iter().map(kept))
    }
}

fn weighty(span: IdentifierSpan) -> Vec<String> {
    let wanted = span.wanted().into_iter().filter(|one| !one.is_rule() && one.weight >= WEIGHTY);
    wanted.map(|one| one.text).take(MOST_WEIGHTY).collect()
}
