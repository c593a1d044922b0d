//! Compactions that were asked of a provider, done here.

use std::sync::Arc;

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::handle;
use crate::domain::settings::Estimator;
use crate::domain::tokens::{count_message, count_text};
use crate::proxy::asked::Edits;
use crate::proxy::asked::edits::{self, Messages};
use crate::proxy::asked::rewrite::Report;
use crate::proxy::bypass::BypassReason;
use crate::proxy::conversation::Conversation;
use crate::proxy::splice::{member, place, replaced};
use crate::proxy::unkept::Unkept;
use crate::service::Services;
use crate::service::core::clock;
use crate::service::core::offload::offload;
use crate::service::core::tenant::Tenant;
use crate::service::stateless::{HandoverRequest, HandoverUsage, Summariser};

/// Does what a provider was asked for. Cheap to clone.
#[derive(Clone)]
pub struct Compactor {
    services: Arc<Services>,
    summariser: Arc<dyn Summariser>,
}

/// A request after its edits.
pub struct Edited {
    /// The body that goes on. `None`: the compaction is all of the answer.
    pub body: Option<Bytes>,
    pub report: Report,
}

/// The fields of a body that edits are about.
#[derive(Deserialize)]
struct Envelope<'b> {
    #[serde(borrow)]
    messages: &'b RawValue,
    #[serde(borrow)]
    system: Option<&'b RawValue>,
    #[serde(borrow)]
    tools: Option<&'b RawValue>,
    #[serde(borrow)]
    context_management: Option<&'b RawValue>,
}

/// Messages, and how large a context they make.
struct Sized {
    messages: Messages,
    tokens: u64,
    tool_uses: u64,
}

impl Compactor {
    pub fn new(services: Arc<Services>, summariser: Arc<dyn Summariser>) -> Compactor {
        Compactor { services, summariser }
    }

    /// An item that stands for the whole conversation.
    ///
    /// # Errors
    /// A handle in it that does not open; why there is none.
    pub async fn handle(
        &self,
        tenant: Tenant,
        conversation: &Conversation,
    ) -> Result<(Box<RawValue>, HandoverUsage), Unkept> {
        let request = self.request(conversation, conversation.items.clone(), None);
        let handed = self.services.stateless.hand_over(tenant, request, self.summariser.as_ref()).await;
        let handed = handed.map_err(|error| conversation.at_its_items(error))?;
        let item = handle::item(&clock::new_id().simple().to_string(), &handed.handle);
        let item = to_raw_value(&item).map_err(|_| BypassReason::Internal)?;
        Ok((item, handed.usage))
    }

    /// A summary of these messages; `None`: there is nothing to tell.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn summary(
        &self,
        tenant: Tenant,
        conversation: &Conversation,
        messages: Messages,
        prompt: Option<String>,
    ) -> Result<(Option<String>, HandoverUsage), Unkept> {
        let request = self.request(conversation, edits::flattened(messages), prompt);
        Ok(self.services.stateless.sum_up(tenant, request, self.summariser.as_ref()).await?)
    }

    fn request(&self, conversation: &Conversation, items: Messages, prompt: Option<String>) -> HandoverRequest {
        let (model, system) = (conversation.model.clone(), conversation.system().map(ToOwned::to_owned));
        HandoverRequest { format: conversation.route.format(), model, items, system, prompt, given: None }
    }

    /// Edits a request for a message.
    ///
    /// # Errors
    /// Why it can't be done.
    pub async fn edit(
        &self,
        tenant: Tenant,
        conversation: &Conversation,
        body: Bytes,
        edits: &Edits,
    ) -> Result<Edited, Unkept> {
        let (bytes, asked) = (body.len(), edits.clone());
        let read = body.clone();
        let job = move || {
            let mut sized = Sized::of(&read)?;
            let clear = asked.clear.as_ref().filter(|clear| clear.is_due(sized.tokens, sized.tool_uses));
            let cleared = clear.and_then(|clear| edits::cleared(&mut sized.messages, clear));
            sized.tokens = sized.tokens.saturating_sub(cleared.map_or(0, |cleared| cleared.input_tokens));
            Some((sized, cleared))
        };
        let (Sized { mut messages, tokens, .. }, cleared) =
            offload(bytes, job).await?.ok_or(BypassReason::Unreadable)?;
        let mut report = Report { is_told: edits.are_told, cleared, compaction: None };
        if let Some(compact) = edits.compact.as_ref().filter(|compact| compact.is_due(tokens)) {
            // From what was posted: in the body a summary may stand for it already, and one of a summary tells less.
            let posted = conversation.items.clone();
            let (summary, usage) = self.summary(tenant, conversation, posted, compact.prompt()).await?;
            if let Some(summary) = summary {
                messages = edits::continued(&summary, &messages);
                report.compaction = Some((summary, usage));
            }
            if compact.pauses() && report.compaction.is_some() {
                return Ok(Edited { body: None, report });
            }
        }
        let written = offload(bytes, move || written(&body, &messages)).await?.ok_or(BypassReason::Unreadable)?;
        Ok(Edited { body: Some(written), report })
    }
}

impl Sized {
    fn of(body: &[u8]) -> Option<Sized> {
        let envelope: Envelope = serde_json::from_slice(body).ok()?;
        let messages = edits::flattened(serde_json::from_str(envelope.messages.get()).ok()?);
        let estimator = Estimator::O200k;
        let of_message = |raw: &RawValue| {
            let message = format::accept(Format::Anthropic, raw.get()).ok()?.message?;
            Some(u64::from(count_message(estimator, &message).total))
        };
        let fixed = [envelope.system, envelope.tools].into_iter().flatten();
        let fixed: u64 = fixed.map(|raw| u64::from(count_text(estimator, raw.get()))).sum();
        let tokens = fixed + messages.iter().filter_map(|raw| of_message(raw)).sum::<u64>();
        Some(Sized { tool_uses: edits::tool_uses(&messages), messages, tokens })
    }
}

/// The body with other messages, and without what was asked for.
fn written(body: &[u8], messages: &[Box<RawValue>]) -> Option<Bytes> {
    let text = std::str::from_utf8(body).ok()?;
    let envelope: Envelope = serde_json::from_str(text).ok()?;
    let all: Vec<&str> = messages.iter().map(|message| message.get()).collect();
    let mut changes = vec![(place(text, envelope.messages), format!("[{}]", all.join(",")))];
    if let Some(management) = envelope.context_management {
        changes.push((member(text, &place(text, management)), String::new()));
    }
    Some(Bytes::from(replaced(text, changes)))
}
