//! Sessions made up for these tests, so that they run where no recordings are: one piece of work, told in every format,
//! with what real ones have: calls side by side, failed and very long results, thinking, media, a result that never
//! came, other scripts, characters that JSON escapes.

use serde_json::{Value, json};

/// The service's names of the formats that work is told in.
pub const FORMATS: [&str; 5] = ["openai_chat", "openai_responses", "anthropic", "gemini", "pi"];

/// A turn: what the user wants, what the agent does, what it says at the end.
struct Turn {
    asks: String,
    thinks: String,
    /// Called side by side.
    calls: Vec<Call>,
    says: String,
}

struct Call {
    id: String,
    name: &'static str,
    arguments: Value,
    /// `None`: it was interrupted.
    result: Option<String>,
    is_error: bool,
}

/// Name, format and items of sessions of each size, in each format.
pub fn sessions() -> Vec<(String, &'static str, Vec<Value>)> {
    let of = |format| [1, 2, 7, 24, 60].map(|size| (format!("made-up {format} {size}"), format, items(format, size)));
    FORMATS.into_iter().flat_map(of).collect()
}

/// So many turns, told in a format.
pub fn items(format: &str, size: usize) -> Vec<Value> {
    let tell = match format {
        "openai_chat" => openai_chat,
        "openai_responses" => openai_responses,
        "anthropic" => anthropic,
        "gemini" => gemini,
        "pi" => pi,
        other => panic!("format {other}"),
    };
    tell(&turns(size))
}

fn turns(size: usize) -> Vec<Turn> {
    (0..size).map(|n| turn(n, n + 1 == size && size > 2)).collect()
}

fn turn(n: usize, is_cut_off: bool) -> Turn {
    let path = format!("src/part_{}/Größe {n}.rs", n % 5);
    let read = ("read", json!({"path": path}), format!("{n}\tfn main() {{ println!(\"{n}\"); }}\n").repeat(1 + n % 40));
    let run =
        ("bash", json!({"command": format!("cargo test part_{n} -- --exact")}), format!("test part_{n} ... ok\n"));
    let write = ("write", json!({"path": path, "content": "// ja, 是\n".repeat(4 * n)}), format!("wrote {path}"));
    let count = 1 + n % 3;
    let calls = [read, run, write].into_iter().take(count).enumerate().map(|(at, (name, arguments, result))| Call {
        id: format!("call_{n}_{at}"),
        name,
        arguments,
        result: (!is_cut_off || at + 1 < count).then_some(result),
        is_error: (n + at) % 7 == 6,
    });
    Turn {
        asks: format!("Step {n}: mend `{path}` and never touch the folder vendor-{n}. \u{1f980} \"quoted\"\\ \u{2028}"),
        thinks: format!("The user wants step {n}. I read the file first."),
        calls: calls.collect(),
        says: format!("Step {n} is done: {path} is mended, ticket ABC-{n} can be closed. Landmark: {}.", landmark(n)),
    }
}

/// A word that no other turn has.
fn landmark(n: usize) -> String {
    let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
    format!("signpost{}{}", letter(n / 26), letter(n))
}

fn openai_chat(turns: &[Turn]) -> Vec<Value> {
    let mut items = vec![json!({"role": "system", "content": "You mend programs."})];
    for (n, turn) in turns.iter().enumerate() {
        items.push(match n % 4 {
            3 => json!({"role": "user", "content": [{"type": "text", "text": turn.asks},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}]}),
            _ => json!({"role": "user", "content": turn.asks}),
        });
        let call = |call: &Call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments.to_string()}})
        };
        let calls: Vec<Value> = turn.calls.iter().map(call).collect();
        items.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        items.extend(turn.calls.iter().filter_map(|call| {
            Some(json!({"role": "tool", "tool_call_id": call.id, "content": call.result.as_ref()?}))
        }));
        items.push(json!({"role": "assistant", "content": turn.says}));
    }
    items
}

