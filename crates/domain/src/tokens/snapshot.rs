//! The snapshot: how full a session's window is, and what that rests on.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::model::anti_thrash::AntiThrash;
use crate::settings::{Settings, WindowSource};

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
    /// What `window` rests on.
    #[serde(default)]
    #[schema(required = true)]
    pub window_source: WindowSource,
    pub breakdown: Breakdown,
    /// How far (percent of the trigger) the context is from red; 0 when red.
    pub percent_until_compaction: f64,
    pub chapter_task: ChapterTask,
    pub anti_thrash: AntiThrash,
    /// Reported over counted tokens, `breakdown.unposted` aside, as learnt from the provider: `tokens` is `unposted +
    /// calibration x count`. Always 1 for `pi` and `praison`.
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
    /// The newest usage can't be true, and was not believed.
    UsageRejected,
}

/// Tokens by part; together they are the snapshot's `tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Breakdown {
    pub system: u64,
    pub tools: u64,
    pub summary: u64,
    pub messages: u64,
    pub tool_results: u64,
    /// What the provider counts and the client never posts: its system prompt and tools, where it keeps them to itself.
    #[serde(default)]
    #[schema(required = true)]
    pub unposted: u64,
}

/// Whether the agent is asked to close chapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct ChapterTask {
    pub pending: bool,
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
        None => {
            tokens > u64::from(settings.context_window.saturating_sub(settings.reserve_tokens).min(settings.usable()))
        }
    };
    if red {
        FillState::Red
    } else if utilization >= settings.yellow_at {
        FillState::Yellow
    } else {
        FillState::Green
    }
}

/// The size from which a context is red.
pub fn red_tokens(settings: &Settings) -> f64 {
    (f64::from(settings.usable()) * settings.red_at.unwrap_or(1.0)).max(1.0)
}
