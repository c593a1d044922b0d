//! The account of a session's context: how many tokens it holds, and how full that makes the window.
//!
//! Everything here is arithmetic on running totals; nothing reads history.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::model::anti_thrash::AntiThrash;
use crate::domain::model::json::is_default;
use crate::domain::settings::{Estimator, Settings};

/// Reported usage calibrates an estimate only within these bounds.
const CALIBRATION: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// Below this estimate the unknown fixed overhead of a request would drown the ratio.
const CALIBRATE_FROM_TOKENS: i64 = 1_000;

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
    /// Calls of the model on the path, as far as they were counted: runs of its answers.
    #[serde(skip_serializing_if = "is_default")]
    pub path_calls: i64,
    /// The view up to the newest compaction; all zero without one.
    #[serde(skip_serializing_if = "is_default")]
    pub base: Base,
    #[serde(skip_serializing_if = "is_default")]
    pub usage: Option<UsageMark>,
    /// Reported over estimated; 1 until a provider reports.
    #[serde(skip_serializing_if = "is_one")]
    pub calibration: f64,
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

/// Reported usage and the path total where it was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageMark {
    pub tokens: i64,
    pub path_tokens: i64,
}

/// How full the window is.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FillState {
    Green,
    Yellow,
    Red,
}

/// How full the window is. Tokens are integers; `utilization` is tokens / (window - reserve_tokens).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    pub tokens: u64,
    pub window: u32,
    pub reserve_tokens: u32,
    /// Tokens left before the reserve; 0 when over.
    pub available: u64,
    pub utilization: f64,
    pub state: FillState,
    /// Red, or it pays to compact (`pays_at`); enabled, not held back by the anti-thrash guard, and there is something that
    /// a compaction could do.
    pub should_compact: bool,
    pub source: Source,
    pub breakdown: Breakdown,
    /// How far (percent of the trigger) the context is from red; 0 when red.
    pub percent_until_compaction: f64,
    pub chapter_task: ChapterTask,
    pub anti_thrash: AntiThrash,
    /// Reported over estimated tokens, as learnt from the provider; always 1 for `pi` and `praison`.
    pub calibration: f64,
    /// A change of estimator is still being counted in the background.
    pub recounting: bool,
}

/// What the snapshot's `tokens` rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Estimate,
    Usage,
}

/// Tokens by part; together they are the snapshot's `tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Breakdown {
    pub system: u64,
    pub tools: u64,
    pub summary: u64,
    pub messages: u64,
    pub tool_results: u64,
}

/// Whether the agent is asked to close chapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct ChapterTask {
    pub pending: bool,
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
            path_calls: 0,
            base: Base::default(),
            usage: None,
            calibration: 1.0,
        }
    }
}

