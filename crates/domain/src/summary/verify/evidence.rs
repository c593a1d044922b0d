//! What is known of the span that a summary stands for.

use std::sync::Arc;

use super::language::Profile;
use super::share::Share;
use super::voice::{self, Voice};
use crate::model::message::{Message, Role};
use crate::record::RecordSource;
use crate::record::evidence::sections::Section;
use crate::record::numbers::PathNumbers;
use crate::summary::SummaryTask;
use crate::summary::identifiers::{IdentifierSpan, keeps};
use crate::summary::user_text::UserTextClassifier;

/// What a summary is judged by: the span that it replaces, the summary before it, and what else its writer was shown.
/// The messages are not copied; what is kept of them is bounded.
#[derive(Debug, Clone, Default)]
pub struct SpanEvidence {
    task: Option<SummaryTask>,
    source: Arc<RecordSource>,
    context: Vec<String>,
    weighty: Vec<String>,
    pub(super) profile: Profile,
}

impl SpanEvidence {
    /// Looks at what a task is about.
    pub fn of(task: &SummaryTask) -> SpanEvidence {
        let mut span = IdentifierSpan::default();
        let replacing = task.shown.as_ref().map(|shown| Message::text(Role::Assistant, &**shown));
        let before = task.previous.as_ref().map(|previous| Message::text(Role::Assistant, previous.as_str()));
        before.iter().chain(&replacing).for_each(|message| span.add(message));
        // What a hook left out is not missed.
        let messages: &[Message] = if replacing.is_some() { &[] } else { &task.messages };
        messages.iter().for_each(|message| span.add(message));
        let source = match &task.source {
            Some(source) => source.clone(),
            None => Arc::new(RecordSource::of(task.messages.iter().cloned())),
        };
        let weighty = span.weighty();
        let mut evidence = SpanEvidence { task: Some(task.clone()), source, weighty, ..SpanEvidence::default() };
        let mut profile = Profile::default();
        evidence.each_text(&mut |voice, text| profile.add(voice, text));
        evidence.profile = profile;
        evidence
    }

    /// Adds what the writer was shown besides the span.
    pub fn with_context(mut self, texts: impl IntoIterator<Item = String>) -> SpanEvidence {
        self.context.extend(texts);
        self
    }

    /// The headings that an answer was asked to have.
    pub(super) fn sections(&self) -> &'static [Section] {
        self.task.as_ref().map_or(&[], SummaryTask::sections)
    }

    /// The size of what the answer stands for.
    pub(super) fn span_tokens(&self) -> u64 {
        self.task.as_ref().map_or(0, |task| task.span_tokens)
    }

    /// Returns true if a hook put a text of its own in place of what a model is shown.
    pub(super) fn is_replaced(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.shown.is_some())
    }

    pub(super) fn path_numbers(&self) -> PathNumbers<'_> {
        self.source.path_numbers()
    }

    /// Calls `hear` with every text that the writer of a summary could know, in order.
    pub(super) fn each_text(&self, hear: &mut dyn FnMut(Voice, &str)) {
        if let Some(task) = &self.task {
            let told = [&task.previous, &task.focus_topic, &task.instructions, &task.prompt];
            told.into_iter().flatten().for_each(|text| hear(Voice::Note, text));
            task.shown.iter().for_each(|text| hear(Voice::Model, text));
            let mut classifier = UserTextClassifier::default();
            self.source.messages().for_each(|message| voice::each_text(message, &mut classifier, hear));
        }
        self.context.iter().for_each(|text| hear(Voice::Note, text));
    }

    /// Counts the weighty identifiers of the span that a text keeps: whole, or by the end of the path.
    pub(super) fn kept(&self, text: &str) -> Share {
        Share::of(self.weighty.iter().map(|identifier| keeps(text, identifier)))
    }
}
