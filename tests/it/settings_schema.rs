//! The settings' own schema is one, and says what the service does.

use serde_json::{Map, Value, json};

use crate::app::App;

const KEYWORDS: [&str; 21] = [
    "type",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "maxItems",
    "maxProperties",
    "items",
    "properties",
    "additionalProperties",
    "required",
    "oneOf",
    "allOf",
    "$ref",
    "description",
    "default",
    "x-default",
    "format",
    "title",
    "propertyNames",
];

/// Why a value is none of a schema's, by the keywords that are in use; one that is not known here is a fault of the test.
fn fault(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let schema = schema.as_object().unwrap();
    if let Some(unknown) = schema.keys().find(|word| !KEYWORDS.contains(&word.as_str())) {
        panic!("{unknown} is not checked here");
    }
    let refuse = |keyword: &str| Some(format!("{keyword}: {value}"));
    if let Some(target) = schema.get("$ref") {
        let target = root.pointer(&target.as_str().unwrap()[1..]).unwrap_or_else(|| panic!("{target} leads nowhere"));
        return fault(root, target, value);
    }
    let kinds = match &schema.get("type") {
        None => vec![],
        Some(Value::Array(kinds)) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
        Some(kind) => vec![kind.as_str().unwrap()],
    };
    let is = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    };
    if !kinds.is_empty() && !kinds.into_iter().any(is) {
        return refuse("type");
    }
    if schema.get("enum").is_some_and(|words| !words.as_array().unwrap().contains(value)) {
        return refuse("enum");
    }
    let size = match value {
        Value::String(text) => Some(text.chars().count() as f64),
        Value::Array(items) => Some(items.len() as f64),
        Value::Object(fields) => Some(fields.len() as f64),
        _ => None,
    };
    for (keyword, measured) in [
        ("minimum", value.as_f64()),
        ("maximum", value.as_f64()),
        ("minLength", size),
        ("maxLength", size),
        ("maxItems", size),
        ("maxProperties", size),
    ] {
        let bound = schema.get(keyword).and_then(Value::as_f64);
        let (Some(bound), Some(measured)) = (bound, measured) else { continue };
        if if keyword.starts_with("min") { measured < bound } else { measured > bound } {
            return refuse(keyword);
        }
    }
    for all in schema.get("allOf").into_iter().flat_map(|all| all.as_array().unwrap()) {
        if let Some(fault) = fault(root, all, value) {
            return Some(fault);
        }
    }
    if let Some(ways) = schema.get("oneOf").and_then(Value::as_array)
        && ways.iter().filter(|way| fault(root, way, value).is_none()).count() != 1
    {
        return refuse("oneOf");
    }
    for item in value.as_array().into_iter().flatten() {
        if let Some(fault) = schema.get("items").and_then(|items| fault(root, items, item)) {
            return Some(fault);
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, member) in value.as_object().into_iter().flatten() {
        let found = match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(own), _) => fault(root, own, member),
            (None, Some(Value::Bool(false))) => refuse(name),
            (None, Some(other @ Value::Object(_))) => fault(root, other, member),
            _ => None,
        };
        if found.is_some() {
            return found.map(|found| format!("{name}: {found}"));
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    let missing = required.into_iter().flatten().find(|name| value.get(name.as_str().unwrap()).is_none());
    missing.and_then(|name| refuse(&format!("required {name}")))
}

/// The schema as a validator sees it: annotations aside.
fn root(document: &Value) -> Value {
    let mut root = document.clone();
    for annotation in ["$schema", "presets"] {
        assert!(root.as_object_mut().unwrap().shift_remove(annotation).is_some(), "{annotation}");
    }
    root
}

fn refusal(document: &Value, settings: &Value) -> Option<String> {
    let root = root(document);
    let mut schema = root.clone();
    schema.as_object_mut().unwrap().shift_remove("$defs");
    fault(&root, &schema, settings)
}

