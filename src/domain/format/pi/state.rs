//! Which model and thinking level a pi path ends with.

use serde_json::Value;

/// The model and the thinking level at the end of a path, as pi tracks them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiState {
    /// `off` until a path says otherwise.
    pub thinking_level: String,
    /// Provider and model id: of the last change or of the last answer, whichever is newer.
    pub model: Option<(String, String)>,
}

/// Follows the items of a path from its root.
pub fn state<'a>(items: impl IntoIterator<Item = &'a Value>) -> PiState {
    let mut state = PiState { thinking_level: "off".to_owned(), model: None };
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            Some("thinking_level_change") => {
                if let Some(level) = item.get("thinkingLevel").and_then(Value::as_str) {
                    level.clone_into(&mut state.thinking_level);
                }
            }
            Some("model_change") => state.model = names(item, "modelId").or(state.model),
            Some("message") => {
                let answer = item
                    .get("message")
                    .filter(|message| message.get("role").and_then(Value::as_str) == Some("assistant"));
                state.model = answer.and_then(|message| names(message, "model")).or(state.model);
            }
            _ => {}
        }
    }
    state
}

fn names(value: &Value, model: &str) -> Option<(String, String)> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((text("provider")?, text(model)?))
}
