//! The names of the wire formats.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A wire format, named as in the API.
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
pub enum Format {
    Native,
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    Pi,
}

impl Format {
    pub const ALL: &'static [Format] = <Format as strum::VariantArray>::VARIANTS;
}
