//! `contextd keys`, where the service runs.

use std::process::Command;

use reqwest::Method;
use serde_json::json;

use super::Place;

fn run(place: &Place, args: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
    let output = command.arg("keys").args(args).env("DATABASE_URL", &place.database).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

#[tokio::test]
async fn the_first_key_comes_from_the_command_line() {
    let place = Place::new().await;
    let ran = |args: &[&str]| {
        let (is_good, told) = run(&place, args);
        assert!(is_good, "{args:?}");
        told
    };
    let usual = ran(&["create", "--tenant", "own", "--name", "usual"]);
    place.post(&usual, "/v1/sessions", json!({})).await.expect(201);
    place.get(&usual, "/v1/keys").await.refused(403, "insufficient_scope");
    let admin = ran(&[
        "create",
        "--tenant",
        "own",
        "--name",
        "boss",
        "--scope",
        "read,admin",
        "--expires-in",
        "90d",
        "--requests-per-minute",
        "600",
    ]);
    let keys = place.get(&admin, "/v1/keys").await.expect(200)["items"].clone();
    assert_eq!(
        (&keys[0]["scopes"], &keys[0]["limits"]["requests_per_minute"]),
        (&json!(["read", "admin"]), &json!(600))
    );
    let listed = ran(&["list"]);
    let line: Vec<&str> = listed.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!((line.len(), line[1], line[2], line[4], line[5]), (8, "own", "boss", "-", "read,admin"), "{listed}");
    assert!(!listed.contains(&admin[37..]));

    let id = keys[0]["id"].as_str().unwrap();
    let next = ran(&["rotate", id, "--grace", "1h"]);
    for key in [&admin, &next] {
        place.get(key, "/v1/keys").await.expect(200);
    }
    assert!(!run(&place, &["rotate", id]).0, "once");
    ran(&["revoke", id]);
    crate::patience::until("another process hears of it", async || {
        place.send(&admin, Method::GET, "/v1/keys", &[], &json!(null)).await.status == 401
    })
    .await;
    assert!(!run(&place, &["revoke", &uuid::Uuid::nil().to_string()]).0);
}
