//! An agent's newest answer that overfills the window by what it gives to tools, by what it thought, or by a message in the
//! user's role that the user did not write: it is cut, stays valid, and is known when it is posted back.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

const WINDOW: u64 = 12_000;
const ASKED: &str = "Write the file, please, for ticket OPS-9.";

fn words() -> String {
    (0..14_000).map(|n| if n % 9 == 0 { "größe " } else { "word " }).collect()
}

fn chat(arguments: &str) -> Value {
    json!([{"role": "user", "content": ASKED},
        {"role": "assistant", "content": null, "tool_calls":
            [{"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"}])
}

fn responses(call: Value, output: Value) -> Value {
    json!([{"role": "user", "content": ASKED}, call, output])
}

/// The context fits in every format and is one that a provider takes; posted back in its own, nothing is new in it.
async fn fits_and_comes_back(app: &App, name: &str, format: &str, items: Value, kept: &[&str]) {
    let settings = json!({"context_window": WINDOW});
    let session = app.session(json!({"settings": settings, "model": "claude-sonnet-4-5"})).await;
    app.append(&session, format, items.clone()).await;
    for target in ["openai_chat", "anthropic", "openai_responses", "gemini", "pi"] {
        let shown = context(app, &session, target).await;
        let tokens = shown["tokens"].as_u64().unwrap();
        assert!(shown["exceeds_window"].is_null(), "{name} as {target}: {}", shown["exceeds_window"]);
        assert!(tokens <= WINDOW, "{name} as {target}: {tokens}");
        let text = json!(messages(&shown)).to_string();
        for part in [&["OPS-9"], kept].concat() {
            assert!(target != format || text.contains(part), "{name} as {target}: {part}: {:.2000}", text);
        }
        if target != "pi" {
            let linted = app.post("/v1/lint", json!({"format": target, "items": messages(&shown)})).await.expect(200);
            assert_eq!(linted["valid"], true, "{name} as {target}: {}", linted["violations"]);
        }
    }
    assert_eq!(json!(kept_items(app, &session).await), items, "{name}: the original is as it came");
    let by_hand = app.session(json!({"settings": settings})).await;
    app.append(&by_hand, format, items).await;
    let done = compact(app, &by_hand, json!({})).await;
    assert!(done["result"]["tokens_after"].as_u64().unwrap() <= WINDOW, "{name}: {done}");
    let mut posted = messages(&context(app, &session, format).await).clone();
    posted.push(match format {
        "gemini" => json!({"role": "user", "parts": [{"text": "And now?"}]}),
        _ => json!({"role": "user", "content": "And now?"}),
    });
    let put = app.put(&format!("{session}/transcript"), json!({"format": format, "items": posted})).await.expect(200);
    assert_eq!((&put["appended"], &put["forked"]), (&json!(1), &json!(false)), "{name}: {put}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_gemini_gives_to_a_function() {
    let items = |part: Value| {
        json!([{"role": "user", "parts": [{"text": ASKED}]}, {"role": "model", "parts": [part]},
            {"role": "user", "parts": [{"functionResponse": {"name": "write", "response": {"output": "ok"}}}]}])
    };
    let args = json!({"path": "report.md", "content": words()});
    let call = json!({"functionCall": {"name": "write", "args": args}});
    fits_and_comes_back(App::shared(), "args", "gemini", items(call), &["report.md"]).await;
    let call = json!({"functionCall": {"name": "write", "args": args}, "thoughtSignature": "c2lnbmVk"});
    fits_and_comes_back(App::shared(), "signed", "gemini", items(call), &["report.md", "c2lnbmVk"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_tools_of_responses_are_given() {
    let app = App::shared();
    let shell = json!({"type": "shell_call", "id": "sh_1", "call_id": "c1", "status": "completed",
        "action": {"commands": ["cd src", words()], "timeout_ms": 1000, "max_output_length": 4096}});
    let output = json!({"type": "shell_call_output", "call_id": "c1",
        "output": [{"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]});
    fits_and_comes_back(app, "shell", "openai_responses", responses(shell, output), &["cd src", "timeout_ms"]).await;
    let local = json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "status": "completed",
        "action": {"type": "exec", "command": ["bash", "-lc", words()], "env": {}}});
    let output = json!({"type": "local_shell_call_output", "id": "c1", "output": "ok"});
    fits_and_comes_back(app, "local shell", "openai_responses", responses(local, output), &["bash", "exec"]).await;
    let patch = json!({"type": "apply_patch_call", "id": "apc_1", "call_id": "c1", "status": "completed",
        "operation": {"type": "update_file", "path": "src/lib.rs", "diff": words()}});
    let output = json!({"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": "ok"});
    let kept = ["src/lib.rs", "update_file"];
    fits_and_comes_back(app, "patch", "openai_responses", responses(patch, output), &kept).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_are_no_json_and_those_of_many_short_strings() {
    let app = App::shared();
    let torn = format!("{{\"path\": \"report.md\", \"content\": \"{}", words());
    fits_and_comes_back(app, "torn", "openai_chat", chat(&torn), &["report.md"]).await;
    let edits: Vec<Value> = (0..5_000).map(|n| json!({"old": format!("a{n}"), "new": format!("b{n}")})).collect();
    let many = json!({"path": "src/lib.rs", "edits": edits});
    fits_and_comes_back(app, "edits", "openai_chat", chat(&many.to_string()), &["src/lib.rs"]).await;
    let call = json!({"type": "tool_use", "id": "c1", "name": "edit", "input": many});
    let items = json!([{"role": "user", "content": ASKED}, {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}]);
    fits_and_comes_back(app, "edits", "anthropic", items, &["src/lib.rs"]).await;
    let call = json!({"type": "function_call", "call_id": "c1", "name": "edit", "arguments": many.to_string()});
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "ok"});
    fits_and_comes_back(app, "edits", "openai_responses", responses(call, output), &["src/lib.rs"]).await;
    let fields: serde_json::Map<String, Value> = (0..5_000).map(|n| (format!("file{n}"), json!("done"))).collect();
    fits_and_comes_back(app, "fields", "openai_chat", chat(&json!(fields).to_string()), &["file0"]).await;
    let command: Vec<String> = (0..9_000).map(|n| format!("f{n}")).collect();
    let shell = json!({"type": "shell_call", "id": "sh_1", "call_id": "c1", "status": "completed",
        "action": {"commands": command, "timeout_ms": 1000}});
    let output = json!({"type": "shell_call_output", "call_id": "c1",
        "output": [{"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]});
    fits_and_comes_back(app, "commands", "openai_responses", responses(shell, output), &["timeout_ms"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_that_alone_overfills_the_window_goes_whole_once_its_answer_has_ended() {
    let app = App::shared();
    let signed = json!({"type": "thinking", "thinking": words(), "signature": "c2lnbmVk"});
    for answer in ["Here it is.".to_owned(), words()] {
        let items = json!([{"role": "user", "content": ASKED},
            {"role": "assistant", "content": [signed, {"type": "text", "text": answer}]}]);
        fits_and_comes_back(app, "signed", "anthropic", items.clone(), &[&answer[..4]]).await;
    }
    let thought = json!({"role": "model", "parts": [{"text": words(), "thought": true}, {"text": "Here it is."}]});
    let items = json!([{"role": "user", "parts": [{"text": ASKED}]}, thought]);
    fits_and_comes_back(app, "thought", "gemini", items, &["Here it is."]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_the_users_role_that_is_not_the_users() {
    let app = App::shared();
    for (open, close) in [
        ("<system-reminder>\n", "\n</system-reminder>"),
        ("<teammate-message teammate_id=\"b\">\n", "\n</teammate-message>"),
    ] {
        let told = format!("{open}{}{close}", words());
        for format in ["openai_chat", "anthropic", "openai_responses"] {
            let items = json!([{"role": "user", "content": ASKED}, {"role": "assistant", "content": "Yes."},
                {"role": "user", "content": told}]);
            fits_and_comes_back(app, open, format, items, &[close.trim()]).await;
        }
    }
    let session = app.session(json!({"settings": {"context_window": WINDOW}})).await;
    let items = json!([{"role": "user", "content": ASKED}, {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": words()}]);
    app.append(&session, "openai_chat", items).await;
    let shown = context(app, &session, "openai_chat").await;
    assert_eq!(messages(&shown).last().unwrap()["content"], json!(words()), "the user's own stays whole");
}
