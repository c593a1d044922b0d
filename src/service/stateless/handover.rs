//! Compacting a transcript as clients of OpenAI's compaction expect it: the user's messages stay, and a sealed handle
//! stands for all else.

use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde_json::Map;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{Stateless, StatelessRequest, Summariser, read_and_decide};
use crate::domain::compaction::prepare::prepare_at;
use crate::domain::compaction::result::CompactionResult;
use crate::domain::context::view::ViewItem;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::format::Format;
use crate::domain::model::framed::is_framed;
use crate::domain::model::handle;
use crate::domain::model::message::Role;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::Snapshot;
use crate::domain::tokens::prices::NetReport;
use crate::service::compaction::commit::draft::{SummaryDraft, draft};
use crate::service::compaction::commit::report::{Measured, result};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::offload::{load, offload};
use crate::service::core::tenant::Tenant;
use crate::service::hooks::About;
use crate::service::path::entries::message_of;
use crate::service::path::view::PathSlice;
use crate::trace;

/// The share of the usable window that the user's messages may take beside the handle: one in so many. The first of
/// them stays however large it is; older ones that have no room are told in the summary.
const KEPT_SHARE: u64 = 4;

/// A transcript to be handed over, and what goes with it.
#[derive(Debug, Clone)]
pub struct HandoverRequest {
    pub format: Format,
    /// Its window decides how much is kept.
    pub model: Option<String>,
    pub items: Vec<Box<RawValue>>,
    /// As its format has it.
    pub system: Option<Box<RawValue>>,
    /// In place of the template's.
    pub prompt: Option<String>,
    /// Notes that a caller or a hook gave to the session that keeps it.
    pub given: Option<String>,
}

/// What takes the place of a transcript.
#[derive(Debug, Clone)]
pub struct Handover {
    /// Items that stay, as they came: the user's messages, instructions, and what another service has sealed.
    pub kept: Vec<Box<RawValue>>,
    /// Sealed: the summary of all else, and what the next compaction needs of it.
    pub handle: String,
    pub usage: HandoverUsage,
    /// For the session that keeps it; `None`: nothing was summarised.
    pub compaction: Option<HandedCompaction>,
}

/// A compaction that was handed over, as a session's list has it once its session is known.
#[derive(Debug, Clone)]
pub struct HandedCompaction {
    /// Its calls are accounted under this id.
    pub(crate) id: Uuid,
    pub(crate) started: DateTime<Utc>,
    pub(crate) before: Snapshot,
    pub(crate) result: CompactionResult,
}

/// Tokens of the calls to a model; without a call those of transcript and summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandoverUsage {
    /// Cached ones included.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

/// Which messages stay beside the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Staying {
    OfUser,
    Nothing,
}

/// What takes the place of a transcript, before it is sealed.
struct Replaced {
    record: CompactionRecord,
    kept: Vec<Box<RawValue>>,
    usage: HandoverUsage,
    compaction: Option<HandedCompaction>,
}

/// A transcript of which a summary is to take the place of all but the anchors.
struct WholePlan {
    id: Uuid,
    started: DateTime<Utc>,
    head: Head,
    planned: Arc<PlannedCompaction>,
    /// `None`: there is nothing to summarise.
    work: Option<CompactionWork>,
}

impl Stateless {
    /// Compacts all of a transcript but what the user said. What is too little to be summarised is handed over with an
    /// earlier handle's record, or none.
    ///
    /// # Errors
    /// `Invalid` and `HandleRefused` with pointers `/items/{n}…`; `Conflict` `summary_failed` where the settings allow no
    /// stand-in for an upstream that failed.
    pub async fn hand_over(&self, tenant: Tenant, request: HandoverRequest, by: &dyn Summariser) -> Result<Handover> {
        let Replaced { record, kept, usage, compaction } = self.replaced(tenant, request, Staying::OfUser, by).await?;
        let handle = self.handles.seal(tenant, record).await?;
        Ok(Handover { kept, handle, usage, compaction })
    }

    /// Sums up all of a transcript. `None`: it is too little.
    ///
    /// # Errors
    /// Those of [`Stateless::hand_over`].
    pub async fn sum_up(
        &self,
        tenant: Tenant,
        request: HandoverRequest,
        by: &dyn Summariser,
    ) -> Result<(Option<String>, HandoverUsage)> {
        let Replaced { record, usage, .. } = self.replaced(tenant, request, Staying::Nothing, by).await?;
        Ok((record.summary, usage))
    }

    /// The record of a compaction that replaces all but what stays, and what stays.
    async fn replaced(
        &self,
        tenant: Tenant,
        request: HandoverRequest,
        staying: Staying,
        by: &dyn Summariser,
    ) -> Result<Replaced> {
        let mut asked = Map::new();
        asked.extend(request.prompt.map(|prompt| ("prompt".to_owned(), prompt.into())));
        if staying == Staying::Nothing {
            asked.insert("anchor_first_user".to_owned(), false.into());
        }
        let settings = Arc::new(self.settings.resolve_map(&asked, request.model.as_deref())?);
        let transcript = StatelessRequest {
            format: request.format,
            items: request.items,
            system: request.system,
            tools: None,
            settings: Map::new(),
            strategy: None,
            focus_topic: None,
        };
        let (head, loaded) = self.read(tenant, &transcript, settings).await?;
        let (bytes, given) = (load(&transcript.items), request.given);
        let plan = offload(bytes, move || WholePlan::of(tenant, head, loaded, (staying, given))).await??;
        let failed = |detail| ServiceError::Conflict { code: ConflictCode::SummaryFailed, detail };
        let outcome = match &plan.work {
            Some(work) => trace::stage("summarise", by.summarise(work)).await.map_err(failed)?,
            None => SummaryOutcome::default(),
        };
        offload(bytes, move || plan.carried_out(&outcome)).await?
    }
}

