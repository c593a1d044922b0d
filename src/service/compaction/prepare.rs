//! Preparing: what a compaction would do, without doing it.

mod forecast;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::compaction::mask;
use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::Reason;
use crate::domain::context::view::item_tokens;
use crate::domain::settings::{FileTool, Settings};
use crate::domain::summary::Allowance;
use crate::domain::summary::files::{FileOps, FileTable, OpenFile};
use crate::domain::tokens::accounting::{FillState, fill_state};
use crate::domain::tokens::prices::{ContextChange, NetReport, Price, SessionPrices, net};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::core::error::Result;
use crate::service::core::head::{Head, SessionState};
use crate::service::core::long_reads::LONG_READ;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::About;
use crate::service::path::batches;
use crate::service::path::entries::message_of;
use crate::service::path::file_lists::own_file_lists;
use crate::service::path::file_lists::seeded_files;
use crate::service::path::view::view_origin;
use crate::service::path::view::{self, PathSlice, ReadMode, ViewOrigin};
use crate::store::compactions;
use crate::store::entries::StoredEntry;
use forecast::{Foreseen, ForeseenSummary};

#[derive(Debug, Clone, Default)]
pub struct PrepareRequest {
    pub leaf_id: Option<Uuid>,
    /// Settings for this call only.
    pub settings: Map<String, Value>,
    pub include_messages: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Prepared {
    pub possible: bool,
    pub reason: Option<Reason>,
    /// Whether the session compacts by itself; a call compacts in any case.
    pub enabled: bool,
    pub preparation: Option<Preparation>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Preparation {
    pub leaf_id: Option<Uuid>,
    pub first_kept_entry_id: Option<Uuid>,
    pub messages_to_summarize: Vec<PlannedMessage>,
    pub turn_prefix_messages: Vec<PlannedMessage>,
    pub anchor_entry_ids: Vec<Uuid>,
    pub is_split_turn: bool,
    pub tokens_before: u64,
    pub tokens_to_summarize: u64,
    pub tokens_kept: u64,
    pub previous_summary: Option<String>,
    pub file_ops: FileOpsView,
    pub mask: MaskForecast,
    pub estimate: Estimate,
    pub settings: Settings,
}

/// An entry id, or with `include_messages` the message too.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum PlannedMessage {
    Id(Uuid),
    Message {
        entry_id: Uuid,
        #[schema(value_type = Object)]
        message: Value,
    },
}

/// Sorted paths by what was done to them.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct FileOpsView {
    pub read: Vec<String>,
    pub written: Vec<String>,
    pub edited: Vec<String>,
}

/// What masking alone would free, and whether that is enough to leave red.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct MaskForecast {
    pub tool_results: u32,
    pub tokens_freed: u64,
    pub sufficient: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Estimate {
    pub tokens_after: u64,
    pub savings_pct: f64,
    /// Of what a summariser would read: the span as it is told it, the summary before and the prompt.
    pub summarizer_input_tokens: u64,
    /// 0 where no model would be asked. Null where the upstream has no price.
    pub cost_usd: Option<f64>,
    /// As a compaction of now would report it.
    pub net: NetReport,
}

impl Service {
    /// Plans a compaction. Asks no model and changes nothing.
    pub async fn prepare(&self, tenant: Tenant, session_id: Uuid, request: PrepareRequest) -> Result<Prepared> {
        let head = self.inner.heads.read(self.pool(), tenant, session_id).await?;
        let length = if request.leaf_id.is_some() { head.row.entry_count } else { head.view_length() };
        // The turn is for all of it: what is foreseen is read through connections of its own.
        let _turn = if length > LONG_READ { Some(self.inner.long_reads.turn(tenant).await?) } else { None };
        let mut connection = self.pool().acquire().await?;
        let settings = if request.settings.is_empty() {
            (*head.settings).clone()
        } else {
            let settings =
                self.inner.heads.settings_with(&mut *connection, tenant, session_id, &request.settings).await?;
            self.inner
                .settings
                .check_named(&mut connection, tenant, session_id, &head.settings, &request.settings)
                .await?;
            settings
        };
        let (from, state) = view_origin(&mut connection, tenant, &head, request.leaf_id).await?;
        // One that is prepared and waits gives way to a call.
        let live = compactions::live(&mut *connection, tenant.0, session_id).await?.is_some_and(|live| !live.prepared);
        let about = About { tenant, session_id, compaction_id: None };
        let prices = self.inner.heads.prices(head.model.as_deref(), settings.strategy, &settings);
        let standing = Head { state, settings: Arc::new(settings), prices, ..head.clone() };
        let planned = plan_of_call(&mut connection, about, &standing, from).await?;
        drop(connection);
        let foreseen = self.foresee(standing, &planned).await?;
        let PlannedCompaction { state, settings, .. } = &*planned;
        // In the order in which a call would find them.
        let reason = match &foreseen {
            _ if live => Some(Reason::InProgress),
            Err(Reason::FixedOverhead) => Some(Reason::FixedOverhead),
            foreseen => held_back(state, settings).or(foreseen.as_ref().err().copied()),
        };
        let preparation = match foreseen {
            Ok(foreseen) => {
                let leaf_id = request.leaf_id.or(head.row.leaf_id);
                let mut connection = self.pool().acquire().await?;
                let forecast = Forecast::of(&planned, Some(foreseen));
                Some(forecast.show(&mut connection, tenant, leaf_id, request.include_messages).await?)
            }
            Err(_) => None,
        };
        Ok(Prepared { possible: reason.is_none(), reason, enabled: settings.enabled, preparation })
    }

