//! One item kind after the other, read and given back.

use super::*;

#[test]
fn every_kind_of_item_comes_back_whole() {
    let items = [
        json!({"role": "user", "content": "a"}),
        json!({"role": "developer", "content": [{"type": "input_text", "text": "a"}]}),
        json!({"type": "message", "role": "system", "content": "a", "id": "m"}),
        json!({"type": "message", "id": "m", "status": "completed", "phase": "final_answer", "role": "assistant",
            "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": [{"logprob": -0.10}]},
                {"type": "refusal", "refusal": "no"}, {"type": "new_part", "x": 1}]}),
        json!({"role": "user", "content": [
            {"type": "input_image", "image_url": "https://x", "detail": "high"}, {"type": "input_image", "file_id": "f"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA=="}, {"type": "input_file", "file_id": "f"},
            {"type": "input_file", "file_url": "https://x"}, {"type": "input_file", "filename": "f", "file_data": "AA=="},
            {"type": "input_file", "filename": "f", "file_data": "data:application/pdf;base64,AA=="},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}]}),
        json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "n", "arguments": "{\"a\": 1.0}", "namespace": "x"}),
        json!({"type": "function_call_output", "call_id": "c", "output": ""}),
        json!({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]}),
        json!({"type": "function_call_output", "call_id": "c", "output": [], "status": "completed"}),
        json!({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "*** Begin", "status": "completed"}),
        json!({"type": "custom_tool_call_output", "call_id": "c", "output": "ok"}),
        json!({"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"command": ["ls"]}, "status": "completed"}),
        json!({"type": "local_shell_call_output", "id": "c", "output": "ok"}),
        json!({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}),
        json!({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "o", "stderr": "e", "outcome": {"type": "timeout"}}]}),
        json!({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "create_file"}, "status": "completed"}),
        json!({"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"}),
        json!({"type": "computer_call", "call_id": "c", "id": "x", "action": {"type": "click"}, "pending_safety_checks": []}),
        json!({"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": "https://x"}}),
        json!({"type": "tool_search_call", "call_id": null, "execution": "server", "arguments": {"q": 1}}),
        json!({"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [{"name": "n"}]}),
        json!({"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}),
        json!({"type": "file_search_call", "id": "f", "queries": ["q"], "results": [{"text": "t"}]}),
        json!({"type": "code_interpreter_call", "id": "c", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]}),
        json!({"type": "image_generation_call", "id": "i", "result": "AA==", "revised_prompt": "p"}),
        json!({"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "output": "o", "error": null}),
        json!({"type": "mcp_list_tools", "id": "m", "tools": []}),
        json!({"type": "mcp_approval_request", "id": "m", "name": "n", "arguments": "{}"}),
        json!({"type": "mcp_approval_response", "approval_request_id": "m", "approve": true}),
        json!({"type": "mcp_approval_response", "approval_request_id": "m", "approve": true, "reason": "yes"}),
        json!({"type": "mcp_approval_response", "id": "r", "approval_request_id": "m", "approve": false, "reason": "no"}),
        json!({"type": "mcp_approval_response", "approval_request_id": "m", "approve": false, "reason": null}),
        json!({"type": "mcp_call", "id": "mcp", "approval_request_id": "m", "name": "n", "arguments": "{}", "output": "o"}),
        json!({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e", "content": null}),
        json!({"type": "compaction", "id": "c", "encrypted_content": "e"}),
        json!({"type": "additional_tools", "role": "developer", "tools": []}),
        json!({"type": "item_reference", "id": "x"}),
        json!({"type": "of_tomorrow", "x": {"y": null}}),
    ];
    for raw in items {
        let item = read(&raw).unwrap();
        assert!(!item.needs_repair, "{raw}");
        let end = piece(Message::text(Role::Assistant, "end"));
        let mut notes = Vec::new();
        let mut back = write_with(&[piece(item.message.unwrap()), end], ItemIds::Given, &mut notes);
        back.pop();
        let back: Vec<Value> = back.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!((back, notes), (vec![raw], vec![]));
    }
}

#[test]
fn calls_and_results_are_told_by_who_runs_them() {
    let kind = |raw: Value| {
        let message = message(raw);
        let call = message.tool_calls().next().map(|call| (call.id.clone(), call.kind));
        call.or(message.tool_results().next().map(|result| (result.tool_call_id.clone(), result.kind))).unwrap()
    };
    let search =
        |id: Value, execution: &str| json!({"type": "tool_search_call", "call_id": id, "execution": execution});
    assert_eq!(kind(search(json!("a"), "client")), ("a".into(), CallKind::Function));
    assert_eq!(kind(search(json!("a"), "server")), ("a".into(), CallKind::Server));
    assert_eq!(kind(search(Value::Null, "server")), (String::new(), CallKind::Server));
    let custom = json!({"type": "custom_tool_call", "call_id": "a", "name": "n", "input": "{}"});
    assert_eq!(kind(custom.clone()), ("a".into(), CallKind::Custom));
    assert_eq!(message(custom).tool_calls().next().unwrap().arguments, json!("{}"));
    let failed = json!({"type": "mcp_call", "id": "m", "name": "n", "arguments": "{\"a\":1}", "error": {"code": 500}});
    let failed = message(failed);
    assert_eq!(failed.tool_calls().next().unwrap().arguments, json!({"a": 1}));
    assert!(failed.tool_results().next().unwrap().is_error);
    let image = message(json!({"type": "image_generation_call", "id": "i", "result": "AA=="}));
    assert!(matches!(image.tool_results().next().unwrap().content[..], [Block::Image { .. }]));
}

#[test]
fn an_approval_belongs_to_the_call_that_asked_for_it() {
    let request = message(json!({"type": "mcp_approval_request", "id": "m", "name": "n", "arguments": "{\"a\":1}"}));
    let call = request.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.kind, &call.arguments), ("m", CallKind::Server, &json!({"a": 1})));
    assert_eq!(request.tool_results().count(), 0);
    let answer = |approve: bool| json!({"type": "mcp_approval_response", "approval_request_id": "m", "approve": approve, "reason": "so"});
    let refused = message(answer(false));
    let result = refused.tool_results().next().unwrap();
    assert_eq!((result.tool_call_id.as_str(), result.plain_text().as_str(), refused.role), ("m", "so", Role::User));
    assert_eq!(message(answer(true)).tool_results().count(), 0);
    let ran = json!({"type": "mcp_call", "id": "mcp", "approval_request_id": "m", "name": "n", "arguments": "{}", "output": "o"});
    let ran = message(ran);
    let result = ran.tool_results().next().unwrap();
    assert_eq!((result.tool_call_id.as_str(), result.plain_text().as_str()), ("m", "o"));
    assert_eq!(ran.tool_calls().count(), 0, "it was made where it was asked for");
    // Without an id nothing can answer it.
    let nameless = message(json!({"type": "mcp_approval_request", "name": "n", "arguments": "{}"}));
    assert!(matches!(nameless.content[..], [Block::Raw(_)]));
}

#[test]
fn reasoning_is_readable() {
    let raw = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}],
        "content": [{"type": "reasoning_text", "text": "c"}]});
    assert!(matches!(&message(raw).content[..], [Block::Thinking { text, .. }] if text == "s\nc"));
}

