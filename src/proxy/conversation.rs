//! The conversation inside a request's body: taken out to be stored, and said otherwise where it was compacted.

mod cache_marks;
mod opening;
mod system_prompt;

use std::borrow::Cow;
use std::ops::Range;

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::format;
use crate::domain::model::framed::is_framed;
use crate::domain::model::json;
use crate::domain::model::message::Role;
use crate::proxy::bypass::BypassReason;
use crate::proxy::identity::{BodyFields, Identity};
use crate::proxy::refusal::Refusal;
use crate::proxy::route::Route;
use crate::proxy::splice::{member, place, replaced};
use crate::service::ingest::transcript::PutTranscript;

pub use opening::{Opening, is_filled_list};

/// Most items of a conversation.
const MOST_ITEMS: usize = 20_000;
/// Bytes of a model's name.
const LONGEST_MODEL: usize = 200;
/// Levels around an item that may nest as deep as the limit says.
const ENVELOPE_DEPTH: usize = 2;

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
    /// Leading items that are the system prompt. Clients change it from request to request.
    lead: Vec<Box<RawValue>>,
    system: Option<Box<RawValue>>,
    tools: Option<Box<RawValue>>,
    items_at: Range<usize>,
    system_at: Option<Range<usize>>,
}

/// Why no conversation was taken out of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The request goes on as it came.
    Bypass(BypassReason),
    Refused(Refusal),
}

/// The fields that count. All others stay where they are.
#[derive(Deserialize)]
struct Envelope<'b> {
    #[serde(borrow)]
    messages: Option<&'b RawValue>,
    #[serde(borrow)]
    input: Option<&'b RawValue>,
    #[serde(borrow)]
    system: Option<&'b RawValue>,
    #[serde(borrow)]
    instructions: Option<&'b RawValue>,
    #[serde(borrow)]
    tools: Option<&'b RawValue>,
    #[serde(borrow)]
    thread: Option<&'b RawValue>,
    #[serde(borrow)]
    model: Option<&'b RawValue>,
    #[serde(borrow)]
    previous_response_id: Option<&'b RawValue>,
    #[serde(borrow)]
    conversation: Option<&'b RawValue>,
    #[serde(borrow)]
    metadata: Option<&'b RawValue>,
    #[serde(borrow)]
    client_metadata: Option<&'b RawValue>,
}

/// The word of an item of Responses that says what it is.
#[derive(Deserialize)]
struct ItemKind<'i> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'i, str>>,
    #[serde(borrow)]
    role: Option<&'i RawValue>,
}

