//! The session of a conversation: remembered, looked for, or made.

use anyhow::Context as _;
use serde_json::json;
use serde_json::value::to_raw_value;
use uuid::Uuid;

use crate::domain::format;
use crate::proxy::bypass::BypassReason;
use crate::proxy::conversation::{Conversation, Fixed, Opening};
use crate::proxy::identity::Identity;
use crate::proxy::keeper::{Keeper, Outcome};
use crate::proxy::known::{Key, Known};
use crate::proxy::speech::Speech;
use crate::service::core::error::Result;
use crate::service::core::page::PageRequest;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::{EntryQuery, EntryView};
use crate::service::sessions::{NewSession, Session};

/// Entries that are read to know how a session begins.
const BEGINNING: i64 = 20;

impl Keeper {
    /// The session that the conversation goes into: that of its identity or, where another conversation is there
    /// already, one beside it.
    ///
    /// # Errors
    /// `SideRequest`; those of the database.
    pub(super) async fn addressed(
        &self,
        tenant: Tenant,
        identity: &Identity,
        conversation: &Conversation,
    ) -> Outcome<(Key, Known)> {
        let (key, known) = self.find(tenant, identity, conversation, false).await?;
        if known.admits(identity, conversation) {
            return Ok((key, known));
        }
        let beside = self.beside(tenant, identity, conversation).await?.ok_or(BypassReason::SideRequest)?;
        let (key, known) = self.find(tenant, &beside, conversation, true).await?;
        known.admits(&beside, conversation).then_some((key, known)).ok_or(BypassReason::SideRequest.into())
    }

    /// What a conversation is kept under that its identity's session does not admit. One without tools that nothing names is
    /// none, but for one that was kept so before.
    async fn beside(
        &self,
        tenant: Tenant,
        identity: &Identity,
        conversation: &Conversation,
    ) -> Result<Option<Identity>> {
        let opening = &conversation.opening;
        if identity.content.is_some() && !opening.has_tools {
            let apart = identity.without_tools();
            let known = self.services.sessions.names_known(tenant, std::slice::from_ref(&apart.external_id)).await?;
            return Ok((!known.is_empty()).then_some(apart));
        }
        Ok(opening.hash.as_ref().filter(|_| opening.is_work()).map(|hash| identity.beside(hash)))
    }

    /// The session of that name, made where there is none: with a title from the user's words, the newest ones where it
    /// stands beside another one or was not heard from its start.
    async fn find(
        &self,
        tenant: Tenant,
        identity: &Identity,
        conversation: &Conversation,
        is_beside: bool,
    ) -> Result<(Key, Known)> {
        let key = (tenant, identity.external_id.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok((key, known));
        }
        let metadata = to_raw_value(&json!({"source": "proxy", "identified_by": identity.source}));
        let new = NewSession {
            metadata: Some(metadata.context("metadata as JSON")?),
            model: conversation.model.clone(),
            title: conversation.title(is_beside || !self.trails.has_begun(tenant, conversation)),
            ..NewSession::default()
        };
        let session = self.services.sessions.session_named(tenant, &identity.external_id, new).await?;
        let learnt = self.learnt(tenant, session).await?;
        let known = self.known.get_or_set(key.clone(), learnt);
        Ok((key, known))
    }

    pub(super) async fn learnt(&self, tenant: Tenant, session: Uuid) -> Result<Known> {
        let queries = &self.services.queries;
        let page = PageRequest { limit: BEGINNING, after: None };
        let entries = queries.entries(tenant, session, EntryQuery::default(), page).await?.items;
        let Session { model, tools, system, .. } = queries.session(tenant, session).await?;
        let fixed = Fixed { tools: tools.as_deref(), system: system.as_deref() };
        let message = |entry: &EntryView| format::read_message(entry.source_format, entry.item.get()).ok().flatten();
        let messages: Vec<_> = entries.iter().filter(|entry| entry.kind == "message").map(message).collect();
        let words = Speech::of_messages(messages.iter().flatten()).words();
        let opening = (!entries.is_empty()).then(|| Opening::of_messages(messages.into_iter(), fixed).0);
        Ok(Known { session, model, opening, words, compaction: None, awaited: None, turn: None })
    }
}
