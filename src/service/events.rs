//! Events: what happened to sessions, as streams that a client takes up again where it left off.
//!
//! Recorded events come from the table, in the order of their positions, whichever process wrote them. Beside them a
//! session's stream shows its newest snapshot: not recorded, coalesced, and without a part in the order.

mod follow;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::domain::model::json;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::feed::{Feed, Live};
use crate::service::core::head::Head;
use crate::service::core::heads::Heads;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::events::{self as store, EventRow, NewEvent};

pub use stream::EventStream;

const SNAPSHOT: &str = "snapshot";
const RESET: &str = "reset";
const READY: &str = "ready";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// Where a client that has seen this event goes on; `None`: where it was before.
    pub id: Option<i64>,
    pub kind: String,
    /// A JSON object on one line.
    pub data: String,
}

/// The events of this process's streams and of all tenants. Cheap to clone.
#[derive(Clone)]
pub struct Events {
    pool: PgPool,
    heads: Heads,
    feed: Arc<Feed>,
    /// Most streams that a tenant may have open.
    max_streams: usize,
}

impl Events {
    pub fn of(service: &Service) -> Events {
        let inner = &service.inner;
        Events {
            pool: inner.pool.clone(),
            heads: inner.heads.clone(),
            feed: Arc::clone(&inner.feed),
            max_streams: inner.options.max_streams,
        }
    }

    /// Forgets events older than `age`; returns how many.
    pub async fn purge(&self, age: Duration) -> Result<u64> {
        Ok(store::purge(&self.pool, clock::now() - age).await?)
    }
}

/// Tells that the agent is asked to close chapters, in the transaction that makes it so.
pub async fn record_chapter_request(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    snapshot: &Snapshot,
) -> Result<()> {
    let data = serde_json::to_string(&serde_json::json!({ "snapshot": snapshot })).context("an event as JSON")?;
    let event = NewEvent { session_id, kind: "chapter.requested", data: &data };
    Ok(store::record(connection, tenant.0, &event).await?)
}

/// Tells how full a session's window is now, in the transaction that makes it so.
pub(crate) async fn record_snapshot(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    snapshot: &Snapshot,
) -> Result<()> {
    let data = serde_json::to_string(snapshot).context("a snapshot as JSON")?;
    let event = NewEvent { session_id, kind: SNAPSHOT, data: &data };
    Ok(store::record(connection, tenant.0, &event).await?)
}

/// A recorded event as its stream shows it.
fn recorded(row: EventRow) -> StreamEvent {
    let mut data = lead(row.session_id, row.created_at);
    if row.kind == SNAPSHOT {
        data.insert("phase".to_owned(), row.phase.into());
    }
    if row.kind == SNAPSHOT || row.compaction_id.is_some() {
        data.insert("compaction_id".to_owned(), row.compaction_id.map(|id| id.to_string()).into());
    }
    data.extend(json::parse_object(&row.data));
    StreamEvent { id: Some(row.position), kind: row.kind, data: Value::Object(data).to_string() }
}

/// A session's snapshot as it is now, which no table holds.
fn live(head: &Head) -> Result<Live> {
    let mut data = lead(head.session_id, clock::now());
    data.insert("phase".to_owned(), Value::Null);
    data.insert("compaction_id".to_owned(), Value::Null);
    if let Value::Object(body) = serde_json::to_value(head.snapshot()).context("a snapshot as JSON")? {
        data.extend(body);
    }
    Ok(Live { version: head.row.version, data: Value::Object(data).to_string() })
}

/// The fields that every event begins with.
fn lead(session_id: Uuid, at: DateTime<Utc>) -> Map<String, Value> {
    let at = at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    Map::from_iter([
        ("session_id".to_owned(), Value::String(session_id.to_string())),
        ("created_at".to_owned(), Value::String(at)),
    ])
}
