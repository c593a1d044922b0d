//! Carrying a compaction out, as far as the database is concerned: begin, then commit, skip or fail.
//!
//! Every ending is one short transaction that takes the session's row first, checks the lease and that the plan
//! still holds, and writes all or nothing.

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{CompactRequest, Status, Trigger, word};
use crate::domain::accounting::Snapshot;
use crate::domain::compaction::{
    CompactionRecord, CompactionResult, Fallback, FileLists, IdentifierReport, NetReport, Reason, UpstreamReport,
};
use crate::domain::entry::{EntryHead, EntryType};
use crate::domain::format::Format;
use crate::domain::guard::savings_pct;
use crate::domain::identifiers;
use crate::domain::message::{Message, Role};
use crate::domain::settings::{Settings, Strategy};
use crate::domain::shape::Shape;
use crate::domain::summary::{Allowance, framing};
use crate::domain::{tokens, verify};
use crate::service::clock;
use crate::service::error::{Result, ServiceError};
use crate::service::head::{Head, Newest, SessionState};
use crate::service::state::{Service, Tenant};
use crate::service::view::{self, Read, Standpoint};
use crate::service::work::{Basis, Begin, Decision, Material, Outline, SummaryOutcome, Work, build};
use crate::store::compactions::{self, CompactionRow, Ending};
use crate::store::entries::{self, NewBranch, NewEntry, Write};
use crate::store::path;
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::sessions;

/// After a compaction that could do nothing, the context must grow by this before the next starts by itself.
const RETRY_GROWTH: f64 = 1.1;

/// How an ending went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    Done,
    /// Another worker has the job, or it was cancelled: nothing was written.
    LeaseLost,
    /// The context has changed in a way that the plan does not fit: nothing was written.
    Replan,
}

/// A summary, framed, and what was measured on it.
struct Draft {
    record: CompactionRecord,
    identifiers: IdentifierReport,
}

/// The numbers of a result that depend on how the compaction ended.
struct Measured {
    entry_id: Option<Uuid>,
    before: u64,
    snapshot: Snapshot,
    kept: u64,
    reason: Option<Reason>,
    duration_ms: u64,
}

impl Service {
    /// Looks at a claimed compaction and says what is to be done. What can't be done is skipped here.
    pub async fn begin_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Begin> {
        let mut connection = self.pool().acquire().await?;
        let Some(row) = compactions::get(&mut *connection, tenant.0, id).await? else { return Ok(Begin::Ended) };
        if !matches!(Status::parse(&row.status), Some(Status::Queued | Status::Running)) {
            return Ok(Begin::Ended);
        }
        let request: CompactRequest = serde_json::from_str(&row.request).context("a stored compact request")?;
        let trigger = Trigger::parse(&row.trigger).context("a stored trigger")?;
        let head = match self.head_on(&mut connection, tenant, row.session_id).await {
            Err(ServiceError::NotFound(_)) => return Ok(Begin::Ended),
            head => head?,
        };
        let settings = self.session_settings(&mut connection, tenant, row.session_id, &request.patch()).await?;
        if let Some(reason) = held_back(&head, &settings, &request, trigger) {
            drop(connection);
            self.skip_unplanned(tenant, &row, &settings, reason).await?;
            return Ok(Begin::Ended);
        }
        let from = Standpoint { leaf: head.leaf(), plain: head.is_plain(), newest: head.state.newest.clone() };
        let loaded = view::load_view(&mut connection, tenant, &from, Read::Items).await?;
        let afresh = !settings.iterative && loaded.newest.is_some();
        let originals = if afresh {
            Some(view::load_path(&mut connection, tenant, from.leaf, from.plain, Read::Items).await?)
        } else {
            None
        };
        drop(connection);
        let requested = request.strategy.unwrap_or(settings.strategy);
        let basis = Basis { leaf_id: head.row.leaf_id, newest: head.state.newest.as_ref().map(|newest| newest.id) };
        let job = move || {
            let material = Material {
                loaded: &loaded,
                originals: originals.as_ref(),
                state: &head.state,
                settings: &settings,
                request: &request,
                trigger,
                strategy: carried_out(requested),
            };
            build(&material).map(|decision| (decision, settings, request))
        };
        let (decision, settings, request) =
            tokio::task::spawn_blocking(job).await.context("planning a compaction")??;
        match decision {
            Ok(decision) => {
                Ok(Begin::Work(Box::new(work(tenant, &row, trigger, settings, requested, request, basis, decision))))
            }
            Err(reason) => {
                self.skip_unplanned(tenant, &row, &settings, reason).await?;
                Ok(Begin::Ended)
            }
        }
    }

