//! Compacting a transcript that is stored nowhere.

use contextd::domain::model::format::Format;
use contextd::llm::Upstreams;
use contextd::service::stateless::{Stateless, StatelessRequest};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::{asked, by_hand, turns};
use crate::drill_valid::violations;
use crate::service_support::Stage;

fn body(format: &str, items: &[Value]) -> Value {
    json!({"format": format, "items": items, "system": "be brief", "settings": by_hand()})
}

#[tokio::test]
async fn a_transcript_comes_back_smaller_and_valid() {
    let app = App::shared();
    let items = turns(0..20, 120);
    let done = app.post("/v1/compact", body("openai_chat", &items)).await.expect(200);
    let (result, messages) = (&done["result"], done["messages"].as_array().unwrap());
    assert!(result["tokens_after"].as_u64() < result["tokens_before"].as_u64(), "{result}");
    assert_eq!((&result["entry_id"], &result["skip_reason"]), (&Value::Null, &Value::Null));
    assert_eq!((&done["system"], &messages[0]["content"]), (&json!("be brief"), &json!(asked(0))));
    assert!(messages[1]["content"].as_str().unwrap().contains("<context-summary>"));
    assert_eq!(messages.last(), items.last());
    assert_eq!(violations("openai_chat", messages, true), Vec::<String>::new());
    let linted = app.post("/v1/lint", json!({"format": "openai_chat", "items": messages})).await.expect(200);
    assert_eq!(linted["valid"], true, "{linted}");
    let again = app.post("/v1/compact", body("openai_chat", &items)).await.expect(200);
    assert_eq!(again["messages"], done["messages"], "the same transcript gives the same context");
}

#[tokio::test]
async fn every_strategy_and_what_has_nothing_to_do() {
    let app = App::shared();
    let items = turns(0..20, 120);
    for strategy in ["auto", "mask", "prune", "summarize", "llm_summarize"] {
        let mut body = body("openai_chat", &items);
        body["strategy"] = json!(strategy);
        body["focus_topic"] = json!("module_3");
        let done = app.post("/v1/compact", body).await.expect(200);
        let result = &done["result"];
        assert_eq!(result["strategy_requested"], strategy);
        assert!(result["tokens_after"].as_u64() < result["tokens_before"].as_u64(), "{strategy}: {result}");
        assert_eq!(violations("openai_chat", done["messages"].as_array().unwrap(), true), Vec::<String>::new());
    }
    let small = app.post("/v1/compact", body("openai_chat", &items[..2])).await.expect(200);
    assert!(small["result"]["skip_reason"].is_string(), "{small}");
    assert_eq!(small["messages"].as_array().unwrap().len(), 3, "the open call is answered");
    let empty = app.post("/v1/compact", body("openai_chat", &[])).await.expect(200);
    assert_eq!((&empty["result"]["skip_reason"], &empty["messages"]), (&json!("empty_session"), &json!([])));
}

#[tokio::test]
async fn bad_input_has_its_pointer() {
    let app = App::shared();
    for (pointer, bad) in [
        ("/items/0", json!({"format": "openai_chat", "items": [7]})),
        ("/settings/red_at", json!({"format": "openai_chat", "items": [], "settings": {"red_at": 9}})),
        ("/system", json!({"format": "openai_chat", "items": [], "system": 1})),
    ] {
        let answer = app.post("/v1/compact", bad).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.text);
    }
}

/// The rows of every table.
async fn rows(pool: &sqlx::PgPool) -> Vec<(String, i64)> {
    let named = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1";
    let tables: Vec<String> = sqlx::query_scalar(named).fetch_all(pool).await.unwrap();
    let mut counted = Vec::new();
    for table in tables {
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        counted.push((table, sqlx::query_scalar(count).fetch_one(pool).await.unwrap()));
    }
    counted
}

#[tokio::test]
async fn nothing_is_stored() {
    let stage = Stage::set(json!({})).await;
    let before = rows(&stage.pool).await;
    assert!(before.iter().any(|(table, _)| table == "entries"), "{before:?}");
    let request = StatelessRequest {
        format: Format::OpenaiChat,
        items: turns(0..20, 120).iter().map(|item| to_raw_value(item).unwrap()).collect(),
        system: None,
        tools: None,
        settings: by_hand().as_object().unwrap().clone(),
        strategy: None,
        focus_topic: None,
    };
    let upstreams = Upstreams::new(vec![], None).unwrap();
    let done = Stateless::of(&stage.service).compact(stage.tenant, request, &upstreams).await.unwrap();
    assert!(done.result.tokens_after < done.result.tokens_before);
    assert_eq!(rows(&stage.pool).await, before);
}
