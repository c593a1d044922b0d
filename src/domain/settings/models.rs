//! Known models and the size of their windows.

/// The window of a model that is not in the table.
pub const UNKNOWN_MODEL_WINDOW: u32 = 128_000;

/// The month in which the tables of models were collected.
pub const AS_OF: &str = "2026-11";

/// Collected from public documentation, without warranty: total tokens of prompt and answer, and the window that needs no
/// special request header. Where sources differ or a family has grown, the smaller figure stands: compacting early costs
/// less than a prompt that overflows. A session's `context_window` and an upstream's go before this table.
/// Keyed by the beginning of the model's name: dated snapshots and variants fall under their family, and the longest
/// beginning wins.
const WINDOWS: &[(&str, u32)] = &[
    // OpenAI
    ("gpt-3.5-turbo", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-32k", 32_768),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-1106", 128_000),
    ("gpt-4-0125", 128_000),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.5", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("codex-mini", 200_000),
    // Anthropic
    ("claude", 200_000),
    ("claude-2.0", 100_000),
    ("claude-instant", 100_000),
    // Google
    ("gemini", 1_048_576),
    ("gemini-1.5-pro", 2_097_152),
    ("gemma-2", 8_192),
    ("gemma-3", 131_072),
    // Mistral
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("mistral-small", 131_072),
    ("codestral", 262_144),
    ("devstral", 131_072),
    ("open-mixtral-8x7b", 32_768),
    ("open-mixtral-8x22b", 65_536),
    // DeepSeek
    ("deepseek", 131_072),
    // Meta
    ("llama-3", 8_192),
    ("llama-3.1", 131_072),
    ("llama-3.2", 131_072),
    ("llama-3.3", 131_072),
    ("llama-4-maverick", 1_048_576),
    ("llama-4-scout", 10_485_760),
    // xAI
    ("grok-2", 131_072),
    ("grok-3", 131_072),
    ("grok-4", 256_000),
    // Alibaba, Moonshot, Zhipu
    ("qwen2.5", 131_072),
    ("qwen3", 131_072),
    ("qwen3-coder", 262_144),
    ("kimi-k2", 262_144),
    ("glm-4.5", 131_072),
    ("glm-4.6", 200_000),
];

/// The table: the beginnings of names, and the windows of what is called so.
pub fn known() -> impl Iterator<Item = (&'static str, u32)> {
    WINDOWS.iter().copied()
}

/// The window of `model` in tokens, [`UNKNOWN_MODEL_WINDOW`] where it is not known.
pub fn context_window(model: &str) -> u32 {
    of_family(WINDOWS, model).unwrap_or(UNKNOWN_MODEL_WINDOW)
}

/// Looks a model up in a table that is keyed by the beginnings of names; the longest wins. Case, a provider's path before
/// the name (`anthropic/claude-…`, `models/gemini-…`) and a region's prefix (`us.anthropic.claude-…`) do not matter.
pub fn of_family<T: Copy>(table: &[(&str, T)], model: &str) -> Option<T> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let vendor = name.rfind("anthropic.").map_or(0, |at| at + "anthropic.".len());
    let name = name.get(vendor..).unwrap_or(&name);
    let known = table.iter().filter(|(family, _)| name.starts_with(family));
    known.max_by_key(|(family, _)| family.len()).map(|(_, found)| *found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_wins() {
        assert_eq!(context_window("gpt-4"), 8_192);
        assert_eq!(context_window("gpt-4-0613"), 8_192);
        assert_eq!(context_window("gpt-4o-2024-08-06"), 128_000);
        assert_eq!(context_window("gpt-4.1-mini"), 1_047_576);
        assert_eq!(context_window("o1-mini-2024-09-12"), 128_000);
    }

    #[test]
    fn prefixes_of_providers_are_left_out() {
        assert_eq!(context_window("anthropic/claude-sonnet-4"), 200_000);
        assert_eq!(context_window("us.anthropic.claude-opus-4-v1:0"), 200_000);
        assert_eq!(context_window("models/Gemini-2.5-Pro"), 1_048_576);
        assert_eq!(context_window("meta-llama/Llama-3.1-8B"), 131_072);
    }

    #[test]
    fn unknown_models_have_the_default_window() {
        for name in ["", "/", "my-model", "ünknown", "xgpt-4"] {
            assert_eq!(context_window(name), UNKNOWN_MODEL_WINDOW, "{name}");
        }
    }

    #[test]
    fn no_family_is_listed_twice() {
        let mut families: Vec<_> = WINDOWS.iter().map(|(family, _)| *family).collect();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), WINDOWS.len());
    }
}