    /// Writes a finished compaction.
    ///
    /// # Errors
    /// The database's; nothing is written then.
    pub async fn commit_compaction(
        &self,
        work: &Work,
        outcome: SummaryOutcome,
        lease: LeaseProof,
    ) -> Result<Committed> {
        let draft = draft(work, &outcome);
        let mut transaction = self.pool().begin().await?;
        let Some(open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        let Ended { mut row, mut head, compaction } = open;
        if !self.still_holds(&mut transaction, work, &head).await? {
            return Ok(Committed::Replan);
        }
        let (before, _) = head.state.account.tokens(head.settings.estimator);
        let estimated_before = head.state.account.estimated();
        let mut draft = draft;
        let entry = compaction_entry(&head, work, &mut draft, before);
        let mut state = head.state.clone();
        rebase(&mut state, &work.outline, &draft.record);
        let after = state.snapshot(&head.settings);
        let estimated_after = state.account.estimated();
        let grows = verify::check_growth(before, after.tokens).is_err() || estimated_after >= estimated_before;
        let kept = work.outline.kept + head.state.messages.saturating_sub(work.outline.messages);
        let now = clock::now();
        let duration_ms = elapsed(&compaction, now);
        if grows {
            head.state.guard.record(before, before, head.state.messages, &head.settings);
            self.write_skip(
                &mut transaction,
                work.tenant,
                row,
                head,
                &compaction,
                Reason::WouldGrow,
                Some((work, &outcome)),
            )
            .await?;
            transaction.commit().await?;
            return Ok(Committed::Done);
        }
        state.guard.record(before, after.tokens, state.messages, &head.settings);
        state.auto_retry_at = None;
        state.newest = Some(Newest {
            id: entry.head.id,
            depth: entry.head.depth,
            first_kept_depth: Some(work.outline.first_kept.depth),
            anchor_depths: work.outline.anchors.iter().map(|anchor| anchor.depth).collect(),
            is_revert: false,
        });
        let branch = new_branch(&head, entry.branch);
        let snapshot = advance(&mut head, state, &entry)?;
        row.head = head.row;
        let entry_id = entry.head.id;
        let write = Write {
            session_id: work.session_id,
            version: row.head.version,
            head: &row.head,
            entries: &[entry],
            branches: &branch,
            now,
        };
        entries::write(&mut *transaction, work.tenant.0, &write).await?;
        let measured = Measured { entry_id: Some(entry_id), before, snapshot, kept, reason: None, duration_ms };
        let result = result(work, &outcome, Some(&draft), measured);
        let strategy = word(&result.strategy_used)?;
        observe(&result, work.trigger, "succeeded");
        let text = serde_json::to_string(&result).context("a result as JSON")?;
        let ending = Ending {
            status: Status::Succeeded.as_str(),
            strategy: Some(&strategy),
            error: None,
            result: Some(&text),
            now,
        };
        if !compactions::finish(&mut *transaction, work.tenant.0, work.compaction_id, &ending).await? {
            return Ok(Committed::LeaseLost);
        }
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    /// Ends a compaction without doing it, for a reason.
    pub async fn skip_compaction(&self, work: &Work, reason: Reason, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = self.pool().begin().await?;
        let Some(open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        self.write_skip(&mut transaction, work.tenant, open.row, open.head, &open.compaction, reason, None).await?;
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    /// Ends a compaction that could not be carried out; the context is as it was.
    pub async fn fail_compaction(&self, work: &Work, message: &str, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = self.pool().begin().await?;
        let Some(mut open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        hold_off(&mut open.head);
        open.head.state.write_to(&mut open.row.head, &open.head.settings)?;
        sessions::update(&mut *transaction, work.tenant.0, &open.row, clock::now()).await?;
        let ending = Ending {
            status: Status::Failed.as_str(),
            strategy: None,
            error: Some(message),
            result: None,
            now: clock::now(),
        };
        compactions::finish(&mut *transaction, work.tenant.0, work.compaction_id, &ending).await?;
        transaction.commit().await?;
        count_end("failed", work.strategy, work.trigger);
        Ok(Committed::Done)
    }

    /// Locks session and job. `None`: the lease is lost, or the compaction has ended.
    async fn open_ending(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        compaction_id: Uuid,
        lease: LeaseProof,
    ) -> Result<Option<Ended>> {
        let Some(row) = sessions::lock(&mut *connection, tenant.0, session_id).await? else { return Ok(None) };
        if queue::complete(&mut *connection, tenant.0, lease).await? == Completed::LeaseLost {
            return Ok(None);
        }
        let Some(compaction) = compactions::get(&mut *connection, tenant.0, compaction_id).await? else {
            return Ok(None);
        };
        let head = self.head_of(&row)?;
        Ok(Some(Ended { row, head, compaction }))
    }

    async fn still_holds(&self, connection: &mut PgConnection, work: &Work, head: &Head) -> Result<bool> {
        if head.state.newest.as_ref().map(|newest| newest.id) != work.basis.newest {
            return Ok(false);
        }
        let Some(leaf_id) = work.basis.leaf_id.filter(|id| Some(*id) != head.row.leaf_id) else { return Ok(true) };
        let place = view::place(connection, work.tenant, head.session_id, leaf_id).await?;
        let segments = path::segments(connection, work.tenant.0, head.leaf(), head.is_plain()).await?;
        Ok(segments.iter().any(|segment| {
            (segment.session_id, segment.branch) == (place.session_id, place.branch)
                && (segment.from..=segment.to).contains(&place.depth)
        }))
    }

    async fn skip_unplanned(
        &self,
        tenant: Tenant,
        compaction: &CompactionRow,
        settings: &Settings,
        reason: Reason,
    ) -> Result<()> {
        let mut transaction = self.pool().begin().await?;
        let Some(row) = sessions::lock(&mut *transaction, tenant.0, compaction.session_id).await? else {
            return Ok(());
        };
        let mut head = self.head_of(&row)?;
        head.settings = std::sync::Arc::new(settings.clone());
        self.write_skip(&mut transaction, tenant, row, head, compaction, reason, None).await?;
        transaction.commit().await?;
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one caller's worth of context each; a struct would only rename them"
    )]
    async fn write_skip(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        mut row: sessions::SessionRow,
        mut head: Head,
        compaction: &CompactionRow,
        reason: Reason,
        tried: Option<(&Work, &SummaryOutcome)>,
    ) -> Result<()> {
        if matches!(
            reason,
            Reason::NothingToCompact
                | Reason::NoValidCutPoint
                | Reason::FixedOverhead
                | Reason::WouldGrow
                | Reason::LowSavings
        ) {
            hold_off(&mut head);
        }
        let own = self.inner.resolve(&row.settings, row.model.as_deref())?;
        head.state.write_to(&mut row.head, &own)?;
        let now = clock::now();
        sessions::update(&mut *connection, tenant.0, &row, now).await?;
        let snapshot = head.state.snapshot(&head.settings);
        let requested: Strategy = serde_json::from_value(serde_json::Value::String(compaction.strategy.clone()))
            .context("a stored strategy")?;
        let measured = Measured {
            entry_id: None,
            before: snapshot.tokens,
            kept: head.state.messages,
            snapshot,
            reason: Some(reason),
            duration_ms: elapsed(compaction, now),
        };
        let mut result = blank(requested, measured);
        if let Some((_, outcome)) = tried {
            result.upstream = outcome.upstream.clone();
            result.fallback = outcome.fallback.clone();
        }
        count_end("skipped", requested, Trigger::parse(&compaction.trigger).unwrap_or(Trigger::Manual));
        let text = serde_json::to_string(&result).context("a result as JSON")?;
        let ending = Ending { status: Status::Skipped.as_str(), strategy: None, error: None, result: Some(&text), now };
        compactions::finish(&mut *connection, tenant.0, compaction.id, &ending).await?;
        Ok(())
    }
}

/// What an ending has in hand.
struct Ended {
    row: sessions::SessionRow,
    head: Head,
    compaction: CompactionRow,
}

/// Why this compaction may not even be planned.
fn held_back(head: &Head, settings: &Settings, request: &CompactRequest, trigger: Trigger) -> Option<Reason> {
    let account = &head.state.account;
    let (tokens, _) = account.tokens(settings.estimator);
    if u64::from(account.system) + u64::from(account.tools) >= u64::from(settings.usable()) {
        return Some(Reason::FixedOverhead);
    }
    if !matches!(trigger, Trigger::Manual | Trigger::Overflow) {
        if !settings.enabled {
            return Some(Reason::Disabled);
        }
        if crate::domain::accounting::fill_state(tokens, settings) != crate::domain::compaction::FillState::Red {
            return Some(Reason::BelowThreshold);
        }
    }
    let admitted = request.force || head.state.guard.clone().admit(tokens, head.state.messages, settings);
    (!admitted).then_some(Reason::AntiThrash)
}

/// Strategies of the settings that this version can't carry out are done as `auto`.
fn carried_out(requested: Strategy) -> Strategy {
    match requested {
        Strategy::Truncate | Strategy::Sliding | Strategy::Smart => Strategy::Auto,
        other => other,
    }
}

/// Keeps appends from starting the next compaction until the context has grown.
fn hold_off(head: &mut Head) {
    let (tokens, _) = head.state.account.tokens(head.settings.estimator);
    head.state.auto_retry_at = Some((tokens as f64 * RETRY_GROWTH).ceil() as u64 + 1);
}

#[expect(clippy::too_many_arguments, reason = "the parts of one value, put together once")]
fn work(
    tenant: Tenant,
    row: &CompactionRow,
    trigger: Trigger,
    settings: Settings,
    requested: Strategy,
    request: CompactRequest,
    basis: Basis,
    decision: Decision,
) -> Work {
    Work {
        tenant,
        session_id: row.session_id,
        compaction_id: row.id,
        trigger,
        strategy: decision.strategy,
        requested,
        summary_tasks: decision.tasks,
        upstream: settings.upstream.clone(),
        given_summary: request.summary,
        replaced_tokens: decision.replaced_tokens,
        settings,
        basis,
        outline: decision.outline,
    }
}

/// Puts the summary message together: body, restored identifiers, file lists, tool ledger, framing.
fn draft(work: &Work, outcome: &SummaryOutcome) -> Draft {
    let outline = &work.outline;
    let previous = outline.previous.as_ref();
    if outline.elides_only {
        let mut record = previous.cloned().unwrap_or_default();
        record.elisions = outline.elisions.clone();
        return Draft { record, identifiers: IdentifierReport::default() };
    }
    let carried = previous.and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()));
    let history = work.given_summary.clone().or_else(|| outcome.history.clone()).or(carried);
    let body = match (history, &outcome.turn_prefix) {
        (Some(history), Some(prefix)) => framing::merge_split(&history, prefix),
        (Some(history), None) => history,
        (None, Some(prefix)) => framing::merge_split("No earlier history.", prefix),
        (None, None) => String::new(),
    };
    let appendix = Allowance::new(work.replaced_tokens, work.settings.reserve_tokens).appendix;
    let (missing, mut report) = identifiers::check(&body, &outline.identifiers);
    let restored = identifiers::restore(&missing, appendix);
    report.restored = restored.as_ref().map_or(0, |restored| restored.count);
    let block = restored.map(|restored| restored.block);
    let ledger = outline.ledger.render(appendix);
    let summary = framing::frame(&work.settings, &body, block.as_deref(), &outline.files, &ledger);
    let counted = tokens::count_message(work.settings.estimator, &Message::text(Role::User, summary.as_str()));
    let record = CompactionRecord {
        anchors: outline.anchors.iter().map(|anchor| anchor.id).collect(),
        summary: Some(summary),
        summary_body: Some(body),
        elisions: outline.elisions.clone(),
        summary_tokens: counted.total,
        details: outline.files.clone(),
        from_hook: outline.from_caller,
        identifiers: outline.identifiers.clone(),
        ledger: outline.ledger.clone(),
        ..CompactionRecord::default()
    };
    Draft { record, identifiers: report }
}

/// The entry behind the newest leaf. Its tokens are the summary's and enter the context through the view alone.
fn compaction_entry(head: &Head, work: &Work, draft: &mut Draft, before: u64) -> NewEntry {
    let record = &mut draft.record;
    record.anchors = work.outline.anchors.iter().map(|anchor| anchor.id).collect();
    record.first_kept_entry_id = work.outline.first_kept.id.to_string();
    record.strategy = Some(work.strategy);
    record.tokens_before = before;
    record.reverts = None;
    let mut state = head.state.clone();
    rebase(&mut state, &work.outline, record);
    record.tokens_after = state.snapshot(&head.settings).tokens;
    entry_of(head, record.clone())
}

/// A compaction entry with this record, behind the leaf.
pub(super) fn entry_of(head: &Head, record: CompactionRecord) -> NewEntry {
    let now = clock::now();
    let seq = head.row.next_seq;
    let branch = if head.state.leaf_is_tip { head.row.leaf_branch } else { head.row.next_branch };
    let mut item = serde_json::to_value(&record).unwrap_or_default();
    if let Some(fields) = item.as_object_mut() {
        fields.insert("type".to_owned(), "compaction".into());
    }
    NewEntry {
        head: EntryHead {
            id: clock::entry_id(now, seq),
            seq,
            depth: head.row.leaf_depth + 1,
            kind: EntryType::Compaction,
            role: None,
            tokens: record.summary_tokens,
            path_tokens: head.state.account.path_tokens,
            usage: None,
            shape: Shape::default(),
        },
        branch,
        parent_id: head.row.leaf_id,
        path_result_tokens: head.state.account.path_result_tokens,
        source_format: Format::Native,
        source_id: None,
        item: item.to_string(),
        record: Some(record),
        created_at: now,
    }
}

pub(super) fn new_branch(head: &Head, branch: i32) -> Vec<NewBranch> {
    if head.state.leaf_is_tip {
        return Vec::new();
    }
    vec![NewBranch {
        branch,
        parent_session: head.session_id,
        parent_branch: head.row.leaf_branch,
        fork_depth: head.row.leaf_depth,
    }]
}

/// Moves the head behind the entry. The version is moved on by the write.
pub(super) fn advance(head: &mut Head, mut state: SessionState, entry: &NewEntry) -> Result<Snapshot> {
    if !state.leaf_is_tip {
        head.row.next_branch += 1;
        state.leaf_is_tip = true;
    }
    head.row.next_seq += 1;
    head.row.entry_count += 1;
    head.row.leaf_branch = entry.branch;
    head.row.leaf_depth = entry.head.depth;
    head.row.leaf_id = Some(entry.head.id);
    head.state = state;
    head.state.write_to(&mut head.row, &head.settings)
}

/// The account of the new view: anchors and kept entries with their elisions, and the summary.
fn rebase(state: &mut SessionState, outline: &Outline, record: &CompactionRecord) {
    let kept = outline.first_kept;
    let anchors: std::collections::HashSet<Uuid> = outline.anchors.iter().map(|anchor| anchor.id).collect();
    let anchored = view::size_of(outline.anchors.iter(), &record.elisions);
    let freed: i64 = record
        .elisions
        .iter()
        .filter(|elision| !anchors.contains(&elision.entry_id))
        .map(|elision| i64::from(elision.tokens_before) - i64::from(elision.tokens_after))
        .sum();
    let all = state.account.path_tokens - kept.path_tokens_before;
    let results = state.account.path_result_tokens - kept.path_result_tokens_before;
    let summary = if record.summary.is_some() { i64::from(record.summary_tokens) } else { 0 };
    state.account.rebase(summary, anchored.messages + all - results, anchored.tool_results + results - freed);
}

fn elapsed(compaction: &CompactionRow, now: DateTime<Utc>) -> u64 {
    let from = compaction.started_at.unwrap_or(compaction.created_at);
    u64::try_from((now - from).num_milliseconds()).unwrap_or(0)
}

/// A result that says only how the context stands.
fn blank(requested: Strategy, measured: Measured) -> CompactionResult {
    let held = measured.reason == Some(Reason::AntiThrash);
    let after = measured.snapshot.tokens;
    CompactionResult {
        entry_id: measured.entry_id,
        strategy_used: requested,
        strategy_requested: requested,
        summary: None,
        first_kept_entry_id: None,
        is_split_turn: false,
        tokens_before: measured.before,
        tokens_after: after,
        tokens_saved: measured.before.saturating_sub(after),
        savings_pct: savings_pct(measured.before, after),
        messages_summarized: 0,
        messages_kept: u32::try_from(measured.kept).unwrap_or(u32::MAX),
        messages_removed: 0,
        masking_tokens_freed: 0,
        tool_results_masked: 0,
        tool_results_pruned: 0,
        previous_summary_reused: false,
        was_skipped_due_to_low_savings: held,
        skip_reason: measured.reason,
        fallback: Fallback::default(),
        details: FileLists::default(),
        identifiers: IdentifierReport::default(),
        final_state: measured.snapshot.state,
        anti_thrash: measured.snapshot.anti_thrash,
        upstream: UpstreamReport::default(),
        net: NetReport::default(),
        duration_ms: measured.duration_ms,
    }
}

fn result(work: &Work, outcome: &SummaryOutcome, draft: Option<&Draft>, measured: Measured) -> CompactionResult {
    let outline = &work.outline;
    let blank = blank(work.requested, measured);
    let strategy_used = match work.strategy {
        _ if outline.elides_only => work.strategy,
        _ if outcome.builtin => Strategy::Summarize,
        other => other,
    };
    CompactionResult {
        strategy_used,
        summary: draft.and_then(|draft| draft.record.summary.clone()),
        first_kept_entry_id: Some(outline.first_kept.id.to_string()),
        is_split_turn: outline.is_split_turn,
        messages_summarized: outline.summarized,
        messages_removed: outline.summarized,
        masking_tokens_freed: outline.mask_freed,
        tool_results_masked: outline.masked,
        tool_results_pruned: outline.pruned,
        previous_summary_reused: outline.previous.as_ref().is_some_and(|record| record.summary.is_some())
            && (outline.elides_only || work.settings.iterative),
        fallback: outcome.fallback.clone(),
        details: outline.files.clone(),
        identifiers: draft.map(|draft| draft.identifiers.clone()).unwrap_or_default(),
        upstream: outcome.upstream.clone(),
        net: NetReport {
            tokens_shed_per_turn: blank.tokens_saved,
            summary_cost_usd: outcome.upstream.cost_usd,
            break_even_turns: None,
        },
        ..blank
    }
}

fn count_end(status: &'static str, strategy: Strategy, trigger: Trigger) {
    let strategy = word(&strategy).unwrap_or_default();
    metrics::counter!(
        "contextd_compactions_total", "status" => status, "strategy" => strategy, "trigger" => trigger.as_str()
    )
    .increment(1);
}

fn observe(result: &CompactionResult, trigger: Trigger, status: &'static str) {
    count_end(status, result.strategy_used, trigger);
    metrics::histogram!("contextd_compaction_savings_percent").record(result.savings_pct);
    metrics::histogram!("contextd_compaction_duration_seconds").record(result.duration_ms as f64 / 1_000.0);
}
