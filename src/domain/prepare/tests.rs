use std::collections::BTreeMap;

use crate::domain::settings::*;

/// pi's settings with this much kept.
pub fn settings(keep_recent_tokens: u32) -> Settings {
    Settings {
        preset: Preset::Checkpoint,
        enabled: true,
        estimator: Estimator::Pi,
        context_window: 200_000,
        reserve_tokens: 16_384,
        keep_recent_tokens,
        yellow_at: 0.6,
        red_at: None,
        ahead_at: None,
        strategy: Strategy::LlmSummarize,
        target_tokens: None,
        preserve_recent: 0,
        anchor_first_user: false,
        keep_recent_results: 3,
        exclude_tools: Vec::new(),
        min_gain_tokens: 0,
        tool_prune_before_summarise: false,
        max_tool_result_size: 500,
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
        file_tools: BTreeMap::new(),
        pinned_entry_ids: Vec::new(),
    }
}
