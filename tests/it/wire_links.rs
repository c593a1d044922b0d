//! What is tied together, what is left out and what comes back as it came, through the real binary.

use serde_json::{Value, json};

use crate::app::App;

async fn session(settings: Value) -> String {
    App::shared().session(json!({"settings": settings})).await
}

async fn context(session: &str, query: &str) -> Value {
    App::shared().get(&format!("{session}/context?{query}")).await.expect(200)
}

async fn count(format: &str, system: &Value, items: &Value) -> u64 {
    let body = json!({"format": format, "system": system, "items": items});
    App::shared().post("/v1/count", body).await.expect(200)["tokens"].as_u64().unwrap()
}

fn call(id: &str) -> Value {
    let function = json!({"name": "f", "arguments": "{}"});
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[tokio::test]
async fn a_result_posted_before_its_call_is_handed_out_behind_it() {
    let together = session(json!({})).await;
    let appended =
        App::shared().append(&together, "openai_chat", json!([user("go"), result("a", "1"), call("a")])).await;
    assert_eq!(appended["warnings"], json!([]), "the call is in the same request");
    let apart = session(json!({})).await;
    let appended = App::shared().append(&apart, "openai_chat", json!([user("go"), result("a", "1")])).await;
    assert_eq!(appended["warnings"][0]["code"], "orphan_tool_result");
    assert_eq!(context(&apart, "format=openai_chat").await["messages"], json!([user("go")]));
    App::shared().append(&apart, "openai_chat", json!([user("and"), call("a")])).await;
    for (session, said) in [(&together, vec![user("go")]), (&apart, vec![user("go"), user("and")])] {
        let messages = context(session, "format=openai_chat").await["messages"].clone();
        assert_eq!(messages, json!([said, vec![call("a"), result("a", "1")]].concat()));
        let listed = App::shared().get(&format!("{session}/tool-calls")).await.expect(200);
        assert_eq!(listed["items"][0]["status"], "returned", "{listed}");
        let one = App::shared().get(&format!("{session}/tool-calls/a")).await.expect(200);
        assert_eq!(one["result_text"], "1");
    }
}

#[tokio::test]
async fn the_tokens_of_a_context_are_those_of_what_is_handed_out() {
    let long = "word ".repeat(8_000);
    let thought = json!({"type": "thinking", "thinking": long, "signature": "s"});
    let thinking = json!([{"role": "user", "content": "go"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "done"}]}, {"role": "user", "content": "on"}]);
    let orphan = json!([user("go"), result("nobody", &long), user("on")]);
    let twice = json!([user("go"), call("a"), result("a", "1"), result("a", &long), user("on")]);
    for (format, items, target) in [
        ("openai_chat", &orphan, "openai_chat"),
        ("openai_chat", &orphan, "anthropic"),
        ("openai_chat", &twice, "openai_chat"),
        ("anthropic", &thinking, "openai_chat"),
        ("anthropic", &thinking, "gemini"),
    ] {
        let session = session(json!({"thinking": "keep"})).await;
        App::shared().append(&session, format, items.clone()).await;
        let handed = context(&session, &format!("format={target}")).await;
        let counted = count(target, &Value::Null, &handed["messages"]).await;
        let said = handed["tokens"].as_u64().unwrap();
        assert!(said.abs_diff(counted) <= 8, "{format} as {target}: said {said}, holds {counted}");
        if format != target && items == &thinking {
            // What the target can't say is known once it is written; a bound goes by what is stored.
            continue;
        }
        let bound = format!("format={target}&max_tokens={}", counted + 8);
        assert_eq!(context(&session, &bound).await["messages"], handed["messages"], "it fits");
    }
    let whole = session(json!({"thinking": "keep"})).await;
    App::shared().append(&whole, "anthropic", thinking.clone()).await;
    assert!(context(&whole, "format=anthropic").await["tokens"].as_u64().unwrap() > 8_000, "shown, so counted");
}

