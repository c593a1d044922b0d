//! Who speaks in a request: the key that it came with, and the program that sent it.

use axum::http::{HeaderMap, header};
use uuid::Uuid;

use crate::domain::transcript::TextKey;

/// Characters of a program's name that count.
const LONGEST_NAME: usize = 100;

/// A key and a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Speaker {
    key_id: Option<Uuid>,
    /// Without its version.
    client: String,
}

impl Speaker {
    pub fn of(key_id: Option<Uuid>, headers: &HeaderMap) -> Speaker {
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        Speaker { key_id, client: product(agent) }
    }

    /// Stands for who speaks, the system prompt that is spoken under, and what was said.
    pub fn digest(&self, system: Option<&TextKey>, said: &blake3::Hash) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.key_id.unwrap_or_default().as_bytes());
        hasher.update(blake3::hash(self.client.as_bytes()).as_bytes());
        hasher.update(system.unwrap_or(&[0; 32])).update(said.as_bytes());
        hasher.finalize()
    }
}

/// The first product of a `User-Agent`, without its version.
fn product(agent: &str) -> String {
    let name = agent.trim_start().split(['/', ' ', '(', ';']).next().unwrap_or_default();
    name.chars().take(LONGEST_NAME).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_version_is_the_same_program() {
        for (agent, due) in [
            ("claude-cli/1.0.98 (external, cli)", "claude-cli"),
            ("codex_cli_rs/0.46.0 (Mac OS 15.1; arm64) iTerm", "codex_cli_rs"),
            ("OpenAI/Python 1.108.0", "openai"),
            ("opencode/0.5.1 ai-sdk/provider-utils/3.0.3 runtime/bun/1.2", "opencode"),
            ("litellm/1.75", "litellm"),
            ("QwenCode/0.0.14 (linux; x64)", "qwencode"),
            ("", ""),
        ] {
            assert_eq!(product(agent), due);
        }
        assert_eq!(product(&"x".repeat(9_000)).len(), LONGEST_NAME);
    }
}
