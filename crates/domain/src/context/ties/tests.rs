use serde_json::{Value, json};

use super::*;
use crate::context::pairing::tests::appended;
use crate::model::format::Format;

fn tied(format: Format, items: &[Value]) -> Vec<(usize, usize)> {
    let entries = appended(format, items);
    let heads: Vec<&EntryMeta> = entries.iter().map(|entry| &entry.head).collect();
    let mut found: Vec<(usize, usize)> = ties(&heads).into_iter().map(|tie| (tie.first, tie.last)).collect();
    found.sort_unstable();
    found
}

fn said(role: &str, block: Value) -> Value {
    json!({"role": role, "content": [block]})
}

#[test]
fn a_call_is_tied_to_the_code_that_made_it_and_that_to_its_result() {
    let caller = json!({"type": "code_execution_20250825", "tool_id": "srvtoolu_1"});
    let items = [
        json!({"role": "user", "content": "count"}),
        said(
            "assistant",
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}),
        ),
        said("assistant", json!({"type": "tool_use", "id": "toolu_1", "name": "sql", "input": {}, "caller": caller})),
        said("user", json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"})),
        said(
            "assistant",
            json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1",
            "content": {"type": "code_execution_result", "stdout": "3", "stderr": "", "return_code": 0, "content": []}}),
        ),
    ];
    assert_eq!(tied(Format::Anthropic, &items), [(1, 2), (1, 4), (2, 3)]);
}

#[test]
fn every_tool_of_the_provider_is_tied_to_its_result() {
    for (call, result) in [
        ("server_tool_use", "web_search_tool_result"),
        ("server_tool_use", "web_fetch_tool_result"),
        ("server_tool_use", "bash_code_execution_tool_result"),
        ("server_tool_use", "text_editor_code_execution_tool_result"),
        ("server_tool_use", "tool_search_tool_result"),
        ("mcp_tool_use", "mcp_tool_result"),
    ] {
        let items = [
            said("assistant", json!({"type": call, "id": "s1", "name": "t", "input": {}})),
            json!({"role": "user", "content": "go on"}),
            said("assistant", json!({"type": result, "tool_use_id": "s1", "content": []})),
        ];
        assert_eq!(tied(Format::Anthropic, &items), [(0, 2)], "{result}");
    }
}

#[test]
fn a_program_its_calls_and_its_output_are_tied() {
    let caller = json!({"type": "program", "caller_id": "prog_1"});
    let call = |kind: &str, id: &str, field: &str, value: Value| {
        let mut item = json!({"type": kind, "call_id": id, "name": "f", "caller": caller});
        item[field] = value;
        item
    };
    let items = [
        json!({"role": "user", "content": "go"}),
        json!({"type": "program", "id": "pr_1", "call_id": "prog_1", "code": "f()", "fingerprint": "x"}),
        call("function_call", "c1", "arguments", json!("{}")),
        call("shell_call", "c2", "action", json!({"commands": ["ls"]})),
        call("function_call_output", "c1", "output", json!("1")),
        call("shell_call_output", "c2", "output", json!([])),
        json!({"type": "program_output", "id": "po_1", "call_id": "prog_1", "result": "2", "status": "completed"}),
    ];
    let all = [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 4), (3, 5)];
    assert_eq!(tied(Format::OpenaiResponses, &items), all);
    let direct = json!({"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}",
        "caller": {"type": "direct"}});
    assert_eq!(tied(Format::OpenaiResponses, &[items[1].clone(), direct]), []);
}

#[test]
fn an_approval_is_tied_to_what_asked_for_it_and_to_what_was_approved() {
    let items = [
        json!({"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"}),
        json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true}),
        json!({"type": "mcp_call", "id": "mcp_1", "approval_request_id": "mcpr_1", "name": "f", "arguments": "{}",
            "server_label": "s", "output": "1"}),
        json!({"type": "mcp_call", "id": "mcp_2", "approval_request_id": null, "name": "f", "arguments": "{}",
            "server_label": "s", "output": "1"}),
    ];
    assert_eq!(tied(Format::OpenaiResponses, &items), [(0, 1), (0, 2)]);
}

#[test]
fn the_other_calls_of_responses_are_tied_to_their_outputs() {
    for (call, output) in [
        (json!({"type": "computer_call", "call_id": "c", "action": {}}), "computer_call_output"),
        (json!({"type": "apply_patch_call", "call_id": "c", "operation": {}}), "apply_patch_call_output"),
        (json!({"type": "local_shell_call", "call_id": "c", "action": {}}), "local_shell_call_output"),
        (json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": ""}), "custom_tool_call_output"),
        (json!({"type": "multi_agent_call", "call_id": "c", "action": "wait_agent"}), "multi_agent_call_output"),
        (json!({"type": "tool_search_call", "call_id": "c", "execution": "client"}), "tool_search_output"),
        (json!({"type": "tool_search_call", "call_id": null, "execution": "server"}), "tool_search_output"),
    ] {
        let id = call["call_id"].clone();
        let execution = call["execution"].clone();
        let mut answer = json!({"type": output, "call_id": id, "output": "1", "tools": []});
        if execution.is_string() {
            answer["execution"] = execution;
        }
        assert_eq!(tied(Format::OpenaiResponses, &[call, answer]), [(0, 1)], "{output}");
    }
}

#[test]
fn code_that_gemini_ran_is_tied_to_its_result() {
    let content = |part: Value| json!({"role": "model", "parts": [part]});
    let items = [
        content(json!({"executableCode": {"language": "PYTHON", "code": "1"}})),
        content(json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}})),
        content(json!({"text": "1"})),
        content(json!({"toolCall": {"id": "t1", "toolType": "SEARCH", "args": {}}})),
        content(json!({"toolResponse": {"id": "t1", "response": {}}})),
    ];
    assert_eq!(tied(Format::Gemini, &items), [(0, 1), (3, 4)]);
}

#[test]
fn a_result_before_its_call_is_tied_to_it() {
    let call = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "1"});
    let user = json!({"role": "user", "content": "go"});
    let early = [result.clone(), user.clone(), call.clone(), user.clone()];
    assert_eq!(tied(Format::OpenaiChat, &early), [(0, 2)]);
    let twice = [result.clone(), user.clone(), result.clone(), call.clone()];
    assert_eq!(tied(Format::OpenaiChat, &twice), [(0, 3), (2, 3)]);
    assert_eq!(tied(Format::OpenaiChat, &[user, call, result]), [(1, 2)]);
}

/// As [`ties`] has it, however long the path.
#[test]
fn a_hundred_thousand_entries_are_tied_in_one_pass() {
    let caller = json!({"type": "program", "caller_id": "p"});
    let items = [
        json!({"type": "program", "id": "pr", "call_id": "p", "code": "", "fingerprint": ""}),
        json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "caller": caller}),
        json!({"type": "function_call_output", "call_id": "c", "output": "1", "caller": caller}),
        json!({"type": "program_output", "id": "po", "call_id": "p", "result": "", "status": "completed"}),
    ];
    let entries = appended(Format::OpenaiResponses, &items);
    let heads: Vec<&EntryMeta> = entries.iter().map(|entry| &entry.head).cycle().take(100_000).collect();
    assert_eq!(ties(&heads).len(), 4 * 25_000);
    assert_eq!(ties_from(&heads, 50_001).across.len(), 3);
}
