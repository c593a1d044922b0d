//! How keys end: by time, by rotation, by a limit of their number.

use chrono::{DateTime, Utc};
use contextd::service::core::access::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use super::Place;
use crate::patience::{eventually, until};

fn time(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_key_ends_at_its_time() {
    let place = Place::new().await;
    let (master, key) = (place.master().await, place.key(&[Scope::Write]).await);
    place.get(&key, "/v1/sessions").await.expect(200);
    let id = place.id_of(&key).await;
    sqlx::query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1")
        .bind(id)
        .execute(&place.pool)
        .await
        .unwrap();
    assert!(place.services.keys.identify(&key).await.unwrap().is_none());
    until("it is over at a process that had just found it valid", async || {
        place.get(&key, "/v1/sessions").await.status == 401
    })
    .await;
    assert_eq!(place.get(&master, &format!("/v1/keys/{id}")).await.expect(200)["status"], "expired");
    place.post(&master, &format!("/v1/keys/{id}/rotate"), json!({})).await.refused(409, "key_not_active");

    let soon = (Utc::now() + chrono::TimeDelta::seconds(2)).to_rfc3339();
    let made = place.post(&master, "/v1/keys", json!({"name": "soon", "expires_at": soon})).await;
    // Where the machine was too busy for two seconds, the time is past already.
    if made.status == 201 {
        let key = made.body["key"].as_str().unwrap();
        until("it is over", async || place.get(key, "/v1/sessions").await.status == 401).await;
    }
}

/// What was found valid lately is not found so beyond its end.
#[tokio::test]
async fn the_end_is_looked_at_by_each_request() {
    let place = Place::new().await;
    let key = place.key(&[Scope::Read]).await;
    let keys = &place.services.keys;
    let end = Utc::now() + chrono::TimeDelta::milliseconds(1_500);
    sqlx::query("UPDATE api_keys SET expires_at = $1").bind(end).execute(&place.pool).await.unwrap();
    loop {
        let found = keys.authenticate(&key).await.unwrap();
        let now = Utc::now();
        match found {
            None => break assert!(now >= end),
            Some(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test]
async fn a_rotated_key_goes_on_for_a_while() {
    let place = Place::new().await;
    let master = place.master().await;
    let asked = json!({"name": "app", "scopes": ["read"], "limits": {"requests_per_minute": 5_000},
        "expires_at": "2900-01-01T00:00:00Z"});
    let old = place.post(&master, "/v1/keys", asked).await.expect(201);
    let (old_text, path) = (old["key"].as_str().unwrap(), format!("/v1/keys/{}", old["id"].as_str().unwrap()));
    let once = [("idempotency-key", "rotate-app")];
    let rotate = format!("{path}/rotate");
    let new = place.send(&master, Method::POST, &rotate, &once, &json!({"grace_seconds": 3_600})).await.expect(201);
    let new_text = new["key"].as_str().unwrap();
    assert_ne!((old_text, &old["id"]), (new_text, &new["id"]));
    for same in ["name", "scopes", "limits", "status"] {
        assert_eq!(old[same], new[same]);
    }
    let lifetime = |key: &Value| time(&key["expires_at"]) - time(&key["created_at"]);
    assert_eq!(lifetime(&old), lifetime(&new), "as much time as the old one was given");
    for key in [old_text, new_text] {
        place.get(key, "/v1/sessions").await.expect(200);
    }
    let replaced = place.get(&master, &path).await.expect(200);
    assert_eq!((&replaced["status"], &replaced["replaced_by"]), (&json!("rotated"), &new["id"]));
    assert_eq!(time(&replaced["expires_at"]) - time(&new["created_at"]), chrono::TimeDelta::hours(1));

    let again = place.send(&master, Method::POST, &rotate, &once, &json!({"grace_seconds": 3_600})).await.expect(201);
    assert_eq!((&again["id"], again.get("key")), (&new["id"], None), "the same request once more makes no other key");
    place.post(&master, &rotate, json!({})).await.refused(409, "key_not_active");
    assert_eq!(place.delete(&master, &path).await.status, 204, "it can be ended earlier");
    place.get(old_text, "/v1/sessions").await.refused(401, "unauthorized");

    let rotate = format!("/v1/keys/{}/rotate", new["id"].as_str().unwrap());
    let newer = place.post(&master, &rotate, json!({"grace_seconds": 0})).await.expect(201);
    place.get(new_text, "/v1/sessions").await.refused(401, "unauthorized");
    place.get(newer["key"].as_str().unwrap(), "/v1/sessions").await.expect(200);

    // A body may be left out; a key may rotate itself.
    let own = format!("/v1/keys/{}/rotate", place.id_of(&master).await);
    let next = place.send(&master, Method::POST, &own, &[], &Value::Null).await.expect(201);
    place.get(next["key"].as_str().unwrap(), "/v1/keys").await.expect(200);
    place.get(&master, "/v1/keys").await.expect(200);
}

#[tokio::test]
async fn the_end_of_a_rotated_key_stays_within_what_can_be_written() {
    let place = Place::new().await;
    let master = place.master().await;
    let asked = json!({"name": "long", "expires_at": "9999-12-31T23:59:59Z"});
    let mut key = place.post(&master, "/v1/keys", asked.clone()).await.expect(201);
    for _ in 0..2 {
        // As if it had been made long ago.
        sqlx::query("UPDATE api_keys SET created_at = '0101-01-01Z' WHERE name = 'long'")
            .execute(&place.pool)
            .await
            .unwrap();
        let rotate = format!("/v1/keys/{}/rotate", key["id"].as_str().unwrap());
        key = place.post(&master, &rotate, json!({})).await.expect(201);
        assert_eq!(key["expires_at"], asked["expires_at"]);
    }
    place.get(key["key"].as_str().unwrap(), "/v1/sessions").await.expect(200);
    let beyond = json!({"name": "longer", "expires_at": "+10000-01-01T00:00:00Z"});
    place.post(&master, "/v1/keys", beyond).await.refused(422, "validation_failed");
}

/// What was open when its key ended does not go on.
#[tokio::test]
async fn a_stream_of_events_ends_with_its_key() {
    let place = Place::new().await;
    let (master, key) = (place.master().await, place.key(&[Scope::Read]).await);
    let open = async |key: &str| {
        let request = place.client.get(format!("{}/v1/events", place.server.base)).bearer_auth(key);
        request.send().await.unwrap()
    };
    let (mut ended, mut other) = (open(&key).await, open(&master).await);
    for stream in [&mut ended, &mut other] {
        assert_eq!(stream.status(), 200);
        assert!(stream.chunk().await.unwrap().is_some());
    }
    place.delete(&master, &format!("/v1/keys/{}", place.id_of(&key).await)).await;
    while ended.chunk().await.unwrap().is_some() {}
    place.post(&master, "/v1/sessions", json!({})).await.expect(201);
    assert!(other.chunk().await.unwrap().is_some(), "another key's goes on");
}

#[tokio::test]
async fn the_last_use_is_noted() {
    let place = Place::new().await;
    let (master, key) = (place.master().await, place.key(&[Scope::Read]).await);
    let path = format!("/v1/keys/{}", place.services.keys.list().await.unwrap()[1].key.id);
    assert_eq!(place.get(&master, &path).await.expect(200)["last_used_at"], Value::Null);
    place.get(&key, "/v1/sessions").await.expect(200);
    let noted = eventually("it is noted", async || {
        let key = place.get(&master, &path).await.expect(200);
        key["last_used_at"].as_str().map(str::to_owned)
    })
    .await;
    // No more than once a minute, however often it is looked up.
    for _ in 0..20 {
        assert!(place.services.keys.identify(&key).await.unwrap().is_some());
    }
    let now = place.get(&master, &path).await.expect(200)["last_used_at"].clone();
    let later = time(&now) - time(&json!(noted));
    assert!(later.is_zero() || later >= chrono::TimeDelta::seconds(60), "{later}");
}

#[tokio::test]
async fn a_tenant_has_so_many_keys_and_those_that_ended_do_not_pile_up() {
    let place = Place::new().await;
    let master = place.master().await;
    let more = async |from: i32, to: i32, revoked: &str| {
        let insert = format!(
            "INSERT INTO api_keys (tenant_id, id, name, hash, created_at, revoked_at)
             SELECT tenant_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'k', decode(md5(n::text), 'hex'),
                now(), {revoked} FROM api_keys, generate_series({from}, {to}) n WHERE name = 'made by the test' AND replaced_by IS NULL"
        );
        sqlx::query(sqlx::AssertSqlSafe(insert)).execute(&place.pool).await.unwrap();
    };
    more(1, 999, "NULL").await;
    place.post(&master, "/v1/keys", json!({"name": "one more"})).await.refused(409, "too_many_keys");
    let rotate = format!("/v1/keys/{}/rotate", place.id_of(&master).await);
    place.post(&master, &rotate, json!({})).await.expect(201);

    sqlx::query("UPDATE api_keys SET revoked_at = now() WHERE name = 'k'").execute(&place.pool).await.unwrap();
    more(1_000, 9_000, "now()").await;
    more(9_001, 9_100, "now() - interval '91 days'").await;
    place.post(&master, "/v1/keys", json!({"name": "again"})).await.expect(201);
    let left: (i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE revoked_at < now() - interval '90 days') FROM api_keys",
    )
    .fetch_one(&place.pool)
    .await
    .unwrap();
    assert!(left.0 <= 5_003 && left.1 == 0, "{left:?}");
}