#[tokio::test]
async fn a_system_prompt_is_handed_out_in_the_form_of_the_target() {
    let mark = json!({"type": "ephemeral"});
    let blocks =
        json!([{"type": "text", "text": "Be brief.", "cache_control": mark}, {"type": "text", "text": "Be kind."}]);
    let parts = json!({"parts": [{"text": "Be brief."}, {"text": "Be kind."}]});
    let text = json!("Be brief.\nBe kind.");
    let message = json!({"role": "system", "content": text});
    let one = json!({"parts": {"text": "Be brief.\nBe kind."}});
    for system in [&blocks, &parts, &text, &message, &one] {
        let created = App::shared().post("/v1/sessions", json!({"system": system})).await.expect(201);
        let session = &format!("/v1/sessions/{}", created["id"].as_str().unwrap());
        assert_eq!(&created["system"], system, "stored as it was given");
        App::shared().append(session, "openai_chat", json!([user("go")])).await;
        for format in ["openai_chat", "openai_responses", "anthropic", "gemini"] {
            let handed = context(session, &format!("format={format}")).await["system"].clone();
            let is_own = match format {
                "gemini" => handed["parts"].is_array(),
                "anthropic" => handed.is_string() || handed.is_array(),
                _ => handed.is_string(),
            };
            assert!(is_own, "{system} as {format}: {handed}");
            assert!(count(format, &handed, &json!([])).await > 4, "{handed}");
        }
        let handed = context(session, "format=anthropic").await["system"].clone();
        assert_eq!(handed == blocks, system == &blocks, "{handed}");
    }
}

