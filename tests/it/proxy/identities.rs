//! Which requests belong to one conversation, and which are told from it.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CHAT, Got, MESSAGES, Stage, body};
use crate::drill_support::{all, id_of, turns};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

async fn post(stage: &Stage, path: &str, headers: &[(&str, &str)], body: &Value) -> Got {
    stage.send(Method::POST, path, headers, body.to_string()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_names_one_session_whatever_the_route() {
    let stage = Stage::plain().await;
    let said = [user("hello")];
    let by_header = |path, headers: &'static [(&'static str, &'static str)]| {
        // A coding agent's own conversation has tools.
        let (stage, mut body) = (&stage, body(path, &said));
        body["tools"] = json!([{"name": "read"}]);
        async move { post(stage, path, headers, &body).await.session() }
    };
    let claude = by_header(MESSAGES, &[("x-claude-code-session-id", "c1")]).await;
    let agent = by_header(MESSAGES, &[("x-claude-code-session-id", "c1"), ("x-claude-code-agent-id", "a1")]).await;
    let codex = by_header(CHAT, &[("thread-id", "t1"), ("session-id", "s1")]).await;
    let named = by_header(CHAT, &[("contextd-session", "mine"), ("thread-id", "t1")]).await;
    let mut sessions = vec![claude.clone(), agent, codex.clone(), named.clone()];
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 4);
    assert_eq!(by_header(CHAT, &[("thread-id", "t1"), ("x-session-id", "x")]).await, codex);
    let mut in_body = body(MESSAGES, &said);
    in_body["tools"] = json!([{"name": "read"}]);
    in_body["metadata"] = json!({"user_id": "user_1_account_2_session_c1"});
    assert_eq!(post(&stage, MESSAGES, &[], &in_body).await.session(), claude);
    // By its own id, and by the external one in the list.
    let id = named.rsplit('/').next().unwrap();
    let mut with_tools = body(CHAT, &said);
    with_tools["tools"] = json!([{"name": "read"}]);
    assert_eq!(stage.post(CHAT, id, &with_tools.to_string()).await.session(), named);
    let found = all(&stage.app, "/v1/sessions?external_id=mine").await;
    assert_eq!((found.len(), &found[0]["id"], &found[0]["model"]), (1, &json!(id), &json!("gpt-5")));
    assert_eq!(found[0]["metadata"], json!({"source": "proxy", "identified_by": "contextd-session"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_first_answer_tells() {
    let stage = Stage::plain().await;
    let at = |time: &str, said: &[Value]| {
        let system = json!({"role": "system", "content": format!("Be brief. It is {time}.")});
        body(CHAT, &[std::slice::from_ref(&system), said].concat())
    };
    let mut said = vec![user("hello")];
    let begun = post(&stage, CHAT, &[], &at("9:59", &said)).await;
    assert_eq!((begun.status, begun.header("contextd-bypass")), (200, Some("no_identity")));
    said.extend([answer("Hello!"), user("what is new?")]);
    let session = post(&stage, CHAT, &[], &at("10:01", &said)).await.session();
    said.extend([answer("Nothing."), user("and now?")]);
    // Neither the time of day in a system prompt nor a cache key makes it another conversation.
    let mut later = at("11:30", &said);
    later["prompt_cache_key"] = json!("k");
    assert_eq!(post(&stage, CHAT, &[], &later).await.session(), session);
    assert_eq!(stage.kept(&session).await, said, "it is not stored anew with every system prompt");
    let other = [user("hello"), answer("Good morning."), user("what is new?")];
    let mut other = at("11:30", &other);
    other["prompt_cache_key"] = json!("k");
    assert_ne!(post(&stage, CHAT, &[], &other).await.session(), session);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_requests_do_not_rewind_the_conversation() {
    let stage = Stage::plain().await;
    let headers = [("x-claude-code-session-id", "c1")];
    let tools = json!([{"name": "read", "input_schema": {"type": "object"}}]);
    let working = |items: &[Value]| {
        let mut body = body(MESSAGES, items);
        body["tools"] = tools.clone();
        body
    };
    // A title is asked for before the conversation has begun.
    let title = [user("Name this conversation: fix the parser")];
    let mut title = body(MESSAGES, &title);
    title["model"] = json!("claude-haiku-4-5");
    post(&stage, MESSAGES, &headers, &title).await;
    let mut said = vec![user("fix the parser")];
    let session = post(&stage, MESSAGES, &headers, &working(&said)).await.session();
    said.extend([answer("It is fixed."), user("run the tests")]);
    post(&stage, MESSAGES, &headers, &working(&said)).await;
    let before = stage.app.get(&session).await.expect(200);
    stage.provider.take();

    let topic = body(MESSAGES, &[user("fix the parser")]);
    let elsewhere = working(&[user("look for callers")]);
    for aside in [&title, &topic, &elsewhere] {
        let got = post(&stage, MESSAGES, &headers, aside).await;
        assert_eq!((got.status, got.header("contextd-bypass")), (200, Some("side_request")), "{aside}");
        assert_eq!(stage.provider.take_one().text(), aside.to_string());
    }
    assert_eq!(stage.app.get(&session).await.expect(200), before, "nothing of it was stored");

    // An agent of its own under the same key has a session of its own.
    let other = [user("look for callers"), answer("There are two."), user("which?")];
    let beside = post(&stage, MESSAGES, &headers, &working(&other)).await.session();
    assert_ne!(beside, session);
    assert_eq!(post(&stage, MESSAGES, &headers, &working(&other)).await.session(), beside);

    said.extend([answer("All pass."), user("thanks")]);
    assert_eq!(post(&stage, MESSAGES, &headers, &working(&said)).await.session(), session);
    assert_eq!(stage.kept(&session).await, said);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_once_make_one_session() {
    let stage = Stage::plain().await;
    let said = body(CHAT, &turns(0..3, 5)).to_string();
    let posts = (0..16).map(|_| stage.post(CHAT, "busy", &said));
    let mut sessions: Vec<String> = futures::future::join_all(posts).await.iter().map(Got::session).collect();
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
    assert_eq!(all(&stage.app, "/v1/sessions").await.len(), 1);
    assert_eq!(stage.kept(&sessions[0]).await, turns(0..3, 5), "and everything once");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_sessions_with_one_name_the_older_is_it() {
    let stage = Stage::plain().await;
    let older = stage.app.session(json!({"external_id": "twin"})).await;
    let younger = stage.app.session(json!({"external_id": "twin"})).await;
    for _ in 0..2 {
        assert_eq!(stage.post(CHAT, "twin", &body(CHAT, &[user("hello")]).to_string()).await.session(), older);
    }
    let read = stage.app.get("/v1/sessions/by-external-id/twin").await.expect(200);
    assert_eq!(read["id"], id_of(&younger), "which is not what is read by it");
    let by_id = stage.post(CHAT, id_of(&younger), &body(CHAT, &[user("hello")]).to_string()).await.session();
    assert_eq!(by_id, younger, "an id leaves no doubt");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_session_is_made_anew() {
    let stage = Stage::plain().await;
    let said = body(CHAT, &[user("hello")]).to_string();
    let session = stage.post(CHAT, "again", &said).await.session();
    stage.app.delete(&session).await;
    let got = stage.post(CHAT, "again", &said).await;
    assert_eq!((got.status, got.header("contextd-bypass")), (200, Some("moved")));
    assert_ne!(stage.post(CHAT, "again", &said).await.session(), session);
}
