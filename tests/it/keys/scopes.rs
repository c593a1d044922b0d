//! Every operation with every scope; and no key is handed to whom it was not made for.

use contextd::service::core::access::Scope;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use super::Place;
use crate::openapi::operations;

/// What is sent by POST and changes nothing that anybody would miss.
const READING: [&str; 5] =
    ["/mcp", "/v1/count", "/v1/lint", "/v1/sessions/{sid}/prepare", "/v1/sessions/{sid}/rebuild"];

fn wanted(method: &Method, path: &str) -> &'static str {
    match *method {
        _ if path.starts_with("/v1/keys") => "admin",
        Method::GET => "read",
        Method::POST if READING.contains(&path) => "read",
        _ => "write",
    }
}

/// A scope includes those before it.
fn rank(word: &str) -> usize {
    ["read", "write", "admin"].iter().position(|one| *one == word).unwrap()
}

#[tokio::test]
async fn every_operation_takes_the_keys_that_it_should() {
    let place = Place::new().await;
    let document = place.get("none", "/openapi.json").await.expect(200);
    let scopes = [("read", Scope::Read), ("write", Scope::Write), ("admin", Scope::Admin)];
    let mut keys = Vec::new();
    for (word, scope) in scopes {
        keys.push((word, place.key(&[scope]).await));
    }
    let mut tried = 0;
    for (path, method, operation) in operations(&document) {
        if operation["security"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        let needed = wanted(&method, &path);
        assert_eq!(operation["security"], json!([{"bearer": [needed]}]), "{method} {path}");
        let somebody = Uuid::from_u128(7).to_string();
        let target = path.split('/').map(|part| if part.starts_with('{') { &somebody } else { part });
        let target = target.collect::<Vec<_>>().join("/");
        let body = if path == "/mcp" { json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}) } else { json!({}) };
        let accept = [("accept", "application/json, text/event-stream")];
        for (word, key) in &keys {
            let answer = place.send(key, method.clone(), &target, &accept, &body).await;
            if rank(word) >= rank(needed) {
                assert!(![401, 403].contains(&answer.status), "{word}: {method} {path}: {}", answer.body);
            } else {
                answer.refused(403, "insufficient_scope");
                assert_eq!(answer.body["needed_scope"], needed, "{word}: {method} {path}");
                let challenge = answer.headers["www-authenticate"].to_str().unwrap();
                assert!(
                    challenge.contains("error=\"insufficient_scope\"") && challenge.contains(needed),
                    "{challenge}"
                );
            }
            tried += 1;
        }
    }
    println!("{tried} calls");
    assert!(tried > 150);
}

#[tokio::test]
async fn a_new_keys_text_is_told_once_and_stored_nowhere() {
    let place = Place::new().await;
    let (master, writer) = (place.master().await, place.key(&[Scope::Write]).await);
    let once = [("idempotency-key", "deploy-1")];
    let asked = json!({"name": "deploy"});
    let mut made = place.send(&master, Method::POST, "/v1/keys", &once, &asked).await.expect(201);
    let text = made.as_object_mut().unwrap().remove("key").unwrap();
    let again = place.send(&master, Method::POST, "/v1/keys", &once, &asked).await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.expect(201), made, "the same key, without its text");
    place.send(&writer, Method::POST, "/v1/keys", &once, &asked).await.refused(403, "insufficient_scope");
    let rotate = format!("/v1/keys/{}/rotate", made["id"].as_str().unwrap());
    let once = [("idempotency-key", "rotate-1")];
    let next = place.send(&master, Method::POST, &rotate, &once, &json!({})).await.expect(201);
    for text in [&text, &next["key"]] {
        let secret = &text.as_str().unwrap()[37..];
        let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM idempotency_keys WHERE position($1 in body) > 0")
            .bind(secret)
            .fetch_one(&place.pool)
            .await
            .unwrap();
        assert_eq!(kept, 0);
    }
}

#[tokio::test]
async fn another_tenants_key_is_not_there() {
    let place = Place::new().await;
    let foreign = place.key_of("foreign", &[Scope::Write, Scope::Admin]).await;
    let (own, id) = (place.master().await, place.id_of(&foreign).await);
    let path = format!("/v1/keys/{id}");
    place.get(&own, &path).await.refused(404, "not_found");
    place.delete(&own, &path).await.refused(404, "not_found");
    place.post(&own, &format!("{path}/rotate"), json!({})).await.refused(404, "not_found");
    place.get(&foreign, &path).await.expect(200);
    let listed = place.get(&own, "/v1/keys").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}

/// As the version before made them.
#[tokio::test]
async fn a_key_from_before_keeps_what_it_could_and_gains_nothing() {
    let place = Place::new().await;
    let old = place.master().await;
    sqlx::query("UPDATE api_keys SET scopes = DEFAULT").execute(&place.pool).await.unwrap();
    place.post(&old, "/v1/sessions", json!({})).await.expect(201);
    place.get(&old, "/v1/sessions").await.expect(200);
    place.get(&old, "/v1/keys").await.refused(403, "insufficient_scope");
}
