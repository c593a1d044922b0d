//! Keeping conversations: each request's is stored in its session, and where that was compacted, its context goes on.
//!
//! Whatever comes to grief here is a reason to hand the request on as it came.

mod find;
mod place;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::domain::tokens::accounting::{FillState, Snapshot};
use crate::proxy::branches::KnownBranches;
use crate::proxy::bypass::BypassReason;
use crate::proxy::conversation::Conversation;
use crate::proxy::identity::Identity;
use crate::proxy::known::{Key, Known, KnownSessions, Turn};
use crate::proxy::room::Held;
use crate::proxy::trails::Trails;
use crate::proxy::unkept::Unkept;
use crate::service::Services;
use crate::service::compaction::Status;
use crate::service::core::error::Result;
use crate::service::core::page::PageRequest;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::append::Append;
use crate::service::ingest::transcript::Put;
use crate::service::rebuild::{Context, Rebuild};
use crate::service::sessions::SessionPatch;
use crate::trace;

/// Conversations that are worked on at a time.
const PLACES: usize = 256;
/// What was begun is given up after this: by then nobody waits for it.
const LONGEST: Duration = Duration::from_secs(60);
/// How many compactions are looked through for the one that has landed.
const LOOK_BACK: i64 = 5;

type Outcome<T> = std::result::Result<T, Unkept>;

/// Stores conversations and compacts them. Cheap to clone.
#[derive(Clone)]
pub struct Keeper {
    services: Arc<Services>,
    known: KnownSessions,
    branches: KnownBranches,
    trails: Trails,
    places: Arc<Semaphore>,
    /// For the work on one request.
    timeout: Duration,
}

/// A conversation that is stored.
#[derive(Debug, Clone)]
pub struct Kept {
    pub key: Key,
    pub session: Uuid,
    pub tokens: u64,
    pub state: FillState,
    /// The compaction that this request is the first to show.
    pub compaction: Option<Uuid>,
    /// The body with the compacted context; none where nothing was compacted.
    pub compacted: Option<Bytes>,
    /// The session's leaf.
    pub leaf: Option<Uuid>,
    /// The entry of the newest message.
    end: Option<Uuid>,
}

impl Keeper {
    pub fn new(services: Arc<Services>, timeout: Duration) -> Keeper {
        let (known, branches, trails) = (KnownSessions::default(), KnownBranches::default(), Trails::default());
        Keeper { services, known, branches, trails, places: Arc::new(Semaphore::new(PLACES)), timeout }
    }

