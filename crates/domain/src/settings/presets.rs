//! Presets: the value of every setting when nobody sets it.

use super::file_tools::default_file_tools;
use super::{Estimator, GuardReset, OnUpstreamFailure, Policy, Preset, Settings, Template, Thinking, WindowSource};
use crate::model::strategy::Strategy;
use crate::redaction::RedactSetting;

/// The preset's values for a model with this window. Sizes are not yet fitted to a small window.
pub(super) fn settings(preset: Preset, model_window: u32) -> Settings {
    let auto = auto(model_window);
    match preset {
        Preset::Auto => auto,
        Preset::Checkpoint => Settings {
            preset,
            red_at: None,
            ahead_at: None,
            strategy: Strategy::LlmSummarize,
            tool_prune_before_summarise: false,
            anchor_first_user: false,
            template: Template::Checkpoint,
            ..auto
        },
        Preset::Harness => Settings {
            preset,
            estimator: Estimator::Cl100k,
            reserve_tokens: 4096,
            keep_recent_tokens: 0,
            keep_recent_results: 3,
            preserve_recent: 6,
            tool_prune_before_summarise: false,
            template: Template::Prose,
            ..auto
        },
        Preset::Chat => Settings {
            preset,
            context_window: 8000,
            // The window is a budget of messages, not a model's: nothing is set aside, and red is a full budget.
            reserve_tokens: 0,
            red_at: None,
            ahead_at: None,
            target_tokens: Some(6000),
            keep_recent_tokens: 0,
            preserve_recent: 5,
            template: Template::SixSection,
            summary_max_tokens: Some(1600),
            ..auto
        },
    }
}

fn auto(model_window: u32) -> Settings {
    Settings {
        preset: Preset::Auto,
        enabled: true,
        estimator: Estimator::O200k,
        context_window: model_window,
        window_source: WindowSource::default(),
        greatest_input: None,
        pictures: None,
        reserve_tokens: 16_384,
        keep_recent_tokens: 16_384,
        yellow_at: 0.60,
        red_at: Some(0.80),
        ahead_at: Some(0.70),
        pays_at: None,
        strategy: Strategy::Auto,
        target_tokens: None,
        preserve_recent: 6,
        anchor_first_user: true,
        keep_recent_results: 3,
        exclude_tools: Vec::new(),
        redact: RedactSetting::default(),
        agents: Vec::new(),
        min_gain_tokens: 0,
        tool_prune_before_summarise: true,
        max_tool_result_size: 500,
        thinking: Thinking::Auto,
        template: Template::Checkpoint,
        iterative: true,
        focus_topic: None,
        instructions: None,
        prompt: None,
        compaction_prefix: None,
        summary_max_tokens: None,
        upstream: None,
        on_upstream_failure: OnUpstreamFailure::Fallback,
        policy: None,
        min_savings_pct: 10.0,
        max_consecutive_low_savings: 2,
        reset: GuardReset::Growth,
        chaptering_trigger: None,
        file_tools: default_file_tools(),
        pinned_entry_ids: Vec::new(),
    }
}

impl Policy {
    /// Utilisation (0-1) that triggers, and the one that compaction aims at.
    pub(super) fn thresholds(self) -> (f64, f64) {
        match self {
            Self::Conservative => (0.80, 0.60),
            Self::Balanced => (0.90, 0.70),
            Self::Aggressive => (0.95, 0.75),
        }
    }
}
