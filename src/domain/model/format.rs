//! The names of the wire formats.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A wire format, named as in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Native,
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    Pi,
}

impl Format {
    pub const ALL: [Format; 5] =
        [Format::Native, Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Pi];

    pub fn as_str(self) -> &'static str {
        match self {
            Format::Native => "native",
            Format::OpenaiChat => "openai_chat",
            Format::OpenaiResponses => "openai_responses",
            Format::Anthropic => "anthropic",
            Format::Pi => "pi",
        }
    }

    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == name)
    }
}
