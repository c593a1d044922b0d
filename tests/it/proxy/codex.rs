//! OpenAI's Codex as published (npm `@openai/codex` 0.169.0), which asks its provider for a compaction inside of a turn.
//!
//! Ignored in the plain run: it needs the program, named by `CONTEXTD_CLIENTS_CODEX`.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::Stage;
use super::asked::ANSWER;
use super::provider::{Reply, Seen};
use super::sdks::events;

const CALLS: usize = 8;
const TASK: &str = "Work through the steps. Never touch the file prod.env. The deadline is 2027-03-01.";

/// A model that runs a command at each of its first turns, each with more to read than the one before it.
fn step(seen: &Seen, turns: &AtomicUsize) -> Reply {
    if seen.method != "POST" {
        return Reply::json(200, &json!({"object": "list", "data": [], "models": []}));
    }
    let (turn, input) = (turns.fetch_add(1, Ordering::SeqCst), seen.body.len() / 4);
    let item = if turn < CALLS {
        let command = json!({"cmd": format!("echo step {turn}; seq {turn}00 {turn}400")});
        json!({"type": "function_call", "id": format!("fc_{turn}"), "call_id": format!("call_{turn}"),
            "name": "exec_command", "arguments": command.to_string(), "status": "completed"})
    } else {
        let text = json!({"type": "output_text", "text": "It is all done.", "annotations": []});
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]})
    };
    let usage = json!({"input_tokens": input, "output_tokens": 20, "total_tokens": input + 20,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}});
    let response = |status: &str, output: Value| {
        json!({"id": format!("resp_{turn}"), "object": "response",
        "status": status, "model": "gpt-5", "output": output, "usage": usage})
    };
    events(&[
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response("completed", json!([item]))}),
    ])
}

#[tokio::test]
#[ignore = "needs Codex (CONTEXTD_CLIENTS_CODEX)"]
async fn codex_goes_on_over_its_compactions() {
    let codex = std::env::var("CONTEXTD_CLIENTS_CODEX").expect("CONTEXTD_CLIENTS_CODEX names Codex' program");
    let stage = Stage::set("", &ANSWER).await;
    let turns = AtomicUsize::new(0);
    stage.provider.play(move |seen| step(seen, &turns));
    let home = tempfile::tempdir().unwrap();
    let config = format!(
        "model = \"gpt-5\"\nmodel_provider = \"played\"\nmodel_context_window = 32000\nmodel_auto_compact_token_limit = 9000\n\
         approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n[model_providers.played]\nname = \"OpenAI\"\n\
         base_url = \"{}\"\nwire_api = \"responses\"\nenv_key = \"PLAYED_KEY\"\nrequires_openai_auth = false\n\
         supports_websockets = false\n",
        stage.app.url("/openai/v1")
    );
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let work = tempfile::tempdir().unwrap();
    let run = tokio::process::Command::new(codex)
        .args(["exec", "--skip-git-repo-check", "--json", TASK])
        .current_dir(work.path())
        .env("CODEX_HOME", home.path())
        .env("PLAYED_KEY", "k")
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .unwrap();
    let (told, log) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && told.contains("It is all done."), "{told}\n{log}");

    let seen = stage.provider.take();
    let posted: Vec<&Seen> = seen.iter().filter(|seen| seen.method == "POST").collect();
    assert_eq!(posted.len(), CALLS + 1, "a compaction is none of the provider's requests");
    let last = posted.last().unwrap();
    for step in 0..CALLS {
        assert!(last.text().contains(&format!("echo step {step};")), "{step}");
    }
    assert!(last.text().contains("Never touch the file prod.env."));
    let body = last.json();
    let mut items = body["input"].as_array().unwrap().iter();
    assert!(items.all(|item| item["type"] != "compaction"), "the provider is told in words: {body}");
}
