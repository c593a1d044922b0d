//! The work of a branch summary: which entries a branch summary tells, and the summary around what the model wrote.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Navigate, json_text};
use crate::domain::compaction::result::{Fallback, UpstreamReport};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::user_text::{self, attributed};
use crate::domain::record::evidence::WeighedNotes;
use crate::domain::record::lighten::strip;
use crate::domain::record::{RecordPlace, RecordSource, given};
use crate::domain::redaction::Redaction;
use crate::domain::settings::Settings;
use crate::domain::summary::branch::BranchPlan;
use crate::domain::summary::files::{FileOps, FileTable, OpenFile};
use crate::domain::summary::{Allowance, SummaryPart, SummaryTask, USUAL_ROOM, branch, framing};
use crate::domain::tokens::count_text;
use crate::service::compaction::Committed;
use crate::service::compaction::background::background;
use crate::service::compaction::commit::draft::BESIDE_SHARE;
use crate::service::compaction::read::originals;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::RecordTask;
use crate::service::core::error::Result;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::batches;
use crate::service::path::entries::message_of;
use crate::service::path::file_lists::passed_on;
use crate::service::path::view::{self, PathSlice, ReadMode};
use crate::store::branch_summaries;
use crate::store::entries::StoredEntry;
use crate::store::path::{self, Leaf};
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::transaction;

/// The most that a branch summary may take, in tokens, and what it may take however short the branch is.
const LONGEST: u32 = 4_096;
const SHORTEST: u64 = 1_024;

/// A move that leaves a branch: from where, to where, and what of it is to be told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingBranchSummary {
    pub leaf_id: Option<Uuid>,
    pub target_id: Option<Uuid>,
    pub instructions: Option<String>,
    pub replace_instructions: bool,
}

impl PendingBranchSummary {
    pub fn of(navigate: &Navigate, leaf_id: Option<Uuid>) -> PendingBranchSummary {
        PendingBranchSummary {
            leaf_id,
            target_id: navigate.target_id,
            instructions: navigate.instructions.clone(),
            replace_instructions: navigate.replace_instructions,
        }
    }
}

/// Everything that a worker needs to summarise a branch without the database.
pub struct BranchSummaryWork {
    pub tenant: Tenant,
    pub session_id: Uuid,
    pub id: Uuid,
    pub settings: Arc<Settings>,
    /// Where the old path and the target's part; `None`: at the root.
    pub ancestor_id: Option<Uuid>,
    /// The entries that are told, oldest first.
    pub entry_ids: Vec<Uuid>,
    pub task: SummaryTask,
    /// What code writes where no model does.
    pub record: RecordTask,
    pub upstream: Option<String>,
    /// Size of what the summary tells.
    pub replaced_tokens: u64,
    files: FileLists,
}

/// Who wrote the summary of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchWriter {
    /// A model that the service asked, or code.
    Service,
    Hook,
}

/// A branch summary as it will stand at the target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BranchSummaryDraft {
    pub text: String,
    pub details: FileLists,
    /// The summary came from a hook, so its file lists are not passed on.
    pub from_hook: bool,
    pub messages: u32,
    pub upstream: UpstreamReport,
    pub fallback: Fallback,
}

/// A branch summary planned on the metadata of both paths.
struct PlannedSummary {
    old: PathSlice,
    ancestor: Option<usize>,
    /// The first entry that is left, an index into `old`.
    first: usize,
    /// Indexes from `first` on.
    plan: BranchPlan,
}

impl Service {
    /// Plans the branch summary that the worker is to write for this session. `None`: there is none, or not any more.
    ///
    /// # Errors
    /// The database's.
    pub async fn begin_branch_summary(&self, tenant: Tenant, session_id: Uuid) -> Result<Option<BranchSummaryWork>> {
        let Some(row) = branch_summaries::get(self.pool(), tenant.0, session_id).await? else { return Ok(None) };
        if row.draft.is_some() || row.error.is_some() {
            return Ok(None);
        }
        let pending = serde_json::from_str(&row.request).context("a stored pending branch summary")?;
        self.plan_branch_summary(tenant, session_id, row.id, pending).await
    }

    /// Gives the summary, or why there is none, to the call that waits for it.
    pub async fn end_branch_summary(
        &self,
        work: &BranchSummaryWork,
        draft: std::result::Result<&BranchSummaryDraft, String>,
        lease: LeaseProof,
    ) -> Result<Committed> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let (tenant, session_id) = (work.tenant.0, work.session_id);
        if queue::complete(&mut transaction, tenant, lease).await? == Completed::LeaseLost {
            return Ok(Committed::LeaseLost);
        }
        let draft = match draft {
            Ok(draft) => Ok(json_text(draft)?),
            Err(error) => Err(error.replace('\0', "")),
        };
        let answer = draft.as_deref().map_err(String::as_str);
        branch_summaries::answer(&mut *transaction, tenant, session_id, work.id, answer).await?;
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    pub(super) async fn has_something_to_tell(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        pending: &PendingBranchSummary,
    ) -> Result<bool> {
        let mut connection = self.pool().acquire().await?;
        let head = self.inner.heads.read(&mut *connection, tenant, session_id).await?;
        Ok(!planned(&mut connection, tenant, session_id, pending, &head.settings).await?.plan.messages.is_empty())
    }

