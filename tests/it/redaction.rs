//! Secrets in a session: they stay in the tree, and reach neither a summary nor a model nor a hook.

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::app::App;
use crate::drill_support::*;
use crate::hook_support::{Receiver, Reply};
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Made-up secrets, in pieces: a forge would take them for real ones.
fn secrets() -> [String; 6] {
    [
        format!("{}QZ7WDRX3LKPJV5TB", "AKIA"),
        format!("{}_8fKq2Lw9XzT4bNv7RpYc3HsJd6MgUe1AoB5i", "ghp"),
        "b7Qx9Lm2Vt4Kz8Rw".to_owned(),
        "c0rrect-h0rse".to_owned(),
        "MIIEow1BAAKCAQEAt7Yx3Kq9LmZ2Vw8Rp5Tn4Bs6Hd1Jf0GgUeXoCiQaWrNyPzMk".to_owned(),
        "9sVbT2kLqX7wRz4NpYc8HmJd3FgUe6AoB1iKt5Mx0ZyCrWnQvPaLsEhGjDuOfIb2".to_owned(),
    ]
}

fn output() -> String {
    let [aws, github, database, mail, first, second] = secrets();
    let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
    format!(
        "$ cat .env\nDATABASE_URL=postgres://app:{database}@db.host.test/app\nMAIL_PASSWORD={mail}\n\
         AWS_ACCESS_KEY_ID={aws}\nMODE=production\n$ cat id_rsa\n{begin}\n{first}\n{second}\n{end}\n\
         $ git remote -v\norigin https://x:{github}@github.com/a/b (fetch)\n"
    )
}

/// The beginning of a session: a call that prints secrets, and an agent that repeats one.
fn leak() -> Vec<Value> {
    let [aws, github, ..] = secrets();
    let command = format!("cat .env; curl -H 'Authorization: token {github}' https://api.github.com/user");
    let call = json!({"id": "call_leak", "type": "function", "function": {
        "name": "bash", "arguments": json!({"command": command}).to_string()}});
    vec![
        json!({"role": "user", "content": "Show me how the service is configured."}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "call_leak", "content": output()}),
        json!({"role": "assistant", "content": format!("It is configured with the key {aws} in production mode.")}),
        json!({"role": "user", "content": format!("Right: use {aws} from now on, and never print {github} again.")}),
        json!({"role": "assistant", "content": "Understood."}),
    ]
}

async fn leaky(app: &App, more: Value) -> String {
    let mut settings = by_hand();
    settings["anchor_first_user"] = json!(false);
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let session = app.session(json!({"settings": settings})).await;
    app.append(&session, "openai_chat", json!(leak())).await;
    app.append(&session, "openai_chat", json!(turns(0..30, 100))).await;
    session
}

fn holds_none(what: &str, text: &str) {
    for secret in secrets() {
        assert!(!text.contains(&secret), "{what} holds {secret}: {text}");
    }
}

fn instance(upstream: &PlayedUpstream) -> (App, NamedTempFile) {
    let file = NamedTempFile::new().unwrap();
    let config = format!(
        "[hooks]\nallow_private_networks = true\n[worker]\npoll_ms = 50\n\
         [[upstreams]]\nname = \"default\"\nkind = \"openai\"\nbase_url = \"{}\"\nmodel = \"played\"\n",
        upstream.base_url()
    );
    std::fs::write(file.path(), config).unwrap();
    (App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]), file)
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_in_the_tree() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&upstream);
    let receiver = Receiver::start(Reply::Json(json!({}))).await;
    let events = ["before_compact", "prune_tool_results", "build_summary", "format_messages", "after_compact"];
    receiver.register(&app, &events, json!({})).await;
    for strategy in ["summarize", "llm_summarize"] {
        let session = leaky(&app, json!({"upstream": "default"})).await;
        let done = compact(&app, &session, json!({"strategy": strategy})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let shown = context(&app, &session, "openai_chat").await.to_string();
        assert!(shown.contains("<context-summary>"), "{shown}");
        holds_none(strategy, &shown);
        let id = done["id"].as_str().unwrap();
        holds_none("the compaction", &app.get(&format!("/v1/compactions/{id}")).await.text);

        let kept = kept_items(&app, &session).await;
        assert_eq!(kept[2]["content"], output(), "the original stays");
        let entries = Value::from(kept).to_string();
        assert!(secrets().iter().all(|secret| entries.contains(secret)));
    }
    let prompts: Vec<String> = upstream.requests().iter().map(|request| request.user().to_owned()).collect();
    let prompts = prompts.join("\n");
    assert!(prompts.contains("[redacted: AWS key]") && prompts.contains("MODE=production"), "{prompts}");
    assert!(prompts.contains("[redacted: private key, call #1]"), "{prompts}");
    holds_none("a prompt", &prompts);
    let told = receiver.wait_for(7).await;
    let told: String = told.iter().map(|message| message.body.to_string()).collect();
    assert!(told.contains("MODE=production"), "hooks were shown the span: {told}");
    holds_none("what hooks are shown", &told);
}

