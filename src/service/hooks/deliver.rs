//! Telling hooks what has happened: queued with the event itself, sent by the worker until taken, kept as a log.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::ask::{About, EnabledHooks, attempted, count, envelope, new_delivery, timeout};
use crate::domain::hook::{Event, HookOutcome, answer};
use crate::hooks::HookCall;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::hooks::Hooks;
use crate::service::core::idempotency::{Outcome, about, seal};
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::store::hooks as store;
use crate::store::hooks::deliveries::{self, DeliveryRow, Due};
use crate::store::transaction;
use crate::trace::{Beginning, KeyValue, Span, SpanKind};

/// Longer than any attempt may take.
const LEASE: Duration = Duration::from_secs(60);

/// One message to a hook and how it went.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Delivery {
    /// The message's `webhook-id`.
    pub id: Uuid,
    pub event: String,
    pub session_id: Uuid,
    pub compaction_id: Option<Uuid>,
    /// `pending`, `running`, `delivered` or `failed`.
    pub status: String,
    pub attempts: i32,
    /// Where it is pending.
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub response_status: Option<i32>,
    /// The first thousand characters of the answer.
    pub response: Option<String>,
    /// What was wrong with the last attempt.
    pub error: Option<String>,
    pub duration_ms: Option<i64>,
    /// What became of the answer to a question: `passed`, `replaced` (it was used), `unused`, `cancelled` or `failed`.
    pub outcome: Option<String>,
    /// Why it was not used, all of it or a part.
    pub outcome_detail: Option<String>,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// A message that this process is to send now.
#[derive(Debug)]
pub struct DueDelivery(Due);

impl DueDelivery {
    /// How many attempts failed before, plus one.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.0.attempts).unwrap_or(1)
    }
}

/// Has the agent's hooks told that chapters are wanted, when the transaction commits. `task` is what the agent would be
/// handed.
pub async fn announce_chapter_request(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    task: &serde_json::Value,
) -> Result<()> {
    let about = About { tenant, session_id, compaction_id: None };
    announce(connection, about, Event::ChapterRequested, &serde_json::json!({ "task": task })).await
}

/// Queues a message to every hook of the event; it is sent when the transaction has committed.
pub(crate) async fn announce(
    connection: &mut PgConnection,
    about: About,
    event: Event,
    data: &impl Serialize,
) -> Result<()> {
    for hook in EnabledHooks::load(&mut *connection, about.tenant).await?.of(event) {
        let id = clock::new_id();
        let body = envelope(about, event, id, data)?;
        let new = new_delivery(about, hook.id, event, id, Some(&body));
        deliveries::enqueue(&mut *connection, about.tenant.0, &new).await?;
    }
    Ok(())
}

impl Hooks {
    /// Claims up to `limit` messages that are due.
    pub async fn due(&self, limit: i64) -> sqlx::Result<Vec<DueDelivery>> {
        deliveries::requeue(&self.pool, false).await?;
        let due = deliveries::claim(&self.pool, limit, LEASE).await?;
        Ok(due.into_iter().map(DueDelivery).collect())
    }

    /// Sends a message once and records how that went. Where it was not taken, the next attempt is after `pause`, unless
    /// the attempts are spent.
    pub async fn deliver(&self, due: DueDelivery, pause: Duration) -> sqlx::Result<()> {
        let DueDelivery(due) = due;
        let id = due.id.to_string();
        let call = HookCall {
            url: &due.url,
            secret: &due.secret,
            event: &due.event,
            id: &id,
            timestamp: clock::now().timestamp(),
            body: &due.body,
            timeout: timeout(due.timeout_ms),
        };
        let started = Instant::now();
        let span = Span::of_queued(due.cause().as_ref(), || delivery(&due));
        let reply = span.within(self.client.post(&call)).await;
        if let Err(error) = &reply {
            span.fail(error.code());
        }
        drop(span);
        let attempted = attempted(&reply, started.elapsed());
        count(&due.event, &attempted);
        if let Some(unread) = reply.as_ref().ok().and_then(|reply| unread_when_told(&due.event, &reply.body)) {
            self.conclude(Tenant(due.tenant_id), due.id, HookOutcome::Unused, Some(&unread)).await;
        }
        let retry_in = (due.attempts < self.options.max_attempts).then_some(pause);
        deliveries::settle(&self.pool, &due, &attempted, retry_in).await
    }

    /// A hook's log, newest first.
    pub async fn deliveries(&self, tenant: Tenant, hook_id: Uuid, page: PageRequest) -> Result<Page<Delivery>> {
        let mut connection = self.pool.acquire().await?;
        store::get(&mut *connection, tenant.0, hook_id).await?.ok_or(ServiceError::NotFound("hook"))?;
        let before = page.cursor_id()?;
        let rows = deliveries::list(&mut *connection, tenant.0, hook_id, before, page.limit + 1).await?;
        Ok(Page::cut(rows.into_iter().map(show).collect(), page.limit, |delivery| delivery.id.to_string()))
    }

    /// Sends a message again, under its id. What a hook answers then changes nothing.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` where it is on its way, or was too large to be kept.
    pub async fn redeliver(&self, tenant: Tenant, hook_id: Uuid, id: Uuid) -> Result<Delivery> {
        let mut transaction = transaction::begin(&self.pool).await?;
        let find = async |connection: &mut PgConnection| -> Result<DeliveryRow> {
            deliveries::get(connection, tenant.0, hook_id, id).await?.ok_or(ServiceError::NotFound("delivery"))
        };
        let before = find(&mut transaction).await?;
        about(before.session_id);
        if !deliveries::again(&mut *transaction, tenant.0, id).await? {
            let detail = match before.finished_at {
                None => "the delivery has not ended yet",
                Some(_) => "the message was too large to be kept",
            };
            return Err(ServiceError::Conflict { code: ConflictCode::NotRedeliverable, detail: detail.to_owned() });
        }
        let queued = show(find(&mut transaction).await?);
        seal(&mut transaction, Outcome::Accepted, &queued).await?;
        transaction.commit().await?;
        Ok(queued)
    }

    /// Forgets messages that ended longer than `age` ago; returns how many.
    pub async fn purge_log(&self, age: Duration) -> Result<u64> {
        Ok(deliveries::purge(&self.pool, clock::now() - age).await?)
    }
}

fn delivery(due: &Due) -> Beginning {
    let attributes = vec![
        KeyValue::new("contextd.hook.event", due.event.clone()),
        KeyValue::new("contextd.hook.delivery.id", due.id.to_string()),
        KeyValue::new("contextd.hook.delivery.attempt", i64::from(due.attempts)),
    ];
    Beginning::new("hook delivery", SpanKind::Consumer, attributes)
}

/// Names the fields that nobody reads in a hook's answer to being told. A question that is sent again keeps the outcome
/// of its first answer.
fn unread_when_told(event: &str, body: &[u8]) -> Option<String> {
    match event.parse::<Event>().ok()? {
        told @ (Event::AfterCompact | Event::AfterNavigate | Event::ChapterRequested) => answer::unread(told, body),
        _ => None,
    }
}

fn show(row: DeliveryRow) -> Delivery {
    Delivery {
        id: row.id,
        next_attempt_at: (row.status == "pending").then_some(row.next_at),
        event: row.event,
        session_id: row.session_id,
        compaction_id: row.compaction_id,
        status: row.status,
        attempts: row.attempts,
        response_status: row.response_status,
        response: row.response,
        error: row.error,
        duration_ms: row.duration_ms,
        outcome: row.outcome,
        outcome_detail: row.outcome_detail,
        created_at: row.created_at,
        finished_at: row.finished_at,
    }
}
