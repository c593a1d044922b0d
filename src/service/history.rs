//! Reading what is stored: entries, the tree, labels.

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::{Result, ServiceError};
use super::head::SessionState;
use super::idempotency::{Outcome, seal};
use super::state::{Page, PageRequest, Service, Tenant};
use super::view::{self, Read};
use crate::domain::chapter::Chapter;
use crate::domain::entry::EntryType;
use crate::domain::format::{self, Format};
use crate::domain::message::{Message, Role};
use crate::domain::shape::apply_shape;
use crate::store::entries::{self, NodeRow, StoredEntry};
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
    pub kind: String,
    pub role: Option<String>,
    pub tokens: u32,
    pub label: Option<String>,
}

impl Service {
    /// Entries of a path root to leaf, or of every branch by `seq`; a cursor is the place of the last one.
    pub async fn entries(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        query: EntryQuery,
        page: PageRequest,
    ) -> Result<Page<EntryView>> {
        let after = page.cursor_number()?;
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let shared = match query.all && head.is_fork {
            true => path::shared_history(&mut connection, tenant.0, session_id).await?,
            false => Vec::new(),
        };
        let shared_depths = shared.last().map_or(0, |segment| segment.to + 1);
        let stored = if query.all {
            all(&mut connection, tenant, session_id, &shared, after, page.limit + 1).await?
        } else {
            let segments = self.path_of(&mut connection, tenant, &head, query.leaf_id).await?;
            let after = after.unwrap_or(-1);
            let wanted = [(after.saturating_add(1), after.saturating_add(1 + page.limit))];
            entries::whole(&mut *connection, tenant.0, &path::clip(&segments, &wanted)).await?
        };
        let at = |stored: &StoredEntry| {
            let head = &stored.entry.head;
            let place = match query.all {
                true if stored.session_id != session_id => head.depth - shared_depths,
                true => head.seq,
                false => head.depth,
            };
            place.to_string()
        };
        let page = Page::cut(stored, page.limit, at);
        let items = page.items.iter().map(show).collect::<Result<Vec<_>>>()?;
        Ok(Page { items, next_cursor: page.next_cursor })
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
        let mut rows = entries::nodes(&mut *connection, tenant.0, &shared).await?;
        rows.extend(entries::nodes_by_seq(&mut *connection, tenant.0, session_id).await?);
        Ok(Tree { leaf_id: head.row.leaf_id, nodes: rows.into_iter().map(TreeNode::from).collect() })
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

/// Every entry of a session: first the history that it shares with others, then its own. Places of the shared part
/// are negative and end with -1; those of its own are their `seq`.
async fn all(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    shared: &[Segment],
    after: Option<i64>,
    limit: i64,
) -> Result<Vec<StoredEntry>> {
    let shared_depths = shared.last().map_or(0, |segment| segment.to + 1);
    let from = after.map_or(0, |after| after.saturating_add(1 + shared_depths).max(0));
    let wanted = [(from, from.saturating_add(limit - 1))];
    let mut page = entries::whole(&mut *connection, tenant.0, &path::clip(shared, &wanted)).await?;
    let rest = limit - i64::try_from(page.len()).unwrap_or(limit);
    if rest > 0 {
        let after = after.unwrap_or(-1).max(-1);
        page.extend(entries::by_seq(&mut *connection, tenant.0, session_id, after, rest).await?);
    }
    Ok(page)
}

impl From<NodeRow> for TreeNode {
    fn from(row: NodeRow) -> TreeNode {
        TreeNode {
            id: row.id,
            parent_id: row.parent_id,
            kind: row.kind,
            role: row.role,
            tokens: u32::try_from(row.tokens).unwrap_or(0),
            label: row.label,
        }
    }
}

/// One whole entry of the session's tree.
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
