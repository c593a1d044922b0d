//! Every operation with every scope; and no key gives what it has not.

use contextd::service::core::access::Scope;
use reqwest::Method;
use serde_json::{Value, json};
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
            let is_let = *word == needed || (*word == "write" && needed == "read");
            if is_let {
                assert!(![401, 403].contains(&answer.status), "{word}: {method} {path}: {}", answer.body);
            } else {
                answer.refused(403, "insufficient_scope");
                let lacking = answer.body["needed_scopes"].as_array().unwrap();
                assert!(lacking.contains(&json!(needed)), "{word}: {method} {path}: {}", answer.body);
                let challenge = answer.headers["www-authenticate"].to_str().unwrap();
                assert!(challenge.contains("error=\"insufficient_scope\"") && challenge.contains(needed), "{challenge}");
            }
            tried += 1;
        }
    }
    println!("{tried} calls");
    assert!(tried > 150);
}

#[tokio::test]
async fn no_key_gives_what_it_has_not() {
    let place = Place::new().await;
    let (master, limited) = (place.master().await, place.key(&[Scope::Read, Scope::Admin]).await);
    place.post(&limited, "/v1/keys", json!({"name": "reads", "scopes": ["read", "admin"]})).await.expect(201);
    for scopes in [json!(["write"]), json!(["read", "write"]), Value::Null] {
        let answer = place.post(&limited, "/v1/keys", json!({"name": "more", "scopes": scopes})).await;
        answer.refused(403, "insufficient_scope");
        assert_eq!(answer.body["needed_scopes"], json!(["write"]));
    }
    // Neither by another's text.
    let other = place.post(&master, "/v1/keys", json!({"name": "writes"})).await.expect(201);
    let path = format!("/v1/keys/{}", other["id"].as_str().unwrap());
    place.post(&limited, &format!("{path}/rotate"), json!({})).await.refused(403, "insufficient_scope");
    assert_eq!(place.get(&limited, &path).await.expect(200)["status"], "active");
    // Nor by what was answered to another.
    let once = [("idempotency-key", "deploy-1")];
    let asked = json!({"name": "deploy"});
    let made = place.send(&master, Method::POST, "/v1/keys", &once, &asked).await.expect(201);
    let read_only = place.key(&[Scope::Write]).await;
    place.send(&limited, Method::POST, "/v1/keys", &once, &asked).await.refused(422, "idempotency_key_reused");
    place.send(&read_only, Method::POST, "/v1/keys", &once, &asked).await.refused(403, "insufficient_scope");
    let again = place.send(&master, Method::POST, "/v1/keys", &once, &asked).await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.expect(201), made, "the one who made it sees it again");
    // To take away is no more than to manage.
    assert_eq!(place.delete(&limited, &path).await.status, 204);
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