    /// The same of a compaction that is planned already, messages included.
    pub(super) async fn preparation(&self, planned: &PlannedCompaction) -> Result<Option<Preparation>> {
        if planned.plan.is_err() {
            return Ok(None);
        }
        let mut connection = self.pool().acquire().await?;
        let (tenant, leaf_id) = (planned.about.tenant, planned.basis.leaf_id);
        Forecast::of(planned, None).show(&mut connection, tenant, leaf_id, true).await.map(Some)
    }
}

/// As a plain call to compact would be planned.
async fn plan_of_call(
    connection: &mut PgConnection,
    about: About,
    head: &Head,
    origin: ViewOrigin,
) -> Result<Arc<PlannedCompaction>> {
    let loaded = view::load_view(connection, about.tenant, &origin, ReadMode::Heads).await?;
    let asked = PlannedCompaction::unplanned(head, about, loaded, (*head.settings).clone());
    let again = head.state.account.exceeds_window(&head.settings);
    let plan = asked.planning(again).plan(connection, about.tenant, None).await?;
    Ok(Arc::new(PlannedCompaction { origin, ..asked.with(plan) }))
}

fn held_back(state: &SessionState, settings: &Settings) -> Option<Reason> {
    let (tokens, _) = state.account.tokens(settings.estimator);
    let admitted = state.guard.clone().admit(tokens, state.messages, settings);
    (!admitted).then_some(Reason::AntiThrash)
}

/// Files and messages that a forecast takes from the span's items.
struct SpanItems {
    file_tools: BTreeMap<String, FileTool>,
    files: FileOps,
    open_file: OpenFile,
    /// By entry; `None`: the messages are not asked for.
    messages: Option<HashMap<Uuid, Value>>,
}

impl SpanItems {
    fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let Some(message) = message_of(stored)? else { return Ok(()) };
        self.files.note(&message, FileTable::new(&self.file_tools), &mut self.open_file);
        own_file_lists(stored).iter().for_each(|lists| self.files.seed(lists));
        if let Some(messages) = &mut self.messages {
            messages.insert(stored.entry.head.id, serde_json::to_value(&message).unwrap_or(Value::Null));
        }
        Ok(())
    }
}

struct Forecast<'a> {
    loaded: &'a PathSlice,
    state: &'a SessionState,
    settings: &'a Settings,
    /// Plan of what is replaced and what stays; `None` where results and arguments are only shown shorter.
    plan: Option<&'a Plan>,
    prices: SessionPrices,
    /// Context that the compaction would leave; `None` where that is not worked out.
    foreseen: Option<Foreseen>,
}

