//! The account of a session's context: how many tokens it holds, and how full that makes the window.
//!
//! Everything here is arithmetic on running totals; nothing reads history.

use serde::{Deserialize, Serialize};

use super::marks::{Learnt, Marks};
use crate::model::anti_thrash::AntiThrash;
use crate::model::json::is_default;
use crate::settings::{Estimator, Settings};

pub use super::marks::UsageMark;
pub use super::snapshot::{Breakdown, ChapterTask, FillState, Snapshot, Source, fill_state, red_tokens};

/// Running totals of the leaf's path and of the view before its newest compaction, in estimated tokens. Every append
/// stores it, so that what says nothing is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    #[serde(skip_serializing_if = "is_default")]
    pub system: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub tools: u32,
    /// Path totals at the leaf.
    pub path_tokens: i64,
    #[serde(skip_serializing_if = "is_default")]
    pub path_result_tokens: i64,
    /// Tokens of results in the view that answer no call: no context has them.
    #[serde(skip_serializing_if = "is_default")]
    pub unsent: i64,
    /// Tokens of what stands in, in the view, for results that did not come: no entry has them.
    #[serde(skip_serializing_if = "is_default")]
    pub stood_in: i64,
    /// Calls of the model on the path, as far as they were counted: runs of its answers.
    #[serde(skip_serializing_if = "is_default")]
    pub path_calls: i64,
    /// The view up to the newest compaction; all zero without one.
    #[serde(skip_serializing_if = "is_default")]
    pub base: Base,
    /// The newest request of which a provider told, where it is believed and showed this view.
    #[serde(skip_serializing_if = "is_default")]
    pub usage: Option<UsageMark>,
    /// Reported over counted, `unposted` aside; 1 until providers have told.
    #[serde(skip_serializing_if = "is_one")]
    pub calibration: f64,
    /// What the provider counts and the client never posts, in the provider's tokens.
    #[serde(skip_serializing_if = "is_default")]
    pub unposted: i64,
    /// The requests that this was learnt from.
    #[serde(skip_serializing_if = "is_default")]
    pub marks: Marks,
    /// The path's total where the newest answer began, or behind a mark, where the one after it would.
    #[serde(skip_serializing_if = "is_default")]
    pub answer_from: i64,
    /// What was left out of the view there.
    #[serde(skip_serializing_if = "is_default")]
    pub unsent_before: i64,
    /// The user has spoken since the newest mark, so that the same figures are those of another request.
    #[serde(skip_serializing_if = "is_default")]
    pub asked_since: bool,
    /// The view that was sent before this one, while answers to it may still come.
    #[serde(skip_serializing_if = "is_default")]
    pub sent: Option<SentView>,
    /// The view was handed to nobody yet.
    #[serde(skip_serializing_if = "is_default")]
    pub unshown: bool,
    /// The newest usage was not believed.
    #[serde(skip_serializing_if = "is_default")]
    pub usage_rejected: bool,
    /// Usage that entries keep up to this total of the path is believed no more.
    #[serde(skip_serializing_if = "is_default")]
    pub disbelieved_to: i64,
}

/// A view that requests were made with before a compaction took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentView {
    pub base: Base,
    /// It was handed out, and the model had not answered, when the compaction was committed.
    pub in_flight: bool,
    /// By how much more was left out of it than of the view behind it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unsent: i64,
}

/// Tokens of the view when the newest compaction was committed, and the path totals at that point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Base {
    pub path_tokens: i64,
    pub path_result_tokens: i64,
    #[serde(default)]
    pub path_calls: i64,
    pub summary: i64,
    /// Messages other than tool results: anchors and the kept tail.
    pub messages: i64,
    pub tool_results: i64,
}

