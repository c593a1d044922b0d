//! Asking a hook and waiting for its answer. No transaction may be open meanwhile.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::domain::hook::answer::{self, BadAnswer};
use crate::domain::hook::{Event, HookOutcome, HookReport, OnError};
use crate::families;
use crate::hooks::{CallError, HookCall, Reply};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::hooks::Hooks;
use crate::service::core::tenant::Tenant;
use crate::store::hooks::deliveries::{self, Attempted, NewDelivery};
use crate::store::hooks::{self as store, HookRow};
use crate::trace;

/// Attempts at a question, all in a row.
const ATTEMPTS: u32 = 3;
/// A larger question is not kept in the log, so that it can't be sent again by hand.
const KEPT_BODY: usize = 256 << 10;
/// How much of an answer the log keeps, in characters.
const KEPT_ANSWER_CHARS: usize = 1_000;

const UNWANTED: &str = "nothing of the kind is wanted here";

/// Subject of a message to hooks: the session and, where there is one, the compaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub tenant: Tenant,
    pub session_id: Uuid,
    pub compaction_id: Option<Uuid>,
}

/// A tenant's enabled hooks, in the order of their creation.
#[derive(Debug, Clone, Default)]
pub(crate) struct EnabledHooks(Vec<HookRow>);

impl EnabledHooks {
    pub(crate) async fn load(executor: impl PgExecutor<'_>, tenant: Tenant) -> Result<EnabledHooks> {
        Ok(EnabledHooks(store::enabled(executor, tenant.0).await?))
    }

    pub(crate) fn of(&self, event: Event) -> impl Iterator<Item = &HookRow> {
        self.0.iter().filter(move |hook| hook.events.iter().any(|word| word == event.into_str()))
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.of(event).next().is_some()
    }
}

/// An answer, and where the log has it.
pub(crate) struct HookAnswered<T> {
    pub delivery_id: Uuid,
    /// Sentence that names the fields of a good answer that nobody reads. `None`: there are none.
    pub unread: Option<String>,
    /// The error is a sentence for people.
    pub answer: std::result::Result<T, String>,
}

/// Reports of the hooks so far; see [`crate::domain::compaction::result::CompactionResult::hooks`].
pub(crate) struct Reports<'a> {
    pub event: Event,
    pub list: &'a mut Vec<HookReport>,
}

