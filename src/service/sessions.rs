//! Sessions: create, read, change, list, erase, fork.

pub mod erasure;
pub mod find;
pub mod lines;
pub mod list;
pub mod outline;
pub mod recount;
pub mod tree;

use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::compaction::guard::{ResetReason, changes_outcome};
use crate::domain::format;
use crate::domain::model::anti_thrash::AntiThrash;
use crate::domain::model::json;
use crate::domain::settings::{Estimator, Settings, merge_patch};
use crate::domain::tokens;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::committing::committing;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::error::Result;
use crate::service::core::head::{Head, SessionState};
use crate::service::core::heads::Heads;
use crate::service::core::idempotency::{Outcome, about, seal};
use crate::service::core::offload::offload;
use crate::service::core::queries::Queries;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::core::{clock, references};
use crate::service::events;
use crate::service::path::view::{self, ReadMode};
use crate::store::large::{in_place, step_by_step};
use crate::store::path::Leaf;
use crate::store::sessions::{self, HeadRow, SessionRow};
use crate::store::transaction;

/// A session as the API shows it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Session {
    pub id: Uuid,
    pub external_id: Option<String>,
    pub title: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: Box<RawValue>,
    pub model: Option<String>,
    #[schema(value_type = Option<Value>)]
    pub system: Option<Box<RawValue>>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Box<RawValue>>,
    pub settings: Settings,
    /// Those that the session has set itself.
    #[schema(value_type = Object)]
    pub settings_own: Box<RawValue>,
    pub leaf_id: Option<Uuid>,
    pub entry_count: i64,
    pub snapshot: Snapshot,
    pub parent_session_id: Option<Uuid>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Fields of a new session. `system` is a string or a list of blocks, `tools` a list of objects; both are kept as
/// given.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub metadata: Option<Box<RawValue>>,
    pub model: Option<String>,
    pub system: Option<Box<RawValue>>,
    pub tools: Option<Box<RawValue>>,
    pub settings: Map<String, Value>,
}

/// A merge patch: `None` leaves a field, `Some(None)` clears it. `metadata` and `settings` merge key by key, null removes.
#[derive(Debug, Clone, Default)]
pub struct SessionPatch {
    pub title: Option<Option<String>>,
    pub metadata: Option<Map<String, Value>>,
    pub model: Option<Option<String>>,
    pub system: Option<Option<Box<RawValue>>>,
    pub tools: Option<Option<Box<RawValue>>>,
    pub settings: Option<Map<String, Value>>,
}

impl Service {
    pub async fn create_session(&self, tenant: Tenant, new: NewSession) -> Result<Session> {
        let row = self.new_row(new).await?;
        let mut transaction = transaction::begin(self.pool()).await?;
        sessions::insert(&mut *transaction, tenant.0, &row).await?;
        about(row.id);
        let session = show_row(&self.inner.heads, &row)?;
        seal(&mut transaction, Outcome::Created, &session).await?;
        self.inner.heads.commit_new(transaction, tenant, &row).await?;
        Ok(session)
    }

    /// The id of the session that has this id or external id, the oldest of several; where there is none `new` is made, by
    /// one of those who ask at once.
    pub async fn session_named(&self, tenant: Tenant, name: &str, new: NewSession) -> Result<Uuid> {
        if let Ok(id) = Uuid::parse_str(name)
            && self.inner.heads.has(self.pool(), tenant, id).await?
        {
            return Ok(id);
        }
        if let Some(id) = sessions::oldest_named(self.pool(), tenant.0, name).await? {
            return Ok(id);
        }
        let row = self.new_row(NewSession { external_id: Some(name.to_owned()), ..new }).await?;
        let mut transaction = transaction::begin(self.pool()).await?;
        sessions::claim_name(&mut *transaction, tenant.0, name).await?;
        if let Some(id) = sessions::oldest_named(&mut *transaction, tenant.0, name).await? {
            return Ok(id);
        }
        sessions::insert(&mut *transaction, tenant.0, &row).await?;
        self.inner.heads.commit_new(transaction, tenant, &row).await?;
        Ok(row.id)
    }

    /// Those of the external ids that a session has.
    pub async fn names_known(&self, tenant: Tenant, names: &[String]) -> Result<Vec<String>> {
        Ok(sessions::names_known(self.pool(), tenant.0, names).await?)
    }

    async fn new_row(&self, new: NewSession) -> Result<SessionRow> {
        let settings = self.inner.settings.resolve_map(&new.settings, new.model.as_deref())?;
        self.inner.settings.check_upstream(&new.settings)?;
        references::check_nothing_pinned(&new.settings)?;
        let now = clock::now();
        let mut head = Head::empty(clock::new_id(), Arc::new(settings), new.model);
        let text = |raw: Option<Box<RawValue>>| raw.map(|raw| String::from(Box::<str>::from(raw)));
        let mut row = SessionRow {
            id: head.session_id,
            external_id: new.external_id,
            title: new.title,
            metadata: text(new.metadata).unwrap_or_else(|| "{}".to_owned()),
            model: head.model.clone(),
            system: text(new.system),
            tools: text(new.tools),
            settings: serde_json::to_string(&merge_patch(&Map::new(), &new.settings)).context("settings as JSON")?,
            parent_session: None,
            created_at: now,
            updated_at: now,
            head: HeadRow::empty(),
        };
        count_fixed(&mut head.state, &row, head.settings.estimator).await?;
        head.state.write_to(&mut row.head, &head.settings)?;
        Ok(row)
    }