impl WholePlan {
    fn of(
        tenant: Tenant,
        head: Head,
        loaded: PathSlice,
        (staying, given): (Staying, Option<String>),
    ) -> Result<WholePlan> {
        let (id, started) = (clock::new_id(), clock::now());
        let pinned_entry_ids = match staying {
            Staying::OfUser => kept_messages(&loaded, &head.settings)?,
            Staying::Nothing => Vec::new(),
        };
        let settings = Settings { pinned_entry_ids, ..(*head.settings).clone() };
        // Others leave messages out unsummarised, or only show results shorter.
        let strategy = match settings.strategy {
            strategy @ (Strategy::Summarize | Strategy::LlmSummarize) => strategy,
            _ => Strategy::Auto,
        };
        let about = About { tenant, session_id: Uuid::nil(), compaction_id: Some(id) };
        let unplanned = PlannedCompaction::unplanned(&head, about, loaded, settings);
        let asked = PlannedCompaction { strategy, given, hands_over: true, ..unplanned };
        let heads = &asked.loaded.heads;
        let plan = prepare_at(heads, asked.loaded.compaction(), &asked.settings, heads.len());
        let planned = Arc::new(asked.with(plan));
        let work = match &planned.plan {
            Ok(_) => Some(read_and_decide(&planned)?.map_err(|reason| anyhow::anyhow!("a plan in vain: {reason:?}"))?),
            Err(_) => None,
        };
        Ok(WholePlan { id, started, head, planned, work })
    }

    /// The record to be sealed, the items that stay, and what it took.
    fn carried_out(&self, outcome: &SummaryOutcome) -> Result<Replaced> {
        let loaded = &self.planned.loaded;
        let (mut record, compaction) = match &self.work {
            Some(work) => {
                let draft = draft(work, outcome);
                let compaction = self.compaction(work, outcome, &draft);
                (draft.record, Some(compaction))
            }
            None => (loaded.record().cloned().unwrap_or_default(), None),
        };
        // The user's newest messages stay by themselves.
        record.forget_running();
        let kept = match &self.planned.plan {
            Ok(plan) => plan.anchors.clone(),
            Err(_) => shown(loaded).filter(|index| handle::stays(&loaded.heads[*index])).collect(),
        };
        let item = |index: usize| RawValue::from_string(loaded.stored[index].entry.item.clone());
        let kept = kept.into_iter().map(item).collect::<std::result::Result<_, _>>().context("an item that came")?;
        let usage = self.usage(outcome, &record);
        Ok(Replaced { record, kept, usage, compaction })
    }

    /// What is only known once it is stored is left as it was before.
    fn compaction(&self, work: &CompactionWork, outcome: &SummaryOutcome, draft: &SummaryDraft) -> HandedCompaction {
        let before = self.head.snapshot();
        let measured = Measured {
            entry_id: None,
            before: before.tokens,
            snapshot: before.clone(),
            kept: work.outline.kept,
            reason: None,
            duration_ms: u64::try_from((clock::now() - self.started).num_milliseconds()).unwrap_or(0),
        };
        let net = NetReport { summary_cost_usd: outcome.upstream.cost_usd, ..NetReport::default() };
        let mut result = result(work, outcome, draft, measured, net);
        // No entry of this id is anywhere.
        result.first_kept_entry_id = None;
        HandedCompaction { id: self.id, started: self.started, before, result }
    }

    fn usage(&self, outcome: &SummaryOutcome, record: &CompactionRecord) -> HandoverUsage {
        let upstream = &outcome.upstream;
        if upstream.calls > 0 {
            let (input, cached) = (upstream.input_tokens, upstream.cached_tokens);
            return HandoverUsage { input, cached, output: upstream.output_tokens };
        }
        let input = u64::try_from(self.head.state.account.estimated()).unwrap_or(0);
        HandoverUsage { input, cached: 0, output: u64::from(record.summary_tokens) }
    }
}

/// The ids of the user's messages that stay: the newest first while there is room, then what a harness said under the
/// user's name before the first answer. A summary message of this service is none.
fn kept_messages(loaded: &PathSlice, settings: &Settings) -> Result<Vec<Uuid>> {
    let first_answer = loaded.heads.iter().position(EntryMeta::is_answer).unwrap_or(usize::MAX);
    let (mut said, mut preamble) = (Vec::new(), Vec::new());
    for index in shown(loaded) {
        let head = &loaded.heads[index];
        let is_alone = head.shape.results.is_empty() && head.shape.links.needs.is_empty();
        if head.role != Some(Role::User) || !is_alone {
            continue;
        }
        if head.is_by_user(&settings.agents) {
            said.push(head);
        } else if index < first_answer && !is_summary(loaded, index)? {
            preamble.push(head);
        }
    }
    let mut room = u64::from(settings.usable()) / KEPT_SHARE;
    let mut fits = |head: &&EntryMeta| {
        let left = room.checked_sub(u64::from(head.tokens));
        room = left.unwrap_or(room);
        left.is_some()
    };
    let newest = said.into_iter().rev().chain(preamble.into_iter().rev());
    Ok(newest.filter(|head| fits(head)).map(|head| head.id).collect())
}

fn is_summary(loaded: &PathSlice, index: usize) -> Result<bool> {
    Ok(message_of(&loaded.stored[index])?.is_some_and(|message| is_framed(&message.plain_text())))
}

/// The places of the entries that a view shows.
fn shown(loaded: &PathSlice) -> impl Iterator<Item = usize> {
    loaded.view().into_iter().filter_map(|item| match item {
        ViewItem::Entry { index, .. } => Some(index),
        ViewItem::Summary { .. } => None,
    })
}