/// Tokens that came to a context, and the calls of the model in which they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Growth {
    pub tokens: u64,
    pub calls: u64,
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Default for Account {
    fn default() -> Self {
        Account {
            system: 0,
            tools: 0,
            path_tokens: 0,
            path_result_tokens: 0,
            unsent: 0,
            stood_in: 0,
            path_calls: 0,
            base: Base::default(),
            usage: None,
            calibration: 1.0,
            unposted: 0,
            marks: Marks::default(),
            answer_from: 0,
            unsent_before: 0,
            asked_since: false,
            sent: None,
            unshown: false,
            usage_rejected: false,
            disbelieved_to: 0,
        }
    }
}

impl Account {
    /// Estimated tokens of the context, not calibrated.
    pub fn estimated(&self) -> i64 {
        self.counted(&self.base, self.path_tokens)
    }

    /// The same without system prompt and tools.
    pub fn messages_counted(&self) -> i64 {
        self.estimated() - self.fixed()
    }

    /// What is counted of a request that showed the path up to a total, behind this base.
    pub fn counted(&self, base: &Base, path_tokens: i64) -> i64 {
        let view = base.summary + base.messages + base.tool_results + (path_tokens - base.path_tokens);
        self.fixed() + view - self.left_out()
    }

    /// By how much a context is smaller than its entries are together: below 0 where more is put in than left out.
    pub fn left_out(&self) -> i64 {
        self.unsent - self.stood_in
    }

    /// Estimated tokens of system prompt and tools.
    pub fn fixed(&self) -> i64 {
        i64::from(self.system) + i64::from(self.tools)
    }

    /// How the context has grown since the newest compaction, or from the beginning.
    pub fn growth(&self) -> Growth {
        let since = |now: i64, then: i64| u64::try_from(now - then).unwrap_or(0);
        Growth {
            tokens: since(self.path_tokens, self.base.path_tokens),
            calls: since(self.path_calls, self.base.path_calls),
        }
    }

    /// An account of another place: what was learnt of the session goes with it.
    pub fn elsewhere(&self, (system, tools): (u32, u32)) -> Account {
        let Account { calibration, unposted, usage_rejected, disbelieved_to, .. } = *self;
        let marks = self.marks.clone();
        let learnt = Account { calibration, unposted, marks, usage_rejected, disbelieved_to, ..Account::default() };
        Account { system, tools, ..learnt }
    }

    /// The same, with nothing learnt.
    pub fn unlearnt(self) -> Account {
        let nothing = Account::default();
        Account { system: self.system, tools: self.tools, path_calls: self.path_calls, base: self.base, ..nothing }
    }

    /// Takes the size that a provider told of the context at the current end of the path.
    pub fn place_mark(&mut self, tokens: i64) {
        self.usage = Some(UsageMark::whole(tokens, self.messages_counted()));
        self.answer_begins(self.path_tokens);
        self.asked_since = false;
    }

    /// The next answer begins at this total of the path.
    pub fn answer_begins(&mut self, path_tokens: i64) {
        (self.answer_from, self.unsent_before) = (path_tokens, self.left_out());
    }

    /// Sets the view that a compaction at the current end of the path leaves. The mark is of another view from here on;
    /// what it taught stays.
    pub fn rebase(&mut self, summary: i64, messages: i64, tool_results: i64) {
        self.unposted = self.staying(false).unposted;
        self.usage = None;
        self.usage_rejected = false;
        self.base = Base {
            path_tokens: self.path_tokens,
            path_result_tokens: self.path_result_tokens,
            path_calls: self.path_calls,
            summary,
            messages,
            tool_results,
        };
    }

    /// Notes that this view, which nobody was handed yet, takes the place of another. `in_flight`: the model is being asked
    /// with that. What nobody was handed was never sent.
    pub fn take_place_of(&mut self, before: &Account, in_flight: bool) {
        let (base, unsent) = match before.sent {
            Some(sent) if before.unshown => (sent.base, sent.unsent),
            _ => (before.base, 0),
        };
        let unsent = unsent + before.left_out() - self.left_out();
        (self.sent, self.unshown) = (Some(SentView { base, in_flight, unsent }), true);
    }

    /// Notes that the view was handed out. An answer that has come since the compaction was the one on its way.
    pub fn note_shown(&mut self) {
        self.unshown = false;
        if self.path_calls > self.base.path_calls {
            self.sent = None;
        }
    }