    /// Changes a session. Settings act on the next check.
    pub async fn patch_session(&self, tenant: Tenant, session_id: Uuid, patch: SessionPatch) -> Result<Session> {
        committing(self.patch(tenant, session_id, patch)).await
    }

    async fn patch(&self, tenant: Tenant, session_id: Uuid, patch: SessionPatch) -> Result<Session> {
        let (mut transaction, mut row, head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        let Head { settings: old, mut state, model: old_model, .. } = head;
        let changes_fixed = patch.system.is_some() || patch.tools.is_some();
        let given = patch.settings.clone().unwrap_or_default();
        apply(&mut row, patch)?;
        let merged: Map<String, Value> = serde_json::from_str(&row.settings).context("merged settings")?;
        // Whoever sets the window anew knows better than a refusal of before.
        if given.contains_key("context_window") {
            state.refused_window = None;
        }
        let settings = self.inner.settings.resolve_map(&merged, state.talked(row.model.as_deref()))?;
        self.inner.settings.check_named(&mut transaction, tenant, session_id, &old, &given).await?;
        if is_other_model(old_model.as_deref(), row.model.as_deref()) {
            state.model_since = row.head.next_seq;
        }
        state.guard.on_settings_change(&old, &settings);
        if *old != settings {
            (state.auto_retry_at, state.rest) = (None, None);
            state.nothing_at = None;
            state.unrelieved = None;
        }
        if changes_fixed || old.estimator != settings.estimator {
            count_fixed(&mut state, &row, settings.estimator).await?;
        }
        if old.estimator != settings.estimator && row.head.entry_count > 0 {
            state.recounting = true;
            self.enqueue_recount(&mut transaction, tenant, session_id).await?;
        }
        if changes_outcome(&old, &settings) {
            self.drop_candidate(&mut transaction, tenant, &mut state, &settings).await?;
        }
        let before = row.head.fill_state.clone();
        let snapshot = state.write_to(&mut row.head, &settings)?;
        row.updated_at = clock::now();
        sessions::update(&mut *transaction, tenant.0, &row, row.updated_at).await?;
        if before != row.head.fill_state {
            events::record_snapshot(&mut transaction, tenant, session_id, &snapshot).await?;
        }
        let proof = Proof::of(None, row.head.version + 1, row.updated_at);
        let session = show_row(&self.inner.heads, &row)?;
        seal(&mut transaction, Outcome::Done, &session).await?;
        self.inner.heads.commit(transaction, tenant, session_id, Some(proof)).await?;
        Ok(session)
    }

    /// A new session that shares the history up to an entry (the leaf when `None`); nothing is copied.
    pub async fn fork_session(&self, tenant: Tenant, session_id: Uuid, entry_id: Option<Uuid>) -> Result<Session> {
        // The lock keeps the history from being erased between the look and the fork.
        let (mut transaction, source, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        let here = Leaf { session_id, branch: source.head.leaf_branch, depth: source.head.leaf_depth };
        let (leaf, leaf_id) = match entry_id.filter(|id| source.head.leaf_id != Some(*id)) {
            None => (here, source.head.leaf_id),
            Some(id) => {
                let place = view::place(&mut transaction, tenant, session_id, id).await?;
                (Leaf { session_id: place.session_id, branch: place.branch, depth: place.depth }, Some(id))
            }
        };
        // What is known of the leaf's path need not be read; what else is known belongs to the source.
        let is_known = leaf_id == source.head.leaf_id && !head.state.recounting;
        let before = std::mem::take(&mut head.state);
        let fixed = (before.account.system, before.account.tools);
        let fresh = SessionState {
            leaf_is_tip: true,
            recounting: false,
            awaits_turn_end: false,
            ahead: None,
            auto_retry_at: None,
            unrelieved: None,
            unrelieved_at: None,
            nothing_at: None,
            red_since: None,
            overflow: None,
            guard: AntiThrash::new(&head.settings),
            ..before
        };
        let (state, next_seq) = match is_known {
            true => (fresh, source.head.next_seq),
            false => {
                let loaded = view::load_path(&mut transaction, tenant, leaf, false, ReadMode::Heads).await?;
                let next_seq = loaded.heads.iter().map(|head| head.seq + 1).max().unwrap_or(0);
                (view::state_of_path(&loaded, fixed, fresh), next_seq)
            }
        };
        head.state = state;
        head.state.model_since = head.state.model_since.min(next_seq);
        let now = clock::now();
        let mut fork = SessionRow {
            id: clock::new_id(),
            external_id: None,
            parent_session: Some(leaf.session_id),
            created_at: now,
            updated_at: now,
            head: HeadRow {
                version: 0,
                next_seq,
                next_branch: 1,
                entry_count: leaf.depth + 1,
                leaf_branch: 0,
                leaf_depth: leaf.depth,
                leaf_id,
                ..source.head
            },
            ..source
        };
        head.state.write_to(&mut fork.head, &head.settings)?;
        let load = fork.head.state.len();
        step_by_step(load, sessions::insert(&mut *transaction, tenant.0, &fork)).await?;
        crate::store::path::insert_fork(&mut transaction, tenant.0, fork.id, leaf).await?;
        about(fork.id);
        let session = show(&fork, &head)?;
        // Of so many open calls, each is given back by itself.
        in_place(load, move || drop(head));
        seal(&mut transaction, Outcome::Created, &session).await?;
        self.inner.heads.commit_new(transaction, tenant, &fork).await?;
        Ok(session)
    }

    pub async fn reset_anti_thrash(&self, tenant: Tenant, session_id: Uuid) -> Result<Snapshot> {
        let (mut transaction, mut row, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        head.state.guard.reset(ResetReason::Manual);
        (head.state.auto_retry_at, head.state.rest) = (None, None);
        let snapshot = head.state.write_to(&mut row.head, &head.settings)?;
        sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
        seal(&mut transaction, Outcome::Done, &snapshot).await?;
        transaction.commit().await?;
        Ok(snapshot)
    }
}

impl Queries {
    pub async fn session(&self, tenant: Tenant, session_id: Uuid) -> Result<Session> {
        let (row, head) = self.heads.read_row(&self.pool, tenant, session_id).await?;
        show(&row, &head)
    }

    pub async fn snapshot(&self, tenant: Tenant, session_id: Uuid) -> Result<Snapshot> {
        Ok(self.heads.read(&self.pool, tenant, session_id).await?.snapshot())
    }
}

pub(crate) fn show_row(heads: &Heads, row: &SessionRow) -> Result<Session> {
    show(row, &heads.of(row)?)
}

fn show(row: &SessionRow, head: &Head) -> Result<Session> {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).context("stored JSON");
    Ok(Session {
        id: row.id,
        external_id: row.external_id.clone(),
        title: row.title.clone(),
        metadata: raw(&row.metadata)?,
        model: row.model.clone(),
        system: row.system.as_deref().map(raw).transpose()?,
        tools: row.tools.as_deref().map(raw).transpose()?,
        settings: (*head.settings).clone(),
        settings_own: raw(&row.settings)?,
        leaf_id: row.head.leaf_id,
        entry_count: row.head.entry_count,
        snapshot: head.snapshot(),
        parent_session_id: row.parent_session,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

/// Returns true if two names are of two models. A name may lack its provider before it and its date behind it.
fn is_other_model(old: Option<&str>, new: Option<&str>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let bare = |name: &str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let (old, new) = (bare(old), bare(new));
    let dated = |long: &str, short: &str| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '-') || rest == "-latest")
    };
    !dated(&old, &new) && !dated(&new, &old)
}

fn apply(row: &mut SessionRow, patch: SessionPatch) -> Result<()> {
    let text = |raw: Option<Box<RawValue>>| raw.map(|raw| String::from(Box::<str>::from(raw)));
    if let Some(title) = patch.title {
        row.title = title;
    }
    if let Some(model) = patch.model {
        row.model = model;
    }
    if let Some(system) = patch.system {
        row.system = text(system);
    }
    if let Some(tools) = patch.tools {
        row.tools = text(tools);
    }
    if let Some(metadata) = patch.metadata {
        let old: Map<String, Value> = json::parse_object(&row.metadata);
        row.metadata = serde_json::to_string(&merge_patch(&old, &metadata)).context("metadata as JSON")?;
    }
    if let Some(settings) = patch.settings {
        let old: Map<String, Value> = json::parse_object(&row.settings);
        row.settings = serde_json::to_string(&merge_patch(&old, &settings)).context("settings as JSON")?;
    }
    Ok(())
}

/// Counts what every request of the session carries: the system prompt and the tools.
pub(crate) async fn count_fixed(state: &mut SessionState, row: &SessionRow, estimator: Estimator) -> Result<()> {
    let (system, tools) = (row.system.clone(), row.tools.clone());
    let count = move || (count_system(estimator, system.as_deref()), count_tools(estimator, tools.as_deref()));
    let bytes = row.system.as_ref().map_or(0, String::len) + row.tools.as_ref().map_or(0, String::len);
    (state.account.system, state.account.tools) = offload(bytes, count).await?;
    Ok(())
}

pub(crate) fn count_system(estimator: Estimator, system: Option<&str>) -> u32 {
    let Some(value) = system.and_then(|text| json::parse_lenient(text).ok()) else { return 0 };
    let texts = format::system::texts(&value);
    texts.into_iter().map(|text| tokens::count_text(estimator, text)).fold(0, u32::saturating_add)
}

pub(crate) fn count_tools(estimator: Estimator, tools: Option<&str>) -> u32 {
    match tools.and_then(|text| json::parse_lenient(text).ok()) {
        None | Some(Value::Null) => 0,
        Some(tools) => tokens::count_tools(estimator, &tools),
    }
}
