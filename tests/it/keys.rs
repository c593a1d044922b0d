//! Keys over real HTTP: what each scope opens, until when, how often, and who may give what.

mod command;
mod faces;
mod life;
mod limits;
mod scopes;
mod unknown;

use std::process::Command;

use contextd::service::Services;
use contextd::service::core::access::{Scope, Scopes};
use contextd::service::core::state::Options;
use contextd::service::ops::keys::NewKey;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::app::Keyed;
use crate::openapi::assert_documented;
use crate::pg;

/// A server that wants keys.
pub struct Place {
    pub database: String,
    pub pool: PgPool,
    pub services: Services,
    pub server: Keyed,
    client: Client,
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.body["code"].as_str()), (status, Some(code)), "{}", self.body);
    }
}

impl Place {
    pub async fn new() -> Place {
        Place::with(&[], &[]).await
    }

    pub async fn with(args: &[&str], envs: &[(&str, &str)]) -> Place {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let database = pg::url().await;
        let pool = PgPool::connect(&database).await.unwrap();
        let services = Services::new(pool.clone(), Options::default());
        let server = Keyed::start(&database, args, envs);
        let client = Client::builder().pool_max_idle_per_host(0).no_proxy().build().unwrap();
        Place { database, pool, services, server, client }
    }

    /// A key of the tenant `own` with these scopes.
    pub async fn key(&self, scopes: &[Scope]) -> String {
        self.key_of("own", scopes).await
    }

    pub async fn key_of(&self, tenant: &str, scopes: &[Scope]) -> String {
        let new = NewKey { scopes: Scopes::of(scopes.iter().copied()), ..NewKey::named("made by the test") };
        self.services.keys.create_for(tenant, new).await.unwrap()
    }

    /// One that may do everything.
    pub async fn master(&self) -> String {
        self.key(&[Scope::Admin]).await
    }

    pub async fn id_of(&self, key: &str) -> Uuid {
        self.services.keys.identify(key).await.unwrap().and_then(|access| access.key_id).unwrap()
    }

    pub async fn send(&self, key: &str, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let url = format!("{}{path}", self.server.base);
        let mut request = self.client.request(method.clone(), url).bearer_auth(key);
        request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let response = request.body(body).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // A stream of events has no end.
        let is_stream =
            headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let text = if is_stream { String::new() } else { response.text().await.unwrap() };
        let body = serde_json::from_str(&text).unwrap_or_default();
        assert_documented(&method, path, status, &body);
        Answer { status, headers, body }
    }

    pub async fn get(&self, key: &str, path: &str) -> Answer {
        self.send(key, Method::GET, path, &[], &Value::Null).await
    }

    pub async fn post(&self, key: &str, path: &str, body: Value) -> Answer {
        self.send(key, Method::POST, path, &[], &body).await
    }

    pub async fn delete(&self, key: &str, path: &str) -> Answer {
        self.send(key, Method::DELETE, path, &[], &Value::Null).await
    }
}

