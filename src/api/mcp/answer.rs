//! Answers of tools: JSON, long texts by pages, and refusals that the model can read.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

use crate::api::problem::Problem;
use crate::service::core::error::ServiceError;

/// A refusal in words. The caller's model sees it as the tool's answer.
pub struct ToolRefusal(pub String);

pub type ToolAnswer = Result<CallToolResult, ToolRefusal>;

impl From<ServiceError> for ToolRefusal {
    fn from(error: ServiceError) -> ToolRefusal {
        ToolRefusal(Problem::from(error).told())
    }
}

impl ToolRefusal {
    pub fn new(text: impl Into<String>) -> ToolRefusal {
        ToolRefusal(text.into())
    }
}

/// Both as text, for the model, and structured.
pub fn json(value: &impl Serialize) -> ToolAnswer {
    let value =
        serde_json::to_value(value).map_err(|_| ToolRefusal::new("internal_error: the answer can't be written"))?;
    Ok(CallToolResult::structured(value))
}

/// Characters `offset..offset + limit` of a text; where there is more, a second block says how to get it.
pub fn text(text: &str, offset: usize, limit: usize) -> CallToolResult {
    let mut starts = text.char_indices().map(|(at, _)| at).skip(offset);
    let start = starts.next().unwrap_or(text.len());
    let end = if limit == 0 { start } else { starts.nth(limit - 1).unwrap_or(text.len()) };
    let shown = text.get(start..end).unwrap_or_default();
    let mut content = vec![ContentBlock::text(shown)];
    if start > 0 || end < text.len() {
        let (total, to) = (text.chars().count(), offset + shown.chars().count());
        let more = if end < text.len() { format!(" Read on with offset {to}.") } else { String::new() };
        content.push(ContentBlock::text(format!("(Characters {offset} to {to} of {total}.{more})")));
    }
    CallToolResult::success(content)
}