#[tokio::test]
async fn defaults_and_presets_are_the_services_own_and_valid() {
    let app = App::shared();
    let document = app.get("/v1/settings/schema").await.expect(200);
    assert_eq!(document["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let defaults: Map<String, Value> = document["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, setting)| (name.clone(), setting.get("default").unwrap_or_else(|| panic!("{name}")).clone()))
        .collect();
    let defaults = Value::Object(defaults);
    assert_eq!(refusal(&document, &defaults), None);
    let session = app.session(json!({})).await;
    assert_eq!(app.get(&session).await.expect(200)["settings"], defaults);
    let presets = document["presets"].as_object().unwrap();
    assert_eq!(presets.keys().collect::<Vec<_>>(), ["auto", "checkpoint", "harness", "chat"]);
    for (name, values) in presets {
        assert_eq!(refusal(&document, values), None, "{name}");
        let session = app.session(json!({"settings": {"preset": name}})).await;
        let session = app.get(&session).await.expect(200);
        assert_eq!((&session["settings"], &session["settings_own"]), (values, &json!({"preset": name})));
    }
}

/// Values around each bound: the schema and the real PATCH agree on each.
#[tokio::test]
async fn the_schema_takes_what_patch_takes_and_nothing_else() {
    let app = App::shared();
    let document = app.get("/v1/settings/schema").await.expect(200);
    let session = app.session(json!({})).await;
    let long = "x".repeat(100_001);
    let id = uuid::Uuid::nil();
    let mut tried = 0;
    for (name, setting) in document["properties"].as_object().unwrap() {
        let mut values =
            vec![json!(true), json!({}), json!([1]), json!(-1), json!(1.5), json!(""), json!("nonsense"), json!(long)];
        for bound in ["minimum", "maximum"] {
            if let Some(bound) = setting[bound].as_f64() {
                values.extend(
                    [bound - 1.0, bound, bound + 1.0]
                        .map(|number| if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }),
                );
            }
        }
        values.push(json!(vec!["a"; 1_001]));
        values.push(json!({"cat": {"kind": "read", "path": "file"}}));
        values.push(json!({"cat": {"kind": "eat", "path": "file"}}));
        values.push(json!({"cat": {"kind": "read", "path": "file", "more": 1}}));
        for value in values {
            let settings = json!({name: value});
            // What else a value needs beside it is not the schema's to say.
            let answer = app.patch(&session, json!({"settings": settings})).await;
            let said = answer.body["errors"][0]["detail"].as_str().unwrap_or_default();
            let is_of_others =
                ["must be less than the context window", "must not be above red_at", "is not configured"];
            let refused = refusal(&document, &settings);
            if answer.status == 422 && is_of_others.iter().any(|words| said.contains(words)) {
                continue;
            }
            let is_name = refused.is_none() && name == "upstream" || name == "pinned_entry_ids";
            assert!(
                is_name || refused.is_some() == (answer.status == 422),
                "{name} {value:.60}: {refused:?} {:.300}",
                answer.text
            );
            tried += 1;
        }
        // As it was.
        let back = json!({"settings": {name: setting["default"].clone(), "context_window": null, "reserve_tokens": null,
            "yellow_at": null, "red_at": 0.8, "ahead_at": 0.7}});
        app.patch(&session, back).await.expect(200);
    }
    println!("{tried} values, {id}");
    assert!(tried > 300);
    assert!(refusal(&document, &json!({"nonsense": 1})).is_some());
}

#[tokio::test]
async fn a_session_tells_its_own_settings_apart() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"red_at": null, "enabled": null, "min_savings_pct": 0.25}})).await;
    let own = async || app.get(&session).await.expect(200)["settings_own"].clone();
    assert_eq!(own().await, json!({"red_at": null, "min_savings_pct": 0.25}), "as they were given");
    let patched = app.patch(&session, json!({"settings": {"template": "prose", "min_savings_pct": null}})).await;
    assert_eq!(patched.expect(200)["settings_own"], json!({"red_at": null, "template": "prose"}));
    assert_eq!(own().await, json!({"red_at": null, "template": "prose"}));
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    assert_eq!(fork["settings_own"], own().await);
    assert_eq!(app.get(&app.session(json!({})).await).await.expect(200)["settings_own"], json!({}));
}

#[tokio::test]
async fn the_operators_defaults_are_the_defaults() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[settings]\ntemplate = \"prose\"\nred_at = 0.7\nahead_at = 0.65\n").unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    let document = app.get("/v1/settings/schema").await.expect(200);
    assert_eq!(document["properties"]["template"]["default"], "prose");
    assert_eq!(document["presets"]["chat"]["red_at"], 0.7, "the operator goes before the preset");
    let session = app.session(json!({})).await;
    let session = app.get(&session).await.expect(200);
    assert_eq!((&session["settings"]["template"], &session["settings_own"]), (&json!("prose"), &json!({})));
}
