//! Where a conversation is kept that nothing names: with the one that it goes on from, or by itself.

use crate::domain::format;
use crate::proxy::conversation::{Conversation, Fixed, Opening};
use crate::proxy::identity::{ByContent, Identity};
use crate::proxy::keeper::Keeper;
use crate::proxy::known::Key;
use crate::proxy::speech::Speech;
use crate::service::core::error::Result;
use crate::service::core::page::PageRequest;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::{EntryQuery, EntryView};

/// Entries that are read to know how far a stored conversation had got.
const NEWEST: i64 = 512;

impl Keeper {
    /// Returns true if the request has the conversation's key and is none of its requests: the form of its answer is a title's,
    /// or it has no tools where the conversation has them. A coding agent's own conversation has tools from its first request
    /// on; what has none and holds no answer yet is not taken for its beginning.
    pub(super) fn is_side_request(&self, tenant: Tenant, identity: &Identity, conversation: &Conversation) -> bool {
        let opening = &conversation.opening;
        let is_by_the_way = identity.is_of_harness() && !opening.has_tools && opening.hash.is_none();
        let by_content = identity.content.as_ref();
        conversation.asks_for_title
            || is_by_the_way
            || by_content.is_some_and(|by| {
                self.trails.is_aside(tenant, by, conversation)
                    && !self.is_kept_apart(tenant, identity, by, conversation)
            })
    }

    /// Returns true if this is known to be a conversation of its own, under another system prompt than the one with tools.
    fn is_kept_apart(&self, tenant: Tenant, identity: &Identity, by: &ByContent, conversation: &Conversation) -> bool {
        let key = (tenant, identity.external_id.clone());
        !self.trails.has_tools(tenant, by)
            && self.branches.with(&key, |branches| branches.seems_known(&conversation.speech))
    }

    /// The same identity; where the conversation has no tools and the one that begins so has, that of the one beside it.
    fn apart(&self, tenant: Tenant, identity: &Identity, conversation: &Conversation) -> Identity {
        let by = identity.content.as_ref().filter(|_| !conversation.opening.has_tools);
        match by.is_some_and(|by| self.trails.has_tools(tenant, by)) {
            true => identity.without_tools(),
            false => identity.clone(),
        }
    }

    /// The same identity, or that of the session that the conversation goes on in.
    pub(super) async fn placed(
        &self,
        tenant: Tenant,
        identity: Identity,
        conversation: &Conversation,
    ) -> Result<Identity> {
        let identity = self.apart(tenant, &identity, conversation);
        let Some(by) = &identity.content else { return Ok(identity) };
        let (key, speech) = ((tenant, identity.external_id.clone()), &conversation.speech);
        let stored = match self.branches.with(&key, |branches| branches.knows(speech)) {
            true => None,
            false => self.found(tenant, &key, &identity, by, conversation).await?,
        };
        let name = self.branches.with(&key, |branches| branches.place(&identity, speech, stored));
        self.trails.keeps(tenant, by, conversation, &name);
        Ok(identity.called(name))
    }

    /// As [`Keeper::placed`], without looking for it. `None`: it has to be looked for.
    pub(super) fn place_known(
        &self,
        tenant: Tenant,
        identity: &Identity,
        conversation: &Conversation,
    ) -> Option<Identity> {
        let identity = self.apart(tenant, identity, conversation);
        let Some(_) = &identity.content else { return Some(identity) };
        let key = (tenant, identity.external_id.clone());
        let name = self.branches.with(&key, |branches| branches.goes_on_in(&conversation.speech))?;
        Some(identity.called(name))
    }

    /// The name under which the conversation is stored, if it has one of its own. What is stored there, or else under its
    /// identity, is remembered again where this process knows nothing of it.
    async fn found(
        &self,
        tenant: Tenant,
        key: &Key,
        identity: &Identity,
        by: &ByContent,
        conversation: &Conversation,
    ) -> Result<Option<String>> {
        let stored = self.stored(tenant, identity, by, conversation).await?;
        let name = stored.as_ref().unwrap_or(&identity.external_id);
        let is_known = self.branches.with(key, |branches| branches.holds(name));
        let is_there = async || self.services.sessions.names_known(tenant, std::slice::from_ref(name)).await;
        if !is_known && is_there().await?.contains(name) {
            let speech = self.said_in(tenant, name).await?;
            self.branches.with(key, |branches| branches.remember(name.clone(), &speech));
        }
        Ok(stored)
    }

    /// The newest of what was said in a session.
    async fn said_in(&self, tenant: Tenant, name: &str) -> Result<Speech> {
        let session = self.services.sessions.session_named(tenant, name, Default::default()).await?;
        let count = self.services.queries.session(tenant, session).await?.entry_count;
        let from = count.saturating_sub(NEWEST);
        let page = PageRequest { limit: NEWEST, after: (from > 0).then(|| (from - 1).to_string()) };
        let entries = self.services.queries.entries(tenant, session, EntryQuery::default(), page).await?;
        if entries.next_cursor.is_some() {
            // They are too large to be read for this.
            return Ok(Speech::default());
        }
        let message = |entry: &EntryView| format::read_message(entry.source_format, entry.item.get()).ok().flatten();
        let messages = || entries.items.iter().filter(|entry| entry.kind == "message").map(message);
        let behind = if from > 0 { 0 } else { Opening::of_messages(messages(), Fixed::default()).1 };
        Ok(Speech::of_stored(messages(), behind, from > 0))
    }

    /// The name under which the conversation is stored where that is another one than its identity's: it departed from
    /// another conversation, an older version named it, or its client has changed its beginning.
    async fn stored(
        &self,
        tenant: Tenant,
        identity: &Identity,
        by: &ByContent,
        conversation: &Conversation,
    ) -> Result<Option<String>> {
        let mut names: Vec<String> =
            conversation.speech.telling().map(|place| identity.beside(&place.recent).external_id).collect();
        names.extend([identity.external_id.clone(), by.before.clone()]);
        let known = self.services.sessions.names_known(tenant, &names).await?;
        let first = names.into_iter().find(|name| known.contains(name));
        match first {
            Some(name) if name == identity.external_id => Ok(None),
            Some(name) if name == by.before => Ok(self.has_system(tenant, &name, conversation).await?.then_some(name)),
            Some(name) => Ok(Some(name)),
            None => Ok(self.trails.more_of(tenant, by, conversation)),
        }
    }

    /// Returns true if the session is spoken in under this system prompt.
    async fn has_system(&self, tenant: Tenant, name: &str, conversation: &Conversation) -> Result<bool> {
        let session = self.services.sessions.session_named(tenant, name, Default::default()).await?;
        let opening = self.learnt(tenant, session).await?.opening;
        Ok(opening.is_some_and(|opening| opening.system == conversation.opening.system))
    }
}
