//! One block kind after the other, read and given back.

use super::*;

fn error(value: Value) -> (String, String) {
    let error = read(&value).unwrap_err();
    (error.pointer, error.detail)
}

#[test]
fn every_kind_of_block_comes_back_whole() {
    let user = [
        json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}, "cache_control": {"type": "ephemeral"}}),
        json!({"type": "image", "source": {"type": "url", "url": "https://x"}}),
        json!({"type": "image", "source": {"type": "file", "file_id": "f"}}),
        json!({"type": "document", "title": "t", "context": "c", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}),
        json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}}),
        json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}}),
        json!({"type": "search_result", "source": "s", "title": "t", "content": []}),
        json!({"type": "container_upload", "file_id": "f"}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": false, "cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        json!({"type": "tool_result", "tool_use_id": "a"}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]}),
        json!({"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "tool_reference", "tool_name": "n"}, {"type": "text", "text": "x", "citations": null},
            {"type": "image", "source": {"type": "url", "url": "https://x"}}, {"type": "search_result", "title": "t"}]}),
    ];
    let assistant = [
        json!({"type": "text", "text": "a", "citations": [{"type": "char_location", "start_char_index": 1e2}]}),
        json!({"type": "thinking", "thinking": "", "signature": "s"}),
        json!({"type": "redacted_thinking", "data": "d"}),
        json!({"type": "tool_use", "id": "a", "name": "n", "input": {"n": 1.10}, "caller": {"type": "direct"}}),
        json!({"type": "compaction", "content": "summary"}),
        json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}),
    ];
    for (role, blocks) in [("user", &user[..]), ("assistant", &assistant[..])] {
        for block in blocks {
            // Thinking can't be the last block.
            let raw = json!({"role": role, "content": [block, {"type": "text", "text": "end"}]});
            let item = read(&raw).unwrap();
            assert!(!item.needs_repair, "{block}");
            let (back, _) = write_one(write, &item.message.unwrap());
            assert_eq!(back.last(), Some(&raw));
        }
    }
}

#[test]
fn every_server_tool_comes_back_whole() {
    let kinds = [
        "web_search",
        "web_fetch",
        "code_execution",
        "bash_code_execution",
        "text_editor_code_execution",
        "tool_search",
        "advisor",
        "mcp",
    ];
    for kind in kinds {
        let call_type = if kind == "mcp" { "mcp_tool_use" } else { "server_tool_use" };
        let raw = json!({"role": "assistant", "content": [
            {"type": call_type, "id": "s", "name": kind, "input": {}, "server_name": "x"},
            {"type": format!("{kind}_tool_result"), "tool_use_id": "s",
                "content": {"type": "x_error", "stdout": "out", "encrypted_stdout": "secret"}}]});
        let item = read(&raw).unwrap();
        let message = item.message.unwrap();
        let result = message.tool_results().next().unwrap();
        assert_eq!((result.kind, result.is_error, item.needs_repair), (CallKind::Server, true, false));
        assert!(result.plain_text().contains("out") && !result.plain_text().contains("secret"));
        assert_eq!(write_one(write, &message).0[1], raw);
    }
}

#[test]
fn roles_follow_the_content() {
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "x"});
    let text = json!({"type": "text", "text": "t"});
    assert_eq!(message(json!({"role": "user", "content": [result]})).role, Role::Tool);
    let mixed = read(&json!({"role": "user", "content": [text, result]})).unwrap();
    assert!(mixed.needs_repair);
    let mixed = mixed.message.unwrap();
    assert_eq!(mixed.role, Role::User);
    assert!(matches!(mixed.content[..], [Block::ToolResult(_), Block::Text { .. }]));
    assert!(!read(&json!({"role": "user", "content": [result, text]})).unwrap().needs_repair);
}

#[test]
fn answers_tell_usage_and_why_they_stopped() {
    let item = read(&json!({"role": "assistant", "id": "msg_1", "type": "message", "stop_reason": "max_tokens",
        "content": [{"type": "text", "text": "a"}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": null}}))
    .unwrap();
    let usage = item.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (1, 2, 3, 0));
    assert_eq!((item.stop, item.source_id.as_deref(), item.needs_repair), (Some(Stop::Length), Some("msg_1"), true));
    let synthetic = json!({"role": "assistant", "content": "a", "usage": {"input_tokens": 0, "output_tokens": 0}});
    assert_eq!(read(&synthetic).unwrap().usage, None);
}

#[test]
fn broken_but_clear_items_are_marked_for_repair() {
    let broken = [
        json!({"role": "user", "content": null}),
        json!({"role": "user", "content": []}),
        json!({"role": "user", "content": ""}),
        json!({"role": "user", "content": " \n"}),
        json!({"role": "user", "content": [{"type": "text", "text": ""}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "name": "n", "input": {}}]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": "x"}]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a b", "name": "n", "input": {}}]}),
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}),
        json!({"role": "assistant", "content": [server_result("s"), server_call("s")]}),
        json!({"role": "assistant", "content": "a", "container": null}),
    ];
    for value in broken {
        assert!(read(&value).unwrap().needs_repair, "{value}");
    }
    // Whether the other half is there, the messages around say.
    for half in [server_call("s"), server_result("s")] {
        assert!(!read(&json!({"role": "assistant", "content": [half]})).unwrap().needs_repair);
    }
}

#[test]
fn wrong_shapes_are_refused_with_their_place() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let cases = [
        (json!("hi"), ""),
        (json!({"content": "a"}), "/role"),
        (json!({"role": "tool", "content": "a"}), "/role"),
        (json!({"role": "user"}), "/content"),
        (user(json!(1)), "/content"),
        (user(json!(["bare"])), "/content/0"),
        (user(json!([{"text": "a"}])), "/content/0/type"),
        (user(json!([{"type": "", "text": "a"}])), "/content/0/type"),
        (user(json!([{"type": "text", "text": 1}])), "/content/0/text"),
        (user(json!([{"type": "image"}])), "/content/0/source"),
        (user(json!([{"type": "tool_use", "id": "a", "name": "n", "input": {}}])), "/content/0"),
        (user(json!([{"type": "tool_result", "tool_use_id": "a", "content": ["x"]}])), "/content/0/content/0"),
        (json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}), "/content/0/name"),
    ];
    for (value, pointer) in cases {
        assert_eq!(error(value.clone()).0, pointer, "{value}");
    }
}
