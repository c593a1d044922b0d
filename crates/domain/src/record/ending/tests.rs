use serde_json::json;

use super::*;
use crate::model::message::{Block, Opaque};

fn of(text: &str) -> CallEnd {
    end(Some(&result(text)))
}

fn result(text: &str) -> ToolResult {
    ToolResult {
        tool_call_id: "c".to_owned(),
        name: None,
        content: vec![Block::text(text)],
        is_error: false,
        kind: Default::default(),
        opaque: None,
    }
}

#[test]
fn the_protocol_alone_says_that_a_call_failed() {
    for text in [
        r#"{"success":"false"}"#,
        r#"{"success": "False", "note": ""}"#,
        r#"{"ok": false, "id": 3}"#,
        r#"{"isError": true, "content": []}"#,
        r#"{"error": "no such user"}"#,
        r#"{"error": {"code": 7}}"#,
        r#"{"status": 503}"#,
        r#"{"statusCode": "404"}"#,
        r#"{"output":"x","metadata":{"exit_code":2}}"#,
        r#"{"stdout":"","return_code":1}"#,
        "HTTP/1.1 503 Service Unavailable",
        "HTTP/2 404\ncontent-type: text/plain\n\nnot here",
        "HTTP/1.1 301 Moved Permanently\nLocation: /b\n\nHTTP/1.1 500 Internal Server Error\nServer: x\n",
    ] {
        assert_eq!(of(text), CallEnd::Failed, "{text}");
    }
    assert_eq!(end(Some(&ToolResult { is_error: true, ..result("fine") })), CallEnd::Failed);
    assert_eq!(end(None), CallEnd::Open);
}

#[test]
fn exit_codes_are_those_of_wrappers() {
    for (code, text) in [
        (1, "Exit code 1\nnothing to do"),
        (2, "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nx"),
        (
            2,
            "Chunk ID: 5\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 9\nOutput:\nexit code 0",
        ),
        (0, "Exit code: 0\nOutput:\nError: printed by a test that passed\nCommand exited with code 3"),
        (2, "out\nProcess exited with code 2"),
        (1, "out\n\n\nCommand exited with code 1"),
        (127, "x: not found\n[The command completed with exit code 127.]"),
        (-1, "[The command completed with exit code -1.]\n[Current working directory: /w]\n[Python interpreter: /p]"),
        (1, "x\n[Current working directory: /w]\n[Command finished with exit code 1]"),
        (1, "<returncode>1</returncode>\n<output>\nx\n</output>"),
        (3, "x\n<exited with exit code 3>"),
        (
            1,
            "Command: make\nDirectory: (root)\nStdout: x\nStderr: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 12",
        ),
        (1, "Output: x\nExit Code: 1\nProcess Group PGID: 12"),
        (1, "exit status: 1"),
        (3, "Passed: 1 Failed: 3\n\nexit status 3\nExit code 3\n\n<cwd>/w/scripts</cwd>"),
    ] {
        assert_eq!(exit_code(text), Some(code), "{text}");
        assert_eq!(of(text), if code == 0 { CallEnd::Returned } else { CallEnd::Failed }, "{text}");
    }
    for text in [
        "1\n2\nexit code 1\n4\n5\nexit 3\n12",
        "--- FAIL: TestX\nFAIL\nexit status 1\nFAIL\tpkg\t0.1s",
        "ok\nexit code: 1",
        "the exit code of make is 2",
        "Exit Code: (none)\nSignal: SIGKILL",
        "Process exited with code 1 after 3 retries",
        "",
    ] {
        assert_eq!((exit_code(text), of(text)), (None, CallEnd::Returned), "{text}");
    }
}

#[test]
fn words_claim_nothing() {
    for text in [
        "Delivery failed: mailbox full",
        r#"{"status":"declined"}"#,
        r#"{"status":"error","message":"no"}"#,
        "Killed",
        "Fehler: Guthaben reicht nicht aus",
        "支付未成功。",
        "Ошибка: нет доступа",
        "[Operation Cancelled] Reason: User did not allow tool call",
        "The user doesn't want to proceed with this tool use.",
        "Traceback (most recent call last):\n  File \"a.py\"\nValueError: no",
        "=== 2 failed, 5 passed in 3.2s ===",
        "error: nothing here says how it ended",
        "The server said HTTP/1.1 503 Service Unavailable",
        "HTTP/1.1 404 Not Found\nHTTP/1.1 200 OK",
        "HTTP/1.1 301 Moved\nLocation: /b\n\nHTTP/1.1 200 OK\n\nHTTP is a protocol",
        "Request failed with status code 404",
        r#"{"error": null, "rows": 3}"#,
        r#"{"error": "None"}"#,
        r#"{"status": 200}"#,
        r#"{"status": 700}"#,
        r#"{"rows": [{"success": false}]}"#,
        r#"[{"success": false}]"#,
        "{'success': False}",
    ] {
        assert_eq!(of(text), CallEnd::Returned, "{text}");
    }
}

#[test]
fn what_a_tool_shows_is_not_its_end() {
    let of = |tool: &str, text: &str| end_of(tool, &result(text));
    let file = r#"{"error": "boom", "exit_code": 3}"#;
    assert_eq!(of("read_file", file), CallEnd::Returned);
    assert_eq!(of("read_file", "Exit code: 1\nof a log"), CallEnd::Returned);
    assert_eq!(of("bash", r#"{"success": false}"#), CallEnd::Returned);
    assert_eq!(of("bash", r#"{"output": "x", "metadata": {"exit_code": 1}}"#), CallEnd::Failed);
    assert_eq!(of("bash", "HTTP/1.1 503 Service Unavailable\n"), CallEnd::Failed);
    assert_eq!(of("read_emails", r#"{"error": "boom"}"#), CallEnd::Failed);
    assert_eq!(end_of("read_file", &ToolResult { is_error: true, ..result("x") }), CallEnd::Failed);
    assert_eq!(end(Some(&ToolResult { name: Some("Read".to_owned()), ..result(file) })), CallEnd::Returned);
}

#[test]
fn fields_beside_the_text_tell_it_too() {
    let beside = |format, value| ToolResult { opaque: Some(Opaque { format, value }), ..result("x") };
    let denied = beside(Format::ClaudeCode, json!({"toolDenialKind": "user-rejected"}));
    assert_eq!(end(Some(&ToolResult { is_error: true, ..denied })), CallEnd::Refused);
    let outcome = |code: i64| json!({"output": [{"stdout": "x", "outcome": {"type": "exit", "exit_code": code}}]});
    assert_eq!(end(Some(&beside(Format::OpenaiResponses, outcome(1)))), CallEnd::Failed);
    assert_eq!(end(Some(&beside(Format::OpenaiResponses, outcome(0)))), CallEnd::Returned);
}