impl Reports<'_> {
    pub(crate) fn note(&mut self, hook: &HookRow, delivery_id: Uuid, outcome: HookOutcome, detail: Option<String>) {
        self.list.push(HookReport { hook_id: hook.id, delivery_id, event: self.event, outcome, detail });
    }

    /// Notes what came of a call, or why it gave nothing of use. Break: the hook wants that to end the work.
    pub(crate) fn settle(
        &mut self,
        hook: &HookRow,
        delivery_id: Uuid,
        outcome: std::result::Result<HookOutcome, String>,
    ) -> ControlFlow<()> {
        match outcome {
            Ok(HookOutcome::Unused) => self.note(hook, delivery_id, HookOutcome::Unused, Some(UNWANTED.to_owned())),
            Ok(outcome) => self.note(hook, delivery_id, outcome, None),
            Err(detail) => {
                tracing::warn!(hook = %hook.id, event = self.event.into_str(), detail, "a hook gave no answer of use");
                self.note(hook, delivery_id, HookOutcome::Failed, Some(detail));
                if cancels(hook) {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns true if the work is not done without a good answer of this hook.
pub(crate) fn cancels(hook: &HookRow) -> bool {
    hook.on_error.parse::<OnError>().ok() == Some(OnError::Cancel)
}

impl Hooks {
    /// Notes in the log what became of an answer. A log that can't be written holds nothing up.
    pub(crate) async fn conclude(&self, tenant: Tenant, delivery_id: Uuid, outcome: HookOutcome, detail: Option<&str>) {
        let noted = deliveries::conclude(&self.pool, tenant.0, delivery_id, outcome.into_str(), detail).await;
        if let Err(error) = noted {
            tracing::warn!(%error, %delivery_id, "what became of a hook's answer was not logged");
        }
    }

    /// Notes what came of a call in the result and in the log. Break: the hook wants that to end the work.
    pub(crate) async fn settle(
        &self,
        tenant: Tenant,
        reports: &mut Reports<'_>,
        hook: &HookRow,
        (delivery_id, unread): (Uuid, Option<String>),
        outcome: std::result::Result<HookOutcome, String>,
    ) -> ControlFlow<()> {
        let flow = reports.settle(hook, delivery_id, outcome);
        if let Some(report) = reports.list.last_mut() {
            report.detail = report.detail.take().or(unread);
            self.conclude(tenant, delivery_id, report.outcome, report.detail.as_deref()).await;
        }
        flow
    }

    /// Asks a hook, with retries, and logs how that went.
    pub(crate) async fn ask<T>(
        &self,
        about: About,
        hook: &HookRow,
        event: Event,
        data: &impl Serialize,
        read: impl FnOnce(&[u8]) -> std::result::Result<T, BadAnswer>,
    ) -> Result<HookAnswered<T>> {
        let id = clock::new_id();
        let body = envelope(about, event, id, data)?;
        let text = id.to_string();
        let call = HookCall {
            url: &hook.url,
            secret: &hook.secret,
            event: event.into_str(),
            id: &text,
            timestamp: clock::now().timestamp(),
            body: &body,
            timeout: timeout(hook.timeout_ms),
        };
        let started = Instant::now();
        let (reply, attempts) = self.client.post_until_taken(&call, ATTEMPTS).await;
        let mut attempted = attempted(&reply, started.elapsed());
        let (answer, unread) = match reply {
            Err(error) => (Err(error.to_string()), None),
            Ok(reply) => (read(&reply.body).map_err(|bad| bad.to_string()), answer::unread(event, &reply.body)),
        };
        attempted.error = answer.as_ref().err().cloned();
        count(event.into_str(), &attempted);
        let new = new_delivery(about, hook.id, event, id, Some(body.as_str()).filter(|body| body.len() <= KEPT_BODY));
        let attempts = i32::try_from(attempts).unwrap_or(i32::MAX);
        // A hook or a session that is gone meanwhile has no log any more.
        if let Err(error) = deliveries::log(&self.pool, about.tenant.0, &new, attempts, &attempted).await {
            tracing::warn!(%error, hook = %hook.id, "a call of a hook was not logged");
        }
        Ok(HookAnswered { delivery_id: id, unread, answer })
    }
}

pub(crate) fn new_delivery(about: About, hook_id: Uuid, event: Event, id: Uuid, body: Option<&str>) -> NewDelivery<'_> {
    let About { session_id, compaction_id, .. } = about;
    NewDelivery {
        id,
        hook_id,
        session_id,
        compaction_id,
        event: event.into_str(),
        body,
        now: clock::now(),
        cause: trace::current(),
    }
}

pub(crate) fn timeout(millis: i32) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// An attempt for the log.
pub(crate) fn attempted(reply: &std::result::Result<Reply, CallError>, took: Duration) -> Attempted {
    let text = |reply: &Reply| -> String {
        let text = String::from_utf8_lossy(&reply.body).replace('\0', "\u{fffd}");
        text.chars().take(KEPT_ANSWER_CHARS).collect()
    };
    let status = match reply {
        Ok(reply) => Some(reply.status),
        Err(error) => error.status(),
    };
    Attempted {
        response_status: status.map(i32::from),
        response: reply.as_ref().ok().map(text).filter(|text| !text.is_empty()),
        error: reply.as_ref().err().map(ToString::to_string),
        duration_ms: i64::try_from(took.as_millis()).unwrap_or(i64::MAX),
    }
}

/// Counts a call that has ended.
pub(crate) fn count(event: &str, attempted: &Attempted) {
    let outcome = if attempted.error.is_none() { "delivered" } else { "failed" };
    let event = event.to_owned();
    metrics::counter!(families::HOOK_CALLS, "event" => event.clone(), "outcome" => outcome).increment(1);
    metrics::histogram!(families::HOOK_CALL_SECONDS, "event" => event).record(attempted.duration_ms as f64 / 1_000.0);
}

#[derive(Serialize)]
struct HookEnvelope {
    id: Uuid,
    event: Event,
    timestamp: chrono::DateTime<chrono::Utc>,
    session_id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction_id: Option<Uuid>,
}

/// The body of a message: what every one has, then the fields of `data`, which is an object.
pub(crate) fn envelope(about: About, event: Event, id: Uuid, data: &impl Serialize) -> Result<String> {
    let About { session_id, compaction_id, .. } = about;
    let head = HookEnvelope { id, event, timestamp: clock::now(), session_id, compaction_id };
    let mut text = serde_json::to_string(&head).context("a hook's message as JSON")?;
    let data = serde_json::to_string(data).context("a hook's message as JSON")?;
    let fields = data.strip_prefix('{').filter(|fields| *fields != "}");
    if let Some(fields) = fields {
        text.pop();
        text.push(',');
        text.push_str(fields);
    }
    Ok(text)
}
