//! Token usage as providers report it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tokens that one answer cost, as its provider said. Fields that a provider does not have are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportedUsage {
    /// Input tokens that were neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The provider's own total, where it gives one that is not 0.
    pub total: Option<u64>,
}

/// A usage object that says nothing, or says it in the wrong type: pointer into the object, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageError {
    pub pointer: String,
    pub detail: &'static str,
}

impl ReportedUsage {
    /// Reads a provider's own usage object: OpenAI's names (`prompt_tokens` …, or the Responses API's `input_tokens`
    /// with details), DeepSeek's (hits and misses of its cache), Anthropic's (cache tokens beside `input_tokens`),
    /// Bedrock's, Gemini's `usageMetadata`, Ollama's, the AI SDK's, pi's, and mixtures of these as gateways tell them.
    ///
    /// # Errors
    /// Not an object, a known field that is no whole number from 0, or no known field at all.
    pub fn parse(value: &Value) -> Result<ReportedUsage, UsageError> {
        let fields = Fields(value.as_object().ok_or_else(|| error("", "must be an object"))?);
        let (within, beside) = (fields.first(INPUT_WITH_CACHE)?, fields.first(INPUT_BESIDE_CACHE)?);
        let parts = [fields.first(&["prompt_cache_hit_tokens"])?, fields.first(&["prompt_cache_miss_tokens"])?];
        let (output, total) = (fields.output()?, fields.first(TOTAL)?);
        if within.or(beside).or(parts[0]).or(parts[1]).or(output).or(total).is_none() {
            return Err(error("", "holds none of the known token counts"));
        }
        let by_parts = || parts.iter().flatten().copied().reduce(u64::saturating_add);
        let told = Self {
            input: within.or(beside).or_else(by_parts).unwrap_or(0),
            output: output.unwrap_or(0),
            cache_read: fields.first(CACHE_READ)?.unwrap_or(0),
            cache_write: fields.first(CACHE_WRITE)?.unwrap_or(0),
            total: total.filter(|total| *total > 0),
        };
        Ok(told.settled(within.is_some()))
    }

    /// The same where each token counts once. `within`: by its name, the input holds what came from a cache or went there.
    fn settled(self, within: bool) -> ReportedUsage {
        let cached = self.cache_read.saturating_add(self.cache_write);
        let apart = self.request_tokens().saturating_add(self.output);
        // It can't hold more than it is. A total says whether it does, for it is no less than its parts.
        let holds = cached <= self.input && (within || self.total.is_some_and(|total| total < apart));
        if holds {
            return ReportedUsage { cache_read: 0, cache_write: 0, ..self };
        }
        // The total of a gateway may leave the cached ones out.
        ReportedUsage { total: self.total.filter(|total| *total >= apart || cached == 0), ..self }
    }

    /// The size of the context after this answer: the total where there is one, else the sum of the parts.
    pub fn context_tokens(&self) -> u64 {
        match self.total {
            Some(total) if total > 0 => total,
            _ => self.request_tokens().saturating_add(self.output),
        }
    }

    /// The size of the request alone; 0 where only a total is told.
    pub fn request_tokens(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

/// Names of the input where what came from a cache or went to one stands beside it, and where it is in it.
const INPUT_BESIDE_CACHE: &[&str] = &["input_tokens", "inputTokens", "input"];
const INPUT_WITH_CACHE: &[&str] = &["prompt_tokens", "promptTokenCount", "promptTokens", "prompt_eval_count"];
const TOTAL: &[&str] = &["total_tokens", "totalTokenCount", "totalTokens"];
const OUTPUT: &[&str] =
    &["output_tokens", "completion_tokens", "outputTokens", "completionTokens", "eval_count", "output"];
const CACHE_READ: &[&str] = &["cache_read_input_tokens", "cacheReadInputTokens", "cacheRead"];
const CACHE_WRITE: &[&str] = &["cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWrite"];

struct Fields<'v>(&'v serde_json::Map<String, Value>);

impl Fields<'_> {
    fn field(&self, name: &str) -> Result<Option<u64>, UsageError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(number) => whole(number).map(Some).ok_or_else(|| error(name, "must be a whole number, 0 or more")),
        }
    }

    fn first(&self, names: &[&str]) -> Result<Option<u64>, UsageError> {
        names.iter().try_fold(None, |found: Option<u64>, name| Ok(found.or(self.field(name)?)))
    }

    /// Gemini tells the thoughts beside the answer.
    fn output(&self) -> Result<Option<u64>, UsageError> {
        match (self.first(OUTPUT)?, self.field("candidatesTokenCount")?, self.field("thoughtsTokenCount")?) {
            (Some(output), _, _) => Ok(Some(output)),
            (None, None, None) => Ok(None),
            (None, answer, thoughts) => Ok(Some(answer.unwrap_or(0).saturating_add(thoughts.unwrap_or(0)))),
        }
    }
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 1e15).map(|n| n as u64))
}

