//! Values that are well-formed and still name nothing, or nothing that can be: refused with a pointer, and never a fault
//! of ours.

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::openapi::{operations, undocumented};

const NOBODY: &str = "0195c0de-0000-7000-8000-000000000000";

fn pointer(answer: &crate::app::Answer) -> &str {
    answer.assert_problem(422, "validation_failed");
    answer.body["errors"][0]["pointer"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_name_only_upstreams_that_are_there() {
    let app = App::shared();
    let session = filled(app, by_hand(), 2).await;
    let body = json!({"settings": {"upstream": "no-such-upstream"}});
    let stateless = json!({"format": "native", "items": [], "settings": {"upstream": "no-such-upstream"}});
    for answer in [
        app.post("/v1/sessions", body.clone()).await,
        app.patch(&session, body.clone()).await,
        app.post(&format!("{session}/prepare"), body.clone()).await,
        app.post(&format!("{session}/compact"), body.clone()).await,
        app.post("/v1/compact", stateless).await,
    ] {
        assert_eq!(pointer(&answer), "/settings/upstream", "{}", answer.text);
        assert!(answer.text.contains("builtin"), "it says which there are: {}", answer.text);
    }
    for known in [json!("builtin"), json!("default"), Value::Null] {
        app.patch(&session, json!({"settings": {"upstream": known}})).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_entries_of_the_session_are_pinned() {
    let app = App::shared();
    let session = filled(app, by_hand(), 2).await;
    let entries = all(app, &format!("{session}/entries")).await;
    let (first, last) = (&entries[0]["id"], &entries[entries.len() - 1]["id"]);
    let other = filled(app, by_hand(), 1).await;
    let foreign = &all(app, &format!("{other}/entries")).await[0]["id"];
    for wrong in [json!(NOBODY), foreign.clone()] {
        let body = json!({"settings": {"pinned_entry_ids": [first, wrong]}});
        for answer in [
            app.patch(&session, body.clone()).await,
            app.post(&format!("{session}/prepare"), body.clone()).await,
            app.post(&format!("{session}/compact"), body.clone()).await,
        ] {
            assert_eq!(pointer(&answer), "/settings/pinned_entry_ids/1", "{}", answer.text);
        }
    }
    let nothing_yet = app.post("/v1/sessions", json!({"settings": {"pinned_entry_ids": [first]}})).await;
    assert_eq!(pointer(&nothing_yet), "/settings/pinned_entry_ids/0");
    app.patch(&session, json!({"settings": {"pinned_entry_ids": [first, last]}})).await.expect(200);
    // A fork shares the first entry alone: what it inherited may be said again, what it does not share may not be new.
    let fork = app.post(&format!("{session}/fork"), json!({"entry_id": first})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.patch(&fork, json!({"settings": {"pinned_entry_ids": [first, last]}})).await.expect(200);
    app.patch(&fork, json!({"settings": {"pinned_entry_ids": [first]}})).await.expect(200);
    let unshared = app.patch(&fork, json!({"settings": {"pinned_entry_ids": [first, last]}})).await;
    assert_eq!(pointer(&unshared), "/settings/pinned_entry_ids/1");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_and_system_blocks_are_objects() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let items = json!([{"role": "user", "content": "hi"}]);
    for (name, value, at) in [
        ("tools", json!([[null]]), "/tools/0"),
        ("tools", json!([{"name": "x"}, null]), "/tools/1"),
        ("tools", json!([{"name": "x"}, "y"]), "/tools/1"),
        ("system", json!([[null]]), "/system/0"),
        ("system", json!([{"type": "text", "text": "x"}, 3]), "/system/1"),
    ] {
        let with = |mut body: Value| {
            body[name] = value.clone();
            body
        };
        let posted = with(json!({"format": "openai_chat", "items": items}));
        for answer in [
            app.post("/v1/sessions", with(json!({}))).await,
            app.patch(&session, with(json!({}))).await,
            app.put(&format!("{session}/transcript"), posted.clone()).await,
            app.post("/v1/count", posted.clone()).await,
            app.post("/v1/compact", posted.clone()).await,
        ] {
            assert_eq!(pointer(&answer), at, "{}", answer.text);
        }
    }
    app.patch(&session, json!({"tools": [], "system": []})).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_says_who_wrote_the_summary() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let done = compact(app, &session, json!({"strategy": "summarize"})).await;
    assert_eq!(done["result"]["upstream"]["name"], "builtin", "{done}");
    assert_eq!(done["result"]["fallback"], json!({"used": false, "from": null, "reason": null}), "{done}");

    let session = filled(app, by_hand(), 20).await;
    let done = compact(app, &session, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(done["result"]["upstream"]["name"], "builtin", "{done}");
    assert_eq!(done["result"]["fallback"], json!({"used": true, "from": null, "reason": "no_upstream"}), "{done}");

    let session = filled(app, by_hand(), 20).await;
    let done =
        compact(app, &session, json!({"summary": "## Goal\n- Rename all modules, src/module_1.rs first."})).await;
    assert_eq!(done["result"]["upstream"]["name"], Value::Null, "{done}");

    let session = filled(app, by_hand(), 20).await;
    let root = all(app, &format!("{session}/entries")).await[3]["id"].clone();
    let moved =
        app.post(&format!("{session}/navigate"), json!({"target_id": root, "summarize": true})).await.expect(200);
    assert_eq!(moved["summary"]["upstream"]["name"], "builtin", "{moved}");
}

const ODD: [&str; 34] = [
    "",
    "%00",
    "a%00b",
    "%FF",
    "%",
    "%25%32%35",
    "-1",
    "0",
    "1",
    "201",
    "1.5",
    "1e400",
    "NaN",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "null",
    "true",
    "%27%22%5C;--",
    "..%2F..%2Fetc",
    "%F0%9F%92%A9",
    "%ED%A0%80",
    "-9999-01-01T00:00:00Z",
    "-262143-01-01T00:00:00Z",
    "%2B262142-12-31T23:59:59Z",
    "%2B10000-01-01T00:00:00Z",
    "0000-01-01T00:00:00%2B23:59",
    "9999-12-31T23:59:59-23:59",
    "2026-02-30T00:00:00Z",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "%7B0195c0de-0000-7000-8000-000000000000%7D",
    "0195c0de-0000-7000-8000-7fffffff0000.0.9223372036854775807",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_odd_parameter_is_a_fault_of_ours() {
    let app = App::shared();
    let session = filled(app, by_hand(), 3).await;
    let id = id_of(&session).to_owned();
    let document = app.get("/openapi.json").await.expect(200);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut faults = Vec::new();
    let long = "a".repeat(6_000);
    let values: Vec<&str> = ODD.into_iter().chain([long.as_str()]).collect();
    let mut calls = 0;
    for (path, method, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let query: Vec<String> = parameters
            .iter()
            .filter(|one| one["in"] == "query")
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect();
        let mut targets = Vec::new();
        for parameter in path.split('/').filter(|part| part.starts_with('{')) {
            for value in &values {
                targets.push(path.replace(parameter, value).replace("{sid}", &id));
            }
        }
        let plain = path.replace("{sid}", &id);
        if !plain.contains('{') {
            for name in &query {
                let besides =
                    if *name != "format" && query.contains(&"format".to_owned()) { "&format=native" } else { "" };
                let besides = if *name != "q" && query.contains(&"q".to_owned()) { "&q=module" } else { besides };
                targets.extend(values.iter().map(|value| format!("{plain}?{name}={value}{besides}")));
            }
        }
        for target in targets.iter().map(|target| target.replace("{eid}", NOBODY).replace(['{', '}'], "")) {
            let body = if method == Method::GET || method == Method::DELETE { "" } else { "{}" };
            let request = client.request(method.clone(), app.url(&target)).header("content-type", "application/json");
            // Streams never end: the status is all that is read.
            let answer = request.body(body).send().await.unwrap();
            calls += 1;
            let status = answer.status();
            if status.is_server_error() {
                faults.push(format!("{} {method} {target:.200}", status.as_u16()));
            } else if status.is_client_error() {
                let problem: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default();
                // An odd path may be no route at all, or another one; any other refusal is one that the document names.
                if problem["detail"] == "route not found" || status == 405 {
                    continue;
                }
                let missing = undocumented(operation, status.as_u16(), problem["code"].as_str());
                faults.extend(missing.map(|missing| format!("{missing} is not documented: {method} {target:.200}")));
            }
        }
        if method == Method::DELETE && path == "/v1/sessions/{sid}" {
            continue;
        }
        let concrete = plain.replace("{eid}", NOBODY).replace("{tool_call_id}", "call_1").replace(['{', '}'], "");
        if method == Method::POST || method == Method::PUT || path.ends_with("/events") {
            for value in ["", " ", "\u{fc}", "-1", "99999999999999999999", &long] {
                let request =
                    client.request(method.clone(), app.url(&concrete)).header("content-type", "application/json");
                let value = reqwest::header::HeaderValue::from_bytes(value.as_bytes()).unwrap();
                let request = request.header("idempotency-key", value.clone()).header("last-event-id", value);
                let answer = request.body(if method == Method::GET { "" } else { "{\"odd\":1}" }).send().await.unwrap();
                if answer.status().is_server_error() {
                    faults.push(format!("{} {method} {concrete} with odd headers", answer.status().as_u16()));
                }
            }
        }
    }
    println!("{calls} calls");
    assert!(faults.is_empty(), "{} of {calls} calls: {faults:#?}", faults.len());
}
