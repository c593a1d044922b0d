//! The fields of a body that count. All others stay where they are.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::proxy::asked::Asked;
use crate::proxy::asked::edits::holds_compaction;
use crate::proxy::bypass::BypassReason;
use crate::proxy::identity::BodyFields;
use crate::proxy::route::Route;

/// Most items of a conversation.
const MOST_ITEMS: usize = 20_000;
/// Bytes of a model's name.
const LONGEST_MODEL: usize = 200;
/// Bytes and levels of the form of an answer that are looked at, and fields of one that is a title.
const LONGEST_FORM: usize = 16 << 10;
const FORM_LEVELS: usize = 5;
const TITLE_FIELDS: usize = 3;

/// The fields that count.
#[derive(Deserialize)]
pub(super) struct Envelope<'b> {
    #[serde(borrow)]
    messages: Option<&'b RawValue>,
    #[serde(borrow)]
    input: Option<&'b RawValue>,
    #[serde(borrow)]
    system: Option<&'b RawValue>,
    #[serde(borrow)]
    instructions: Option<&'b RawValue>,
    #[serde(borrow)]
    pub(super) tools: Option<&'b RawValue>,
    #[serde(borrow)]
    pub(super) thread: Option<&'b RawValue>,
    #[serde(borrow)]
    model: Option<&'b RawValue>,
    #[serde(borrow)]
    stream: Option<&'b RawValue>,
    #[serde(borrow)]
    context_management: Option<&'b RawValue>,
    #[serde(borrow)]
    compaction: Option<&'b RawValue>,
    #[serde(borrow)]
    previous_response_id: Option<&'b RawValue>,
    #[serde(borrow)]
    conversation: Option<&'b RawValue>,
    #[serde(borrow)]
    metadata: Option<&'b RawValue>,
    #[serde(borrow)]
    client_metadata: Option<&'b RawValue>,
    #[serde(borrow)]
    response_format: Option<&'b RawValue>,
    #[serde(borrow)]
    text: Option<&'b RawValue>,
    #[serde(borrow)]
    output_format: Option<&'b RawValue>,
    #[serde(borrow)]
    output_config: Option<&'b RawValue>,
}

/// The word of an item of Responses that says what it is.
#[derive(Deserialize)]
struct ItemKind<'i> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'i, str>>,
    #[serde(borrow)]
    role: Option<&'i RawValue>,
}

impl<'b> Envelope<'b> {
    /// Where the items stand.
    pub(super) fn said(&self, route: Route) -> Option<&'b RawValue> {
        if route == Route::Responses { self.input } else { self.messages }
    }

    /// The system prompt beside the items; nothing where it is of no kind that counts.
    pub(super) fn system(&self, route: Route) -> Option<&'b RawValue> {
        let system = match route {
            Route::ChatCompletions => None,
            Route::Responses => self.instructions,
            Route::Messages => self.system,
        };
        system.filter(|system| system.get().starts_with(['"', '[']))
    }

    pub(super) fn model(&self) -> Option<String> {
        let name: String = serde_json::from_str(self.model?.get()).ok()?;
        ((1..=LONGEST_MODEL).contains(&name.len()) && !name.contains('\0')).then_some(name)
    }

    /// Returns true if the answer is to be a stream of events.
    pub(super) fn streams(&self) -> bool {
        self.stream.is_some_and(|stream| stream.get() == "true")
    }

    pub(super) fn identity(&self) -> BodyFields {
        let value = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        BodyFields {
            conversation: value(self.conversation),
            metadata: value(self.metadata),
            client_metadata: value(self.client_metadata),
        }
    }

    /// Returns true if the form that the answer is to have is that of a title: an object of few fields, one of them so named.
    pub(super) fn asks_for_title(&self) -> bool {
        let all = [self.response_format, self.text, self.output_format, self.output_config];
        let forms = all.into_iter().flatten().filter(|form| form.get().len() <= LONGEST_FORM);
        forms.filter_map(|form| serde_json::from_str(form.get()).ok()).any(|form| is_title_form(&form, FORM_LEVELS))
    }

    /// Takes out of the items what asks for a compaction, and says what is asked for.
    pub(super) fn asked(&self, route: Route, items: &mut Vec<Box<RawValue>>) -> Option<Asked> {
        match route {
            Route::ChatCompletions => None,
            Route::Messages => {
                let holds_compaction = items.iter().any(|message| holds_compaction(message));
                Asked::of_message(self.context_management, self.compaction, holds_compaction)
            }
            Route::Responses => {
                let all = items.len();
                items.retain(|item| !is_trigger(item));
                (items.len() < all).then_some(Asked::Handle)
            }
        }
    }

    /// Refuses what the provider alone can make sense of.
    pub(super) fn check(&self, items: &[Box<RawValue>]) -> Result<(), BypassReason> {
        if self.previous_response_id.is_some() || self.conversation.is_some() {
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
}

/// The schema lies some levels down, differently with each provider.
fn is_title_form(form: &Value, levels: usize) -> bool {
    let Some(fields) = form.as_object().filter(|_| levels > 0) else { return false };
    match fields.get("properties").and_then(Value::as_object) {
        Some(properties) => properties.len() <= TITLE_FIELDS && properties.contains_key("title"),
        None => fields.values().any(|field| is_title_form(field, levels - 1)),
    }
}

/// The items, or the one that a plain text stands for. `None`: none, or too many.
pub(super) fn items(route: Route, said: &RawValue) -> Option<Vec<Box<RawValue>>> {
    if route == Route::Responses && said.get().starts_with('"') {
        let item = format!(r#"{{"type":"message","role":"user","content":{}}}"#, said.get());
        return Some(vec![RawValue::from_string(item).ok()?]);
    }
    let items: Vec<Box<RawValue>> = serde_json::from_str(said.get()).ok()?;
    (1..=MOST_ITEMS).contains(&items.len()).then_some(items)
}

pub(super) fn thread_kind(thread: &RawValue) -> Option<String> {
    let thread: Value = serde_json::from_str(thread.get()).ok()?;
    Some(thread.get("type")?.as_str()?.to_owned())
}

fn is_trigger(item: &RawValue) -> bool {
    let kind = |item: &RawValue| Some(serde_json::from_str::<ItemKind>(item.get()).ok()?.kind? == "compaction_trigger");
    item.get().contains("compaction_trigger") && kind(item).unwrap_or(false)
}
