//! The OpenAPI document is one that tools take, and what it says is so: every example is accepted, every setting has
//! the bounds and the default that it names.

use std::collections::HashSet;
use std::process::Command;
use std::sync::LazyLock;

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::hook_support::Receiver;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Path, method and operation of every one.
pub fn operations(document: &Value) -> Vec<(String, Method, &Value)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                found.push((path.clone(), method.to_uppercase().parse().unwrap(), operation));
            }
        }
    }
    found
}

/// The document as it is kept; that it is the one served, a test of the API itself says.
static KEPT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../openapi/openapi.json")).unwrap());

/// Panics where a refusal of an operation is not in the document. A path that is none of its paths, and a method that
/// a path does not have, are not its matter.
#[track_caller]
pub fn assert_documented(method: &Method, path: &str, status: u16, problem: &Value) {
    if status < 400 {
        return;
    }
    let path = path.split(['?', '#']).next().unwrap();
    let Some(operation) = operation_at(&KEPT, method, path) else { return };
    let missing = undocumented(operation, status, problem["code"].as_str());
    assert!(missing.is_none(), "{} is not documented: {method} {path:.200}: {problem}", missing.unwrap_or_default());
}

/// The operation that answers at a path; the one with the fewest parameters where there are two.
fn operation_at<'d>(document: &'d Value, method: &Method, path: &str) -> Option<&'d Value> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_parameter = |part: &str| part.starts_with('{');
    let answers = |template: &str| {
        let wanted: Vec<&str> = template.split('/').collect();
        let fits = |(wanted, given): (&&str, &&str)| wanted == given || is_parameter(wanted) && !given.is_empty();
        wanted.len() == parts.len() && wanted.iter().zip(&parts).all(fits)
    };
    let paths = document["paths"].as_object().unwrap().iter().filter(|(template, _)| answers(template));
    let (_, item) = paths.min_by_key(|(template, _)| template.split('/').filter(|part| is_parameter(part)).count())?;
    item.get(method.as_str().to_lowercase())
}

/// What the document does not say of this answer; `None`: it is described.
pub fn undocumented(operation: &Value, status: u16, code: Option<&str>) -> Option<String> {
    let answer = &operation["responses"][status.to_string()];
    let codes = answer["x-codes"].as_array();
    match code {
        _ if !answer.is_object() => Some(format!("{status} {code:?}")),
        Some(code) if !codes.is_some_and(|codes| codes.iter().any(|one| one == code)) => {
            Some(format!("{status} {code}"))
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_described_and_every_operation_is_filed() {
    let document = App::shared().get("/openapi.json").await.expect(200);
    let tags: HashSet<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let hooks = document["webhooks"].as_object().unwrap();
    assert_eq!(hooks.len(), 8, "a webhook for every event");
    let hooks = hooks.iter().map(|(name, item)| (name.clone(), Method::POST, &item["post"]));
    let mut ids = HashSet::new();
    let mut answers = 0;
    for (path, method, operation) in operations(&document).into_iter().chain(hooks) {
        let at = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().expect(&at)), "{at}: its id is taken");
        assert!(operation["summary"].is_string(), "{at} has no summary");
        let own = operation["tags"].as_array().expect(&at);
        assert!(!own.is_empty() && own.iter().all(|tag| tags.contains(tag.as_str().unwrap())), "{at}: {own:?}");
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let described = answer["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{at}: the answer {status} is not described; see openapi/parts/operations.json");
            answers += 1;
        }
    }
    let mut unknown = HashSet::new();
    references(&document, &mut unknown);
    unknown.retain(|name| !document["components"]["schemas"][name].is_object());
    assert!(unknown.is_empty(), "{unknown:?} are not described");
    println!("{} operations, {answers} answers", ids.len());
}

/// The types that stand for a component, by the component's name. The document's library takes the last one of a name
/// and says nothing.
#[test]
fn no_component_name_stands_for_two_types() {
    let mut places: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    for (file, source) in crate::layers::crates() {
        for name in components(&source) {
            places.entry(name).or_default().push(file.display().to_string());
        }
    }
    assert!(places.len() > 150, "{} components were found", places.len());
    let twice: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
    // Found by reading what others found by running.
    let kept = KEPT["components"]["schemas"].as_object().unwrap().keys();
    let made = |name: &&String| !name.contains('_') && places.contains_key(*name);
    assert!(kept.filter(made).count() > 100);
}

