//! Known models and the size of their windows.

use std::sync::LazyLock;

/// The window of a model that is not in the table.
pub const UNKNOWN_MODEL_WINDOW: u32 = 128_000;

/// The month in which the tables of models were collected.
pub const AS_OF: &str = "2026-11";

/// Collected from public documentation, without warranty: the window that needs no special request header, and the
/// greatest input where that is less. Where sources differ or a family has grown, the smaller figure stands: compacting
/// early costs less than a prompt that overflows. A session's `context_window` and an upstream's go before this table.
/// Keyed by the beginning of the model's name: dated snapshots and variants fall under their family, and the longest
/// beginning wins. `dev/windows` makes it anew.
const WINDOWS: &str = include_str!("windows.csv");

static TABLE: LazyLock<Vec<(&str, ModelLimits)>> = LazyLock::new(|| WINDOWS.lines().filter_map(row).collect());

/// Names that ask for a million tokens where the model has them, as Claude Code writes them.
const MILLION: (&str, u32) = ("[1m]", 1_000_000);

/// How large a request to a model may be, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// Prompt and answer together.
    pub window: u32,
    /// The prompt alone; `None`: as much as the window.
    pub input: Option<u32>,
}

fn row(line: &'static str) -> Option<(&'static str, ModelLimits)> {
    let mut cells = line.split(',');
    let (name, window, input) = (cells.next()?, cells.next()?, cells.next()?);
    Some((name, ModelLimits { window: window.parse().ok()?, input: input.parse().ok() }))
}

/// The table: the beginnings of names, and the limits of what is called so.
pub fn known() -> impl Iterator<Item = (&'static str, ModelLimits)> {
    TABLE.iter().copied()
}

/// The limits of `model`; `None` where it is not known.
pub fn limits(model: &str) -> Option<ModelLimits> {
    let (suffix, window) = MILLION;
    if model.trim_end().to_ascii_lowercase().ends_with(suffix) {
        return Some(ModelLimits { window, input: None });
    }
    of_family(&TABLE, model)
}

/// The most that `model` takes in one request, [`UNKNOWN_MODEL_WINDOW`] where it is not known.
pub fn greatest_request(model: &str) -> u32 {
    limits(model).map_or(UNKNOWN_MODEL_WINDOW, |limits| limits.input.unwrap_or(limits.window))
}

/// Families of models that refuse system messages among the others, and those of them that take some (November 2026). A
/// name that is not known is taken for a newer one's.
const SYSTEM_MESSAGES: &[(&str, bool)] = &[
    ("claude-1", false),
    ("claude-2", false),
    ("claude-3", false),
    ("claude-instant", false),
    ("claude-haiku-4", false),
    ("claude-sonnet-4", false),
    ("claude-opus-4", false),
    ("claude-opus-4-8", true),
];

/// Returns true if the model takes messages of the system among the others, as far as the table knows.
pub fn takes_system_messages(model: &str) -> bool {
    of_family(SYSTEM_MESSAGES, model).unwrap_or(true)
}

/// Looks a model up in a table that is keyed by the beginnings of names; the longest wins. Case, what providers put before
/// the name (`anthropic/claude-…`, `models/gemini-…`, `us.anthropic.claude-…`, `ft:gpt-…`) and how Claude's versions are
/// written (`4.6`, `4-6`) do not matter.
pub fn of_family<T: Copy>(table: &[(&str, T)], model: &str) -> Option<T> {
    let name = plain(model);
    let known = table.iter().filter(|(family, _)| name.starts_with(family));
    known.max_by_key(|(family, _)| family.len()).map(|(_, found)| *found)
}

