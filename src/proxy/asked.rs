//! Compactions that a request asks its provider for, in the words of the providers (facts as of November 2026).

pub mod answers;
pub mod edits;
pub mod rewrite;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// OpenAI's item `compaction_trigger`, the last of the input: the answer is one item `compaction`.
    Handle,
    /// Anthropic's `compaction`: the answer is one block `compaction`.
    Summary { prompt: Option<String> },
    /// Anthropic's `context_management`, or a block `compaction` of an earlier answer.
    Edits(Edits),
    /// Something that is not known here.
    Unknown,
}

/// Edits of a context, in the order in which they are made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edits {
    /// The answer tells what was done.
    pub are_told: bool,
    pub clear: Option<ClearToolUses>,
    pub compact: Option<Compact>,
}

/// `clear_tool_uses_20250919`: old tool results give way to markers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ClearToolUses {
    trigger: Option<Amount>,
    keep: Option<Amount>,
    clear_at_least: Option<Amount>,
    exclude_tools: Option<Vec<String>>,
    clear_tool_inputs: Option<ToolInputs>,
}

/// `compact_20260112`: a summary takes the place of all that was said.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Compact {
    trigger: Option<Amount>,
    pause_after_compaction: Option<bool>,
    instructions: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
enum Amount {
    InputTokens(u64),
    ToolUses(u64),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum ToolInputs {
    All(bool),
    Of(Vec<String>),
}

#[derive(Deserialize)]
struct ContextManagement {
    edits: Option<Vec<Edit>>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Edit {
    #[serde(rename = "clear_tool_uses_20250919")]
    Clear(ClearToolUses),
    #[serde(rename = "compact_20260112")]
    Compact(Compact),
    /// Thinking is cleared by providers that have any.
    #[serde(rename = "clear_thinking_20251015")]
    Thinking,
}

/// `summarize` is the one kind.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Compaction {
    Summarize { instructions: Option<String> },
}

impl Asked {
    /// Of these fields of a request for a message; `None`: nothing is asked for.
    pub fn of_message(
        management: Option<&RawValue>,
        compaction: Option<&RawValue>,
        holds_block: bool,
    ) -> Option<Asked> {
        if let Some(compaction) = compaction {
            return Some(match serde_json::from_str(compaction.get()) {
                Ok(Compaction::Summarize { instructions }) => Asked::Summary { prompt: said(instructions) },
                Err(_) => Asked::Unknown,
            });
        }
        let Some(management) = management else { return holds_block.then(|| Asked::Edits(Edits::default())) };
        let Ok(ContextManagement { edits: given }) = serde_json::from_str(management.get()) else {
            return Some(Asked::Unknown);
        };
        let mut edits = Edits { are_told: true, ..Edits::default() };
        for edit in given.into_iter().flatten() {
            match edit {
                Edit::Clear(clear) => edits.clear = Some(clear),
                Edit::Compact(compact) => edits.compact = Some(compact),
                Edit::Thinking => {}
            }
        }
        Some(Asked::Edits(edits))
    }
}

impl ClearToolUses {
    const TRIGGER: u64 = 100_000;
    const KEEP: u64 = 3;

    /// Returns true for a context of this size.
    pub fn is_due(&self, tokens: u64, tool_uses: u64) -> bool {
        match self.trigger {
            Some(Amount::ToolUses(most)) => tool_uses > most,
            Some(Amount::InputTokens(most)) => tokens > most,
            None => tokens > Self::TRIGGER,
        }
    }

    fn keep(&self) -> usize {
        let (Amount::ToolUses(keep) | Amount::InputTokens(keep)) = self.keep.unwrap_or(Amount::ToolUses(Self::KEEP));
        usize::try_from(keep).unwrap_or(usize::MAX)
    }

    fn least(&self) -> u64 {
        let (Amount::InputTokens(least) | Amount::ToolUses(least)) =
            self.clear_at_least.unwrap_or(Amount::InputTokens(0));
        least
    }

    fn excludes(&self, tool: &str) -> bool {
        self.exclude_tools.iter().flatten().any(|excluded| excluded == tool)
    }

    fn clears_inputs_of(&self, tool: &str) -> bool {
        match &self.clear_tool_inputs {
            Some(ToolInputs::All(all)) => *all,
            Some(ToolInputs::Of(tools)) => tools.iter().any(|one| one == tool),
            None => false,
        }
    }
}

impl Compact {
    const TRIGGER: u64 = 150_000;

    /// Returns true for a context of this size.
    pub fn is_due(&self, tokens: u64) -> bool {
        match self.trigger {
            Some(Amount::InputTokens(most) | Amount::ToolUses(most)) => tokens > most,
            None => tokens > Self::TRIGGER,
        }
    }

    /// Returns true if the answer ends with the compaction.
    pub fn pauses(&self) -> bool {
        self.pause_after_compaction.unwrap_or(false)
    }

    pub fn prompt(&self) -> Option<String> {
        said(self.instructions.clone())
    }
}

/// A text of blanks counts as none.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(management: &Value, compaction: &Value) -> Option<Asked> {
        let raw = |value: &Value| (!value.is_null()).then(|| serde_json::value::to_raw_value(value).unwrap());
        Asked::of_message(raw(management).as_deref(), raw(compaction).as_deref(), false)
    }

    #[test]
    fn edits_are_read_with_their_defaults() {
        assert_eq!(asked(&Value::Null, &Value::Null), None);
        let Some(Asked::Edits(edits)) = asked(
            &json!({"edits": [{"type": "clear_thinking_20251015", "keep": "all"},
            {"type": "clear_tool_uses_20250919"}, {"type": "compact_20260112"}]}),
            &Value::Null,
        ) else {
            panic!()
        };
        let (clear, compact) = (edits.clear.unwrap(), edits.compact.unwrap());
        assert!(clear.is_due(100_001, 0) && !clear.is_due(100_000, 99) && clear.keep() == 3 && clear.least() == 0);
        assert!(compact.is_due(150_001) && !compact.is_due(150_000) && !compact.pauses());
        let told = json!({"edits": [{"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 4},
            "keep": {"type": "tool_uses", "value": 1}, "clear_at_least": {"type": "input_tokens", "value": 50},
            "exclude_tools": ["a"], "clear_tool_inputs": ["b"]},
            {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 9}, "instructions": " ",
            "pause_after_compaction": true}]});
        let Some(Asked::Edits(edits)) = asked(&told, &Value::Null) else { panic!() };
        let (clear, compact) = (edits.clear.unwrap(), edits.compact.unwrap());
        assert!(clear.is_due(0, 5) && !clear.is_due(1 << 40, 4) && clear.keep() == 1 && clear.least() == 50);
        assert!(clear.excludes("a") && !clear.excludes("b") && clear.clears_inputs_of("b"));
        assert!(compact.is_due(10) && compact.pauses() && compact.prompt().is_none());
    }

    #[test]
    fn what_is_not_known_is_said_so() {
        for unknown in [json!({"edits": [{"type": "new"}]}), json!({"edits": 1}), json!([])] {
            assert_eq!(asked(&unknown, &Value::Null), Some(Asked::Unknown), "{unknown}");
        }
        assert_eq!(asked(&Value::Null, &json!({"type": "other"})), Some(Asked::Unknown));
        let summary = asked(&Value::Null, &json!({"type": "summarize", "instructions": "Be brief."}));
        assert_eq!(summary, Some(Asked::Summary { prompt: Some("Be brief.".into()) }));
    }
}