fn openai_responses(turns: &[Turn]) -> Vec<Value> {
    let mut items = Vec::new();
    for (n, turn) in turns.iter().enumerate() {
        let asks = json!([{"type": "input_text", "text": turn.asks}]);
        items.push(json!({"type": "message", "role": "user", "content": asks}));
        items.push(json!({"type": "reasoning", "id": format!("rs_{n}"), "encrypted_content": "c2VjcmV0",
            "summary": [{"type": "summary_text", "text": turn.thinks}]}));
        for call in &turn.calls {
            items.push(json!({"type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
                "name": call.name, "arguments": call.arguments.to_string(), "status": "completed"}));
        }
        for call in &turn.calls {
            let Some(result) = &call.result else { continue };
            items.push(json!({"type": "function_call_output", "call_id": call.id, "output": result}));
        }
        let says = json!([{"type": "output_text", "text": turn.says, "annotations": []}]);
        items.push(json!({"type": "message", "id": format!("msg_{n}"), "role": "assistant", "status": "completed",
            "content": says}));
    }
    items
}

fn anthropic(turns: &[Turn]) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns {
        items.push(json!({"role": "user", "content": turn.asks}));
        let mut content = vec![json!({"type": "thinking", "thinking": turn.thinks, "signature": "c2lnbmVk"})];
        content.extend(
            turn.calls
                .iter()
                .map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})),
        );
        items.push(json!({"role": "assistant", "content": content}));
        let result = |call: &Call| {
            let text = json!([{"type": "text", "text": call.result.as_ref()?}]);
            Some(json!({"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": call.is_error}))
        };
        let results: Vec<Value> = turn.calls.iter().filter_map(result).collect();
        if !results.is_empty() {
            items.push(json!({"role": "user", "content": results}));
        }
        items.push(json!({"role": "assistant", "content": [{"type": "text", "text": turn.says}]}));
    }
    items
}

fn gemini(turns: &[Turn]) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns {
        items.push(json!({"role": "user", "parts": [{"text": turn.asks}]}));
        let call = |(place, call): (usize, &Call)| {
            let mut part = json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}});
            if place == 0 {
                part["thoughtSignature"] = json!("c2lnbmVk");
            }
            part
        };
        let mut parts = vec![json!({"text": turn.thinks, "thought": true})];
        parts.extend(turn.calls.iter().enumerate().map(call));
        items.push(json!({"role": "model", "parts": parts}));
        let result = |call: &Call| {
            let key = if call.is_error { "error" } else { "output" };
            let response = json!({key: call.result.as_ref()?});
            Some(json!({"functionResponse": {"id": call.id, "name": call.name, "response": response}}))
        };
        let results: Vec<Value> = turn.calls.iter().filter_map(result).collect();
        if !results.is_empty() {
            items.push(json!({"role": "user", "parts": results}));
        }
        items.push(json!({"role": "model", "parts": [{"text": turn.says, "thoughtSignature": "c2lnbmVk"}]}));
    }
    items
}

fn pi(turns: &[Turn]) -> Vec<Value> {
    let at = "2026-11-22T10:00:00.000Z";
    let mut items = vec![json!({"type": "session", "version": 3, "id": "made-up", "timestamp": at, "cwd": "/work"})];
    let mut parent = Value::Null;
    let mut say = |message: Value| {
        let id = format!("{:08x}", items.len());
        items.push(json!({"type": "message", "id": id, "parentId": parent, "timestamp": at, "message": message}));
        parent = json!(id);
    };
    let answer = |content: Value, stop: &str| {
        let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
        let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost});
        json!({"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-sonnet-4-5", "usage": usage, "stopReason": stop, "timestamp": 1})
    };
    for turn in turns {
        say(json!({"role": "user", "content": [{"type": "text", "text": turn.asks}], "timestamp": 1}));
        let mut content = vec![json!({"type": "thinking", "thinking": turn.thinks, "thinkingSignature": "c2lnbmVk"})];
        content.extend(
            turn.calls
                .iter()
                .map(|call| json!({"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments})),
        );
        say(answer(json!(content), "toolUse"));
        for call in &turn.calls {
            let Some(result) = &call.result else { continue };
            say(json!({"role": "toolResult", "toolCallId": call.id, "toolName": call.name,
                "content": [{"type": "text", "text": result}], "isError": call.is_error, "timestamp": 1}));
        }
        say(answer(json!([{"type": "text", "text": turn.says}]), "stop"));
    }
    items
}
