//! Preparing: what a compaction would do, without doing it.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::context::standpoint;
use super::counting::Planning;
use super::error::{Result, ServiceError};
use super::head::SessionState;
use super::history::message_of;
use super::navigation::own_file_lists;
use super::state::{Service, Tenant};
use super::view::{self, Loaded, Read};
use super::work::Material;
use crate::domain::accounting::fill_state;
use crate::domain::compaction::{FillState, Reason};
use crate::domain::entry::{EntryHead, EntryType};
use crate::domain::files::{FileOps, FileTable, OpenFile};
use crate::domain::json;
use crate::domain::mask;
use crate::domain::prepare::{Plan, prepare, prepare_at};
use crate::domain::prices::{Price, Prices};
use crate::domain::settings::{FileTool, Settings, Strategy, merge_patch};
use crate::domain::view::NewestCompaction;
use crate::store::compactions;
use crate::store::entries::StoredEntry;

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
    pub summarizer_input_tokens: u64,
    /// Null where the upstream has no price.
    pub cost_usd: Option<f64>,
}

/// Tokens of a summary's fixed parts (framing, file lists, headings), for forecasts only.
const SUMMARY_FRAME_TOKENS: u64 = 200;
/// How much smaller than its span a summary is expected to be, for forecasts only.
const SUMMARY_RATIO: u64 = 10;

impl Service {
    /// Plans a compaction. Asks no model and changes nothing.
    pub async fn prepare(&self, tenant: Tenant, session_id: Uuid, request: PrepareRequest) -> Result<Prepared> {
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let settings = if request.settings.is_empty() {
            (*head.settings).clone()
        } else {
            self.session_settings(&mut connection, tenant, session_id, &request.settings).await?
        };
        let (from, state) = standpoint(&mut connection, tenant, &head, request.leaf_id).await?;
        let loaded = view::load_view(&mut connection, tenant, &from, Read::Heads).await?;
        // One that is prepared and waits gives way to a call.
        let live = compactions::live(&mut *connection, tenant.0, session_id).await?.is_some_and(|live| !live.prepared);
        let asked = Planning {
            loaded: &loaded,
            state: &state,
            settings: &settings,
            strategy: settings.strategy,
            automatic: false,
        };
        let plan = asked.plan(&mut connection, tenant, None).await?;
        let reason = if live {
            Some(Reason::InProgress)
        } else if !settings.enabled {
            Some(Reason::Disabled)
        } else {
            plan.as_ref().err().copied().or_else(|| held_back(&state, &settings))
        };
        let preparation = match plan {
            Ok(plan) => {
                let leaf_id = request.leaf_id.or(head.row.leaf_id);
                let price = summariser_price(&self.options().prices, &settings);
                let shown = Forecast { loaded: &loaded, state: &state, settings: &settings, plan: &plan, price };
                Some(shown.show(&mut connection, tenant, leaf_id, request.include_messages).await?)
            }
            Err(_) => None,
        };
        Ok(Prepared { possible: reason.is_none(), reason, preparation })
    }

    /// What [`Service::prepare`] shows, messages included, of a compaction that is planned already.
    pub(crate) async fn preparation(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        leaf_id: Option<Uuid>,
        material: &Material,
    ) -> Result<Option<Preparation>> {
        let Material { loaded, state, settings, plan, .. } = material;
        let Ok(plan) = plan else { return Ok(None) };
        let price = summariser_price(&self.options().prices, settings);
        let forecast = Forecast { loaded, state, settings, plan, price };
        forecast.show(connection, tenant, leaf_id, true).await.map(Some)
    }

    /// The session's settings with a patch for one call.
    pub(crate) async fn session_settings(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        patch: &Map<String, Value>,
    ) -> Result<Settings> {
        let found = crate::store::sessions::head(&mut *connection, tenant.0, session_id)
            .await?
            .ok_or(ServiceError::NotFound("session"))?;
        let merged = merge_patch(&json::parse_object(&found.settings), patch);
        self.inner.resolve_map(&merged, found.model.as_deref())
    }
}

fn held_back(state: &SessionState, settings: &Settings) -> Option<Reason> {
    let (tokens, _) = state.account.tokens(settings.estimator);
    let admitted = state.guard.clone().admit(tokens, state.messages, settings);
    (!admitted).then_some(Reason::AntiThrash)
}

