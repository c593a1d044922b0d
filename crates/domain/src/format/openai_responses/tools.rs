//! Built-in tools: those that the agent runs, with an output item of their own, and those that OpenAI runs,
//! whose call item holds the outcome too.

use serde_json::{Value, json};

use super::parts;
use crate::format::keys::Object;
use crate::model::approval;
use crate::model::message::{Block, ToolResult};

/// A built-in tool that the agent runs.
#[derive(Debug, PartialEq)]
pub struct AgentTool {
    pub name: &'static str,
    pub call: &'static str,
    pub output: &'static str,
    /// The keys of the call that can hold its arguments.
    input: &'static [&'static str],
    /// The key of the output item that holds what the tool gave back.
    outcome: &'static str,
}

const AGENT_TOOLS: [AgentTool; 5] = [
    AgentTool {
        name: "local_shell",
        call: "local_shell_call",
        output: "local_shell_call_output",
        input: &["action"],
        outcome: "output",
    },
    AgentTool { name: "shell", call: "shell_call", output: "shell_call_output", input: &["action"], outcome: "output" },
    AgentTool {
        name: "apply_patch",
        call: "apply_patch_call",
        output: "apply_patch_call_output",
        input: &["operation"],
        outcome: "output",
    },
    AgentTool {
        name: "computer",
        call: "computer_call",
        output: "computer_call_output",
        input: &["action", "actions"],
        outcome: "output",
    },
    AgentTool {
        name: "tool_search",
        call: "tool_search_call",
        output: "tool_search_output",
        input: &["arguments"],
        outcome: "tools",
    },
];

/// A transparent pixel: `computer_call_output` takes nothing but a screenshot.
const BLANK_SCREENSHOT: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

impl AgentTool {
    pub fn by_call(kind: &str) -> Option<&'static AgentTool> {
        AGENT_TOOLS.iter().find(|tool| tool.call == kind)
    }

    pub fn by_output(kind: &str) -> Option<&'static AgentTool> {
        AGENT_TOOLS.iter().find(|tool| tool.output == kind)
    }

    pub fn arguments(&self, call: &Object) -> Value {
        self.input.iter().find_map(|key| call.get(*key)).cloned().unwrap_or(Value::Null)
    }

    /// The call item with the arguments that the call has by now.
    pub fn call(&self, item: &Value, arguments: &Value) -> Value {
        let mut item = item.clone();
        if let Some(held) = self.input.iter().find(|key| item.get(**key).is_some()).and_then(|key| item.get_mut(*key)) {
            *held = arguments.clone();
        }
        item
    }

    /// Reads the content of the output item, for readers other than OpenAI.
    pub fn content(&self, output: &Object) -> Vec<Block> {
        match output.get(self.outcome) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => vec![Block::text(text)],
            Some(Value::Array(chunks)) if self.name == "shell" => vec![Block::text(shell_text(chunks))],
            Some(value) => match value["image_url"].as_str() {
                Some(url) => vec![Block::Image { source: parts::inline(Some(url.to_owned())) }],
                None => vec![Block::text(value.to_string())],
            },
        }
    }

    /// The output item for a result that the service made or shortened, on top of what is known of the item.
    pub fn output(&self, result: &ToolResult, known: Option<&Object>) -> Value {
        let mut item = known.cloned().unwrap_or_else(|| {
            let id_key = if self.name == "local_shell" { "id" } else { "call_id" };
            Object::from_iter([
                ("type".to_owned(), Value::from(self.output)),
                (id_key.to_owned(), Value::from(result.tool_call_id.as_str())),
            ])
        });
        let text = result.plain_text();
        let status = if result.is_error { "failed" } else { "completed" };
        let outcome = match self.name {
            "shell" => {
                let exit_code = i32::from(result.is_error);
                json!([{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": exit_code}}])
            }
            "computer" => json!({"type": "computer_screenshot", "image_url": BLANK_SCREENSHOT}),
            "tool_search" => json!([]),
            _ => Value::from(text),
        };
        item.insert(self.outcome.to_owned(), outcome);
        if matches!(self.name, "apply_patch" | "tool_search") && !item.contains_key("status") {
            item.insert("status".into(), status.into());
        }
        if self.name == "tool_search" && !item.contains_key("execution") {
            item.insert("execution".into(), "client".into());
        }
        Value::Object(item)
    }
}

/// Returns true if an output item that has no place for words shows nothing: no tools, or a blank screenshot.
pub fn shows_nothing(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("tool_search_output") => item["tools"].as_array().is_some_and(Vec::is_empty),
        Some("computer_call_output") => item["output"]["image_url"] == BLANK_SCREENSHOT,
        _ => false,
    }
}

fn shell_text(chunks: &[Value]) -> String {
    let texts = chunks.iter().flat_map(|chunk| [&chunk["stdout"], &chunk["stderr"]]);
    let texts: Vec<&str> = texts.filter_map(Value::as_str).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Name and arguments of a tool that OpenAI runs, from its call item; `None` for any other item.
pub fn hosted_call(kind: &str, item: &Object) -> Option<(String, Value)> {
    let field = |key: &str| item.get(key).cloned().unwrap_or(Value::Null);
    Some(match kind {
        "web_search_call" => ("web_search".into(), field("action")),
        "file_search_call" => ("file_search".into(), json!({"queries": field("queries")})),
        "code_interpreter_call" => ("code_interpreter".into(), json!({"code": field("code")})),
        "image_generation_call" => ("image_generation".into(), json!({"prompt": field("revised_prompt")})),
        "mcp_call" | approval::REQUEST => {
            let text = item.get("arguments").and_then(Value::as_str).unwrap_or_default();
            let name = item.get("name").and_then(Value::as_str).unwrap_or("mcp");
            (name.to_owned(), serde_json::from_str(text).unwrap_or_else(|_| text.into()))
        }
        _ => return None,
    })
}

/// Reads from such a call item its outcome, and whether it failed.
pub fn hosted_result(kind: &str, item: &Object) -> (Vec<Block>, bool) {
    let field = |key: &str| item.get(key).filter(|value| !value.is_null());
    let outcome = match kind {
        "file_search_call" => field("results"),
        "code_interpreter_call" => field("outputs"),
        "image_generation_call" => field("result"),
        "mcp_call" => field("error").or(field("output")),
        _ => None,
    };
    let content = match outcome {
        None => Vec::new(),
        Some(Value::String(data)) if kind == "image_generation_call" => {
            let url = format!("data:image/png;base64,{data}");
            vec![Block::Image { source: parts::inline(Some(url)) }]
        }
        Some(Value::String(text)) => vec![Block::text(text)],
        Some(value) => vec![Block::text(value.to_string())],
    };
    let failed = field("error").is_some() || field("status").is_some_and(|status| *status == "failed");
    (content, failed)
}
