//! A session's own life over HTTP: changed, erased, gone.

use serde_json::json;

use crate::app::App;

#[tokio::test]
async fn a_session_is_changed_and_erased() {
    let app = App::shared();
    let session = app.session(json!({"title": "before", "model": "gpt-4o"})).await;
    app.append(&session, "openai_chat", json!([{"role": "user", "content": "hello"}])).await;

    let changed = app.patch(&session, json!({"title": null, "settings": {"context_window": 50_000}})).await.expect(200);
    assert!(changed["title"].is_null(), "{changed}");
    assert_eq!(changed["model"], "gpt-4o");
    assert_eq!(app.get(&format!("{session}/snapshot")).await.expect(200)["window"], 50_000);

    app.delete(&session).await.expect(204);
    for path in [session.clone(), format!("{session}/entries"), format!("{session}/snapshot")] {
        app.get(&path).await.assert_problem(404, "not_found");
    }
    app.delete(&session).await.assert_problem(404, "not_found");
}