/// The plan of a loaded view, with the caller's own cut where there is one.
pub(crate) fn plan_on(
    loaded: &Loaded,
    settings: &Settings,
    first_kept: Option<Uuid>,
) -> std::result::Result<Plan, Reason> {
    as_standing(loaded, |heads, newest| match first_kept {
        None => prepare(heads, newest, settings),
        Some(id) => {
            let place = heads.iter().position(|head| head.id == id).ok_or(Reason::NoValidCutPoint)?;
            prepare_at(heads, newest, settings, place)
        }
    })
}

/// Plans on what stands: a compaction that was taken back does not count as one just done.
pub(crate) fn as_standing<T>(loaded: &Loaded, plan: impl FnOnce(&[EntryHead], Option<NewestCompaction<'_>>) -> T) -> T {
    let reverted = loaded.newest.as_ref().is_some_and(|newest| newest.is_revert);
    if !reverted {
        return plan(&loaded.heads, loaded.compaction());
    }
    // The record stays in force; only the entry at the end must not read as "already compacted".
    let mut heads = loaded.heads.clone();
    while heads.last().is_some_and(|head| head.kind == EntryType::Compaction) {
        heads.pop();
    }
    let compaction = loaded
        .compaction()
        .map(|compaction| NewestCompaction { index: compaction.index.min(heads.len()), ..compaction });
    plan(&heads, compaction)
}

/// The files that earlier summaries tell of.
pub(crate) fn seeded_files(loaded: &Loaded) -> FileOps {
    let mut ops = FileOps::default();
    if let Some(record) = loaded.record().filter(|record| !record.from_hook) {
        ops.seed(&record.details);
    }
    ops
}

/// What a forecast takes from the span's items.
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
    loaded: &'a Loaded,
    state: &'a SessionState,
    settings: &'a Settings,
    plan: &'a Plan,
    /// Of the summariser; `None`: not known.
    price: Option<Price>,
}

/// Only these strategies ask a model.
fn summariser_price(prices: &Prices, settings: &Settings) -> Option<Price> {
    match settings.strategy {
        Strategy::Auto | Strategy::LlmSummarize => prices.of_upstream(settings.upstream.as_deref()),
        _ => Some(Price::default()),
    }
}

impl Forecast<'_> {
    async fn show(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        leaf_id: Option<Uuid>,
        include_messages: bool,
    ) -> Result<Preparation> {
        let span: Vec<usize> = self.plan.history.iter().chain(&self.plan.turn_prefix).copied().collect();
        // Files are told from calls alone, so only those items are read unless all messages are asked for.
        let needed = |index: &&usize| include_messages || !self.loaded.heads[**index].shape.calls.is_empty();
        let items = self.read(connection, tenant, span.iter().filter(needed), include_messages).await?;
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
            first_kept_entry_id: self.loaded.heads.get(self.plan.first_kept).map(|head| head.id),
            messages_to_summarize: planned(&self.plan.history),
            turn_prefix_messages: planned(&self.plan.turn_prefix),
            anchor_entry_ids: self.plan.anchors.iter().map(|index| self.loaded.heads[*index].id).collect(),
            is_split_turn: self.plan.is_split_turn,
            tokens_before,
            tokens_to_summarize: self.plan.tokens_to_summarize,
            tokens_kept: self.plan.tokens_kept,
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
        indexes: impl Iterator<Item = &usize>,
        include_messages: bool,
    ) -> Result<SpanItems> {
        let segments = super::tool_calls::join(indexes.map(|index| self.loaded.segment(*index)));
        let items = SpanItems {
            file_tools: self.settings.file_tools.clone(),
            files: seeded_files(self.loaded),
            open_file: OpenFile::default(),
            messages: include_messages.then(HashMap::new),
        };
        super::stretches::fold(connection, tenant, &segments, items, SpanItems::take).await
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
        let fixed = u64::from(self.state.account.system) + u64::from(self.state.account.tools);
        let previous = self.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
        let bound = self.settings.summary_max_tokens.map_or(u64::MAX, u64::from);
        let summary = (self.plan.tokens_to_summarize / SUMMARY_RATIO + previous / 2 + SUMMARY_FRAME_TOKENS).min(bound);
        let after = (fixed + self.plan.tokens_kept + summary).min(tokens_before);
        let summarizer_input_tokens = self.plan.tokens_to_summarize + previous;
        Estimate {
            tokens_after: after,
            savings_pct: crate::domain::guard::savings_pct(tokens_before, after),
            summarizer_input_tokens,
            cost_usd: self.price.map(|price| price.cost_usd(summarizer_input_tokens, summary)),
        }
    }
}
