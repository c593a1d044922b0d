//! A session's head: what is known of its leaf's path without reading it, and the cache that holds heads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::domain::compaction::pays;
use crate::domain::context::pairing::STAND_IN_TOKENS;
use crate::domain::model::anti_thrash::AntiThrash;
use crate::domain::model::compaction::{ElidedPart, Elision};
use crate::domain::model::early_results::EarlyResults;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::fold::ShownFold;
use crate::domain::model::json::is_default;
use crate::domain::model::message::Role;
use crate::domain::model::open_calls::{OpenCall, OpenCalls};
use crate::domain::settings::{Settings, Talked};
use crate::domain::tokens::accounting::{Account, FillState, Snapshot};
use crate::domain::tokens::prices::SessionPrices;
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::large::in_place;
use crate::store::path::Leaf;
use crate::store::sessions::HeadRow;

/// Heads kept in memory, so that an append costs one statement.
const CACHED_HEADS: u64 = 4_096;
const CACHED_FOR: Duration = Duration::from_secs(600);
/// Less than this part of the window is not worth a compaction out of turn.
const REDUCIBLE_SHARE: u64 = 10;

/// State of a session beside its columns, kept as JSON in `sessions.state`; fields that say nothing are left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    pub account: Account,
    #[serde(skip_serializing_if = "is_default")]
    pub newest: Option<Newest>,
    #[serde(skip_serializing_if = "is_default")]
    pub open_calls: OpenCalls,
    #[serde(skip_serializing_if = "is_default")]
    pub early_results: EarlyResults,
    pub guard: AntiThrash,
    /// The leaf is the last entry of its branch, so that the next one goes behind it.
    #[serde(skip_serializing_if = "is_default")]
    pub leaf_is_tip: bool,
    /// Message entries on the path.
    pub messages: u64,
    /// After a compaction that had nothing to do: not triggered again by itself below this size.
    #[serde(skip_serializing_if = "is_default")]
    pub auto_retry_at: Option<u64>,
    /// Behind a compaction that landed: how far the session must come before the next one starts by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<CompactionRest>,
    /// How many messages the path had when a compaction found nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_at: Option<u64>,
    /// A change of estimator waits to be counted.
    #[serde(skip_serializing_if = "is_default")]
    pub recounting: bool,
    /// The newest message on the path is the agent's.
    #[serde(skip_serializing_if = "is_default")]
    pub answered: bool,
    /// A compaction waits for the end of the turn.
    #[serde(skip_serializing_if = "is_default")]
    pub awaits_turn_end: bool,
    /// The compaction that is prepared ahead of red.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Ahead>,
    /// Below this size the context cannot, or is not to, be made to fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrelieved: Option<u64>,
    /// How many messages the path had then: a new one may change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrelieved_at: Option<u64>,
    /// Since when the context is red.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red_since: Option<DateTime<Utc>>,
    /// A provider found the context too long, and neither a user nor the agent has spoken since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<OverflowTry>,
    /// The agent has answered a chapter task: it is asked again above this size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chapters_rest: Option<u64>,
    /// The `seq` of the first entry since the session's model was changed; 0: it never was. Whatever was signed before is
    /// another model's.
    #[serde(skip_serializing_if = "is_default")]
    pub model_since: i64,
    /// Messages on the path that began a task.
    #[serde(skip_serializing_if = "is_default")]
    pub turns: u64,
    /// The compaction whose span an edit has changed: its record is told again before a context is handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retell: Option<Uuid>,
    /// The window that a provider named when it refused the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_window: Option<RefusedWindow>,
}

/// A compaction that nobody asked for is at the earliest in the second turn behind another.
pub const REST_TURNS: u32 = 2;

/// The end of the time after a compaction in which no other starts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionRest {
    /// The context has this many tokens, as it is counted.
    pub tokens: i64,
    /// The same less what came while the compaction was made.
    #[serde(default)]
    pub tokens_planned: Option<i64>,
    /// The second turn behind the compaction has come: the agent has answered so often, or the user has begun so many tasks.
    pub calls: i64,
    pub turns: u64,
}

/// A window that a refusal named, and of which model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedWindow {
    pub window: u32,
    pub model: Option<String>,
}

/// A compaction that is prepared while the agent goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    pub compaction_id: Uuid,
    /// The summary is written and kept with the compaction.
    pub ready: bool,
    /// Somebody waits for it: it is committed as soon as it is ready, whatever the size.
    pub wanted: bool,
}

/// Attempt at relief after a provider refused the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverflowTry {
    /// The compaction that the retry waits for; `None`: one had landed already.
    pub compaction_id: Option<Uuid>,
}

