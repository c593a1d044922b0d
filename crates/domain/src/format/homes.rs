//! The formats that a block is at home in, told by its form.

use Format::{Anthropic, Native, OpenaiChat, OpenaiResponses, Pi};
use serde_json::Value;

use crate::model::format::Format;

/// Returns true if a block of `format`'s content is one that only other formats have.
pub fn is_foreign(format: Format, block: &Value) -> bool {
    !homes(block).is_empty() && !homes(block).contains(&format)
}

/// The formats that have blocks of this form; none where it is nobody's or everybody's.
pub fn homes(block: &Value) -> &'static [Format] {
    let kind = block["type"].as_str().unwrap_or_default();
    let has = |key: &str| block.get(key).is_some_and(|value| !value.is_null());
    match kind {
        "tool_use" | "server_tool_use" | "mcp_tool_use" | "redacted_thinking" => &[Anthropic],
        "tool_result" if has("tool_use_id") => &[Anthropic],
        "tool_result" if has("tool_call_id") => &[Native],
        "tool_call" if block["name"].is_string() => &[Native],
        "thinking" if block["thinking"].is_string() => &[Anthropic, Pi],
        "thinking" if block["text"].is_string() => &[Native],
        "image" | "document" if block["source"]["type"].is_string() => &[Anthropic],
        "image" | "document" if block["source"].is_object() => &[Native],
        "image" if block["mimeType"].is_string() => &[Pi],
        "toolCall" => &[Pi],
        "image_url" | "file" if has(kind) => &[OpenaiChat],
        "refusal" if has("refusal") => &[OpenaiChat, OpenaiResponses],
        "input_audio" if has("input_audio") => &[OpenaiChat, OpenaiResponses],
        "input_text" | "output_text" | "input_image" | "input_file" | "summary_text" => &[OpenaiResponses],
        "function_call" | "function_call_output" | "custom_tool_call" | "custom_tool_call_output" => &[OpenaiResponses],
        _ if kind.ends_with("_tool_result") && has("tool_use_id") => &[Anthropic],
        _ => &[],
    }
}
