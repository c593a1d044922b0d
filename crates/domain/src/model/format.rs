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
    Gemini,
    Pi,
    /// Lines of a session file, for import and export.
    ClaudeCode,
    /// Lines of a rollout file, for import and export.
    Codex,
}

impl Format {
    pub const ALL: &'static [Format] = <Format as strum::VariantArray>::VARIANTS;

    /// The formats that a context can be written in.
    pub const OF_CONTEXTS: &'static [Format] =
        &[Format::Native, Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini, Format::Pi];

    /// Returns true for the lines of a file, which no provider is sent.
    pub fn is_file_only(self) -> bool {
        !Format::OF_CONTEXTS.contains(&self)
    }

    /// Returns true if items come with a tree of their own, which has to be seen whole.
    pub fn has_tree(self) -> bool {
        matches!(self, Format::Pi | Format::ClaudeCode)
    }

    /// Returns true if a context in it is what a provider's own API is sent.
    pub fn has_provider(self) -> bool {
        !self.is_file() && self != Format::Native
    }

    /// Returns true if items are the lines of a file that somebody else writes.
    pub fn is_file(self) -> bool {
        self == Format::Pi || self.is_file_only()
    }

    /// The names of formats, as an error lists them.
    pub fn names(formats: &[Format]) -> String {
        let names: Vec<&str> = formats.iter().map(|format| format.into_str()).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{} or {last}", others.join(", "))
    }
}