    /// `None`: the session or one of its leaves is gone, or there is nothing to tell.
    pub(crate) async fn plan_branch_summary(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        id: Uuid,
        pending: PendingBranchSummary,
    ) -> Result<Option<BranchSummaryWork>> {
        let mut connection = self.pool().acquire().await?;
        let head = self.inner.heads.read(&mut *connection, tenant, session_id).await?;
        let planned = planned(&mut connection, tenant, session_id, &pending, &head.settings).await?;
        if planned.plan.messages.is_empty() {
            return Ok(None);
        }
        let reading = BranchReading::new(&planned, head.settings.clone());
        let leaf = leaf_of(&mut connection, tenant, session_id, pending.leaf_id).await?;
        let segments = path::segments(&mut connection, tenant.0, leaf, false).await?;
        let left = path::clip(&segments, &[(reading.first_depth, leaf.depth)]);
        let reading = batches::fold(&mut connection, tenant, &left, reading, BranchReading::take).await?;
        let background = background(&mut connection, tenant, session_id, &head.settings).await?;
        drop(connection);
        let mut work = work(tenant, session_id, id, &pending, &planned, reading);
        work.task.background = background;
        Ok(Some(work))
    }
}

async fn planned(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    pending: &PendingBranchSummary,
    settings: &Settings,
) -> Result<PlannedSummary> {
    let old = path_to(connection, tenant, session_id, pending.leaf_id).await?;
    let target = path_to(connection, tenant, session_id, pending.target_id).await?;
    let parting = branch::left_branch(&old.heads, &target.heads);
    let first = old.heads.len() - parting.entries.len();
    let plan = branch::plan_summary(old.heads.get(first..).unwrap_or_default(), u64::from(settings.usable()));
    Ok(PlannedSummary { ancestor: parting.ancestor, first, plan, old })
}

async fn path_to(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    id: Option<Uuid>,
) -> Result<PathSlice> {
    let leaf = leaf_of(connection, tenant, session_id, id).await?;
    view::load_path(connection, tenant, leaf, false, ReadMode::Heads).await
}

async fn leaf_of(connection: &mut PgConnection, tenant: Tenant, session_id: Uuid, id: Option<Uuid>) -> Result<Leaf> {
    let Some(id) = id else { return Ok(Leaf { session_id, branch: 0, depth: -1 }) };
    let place = view::place(connection, tenant, session_id, id).await?;
    Ok(Leaf { session_id: place.session_id, branch: place.branch, depth: place.depth })
}

/// The entries of the branch on their way past.
struct BranchReading {
    first_depth: i64,
    told: HashSet<usize>,
    visited: HashSet<usize>,
    passed_on: HashSet<usize>,
    settings: Arc<Settings>,
    redaction: Redaction,
    messages: Vec<Message>,
    source: RecordSource,
    /// The newest notes that a caller or a hook gave on the branch.
    given: Option<String>,
    files: FileOps,
    open_file: OpenFile,
}

impl BranchReading {
    fn new(planned: &PlannedSummary, settings: Arc<Settings>) -> BranchReading {
        let BranchPlan { messages, visited, summaries, .. } = &planned.plan;
        let redaction = Redaction::of(&settings.redact);
        BranchReading {
            first_depth: planned.old.heads.get(planned.first).map_or(0, |head| head.depth),
            told: messages.iter().copied().collect(),
            visited: visited.iter().copied().collect(),
            passed_on: summaries.iter().copied().collect(),
            source: RecordSource::default().with_redaction(redaction.clone()),
            redaction,
            settings,
            messages: Vec::new(),
            given: None,
            files: FileOps::default(),
            open_file: OpenFile::default(),
        }
    }

    /// Takes in the next entry, in path order.
    fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let head = &stored.entry.head;
        let Ok(index) = usize::try_from(head.depth - self.first_depth) else { return Ok(()) };
        if self.passed_on.contains(&index) {
            passed_on(stored).iter().for_each(|lists| self.files.seed(lists));
        }
        self.given = stored.record.as_deref().and_then(given::notes).or(self.given.take());
        let notes = originals::of_handle(stored, &self.redaction);
        let said = originals::said(stored, &self.settings.agents)?;
        for message in notes.into_iter().chain(said) {
            let place = (RecordPlace::Told, Some(head.id));
            self.source.take_before(message, place, head.depth, stored.entry.item.len());
        }
        let Some(message) = told_by(stored)? else { return Ok(()) };
        let mut message = attributed(message, &self.settings.agents);
        self.redaction.redact_message(&mut message, None);
        if self.visited.contains(&index) {
            self.files.note(&message, FileTable::new(&self.settings.file_tools), &mut self.open_file);
        }
        if self.told.contains(&index) {
            strip(&mut message);
            self.messages.extend(user_text::parts(message));
        }
        Ok(())
    }
}

