//! Planning by strategy: what the counting strategies need to know of a context beside its heads, and the room that they
//! have beside the record of what they leave out.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::Reason;
use crate::domain::compaction::strategy::smart::Clues;
use crate::domain::compaction::strategy::{
    Choice, RoomForKept, ShownMessage, counts, room_for_tail, select, tail_start,
};
use crate::domain::context::view::{ViewItem, item_tokens};
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::strategy::Strategy;
use crate::domain::model::user_text::attributed;
use crate::domain::settings::Settings;
use crate::service::compaction::plan::standing::{as_standing, is_carried, plan_on};
use crate::service::core::error::Result;
use crate::service::core::head::SessionState;
use crate::service::core::tenant::Tenant;
use crate::service::path::batches;
use crate::service::path::entries::message_of;
use crate::service::path::view::PathSlice;
use crate::store::entries::StoredEntry;
use crate::store::path::{Segment, join};

/// Each reads all heads once.
const MOST_PLANS: usize = 4;

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
        Ok(self.plan_with(first_kept, search))
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

    /// The plan, with what the [`Planning::search`] found.
    pub fn plan_with(
        &self,
        first_kept: Option<Uuid>,
        search: Option<SelectionSearch>,
    ) -> std::result::Result<Plan, Reason> {
        if first_kept.is_some() || !counts(self.strategy) {
            let plan = plan_on(self.loaded, self.settings, first_kept, self.again);
            let may_shorten = first_kept.is_none() && self.automatic && !self.settings.keeps_messages();
            return self.judged(if may_shorten { plan.map(|plan| self.with_room(plan)) } else { plan });
        }
        let place = |depth: i64| self.loaded.heads.binary_search_by_key(&depth, |head| head.depth).ok();
        let found = search.into_iter().flat_map(|search| search.found);
        let clues: HashMap<usize, Clues> = found.filter_map(|(depth, clues)| Some((place(depth)?, clues))).collect();
        self.choose(RoomForKept::of(&self.state.account, self.settings, self.automatic), &clues)
    }

    /// The plan with a shorter tail, where large messages make it, with the anchors, larger than there is room for: the next
    /// compaction would follow at once. Half of that room is the tail's whatever the anchors take.
    fn with_room(&self, plan: Plan) -> Plan {
        let room = room_for_tail(&self.state.account, self.settings);
        let tokens = |index: &usize| self.loaded.heads.get(*index).map_or(0, |head| u64::from(head.tokens));
        let anchored: u64 = plan.anchors.iter().map(tokens).sum();
        let most = room.saturating_sub(anchored).max(room / 2);
        let mut plan = plan;
        let mut keep = most;
        for _ in 0..MOST_PLANS {
            if plan.kept.iter().map(tokens).sum::<u64>() <= most {
                break;
            }
            // The newest messages that fit; where none may begin a context, those behind them.
            let mut gathered = 0;
            let newest = plan.kept.iter().rev().map(tokens).take_while(|tokens| {
                gathered += tokens;
                gathered <= keep
            });
            let keep_recent_tokens = u32::try_from(newest.sum::<u64>()).unwrap_or(u32::MAX);
            let settings = Settings { keep_recent_tokens, ..self.settings.clone() };
            let Ok(shorter) = plan_on(self.loaded, &settings, None, self.again) else { break };
            plan = shorter;
            keep = u64::from(keep_recent_tokens) / 2;
        }
        plan
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

    /// Where the messages begin that `prune` as a strategy leaves alone.
    pub fn newest_from(&self) -> Option<usize> {
        let items = (self.strategy == Strategy::Prune).then(|| shown_items(self.loaded))?;
        let start = tail_start(&self.loaded.heads, &items, self.settings);
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