#[tokio::test(flavor = "multi_thread")]
async fn given_summaries_branches_and_transcripts_are_redacted_too() {
    let app = App::shared();
    let [aws, ..] = secrets();
    let session = leaky(app, json!({})).await;
    let summary = format!("## Goal\n- Rename every module, with the key {aws}.");
    let done = compact(app, &session, json!({"summary": summary})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let shown = context(app, &session, "openai_chat").await.to_string();
    assert!(shown.contains("Rename every module, with the key [redacted: AWS key]."), "{shown}");
    holds_none("a given summary", &shown);

    let items: Vec<Value> = leak().into_iter().chain(turns(0..30, 100)).collect();
    let mut settings = by_hand();
    settings["anchor_first_user"] = json!(false);
    let body = json!({"format": "openai_chat", "items": items, "settings": settings, "strategy": "summarize"});
    let done = app.post("/v1/compact", body).await.expect(200);
    assert_eq!(done["result"]["skip_reason"], Value::Null, "{done}");
    holds_none("a transcript", &done["messages"].to_string());

    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(turns(0..2, 20))).await;
    let target = all(app, &format!("{session}/entries")).await.last().unwrap()["id"].clone();
    app.append(&session, "openai_chat", json!(leak())).await;
    let moved = app.post(&format!("{session}/navigate"), json!({"target_id": target, "summarize": true})).await;
    assert!(moved.expect(200)["summary_entry_id"].is_string());
    let shown = context(app, &session, "openai_chat").await.to_string();
    assert!(shown.contains("[redacted: "), "{shown}");
    holds_none("a branch summary", &shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_its_own_patterns_or_none() {
    let app = App::shared();
    let [aws, ..] = secrets();
    let session = leaky(app, json!({"redact": "off"})).await;
    compact(app, &session, json!({"strategy": "summarize"})).await;
    let shown = context(app, &session, "openai_chat").await.to_string();
    assert!(shown.contains(&aws) && !shown.contains("[redacted"), "{shown}");

    let own = json!({"patterns": ["how the (service) is"]});
    let session = leaky(app, json!({"redact": own})).await;
    compact(app, &session, json!({"strategy": "summarize"})).await;
    let shown = context(app, &session, "openai_chat").await.to_string();
    assert!(!shown.contains("how the service is"), "{shown}");
    holds_none("own patterns", &shown);
    assert_eq!(app.get(&session).await.expect(200)["settings"]["redact"], own);

    for (redact, pointer) in [
        (json!("on"), "/settings/redact"),
        (json!(true), "/settings/redact"),
        (json!({}), "/settings/redact/patterns"),
        (json!({"patterns": ["a"], "mode": "auto"}), "/settings/redact/mode"),
        (json!({"patterns": "a"}), "/settings/redact/patterns"),
        (json!({"patterns": vec!["a"; 51]}), "/settings/redact/patterns"),
        (json!({"patterns": ["a", "("]}), "/settings/redact/patterns/1"),
        (json!({"patterns": ["a*"]}), "/settings/redact/patterns/0"),
        (json!({"patterns": ["(a{1000}){1000}"]}), "/settings/redact/patterns/0"),
        (json!({"patterns": ["x".repeat(501)]}), "/settings/redact/patterns/0"),
    ] {
        let refused = app.patch(&session, json!({"settings": {"redact": redact}})).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
}