/// Returns the message that a summariser reads for an entry; for a compaction, its summary.
fn told_by(stored: &StoredEntry) -> Result<Option<Message>> {
    if stored.entry.head.kind != EntryType::Compaction {
        return message_of(stored);
    }
    let record = stored.record.as_deref();
    let summary = record.and_then(|record| record.summary_body.as_ref().or(record.summary.as_ref()));
    let says = summary.filter(|summary| !summary.is_empty());
    Ok(says.map(|summary| Message::text(Role::CompactionSummary, summary.as_str())))
}

fn work(
    tenant: Tenant,
    session_id: Uuid,
    id: Uuid,
    pending: &PendingBranchSummary,
    planned: &PlannedSummary,
    reading: BranchReading,
) -> BranchSummaryWork {
    let settings = reading.settings;
    let id_at = |index: &usize| planned.old.heads.get(planned.first + index).map(|head| head.id);
    let replaced_tokens = planned.plan.tokens.max(SHORTEST);
    let allowance = Allowance::new(replaced_tokens, settings.reserve_tokens);
    let given = reading.given.map(|notes| reading.redaction.redact(&notes, None).into_owned());
    let source = Arc::new(reading.source.with_given(given));
    let room = allowance.likely().min(u64::from(bound(&settings)));
    let mut task = task(pending, &settings, reading.messages, replaced_tokens);
    task.source = Some(source.clone());
    BranchSummaryWork {
        tenant,
        session_id,
        id,
        ancestor_id: planned.ancestor.and_then(|index| planned.old.heads.get(index)).map(|head| head.id),
        entry_ids: planned.plan.messages.iter().filter_map(id_at).collect(),
        task: allowance.asked(task),
        record: RecordTask { source, room, target: room },
        upstream: settings.upstream.clone(),
        replaced_tokens,
        files: reading.files.lists(),
        settings,
    }
}

/// The most that a branch summary may take, in tokens.
fn bound(settings: &Settings) -> u32 {
    let bound = LONGEST.min(settings.reserve_tokens).max(1);
    settings.summary_max_tokens.map_or(bound, |most| most.min(bound))
}

fn task(pending: &PendingBranchSummary, settings: &Settings, messages: Vec<Message>, span_tokens: u64) -> SummaryTask {
    let own = pending.instructions.clone().filter(|text| !text.trim().is_empty());
    let (prompt, instructions) = match own {
        Some(text) if pending.replace_instructions => (Some(text), None),
        own => (settings.prompt.clone(), own.or_else(|| settings.instructions.clone())),
    };
    SummaryTask {
        part: SummaryPart::Branch,
        template: settings.template,
        prompt,
        previous: None,
        messages: messages.into(),
        focus_topic: settings.focus_topic.clone(),
        instructions,
        source: None,
        background: None,
        newer_from: None,
        shown: None,
        room: USUAL_ROOM,
        span_tokens,
        max_output_tokens: bound(settings),
        correction: None,
    }
}

impl BranchSummaryWork {
    /// The summary as it stands at the target: the record and nothing else, or somebody's notes with what they lack.
    pub fn draft(&self, outcome: SummaryOutcome, writer: BranchWriter) -> BranchSummaryDraft {
        let body = outcome.history.as_deref().unwrap_or_default();
        let body = Redaction::of(&self.settings.redact).redact(body, None).into_owned();
        let (body, beside) = if outcome.builtin { (body, String::new()) } else { self.noted(body, writer) };
        let is_given = !outcome.builtin && writer != BranchWriter::Service;
        let frame = if is_given { framing::frame_given } else { framing::frame };
        let text = frame(&self.settings, framing::BRANCH_PREFIX, &body, &beside);
        BranchSummaryDraft {
            text,
            details: self.files.clone(),
            from_hook: writer == BranchWriter::Hook,
            messages: u32::try_from(self.entry_ids.len()).unwrap_or(u32::MAX),
            upstream: outcome.upstream,
            fallback: outcome.fallback,
        }
    }

    /// Notes, and what they lack. Of a model's, what nothing shows is marked.
    fn noted(&self, body: String, writer: BranchWriter) -> (String, String) {
        let source = &self.record.source;
        let path = source.path_numbers();
        let weighed = WeighedNotes::of(&body, self.task.sections(), &path);
        let is_marked = writer == BranchWriter::Service && self.task.prompt.is_none();
        let cited = weighed.cited(&path);
        let body = if is_marked { weighed.marked } else { body };
        let room = u64::from(bound(&self.settings));
        // Of what the user asked, a model's notes were to tell.
        let room = match writer {
            BranchWriter::Service => room / BESIDE_SHARE,
            _ => room.saturating_sub(u64::from(count_text(self.settings.estimator, &body))).max(room / BESIDE_SHARE),
        };
        let beside = source.beside(&body, &cited, room);
        (body, beside)
    }
}