/// The names under which a source file's types are described.
fn components(source: &str) -> Vec<String> {
    let (mut names, mut renamed, mut derives) = (Vec::new(), None, false);
    let mut attribute = String::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") || !attribute.is_empty() {
            attribute.push_str(line);
            if !attribute.ends_with(']') {
                continue;
            }
            derives |= attribute.starts_with("#[derive(") && attribute.contains("ToSchema");
            let named = attribute.split_once("schema(as = ").map(|(_, rest)| rest);
            let end = named.and_then(|rest| rest.split([',', ')']).next());
            renamed = end.map(|name| name.trim().to_owned()).or(renamed);
            attribute.clear();
            continue;
        }
        if line.starts_with("//") || line.is_empty() {
            continue;
        }
        let words =
            line.trim_start_matches("pub").trim_start_matches("(crate)").trim_start_matches("(super)").trim_start();
        let name = words.strip_prefix("struct ").or(words.strip_prefix("enum ")).filter(|_| derives);
        if let Some(name) = name {
            let end = name.find(|char: char| !char.is_alphanumeric()).unwrap_or(name.len());
            names.push(renamed.take().unwrap_or_else(|| name[..end].to_owned()));
        }
        (renamed, derives) = (None, false);
    }
    names
}

#[test]
fn two_types_of_one_name_are_seen() {
    let found = components(
        "#[derive(Debug, ToSchema)]\npub struct Change {\n    op: Op,\n}\n/// Doc.\n#[derive(\n    Clone,\n    ToSchema,\n)]\n\
         #[serde(x)]\n#[schema(as = Problem)]\npub(crate) enum Other<'a> {\n}\n#[derive(Debug)]\nstruct Not;",
    );
    assert_eq!(found, ["Change", "Problem"]);
}

/// Whatever the answer: no guessing of types, and no frame around the API's page.
#[tokio::test(flavor = "multi_thread")]
async fn answers_say_how_they_are_to_be_taken() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    for path in [
        "/healthz",
        "/openapi.json",
        "/docs/",
        "/docs/swagger-ui.css",
        "/metrics",
        "/nowhere",
        "/v1/sessions",
        "/ui",
        &session,
        "/v1/sessions/none",
    ] {
        let answer = app.get(path).await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    let refused = app.send(Method::DELETE, "/v1/sessions", &[], "").await;
    assert_eq!((refused.status, refused.header("x-content-type-options")), (405, Some("nosniff")));
    for path in ["/docs/", "/docs/index.html", "/docs/swagger-ui-bundle.js"] {
        let page = app.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("script-src 'self' 'unsafe-inline'"), "{policy}");
        assert_eq!(page.header("x-frame-options"), Some("DENY"), "{path}");
    }
    // Scripts that stand in the page itself would not run.
    let page = app.get("/docs/index.html").await.text;
    for script in page.split("<script").skip(1) {
        assert!(script.split('>').next().unwrap().contains("src="), "{script:.200}");
    }
}

/// What the MCP library refuses is told as all else that is refused.
#[tokio::test(flavor = "multi_thread")]
async fn mcp_refuses_with_problem_documents() {
    const LIST: &str = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}";
    let app = App::shared();
    let both = ("accept", "application/json, text/event-stream");
    let json = ("content-type", "application/json");
    for (headers, body, status, code) in [
        (vec![("accept", "application/json"), json], "{}", 406, "not_acceptable"),
        (vec![("accept", "text/html"), json], "{}", 406, "not_acceptable"),
        (vec![both, ("content-type", "text/plain")], "{}", 415, "unsupported_media_type"),
        (vec![both, json], "no JSON", 400, "malformed_json"),
        (vec![both, json], "", 400, "malformed_json"),
        (vec![both, ("content-type", "application/json; charset=utf-8")], "{\"a\":", 400, "malformed_json"),
        (vec![both, json], "{\"a\": 1}", 422, "validation_failed"),
        (vec![both, json], "[]", 422, "validation_failed"),
        (vec![both, json, ("mcp-protocol-version", "1999-01-01")], LIST, 400, "mcp_version_unknown"),
        (vec![both, json, ("mcp-protocol-version", "2025")], LIST, 400, "mcp_version_unknown"),
    ] {
        let answer = app.send(Method::POST, "/mcp", &headers, body).await;
        answer.assert_problem(status, code);
        assert!(answer.body["request_id"].is_string(), "{}", answer.text);
    }
    let get = app.send(Method::GET, "/mcp", &[both], "").await;
    get.assert_problem(405, "method_not_allowed");
    assert_eq!(get.header("allow"), Some("POST"));
}

