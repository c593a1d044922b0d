//! The strategies of compaction, by their names.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Strategy {
    Auto,
    Mask,
    Prune,
    Truncate,
    Sliding,
    Smart,
    Summarize,
    LlmSummarize,
}

/// Returns true if the strategy is a counting one: what stays is decided without a model.
pub fn counts(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::Truncate | Strategy::Sliding | Strategy::Smart)
}