/// The name without what providers put before it.
fn plain(model: &str) -> String {
    let name = model.trim().to_ascii_lowercase();
    let name = name.strip_prefix("ft:").unwrap_or(&name);
    let mut name = name.rsplit('/').next().unwrap_or(name);
    while let Some((before, rest)) = name.split_once('.') {
        let is_label = |label: &str| label.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
        let begins = |text: &str| text.starts_with(|one: char| one.is_ascii_alphabetic());
        if !(is_label(before) && begins(before) && begins(rest)) {
            break;
        }
        name = rest;
    }
    if name.starts_with("claude") { name.replace('.', "-") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(model: &str) -> Option<u32> {
        limits(model).map(|limits| limits.window)
    }

    #[test]
    fn the_longest_beginning_wins() {
        assert_eq!(window("gpt-4"), Some(8_192));
        assert_eq!(window("gpt-4-0613"), Some(8_192));
        assert_eq!(window("gpt-4o-2024-08-06"), Some(128_000));
        assert_eq!(window("gpt-4.1-mini"), Some(1_047_576));
        assert_eq!(window("o1-mini-2024-09-12"), Some(128_000));
    }

    #[test]
    fn prefixes_of_providers_are_left_out() {
        for (name, expected) in [
            ("anthropic/claude-sonnet-4", 200_000),
            ("us.anthropic.claude-opus-4-v1:0", 200_000),
            ("openrouter/anthropic/claude-opus-4.6", 1_000_000),
            ("global.anthropic.claude-opus-4-6-v1", 1_000_000),
            ("claude-sonnet-4-5@20250929", 200_000),
            ("models/Gemini-2.5-Pro", 1_048_576),
            ("meta-llama/Llama-3.1-8B", 131_072),
            ("us.meta.llama3-1-70b-instruct-v1:0", 131_072),
            ("ft:gpt-4o-mini-2024-07-18:acme::abc", 128_000),
            ("azure/gpt-35-turbo", 16_385),
        ] {
            assert_eq!(window(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_people_run_at_home_and_asks_for_more_is_known() {
        for (name, expected) in [
            ("llama3:8b", 8_192),
            ("llama3.1:8b", 131_072),
            ("llama3", 8_192),
            ("mistral", 32_768),
            ("mistral:7b-instruct", 32_768),
            ("phi3", 4_096),
            ("phi3:mini-128k", 131_072),
            ("grok-4-fast", 2_000_000),
            ("xai/grok-4-fast-reasoning", 2_000_000),
            ("claude-sonnet-4-5[1m]", 1_000_000),
            ("sonnet[1M]", 1_000_000),
            ("claude-sonnet-4-6", 1_000_000),
            ("claude-opus-4-1-20250805", 200_000),
        ] {
            assert_eq!(window(name), Some(expected), "{name}");
        }
    }

    /// Small or older members of a family are not given the window of its larger ones, nor that which an open model has
    /// only where its server is told to stretch it.
    #[test]
    fn a_member_with_a_window_of_its_own_has_that_one() {
        for (name, expected) in [
            ("gemma3:1b", 32_768),
            ("google/gemma-3-1b-it", 32_768),
            ("gemma3:270m", 32_768),
            ("google/gemma-3n-E4B-it", 32_768),
            ("gemma3n:e2b", 32_768),
            ("gemma3:4b", 131_072),
            ("google/gemma-3-27b-it", 131_072),
            ("gemma4:e4b", 131_072),
            ("gemma-4-31b-it", 262_144),
            ("Qwen/Qwen3-8B", 32_768),
            ("Qwen/Qwen3-0.6B", 32_768),
            ("qwen3:8b", 40_960),
            ("qwen3:4b", 40_960),
            ("qwen/qwen3-30b-a3b", 32_768),
            ("Qwen/Qwen3-4B-Instruct-2507", 262_144),
            ("qwen3-coder:30b", 262_144),
            ("qwen3-vl-plus", 260_096),
            ("qwen3.5:9b", 262_144),
            ("qwen2.5-coder:7b", 32_768),
            ("qwen2.5-math-7b-instruct", 4_096),
            ("qwq", 32_768),
            ("qwq-plus", 98_304),
            ("mistral-7b-instruct-v0.1", 8_192),
            ("mistral-7b-instruct-v0.3", 32_768),
            ("mistral-small:24b", 32_000),
            ("mistral.mistral-small-2402-v1:0", 32_000),
            ("mistral-small3.2", 131_072),
            ("mistral-small-latest", 131_072),
            ("mistral.mistral-large-2402-v1:0", 32_000),
            ("mixtral:8x7b", 32_768),
            ("codestral:22b", 32_000),
            ("codestral-latest", 128_000),
            ("deepseek-coder:6.7b", 16_384),
            ("deepseek-coder-v2:16b", 128_000),
            ("deepseek-llm:7b", 4_096),
            ("deepseek-ai/DeepSeek-V2-Lite-Chat", 32_768),
            ("deepseek-r1:7b", 65_536),
            ("phi4-mini", 131_072),
            ("Phi-4-mini-flash-reasoning", 65_536),
            ("phi-4-reasoning-plus", 32_768),
            ("llama3.2:1b", 131_072),
            ("kimi-k2-0711-preview", 131_072),
            ("kimi-k2-0905-preview", 262_144),
            ("z-ai/glm-4.5v", 65_536),
        ] {
            assert_eq!(window(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn the_greatest_input_is_no_window() {
        for name in ["gpt-5", "gpt-5.1-codex-max", "openai/gpt-5-mini-2025-08-07", "gpt-5.4"] {
            assert_eq!(limits(name), Some(ModelLimits { window: 400_000, input: Some(272_000) }), "{name}");
            assert_eq!(greatest_request(name), 272_000);
        }
        assert_eq!(limits("gpt-5-chat-latest"), Some(ModelLimits { window: 128_000, input: None }));
    }

    #[test]
    fn unknown_models_are_said_to_be() {
        for name in ["", "/", "my-model", "ünknown", "xgpt-4", ".", "a.b.c"] {
            assert_eq!(limits(name), None, "{name}");
            assert_eq!(greatest_request(name), UNKNOWN_MODEL_WINDOW);
        }
    }

    #[test]
    fn every_line_is_read_and_no_family_is_listed_twice() {
        let mut families: Vec<_> = known().map(|(family, _)| family).collect();
        assert_eq!(families.len() + 1, WINDOWS.lines().count());
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), TABLE.len());
        let fits =
            |limits: ModelLimits| limits.window >= 1_024 && limits.input.is_none_or(|input| input < limits.window);
        assert!(known().all(|(_, limits)| fits(limits)));
    }
}
