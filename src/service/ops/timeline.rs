//! How a session's context grew and shrank, turn by turn, and what happened on the way.

mod bends;

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::context::timeline::{Bucket, Totals, Walk, buckets, sharpest};
use crate::domain::tokens::accounting::{Breakdown, FillState, Snapshot, Source, fill_state};
use crate::service::compaction::{Status, Trigger};
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::store::path::{self, Segment};
use crate::store::timeline::{self, JobRow, MarkRow, SampleRow, Stretch};
use bends::bends;

/// Compactions and chapters on the path that are looked at, and jobs.
const MOST_MARKS: i64 = 10_000;
const MOST_JOBS: i64 = 2_000;
const MOST_BRANCHES: i64 = 200;
/// Events that are told.
const MOST_EVENTS: usize = 500;

/// A session's path as a line: its size at the agent's answers and at compactions, oldest first, and what happened.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Timeline {
    pub session_id: Uuid,
    pub leaf_id: Option<Uuid>,
    pub window: u32,
    pub reserve_tokens: u32,
    /// Entries on the path.
    pub path_length: u64,
    pub points: Vec<TimelinePoint>,
    /// By time; the newest 500.
    pub events: Vec<TimelineEvent>,
}

/// The context at an entry, itself included. `state` is judged by the session's settings as they are now, and system
/// prompt and tools count as they are now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TimelinePoint {
    pub entry_id: Uuid,
    pub at: DateTime<Utc>,
    pub tokens: u64,
    pub breakdown: Breakdown,
    pub state: FillState,
    /// Whether `tokens` rests on what a provider reported.
    pub source: Source,
    /// The size if nothing had ever been compacted. Along the path it never falls.
    pub without_contextd: u64,
}

/// What happened: a compaction however it ended (`overflow`: one that a provider's refusal started), a chapter that was
/// closed, the first entry of a further branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineEventKind {
    Compaction,
    Overflow,
    Chapter,
    Branch,
}

/// Something that happened to the session. What is not of a compaction has its fields null.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TimelineEvent {
    pub kind: TimelineEventKind,
    pub at: DateTime<Utc>,
    /// The entry that it left; of a branch, its first one.
    pub entry_id: Option<Uuid>,
    pub compaction_id: Option<Uuid>,
    pub status: Option<Status>,
    pub trigger: Option<Trigger>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
}

impl Queries {
    /// The timeline at the leaf, in at most `points` points. No item is read, and what it costs follows `points` and the
    /// compactions, not the length of the path.
    pub async fn timeline(&self, tenant: Tenant, session_id: Uuid, points: usize) -> Result<Timeline> {
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let path = path::segments(&mut connection, tenant.0, head.leaf(), head.is_plain()).await?;
        let marks = timeline::marks(&mut *connection, tenant.0, &path, MOST_MARKS).await?;
        let mut sessions = path::sessions_of(&path);
        sessions.push(session_id);
        let jobs = timeline::jobs(&mut *connection, tenant.0, &sessions, MOST_JOBS).await?;
        let branches = timeline::branches(&mut *connection, tenant.0, session_id, MOST_BRANCHES).await?;
        let compactions: Vec<&MarkRow> = marks.iter().filter(|mark| mark.is_compaction).collect();
        let bends = bends(&mut connection, tenant, &path, &compactions, &jobs, &head).await?;
        let cuts = sharpest(&bends, &head.state.account, points / 3);
        let stretches = stretches(&path, &buckets(head.row.leaf_depth, &cuts, points));
        let samples = timeline::samples(&mut connection, tenant.0, &stretches).await?;
        drop(connection);
        let mut walk = Walk::new(&head.state.account, &bends);
        let snapshot = head.snapshot();
        let points = samples.into_iter().map(|row| point(row, &mut walk, &head, &snapshot)).collect();
        Ok(Timeline {
            session_id,
            leaf_id: head.row.leaf_id,
            window: snapshot.window,
            reserve_tokens: snapshot.reserve_tokens,
            path_length: u64::try_from(head.row.leaf_depth + 1).unwrap_or(0),
            points,
            events: events(session_id, &marks, &jobs, branches),
        })
    }
}

/// Where the entries of these buckets are. Of a bucket over several branches, its end.
fn stretches(path: &[Segment], buckets: &[Bucket]) -> Vec<Stretch> {
    let stretch = |bucket: &Bucket| {
        let segment = *path::clip(path, &[(bucket.from, bucket.to)]).last()?;
        Some(Stretch { segment, to_the_end: bucket.to_the_end })
    };
    buckets.iter().filter_map(stretch).collect()
}

fn point(row: SampleRow, walk: &mut Walk<'_>, head: &Head, now: &Snapshot) -> TimelinePoint {
    let SampleRow { id, depth, path_tokens, path_result_tokens, usage, created_at } = row;
    let account = walk.at(Totals { depth, path_tokens, path_result_tokens, usage });
    let estimator = head.settings.estimator;
    let (tokens, source, breakdown, state) = if head.row.leaf_id == Some(id) {
        (now.tokens, now.source, now.breakdown, now.state)
    } else {
        let (tokens, source) = account.tokens(estimator);
        (tokens, source, account.breakdown(tokens, estimator), fill_state(tokens, &head.settings))
    };
    let without_contextd = walk.uncompacted(&account, tokens, estimator);
    TimelinePoint { entry_id: id, at: created_at, tokens, breakdown, state, source, without_contextd }
}

fn events(
    session_id: Uuid,
    marks: &[MarkRow],
    jobs: &[JobRow],
    branches: Vec<(Uuid, DateTime<Utc>)>,
) -> Vec<TimelineEvent> {
    let on_path: HashSet<Uuid> = marks.iter().map(|mark| mark.id).collect();
    let told = |job: &&JobRow| match job.entry_id() {
        Some(entry_id) => on_path.contains(&entry_id),
        None => job.session_id == session_id,
    };
    let mut events: Vec<TimelineEvent> = jobs.iter().filter(told).map(compaction_event).collect();
    // A compaction by which chapters were closed comes with them.
    let chapters = marks.iter().filter(|mark| !mark.is_compaction);
    events.extend(chapters.map(|mark| event(TimelineEventKind::Chapter, mark.created_at, Some(mark.id))));
    events.extend(branches.into_iter().map(|(id, at)| event(TimelineEventKind::Branch, at, Some(id))));
    events.sort_by_key(|event| event.at);
    events.split_off(events.len().saturating_sub(MOST_EVENTS))
}

fn event(kind: TimelineEventKind, at: DateTime<Utc>, entry_id: Option<Uuid>) -> TimelineEvent {
    TimelineEvent {
        kind,
        at,
        entry_id,
        compaction_id: None,
        status: None,
        trigger: None,
        tokens_before: None,
        tokens_after: None,
    }
}

fn compaction_event(job: &JobRow) -> TimelineEvent {
    let trigger: Option<Trigger> = job.trigger.parse().ok();
    let kind = match trigger {
        Some(Trigger::Overflow) => TimelineEventKind::Overflow,
        _ => TimelineEventKind::Compaction,
    };
    let size = |text: &Option<String>| Some(snapshot_of(text.as_deref()?)?.tokens);
    TimelineEvent {
        compaction_id: Some(job.id),
        status: job.status.parse().ok(),
        trigger,
        tokens_before: size(&job.snapshot_before),
        tokens_after: size(&job.snapshot_after),
        ..event(kind, job.finished_at.unwrap_or(job.created_at), job.entry_id())
    }
}

/// One that an older version wrote and this one cannot read is none.
fn snapshot_of(text: &str) -> Option<Snapshot> {
    serde_json::from_str(text).ok()
}
