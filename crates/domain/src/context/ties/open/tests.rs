use serde_json::{Value, json};

use super::*;
use crate::context::pairing::tests::appended;
use crate::model::format::Format;

fn open(format: Format, items: &[Value], most_tokens: u64) -> Option<usize> {
    let entries = appended(format, items);
    let heads: Vec<&EntryMeta> = entries.iter().map(|entry| &entry.head).collect();
    open_from(&heads, most_tokens)
}

fn user() -> Value {
    json!({"role": "user", "content": "go on"})
}

fn said(block: Value) -> Value {
    json!({"role": "assistant", "content": [block]})
}

/// What is begun, what goes on with it, and what ends it.
fn begun() -> Vec<(Format, Vec<Value>)> {
    let caller = json!({"type": "program", "caller_id": "p"});
    let code = json!({"type": "code_execution_20250825", "tool_id": "srvtoolu_1"});
    let mcp = |more: Value| {
        let mut call = json!({"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "server_label": "s"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let request =
        json!({"type": "mcp_approval_request", "id": "mcpr", "name": "f", "arguments": "{}", "server_label": "s"});
    let answer =
        |approve: bool| json!({"type": "mcp_approval_response", "approval_request_id": "mcpr", "approve": approve});
    vec![
        (
            Format::OpenaiResponses,
            vec![request.clone(), answer(true), mcp(json!({"approval_request_id": "mcpr", "output": "1"}))],
        ),
        (Format::OpenaiResponses, vec![request, answer(false)]),
        (
            Format::OpenaiResponses,
            vec![
                json!({"type": "program", "id": "pr", "call_id": "p", "code": "f()", "fingerprint": "x"}),
                json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "caller": caller}),
                json!({"type": "function_call_output", "call_id": "c", "output": "1", "caller": caller}),
                json!({"type": "program_output", "id": "po", "call_id": "p", "result": "2", "status": "completed"}),
            ],
        ),
        (
            Format::Anthropic,
            vec![
                said(json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}})),
                said(json!({"type": "tool_use", "id": "toolu_1", "name": "sql", "input": {}, "caller": code})),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}]}),
                said(json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content":
                    {"type": "code_execution_result", "stdout": "3", "stderr": "", "return_code": 0, "content": []}})),
            ],
        ),
        (
            Format::Anthropic,
            vec![
                said(json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "t", "server_name": "s", "input": {}})),
                said(json!({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": []})),
            ],
        ),
    ]
}

#[test]
fn what_is_begun_is_open_until_its_end() {
    for (format, steps) in begun() {
        for done in 1..=steps.len() {
            for turns in [0, 1, PATIENCE] {
                let mut items = vec![user(), said(json!({"type": "text", "text": "well"})), user()];
                if format == Format::OpenaiResponses {
                    items[1] = json!({"role": "assistant", "content": "well"});
                }
                items.extend_from_slice(&steps[..done]);
                items.extend((0..turns).map(|_| user()));
                let expected = (done < steps.len()).then_some(3);
                assert_eq!(open(format, &items, u64::MAX), expected, "{turns} {done} {}", steps[0]);
            }
        }
    }
}

#[test]
fn code_of_gemini_is_open_until_its_result() {
    let model = |part: Value| json!({"role": "model", "parts": [part]});
    let ask = json!({"role": "user", "parts": [{"text": "go"}]});
    let code = model(json!({"executableCode": {"language": "PYTHON", "code": "1"}}));
    let result = model(json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}));
    let items = [ask.clone(), code, ask.clone(), result, ask];
    assert_eq!(open(Format::Gemini, &items[..3], u64::MAX), Some(1));
    assert_eq!(open(Format::Gemini, &items, u64::MAX), None);
}

#[test]
fn what_the_user_has_left_behind_is_given_up() {
    for (format, steps) in begun() {
        let mut items = vec![user(), steps[0].clone()];
        items.extend((0..=PATIENCE).map(|_| user()));
        assert_eq!(open(format, &items, u64::MAX), None, "{}", steps[0]);
        // What comes for it later shows that it goes on.
        items.truncate(items.len() - 1);
        items.extend(steps.get(1).filter(|_| steps.len() > 2).cloned());
        let goes_on = steps.len() > 2;
        items.extend((0..PATIENCE).map(|_| user()));
        assert_eq!(open(format, &items, u64::MAX), goes_on.then_some(1), "{}", steps[0]);
    }
}

#[test]
fn what_would_hold_too_much_is_given_up() {
    let (format, steps) = begun().remove(0);
    let mut entries = appended(format, &[user(), steps[0].clone(), user()]);
    entries[0].head.tokens = 5_000;
    entries[2].head.tokens = 500;
    let heads: Vec<&EntryMeta> = entries.iter().map(|entry| &entry.head).collect();
    assert_eq!(open_from(&heads, 1_000), Some(1));
    assert_eq!(open_from(&heads, 100), None);
}

/// As [`open_from`] has it, however long the path.
#[test]
fn a_hundred_thousand_entries_are_looked_through_in_one_pass() {
    let items: Vec<Value> = begun()
        .into_iter()
        .filter(|(format, _)| *format == Format::OpenaiResponses)
        .flat_map(|(_, steps)| steps)
        .collect();
    let entries = appended(Format::OpenaiResponses, &items);
    let heads: Vec<&EntryMeta> = entries.iter().map(|entry| &entry.head).cycle().take(99_000).collect();
    assert_eq!(open_from(&heads, u64::MAX), None);
    let begins: Vec<&EntryMeta> = entries[..1].iter().map(|entry| &entry.head).cycle().take(100_000).collect();
    assert_eq!(open_from(&begins, u64::MAX), Some(99_999));
}