#[tokio::test]
async fn a_key_is_made_shown_once_listed_and_revoked() {
    let place = Place::new().await;
    let master = place.master().await;
    let asked = json!({"name": "ci <b>", "scopes": ["read"], "limits": {"requests_per_minute": 600},
        "expires_at": "2999-12-31T00:00:00Z"});
    let made = place.post(&master, "/v1/keys", asked).await.expect(201);
    let text = made["key"].as_str().unwrap().to_owned();
    let id = made["id"].as_str().unwrap();
    assert!(text.starts_with("ctxd_") && text.len() == 5 + 32 + 64);
    assert_eq!(
        (&made["name"], &made["scopes"], &made["status"]),
        (&json!("ci <b>"), &json!(["read"]), &json!("active"))
    );
    assert_eq!(made["limits"], json!({"requests_per_minute": 600}));
    assert_eq!(made["expires_at"], json!("2999-12-31T00:00:00Z"));
    place.get(&text, "/v1/sessions").await.expect(200);

    let usual = place.post(&master, "/v1/keys", json!({"name": "usual"})).await.expect(201);
    assert_eq!((&usual["scopes"], &usual["expires_at"]), (&json!(["write"]), &Value::Null));
    assert_eq!(usual["limits"], json!({"requests_per_minute": null}));

    let listed = place.get(&master, "/v1/keys").await.expect(200);
    let names: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["usual", "ci <b>", "made by the test"], "the newest first");
    let one = place.get(&master, &format!("/v1/keys/{id}")).await.expect(200);
    for shown in [&listed, &one] {
        assert!(!shown.to_string().contains(&text[37..]) && !shown.to_string().contains("\"key\""));
    }
    let first = place.get(&master, "/v1/keys?limit=2").await.expect(200);
    let rest = format!("/v1/keys?limit=2&after={}", first["next_cursor"].as_str().unwrap());
    let rest = place.get(&master, &rest).await.expect(200);
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (1, &Value::Null));

    let path = format!("/v1/keys/{id}");
    assert_eq!(place.delete(&master, &path).await.status, 204);
    place.get(&text, "/v1/sessions").await.refused(401, "unauthorized");
    let revoked = place.get(&master, &path).await.expect(200);
    assert_eq!(revoked["status"], "revoked");
    assert_eq!(place.delete(&master, &path).await.status, 204, "it stays so");
    assert_eq!(place.get(&master, &path).await.expect(200)["revoked_at"], revoked["revoked_at"]);
}

#[tokio::test]
async fn what_cannot_be_a_key_is_refused_with_a_pointer() {
    let place = Place::new().await;
    let master = place.master().await;
    for (body, pointer) in [
        (json!({}), "/name"),
        (json!({"name": " "}), "/name"),
        (json!({"name": "x".repeat(513)}), "/name"),
        (json!({"name": "a\u{0}b"}), "/name"),
        (json!({"name": "k", "scopes": []}), "/scopes"),
        (json!({"name": "k", "scopes": ["everything"]}), "/scopes/0"),
        (json!({"name": "k", "scopes": ["read", "read"]}), "/scopes/1"),
        (json!({"name": "k", "expires_at": "2001-01-01T00:00:00Z"}), "/expires_at"),
        (json!({"name": "k", "expires_at": "tomorrow"}), "/expires_at"),
        (json!({"name": "k", "limits": {"requests_per_minute": 0}}), "/limits/requests_per_minute"),
        (json!({"name": "k", "limits": {"requests_per_minute": 1_000_001}}), "/limits/requests_per_minute"),
        (json!({"name": "k", "limits": {"max_sessions": 1}}), "/limits/max_sessions"),
        (json!({"name": "k", "tenant": "other"}), "/tenant"),
    ] {
        let answer = place.post(&master, "/v1/keys", body.clone()).await;
        answer.refused(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{body}");
    }
    let rotate = format!("/v1/keys/{}/rotate", place.id_of(&master).await);
    for grace in [json!(604_801), json!(-1), json!("1d")] {
        let answer = place.post(&master, &rotate, json!({"grace_seconds": grace})).await;
        answer.refused(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], "/grace_seconds");
    }
    for odd in ["/v1/keys?after=5", "/v1/keys?limit=0", "/v1/keys?name=x"] {
        place.get(&master, odd).await.refused(422, "validation_failed");
    }
}

/// A name is shown, not obeyed: on one line, without what moves a cursor.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_escapes_does_nothing_to_the_terminal() {
    let place = Place::new().await;
    let master = place.master().await;
    let name = "a\u{1b}[2J\u{1b}]0;owned\u{7}\nb\tc\r\u{202e}d\u{9b}31m";
    place.post(&master, "/v1/keys", json!({"name": name})).await.expect(201);
    let keys = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command.arg("keys").args(args).env("DATABASE_URL", &place.database).output().unwrap()
    };
    keys(&["create", "--tenant", "two\nlines\u{1b}[0m", "--name", name]);
    let listed = keys(&["list"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text:?}");
    for line in text.lines() {
        assert_eq!(line.split('\t').count(), 8, "{line:?}");
        assert!(!line.chars().any(|char| char != '\t' && (char.is_control() || char == '\u{202e}')), "{line:?}");
    }
    assert!(text.contains("a␛[2J"), "{text:?}");
    let refused = keys(&["create", "--name", &"n".repeat(513)]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("512"), "{refused:?}");
}
