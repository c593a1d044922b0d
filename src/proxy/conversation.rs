//! The conversation inside a request's body: taken out to be stored, and said otherwise where it was compacted.

mod cache_marks;
mod envelope;
mod opening;
mod system_prompt;
mod title;

use std::borrow::Cow;
use std::ops::Range;

use axum::body::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::format;
use crate::domain::model::framed::is_framed;
use crate::domain::model::handle::handle_of;
use crate::domain::model::json;
use crate::domain::model::message::{Block, Role};
use crate::domain::model::user_text::{self, UserText};
use crate::domain::transcript::enclosed_summaries;
use crate::proxy::asked::Asked;
use crate::proxy::asked::edits::holds_compaction;
use crate::proxy::bypass::BypassReason;
use crate::proxy::identity::Identity;
use crate::proxy::refusal::Refusal;
use crate::proxy::route::Route;
use crate::proxy::speech::Speech;
use crate::proxy::splice::{member, place, replaced};
use crate::proxy::unkept::Unkept;
use crate::service::core::error::ServiceError;
use crate::service::ingest::transcript::PutTranscript;
use envelope::{Envelope, items, thread_kind};

pub use opening::{Fixed, Opening};

/// Levels around an item that may nest as deep as the limit says.
const ENVELOPE_DEPTH: usize = 2;
/// Items among which a harness's summary stands, where there is one.
const SUMMARY_WITHIN: usize = 4;

/// A client may have merged the summary with what stands beside it.
fn may_hold_summary(block: &Block) -> bool {
    matches!(block, Block::Text { text, .. } if !enclosed_summaries(text).is_empty())
}

/// One request's conversation, and where it stands in the body.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub route: Route,
    /// The body as it goes on where nothing was compacted.
    pub body: Bytes,
    /// What was said, behind the system prompt.
    pub items: Vec<Box<RawValue>>,
    pub model: Option<String>,
    /// What the body says of the conversation it belongs to.
    pub identity: Option<Identity>,
    pub opening: Opening,
    /// What was said behind its first answer.
    pub speech: Speech,
    /// The answer is to be a title.
    pub asks_for_title: bool,
    /// A compaction that is to be done here in the provider's place.
    pub asked: Option<Asked>,
    /// The answer is to be a stream of events.
    pub streams: bool,
    /// The newest sealed handle among the items.
    pub handle: Option<blake3::Hash>,
    /// Leading items that are the system prompt. Clients change it from request to request.
    lead: Vec<Box<RawValue>>,
    system: Option<Box<RawValue>>,
    tools: Option<Box<RawValue>>,
    items_at: Range<usize>,
    system_at: Option<Range<usize>>,
}

/// How bodies are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// How deep an item may nest.
    pub max_depth: usize,
    /// Compactions that are asked of the provider are done here.
    pub answers: bool,
}

impl Conversation {
    /// Takes the conversation out of a body.
    ///
    /// # Errors
    /// Why it can't be: the request goes on as it came, or, for a message thread that is held elsewhere, is refused.
    pub fn read(route: Route, body: Bytes, reading: Reading) -> Result<Conversation, Unkept> {
        let unreadable = BypassReason::Unreadable;
        let text = std::str::from_utf8(&body).map_err(|_| unreadable)?;
        let deepest = reading.max_depth.saturating_add(ENVELOPE_DEPTH);
        if !text.trim_start().starts_with('{') || json::depth(&body) > deepest {
            return Err(unreadable.into());
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|_| unreadable)?;
        if let Some(thread) = envelope.thread.filter(|_| route == Route::Messages) {
            let without = replaced(text, vec![(member(text, &place(text, thread)), String::new())]);
            return match thread_kind(thread).as_deref() {
                Some("continue") => Err(Refusal::ThreadUnsupportedRequest.into()),
                _ => Conversation::read(route, Bytes::from(without), reading),
            };
        }
        let said = envelope.said(route).ok_or(unreadable)?;
        let mut lead = items(route, said).ok_or(unreadable)?;
        let asked = if reading.answers { envelope.asked(route, &mut lead) } else { None };
        if route == Route::Responses {
            envelope.check(&lead)?;
        }
        let items = lead.split_off(system_prompt::leading(route.format(), &lead));
        if items.is_empty() {
            return Err(unreadable.into());
        }
        let system = envelope.system(route);
        let stored = system_prompt::stored(route.format(), system, &lead);
        let fixed = Fixed { tools: envelope.tools, system: stored.as_deref() };
        let (opening, behind) = Opening::of(route.format(), &items, fixed);
        let (items_at, system_at) = (place(text, said), system.map(|system| place(text, system)));
        let conversation = Conversation {
            route,
            model: envelope.model(),
            identity: Identity::of_body(&envelope.identity()),
            handle: newest_handle(route, &items),
            streams: envelope.streams(),
            asked,
            asks_for_title: !opening.has_tools && envelope.asks_for_title(),
            speech: Speech::of(route.format(), &items, behind),
            opening,
            system: stored,
            tools: envelope.tools.filter(|tools| tools.get().starts_with('[')).map(ToOwned::to_owned),
            lead,
            items,
            items_at,
            system_at,
            body: body.clone(),
        };
        Ok(conversation)
    }