    /// System prompt and tools alone, posted or not, leave no room for a message.
    pub fn has_no_room(&self, settings: &Settings) -> bool {
        self.overhead(settings.estimator) >= u64::from(settings.usable())
    }

    /// The context is larger than the window, by its newest usage or by what is counted: the usage may be of a smaller one.
    pub fn exceeds_window(&self, settings: &Settings) -> bool {
        let told = self.tokens(settings.estimator).0;
        let counted = size(self.learnt(settings.estimator).bill(self.estimated()));
        told.max(counted) > u64::from(settings.context_window)
    }

    /// Returns true if the context is due for a compaction that is prepared ahead of red. The distance of that mark to red
    /// shrinks with the room that system prompt and tools leave for the conversation: what is prepared too far before red
    /// would, when it is committed, leave a context for which the next one is prepared at once.
    pub fn is_ahead_due(&self, settings: &Settings) -> bool {
        let Some(ahead_at) = settings.ahead_at else { return false };
        let (red, overhead) = (red_tokens(settings), self.overhead(settings.estimator) as f64);
        let distance = red - ahead_at * f64::from(settings.usable());
        let mark = red - distance * (1.0 - overhead / red).max(0.0);
        self.tokens(settings.estimator).0 as f64 >= mark
    }

    /// System prompt and tools alone, posted or not, are as large as the window.
    pub fn fills_window(&self, settings: &Settings) -> bool {
        self.overhead(settings.estimator) >= u64::from(settings.context_window)
    }

    /// What no compaction can take away: system prompt and tools, posted or not.
    pub fn overhead(&self, estimator: Estimator) -> u64 {
        size(self.staying(!calibrates(estimator)).bill(self.fixed()))
    }

    /// The most that a compaction could take away: the messages behind what the newest one wrote.
    pub fn reducible(&self, estimator: Estimator) -> u64 {
        self.part(size(self.messages_counted() - self.base.summary), estimator)
    }

    /// The size of the context and what it rests on.
    pub fn tokens(&self, estimator: Estimator) -> (u64, Source) {
        let exact = !calibrates(estimator);
        let source = match &self.usage {
            _ if self.usage_rejected => Source::UsageRejected,
            Some(_) => Source::Usage,
            None => Source::Estimate,
        };
        let tokens = match &self.usage {
            Some(mark) => mark.tokens.saturating_add(self.since(mark, exact)),
            None => self.learnt(estimator).bill(self.estimated()),
        };
        (size(tokens), source)
    }

    /// What providers have taught: the size of a context is `unposted + factor × count`.
    pub fn learnt(&self, estimator: Estimator) -> Learnt {
        self.in_force(self.usage.as_ref(), !calibrates(estimator))
    }

    /// The size that a compaction would leave that frees this many estimated tokens.
    pub fn tokens_without(&self, freed: u64, estimator: Estimator) -> u64 {
        let freed = i64::try_from(freed).unwrap_or(i64::MAX);
        size(self.staying(!calibrates(estimator)).bill(self.estimated().saturating_sub(freed)))
    }

    /// The estimate that stands for a context of this size.
    pub fn estimate_of(&self, tokens: u64, estimator: Estimator) -> u64 {
        let unposted = self.staying(!calibrates(estimator)).unposted;
        self.estimate_of_part(tokens.saturating_sub(size(unposted)), estimator)
    }

    /// The estimate that stands for a part of a context, of this size: the inverse of [`Account::part`].
    pub fn estimate_of_part(&self, tokens: u64, estimator: Estimator) -> u64 {
        (tokens as f64 / self.factor(!calibrates(estimator)).max(f64::MIN_POSITIVE)) as u64
    }

    /// The size of a part of the context, of which so much was counted.
    pub fn part(&self, count: u64, estimator: Estimator) -> u64 {
        (count as f64 * self.factor(!calibrates(estimator))).round() as u64
    }