/// The newest compaction on the leaf's path and where its view lies, so that only the view is ever read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newest {
    pub id: Uuid,
    pub depth: i64,
    /// `None`: nothing before the compaction is kept but the anchors.
    pub first_kept_depth: Option<i64>,
    pub anchor_depths: Vec<i64>,
    /// The compaction takes another one back or only closes chapters, so that there may be something left to compact.
    #[serde(default)]
    pub is_revert: bool,
    /// The chapters that its view shows, by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<ShownFold>,
}

/// A session as far as appends, snapshots and plans need it.
#[derive(Debug, Clone)]
pub struct Head {
    pub session_id: Uuid,
    pub row: HeadRow,
    pub state: SessionState,
    pub settings: Arc<Settings>,
    /// Branch 0 of a session that is no fork: its path needs no look-up.
    pub is_fork: bool,
    /// The model that the session's agent speaks to.
    pub model: Option<String>,
    /// That its compactions are weighed at.
    pub prices: SessionPrices,
}

impl Head {
    /// The head of a session without entries.
    pub fn empty(session_id: Uuid, settings: Arc<Settings>, model: Option<String>) -> Head {
        let state = SessionState { leaf_is_tip: true, guard: AntiThrash::new(&settings), ..SessionState::default() };
        let prices = SessionPrices::default();
        Head { session_id, row: HeadRow::empty(), state, settings, is_fork: false, model, prices }
    }

    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.state.snapshot(&self.settings);
        snapshot.should_compact |= self.pays(&snapshot);
        snapshot
    }

    /// Returns true if a compaction is due before red, because it pays.
    fn pays(&self, snapshot: &Snapshot) -> bool {
        self.settings.enabled
            && !snapshot.anti_thrash.tripped
            && pays::is_due(&self.state.account, snapshot.tokens, &self.settings, &self.prices)
            && !self.state.is_futile(&self.settings)
    }

    pub fn leaf(&self) -> Leaf {
        Leaf { session_id: self.session_id, branch: self.row.leaf_branch, depth: self.row.leaf_depth }
    }

    /// The most entries that the context at the leaf may show.
    pub fn view_length(&self) -> i64 {
        let newest = self.state.newest.as_ref();
        self.row.leaf_depth - newest.map_or(-1, |newest| newest.first_kept_depth.unwrap_or(newest.depth))
    }

    /// The leaf's path is one range of the session's own branch 0.
    pub fn is_plain(&self) -> bool {
        self.row.leaf_branch == 0 && !self.is_fork
    }
}

impl SessionState {
    pub fn snapshot(&self, settings: &Settings) -> Snapshot {
        let mut snapshot = self.account.snapshot(settings, &self.guard, self.messages, self.recounting);
        let rests = self.chapters_rest.is_some_and(|size| snapshot.tokens <= size);
        // With nothing but a first task that goes on there is nothing to close.
        let closable = self.turns > 1 || self.turn_is_closed();
        snapshot.chapter_task.pending &= closable && !rests;
        snapshot.should_compact &= !self.is_futile(settings);
        snapshot
    }

    /// Returns true if a compaction could do nothing: there is no room for a message, one that looked found nothing, or
    /// one was just done and the context fits.
    fn is_futile(&self, settings: &Settings) -> bool {
        let account = &self.account;
        let is_fresh = |newest: &Newest| !newest.is_revert && account.path_tokens == account.base.path_tokens;
        account.has_no_room(settings)
            || self.nothing_at == Some(self.messages)
            || self.newest.as_ref().is_some_and(is_fresh) && !account.exceeds_window(settings)
    }

    /// Returns true if too little has come since the newest compaction for the next to start by itself: less than a tenth of
    /// the window, or no more than the next turn. What exceeds the window waits for neither. What fills it, half of it by its
    /// count, waits for no turn, and what came while the newest compaction was made counts as come since. A single usage that
    /// says so may be of another context, and the next one tells. Nor does it help to hurry where nearly all is what no
    /// compaction takes away.
    pub fn rests(&self, settings: &Settings) -> bool {
        let Some(rest) = self.rest else { return false };
        let account = &self.account;
        let usable = u64::from(settings.usable());
        let counted = account.part(u64::try_from(account.estimated()).unwrap_or(0), settings.estimator);
        let fills = account.tokens(settings.estimator).0 > usable && counted > usable / 2;
        let may_hurry = account.reducible(settings.estimator) > usable / REDUCIBLE_SHARE && !account.marks.is_doubted();
        if may_hurry && account.exceeds_window(settings) {
            return false;
        }
        // Several messages of the user's before one answer are one turn, where the agent answers at all.
        let has_answered = account.path_calls > rest.calls - i64::from(REST_TURNS);
        let is_next_turn = if has_answered { account.path_calls < rest.calls } else { self.turns < rest.turns };
        let hurries = may_hurry && fills;
        let until = rest.tokens_planned.filter(|_| hurries).unwrap_or(rest.tokens);
        account.estimated() < until || is_next_turn && !hurries
    }

