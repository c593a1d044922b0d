//! Reading what is stored: entries, the tree, labels; and moving the leaf.

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::clock;
use super::error::{Result, ServiceError};
use super::head::SessionState;
use super::idempotency::{Outcome, seal};
use super::state::{Page, PageRequest, Service, Tenant};
use super::view::{self, Read};
use crate::domain::accounting::Snapshot;
use crate::domain::chapter::Chapter;
use crate::domain::entry::EntryType;
use crate::domain::format::{self, Format};
use crate::domain::message::{Message, Role};
use crate::domain::shape::apply_shape;
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Leaf, Segment};
use crate::store::sessions;

/// One entry, whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EntryView {
    pub id: Uuid,
    pub source_id: Option<String>,
    pub parent_id: Option<Uuid>,
    pub seq: i64,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u32,
    pub label: Option<String>,
    pub created_at: DateTime<Utc>,
    pub source_format: Format,
    /// The item as it came.
    #[schema(value_type = Object)]
    pub item: Box<RawValue>,
    /// The item as the service understands it (native format); null where it says nothing.
    #[schema(value_type = Option<Object>)]
    pub message: Option<Value>,
}

/// Which entries: the path of a leaf (the session's when `None`), or every branch by `seq`.
#[derive(Debug, Clone, Default)]
pub struct EntryQuery {
    pub leaf_id: Option<Uuid>,
    pub all: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tree {
    pub leaf_id: Option<Uuid>,
    pub nodes: Vec<TreeNode>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TreeNode {
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u32,
    pub label: Option<String>,
}

/// Where to move the leaf.
#[derive(Debug, Clone)]
pub struct Navigate {
    /// `None`: before the first entry.
    pub target_id: Option<Uuid>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Navigated {
    pub leaf_id: Option<Uuid>,
    /// The text of the user message that was navigated onto, to be edited and sent again.
    pub editor_text: Option<String>,
    pub summary_entry_id: Option<Uuid>,
    pub snapshot: Snapshot,
}

impl Service {
    /// Entries of a path root to leaf, or of every branch by `seq`; a cursor is the depth or `seq` of the last one.
    pub async fn entries(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        query: EntryQuery,
        page: PageRequest,
    ) -> Result<Page<EntryView>> {
        let after = page.cursor_number()?.unwrap_or(-1);
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let stored = if query.all {
            let own = entries::by_seq(&mut *connection, tenant.0, session_id, after, page.limit + 1).await?;
            if head.is_fork {
                self.all_of_fork(&mut connection, tenant, session_id, after, page.limit + 1).await?
            } else {
                own
            }
        } else {
            let segments = self.path_of(&mut connection, tenant, &head, query.leaf_id).await?;
            let wanted = [(after.saturating_add(1), after.saturating_add(1 + page.limit))];
            entries::whole(&mut *connection, tenant.0, &path::clip(&segments, &wanted)).await?
        };
        let at = |stored: &StoredEntry| {
            let head = &stored.entry.head;
            if query.all { head.seq } else { head.depth }.to_string()
        };
        let page = Page::cut(stored, page.limit, at);
        let items = page.items.iter().map(show).collect::<Result<Vec<_>>>()?;
        Ok(Page { items, next_cursor: page.next_cursor })
    }

    /// A fork's own entries and the history that it shares, by `seq`, which grows along every path.
    async fn all_of_fork(
        &self,
        connection: &mut sqlx::PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        after: i64,
        limit: i64,
    ) -> Result<Vec<StoredEntry>> {
        let shared = path::shared_history(connection, tenant.0, session_id).await?;
        let mut all = entries::whole(&mut *connection, tenant.0, &shared).await?;
        all.extend(entries::by_seq(&mut *connection, tenant.0, session_id, -1, i64::MAX).await?);
        all.retain(|stored| stored.entry.head.seq > after);
        all.sort_by_key(|stored| stored.entry.head.seq);
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(all)
    }

    pub async fn entry(&self, tenant: Tenant, session_id: Uuid, entry_id: Uuid) -> Result<EntryView> {
        let mut connection = self.pool().acquire().await?;
        self.head_on(&mut connection, tenant, session_id).await?;
        show(&load_entry(&mut connection, tenant, session_id, entry_id).await?)
    }

    /// Every entry of the session, without the items.
    pub async fn tree(&self, tenant: Tenant, session_id: Uuid) -> Result<Tree> {
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let shared = path::shared_history(&mut connection, tenant.0, session_id).await?;
        let mut stored = entries::heads(&mut *connection, tenant.0, &shared).await?;
        stored.extend(entries::heads_by_seq(&mut *connection, tenant.0, session_id).await?);
        let node = |stored: StoredEntry| TreeNode {
            id: stored.entry.head.id,
            parent_id: stored.entry.parent_id,
            kind: stored.entry.head.kind.as_str(),
            role: stored.entry.head.role.map(Role::as_str),
            tokens: stored.entry.head.tokens,
            label: stored.label,
        };
        Ok(Tree { leaf_id: head.row.leaf_id, nodes: stored.into_iter().map(node).collect() })
    }

    /// Sets or clears the label of an entry. On shared history the label shows in every session that shares it.
    pub async fn set_label(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        entry_id: Uuid,
        label: Option<String>,
    ) -> Result<EntryView> {
        let mut transaction = self.pool().begin().await?;
        self.head_on(&mut transaction, tenant, session_id).await?;
        let place = view::place(&mut transaction, tenant, session_id, entry_id).await?;
        entries::set_label(&mut *transaction, tenant.0, place.session_id, place.seq, label.as_deref()).await?;
        let entry = show(&load_entry(&mut transaction, tenant, session_id, entry_id).await?)?;
        seal(&mut transaction, Outcome::Done, &entry).await?;
        transaction.commit().await?;
        Ok(entry)
    }

    /// Moves the leaf. Onto a user message: the leaf is its parent and its text comes back.
    pub async fn navigate(&self, tenant: Tenant, session_id: Uuid, navigate: Navigate) -> Result<Navigated> {
        self.before_navigate(tenant, session_id, &navigate).await?;
        let mut transaction = self.pool().begin().await?;
        let mut row =
            sessions::lock(&mut *transaction, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let head = self.head_of(&row)?;
        if navigate.target_id == row.head.leaf_id {
            let snapshot = head.snapshot();
            return Ok(Navigated { leaf_id: row.head.leaf_id, editor_text: None, summary_entry_id: None, snapshot });
        }
        let old_leaf_id = row.head.leaf_id;
        let mut editor_text = None;
        let mut target = None;
        if let Some(id) = navigate.target_id {
            let entry = load_entry(&mut transaction, tenant, session_id, id).await?;
            if goes_back_to_editor(&entry) {
                editor_text = message_of(&entry)?.map(|message| message.plain_text());
                target = match entry.entry.parent_id {
                    Some(parent) => Some(load_entry(&mut transaction, tenant, session_id, parent).await?),
                    None => None,
                };
            } else {
                target = Some(entry);
            }
        }
        let leaf = self.land(&mut transaction, tenant, &mut row, target.as_ref()).await?;
        let state = state_at(&mut transaction, tenant, leaf, head.state).await?;
        let mut head = super::head::Head { row: row.head.clone(), state, ..head };
        self.check_candidate(&mut transaction, tenant, &mut head).await?;
        let snapshot = head.state.write_to(&mut row.head, &head.settings)?;
        sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
        if head.row.fill_state != row.head.fill_state {
            self.record_snapshot(&mut transaction, tenant, session_id, &snapshot).await?;
        }
        let navigated = Navigated { leaf_id: row.head.leaf_id, editor_text, summary_entry_id: None, snapshot };
        self.after_navigate(&mut transaction, tenant, session_id, old_leaf_id, &navigated).await?;
        seal(&mut transaction, Outcome::Done, &navigated).await?;
        transaction.commit().await?;
        Ok(navigated)
    }

    /// Puts the leaf on a target. An entry of shared history is reached through a branch of this session's own.
    pub(crate) async fn land(
        &self,
        connection: &mut sqlx::PgConnection,
        tenant: Tenant,
        row: &mut sessions::SessionRow,
        target: Option<&StoredEntry>,
    ) -> Result<Leaf> {
        let (place, id) = match target {
            Some(stored) => {
                let depth = stored.entry.head.depth;
                (Leaf { session_id: stored.session_id, branch: stored.branch, depth }, Some(stored.entry.head.id))
            }
            None => (Leaf { session_id: row.id, branch: 0, depth: -1 }, None),
        };
        let foreign = place.session_id != row.id || (place.depth < 0 && row.parent_session.is_some());
        let branch = if foreign {
            let branch = row.head.next_branch;
            row.head.next_branch += 1;
            path::insert_branch(connection, tenant.0, row.id, branch, place).await?;
            branch
        } else {
            place.branch
        };
        (row.head.leaf_branch, row.head.leaf_depth, row.head.leaf_id) = (branch, place.depth, id);
        Ok(Leaf { session_id: row.id, branch, depth: place.depth })
    }

    pub(crate) async fn head_on(
        &self,
        connection: &mut sqlx::PgConnection,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<super::head::Head> {
        let found =
            sessions::head(&mut *connection, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        Ok(super::head::Head {
            session_id,
            state: SessionState::read(&found.head.state)?,
            settings: self.inner.resolve(&found.settings, found.model.as_deref())?,
            is_fork: found.parent_session.is_some(),
            model: found.model,
            row: found.head,
        })
    }

    pub(crate) async fn path_of(
        &self,
        connection: &mut sqlx::PgConnection,
        tenant: Tenant,
        head: &super::head::Head,
        leaf_id: Option<Uuid>,
    ) -> Result<Vec<Segment>> {
        let (leaf, plain) = match leaf_id {
            None => (head.leaf(), head.is_plain()),
            Some(id) => {
                let place = view::place(connection, tenant, head.session_id, id).await?;
                (Leaf { session_id: place.session_id, branch: place.branch, depth: place.depth }, false)
            }
        };
        Ok(path::segments(connection, tenant.0, leaf, plain).await?)
    }
}

/// The state of a leaf that was just moved.
pub(crate) async fn state_at(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    leaf: Leaf,
    before: SessionState,
) -> Result<SessionState> {
    let loaded = view::load_path(connection, tenant, leaf, false, Read::Heads).await?;
    let fixed = (before.account.system, before.account.tools);
    let tip = entries::tip_depth(&mut *connection, tenant.0, leaf.session_id, leaf.branch).await?;
    let leaf_is_tip = tip == leaf.depth || (tip < 0 && leaf.branch != 0);
    Ok(view::state_of_path(&loaded, fixed, SessionState { leaf_is_tip, ..before }))
}

pub(crate) async fn load_entry(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    id: Uuid,
) -> Result<StoredEntry> {
    let place = view::place(connection, tenant, session_id, id).await?;
    let segment = Segment { session_id: place.session_id, branch: place.branch, from: place.depth, to: place.depth };
    let found = entries::whole(&mut *connection, tenant.0, &[segment]).await?;
    found.into_iter().next().ok_or(ServiceError::NotFound("entry"))
}

fn goes_back_to_editor(stored: &StoredEntry) -> bool {
    let head = &stored.entry.head;
    let spoken = head.kind == EntryType::Message && head.role == Some(Role::User) && head.shape.results.is_empty();
    spoken || head.kind == EntryType::CustomMessage
}

/// The normalised message of a stored entry, with the ids that its shape gave it.
pub(crate) fn message_of(stored: &StoredEntry) -> Result<Option<Message>> {
    if stored.record.is_some() && stored.entry.source_format == Format::Native {
        return Ok(None);
    }
    if stored.entry.head.kind == EntryType::Chapter {
        return Ok(Some(chapter_of(stored)?.shown()));
    }
    let item = format::read(stored.entry.source_format, &stored.entry.item)
        .map_err(|error| anyhow::anyhow!("a stored item no longer reads: {error}"))?;
    Ok(item.message.map(|mut message| {
        apply_shape(&mut message, &stored.entry.head.shape);
        message
    }))
}

/// What a chapter's entry holds.
pub(crate) fn chapter_of(stored: &StoredEntry) -> Result<Chapter> {
    Ok(Chapter::read(&stored.entry.item).context("a stored chapter")?)
}

fn show(stored: &StoredEntry) -> Result<EntryView> {
    let entry = &stored.entry;
    let message = message_of(stored)?.map(serde_json::to_value).transpose().context("a message as JSON")?;
    Ok(EntryView {
        id: entry.head.id,
        source_id: entry.source_id.clone(),
        parent_id: entry.parent_id,
        seq: entry.head.seq,
        kind: entry.head.kind.as_str(),
        role: entry.head.role.map(Role::as_str),
        tokens: entry.head.tokens,
        label: stored.label.clone(),
        created_at: entry.created_at,
        source_format: entry.source_format,
        item: RawValue::from_string(entry.item.clone()).context("a stored item")?,
        message,
    })
}