    /// Stores the conversation, in its time. What takes longer goes on by itself, for the next request's sake.
    ///
    /// # Errors
    /// Why it is not kept.
    pub async fn keep(
        &self,
        tenant: Tenant,
        identity: Option<Identity>,
        conversation: Arc<Conversation>,
        held: Arc<Held>,
    ) -> Outcome<Kept> {
        let Some(identity) = identity else {
            self.trails.begins(tenant, &conversation);
            return Err(BypassReason::NoIdentity.into());
        };
        if self.is_side_request(tenant, &identity, &conversation) {
            return Err(BypassReason::SideRequest.into());
        }
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| BypassReason::Busy)?;
        let keeper = self.clone();
        within(self.timeout, async move {
            let (_place, _held) = (place, held);
            let identity = keeper.placed(tenant, identity, &conversation).await?;
            let (key, known) = keeper.addressed(tenant, &identity, &conversation).await?;
            let kept = keeper.store(&key, known, &conversation).await;
            if matches!(kept, Err(Unkept::Bypass(BypassReason::Moved))) {
                // The session may have been erased.
                keeper.known.forget(&key);
            }
            kept
        })
        .await
    }

    /// Returns true if it is known beforehand that the conversation goes on as it came, kept or not.
    pub fn foresees(&self, tenant: Tenant, identity: Option<&Identity>, conversation: &Conversation) -> bool {
        let Some(identity) = identity.and_then(|identity| self.place_known(tenant, identity, conversation)) else {
            return false;
        };
        let known = self.known.get(&(tenant, identity.external_id.clone()));
        known.is_some_and(|known| known.has_room_for(&identity, conversation))
    }

    /// A conversation that went on as it came though somebody has compacted it: the next request shows that.
    pub fn as_it_went(&self, kept: Kept) -> Kept {
        if kept.compacted.is_some() {
            self.known.forget(&kept.key);
        }
        Kept { compacted: None, compaction: None, ..kept }
    }

    /// Compacts after the provider found the request too long. `None`: the context is no other than it was.
    pub async fn relieve(&self, kept: &Kept, conversation: &Arc<Conversation>, error: String) -> Option<Kept> {
        let (keeper, kept, conversation) = (self.clone(), kept.clone(), Arc::clone(conversation));
        let relief = async move { keeper.relieved(kept, &conversation, error).await.map_err(Unkept::from) };
        within(self.timeout.max(LONGEST), relief).await.ok().flatten()
    }

    /// Keeps the usage that the answer to a request reported, until the answer itself comes.
    pub fn report(&self, key: &Key, leaf: Option<Uuid>, usage: Value) {
        self.known.report(key, leaf, usage);
    }

    async fn store(&self, key: &Key, mut known: Known, conversation: &Conversation) -> Outcome<Kept> {
        let (began, tenant) = (Instant::now(), key.0);
        let put = self.put(tenant, &known, conversation).await.map_err(|error| conversation.at_its_items(error))?;
        let is_red = put.snapshot.state == FillState::Red;
        if is_red {
            self.await_compaction(tenant, &mut known, &put, (self.timeout / 2).saturating_sub(began.elapsed())).await?;
        }
        let end = match put.entries.last() {
            Some(entry) => Some(entry.id),
            None => known.turn.as_ref().and_then(|turn| turn.end).or(put.leaf_id),
        };
        let context = match is_red || put.newest.is_some() {
            true => self.context(tenant, known.session, conversation, put.newest.is_some()).await?,
            false => None,
        };
        let is_others = |context: &Context| context.leaf_id != put.leaf_id && context.entry_ids.last() != end.as_ref();
        if context.as_ref().is_some_and(is_others) {
            return Err(BypassReason::Moved.into());
        }
        let compaction = match &context {
            Some(context) => self.landed(tenant, &known, context.leaf_id).await?,
            None => None,
        };
        let (tokens, state, leaf) = match &context {
            Some(context) => (context.tokens, context.state, context.leaf_id),
            None => (put.snapshot.tokens, put.snapshot.state, put.leaf_id),
        };
        let compacted = context.map(|context| conversation.with_context(&context.messages, context.system.as_deref()));
        let (key, session) = (key.clone(), known.session);
        let kept = Kept { key, session, tokens, state, compaction, compacted, leaf, end };
        self.remember(known, &put.snapshot, &kept, conversation);
        Ok(kept)
    }

    /// Stores what is new in the conversation.
    async fn put(&self, tenant: Tenant, known: &Known, conversation: &Conversation) -> Result<Put> {
        let sessions = &self.services.sessions;
        if let Some(model) = conversation.model.clone().filter(|model| known.model.as_ref() != Some(model)) {
            let patch = SessionPatch { model: Some(Some(model)), ..SessionPatch::default() };
            sessions.patch_session(tenant, known.session, patch).await?;
        }
        let transcript = conversation.transcript(self.usage(tenant, known, conversation).await?);
        Ok(sessions.put_transcript_returning(tenant, known.session, transcript, None).await?.0)
    }

    /// The usage of the answer before, where nothing but a compaction has come since it was asked for: which view it
    /// measured then, the account tells.
    async fn usage(&self, tenant: Tenant, known: &Known, conversation: &Conversation) -> Result<Option<Value>> {
        let Some((leaf, usage)) = known.usage(conversation) else { return Ok(None) };
        let now = self.services.queries.session(tenant, known.session).await?.leaf_id;
        let only_compacted = now == leaf || (now.is_some() && self.is_compaction(tenant, known.session, now).await?);
        Ok(only_compacted.then_some(usage))
    }

    /// Returns true if this entry is that of a compaction that landed of late.
    async fn is_compaction(&self, tenant: Tenant, session: Uuid, entry: Option<Uuid>) -> Result<bool> {
        let page = PageRequest { limit: LOOK_BACK, after: None };
        let newest = self.services.sessions.compactions(tenant, session, page).await?.items;
        Ok(newest.into_iter().any(|one| one.result.as_ref().and_then(|result| result.entry_id) == entry))
    }

    /// Waits for the compaction that the conversation has started, or once for one that is under way.
    async fn await_compaction(&self, tenant: Tenant, known: &mut Known, put: &Put, wait: Duration) -> Result<()> {
        let under_way = match &put.compaction {
            Some(started) => is_live(started.status).then_some(started.id),
            None => self.under_way(tenant, known.session).await?.filter(|id| known.awaited != Some(*id)),
        };
        if let Some(id) = under_way {
            known.awaited = Some(id);
            self.services.sessions.wait_for(tenant, id, wait).await?;
        }
        Ok(())
    }

    async fn under_way(&self, tenant: Tenant, session: Uuid) -> Result<Option<Uuid>> {
        let page = PageRequest { limit: LOOK_BACK, after: None };
        let newest = self.services.sessions.compactions(tenant, session, page).await?.items;
        Ok(newest.into_iter().find(|one| is_live(one.status)).map(|one| one.id))
    }

    /// The session's context; `None`: nothing of it is compacted.
    async fn context(
        &self,
        tenant: Tenant,
        session: Uuid,
        conversation: &Conversation,
        is_compacted: bool,
    ) -> Result<Option<Context>> {
        let rebuild = Rebuild::of_leaf(conversation.route.format());
        let context = self.services.sessions.rebuild(tenant, session, rebuild).await?;
        let is_compacted = is_compacted || context.summary_entry_id.is_some() || !context.elided.is_empty();
        Ok(Some(context).filter(|_| is_compacted))
    }

    /// The newest compaction that a context up to this leaf shows, if no answer has named it yet.
    async fn landed(&self, tenant: Tenant, known: &Known, leaf: Option<Uuid>) -> Result<Option<Uuid>> {
        let page = PageRequest { limit: LOOK_BACK, after: None };
        let newest = self.services.sessions.compactions(tenant, known.session, page).await?.items;
        // Ids of entries grow: one that was committed since is not shown yet.
        let is_shown = |entry: Option<Uuid>| entry.is_some_and(|entry| leaf.is_some_and(|leaf| entry <= leaf));
        let landed = newest.into_iter().find(|one| {
            let entry = one.result.as_ref().and_then(|result| result.entry_id);
            one.status == Status::Succeeded && one.reverted_at.is_none() && is_shown(entry)
        });
        Ok(landed.map(|one| one.id).filter(|id| known.compaction != Some(*id)))
    }

    fn remember(&self, known: Known, snapshot: &Snapshot, kept: &Kept, conversation: &Conversation) {
        let (items, bytes) = (conversation.items.len(), conversation.body.len());
        // From a compaction on, the compacted context goes on.
        let has_room = kept.compacted.is_none() && kept.state == FillState::Green;
        let spare = if has_room { snapshot.tokens_before_red() } else { 0 };
        let turn = Turn { leaf: kept.leaf, end: kept.end, items, bytes, spare, usage: None };
        let opening = Some(known.opening_with(conversation));
        let compaction = kept.compaction.or(known.compaction);
        let model = conversation.model.clone().or(known.model);
        let words = conversation.speech.words();
        let known = Known { model, opening, words, compaction, turn: Some(turn), ..known };
        self.known.set(kept.key.clone(), known);
    }

    async fn relieved(&self, kept: Kept, conversation: &Conversation, error: String) -> Result<Option<Kept>> {
        let (sessions, tenant) = (&self.services.sessions, kept.key.0);
        let append = Append {
            format: conversation.route.format(),
            items: Vec::new(),
            parent_id: None,
            expected_leaf_id: None,
            usage: None,
            is_whole: false,
            provider_error: Some(error),
        };
        let appended = sessions.append(tenant, kept.session, append).await?;
        let Some(overflow) = appended.overflow.filter(|overflow| overflow.retry) else { return Ok(None) };
        if let Some(id) = overflow.compaction_id {
            sessions.wait_for(tenant, id, LONGEST).await?;
        }
        let Some(context) = self.context(tenant, kept.session, conversation, false).await? else { return Ok(None) };
        let compacted = conversation.with_context(&context.messages, context.system.as_deref());
        if context.entry_ids.last() != kept.end.as_ref() || kept.compacted.as_ref() == Some(&compacted) {
            return Ok(None);
        }
        let compaction = overflow.compaction_id.or(kept.compaction);
        self.known.compacted(&kept.key, context.leaf_id, compaction);
        let (leaf, tokens, state) = (context.leaf_id, context.tokens, context.state);
        Ok(Some(Kept { compacted: Some(compacted), leaf, tokens, state, compaction, ..kept }))
    }
}

fn is_live(status: Status) -> bool {
    matches!(status, Status::Queued | Status::Running)
}

/// Does work on a task of its own, so that neither a panic nor its length is the request's.
///
/// # Errors
/// It took longer, or broke off; its own.
pub async fn within<T: Send + 'static>(
    limit: Duration,
    work: impl Future<Output = Outcome<T>> + Send + 'static,
) -> Outcome<T> {
    let task = tokio::spawn(trace::carried_over(timeout(limit.max(LONGEST), work)));
    match timeout(limit, task).await {
        Ok(Ok(Ok(outcome))) => outcome,
        Ok(Ok(Err(_))) | Err(_) => Err(BypassReason::Timeout.into()),
        Ok(Err(error)) => {
            tracing::error!(%error, "the work on a conversation broke off");
            Err(BypassReason::Internal.into())
        }
    }
}