    /// With a mark, what makes the context come out as it says; where we count more than the provider, it is all factor.
    fn in_force(&self, mark: Option<&UsageMark>, exact: bool) -> Learnt {
        let factor = self.factor(exact);
        let Some(mark) = mark else { return Learnt { factor, unposted: self.unposted } };
        let unposted = mark.tokens - ((mark.count + self.fixed()) as f64 * factor).round() as i64;
        if unposted >= 0 || exact || self.estimated() <= 0 {
            return Learnt { factor, unposted: unposted.max(0) };
        }
        let tokens = mark.tokens + self.since(mark, exact);
        Learnt { factor: tokens.max(0) as f64 / self.estimated() as f64, unposted: 0 }
    }

    /// What goes on behind a compaction. A mark's answer may hold what is never sent again; its request alone has taught.
    fn staying(&self, exact: bool) -> Learnt {
        let placed = self.usage.as_ref().filter(|mark| mark.answer.is_none());
        let unposted = placed.map_or(self.unposted, |mark| self.in_force(Some(mark), exact).unposted);
        Learnt { factor: self.factor(exact), unposted }
    }

    /// What has come since a mark, or gone: its size.
    fn since(&self, mark: &UsageMark, exact: bool) -> i64 {
        ((self.messages_counted() - mark.count) as f64 * self.factor(exact)).round() as i64
    }

    pub(super) fn factor(&self, exact: bool) -> f64 {
        if exact { 1.0 } else { self.calibration }
    }

    /// The estimates of the parts, brought to scale so that they add up to `tokens`.
    pub fn breakdown(&self, tokens: u64, estimator: Estimator) -> Breakdown {
        let unposted = size(self.learnt(estimator).unposted).min(tokens);
        let new_results = self.path_result_tokens - self.base.path_result_tokens - self.left_out();
        let scale = match self.estimated() {
            estimated if estimated > 0 => (tokens - unposted) as f64 / estimated as f64,
            _ => 1.0,
        };
        let mut left = tokens - unposted;
        let mut part = |estimate: i64| {
            let part = ((estimate.max(0) as f64 * scale) as u64).min(left);
            left -= part;
            part
        };
        let (system, tools) = (part(i64::from(self.system)), part(i64::from(self.tools)));
        let summary = part(self.base.summary);
        let tool_results = part(self.base.tool_results + new_results);
        Breakdown { system, tools, summary, tool_results, messages: left, unposted }
    }

    /// The snapshot of this account under these settings. `messages` counts the messages on the path.
    pub fn snapshot(&self, settings: &Settings, guard: &AntiThrash, messages: u64, recounting: bool) -> Snapshot {
        let (tokens, source) = self.tokens(settings.estimator);
        let usable = settings.usable();
        let utilization = tokens as f64 / f64::from(usable);
        let state = fill_state(tokens, settings);
        let trigger = red_tokens(settings);
        // As the next compaction will find it: re-armed where its reset rule says so.
        let mut guard = guard.clone();
        let admitted = guard.admit(tokens, messages, settings);
        Snapshot {
            tokens,
            window: settings.context_window,
            reserve_tokens: settings.reserve_tokens,
            available: u64::from(usable).saturating_sub(tokens),
            utilization,
            state,
            should_compact: state == FillState::Red && settings.enabled && admitted,
            source,
            window_source: settings.window_source,
            breakdown: self.breakdown(tokens, settings.estimator),
            percent_until_compaction: ((1.0 - tokens as f64 / trigger) * 100.0).clamp(0.0, 100.0),
            chapter_task: ChapterTask {
                pending: settings.chaptering_trigger.is_some_and(|trigger| tokens > u64::from(trigger)),
            },
            anti_thrash: guard,
            calibration: self.learnt(settings.estimator).factor,
            recounting,
        }
    }
}

/// `pi` and `praison` count as their programs do, and are never calibrated.
pub(super) fn calibrates(estimator: Estimator) -> bool {
    matches!(estimator, Estimator::O200k | Estimator::Cl100k)
}

pub(super) fn size(tokens: i64) -> u64 {
    u64::try_from(tokens).unwrap_or(0)
}
