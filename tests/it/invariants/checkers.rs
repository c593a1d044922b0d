//! What each provider refuses, written down independently of the code under test.

use std::collections::HashSet;

use contextd::domain::model::format::Format;
use serde_json::Value;

/// Stands for a lone surrogate in generated texts: valid inside raw JSON text, not inside a Rust string.
pub const LONE_SURROGATE: &str = "\\ud83d!";

/// Calls and results of one message.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Id and name; the provider's own tools are left out.
    pub calls: Vec<(String, String)>,
    pub results: Vec<String>,
    pub says_more: bool,
    /// Nothing that a model sees.
    pub is_metadata: bool,
}

pub fn parse(text: &str) -> Value {
    serde_json::from_str(&text.replace(LONE_SURROGATE, "?")).unwrap()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn traffic(format: Format, item: &Value) -> Traffic {
    let mut found = Traffic::default();
    match format {
        Format::Native => blocks(item, ["tool_call", "tool_result", "tool_call_id"], &mut found),
        Format::Anthropic => blocks(item, ["tool_use", "tool_result", "tool_use_id"], &mut found),
        Format::OpenaiChat => chat(item, &mut found),
        Format::OpenaiResponses => match item["type"].as_str().unwrap_or("message") {
            "function_call" => found.calls.push((word(&item["call_id"]), word(&item["name"]))),
            "function_call_output" => found.results.push(word(&item["call_id"])),
            "reasoning" => {}
            _ => found.says_more = true,
        },
        Format::Gemini => contents(item, &mut found),
        Format::Pi => match item["type"].as_str().unwrap() {
            "message" if item["message"]["role"] == "toolResult" => {
                found.results.push(word(&item["message"]["toolCallId"]));
            }
            "message" => blocks(&item["message"], ["toolCall", "", ""], &mut found),
            "custom_message" | "branch_summary" => found.says_more = true,
            _ => found.is_metadata = true,
        },
        Format::ClaudeCode | Format::Codex => panic!("no format of contexts"),
    }
    found
}

/// Without ids, calls and results are told apart by name and order.
fn contents(content: &Value, found: &mut Traffic) {
    let mut unnamed: Vec<String> = Vec::new();
    let mut id_of = |data: &Value| match data["id"].as_str() {
        Some(id) => id.to_owned(),
        None => {
            let name = word(&data["name"]);
            unnamed.push(name.clone());
            format!("legacy {name} #{}", unnamed.iter().filter(|earlier| **earlier == name).count())
        }
    };
    for part in list(&content["parts"]) {
        if let Some(call) = part.get("functionCall") {
            found.calls.push((id_of(call), word(&call["name"])));
        } else if let Some(result) = part.get("functionResponse") {
            found.results.push(id_of(result));
        } else {
            found.says_more = true;
        }
    }
}

fn blocks(message: &Value, [call, result, id]: [&str; 3], found: &mut Traffic) {
    found.says_more |= message["content"].is_string();
    for block in list(&message["content"]) {
        match block["type"].as_str().unwrap_or_default() {
            _ if block["kind"] == "server" => {}
            kind if kind == call => found.calls.push((word(&block["id"]), word(&block["name"]))),
            kind if kind == result => found.results.push(word(&block[id])),
            _ => found.says_more = true,
        }
    }
}

fn chat(item: &Value, found: &mut Traffic) {
    let legacy = |name: &Value| format!("legacy {name}");
    match item["role"].as_str().unwrap() {
        "tool" => found.results.push(word(&item["tool_call_id"])),
        "function" => found.results.push(legacy(&item["name"])),
        _ => {
            let call = |call: &Value| (word(&call["id"]), word(&call["function"]["name"]));
            found.calls.extend(list(&item["tool_calls"]).iter().map(call));
            if let Some(name) = item["function_call"].get("name") {
                found.calls.push((legacy(name), word(name)));
            }
            found.says_more = !item["content"].is_null();
        }
    }
}

/// What the provider would refuse in these messages.
pub fn violation(format: Format, messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<String> = HashSet::new();
    let mut used: HashSet<String> = HashSet::new();
    for (place, message) in messages.iter().enumerate() {
        let found = traffic(format, message);
        if found.is_metadata {
            continue;
        }
        let fail = |what: &str| Err(format!("{format:?} message {place}: {what}: {message}"));
        form(format, message).or_else(|what| fail(&what))?;
        // One answer of the model is several items there.
        let follows_model = place > 0 && messages[place - 1]["role"] == "model";
        if message["role"] == "model" && !found.calls.is_empty() && follows_model {
            return fail("calls behind a content of the model");
        }
        let speaks_on = message.get("role").is_none_or(|role| role == "assistant");
        let parallel = format == Format::OpenaiResponses && found.results.is_empty() && speaks_on;
        if !open.is_empty() && found.results.is_empty() && !parallel {
            return fail("comes before the results of the calls before it");
        }
        for id in &found.results {
            if !open.remove(id) {
                return fail("a result without an open call");
            }
        }
        let breaks_up =
            matches!(format, Format::Anthropic | Format::Gemini) || found.says_more || !found.calls.is_empty();
        if breaks_up && !open.is_empty() && !parallel {
            return fail("the batch of results is not whole");
        }
        for (id, _) in &found.calls {
            if id.is_empty() || !open.insert(id.clone()) {
                return fail("a call without an id of its own");
            }
            if !used.insert(id.clone()) && format == Format::Anthropic {
                return fail("an id is used twice");
            }
        }
    }
    if !open.is_empty() {
        return Err(format!("{format:?}: ends with open calls {open:?}"));
    }
    let wants_user = matches!(format, Format::Anthropic | Format::Gemini);
    if wants_user && messages.first().is_some_and(|first| first["role"] != "user") {
        return Err(format!("{format:?}: does not begin with the user"));
    }
    Ok(())
}

/// The form of one message.
fn form(format: Format, message: &Value) -> Result<(), String> {
    let refuse = |bad: bool, what: &str| if bad { Err(what.to_owned()) } else { Ok(()) };
    let empty = |content: &Value| match content {
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        _ => true,
    };
    match format {
        Format::Native => refuse(empty(&message["content"]), "no content"),
        Format::OpenaiChat => {
            let calls = message.get("tool_calls");
            refuse(calls.is_some_and(|calls| list(calls).is_empty()), "tool_calls is empty")?;
            let arguments = calls.into_iter().flat_map(list).map(|call| &call["function"]["arguments"]);
            refuse(!arguments.into_iter().all(Value::is_string), "arguments are no text")?;
            let acts = calls.is_some() || message.get("function_call").is_some();
            refuse(message["content"].is_null() && !acts, "no content")
        }
        Format::OpenaiResponses => match message["type"].as_str().unwrap_or("message") {
            "message" => refuse(empty(&message["content"]), "no content"),
            "function_call" => refuse(!message["arguments"].is_string(), "arguments are no text"),
            "function_call_output" => {
                refuse(!message["output"].is_string() && !message["output"].is_array(), "no output")
            }
            _ => Ok(()),
        },
        Format::Anthropic => {
            let fields = message.as_object().unwrap().keys().all(|key| key == "role" || key == "content");
            refuse(!fields, "fields that only answers have")?;
            refuse(empty(&message["content"]), "no content")?;
            let is_result = |block: &Value| block["type"] == "tool_result";
            let content = list(&message["content"]);
            refuse(!content.is_sorted_by_key(|block| !is_result(block)), "results are not first")?;
            content.iter().try_for_each(anthropic_block)
        }
        Format::Gemini => {
            refuse(!matches!(message["role"].as_str(), Some("user" | "model")), "role")?;
            refuse(empty(&message["parts"]), "no parts")?;
            let parts = list(&message["parts"]);
            refuse(parts.iter().any(|part| part["text"] == "" && part["thoughtSignature"].is_null()), "empty text")?;
            let call = parts.iter().find(|part| part.get("functionCall").is_some());
            refuse(call.is_some_and(|call| call["thoughtSignature"].is_null()), "an unsigned call")
        }
        _ => refuse(message["id"].as_str().is_none_or(str::is_empty), "no id"),
    }
}

fn anthropic_block(block: &Value) -> Result<(), String> {
    let is_word = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    let bad = match block["type"].as_str().unwrap_or_default() {
        "text" => block["text"].as_str().is_none_or(|text| text.trim().is_empty()),
        "thinking" => block["signature"].as_str().is_none_or(str::is_empty),
        "tool_use" => !is_word(&block["id"]) || !is_word(&block["name"]) || !block["input"].is_object(),
        "tool_result" => !is_word(&block["tool_use_id"]),
        _ => false,
    };
    if bad { Err(format!("bad block {block}")) } else { Ok(()) }
}

#[test]
fn the_checkers_see_what_is_wrong() {
    use serde_json::json;
    let call = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let user = json!({"role": "user", "content": "x"});
    let check = |messages: &[&Value]| {
        violation(Format::OpenaiChat, &messages.iter().map(|m| (*m).clone()).collect::<Vec<_>>()).is_ok()
    };
    assert!(check(&[&user, &call, &result, &user]));
    for wrong in [vec![&call], vec![&result], vec![&call, &user, &result], vec![&call, &result, &result]] {
        assert!(!check(&wrong));
    }
    let ask = json!({"role": "user", "content": "x"});
    let use_ = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let answer = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let uses = json!({"role": "assistant", "content": [use_("a"), use_("b")]});
    let both = json!({"role": "user", "content": [answer("a"), answer("b"), {"type": "text", "text": "and"}]});
    let (one, other) =
        (json!({"role": "user", "content": [answer("a")]}), json!({"role": "user", "content": [answer("b")]}));
    let late = json!({"role": "user", "content": [{"type": "text", "text": "x"}, answer("a"), answer("b")]});
    let check = |messages: &[&Value]| {
        violation(Format::Anthropic, &messages.iter().map(|m| (*m).clone()).collect::<Vec<_>>()).is_ok()
    };
    assert!(check(&[&ask, &uses, &both]));
    for wrong in
        [vec![&uses, &both], vec![&ask, &uses, &one, &other], vec![&ask, &uses, &late], vec![&ask, &uses, &one]]
    {
        assert!(!check(&wrong));
    }
}