    /// What is stored of it. `usage` belongs to the newest answer.
    pub fn transcript(&self, usage: Option<Value>) -> PutTranscript {
        PutTranscript {
            format: self.route.format(),
            items: self.items.clone(),
            system: Some(self.system.clone()),
            tools: Some(self.tools.clone()),
            usage,
        }
    }

    /// The body with other messages, and another system prompt where that is not what was stored.
    pub fn with_context(&self, messages: &[Box<RawValue>], system: Option<&RawValue>) -> Bytes {
        let Ok(text) = std::str::from_utf8(&self.body) else { return self.body.clone() };
        let said = match self.route {
            Route::Messages => cache_marks::on_last_alone(messages),
            _ => messages.iter().map(|message| Cow::Borrowed(message.get())).collect(),
        };
        let all: Vec<Cow<'_, str>> = self.lead.iter().map(|item| Cow::Borrowed(item.get())).chain(said).collect();
        let mut edits = vec![(self.items_at.clone(), format!("[{}]", all.join(",")))];
        let stored = self.system.as_deref().map(RawValue::get);
        if let Some(system) = system.filter(|system| self.route == Route::Messages && Some(system.get()) != stored) {
            edits.push(match &self.system_at {
                Some(place) => (place.clone(), system.get().to_owned()),
                None => after_brace(text, system),
            });
        }
        Bytes::from(replaced(text, edits))
    }

    /// Returns true if nothing in the conversation has to be said otherwise for the provider.
    pub fn goes_as_it_came(&self) -> bool {
        self.asked.is_none() && self.handle.is_none()
    }

    /// The system prompt as it is stored.
    pub fn system(&self) -> Option<&RawValue> {
        self.system.as_deref()
    }

    /// The same conversation with one more item.
    pub fn with_item(&self, item: Box<RawValue>) -> Conversation {
        let mut conversation = self.clone();
        conversation.items.push(item);
        conversation
    }

    /// An error whose pointers say where in the body an item stands.
    pub fn at_its_items(&self, error: ServiceError) -> ServiceError {
        let field = if self.route == Route::Responses { "input" } else { "messages" };
        error.with_pointers(|pointer| {
            let moved = || {
                let (place, rest) = pointer.strip_prefix("/items/")?.split_once('/')?;
                Some(format!("/{field}/{}/{rest}", place.parse::<usize>().ok()? + self.lead.len()))
            };
            moved().unwrap_or_else(|| pointer.to_owned())
        })
    }

    /// Returns true if an item says a summary of this service's, or a compaction of Anthropic's: what is before it may have
    /// been left out.
    pub fn holds_summary(&self) -> bool {
        if self.route == Route::Messages && self.items.iter().any(|item| holds_compaction(item)) {
            return true;
        }
        let mut marked = self.items.iter().filter(|raw| raw.get().contains("context-summary>"));
        marked.any(|raw| {
            let message = format::accept(self.route.format(), raw.get()).ok().and_then(|item| item.message);
            message
                .is_some_and(|message| is_framed(&message.plain_text()) || message.content.iter().any(may_hold_summary))
        })
    }

    /// Returns true if a harness's own summary of what came before is among the first items.
    pub fn is_continued(&self) -> bool {
        let first = self.items.iter().take(SUMMARY_WITHIN);
        let mut messages = first.filter_map(|raw| format::accept(self.route.format(), raw.get()).ok()?.message);
        messages.any(|message| matches!(user_text::of(&[message]).as_slice(), [UserText::Continued(_)]))
    }

    /// Returns true if the item at `place` is the model's.
    pub fn is_answer(&self, place: usize) -> bool {
        let item = self.items.get(place).and_then(|raw| format::accept(self.route.format(), raw.get()).ok());
        item.and_then(|item| item.message).is_some_and(|message| message.role == Role::Assistant)
    }
}

/// Handles travel in Responses items.
fn newest_handle(route: Route, items: &[Box<RawValue>]) -> Option<blake3::Hash> {
    let newest = || items.iter().rev().find_map(|item| handle_of(item.get()));
    if route == Route::Responses { newest().map(|handle| blake3::hash(handle.as_bytes())) } else { None }
}

/// A new member in front of all others.
fn after_brace(text: &str, system: &RawValue) -> (Range<usize>, String) {
    let at = text.find('{').map_or(0, |brace| brace + 1);
    (at..at, format!("\"system\":{},", system.get()))
}

#[cfg(test)]
mod tests;
