//! Items of every kind in every format, and ways to spoil them.

use serde_json::{Value, json};

/// A small generator of numbers, the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ seed.wrapping_add(1).wrapping_mul(0xD1B5_4A32_D192_ED03));
        dice.below(2);
        dice
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % bound.max(1) as u64).unwrap()
    }
}

pub fn seeds() -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for (format, items) in [
        ("openai_chat", chat()),
        ("anthropic", anthropic()),
        ("openai_responses", responses()),
        ("gemini", gemini()),
        ("pi", pi()),
        ("native", native()),
    ] {
        all.extend(items.as_array().unwrap().iter().map(|item| (format, item.clone())));
    }
    all
}

fn gemini() -> Value {
    json!([
        {"role": "user", "parts": [{"text": "hi"}]},
        {"parts": [{"text": "nobody's"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {"role": "user", "parts": [{"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/a.pdf"}}]},
        {"role": "user", "parts": [{"fileData": {"mimeType": "video/mp4", "fileUri": "gs://bucket/a"}, "videoMetadata": {"fps": 1}}]},
        {"role": "model", "parts": [{"text": "hello"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "so", "thoughtSignature": "c2ln"}]},
        {"role": "model", "parts": [{"text": "", "thoughtSignature": "c2ln"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "g1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"}]},
        {"role": "model", "parts": [{"text": "both"}, {"functionCall": {"name": "read"}}, {"functionCall": {"name": "read", "args": {}}}]},
        {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}}]},
        {"role": "model", "parts": [{"hologram": {"beam": 1}}]},
        {"role": "model"},
        {"role": "user", "parts": [{"functionResponse": {"id": "g1", "name": "read", "response": {"output": "found"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"a": [1], "error": "no"}}}, {"text": "and?"}]},
        {"role": "function", "parts": [{"function_response": {"name": "read", "response": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"result": "x"}, "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}}]},
    ])
}

fn chat() -> Value {
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}});
    json!([
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
        {"role": "assistant", "content": "hello"},
        {"role": "assistant", "content": null, "refusal": "no"},
        {"role": "assistant", "content": "", "reasoning_content": "hm"},
        {"role": "assistant", "content": null, "tool_calls": [call("c1")]},
        {"role": "assistant", "content": "both", "tool_calls": [call("c2"), call("c3")]},
        {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c4", "type": "custom", "custom": {"name": "apply", "input": "x y"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "found"}]},
        {"role": "tool", "tool_call_id": "c3", "content": ""},
        {"role": "function", "name": "old", "content": "done"},
    ])
}

fn anthropic() -> Value {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    json!([
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}, image]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
        {"role": "assistant", "content": "hello "},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "so"}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "tool_use", "id": "a1", "name": "read", "input": {}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a2", "name": "read", "input": {"path": "a"}}, {"type": "tool_use", "id": "a3", "name": "read", "input": {}}]},
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}]},
        {"role": "assistant", "content": [{"type": "compaction", "content": "all before"}]},
        {"role": "assistant", "id": "msg_1", "type": "message", "model": "m", "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2}, "content": [{"type": "text", "text": "hello"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a1", "content": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a2", "content": [{"type": "text", "text": "x"}, image]}, {"type": "tool_result", "tool_use_id": "a3", "is_error": true, "content": "no"}, {"type": "text", "text": "go on"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a3"}]},
        {"role": "system", "content": "from now on: brief"},
    ])
}

fn responses() -> Value {
    json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": [{"type": "input_text", "text": "be brief"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hello", "annotations": []}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "r1", "name": "read", "arguments": "{\"path\":\"a\"}"},
        {"type": "function_call", "id": "fc_1", "call_id": "r2", "name": "read", "arguments": "{}", "status": "completed"},
        {"type": "custom_tool_call", "call_id": "r3", "name": "apply_patch", "input": "x y"},
        {"type": "function_call_output", "call_id": "r1", "output": "found"},
        {"type": "function_call_output", "call_id": "r2", "output": [{"type": "input_text", "text": "found"}]},
        {"type": "custom_tool_call_output", "call_id": "r3", "output": "done"},
        {"type": "local_shell_call", "id": "ls_1", "call_id": "r4", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "r4", "output": "a"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
        {"type": "item_reference", "id": "rs_9"},
    ])
}

