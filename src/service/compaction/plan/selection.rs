//! Planning by strategy: what the counting strategies need to know of a context beside its heads, and the room that they
//! have. The summary message of such a strategy is given what it takes, not the most that it could: how large it is shows
//! only once the plan stands. So a plan is made beside the most that the message may take, the message is measured, and
//! the room that it leaves is filled: what is left out gets less by that, and so does the message.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::Reason;
use crate::domain::compaction::strategy::smart::Clues;
use crate::domain::compaction::strategy::{
    self, Choice, RoomForKept, ShownMessage, counts, notice, reserved, select, tail_start,
};
use crate::domain::context::view::{ViewItem, item_tokens};
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::strategy::Strategy;
use crate::domain::model::user_text::attributed;
use crate::domain::redaction::Redaction;
use crate::domain::settings::Settings;
use crate::domain::summary::{Allowance, SummaryMessage, identifiers};
use crate::domain::tokens::count_message;
use crate::service::compaction::plan::standing::{as_standing, is_carried, plan_on};
use crate::service::compaction::records::{Records, SpanRecords};
use crate::service::core::error::Result;
use crate::service::core::head::SessionState;
use crate::service::core::tenant::Tenant;
use crate::service::path::batches;
use crate::service::path::entries::message_of;
use crate::service::path::view::PathSlice;
use crate::store::entries::StoredEntry;
use crate::store::path::{Segment, join};

/// How often the room that was left is filled.
const ROUNDS: usize = 3;

/// A context, and the compaction that is planned on it.
pub(crate) struct Planning<'a> {
    pub loaded: &'a PathSlice,
    pub state: &'a SessionState,
    pub settings: &'a Settings,
    pub strategy: Strategy,
    /// Nobody asked for it.
    pub automatic: bool,
    /// Though the newest entry is a compaction: the context is still larger than the window.
    pub again: bool,
}

impl Planning<'_> {
    /// The plan, with the caller's own cut where there is one. The inner error is the reason to do nothing.
    pub async fn plan(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        first_kept: Option<Uuid>,
    ) -> Result<std::result::Result<Plan, Reason>> {
        let search = match self.search(first_kept) {
            None => None,
            Some((segments, search)) => {
                Some(batches::fold(connection, tenant, &segments, search, SelectionSearch::take).await?)
            }
        };
        let mut fitting = self.plan_with(first_kept, search);
        while let Some((segments, span)) = fitting.wants() {
            fitting.measure(batches::fold(&mut *connection, tenant, &segments, span, SpanRecords::take).await?);
        }
        Ok(fitting.finish())
    }

    /// Returns the segments to read before it can be planned, and the search over them. `None`: none are needed.
    pub fn search(&self, first_kept: Option<Uuid>) -> Option<(Vec<Segment>, SelectionSearch)> {
        (first_kept.is_none() && self.strategy == Strategy::Smart).then(|| {
            let items = shown_items(self.loaded);
            let segments = join(items.iter().map(|item| self.loaded.segment(item.index)));
            let found = Vec::with_capacity(items.len());
            (
                segments,
                SelectionSearch {
                    focus_topic: self.settings.focus_topic.clone(),
                    agents: self.settings.agents.clone(),
                    found,
                },
            )
        })
    }

    /// The plan, with what the [`Planning::search`] found; where the strategy counts, still to be fitted.
    pub fn plan_with(&self, first_kept: Option<Uuid>, search: Option<SelectionSearch>) -> PlanFitting<'_> {
        if first_kept.is_some() || !counts(self.strategy) {
            let plan = self.judged(plan_on(self.loaded, self.settings, first_kept, self.again));
            return PlanFitting::new(self, HashMap::new(), plan, None);
        }
        let place = |depth: i64| self.loaded.heads.binary_search_by_key(&depth, |head| head.depth).ok();
        let found = search.into_iter().flat_map(|search| search.found);
        let clues: HashMap<usize, Clues> = found.filter_map(|(depth, clues)| Some((place(depth)?, clues))).collect();
        let carried = self.carried();
        let plan = self.choose(RoomForKept::of(&self.state.account, self.settings, &carried, self.automatic), &clues);
        let reserved = reserved(self.settings, &carried, self.automatic);
        PlanFitting::new(self, clues, plan, reserved)
    }

    fn choose(&self, room: RoomForKept, clues: &HashMap<usize, Clues>) -> std::result::Result<Plan, Reason> {
        let items = shown_items(self.loaded);
        self.judged(as_standing(self.loaded, self.again, |path, newest| {
            let choice = Choice { path, newest, items: &items, settings: self.settings, room, clues };
            select(self.strategy, &choice)
        }))
    }

    /// Where nothing came after a compaction and it left nothing to do, that is the reason.
    fn judged(&self, plan: std::result::Result<Plan, Reason>) -> std::result::Result<Plan, Reason> {
        let is_last = self.again && self.loaded.heads.last().is_some_and(|head| head.kind == EntryType::Compaction);
        let reverted = self.loaded.newest.as_ref().is_some_and(|newest| newest.is_revert);
        let moved = reverted || is_carried(self.loaded);
        plan.map_err(|reason| match reason {
            Reason::NothingToCompact | Reason::NoValidCutPoint if is_last && !moved => Reason::AlreadyCompacted,
            other => other,
        })
    }

    /// Returns the text that the summary message holds already, without its notice.
    fn carried(&self) -> String {
        let record = self.loaded.record();
        let body = record.and_then(|record| record.summary_body.as_deref().or(record.summary.as_deref()));
        notice::without(body.unwrap_or_default())
    }

    /// Where the messages begin that `prune` as a strategy leaves alone.
    pub fn newest_from(&self) -> Option<usize> {
        let items = (self.strategy == Strategy::Prune).then(|| shown_items(self.loaded))?;
        let start = tail_start(&self.loaded.heads, &items, self.settings.preserve_recent);
        Some(items.get(start).map_or(usize::MAX, |item| item.index))
    }
}

