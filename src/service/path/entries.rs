//! Reading what is stored: entries, the tree, labels.

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::chapter::Chapter;
use crate::domain::format;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::handle;
use crate::domain::model::message::Message;
use crate::domain::model::shape::apply_shape;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::offload::offload;
use crate::service::core::page::{PAGE_BYTES, Page, PageRequest};
use crate::service::core::queries::Queries;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::view;
use crate::store::entries::{self, Size, StoredEntry};
use crate::store::path::{self, Leaf, Segment};
use crate::store::transaction;

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

impl EntryView {
    /// How large an answer this makes, about.
    pub fn bytes(&self) -> usize {
        2 * self.item.get().len() + 512
    }
}

/// Which entries: the path of a leaf (the session's when `None`), or every branch by `seq`.
#[derive(Debug, Clone, Default)]
pub struct EntryQuery {
    pub leaf_id: Option<Uuid>,
    pub all: bool,
}

impl Queries {
    /// Entries of a path root to leaf, or of every branch by `seq`; a cursor is the place of the last one.
    pub async fn entries(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        query: EntryQuery,
        page: PageRequest,
    ) -> Result<Page<EntryView>> {
        let after = page.cursor_number()?;
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let shared = match query.all && head.is_fork {
            true => path::shared_history(&mut connection, tenant.0, session_id).await?,
            false => Vec::new(),
        };
        let shared_depths = shared.last().map_or(0, |segment| segment.to + 1);
        let (stored, more) = if query.all {
            all(&mut connection, tenant, session_id, &shared, after, page.limit).await?
        } else {
            let segments = path_of(&mut connection, tenant, &head, query.leaf_id).await?;
            let after = after.unwrap_or(-1);
            let wanted = [(after.saturating_add(1), after.saturating_add(1 + page.limit))];
            let (fitting, more) =
                fitting(&mut connection, tenant, path::clip(&segments, &wanted), page.limit, PAGE_BYTES).await?;
            (entries::whole(&mut connection, tenant.0, &fitting).await?, more)
        };
        drop(connection);
        let at = |stored: &StoredEntry| {
            let head = &stored.entry.head;
            let place = match query.all {
                true if stored.session_id != session_id => head.depth - shared_depths,
                true => head.seq,
                false => head.depth,
            };
            place.to_string()
        };
        let next_cursor = stored.last().filter(|_| more).map(at);
        let bytes = stored.iter().map(|stored| stored.entry.item.len()).sum();
        let items = offload(bytes, move || stored.into_iter().map(show).collect::<Result<Vec<_>>>()).await??;
        Ok(Page { items, next_cursor })
    }

    pub async fn entry(&self, tenant: Tenant, session_id: Uuid, entry_id: Uuid) -> Result<EntryView> {
        let mut connection = self.pool.acquire().await?;
        self.heads.read(&mut *connection, tenant, session_id).await?;
        let stored = load_entry(&mut connection, tenant, session_id, entry_id).await?;
        drop(connection);
        offload(stored.entry.item.len(), move || show(stored)).await?
    }
}

impl Service {
    /// Sets or clears the label of an entry. On shared history the label shows in every session that shares it.
    pub async fn set_label(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        entry_id: Uuid,
        label: Option<String>,
    ) -> Result<EntryView> {
        let mut transaction = transaction::begin(self.pool()).await?;
        self.inner.heads.read(&mut *transaction, tenant, session_id).await?;
        let place = view::place(&mut transaction, tenant, session_id, entry_id).await?;
        entries::set_label(&mut *transaction, tenant.0, place.session_id, place.seq, label.as_deref()).await?;
        let stored = load_entry(&mut transaction, tenant, session_id, entry_id).await?;
        let entry = offload(stored.entry.item.len(), move || show(stored)).await??;
        seal(&mut transaction, Outcome::Done, &entry).await?;
        transaction.commit().await?;
        Ok(entry)
    }
}

