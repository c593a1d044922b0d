//! The other faces behind a key: MCP, the proxy, the pages; and no key at all.

use contextd::service::core::access::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use super::Place;
use crate::app::{App, Keyed, NEVER_MS};
use crate::patience::{eventually, until};
use crate::proxy::provider::Provider;
use crate::ui::Visitor;

#[tokio::test]
async fn a_reading_agent_reads_over_mcp_and_writes_nothing() {
    let place = Place::new().await;
    let (writer, reader) = (place.key(&[Scope::Write]).await, place.key(&[Scope::Read]).await);
    let session = place.post(&writer, "/v1/sessions", json!({})).await.expect(201)["id"].clone();
    let call = async |key: &str, tool: &str, arguments: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let headers = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-06-18")];
        place.send(key, Method::POST, "/mcp", &headers, &body).await.expect(200)["result"].clone()
    };
    let seen = call(&reader, "get_snapshot", json!({"session_id": session})).await;
    assert_ne!(seen["isError"], true, "{seen}");
    let chapters = json!({"session_id": session, "chapters": []});
    let refused = call(&reader, "write_chapters", chapters.clone()).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().starts_with("insufficient_scope: "), "{refused}");
    assert_ne!(call(&writer, "write_chapters", chapters).await["isError"], true);
    assert_eq!(
        place.get(&reader, "/mcp").await.status,
        405,
        "there is no stream to open, which is no matter of scopes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_takes_keys_that_may_write_as_often_as_they_may() {
    let provider = Provider::start().await;
    let base_url = provider.base_url();
    let envs = [
        ("CONTEXTD_PROXY_TIMEOUT_MS", NEVER_MS),
        ("CONTEXTD_PROXY_OPENAI_BASE_URL", base_url.as_str()),
        ("CONTEXTD_PROXY_ANTHROPIC_BASE_URL", base_url.as_str()),
    ];
    let place = Place::with(&["--proxy"], &envs).await;
    let master = place.master().await;
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]});
    let ask = async |key: &str| {
        let headers = [("contextd-key", key)];
        place.send("sk-client", Method::POST, "/openai/v1/chat/completions", &headers, &chat).await
    };
    assert_eq!(ask(&master).await.status, 200);
    let reader = place.key(&[Scope::Read]).await;
    let refused = ask(&reader).await;
    assert_eq!((refused.status, &refused.body["error"]["code"]), (403, &json!("insufficient_scope")));
    let asked = json!({"name": "slow", "limits": {"requests_per_minute": 1}});
    let slow = place.post(&master, "/v1/keys", asked).await.expect(201);
    let refused = eventually("there are too many", async || {
        let answer = ask(slow["key"].as_str().unwrap()).await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    assert_eq!(refused.body["error"]["code"], "rate_limited");
    assert!(refused.headers.contains_key("retry-after"));
    let id = place.id_of(&master).await;
    sqlx::query("UPDATE api_keys SET expires_at = now() WHERE id = $1").bind(id).execute(&place.pool).await.unwrap();
    until("it is over", async || ask(&master).await.status == 401).await;
}

#[tokio::test]
async fn a_login_ends_with_its_key() {
    let place = Place::new().await;
    let key = place.key(&[Scope::Read]).await;
    let visitor = Visitor::with_key(&place.server.base, &key).await;
    visitor.get("/ui").await.page();
    sqlx::query("UPDATE api_keys SET expires_at = now()").execute(&place.pool).await.unwrap();
    assert_eq!(visitor.get("/ui").await.status, 303, "at the next request");
    assert_eq!(visitor.log_in(&key).await.status, 401);
}

/// Who did what: the line of a request names the key, and never its text.
#[tokio::test]
async fn the_log_says_which_key_asked() {
    let place = Place::new().await;
    let (key, refused) = (place.master().await, place.key(&[Scope::Read]).await);
    let log = tempfile::NamedTempFile::new().unwrap();
    let logged = log.reopen().unwrap();
    let server = Keyed::logging(&place.database, &[], &[("CONTEXTD_LOG", "info")], logged.into());
    let ask = async |key: &str, id: &str| {
        let request = place.client.post(format!("{}/v1/keys", server.base)).bearer_auth(key).header("x-request-id", id);
        let body = json!({"name": "made"}).to_string();
        request.header("content-type", "application/json").body(body).send().await.unwrap().text().await.unwrap()
    };
    let made: Value = serde_json::from_str(&ask(&key, "making").await).unwrap();
    ask(&refused, "trying").await;
    ask("ctxd_unknown", "guessing").await;
    let text = eventually("three requests are told of", async || {
        let text = std::fs::read_to_string(log.path()).unwrap();
        (text.matches("\"request\"").count() == 3).then_some(text)
    })
    .await;
    let line =
        |id: &str| -> Value { serde_json::from_str(text.lines().find(|line| line.contains(id)).unwrap()).unwrap() };
    assert_eq!(line("making")["key"], place.id_of(&key).await.to_string());
    assert_eq!(line("trying")["key"], place.id_of(&refused).await.to_string());
    assert_eq!((&line("trying")["code"], line("guessing").get("key")), (&json!("insufficient_scope"), None));
    for secret in [&key, &refused, made["key"].as_str().unwrap()] {
        assert!(!text.contains(&secret[37..]), "{text}");
    }
}

#[tokio::test]
async fn where_no_key_is_needed_keys_are_managed_all_the_same() {
    let app = App::fresh(&[]);
    let made = app.post("/v1/keys", json!({"name": "for later", "scopes": ["read", "admin"]})).await.expect(201);
    let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    assert_eq!(app.get("/v1/keys").await.expect(200)["items"].as_array().unwrap().len(), 1);
    app.post(&format!("{path}/rotate"), json!({})).await.expect(201);
    assert_eq!(app.delete(&path).await.status, 204);
    assert_eq!(app.get(&path).await.expect(200)["status"], "revoked");
}
