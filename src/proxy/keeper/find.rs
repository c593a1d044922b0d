//! The session of a conversation: remembered, looked for, or made.

use anyhow::Context as _;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use uuid::Uuid;

use crate::domain::format;
use crate::proxy::bypass::BypassReason;
use crate::proxy::conversation::{Conversation, Opening};
use crate::proxy::identity::{Identity, SESSION};
use crate::proxy::keeper::{Keeper, Outcome};
use crate::proxy::known::{Key, Known};
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::page::PageRequest;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::{EntryQuery, EntryView};
use crate::service::sessions::{NewSession, Session, SessionFilter};

/// Sessions with one external id that are told apart: the oldest of them is the conversation's.
const ALIKE: i64 = 8;
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
        let (key, known) = self.find(tenant, identity, conversation).await?;
        if known.admits(conversation) {
            return Ok((key, known));
        }
        let hash = conversation.opening.hash.as_ref().filter(|_| conversation.opening.is_work());
        let beside = identity.beside(hash.ok_or(BypassReason::SideRequest)?);
        let (key, known) = self.find(tenant, &beside, conversation).await?;
        known.admits(conversation).then_some((key, known)).ok_or(BypassReason::SideRequest)
    }

    async fn find(&self, tenant: Tenant, identity: &Identity, conversation: &Conversation) -> Result<(Key, Known)> {
        let key = (tenant, identity.external_id.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok((key, known));
        }
        let _turn = self.known.turn(&key).await;
        if let Some(known) = self.known.get(&key) {
            return Ok((key, known));
        }
        let known = match self.stored(tenant, identity).await? {
            Some(session) => self.learnt(tenant, session).await?,
            None => self.made(tenant, identity, conversation).await?,
        };
        self.known.set(key.clone(), known.clone());
        Ok((key, known))
    }

    async fn stored(&self, tenant: Tenant, identity: &Identity) -> Result<Option<Session>> {
        let queries = &self.services.queries;
        let id = Uuid::parse_str(&identity.external_id).ok().filter(|_| identity.source == SESSION);
        if let Some(id) = id
            && let Some(session) = queries.session(tenant, id).await.optional()?
        {
            return Ok(Some(session));
        }
        let filter = SessionFilter { external_id: Some(identity.external_id.clone()), ..SessionFilter::default() };
        Ok(queries.sessions(tenant, filter, PageRequest { limit: ALIKE, after: None }).await?.items.pop())
    }

    async fn learnt(&self, tenant: Tenant, session: Session) -> Result<Known> {
        let page = PageRequest { limit: BEGINNING, after: None };
        let entries = self.services.queries.entries(tenant, session.id, EntryQuery::default(), page).await?.items;
        let has_tools = session.tools.as_deref().is_some_and(is_filled_list);
        let message = |entry: &EntryView| format::read(entry.source_format, entry.item.get()).ok()?.message;
        let messages = entries.iter().filter(|entry| entry.kind == "message").filter_map(message);
        let opening = (!entries.is_empty()).then(|| Opening::of_messages(messages, has_tools));
        let model = session.model;
        Ok(Known { session: session.id, model, opening, newest: None, compaction: None, turn: None })
    }

    async fn made(&self, tenant: Tenant, identity: &Identity, conversation: &Conversation) -> Result<Known> {
        let metadata = to_raw_value(&json!({"source": "proxy", "identified_by": identity.source}));
        let new = NewSession {
            external_id: Some(identity.external_id.clone()),
            metadata: Some(metadata.context("metadata as JSON")?),
            model: conversation.model.clone(),
            ..NewSession::default()
        };
        let session = self.services.sessions.create_session(tenant, new).await?;
        let (session, model) = (session.id, session.model);
        Ok(Known { session, model, opening: None, newest: None, compaction: None, turn: None })
    }
}

fn is_filled_list(tools: &RawValue) -> bool {
    serde_json::from_str::<Vec<&RawValue>>(tools.get()).is_ok_and(|tools| !tools.is_empty())
}
