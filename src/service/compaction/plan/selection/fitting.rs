//! Room for what stays: the summary message of a counting strategy is given what it takes, not the most that it could.
//!
//! How large it is shows only once the plan stands. So a plan is made beside the most that the message may take, the
//! message is measured, and the room that it leaves is filled: what is left out gets less by that, and so does the message.

use std::collections::{BTreeMap, HashMap};

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::Reason;
use crate::domain::compaction::strategy::smart::Clues;
use crate::domain::compaction::strategy::{self, RoomForKept, notice};
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::FileTool;
use crate::domain::summary::files::FileTable;
use crate::domain::summary::{Allowance, SummaryMessage, identifiers};
use crate::domain::tokens::count_message;
use crate::service::compaction::plan::selection::Planning;
use crate::service::compaction::read::Records;
use crate::service::core::error::Result;
use crate::service::path::entries::message_of;
use crate::service::path::file_lists::own_file_lists;
use crate::store::entries::StoredEntry;
use crate::store::path::{Segment, join};

/// How often the room that was left is filled.
const ROUNDS: usize = 3;

/// A plan on its way to as much as there is room for.
pub(crate) struct PlanFitting<'p> {
    planning: &'p Planning<'p>,
    clues: HashMap<usize, Clues>,
    plan: std::result::Result<Plan, Reason>,
    /// A plan whose message is to be measured, and what was reserved for that.
    next: Option<(Plan, u64)>,
    rounds: usize,
}

/// Records of a span for its summary message, gathered as the messages pass.
pub(crate) struct SpanRecords {
    file_tools: BTreeMap<String, FileTool>,
    records: Records,
}

impl SpanRecords {
    pub fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let Some(message) = message_of(stored)? else { return Ok(()) };
        self.records.add(&message, FileTable::new(&self.file_tools));
        own_file_lists(stored).iter().for_each(|lists| self.records.files.seed(lists));
        Ok(())
    }
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
        Some((segments, SpanRecords { file_tools, records: Records::on(loaded) }))
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
        let identifiers = identifiers::carry(known, records.identifiers.wanted(), allowance.identifiers);
        let hidden = state.messages.saturating_sub((plan.kept.len() + plan.anchors.len()) as u64);
        let body = notice::append(&self.planning.carried(), &notice::notice(hidden, plan.history.len() as u64));
        let files = records.files.lists();
        let parts = SummaryMessage { body: &body, ledger: &ledger, files: &files, identifiers: &identifiers };
        let text = parts.text(settings, allowance);
        u64::from(count_message(settings.estimator, &Message::text(Role::User, text)).total)
    }
}