#[tokio::test]
async fn ids_of_a_framework_go_to_the_provider_without_and_come_back_as_they_came() {
    let session = session(json!({})).await;
    let part = json!({"type": "output_text", "text": "hello", "annotations": []});
    let said =
        json!({"id": "__fake_id__", "type": "message", "role": "assistant", "status": "completed", "content": [part]});
    let called = json!({"id": "__fake_id__", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let items = json!([{"role": "user", "content": "a"}, said, {"role": "user", "content": "b"}, said, called]);
    let lint = App::shared().post("/v1/lint", json!({"format": "openai_responses", "items": items})).await.expect(200);
    assert_eq!(lint["valid"], false, "{lint}");
    for at in [0, 2, 4] {
        let some: Vec<Value> = items.as_array().unwrap().iter().skip(at).take(2).cloned().collect();
        App::shared().append(&session, "openai_responses", json!(some)).await;
    }
    let sent = context(&session, "format=openai_responses").await;
    assert!(!sent["messages"].to_string().contains("__fake_id__"), "{sent}");
    assert_eq!(sent["messages"][1], sent["messages"][3]);
    let checked = json!({"format": "openai_responses", "items": sent["messages"]});
    assert_eq!(App::shared().post("/v1/lint", checked).await.expect(200)["valid"], true, "{sent}");
    let given = context(&session, "format=openai_responses&item_ids=given").await;
    let messages = given["messages"].as_array().unwrap();
    assert_eq!(json!(messages[..5]), items, "and the made-up result behind them");
    let entries = App::shared().get(&format!("{session}/entries")).await.expect(200);
    assert_eq!(entries["items"][1]["item"], said, "{entries}");
    let put = json!({"format": "openai_responses", "items": items});
    let put = App::shared().put(&format!("{session}/transcript"), put).await.expect(200);
    assert_eq!((&put["matched"], &put["appended"]), (&json!(5), &json!(0)), "{put}");
}

#[tokio::test]
async fn ids_that_repeat_come_back_as_they_came() {
    let session = session(json!({})).await;
    let turn = |nth: usize, said: &str| {
        let content = json!([{"type": "output_text", "text": format!("say {nth}"), "annotations": []}]);
        let call = format!("call_{nth}");
        [
            user(&format!("do {nth}")),
            json!({"id": "rs_0", "type": "reasoning", "summary": [], "encrypted_content": "x"}),
            json!({"id": said, "type": "message", "role": "assistant", "status": "completed", "content": content}),
            json!({"id": "fc_0", "type": "function_call", "call_id": call, "name": "f", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": call, "output": "3"}),
        ]
    };
    let items: Vec<Value> = (0..4).flat_map(|nth| turn(nth, if nth == 3 { "" } else { "msg_0" })).collect();
    let put = json!({"format": "openai_responses", "items": items});
    App::shared().put(&format!("{session}/transcript"), put).await.expect(200);
    let given = context(&session, "format=openai_responses&item_ids=given").await;
    assert_eq!(given["messages"], json!(items), "{given}");
    let sent = context(&session, "format=openai_responses").await;
    let checked = json!({"format": "openai_responses", "items": sent["messages"]});
    assert_eq!(App::shared().post("/v1/lint", checked).await.expect(200)["valid"], true, "{sent}");
}

#[tokio::test]
async fn what_names_something_that_is_not_there_is_not_handed_out() {
    let caller = json!({"type": "program", "caller_id": "p"});
    let items = json!([
        user("Count the rows."),
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "caller": caller},
        {"type": "function_call_output", "call_id": "c", "output": "3", "caller": caller},
        {"type": "program_output", "id": "po_1", "call_id": "p", "result": "3", "status": "completed"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_9", "approve": true},
        user("Thanks."),
    ]);
    let linted =
        App::shared().post("/v1/lint", json!({"format": "openai_responses", "items": items})).await.expect(200);
    assert_eq!(linted["valid"], false);
    let codes: Vec<&Value> = linted["violations"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, ["missing_link"; 4], "{linted}");
    let session = session(json!({})).await;
    App::shared().append(&session, "openai_responses", items.clone()).await;
    let handed = context(&session, "format=openai_responses").await;
    let kept = json!([
        items[0],
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "3"},
        items[5],
    ]);
    assert_eq!(handed["messages"], kept);
    assert_eq!(handed["conversion_notes"].as_array().unwrap().len(), 4, "{handed}");
}

#[tokio::test]
async fn a_callers_cut_obeys_the_rules_of_ours() {
    let session = session(json!({"keep_recent_tokens": 1, "anchor_first_user": false})).await;
    let caller = json!({"type": "program", "caller_id": "p"});
    let items = json!([
        {"role": "user", "content": "Count the rows."},
        {"type": "program", "id": "pr_1", "call_id": "p", "code": "await f()", "fingerprint": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "caller": caller},
        {"type": "function_call_output", "call_id": "c", "output": "3", "caller": caller},
        {"type": "program_output", "id": "po_1", "call_id": "p", "result": "3", "status": "completed"},
        {"role": "assistant", "content": "There are three."},
        {"role": "user", "content": "Thanks."},
    ]);
    let appended = App::shared().append(&session, "openai_responses", items).await;
    let ids: Vec<&str> =
        appended["entries"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    let path = format!("{session}/compact");
    for (asked, nearest) in [(2, 1), (3, 1), (4, 5)] {
        let refused = App::shared().post(&path, json!({"first_kept_entry_id": ids[asked]})).await;
        refused.assert_problem(422, "validation_failed");
        let detail = refused.body["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("would part"), "{detail}");
        assert!(detail.ends_with(&format!("the nearest entry that would do is {}", ids[nearest])), "{asked}: {detail}");
    }
    let body = json!({"first_kept_entry_id": ids[5], "summary": "Rows were counted: three.", "wait": 60});
    let done = App::shared().post(&path, body).await;
    assert!(done.status < 300, "{}", done.text);
}

#[tokio::test]
async fn a_compaction_that_is_asked_for_fits_where_none_comes_by_itself() {
    let large = "lorem ipsum dolor ".repeat(2_000);
    let settings = json!({"enabled": false, "context_window": 4_000, "reserve_tokens": 500});
    for results in [1, 3] {
        let session = session(settings.clone()).await;
        for turn in 0..2 {
            let id = format!("k{turn}");
            App::shared().append(&session, "openai_chat", json!([user("do it"), call(&id), result(&id, &large)])).await;
        }
        let mut items = vec![user("now this")];
        for place in 0..results {
            let id = format!("z{place}");
            items.extend([call(&id), result(&id, &large)]);
        }
        App::shared().append(&session, "openai_chat", json!(items)).await;
        let path = format!("{session}/compact");
        let done = App::shared().post(&path, json!({"wait": 120})).await.expect(200);
        assert_eq!(done["status"], "succeeded", "{done}");
        let handed = context(&session, "format=openai_chat").await;
        assert!(handed["tokens"].as_u64().unwrap() <= 4_000, "{}", handed["tokens"]);
        assert_eq!(handed["exceeds_window"], Value::Null);
    }
}