/// The path of an entry of the session; of its leaf when `None`.
pub(crate) async fn path_of(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    head: &Head,
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

/// The first of these segments' entries that a page may hold, and whether there are more: as many as fit in `bytes`,
/// at least one.
pub(crate) async fn fitting(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    segments: Vec<Segment>,
    limit: i64,
    bytes: i64,
) -> Result<(Vec<Segment>, bool)> {
    let sizes = entries::sizes(connection, tenant.0, &segments).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let fit = entries::fill(sizes.iter().map(|size| size.bytes), most, bytes);
    let Some(last) = sizes.get(..fit).and_then(<[Size]>::last) else { return Ok((Vec::new(), false)) };
    Ok((path::clip(&segments, &[(i64::MIN, last.place)]), fit < sizes.len()))
}

/// A page of every entry of a session, and whether there are more: first the history that it shares with others, then
/// its own. Places of the shared part are negative and end with -1; those of its own are their `seq`.
async fn all(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    shared: &[Segment],
    after: Option<i64>,
    limit: i64,
) -> Result<(Vec<StoredEntry>, bool)> {
    let shared_depths = shared.last().map_or(0, |segment| segment.to + 1);
    let from = after.map_or(0, |after| after.saturating_add(1 + shared_depths).max(0));
    let shared = path::clip(shared, &[(from, from.saturating_add(limit))]);
    let mut sizes = entries::sizes(&mut *connection, tenant.0, &shared).await?;
    let shared_count = sizes.len();
    let after = after.unwrap_or(-1).max(-1);
    let rest = limit + 1 - i64::try_from(shared_count).unwrap_or(limit);
    if rest > 0 {
        sizes.extend(entries::sizes_by_seq(&mut *connection, tenant.0, session_id, after, rest).await?);
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let fit = entries::fill(sizes.iter().map(|size| size.bytes), most, PAGE_BYTES);
    let mut page = Vec::new();
    if let Some(last) = sizes.get(..fit.min(shared_count)).and_then(<[Size]>::last) {
        let wanted = path::clip(&shared, &[(i64::MIN, last.place)]);
        page = entries::whole(&mut *connection, tenant.0, &wanted).await?;
    }
    let own = i64::try_from(fit.saturating_sub(shared_count)).unwrap_or(0);
    if own > 0 {
        page.extend(entries::by_seq(&mut *connection, tenant.0, session_id, after, own).await?);
    }
    Ok((page, fit < sizes.len()))
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

/// The normalised message of a stored entry, with the ids that its shape gave it. Of a sealed handle: what it seals.
pub(crate) fn message_of(stored: &StoredEntry) -> Result<Option<Message>> {
    if stored.record.is_some() && stored.entry.source_format == Format::Native {
        return Ok(None);
    }
    if let Some(record) = stored.handle() {
        return Ok(handle::told(record));
    }
    if stored.entry.head.kind == EntryType::Chapter {
        return Ok(Some(chapter_of(stored)?.shown()));
    }
    let message = format::read_message(stored.entry.source_format, &stored.entry.item)
        .map_err(|error| anyhow::anyhow!("a stored item no longer reads: {error}"))?;
    Ok(message.map(|mut message| {
        apply_shape(&mut message, &stored.entry.head.shape);
        message
    }))
}

/// Reads the chapter that an entry holds.
pub(crate) fn chapter_of(stored: &StoredEntry) -> Result<Chapter> {
    Ok(Chapter::read(&stored.entry.item).context("a stored chapter")?)
}

fn show(stored: StoredEntry) -> Result<EntryView> {
    let message = message_of(&stored)?.map(serde_json::to_value).transpose().context("a message as JSON")?;
    let entry = stored.entry;
    Ok(EntryView {
        id: entry.head.id,
        source_id: entry.source_id,
        parent_id: entry.parent_id,
        seq: entry.head.seq,
        kind: entry.head.kind.into_str(),
        role: entry.head.role.map(|role| role.into_str()),
        tokens: entry.head.tokens,
        label: stored.label,
        created_at: entry.created_at,
        source_format: entry.source_format,
        item: RawValue::from_string(entry.item).context("a stored item")?,
        message,
    })
}
