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
    /// with details), Anthropic's (cache tokens beside `input_tokens`), Gemini's `usageMetadata`, or pi's.
    ///
    /// # Errors
    /// Not an object, a known field that is no whole number from 0, or no known field at all.
    pub fn parse(value: &Value) -> Result<ReportedUsage, UsageError> {
        let object = value.as_object().ok_or_else(|| error("", "must be an object"))?;
        let field = |name: &str| -> Result<Option<u64>, UsageError> {
            match object.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(number) => whole(number).map(Some).ok_or_else(|| error(name, "must be a whole number, 0 or more")),
            }
        };
        let first = |names: &[&str]| -> Result<Option<u64>, UsageError> {
            names.iter().try_fold(None, |found: Option<u64>, name| Ok(found.or(field(name)?)))
        };
        let input = first(&["input_tokens", "prompt_tokens", "promptTokenCount", "input"])?;
        let output = first(&["output_tokens", "completion_tokens", "candidatesTokenCount", "output"])?;
        let total = first(&["total_tokens", "totalTokenCount", "totalTokens"])?;
        let cache_read = first(&["cache_read_input_tokens", "cacheRead"])?.unwrap_or(0);
        let cache_write = first(&["cache_creation_input_tokens", "cacheWrite"])?.unwrap_or(0);
        if input.is_none() && output.is_none() && total.is_none() {
            return Err(error("", "holds none of the known token counts"));
        }
        // OpenAI counts cached tokens inside its input, so they add nothing to the size.
        Ok(ReportedUsage {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
            cache_read,
            cache_write,
            total: total.filter(|total| *total > 0),
        })
    }

    /// The size of the context after this answer: the total where there is one, else the sum of the parts.
    pub fn context_tokens(&self) -> u64 {
        match self.total {
            Some(total) if total > 0 => total,
            _ => {
                self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
            }
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

    #[test]
    fn what_is_no_usage_is_refused_with_its_place() {
        assert_eq!(ReportedUsage::parse(&json!([])).unwrap_err().pointer, "");
        assert_eq!(ReportedUsage::parse(&json!({})).unwrap_err().pointer, "");
        assert_eq!(ReportedUsage::parse(&json!({"input_tokens": -1})).unwrap_err().pointer, "/input_tokens");
        assert_eq!(ReportedUsage::parse(&json!({"input_tokens": "9"})).unwrap_err().pointer, "/input_tokens");
    }
}