impl Conversation {
    /// Takes the conversation out of a body whose items may nest `max_depth` deep.
    ///
    /// # Errors
    /// Why it can't be: the request goes on as it came, or, for a message thread that is held elsewhere, is refused.
    pub fn read(route: Route, body: Bytes, max_depth: usize) -> Result<Conversation, Unread> {
        let unreadable = Unread::Bypass(BypassReason::Unreadable);
        let text = std::str::from_utf8(&body).map_err(|_| unreadable)?;
        if !text.trim_start().starts_with('{') || json::depth(&body) > max_depth.saturating_add(ENVELOPE_DEPTH) {
            return Err(unreadable);
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|_| unreadable)?;
        if let Some(thread) = envelope.thread.filter(|_| route == Route::Messages) {
            let without = replaced(text, vec![(member(text, &place(text, thread)), String::new())]);
            return match thread_kind(thread).as_deref() {
                Some("continue") => Err(Unread::Refused(Refusal::ThreadUnsupportedRequest)),
                _ => Conversation::read(route, Bytes::from(without), max_depth),
            };
        }
        let said = envelope.said(route).ok_or(unreadable)?;
        let mut lead = items(route, said).ok_or(unreadable)?;
        if route == Route::Responses {
            check_items(&lead, &envelope).map_err(Unread::Bypass)?;
        }
        let items = lead.split_off(system_prompt::leading(route.format(), &lead));
        if items.is_empty() {
            return Err(unreadable);
        }
        let system = envelope.system(route);
        let (items_at, system_at) = (place(text, said), system.map(|system| place(text, system)));
        let conversation = Conversation {
            route,
            model: envelope.model.and_then(model_name),
            identity: Identity::of_body(&envelope.identity()),
            opening: Opening::of(route.format(), &items, envelope.tools.is_some_and(is_filled_list)),
            system: system_prompt::stored(route.format(), system, &lead),
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

    /// Returns true if an item says a summary of this service's.
    pub fn holds_summary(&self) -> bool {
        let mut marked = self.items.iter().filter(|raw| raw.get().contains("context-summary>"));
        marked.any(|raw| {
            let message = format::accept(self.route.format(), raw.get()).ok().and_then(|item| item.message);
            message.is_some_and(|message| is_framed(&message.plain_text()))
        })
    }

    /// Returns true if the item at `place` is the model's.
    pub fn is_answer(&self, place: usize) -> bool {
        let item = self.items.get(place).and_then(|raw| format::accept(self.route.format(), raw.get()).ok());
        item.and_then(|item| item.message).is_some_and(|message| message.role == Role::Assistant)
    }
}

impl<'b> Envelope<'b> {
    fn said(&self, route: Route) -> Option<&'b RawValue> {
        if route == Route::Responses { self.input } else { self.messages }
    }

    /// The system prompt beside the items; nothing where it is of no kind that counts.
    fn system(&self, route: Route) -> Option<&'b RawValue> {
        let system = match route {
            Route::ChatCompletions => None,
            Route::Responses => self.instructions,
            Route::Messages => self.system,
        };
        system.filter(|system| system.get().starts_with(['"', '[']))
    }

    fn identity(&self) -> BodyFields {
        let value = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        BodyFields {
            conversation: value(self.conversation),
            metadata: value(self.metadata),
            client_metadata: value(self.client_metadata),
        }
    }
}

/// The items, or the one that a plain text stands for. `None`: none, or too many.
fn items(route: Route, said: &RawValue) -> Option<Vec<Box<RawValue>>> {
    if route == Route::Responses && said.get().starts_with('"') {
        let item = format!(r#"{{"type":"message","role":"user","content":{}}}"#, said.get());
        return Some(vec![RawValue::from_string(item).ok()?]);
    }
    let items: Vec<Box<RawValue>> = serde_json::from_str(said.get()).ok()?;
    (1..=MOST_ITEMS).contains(&items.len()).then_some(items)
}

/// Refuses what the provider alone can make sense of.
fn check_items(items: &[Box<RawValue>], envelope: &Envelope<'_>) -> Result<(), BypassReason> {
    if envelope.previous_response_id.is_some() || envelope.conversation.is_some() {
        return Err(BypassReason::ServerState);
    }
    for raw in items {
        let item: ItemKind = serde_json::from_str(raw.get()).map_err(|_| BypassReason::Unreadable)?;
        match item.kind.as_deref() {
            Some("item_reference") => return Err(BypassReason::ServerState),
            Some("compaction_trigger") => return Err(BypassReason::ProviderCompaction),
            None if item.role.is_none() => return Err(BypassReason::ServerState),
            _ => {}
        }
    }
    Ok(())
}

fn thread_kind(thread: &RawValue) -> Option<String> {
    let thread: Value = serde_json::from_str(thread.get()).ok()?;
    Some(thread.get("type")?.as_str()?.to_owned())
}

fn model_name(model: &RawValue) -> Option<String> {
    let name: String = serde_json::from_str(model.get()).ok()?;
    ((1..=LONGEST_MODEL).contains(&name.len()) && !name.contains('\0')).then_some(name)
}

/// A new member in front of all others.
fn after_brace(text: &str, system: &RawValue) -> (Range<usize>, String) {
    let at = text.find('{').map_or(0, |brace| brace + 1);
    (at..at, format!("\"system\":{},", system.get()))
}

#[cfg(test)]
mod tests;
