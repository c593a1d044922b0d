//! Generated turns as items of each format.

use contextd::domain::model::format::Format;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::checkers::LONE_SURROGATE;
use super::generate::{Answer, Call, Id, Round, Turn};

pub const TOOLS: [&str; 5] = ["read", "bash", "write_file", "search_code", "deploy"];
/// What providers run themselves.
pub const PROVIDERS_TOOLS: [&str; 6] =
    ["web_search", "code_execution", "lookup", "file_search", "code_interpreter", "bash_code_execution"];
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

struct Known<'a> {
    id: String,
    name: &'static str,
    argument: &'a str,
}

struct Said<'a> {
    id: &'a str,
    name: &'a str,
    text: &'a str,
    is_error: bool,
}

pub struct Renderer<'c> {
    pub format: Format,
    /// Counts ids over the whole case.
    pub counter: &'c mut u32,
    items: Vec<Value>,
}

/// The raw items of these turns.
pub fn render(format: Format, turns: &[Turn], pretty: bool, counter: &mut u32) -> Vec<Box<RawValue>> {
    let mut renderer = Renderer { format, counter, items: Vec::new() };
    turns.iter().for_each(|turn| renderer.turn(turn));
    let text = |value: &Value| if pretty { format!("{value:#}") } else { value.to_string() };
    let raw = |value: &Value| RawValue::from_string(text(value).replace("(lone)", LONE_SURROGATE)).unwrap();
    renderer.items.iter().map(raw).collect()
}