#[test]
fn broken_but_clear_items_are_marked_for_repair() {
    let broken = [
        json!({"role": "assistant", "content": ""}),
        json!({"role": "user", "content": []}),
        json!({"role": "user", "content": null}),
        json!({"role": "user", "content": [{"type": "text", "text": "a"}]}),
        json!({"role": "user", "content": [{"type": "input_image", "image_url": null}]}),
        json!({"type": "function_call", "call_id": "", "name": "n", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": "not json"}),
        json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": ""}),
        json!({"type": "function_call", "call_id": "a", "name": "a b", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "a", "output": {"type": "input_text", "text": "a"}}),
    ];
    for value in broken {
        assert!(read(&value).unwrap().needs_repair, "{value}");
    }
    let foreign = message(json!({"role": "user", "content": [{"type": "text", "text": "a"}]}));
    assert_eq!(write_one(write, &foreign).0[0]["content"], json!([{"type": "input_text", "text": "a"}]));
    assert_eq!(
        write_one(write, &message(json!({"role": "user", "content": ""}))).1[0].code.into_str(),
        "empty_message_dropped"
    );
}

#[test]
fn wrong_shapes_are_refused_with_their_place() {
    let call = |key: &str, value: Value| {
        let mut item = json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"});
        item[key] = value;
        item
    };
    let cases = [
        (json!([]), ""),
        (json!({"x": 1}), "/role"),
        (json!({"type": 1}), "/type"),
        (json!({"type": ""}), "/type"),
        (json!({"role": "tool", "content": "a"}), "/role"),
        (json!({"role": "user"}), "/content"),
        (json!({"role": "user", "content": ["a"]}), "/content/0"),
        (json!({"role": "user", "content": [{"text": "a"}]}), "/content/0/type"),
        (json!({"role": "user", "content": [{"type": "", "text": "a"}]}), "/content/0/type"),
        (call("arguments", json!({})), "/arguments"),
        (call("call_id", Value::Null), "/call_id"),
        (call("name", json!(1)), "/name"),
        (json!({"type": "function_call_output", "call_id": "c"}), "/output"),
        (json!({"type": "function_call_output", "output": "x"}), "/call_id"),
        (json!({"type": "shell_call", "action": {}}), "/call_id"),
        (json!({"type": "reasoning", "summary": "s"}), "/summary"),
    ];
    for (value, pointer) in cases {
        assert_eq!(read(&value).unwrap_err().pointer, pointer, "{value}");
    }
}