fn error(field: &str, detail: &'static str) -> UsageError {
    let pointer = if field.is_empty() { String::new() } else { format!("/{field}") };
    UsageError { pointer, detail }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_providers_names_give_the_size_of_the_context() {
        let size = |value| ReportedUsage::parse(&value).unwrap().context_tokens();
        assert_eq!(
            size(
                json!({"prompt_tokens": 900, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}})
            ),
            1_000
        );
        assert_eq!(size(json!({"input_tokens": 900, "output_tokens": 100, "total_tokens": 1_000})), 1_000);
        assert_eq!(
            size(
                json!({"input_tokens": 3, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 40, "output_tokens": 57})
            ),
            1_000
        );
        assert_eq!(
            size(
                json!({"promptTokenCount": 900, "candidatesTokenCount": 60, "thoughtsTokenCount": 40, "totalTokenCount": 1_000})
            ),
            1_000
        );
        assert_eq!(size(json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 0})), 10);
    }

    /// Request and context of one and the same answer, as it is told by each.
    #[test]
    fn nothing_is_added_up_twice() {
        for told in [
            json!({"prompt_tokens": 900, "completion_tokens": 100, "cache_read_input_tokens": 800}),
            json!({"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1_000, "cache_read_input_tokens": 800,
                "cache_creation_input_tokens": 50}),
            json!({"prompt_tokens": 900, "completion_tokens": 100, "prompt_cache_hit_tokens": 800,
                "prompt_cache_miss_tokens": 100}),
            json!({"completion_tokens": 100, "prompt_cache_hit_tokens": 800, "prompt_cache_miss_tokens": 100}),
            json!({"prompt_tokens": 50, "completion_tokens": 100, "total_tokens": 150, "cache_read_input_tokens": 850}),
            json!({"input_tokens": 50, "output_tokens": 100, "cache_read_input_tokens": 800,
                "cache_creation_input_tokens": 50, "cache_creation": {"ephemeral_5m_input_tokens": 50}}),
            json!({"input_tokens": 900, "output_tokens": 100, "total_tokens": 1_000, "cache_read_input_tokens": 800}),
            json!({"input_tokens": 900, "output_tokens": 100, "input_tokens_details": {"cached_tokens": 800}}),
            json!({"inputTokens": 100, "outputTokens": 100, "totalTokens": 1_000, "cacheReadInputTokens": 800}),
            json!({"inputTokens": 100, "outputTokens": 100, "totalTokens": 200, "cacheReadInputTokens": 800}),
            json!({"inputTokens": 900, "outputTokens": 100, "totalTokens": 1_000, "cachedInputTokens": 800}),
            json!({"promptTokenCount": 900, "cachedContentTokenCount": 800, "candidatesTokenCount": 60,
                "thoughtsTokenCount": 40}),
            json!({"prompt_eval_count": 900, "eval_count": 100}),
            json!({"input": 100, "cacheRead": 750, "cacheWrite": 50, "output": 100, "totalTokens": 1_000}),
        ] {
            let usage = ReportedUsage::parse(&told).unwrap();
            assert_eq!((usage.request_tokens(), usage.context_tokens()), (900, 1_000), "{told}");
        }
    }

    #[test]
    fn what_is_no_usage_is_refused_with_its_place() {
        assert_eq!(ReportedUsage::parse(&json!([])).unwrap_err().pointer, "");
        assert_eq!(ReportedUsage::parse(&json!({})).unwrap_err().pointer, "");
        assert_eq!(ReportedUsage::parse(&json!({"input_tokens": -1})).unwrap_err().pointer, "/input_tokens");
        assert_eq!(ReportedUsage::parse(&json!({"input_tokens": "9"})).unwrap_err().pointer, "/input_tokens");
    }
}