/// Clues found in messages, gathered as they pass.
pub(crate) struct SelectionSearch {
    focus_topic: Option<String>,
    agents: Vec<String>,
    /// By depth.
    found: Vec<(i64, Clues)>,
}

impl SelectionSearch {
    pub fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let message = message_of(stored)?.map(|message| attributed(message, &self.agents));
        let clues = message.map(|message| Clues::of(&message, self.focus_topic.as_deref()));
        self.found.extend(clues.map(|clues| (stored.entry.head.depth, clues)));
        Ok(())
    }
}

/// The messages of a view, as large as they are shown.
pub(crate) fn shown_items(loaded: &PathSlice) -> Vec<ShownMessage> {
    let item = |item: &ViewItem| match item {
        ViewItem::Entry { index, .. } => Some(ShownMessage { index: *index, tokens: item_tokens(&loaded.heads, item) }),
        ViewItem::Summary { .. } => None,
    };
    loaded.view().iter().filter_map(item).collect()
}

/// A plan on its way to as much as there is room for.
pub(crate) struct PlanFitting<'p> {
    planning: &'p Planning<'p>,
    clues: HashMap<usize, Clues>,
    plan: std::result::Result<Plan, Reason>,
    /// A plan whose message is to be measured, and what was reserved for that.
    next: Option<(Plan, u64)>,
    rounds: usize,
}

impl<'p> PlanFitting<'p> {
    pub fn new(
        planning: &'p Planning<'p>,
        clues: HashMap<usize, Clues>,
        plan: std::result::Result<Plan, Reason>,
        reserved: Option<u64>,
    ) -> PlanFitting<'p> {
        let next = plan.as_ref().ok().cloned().zip(reserved);
        // What chapters hide is told of as well, and is not in the view.
        let next = next.filter(|_| planning.loaded.folds().is_empty());
        PlanFitting { planning, clues, plan, next, rounds: 0 }
    }

    /// Returns the segments to read to measure the next summary message, and the records to gather from them. `None`:
    /// there is none to measure.
    pub fn wants(&self) -> Option<(Vec<Segment>, SpanRecords)> {
        let (plan, _) = self.next.as_ref()?;
        let loaded = self.planning.loaded;
        let segments = join(plan.history.iter().map(|index| loaded.segment(*index)));
        let file_tools = self.planning.settings.file_tools.clone();
        let agents = self.planning.settings.agents.clone();
        let redaction = Redaction::of(&self.planning.settings.redact);
        Some((segments, SpanRecords { file_tools, agents, redaction, records: Records::on(loaded) }))
    }

    /// Takes in what the next message has to tell.
    pub fn measure(&mut self, span: SpanRecords) {
        let Some((plan, reserved)) = self.next.take() else { return };
        let size = self.size(&plan, span.records);
        if size > reserved {
            return;
        }
        let kept = plan.tokens_kept;
        self.plan = Ok(plan);
        self.rounds += 1;
        if self.rounds <= ROUNDS {
            let Planning { state, settings, automatic, .. } = self.planning;
            let room = RoomForKept::beside(&state.account, settings, size, *automatic);
            let more = self.planning.choose(room, &self.clues).ok();
            self.next = more.filter(|more| more.tokens_kept > kept).map(|more| (more, size));
        }
    }

    pub fn finish(self) -> std::result::Result<Plan, Reason> {
        self.plan
    }

    /// The tokens of the summary message that this plan leads to.
    fn size(&self, plan: &Plan, records: Records) -> u64 {
        let Planning { loaded, state, settings, automatic, .. } = self.planning;
        let record = loaded.record();
        let mut ledger = record.map(|record| record.ledger.clone()).unwrap_or_default();
        ledger.extend(records.calls);
        let earlier = record.map_or(0, |record| u64::from(record.summary_tokens));
        let most = strategy::most_replaced(strategy::aim(settings, *automatic));
        let replaced = (plan.tokens_to_summarize + earlier).min(most);
        let allowance = Allowance::new(replaced, settings.summary_reserve());
        let known = record.map(|record| record.identifiers.as_slice()).unwrap_or_default();
        let identifiers = identifiers::carry(known, records.identifiers, allowance.identifiers);
        let hidden = state.messages.saturating_sub((plan.kept.len() + plan.anchors.len()) as u64);
        let body = notice::append(&self.planning.carried(), &notice::notice(hidden, plan.history.len() as u64));
        let files = records.files.lists();
        let todos = records.todos.into_carried();
        let parts = SummaryMessage {
            body: &body,
            ledger: &ledger,
            files: &files,
            identifiers: &identifiers,
            todos: &todos,
            recalled: &[],
        };
        let text = parts.text(settings, allowance);
        u64::from(count_message(settings.estimator, &Message::text(Role::User, text)).total)
    }
}