    /// Remembers who spoke last, and counts a call of the model where an answer begins.
    pub fn note_speaker(&mut self, head: &EntryMeta) {
        if head.is_visible() {
            let answers = head.role == Some(Role::Assistant);
            if answers && !self.answered {
                self.account.path_calls += 1;
                self.account.answer_begins(head.path_tokens - i64::from(head.tokens));
            }
            // What an answer holds further is made in the same breath as the calls before it.
            let goes_on = if answers { !self.answered } else { head.shape.results.is_empty() };
            if goes_on {
                self.open_calls.pass_over();
            }
            self.answered = answers;
            self.account.asked_since |= head.is_by_user(&[]) && (head.shape.results.is_empty() || head.shape.mixed);
        }
    }

    /// Remembers since when the context is red.
    pub fn note_fill(&mut self, state: FillState, now: DateTime<Utc>) {
        let since = self.red_since.unwrap_or(now);
        self.red_since = (state == FillState::Red).then_some(since);
    }

    /// A compaction is prepared no more.
    pub fn forget_ahead(&mut self, compaction_id: Uuid) {
        self.ahead = self.ahead.filter(|ahead| ahead.compaction_id != compaction_id);
    }

    /// The calls that have no result, neither behind nor before them.
    pub fn waiting_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.open_calls.iter().filter(|call| !self.early_results.answer(call))
    }

    /// Takes in an entry's calls and results. Returns the places of its results that answer no open call.
    pub fn note_calls(&mut self, head: &EntryMeta) -> Vec<usize> {
        let asked = self.early_results.asked(&head.shape, &self.open_calls);
        let covered = self.open_calls.covered_by(&head.shape);
        let orphans = self.open_calls.apply(head.seq, &head.shape);
        let mut in_no_context = covered;
        in_no_context.extend(&orphans);
        in_no_context.sort_unstable();
        in_no_context.dedup();
        self.early_results.apply(head, &asked, &in_no_context);
        if head.shape.mixed && head.role != Some(Role::Assistant) {
            self.open_calls.pass_over();
        }
        self.note_unpaired();
        orphans
    }

    /// Whoever posts a whole transcript has no result for what it ends with.
    pub fn pass_over_calls(&mut self) {
        self.open_calls.pass_over();
        self.note_unpaired();
    }

    /// Tells the account what is in no context, and what stands in for results that did not come.
    fn note_unpaired(&mut self) {
        let unanswered = self.open_calls.passed_over().saturating_sub(self.early_results.answered());
        self.account.unsent = self.early_results.unsent();
        self.account.stood_in = STAND_IN_TOKENS * i64::try_from(unanswered).unwrap_or(0);
    }

    /// Of the results that answer no call, those that a new view shows are left out of it. Others are nowhere, and what
    /// they were given to has no result. A call that the view does not show gets none in it.
    pub fn keep_unpaired(&mut self, shows: impl Fn(i64) -> bool, elisions: &[Elision]) {
        self.open_calls.cover(&shows);
        if self.early_results.is_empty() {
            return self.note_unpaired();
        }
        let freed: HashMap<(i64, &str), i64> = elisions
            .iter()
            .filter(|elision| elision.part == ElidedPart::Result)
            .map(|elision| ((clock::seq_of(elision.entry_id), elision.tool_call_id.as_str()), elision.freed()))
            .collect();
        self.early_results.keep(shows, |one| freed.get(&(one.seq, one.id.as_str())).copied().unwrap_or(0));
        self.note_unpaired();
    }

    /// No call is open, and the agent spoke last.
    pub fn turn_is_closed(&self) -> bool {
        self.waiting_calls().next().is_none() && self.answered
    }

    /// Ends a compaction's wait for a turn, if that has ended; true: a compaction was waiting.
    pub fn end_wait(&mut self) -> bool {
        let ends = self.awaits_turn_end && self.turn_is_closed();
        self.awaits_turn_end &= !ends;
        ends
    }

    /// The columns that repeat what the state says, for filters and figures.
    pub fn write_to(&self, row: &mut HeadRow, settings: &Settings) -> Result<Snapshot> {
        let snapshot = self.snapshot(settings);
        // What it was before says how large it will be.
        row.state = in_place(row.state.len(), || serde_json::to_string(self)).context("session state as JSON")?;
        row.fill_state = snapshot.state.into_str().to_owned();
        row.tokens = i64::try_from(snapshot.tokens).unwrap_or(i64::MAX);
        row.guard_tripped = snapshot.anti_thrash.tripped;
        Ok(snapshot)
    }

    pub fn read(text: &str) -> Result<SessionState> {
        Ok(in_place(text.len(), || serde_json::from_str(text)).context("stored session state")?)
    }

    /// What settings are resolved with: the model, and the window that it named when it refused.
    pub fn talked<'a>(&self, model: Option<&'a str>) -> Talked<'a> {
        let of_it = |refused: &&RefusedWindow| refused.model.as_deref() == model;
        Talked { model, refused: self.refused_window.as_ref().filter(of_it).map(|refused| refused.window) }
    }
}

