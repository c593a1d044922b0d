//! The context in the answer, and what the answer says beside it; and what formats have little or no words for.

use serde_json::{Value, json};

use super::{figures, put};
use crate::app::App;
use crate::drill_support::{all, by_hand, context, kept_items, messages, turns};

#[tokio::test]
async fn the_answer_is_of_after_the_forced_fit() {
    let app = App::shared();
    let settings = json!({"context_window": 4_000, "reserve_tokens": 400, "keep_recent_tokens": 400});
    let items = turns(0..40, 60);
    for way in ["put", "post"] {
        let session = app.session(json!({"settings": settings})).await;
        let body = json!({"format": "openai_chat", "items": items, "return_context": "openai_chat"});
        let answer = match way {
            "put" => app.put(&format!("{session}/transcript"), body).await.expect(200),
            _ => app.post(&format!("{session}/entries"), body).await.expect(201),
        };
        let shown = &answer["context"];
        assert_eq!(answer["leaf_id"], shown["leaf_id"], "{way}");
        assert_eq!(answer["snapshot"]["tokens"], shown["tokens"], "{way}");
        assert_eq!(answer["snapshot"]["state"], shown["state"], "{way}");
        assert!(shown["summary_entry_id"].is_string(), "{way}: it was made to fit");
        assert_eq!(answer["compaction"]["status"], "succeeded", "{way}: {}", answer["compaction"]);
        let compactions = all(app, &format!("{session}/compactions")).await;
        assert!(compactions.iter().any(|one| one["id"] == answer["compaction"]["id"] && one["status"] == "succeeded"));
    }
}

#[tokio::test]
async fn an_empty_answer_behind_another_is_stored() {
    let app = App::shared();
    let empty = json!({"role": "assistant", "content": null});
    let opaque = json!({"role": "assistant", "content": null, "audio": {"id": "audio_1"}});
    let user = json!({"role": "user", "content": "go on"});
    for first in [&empty, &opaque] {
        let session = app.session(json!({"settings": by_hand()})).await;
        let mut items: Vec<Value> = vec![first.clone()];
        for next in [&empty, &empty, &user, &empty, &empty] {
            let known = items.len() as u64;
            let stored = figures(&put(app, &session, "openai_chat", &items).await);
            assert_eq!((stored.0 + stored.1, stored.2), (known, false), "{items:?}");
            items.push(next.clone());
            assert_eq!(figures(&put(app, &session, "openai_chat", &items).await), (1, known, false), "{items:?}");
            assert_eq!(figures(&put(app, &session, "openai_chat", &items).await), (0, known + 1, false), "{items:?}");
        }
        assert_eq!(kept_items(app, &session).await, items);
        let mut held = messages(&context(app, &session, "openai_chat").await).clone();
        held.push(user.clone());
        assert_eq!(figures(&put(app, &session, "openai_chat", &held).await).0, 1);
    }
}

#[tokio::test]
async fn the_made_up_result_of_a_tool_search_is_not_speech() {
    let app = App::shared();
    let search = json!({"type": "tool_search_call", "call_id": "ts_1", "execution": "client", "status": "completed",
        "arguments": {"goal": "find a shipping tool"}});
    for real in [
        json!({"type": "tool_search_output", "call_id": "ts_1", "execution": "client", "status": "completed",
            "tools": [{"type": "function", "name": "ship", "parameters": {"type": "object"}}]}),
        json!({"type": "function_call_output", "call_id": "ts_1", "output": "found: ship"}),
    ] {
        for instead in [false, true] {
            let session = app.session(json!({"settings": by_hand()})).await;
            let items = json!([{"role": "user", "content": "ship it"}, search]);
            app.append(&session, "openai_responses", items).await;
            let mut held = messages(&context(app, &session, "openai_responses").await).clone();
            let known = held.len() as u64;
            assert_eq!(figures(&put(app, &session, "openai_responses", &held).await), (0, known, false), "{held:?}");
            if instead {
                held.truncate(2);
            }
            let matched = held.len() as u64;
            held.push(real.clone());
            let answer = put(app, &session, "openai_responses", &held).await;
            assert_eq!(figures(&answer), (1, matched, false), "{real}: {answer}");
            assert_eq!(kept_items(app, &session).await.last(), Some(&real));
            assert_eq!(figures(&put(app, &session, "openai_responses", &held).await), (0, matched + 1, false));
        }
    }
}
