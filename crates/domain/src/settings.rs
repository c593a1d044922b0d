//! The settings of a session: everything that changes what compaction does, resolved from preset, server
//! defaults and the session's own patch.

mod file_tools;
pub mod models;
pub mod pictures;
mod presets;
mod resolve;
mod value;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::strategy::Strategy;
use crate::redaction::RedactSetting;

pub use file_tools::default_file_tools;
pub use pictures::Pictures;
pub use resolve::{SettingError, Talked, merge_patch, resolve};

/// A session's settings, every field resolved. Tokens unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Settings {
    pub preset: Preset,
    /// Off: nothing compacts by itself; a call still does.
    pub enabled: bool,
    pub estimator: Estimator,
    /// The model's window.
    pub context_window: u32,
    /// What the window rests on. It is told in snapshots and set by nobody.
    #[serde(skip)]
    pub window_source: WindowSource,
    /// The most that the model takes in one request, where that is less than its window. Set by nobody.
    #[serde(skip)]
    pub greatest_input: Option<u32>,
    /// How the model's provider counts pictures, where that is known. Set by nobody.
    #[serde(skip)]
    pub pictures: Option<Pictures>,
    /// Kept free for the model's answer: `usable = context_window - reserve_tokens`, or what the model takes in one request
    /// where that is less.
    pub reserve_tokens: u32,
    /// How much of the newest context a summary leaves verbatim. With the presets `harness` and `chat` it is at least the
    /// newest `preserve_recent` messages.
    pub keep_recent_tokens: u32,
    /// Utilisation (0-1) from which the state is yellow.
    pub yellow_at: f64,
    /// Utilisation (0-1) from which the state is red; `null`: red is `tokens > context_window - reserve_tokens`.
    pub red_at: Option<f64>,
    /// Utilisation (0-1) from which a candidate is prepared ahead; system prompt and tools move it nearer to red. `null`
    /// turns it off.
    pub ahead_at: Option<f64>,
    /// Utilisation (0-1) from which a compaction may start before red, where it pays: where carrying what it would leave
    /// out has cost the calls since the last one as much as it costs itself, at the prices of the session's model. `null`
    /// (the default): red alone starts one.
    pub pays_at: Option<f64>,
    pub strategy: Strategy,
    /// Tokens to which the counting strategies (`truncate`, `sliding`, `smart`) shrink; `null`: 0.75 of the
    /// usable window.
    pub target_tokens: Option<u32>,
    /// Messages that `truncate`, `smart` and `prune` leave alone at the end; `smart` and `truncate` as far as they fit.
    pub preserve_recent: u32,
    pub anchor_first_user: bool,
    /// Tool results (counted one by one) that masking leaves alone; 0 masks all.
    pub keep_recent_results: u32,
    /// Tools whose results and arguments are never masked or pruned.
    pub exclude_tools: Vec<String>,
    /// Secrets in what a summariser is sent, in summaries and in what hooks are shown: replaced by `[redacted: kind]`. The
    /// stored messages stay as they are.
    pub redact: RedactSetting,
    /// Names of agents: a user's message with one of them is that agent's, not the user's.
    pub agents: Vec<String>,
    /// Masking, and likewise pruning, that frees less than this in all is not done.
    pub min_gain_tokens: u32,
    pub tool_prune_before_summarise: bool,
    /// In characters. Pruning shortens longer results, and longer strings in the arguments of calls.
    pub max_tool_result_size: u32,
    pub thinking: Thinking,
    pub template: Template,
    /// Update the previous summary with what is new (true) or summarise everything again (false).
    pub iterative: bool,
    pub focus_topic: Option<String>,
    pub instructions: Option<String>,
    /// The caller's own summary prompt, in place of the template's.
    pub prompt: Option<String>,
    /// In place of the service's framing before every summary.
    pub compaction_prefix: Option<String>,
    /// Upper bound of a summary's size; `null`: 0.8 of the reserve.
    pub summary_max_tokens: Option<u32>,
    /// Name of the upstream that writes summaries; `null`: the default one.
    pub upstream: Option<String>,
    pub on_upstream_failure: OnUpstreamFailure,
    pub policy: Option<Policy>,
    /// Percent, 0-100. A value between 0 and 1 given by a client is scaled by 100.
    pub min_savings_pct: f64,
    /// 0 turns the guard off.
    pub max_consecutive_low_savings: u32,
    pub reset: GuardReset,
    pub chaptering_trigger: Option<u32>,
    /// Tool name to what it does with files. Replaces the default table as a whole; other tools are known by structure.
    pub file_tools: BTreeMap<String, FileTool>,
    pub pinned_entry_ids: Vec<Uuid>,
}

/// What a window rests on: a setting, a provider's refusal that named it or a context that it was smaller than, the table of models, or nothing (`guess`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    #[default]
    Setting,
    Refusal,
    Table,
    Guess,
}

macro_rules! word_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
    };
}

word_enum!(Preset { Auto, Checkpoint, Harness, Chat });
word_enum!(
    /// How tokens are counted.
    Estimator { O200k, Cl100k, Pi, Praison }
);
word_enum!(Template { Checkpoint, SixSection, Continuity, Prose });
word_enum!(
    /// What becomes of the model's thinking in a rebuilt context. `auto`: what the target would refuse is left out.
    /// `keep`: besides, thinking that another model signed stays. `strip`: none but that of the running tool-use turn.
    Thinking { Keep, Strip, Auto }
);
word_enum!(OnUpstreamFailure { Fallback, Fail });
word_enum!(Policy { Conservative, Balanced, Aggressive });
word_enum!(GuardReset { Growth, NewMessages });
word_enum!(FileKind { Read, Write, Edit });

/// What a tool does with a file and which of its arguments holds the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileTool {
    pub kind: FileKind,
    pub path: String,
}

impl Settings {
    /// `context_window - reserve_tokens`, and no more than the model takes in one request; never below 1.
    pub fn usable(&self) -> u32 {
        self.context_window.saturating_sub(self.reserve_tokens).min(self.greatest_input.unwrap_or(u32::MAX)).max(1)
    }

    /// `target_tokens`, or 0.75 of the usable window.
    pub fn target(&self) -> u32 {
        let usable = self.usable();
        self.target_tokens.unwrap_or((usable - usable / 4).max(1))
    }

    /// The most that something open may hold of the context, as far as it is left whole: half of the usable window.
    pub fn most_open(&self) -> u64 {
        u64::from(self.usable() / 2)
    }

    /// The size that a record brings the context to: `target_tokens`, or 0.35 of the window, and no more than half of what
    /// is usable.
    pub fn record_target(&self) -> u32 {
        let share = u64::from(self.context_window) * 35 / 100;
        let share = u32::try_from(share).unwrap_or(u32::MAX).min(self.usable() / 2);
        self.target_tokens.unwrap_or(share.max(1))
    }

    /// Returns the tokens that summaries are measured by: the reserve, or a quarter of the window where nothing is
    /// reserved.
    pub fn summary_reserve(&self) -> u32 {
        if self.reserve_tokens == 0 { self.context_window / 4 } else { self.reserve_tokens }
    }

    /// Returns true if a summary leaves the newest `preserve_recent` messages verbatim, however few tokens they have.
    pub fn keeps_messages(&self) -> bool {
        matches!(self.preset, Preset::Harness | Preset::Chat)
    }
}