type HeadSlot = Arc<Mutex<Option<Head>>>;

/// Heads by session. A slot's lock orders this process's appends to one session; the version in the head guards
/// against every other process, so a stale head costs a retry and nothing else.
pub struct HeadCache {
    slots: moka::sync::Cache<(Tenant, Uuid), HeadSlot>,
}

impl Default for HeadCache {
    fn default() -> HeadCache {
        HeadCache { slots: moka::sync::Cache::builder().max_capacity(CACHED_HEADS).time_to_idle(CACHED_FOR).build() }
    }
}

impl HeadCache {
    pub fn slot(&self, tenant: Tenant, session_id: Uuid) -> HeadSlot {
        self.slots.get_with((tenant, session_id), HeadSlot::default)
    }

    /// Lets go of a session that is erased.
    pub fn forget(&self, tenant: Tenant, session_id: Uuid) {
        self.slots.invalidate(&(tenant, session_id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::entry_type::EntryType;
    use crate::domain::model::shape::{CallRef, Shape, ShapeKind};

    fn entry(kind: EntryType, role: Option<Role>, calls: &[&str]) -> EntryMeta {
        let call = |id: &&str| CallRef { id: (*id).to_owned(), name: "bash".to_owned(), kind: ShapeKind::Function };
        EntryMeta {
            id: Uuid::nil(),
            seq: 0,
            depth: 0,
            kind,
            role,
            tokens: 1,
            path_tokens: 0,
            usage: None,
            shape: Shape { calls: calls.iter().map(call).collect(), ..Shape::default() },
        }
    }

    /// Reasoning, text and calls of one answer may be entries of their own.
    #[test]
    fn a_run_of_answers_is_one_call_of_the_model() {
        let mut state = SessionState::default();
        let of = |role: Role| entry(EntryType::Message, Some(role), &[]);
        let calls = entry(EntryType::Message, Some(Role::Assistant), &["c"]);
        let label = entry(EntryType::Label, None, &[]);
        let path = [
            of(Role::System),
            of(Role::User),
            of(Role::Assistant),
            calls,
            of(Role::Tool),
            of(Role::Assistant),
            label,
            of(Role::Assistant),
            of(Role::User),
            of(Role::Assistant),
        ];
        path.iter().for_each(|entry| state.note_speaker(entry));
        assert_eq!((state.account.path_calls, state.answered), (3, true));
    }

    /// Of a context that fills the usable window, but not the window, a turn is not waited for; more has to come all the same.
    #[test]
    fn what_fills_the_window_waits_until_it_has_grown() {
        let none = serde_json::Map::new();
        let mut settings = crate::domain::settings::resolve(&none, &none, None).unwrap();
        (settings.context_window, settings.reserve_tokens) = (10_000, 2_000);
        let rests = |tokens: i64, grown: bool| {
            let mut state = SessionState::default();
            state.account.path_tokens = tokens;
            let until = tokens + if grown { 0 } else { 1 };
            state.rest = Some(CompactionRest { tokens: until, tokens_planned: None, calls: 2, turns: 2 });
            state.rests(&settings)
        };
        assert!(rests(7_000, true) && rests(7_000, false));
        assert!(!rests(9_000, true) && rests(9_000, false));
        assert!(!rests(11_000, true) && !rests(11_000, false));
    }

    /// Two messages of the user's in one request are no two turns.
    #[test]
    fn the_next_turn_does_not_bring_the_next_compaction() {
        let none = serde_json::Map::new();
        let settings = crate::domain::settings::resolve(&none, &none, None).unwrap();
        let rests = |calls: i64, turns: u64| {
            let mut state = SessionState { turns, ..SessionState::default() };
            state.rest = Some(CompactionRest { tokens: 0, tokens_planned: None, calls: 2, turns: 2 });
            state.account.path_calls = calls;
            state.rests(&settings)
        };
        assert!(rests(1, 1) && rests(1, 2) && rests(1, 3));
        assert!(!rests(2, 2));
        // Where no answer is posted, the user's messages are all that can be counted.
        assert!(rests(0, 1) && !rests(0, 2));
    }
}
