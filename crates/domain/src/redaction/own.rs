//! A session's own patterns, as its settings have them.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most patterns of a session, and most characters of each.
pub const PATTERNS_MAX: usize = 50;
pub const PATTERN_CHARS: usize = 500;
/// What one pattern may take once it is compiled, in bytes.
const PATTERN_BYTES: usize = 1 << 20;

/// What is kept from summarisers, summaries and hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RedactSetting {
    Word(RedactWord),
    Own(OwnPatterns),
}

/// `auto`: what is known to be a secret by its form, by its name or by what stands around it. `off`: nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedactWord {
    #[default]
    Auto,
    Off,
}

impl Default for RedactSetting {
    fn default() -> RedactSetting {
        RedactSetting::Word(RedactWord::Auto)
    }
}

/// Patterns of the session's own, beside those of `auto`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPatterns {
    /// Regular expressions without look-around and back references. Where one has a group, the first is what is replaced.
    #[schema(max_items = 50)]
    pub patterns: Vec<String>,
}

/// Reads one of a session's own patterns.
///
/// # Errors
/// What is wrong with it, in words.
pub fn own_pattern(pattern: &str) -> Result<Regex, String> {
    if pattern.chars().nth(PATTERN_CHARS).is_some() {
        return Err(format!("must have at most {PATTERN_CHARS} characters"));
    }
    let built = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build();
    let regex = built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "is too large once it is compiled: bound its repetitions".to_owned(),
        error => format!("is no regular expression: {}", error.to_string().lines().last().unwrap_or_default()),
    })?;
    if regex.is_match("") { Err("must not match an empty text".to_owned()) } else { Ok(regex) }
}