impl<'a> Forecast<'a> {
    fn of(planned: &'a PlannedCompaction, foreseen: Option<Foreseen>) -> Forecast<'a> {
        let PlannedCompaction { loaded, state, settings, plan, prices, .. } = planned;
        let elides = foreseen.as_ref().is_some_and(|foreseen| foreseen.elides_only);
        let plan = plan.as_ref().ok().filter(|_| !elides);
        Forecast { loaded, state, settings, plan, prices: *prices, foreseen }
    }

    /// Ids of what stays before the cut.
    fn anchors(&self) -> Vec<Uuid> {
        match (self.plan, &self.foreseen) {
            (Some(plan), _) => {
                plan.anchors.iter().filter_map(|index| self.loaded.heads.get(*index)).map(|head| head.id).collect()
            }
            (None, Some(foreseen)) => foreseen.anchors.clone(),
            (None, None) => Vec::new(),
        }
    }

    fn first_kept(&self) -> Option<Uuid> {
        match self.plan {
            Some(plan) => self.loaded.heads.get(plan.first_kept).map(|head| head.id),
            None => self.foreseen.as_ref().map(|foreseen| foreseen.first_kept),
        }
    }

    /// Of all messages that are shown, where none is replaced.
    fn tokens_kept(&self) -> u64 {
        match self.plan {
            Some(plan) => plan.tokens_kept,
            None => self.loaded.view().iter().map(|item| item_tokens(&self.loaded.heads, item)).sum(),
        }
    }

    async fn show(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        leaf_id: Option<Uuid>,
        include_messages: bool,
    ) -> Result<Preparation> {
        let (history, prefix) = self.plan.map_or((&[][..], &[][..]), |plan| (&plan.history[..], &plan.turn_prefix[..]));
        let span: Vec<usize> = history.iter().chain(prefix).copied().collect();
        let items = self.read(connection, tenant, &span, include_messages).await?;
        let (ops, mut messages) = (items.files, items.messages.unwrap_or_default());
        let mut planned = |indexes: &[usize]| -> Vec<PlannedMessage> {
            let show = |index: &usize| {
                let entry_id = self.loaded.heads[*index].id;
                match messages.remove(&entry_id) {
                    Some(message) => PlannedMessage::Message { entry_id, message },
                    None => PlannedMessage::Id(entry_id),
                }
            };
            indexes.iter().map(show).collect()
        };
        let record = self.loaded.record();
        let (tokens_before, _) = self.state.account.tokens(self.settings.estimator);
        Ok(Preparation {
            leaf_id,
            first_kept_entry_id: self.first_kept(),
            messages_to_summarize: planned(history),
            turn_prefix_messages: planned(prefix),
            anchor_entry_ids: self.anchors(),
            is_split_turn: !prefix.is_empty(),
            tokens_before,
            tokens_to_summarize: self.plan.map_or(0, |plan| plan.tokens_to_summarize),
            tokens_kept: self.tokens_kept(),
            previous_summary: record.and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone())),
            file_ops: FileOpsView {
                read: ops.read.into_iter().collect(),
                written: ops.written.into_iter().collect(),
                edited: ops.edited.into_iter().collect(),
            },
            mask: self.mask(),
            estimate: self.estimate(tokens_before),
            settings: self.settings.clone(),
        })
    }

    async fn read(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        indexes: &[usize],
        include_messages: bool,
    ) -> Result<SpanItems> {
        let segments = crate::store::path::join(indexes.iter().map(|index| self.loaded.segment(*index)));
        let items = SpanItems {
            file_tools: self.settings.file_tools.clone(),
            files: seeded_files(self.loaded),
            open_file: OpenFile::default(),
            messages: include_messages.then(HashMap::new),
        };
        if include_messages {
            return batches::fold(connection, tenant, &segments, items, SpanItems::take).await;
        }
        // Files are told from calls alone.
        batches::fold_calls(connection, tenant, &segments, items, SpanItems::take).await
    }

    fn mask(&self) -> MaskForecast {
        let plan = mask::plan(&self.loaded.view(), &self.loaded.heads, self.settings);
        let left = self.state.account.tokens_without(plan.tokens_freed, self.settings.estimator);
        MaskForecast {
            tool_results: plan.results,
            tokens_freed: plan.tokens_freed,
            sufficient: plan.results > 0 && fill_state(left, self.settings) != FillState::Red,
        }
    }

    fn estimate(&self, tokens_before: u64) -> Estimate {
        let (after, rewritten, summary) = match &self.foreseen {
            Some(foreseen) => (foreseen.tokens_after, foreseen.rewritten, foreseen.summary),
            None => self.rough(),
        };
        let after = after.min(tokens_before);
        let price = if summary.asks_model { self.prices.summary } else { Some(Price::default()) };
        let cost_usd = price.map(|price| price.cost_usd(summary.read, summary.written));
        let change = ContextChange { shed: tokens_before - after, rewritten };
        Estimate {
            tokens_after: after,
            savings_pct: crate::domain::compaction::guard::savings_pct(tokens_before, after),
            summarizer_input_tokens: summary.read,
            cost_usd,
            net: net(change, cost_usd, &self.prices.sent),
        }
    }

    /// The context, what of it is new behind system prompt and tools, and its summary, from sizes alone.
    fn rough(&self) -> (u64, u64, ForeseenSummary) {
        let (account, estimator) = (&self.state.account, self.settings.estimator);
        let previous = self.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
        let read = self.plan.map_or(0, |plan| plan.tokens_to_summarize) + previous;
        let bound = self.settings.summary_max_tokens.map_or(u64::MAX, u64::from);
        let written = Allowance::new(read, self.settings.summary_reserve()).likely().min(bound);
        let behind = self.tokens_kept() + written;
        let behind = account.part(behind, estimator);
        (account.overhead(estimator) + behind, behind, ForeseenSummary { read, written, asks_model: true })
    }
}
