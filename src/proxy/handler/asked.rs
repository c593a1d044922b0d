//! Requests that ask their provider for a compaction, where that is done here.

use std::sync::Arc;
use std::time::Duration;

use crate::proxy::answer::Answer;
use crate::proxy::asked::answers::{self, OwnAnswer};
use crate::proxy::asked::{Asked, Edits};
use crate::proxy::bypass::BypassReason;
use crate::proxy::compactor::Edited;
use crate::proxy::handler::{Answered, Proxy, Said};
use crate::proxy::headers;
use crate::proxy::keeper::{Kept, within};
use crate::proxy::refusal::Refused;
use crate::proxy::unkept::Unkept;
use crate::proxy::upstream::{Call, Upstream};
use crate::service::core::clock;
use crate::service::stateless::HandoverUsage;

/// A summary takes as long as its upstreams may.
const LONGEST: Duration = Duration::from_secs(120);

impl Proxy {
    /// Does what was asked of the provider. Where that can't be done, the request goes on as it came.
    pub(super) async fn do_asked(
        &self,
        upstream: &Upstream,
        call: Call,
        said: Said,
        asked: Asked,
    ) -> Result<Answered, Refused> {
        let done = match asked {
            Asked::Handle => self.hand_over(&said).await,
            Asked::Summary { prompt } => self.sum_up(&said, prompt).await,
            Asked::Edits(edits) => self.edit(upstream, call.clone(), &said, edits).await,
            Asked::Unknown => Err(BypassReason::ProviderCompaction.into()),
        };
        match done {
            Ok(answered) => Ok(answered),
            Err(Unkept::Refused(refused)) => Err(refused),
            Err(Unkept::Bypass(reason)) => {
                let answer = upstream.send(&call, Some(said.conversation.body.clone().into())).await?;
                Ok((Answer::of(answer).bypassed(reason).passed_on(), reason.into_str()))
            }
        }
    }

    async fn hand_over(&self, said: &Said) -> Result<Answered, Unkept> {
        let Said { tenant, identity, conversation, held } = said.clone();
        let (compactor, read) = (self.compactor.clone(), said.clone());
        let work = async move { compactor.handle(tenant, &read.conversation).await };
        let (item, usage) = within(LONGEST, work).await?;
        let whole = Arc::new(conversation.with_item(item.clone()));
        let kept = self.keeper.keep(tenant, identity, whole, held).await;
        let (id, at, model) = (response_id(), clock::now().timestamp(), conversation.model.as_deref());
        let answer = answers::response(&id, at, model, &item, usage, conversation.streams);
        Ok((told(Answer::own(answer), kept)?, "answered"))
    }

    async fn sum_up(&self, said: &Said, prompt: Option<String>) -> Result<Answered, Unkept> {
        let Said { tenant, identity, conversation, held } = said.clone();
        let (compactor, read) = (self.compactor.clone(), said.clone());
        let work = async move {
            let messages = read.conversation.items.clone();
            compactor.summary(tenant, &read.conversation, messages, prompt).await
        };
        let (summary, usage) = within(LONGEST, work).await?;
        let kept = self.keeper.keep(tenant, identity, conversation, held).await;
        let answer = own_message(said, summary.as_deref(), usage);
        Ok((told(Answer::own(answer), kept)?, "answered"))
    }

    async fn edit(&self, upstream: &Upstream, mut call: Call, said: &Said, edits: Edits) -> Result<Answered, Unkept> {
        let Said { tenant, identity, conversation, held } = said.clone();
        let kept = self.keeper.keep(tenant, identity, Arc::clone(&conversation), held).await;
        let compacted = kept.as_ref().ok().and_then(|kept| kept.compacted.clone());
        let body = compacted.unwrap_or_else(|| conversation.body.clone());
        let (compactor, read) = (self.compactor.clone(), said.clone());
        let work = async move { compactor.edit(tenant, &read.conversation, body, &edits).await };
        let Edited { body, report } = within(LONGEST, work).await?;
        let (answer, outcome) = match (body, &report.compaction) {
            (Some(body), _) => {
                headers::without_compaction_betas(&mut call.headers);
                (Answer::of(upstream.send(&call, Some(body.into())).await?).rewritten(report), "edited")
            }
            (None, Some((summary, usage))) => (Answer::own(own_message(said, Some(summary), *usage)), "answered"),
            (None, None) => return Err(BypassReason::Internal.into()),
        };
        Ok((told(answer, kept)?, outcome))
    }
}

/// The answer, with where its conversation is kept, or why it is not.
fn told(answer: Answer, kept: Result<Kept, Unkept>) -> Result<axum::response::Response, Unkept> {
    match kept {
        Ok(kept) => Ok(answer.told(&kept).passed_on()),
        Err(Unkept::Bypass(reason)) => Ok(answer.bypassed(reason).passed_on()),
        Err(refused) => Err(refused),
    }
}

fn own_message(said: &Said, summary: Option<&str>, usage: HandoverUsage) -> OwnAnswer {
    let (id, model) = (format!("msg_{}", clock::new_id().simple()), said.conversation.model.as_deref());
    answers::message(&id, model, summary, usage, said.conversation.streams)
}

fn response_id() -> String {
    format!("resp_{}", clock::new_id().simple())
}
