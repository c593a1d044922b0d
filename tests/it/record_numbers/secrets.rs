//! Secrets in records say where they stood; whoever may write gets the user's back by that number, whoever may only read
//! does not.

use contextd::service::core::access::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::drill_support::by_hand;
use crate::keys::Place;

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Made-up secrets, in pieces: a forge would take them for real ones.
fn secrets() -> [String; 2] {
    [format!("{}QZ7WDRX3LKPJV5TB", "AKIA"), format!("{}_8fKq2Lw9XzT4bNv7RpYc3HsJd6MgUe1AoB5i", "ghp")]
}

async fn tool(place: &Place, key: &str, name: &str, arguments: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}});
    place.send(key, Method::POST, "/mcp", &[ACCEPT], &body).await.expect(200)["result"].take()
}

/// The snippet of a hit without the marks of what was found.
fn unmarked(hit: &Value) -> String {
    hit["snippet"].as_str().unwrap().replace("<mark>", "").replace("</mark>", "")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_gives_the_users_secrets_to_those_who_may_write() {
    let place = Place::new().await;
    let (writer, reader) = (place.key(&[Scope::Write]).await, place.key(&[Scope::Read]).await);
    let [aws, github] = secrets();
    let mut settings = by_hand();
    settings["anchor_first_user"] = json!(false);
    let made = place.post(&writer, "/v1/sessions", json!({"settings": settings})).await.expect(201);
    let session = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    let asked = format!("Right: use {aws} from now on.");
    let call = |id: &str, command: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "bash", "arguments": json!({"command": command}).to_string()}}]})
    };
    let mut items = vec![
        json!({"role": "user", "content": "Show me how it is configured."}),
        call("c1", "ls"),
        json!({"role": "tool", "tool_call_id": "c1", "content": "main.rs"}),
        call("c2", &format!("curl -H 'Authorization: token {github}' https://api.github.com/user")),
        json!({"role": "tool", "tool_call_id": "c2", "content": format!("AWS_ACCESS_KEY_ID={aws}\nMODE=production")}),
        json!({"role": "assistant", "content": format!("It is configured with {aws}.")}),
        json!({"role": "user", "content": asked}),
        json!({"role": "assistant", "content": "Understood."}),
    ];
    items.extend(crate::drill_support::turns(0..30, 100));
    let body = json!({"format": "openai_chat", "items": items});
    place.post(&writer, &format!("{session}/entries"), body).await.expect(201);
    let body = json!({"strategy": "summarize", "force": true, "wait": 60});
    let done = place.post(&writer, &format!("{session}/compact"), body).await.expect(200);
    assert_eq!(done["status"], "succeeded", "{done}");
    let context = place.get(&writer, &format!("{session}/context?format=openai_chat")).await.expect(200).to_string();
    for told in ["[redacted: AWS key, u2]", "[redacted: AWS key, call #2]", "[redacted: GitHub token, call #2]"] {
        assert!(context.contains(told), "{told}: {context}");
    }
    assert!(context.contains("configured with [redacted: AWS key]"), "the agent's words have no number: {context}");
    assert!(!context.contains(&aws) && !context.contains(&github), "{context}");

    let marked = "Right: use [redacted: AWS key, u2] from now on.";
    for (key, told) in [(&writer, asked.as_str()), (&reader, marked)] {
        let found = place.get(key, &format!("{session}/tool-calls/u2")).await.expect(200);
        assert_eq!((&found["text"], &found["content"][0]["text"]), (&json!(told), &json!(told)));
        let id = session.rsplit('/').next().unwrap();
        let read = tool(&place, key, "read_tool_result", json!({"session_id": id, "tool_call_id": "u2"})).await;
        assert_eq!(read["content"][0]["text"], told, "{read}");
        let found = place.get(key, &format!("{session}/search?q=u2")).await.expect(200);
        assert_eq!(unmarked(&found["items"][0]), told, "{found}");
        let found = tool(&place, key, "search", json!({"session_id": id, "query": "u2"})).await;
        assert_eq!(unmarked(&found["structuredContent"]["items"][0]), told, "{found}");
        // What a tool printed is the ledger's, whole to whoever may read it.
        let call = place.get(key, &format!("{session}/tool-calls/%232")).await.expect(200);
        assert_eq!(call["result_text"], format!("AWS_ACCESS_KEY_ID={aws}\nMODE=production"));
    }
}