fn references(value: &Value, found: &mut HashSet<String>) {
    match value {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str);
            found.extend(target.and_then(|target| target.strip_prefix("#/components/schemas/")).map(str::to_owned));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The published validator. `dev/test` runs it where it can be had.
#[test]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with openapi-spec-validator"]
fn a_published_validator_accepts_the_document() {
    let python = std::env::var("CONTEXTD_CLIENTS_PYTHON").expect("CONTEXTD_CLIENTS_PYTHON");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/openapi_check.py");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json");
    let checked = Command::new(python).args([script, file]).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
    println!("{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn documented_examples_are_accepted() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[hooks]\nallow_private_networks = true\n").unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    let receiver = Receiver::start(crate::hook_support::Reply::Json(json!({}))).await;
    let hook = receiver.register(&app, &["chapter_requested"], json!({})).await;
    let document = app.get("/openapi.json").await.expect(200);
    let mut sent = 0;
    for (path, method, operation) in operations(&document) {
        let Some(body) = operation.get("requestBody") else { continue };
        let examples = body["content"]["application/json"]["examples"].as_object();
        let examples = examples.unwrap_or_else(|| panic!("{method} {path} has no example of its body"));
        for (name, example) in examples {
            let session = filled(&app, by_hand(), 3).await;
            let key = app.post("/v1/keys", json!({"name": "one"})).await.expect(201);
            let entry = all(&app, &format!("{session}/entries")).await.remove(0);
            let target = path
                .replace("{sid}", id_of(&session))
                .replace("{eid}", entry["id"].as_str().unwrap())
                .replace("{hid}", id_of(&hook))
                .replace("{kid}", key["id"].as_str().unwrap());
            let accept = [("accept", "application/json, text/event-stream")];
            let answer = app.send(method.clone(), &target, &accept, example["value"].to_string()).await;
            assert!((200..300).contains(&answer.status), "{method} {path}, {name}: {}", answer.text);
            assert_eq!(undocumented(operation, answer.status, None), None, "{method} {path}, {name}");
            sent += 1;
        }
    }
    println!("{sent} examples");
    assert!(sent > 25);
}

/// A value outside of the bounds that the schema of a setting names.
fn outside(setting: &Value) -> Vec<Value> {
    let mut wrong = vec![json!({"never": "this"})];
    let integral = setting["type"].to_string().contains("integer");
    for (bound, step) in [("minimum", -1.0), ("maximum", 1.0)] {
        if let Some(bound) = setting[bound].as_f64() {
            let beyond = bound + step;
            wrong.push(if integral { json!(beyond as i64) } else { json!(beyond) });
        }
    }
    if let Some(most) = setting["maxLength"].as_u64() {
        wrong.push(json!("x".repeat(most as usize + 1)));
    }
    if setting["minLength"] == 1 {
        wrong.push(json!(""));
    }
    if let Some(most) = setting["maxItems"].as_u64() {
        wrong.push(json!(vec!["0195c0de-0000-7000-8000-000000000000"; most as usize + 1]));
    }
    if !setting["type"].to_string().contains("null") && setting["oneOf"].is_null() {
        wrong.push(json!([null]));
    }
    wrong
}

/// Values at the edges, which must be taken; `with` is what such a value needs beside it.
fn inside(setting: &Value) -> Vec<Value> {
    let mut right: Vec<Value> = ["minimum", "maximum"].iter().map(|bound| setting[*bound].clone()).collect();
    if setting["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null")) {
        right.push(Value::Null);
    } else {
        right.retain(|bound| !bound.is_null());
    }
    right
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_as_the_document_says() {
    let app = App::shared();
    let document = app.get("/openapi.json").await.expect(200);
    let schemas = &document["components"]["schemas"];
    let patch = schemas["SettingsPatch"]["properties"].as_object().unwrap();
    let session = app.session(json!({})).await;
    let now = app.get(&session).await.expect(200)["settings"].clone();
    let names = |settings: &Map<String, Value>| settings.keys().cloned().collect::<HashSet<_>>();
    assert_eq!(names(patch), names(now.as_object().unwrap()));
    assert_eq!(names(patch), names(schemas["Settings"]["properties"].as_object().unwrap()));
    for (name, setting) in patch {
        assert!(setting["description"].as_str().is_some_and(|text| text.len() > 10), "{name}");
        let shown = &schemas["Settings"]["properties"][name];
        assert!(setting["description"].as_str().unwrap().starts_with(shown["description"].as_str().unwrap()), "{name}");
        assert!(setting.get("default").is_none(), "a generated client would send it");
        if let Some(default) = shown.get("default") {
            let same = *default == now[name] || (default.as_f64().is_some() && default.as_f64() == now[name].as_f64());
            assert!(same, "{name}: {default} {}", now[name]);
        }
        for value in outside(setting) {
            let answer = app.patch(&session, json!({"settings": {name: value}})).await;
            answer.assert_problem(422, "validation_failed");
            let pointer = answer.body["errors"][0]["pointer"].as_str().unwrap().to_owned();
            assert!(pointer.starts_with(&format!("/settings/{name}")), "{name}: {}", answer.text);
        }
        for value in inside(setting) {
            let mut settings = json!({name: value});
            match name.as_str() {
                // A window of one token has no room for a reserve, and a reserve as large as can be needs the larger window.
                "context_window" => settings["reserve_tokens"] = json!(0),
                "reserve_tokens" if value != 0 => continue,
                "yellow_at" | "red_at" | "ahead_at" => {
                    settings = json!({"yellow_at": 0, "red_at": 1, "ahead_at": 0});
                    settings[name] = value.clone();
                }
                _ => {}
            }
            let answer = app.patch(&session, json!({"settings": settings})).await;
            assert_eq!(answer.status, 200, "{name} {value}: {}", answer.text);
            app.patch(
                &session,
                json!({"settings": {"yellow_at": null, "red_at": 0.8, "ahead_at": 0.7, "reserve_tokens": null,
                "context_window": null}}),
            )
            .await
            .expect(200);
        }
    }
}