impl Account {
    /// Estimated tokens of the context, not calibrated.
    pub fn estimated(&self) -> i64 {
        self.fixed()
            + self.base.summary
            + self.base.messages
            + self.base.tool_results
            + (self.path_tokens - self.base.path_tokens)
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

    /// Takes what a provider reported for the answer at the current end of the path.
    pub fn report(&mut self, reported: u64, estimator: Estimator) {
        let tokens = i64::try_from(reported).unwrap_or(i64::MAX / 4);
        self.usage = Some(UsageMark { tokens, path_tokens: self.path_tokens });
        let estimated = self.estimated();
        if calibrates(estimator) && estimated >= CALIBRATE_FROM_TOKENS {
            let ratio = tokens as f64 / estimated as f64;
            self.calibration = ratio.clamp(*CALIBRATION.start(), *CALIBRATION.end());
        }
    }

    /// Sets the view that a compaction at the current end of the path leaves. Older usage is stale from here on.
    pub fn rebase(&mut self, summary: i64, messages: i64, tool_results: i64) {
        self.base = Base {
            path_tokens: self.path_tokens,
            path_result_tokens: self.path_result_tokens,
            path_calls: self.path_calls,
            summary,
            messages,
            tool_results,
        };
        self.usage = None;
    }

    /// System prompt and tools alone leave no room for a message.
    pub fn has_no_room(&self, settings: &Settings) -> bool {
        u64::from(self.system) + u64::from(self.tools) >= u64::from(settings.usable())
    }

    /// The context is larger than the window.
    pub fn exceeds_window(&self, settings: &Settings) -> bool {
        self.tokens(settings.estimator).0 > u64::from(settings.context_window)
    }

    /// System prompt and tools alone are as large as the window.
    pub fn fills_window(&self, settings: &Settings) -> bool {
        u64::from(self.system) + u64::from(self.tools) >= u64::from(settings.context_window)
    }

    /// The size of the context and what it rests on.
    pub fn tokens(&self, estimator: Estimator) -> (u64, Source) {
        let (tokens, source) = match self.usage {
            Some(mark) => {
                let newer = self.scaled(self.path_tokens - mark.path_tokens, estimator);
                (mark.tokens.saturating_add(newer), Source::Usage)
            }
            None => (self.scaled(self.estimated(), estimator), Source::Estimate),
        };
        (tokens.max(0) as u64, source)
    }

    /// The size that a compaction would leave that frees this many estimated tokens: it makes reported usage stale.
    pub fn tokens_without(&self, freed: u64, estimator: Estimator) -> u64 {
        let freed = i64::try_from(freed).unwrap_or(i64::MAX);
        self.scaled(self.estimated().saturating_sub(freed), estimator).max(0) as u64
    }

    /// The estimate that stands for a context of this size: the inverse of the calibration.
    pub fn estimate_of(&self, tokens: u64, estimator: Estimator) -> u64 {
        let ratio = if calibrates(estimator) { self.calibration } else { 1.0 };
        (tokens as f64 / ratio.max(f64::MIN_POSITIVE)) as u64
    }

    fn scaled(&self, tokens: i64, estimator: Estimator) -> i64 {
        let ratio = if calibrates(estimator) { self.calibration } else { 1.0 };
        (tokens.max(0) as f64 * ratio).round() as i64
    }

    /// The estimates of the parts, brought to scale so that they add up to `tokens`.
    pub fn breakdown(&self, tokens: u64) -> Breakdown {
        let new_results = self.path_result_tokens - self.base.path_result_tokens;
        let scale = match self.estimated() {
            estimated if estimated > 0 => tokens as f64 / estimated as f64,
            _ => 1.0,
        };
        let mut left = tokens;
        let mut part = |estimate: i64| {
            let part = ((estimate.max(0) as f64 * scale) as u64).min(left);
            left -= part;
            part
        };
        let (system, tools) = (part(i64::from(self.system)), part(i64::from(self.tools)));
        let summary = part(self.base.summary);
        let tool_results = part(self.base.tool_results + new_results);
        Breakdown { system, tools, summary, tool_results, messages: left }
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
            breakdown: self.breakdown(tokens),
            percent_until_compaction: ((1.0 - tokens as f64 / trigger) * 100.0).clamp(0.0, 100.0),
            chapter_task: ChapterTask {
                pending: settings.chaptering_trigger.is_some_and(|trigger| tokens > u64::from(trigger)),
            },
            anti_thrash: guard,
            calibration: if calibrates(settings.estimator) { self.calibration } else { 1.0 },
            recounting,
        }
    }
}

impl Snapshot {
    /// Tokens that may come to the context before it is red.
    pub fn tokens_before_red(&self) -> u64 {
        let left = self.percent_until_compaction / 100.0;
        // What is left is a share of the size at which it is red.
        (self.tokens as f64 * left / (1.0 - left).max(f64::EPSILON)) as u64
    }
}

/// Green, yellow or red: `>=` on utilisation, but strictly over the usable window where `red_at` is null.
pub fn fill_state(tokens: u64, settings: &Settings) -> FillState {
    let utilization = tokens as f64 / f64::from(settings.usable());
    let red = match settings.red_at {
        Some(red_at) => utilization >= red_at,
        None => tokens > u64::from(settings.context_window.saturating_sub(settings.reserve_tokens)),
    };
    if red {
        FillState::Red
    } else if utilization >= settings.yellow_at {
        FillState::Yellow
    } else {
        FillState::Green
    }
}

/// Returns true if a context of this size is due for a summary prepared ahead of red.
pub fn is_ahead_due(tokens: u64, settings: &Settings) -> bool {
    let utilization = tokens as f64 / f64::from(settings.usable());
    settings.ahead_at.is_some_and(|ahead_at| utilization >= ahead_at)
}

/// The size from which a context is red.
pub fn red_tokens(settings: &Settings) -> f64 {
    (f64::from(settings.usable()) * settings.red_at.unwrap_or(1.0)).max(1.0)
}

fn calibrates(estimator: Estimator) -> bool {
    matches!(estimator, Estimator::O200k | Estimator::Cl100k)
}