fn pi() -> Value {
    let entry = |id: &str, message: Value| json!({"type": "message", "id": id, "timestamp": "2026-01-01T00:00:00Z", "message": message});
    json!([
        entry("p1", json!({"role": "user", "content": "hi"})),
        entry("p2", json!({"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]})),
        entry("p3", json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, {"type": "text", "text": "hello"}], "stopReason": "stop"})),
        entry("p4", json!({"role": "assistant", "content": [{"type": "toolCall", "id": "p1c", "name": "read", "arguments": {"path": "a"}}], "stopReason": "toolUse"})),
        entry("p5", json!({"role": "toolResult", "toolCallId": "p1c", "toolName": "read", "content": [{"type": "text", "text": "x"}], "isError": false})),
        entry("p6", json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0})),
        entry("p7", json!({"role": "custom", "customType": "x", "content": "told", "display": true})),
        {"type": "custom_message", "id": "p8", "customType": "x", "content": "told", "display": true},
        {"type": "branch_summary", "id": "p9", "fromId": "p1", "summary": "left"},
        {"type": "model_change", "id": "pa", "provider": "x", "modelId": "y"},
        {"type": "label", "id": "pb", "targetId": "p1", "label": "x"},
        {"type": "session_info", "id": "pc", "name": "x"},
    ])
}

fn native() -> Value {
    json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}]},
        {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "hello"}]},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "n1", "name": "read", "arguments": {"path": "a"}}]},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "n2", "name": "patch", "kind": "custom", "arguments": "x y"}]},
        {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "n1", "content": [{"type": "text", "text": "x"}]}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_call_id": "n2", "content": "x", "is_error": true}, {"type": "text", "text": "go on"}]},
        {"role": "branch_summary", "content": "left"},
        {"role": "bash_execution", "content": "ran ls"},
    ])
}

/// The item with one to three things changed, taken over from another item, or lost.
pub fn mutated(mut item: Value, pool: &[(&str, Value)], dice: &mut Dice) -> Value {
    for _ in 0..=dice.below(3) {
        let other = pool[dice.below(pool.len())].1.clone();
        match dice.below(4) {
            0 => graft(&mut item, &other, dice),
            _ => spoil(&mut item, dice),
        }
    }
    item
}

/// Gives the item a field of another one, or a block of its content.
fn graft(item: &mut Value, other: &Value, dice: &mut Dice) {
    let (Some(fields), Some(others)) = (item.as_object_mut(), other.as_object()) else { return };
    let Some((key, value)) = others.iter().nth(dice.below(others.len())) else { return };
    match (fields.get_mut(key), value) {
        (Some(Value::Array(own)), Value::Array(more)) if dice.below(2) == 0 => own.extend(more.iter().cloned()),
        _ => drop(fields.insert(key.clone(), value.clone())),
    }
}

fn spoil(value: &mut Value, dice: &mut Dice) {
    let deeper = dice.below(4) > 0;
    match value {
        Value::Array(values) if deeper && !values.is_empty() => {
            let at = dice.below(values.len());
            match dice.below(5) {
                0 => drop(values.remove(at)),
                1 => values.push(values[at].clone()),
                _ => spoil(&mut values[at], dice),
            }
        }
        Value::Object(fields) if deeper && !fields.is_empty() => {
            let at = dice.below(fields.len());
            let name = fields.keys().nth(at).unwrap().clone();
            match dice.below(5) {
                0 => drop(fields.remove(&name)),
                _ => spoil(&mut fields[&name], dice),
            }
        }
        value => {
            let words = [
                "user",
                "assistant",
                "system",
                "tool",
                "usr",
                "text",
                "thinking",
                "tool_use",
                "tool_result",
                "output_text",
                "input_text",
                "image",
                "message",
                " ",
            ];
            let other = [
                json!(null),
                json!(""),
                json!([]),
                json!({}),
                json!(3),
                json!([{"type": "text"}]),
                json!([{"type": "text", "text": "x"}]),
            ];
            *value = match dice.below(3) {
                0 => other[dice.below(other.len())].clone(),
                _ => words[dice.below(words.len())].into(),
            };
        }
    }
}