impl Renderer<'_> {
    fn next(&mut self) -> u32 {
        *self.counter += 1;
        *self.counter
    }

    fn push(&mut self, item: Value) {
        if self.format != Format::Pi {
            return self.items.push(item);
        }
        let id = format!("{:08x}", self.next());
        self.items.push(json!({"type": "message", "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "message": item}));
    }

    fn turn(&mut self, turn: &Turn) {
        // Gemini has no system messages among the others.
        if turn.system && self.format != Format::Gemini {
            self.push(json!({"role": "system", "content": "Answer in short sentences."}));
        }
        if let Some(text) = &turn.user {
            self.user(text, turn.image);
        }
        turn.rounds.iter().for_each(|round| self.round(round));
        if let Some(text) = &turn.answer {
            self.assistant(Some(text), false, None, &[]);
        }
        if turn.metadata && self.format == Format::Pi {
            let id = format!("{:08x}", self.next());
            self.items.push(json!({"type": "model_change", "id": id, "provider": "p", "modelId": "m"}));
        }
    }

    fn user(&mut self, text: &str, image: bool) {
        if self.format == Format::Gemini {
            let mut parts = vec![json!({"text": text})];
            parts.extend(image.then(|| json!({"inlineData": {"mimeType": "image/png", "data": PIXEL}})));
            return self.push(json!({"role": "user", "parts": parts}));
        }
        let said =
            json!({"type": if self.format == Format::OpenaiResponses { "input_text" } else { "text" }, "text": text});
        let seen = match self.format {
            Format::Native => {
                json!({"type": "image", "source": {"media_type": "image/png", "data": PIXEL}})
            }
            Format::OpenaiChat => {
                json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}})
            }
            Format::OpenaiResponses => {
                json!({"type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{PIXEL}")})
            }
            Format::Anthropic => {
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}})
            }
            _ => json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}),
        };
        let content = if image { json!([said, seen]) } else { text.into() };
        self.push(json!({"role": "user", "content": content}));
    }

    fn round(&mut self, round: &Round) {
        let calls: Vec<Known<'_>> = round.calls.iter().map(|call| self.known(call)).collect();
        if round.split {
            for (place, call) in calls.iter().enumerate() {
                let text = round.text.as_deref().filter(|_| place == 0);
                self.assistant(text, round.thinking && place == 0, None, std::slice::from_ref(call));
            }
        } else {
            // What the provider ran gave as much as the agent's own tool.
            let gave = round.calls.first().map_or("2", |call| match &call.answer {
                Answer::Ok(text) | Answer::Error(text) | Answer::Twice(text) => text,
                Answer::Never => "2",
            });
            self.assistant(round.text.as_deref(), round.thinking, round.server.then_some(gave), &calls);
        }
        let mut said: Vec<Said<'_>> = Vec::new();
        for (call, known) in round.calls.iter().zip(&calls) {
            let (text, is_error, times) = match &call.answer {
                Answer::Ok(text) => (text, false, 1),
                Answer::Error(text) => (text, true, 1),
                Answer::Twice(text) => (text, false, 2),
                Answer::Never => continue,
            };
            said.extend((0..times).map(|_| Said { id: &known.id, name: known.name, text, is_error }));
        }
        if round.orphan {
            said.push(Said { id: "nobody", name: "read", text: "a result of nothing", is_error: false });
        }
        if round.backwards {
            said.reverse();
        }
        if round.interrupted {
            self.user("wait, one more thing", false);
        }
        if round.one_by_one {
            said.iter().for_each(|said| self.results(std::slice::from_ref(said), false));
        } else {
            self.results(&said, round.mixed);
        }
    }

    fn known<'a>(&mut self, call: &'a Call) -> Known<'a> {
        let id = match call.id {
            Id::Fresh => format!("call_x{}", self.next()),
            Id::Shared => "call_same".to_owned(),
            Id::Missing => String::new(),
        };
        Known { id, name: TOOLS[usize::from(call.tool) % TOOLS.len()], argument: &call.argument }
    }

    fn assistant(&mut self, text: Option<&str>, thinking: bool, server: Option<&str>, calls: &[Known<'_>]) {
        if text.is_none() && calls.is_empty() && server.is_none() {
            return;
        }
        let arguments = |call: &Known<'_>| json!({"path": call.argument, "n": 1.50});
        match self.format {
            Format::OpenaiChat => {
                let mut item = json!({"role": "assistant", "content": text});
                if thinking {
                    item["reasoning_content"] = "hm".into();
                }
                if let [call] = calls
                    && call.id.is_empty()
                {
                    item["function_call"] = json!({"name": call.name, "arguments": arguments(call).to_string()});
                } else if !calls.is_empty() {
                    let call = |call: &Known<'_>| {
                        json!({"id": call.id, "type": "function",
                            "function": {"name": call.name, "arguments": arguments(call).to_string()}})
                    };
                    item["tool_calls"] = calls.iter().map(call).collect();
                } else if text.is_none() {
                    return;
                }
                self.push(item);
            }
            Format::OpenaiResponses => {
                if thinking {
                    let id = format!("rs_{}", self.next());
                    self.push(json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "c2VjcmV0"}));
                }
                if let Some(gave) = server {
                    let item = self.hosted(gave);
                    self.push(item);
                }
                if let Some(text) = text {
                    self.push(json!({"type": "message", "role": "assistant",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]}));
                }
                for call in calls {
                    self.push(json!({"type": "function_call", "call_id": call.id, "name": call.name,
                        "arguments": arguments(call).to_string()}));
                }
            }
            Format::Gemini => self.model(text, thinking, server, calls),
            _ => {
                let mut content = Vec::new();
                if thinking {
                    content.push(match self.format {
                        Format::Native => json!({"type": "thinking", "text": "hm"}),
                        Format::Pi => json!({"type": "thinking", "thinking": "hm"}),
                        _ => json!({"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}),
                    });
                }
                content.extend(text.map(|text| json!({"type": "text", "text": text})));
                if let Some(gave) = server {
                    content.extend(self.server(gave));
                }
                content.extend(calls.iter().map(|call| match self.format {
                    Format::Native => {
                        json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments(call)})
                    }
                    Format::Pi => {
                        json!({"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments(call)})
                    }
                    _ => json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)}),
                }));
                if !content.is_empty() {
                    self.push(json!({"role": "assistant", "content": content}));
                }
            }
        }
    }

    fn model(&mut self, text: Option<&str>, thinking: bool, server: Option<&str>, calls: &[Known<'_>]) {
        let mut parts = Vec::new();
        parts.extend(thinking.then(|| json!({"text": "hm", "thought": true})));
        parts.extend(text.map(|text| json!({"text": text})));
        if let Some(gave) = server {
            parts.push(json!({"executableCode": {"language": "PYTHON", "code": "1 + 1"}}));
            parts.push(json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": gave}}));
        }
        parts.extend(calls.iter().enumerate().map(|(place, call)| {
            let args = json!({"path": call.argument, "n": 1.50});
            let mut part = json!({"functionCall": {"name": call.name, "args": args}});
            if !call.id.is_empty() {
                part["functionCall"]["id"] = call.id.as_str().into();
            }
            if place == 0 {
                part["thoughtSignature"] = "c2lnbmVk".into();
            }
            part
        }));
        self.push(json!({"role": "model", "parts": parts}));
    }

    /// A tool that OpenAI ran itself: its item holds what it gave.
    fn hosted(&mut self, gave: &str) -> Value {
        let number = self.next();
        match number % 4 {
            0 => json!({"type": "web_search_call", "id": format!("ws_{number}"), "status": "completed",
                "action": {"type": "search", "query": "q"}}),
            1 => json!({"type": "mcp_call", "id": format!("mcp_{number}"), "name": "lookup", "arguments": "{}",
                "server_label": "s", "output": gave}),
            2 => json!({"type": "file_search_call", "id": format!("fs_{number}"), "status": "completed",
                "queries": ["q"], "results": [{"file_id": "f", "filename": "a", "score": 0.5, "text": gave}]}),
            _ => json!({"type": "code_interpreter_call", "id": format!("ci_{number}"), "status": "completed",
                "container_id": "c", "code": "f()", "outputs": [{"type": "logs", "logs": gave}]}),
        }
    }

    /// A tool that the provider ran itself, with its result.
    fn server(&mut self, gave: &str) -> Vec<Value> {
        let number = self.next();
        let id = format!("srvtoolu_{number}");
        match self.format {
            Format::Anthropic if number % 3 == 1 => vec![
                json!({"type": "mcp_tool_use", "id": format!("mcptoolu_{number}"), "name": "lookup", "server_name": "s",
                    "input": {}}),
                json!({"type": "mcp_tool_result", "tool_use_id": format!("mcptoolu_{number}"), "is_error": false,
                    "content": [{"type": "text", "text": if gave.trim().is_empty() { "none" } else { gave }}]}),
            ],
            Format::Anthropic if number % 3 == 2 => vec![
                json!({"type": "server_tool_use", "id": id, "name": "bash_code_execution", "input": {"command": "f"}}),
                json!({"type": "bash_code_execution_tool_result", "tool_use_id": id, "content":
                    {"type": "bash_code_execution_result", "stdout": gave, "stderr": "", "return_code": 0,
                        "content": []}}),
            ],
            Format::Anthropic => vec![
                json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}}),
                json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [
                    {"type": "web_search_result", "url": "https://a.example", "title": "t", "encrypted_content": "x"}]}),
            ],
            Format::Native => vec![
                json!({"type": "tool_call", "kind": "server", "id": id, "name": "web_search", "arguments": {"query": "q"}}),
                json!({"type": "tool_result", "kind": "server", "tool_call_id": id, "is_error": false,
                    "content": [{"type": "text", "text": gave}]}),
            ],
            _ => Vec::new(),
        }
    }

    fn results(&mut self, said: &[Said<'_>], mixed: bool) {
        if said.is_empty() {
            return;
        }
        match self.format {
            Format::OpenaiChat => {
                for said in said {
                    self.push(match said.id {
                        "" => json!({"role": "function", "name": said.name, "content": said.text}),
                        id => json!({"role": "tool", "tool_call_id": id, "content": said.text}),
                    });
                }
            }
            Format::OpenaiResponses => {
                for said in said {
                    self.push(json!({"type": "function_call_output", "call_id": said.id, "output": said.text}));
                }
            }
            Format::Pi => {
                for said in said {
                    self.push(json!({"role": "toolResult", "toolCallId": said.id, "toolName": said.name,
                        "content": [{"type": "text", "text": said.text}], "isError": said.is_error}));
                }
            }
            Format::Gemini => {
                let part = |said: &Said<'_>| {
                    let key = if said.is_error { "error" } else { "output" };
                    let mut part = json!({"functionResponse": {"name": said.name, "response": {key: said.text}}});
                    if !said.id.is_empty() {
                        part["functionResponse"]["id"] = said.id.into();
                    }
                    part
                };
                let mut parts: Vec<Value> = said.iter().map(part).collect();
                parts.extend(mixed.then(|| json!({"text": "go on, please"})));
                self.push(json!({"role": "user", "parts": parts}));
            }
            _ => {
                let native = self.format == Format::Native;
                let id = if native { "tool_call_id" } else { "tool_use_id" };
                let block = |said: &Said<'_>| {
                    json!({"type": "tool_result", id: said.id, "is_error": said.is_error,
                        "content": [{"type": "text", "text": said.text}]})
                };
                let mut content: Vec<Value> = said.iter().map(block).collect();
                if mixed {
                    content.push(json!({"type": "text", "text": "go on, please"}));
                }
                let role = if native && !mixed { "tool" } else { "user" };
                self.push(json!({"role": role, "content": content}));
            }
        }
    }
}
