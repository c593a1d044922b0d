//! Gemini's contents over HTTP: in, out as they came, and valid after every compaction.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

/// Turns of a question, two parallel calls, a third, and an answer. With ids, or paired by name and order.
fn turns(range: std::ops::Range<usize>, with_ids: bool) -> Vec<Value> {
    let call = |n: usize, at: usize, signed: bool| {
        let mut part = json!({"functionCall": {"name": if at == 2 { "edit" } else { "read" },
            "args": {"path": format!("src/module_{n}_{at}.rs")}}});
        if with_ids {
            part["functionCall"]["id"] = json!(format!("call_{n}_{at}"));
        }
        if signed {
            part["thoughtSignature"] = json!(format!("c2ln{n:04}"));
        }
        part
    };
    let result = |n: usize, at: usize| {
        let output: String = (0..90).map(|word| format!("line{n}_{at}_{word} ")).collect();
        let mut part = json!({"functionResponse": {"name": if at == 2 { "edit" } else { "read" }, "response": {"output": output}}});
        if with_ids {
            part["functionResponse"]["id"] = json!(format!("call_{n}_{at}"));
        }
        part
    };
    let turn = |n: usize| {
        vec![
            json!({"role": "user", "parts": [{"text": asked(n)}]}),
            json!({"role": "model", "parts": [{"text": format!("I look at {n}"), "thought": true}, call(n, 0, true), call(n, 1, false)]}),
            json!({"role": "user", "parts": [result(n, 0), result(n, 1)]}),
            json!({"role": "model", "parts": [call(n, 2, true)]}),
            json!({"role": "user", "parts": [result(n, 2)]}),
            json!({"role": "model", "parts": [{"text": format!("Renamed {n}."), "thoughtSignature": "c2ln"}]}),
        ]
    };
    range.flat_map(turn).collect()
}

fn parts(content: &Value) -> &Vec<Value> {
    content["parts"].as_array().unwrap()
}

fn data<'c>(content: &'c Value, kind: &str) -> Vec<&'c Value> {
    parts(content).iter().filter_map(|part| part.get(kind)).collect()
}

/// What the provider asks of the contents of a request.
fn assert_valid(contents: &[Value]) {
    assert_eq!(contents[0]["role"], "user", "begins with the user");
    let identity = |data: &Value| (data["id"].clone(), data["name"].clone());
    let turn = contents.iter().rposition(|content| {
        content["role"] == "user" && parts(content).iter().any(|part| part.get("functionResponse").is_none())
    });
    for (place, content) in contents.iter().enumerate() {
        assert!(matches!(content["role"].as_str(), Some("user" | "model")), "{content}");
        assert!(!parts(content).is_empty(), "{content}");
        let calls = data(content, "functionCall");
        let results = data(content, "functionResponse");
        if !calls.is_empty() {
            assert_eq!((&content["role"], &contents[place - 1]["role"]), (&json!("model"), &json!("user")));
            let answers = data(&contents[place + 1], "functionResponse");
            let (mut asked, mut answered): (Vec<_>, Vec<_>) =
                (calls.iter().map(|call| identity(call)).collect(), answers.iter().map(|one| identity(one)).collect());
            asked.sort_by_key(|key| format!("{key:?}"));
            answered.sort_by_key(|key| format!("{key:?}"));
            assert_eq!(asked, answered, "{content}");
        }
        if !results.is_empty() {
            assert!(place > 0 && data(&contents[place - 1], "functionCall").len() == results.len(), "{content}");
        }
        if turn.is_some_and(|turn| place > turn) && !calls.is_empty() {
            let first = parts(content).iter().find(|part| part.get("functionCall").is_some()).unwrap();
            assert!(first["thoughtSignature"].is_string(), "{content}");
        }
    }
}

async fn valid_context(app: &App, session: &str) -> Vec<Value> {
    let shown = context(app, session, "gemini").await;
    let contents = messages(&shown).clone();
    assert_valid(&contents);
    let linted = app.post("/v1/lint", json!({"format": "gemini", "items": contents})).await.expect(200);
    assert_eq!(linted["valid"], true, "{linted}");
    contents
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_come_back_as_they_came() {
    let app = App::shared();
    for with_ids in [true, false] {
        let session = app.session(json!({"settings": by_hand()})).await;
        let mut items = turns(0..3, with_ids);
        items[0]["future"] = json!({"deep": [1.50]});
        items.push(json!({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            {"fileData": {"fileUri": "gs://a/b", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2}}, {"hologram": 1}]}));
        app.append(&session, "gemini", json!(items)).await;
        let shown = context(app, &session, "gemini").await;
        assert_eq!(messages(&shown), &items);
        assert_eq!(shown["conversion_notes"], json!([]));
        let exported = app.get(&format!("{session}/export?format=gemini")).await.text;
        let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, items);
        // Posted whole, nothing of it is new.
        let put = app.put(&format!("{session}/transcript"), json!({"format": "gemini", "items": items})).await;
        assert_eq!(put.expect(200)["appended"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_loop_stays_valid_through_three_compactions() {
    let app = App::shared();
    for with_ids in [true, false] {
        let session = app.session(json!({"settings": by_hand()})).await;
        for round in 0..3 {
            app.append(&session, "gemini", json!(turns(round * 12..round * 12 + 12, with_ids))).await;
            // In the middle of a turn, right behind a result.
            let running = turns(1000 + round..1001 + round, with_ids);
            app.append(&session, "gemini", json!(running[..3])).await;
            let done = compact(app, &session, json!({})).await;
            assert_eq!(done["status"], "succeeded", "{done}");
            let contents = valid_context(app, &session).await;
            let last = contents.last().unwrap();
            assert_eq!(data(last, "functionResponse").len(), 2, "{last}");
            let ids = contents.iter().flat_map(|content| data(content, "functionCall"));
            assert!(ids.into_iter().all(|call| call.get("id").is_some() == with_ids), "nothing is made up");
            app.append(&session, "gemini", json!(running[3..])).await;
            valid_context(app, &session).await;
        }
        for format in ["anthropic", "openai_chat", "openai_responses", "native", "pi"] {
            let shown = context(app, &session, format).await;
            let linted = app.post("/v1/lint", json!({"format": format, "items": messages(&shown)})).await.expect(200);
            assert_eq!(linted["valid"], true, "{format}: {linted}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_of_another_provider_goes_on_with_gemini() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand(), "system": "Be brief."})).await;
    let mut items = vec![json!({"role": "system", "content": "Mind the tests."})];
    items.extend(crate::drill_support::turns(0..3, 10));
    app.append(&session, "openai_chat", json!(items)).await;
    let shown = context(app, &session, "gemini").await;
    assert_valid(messages(&shown));
    assert_eq!(shown["system"], json!({"parts": [{"text": "Be brief."}, {"text": "Mind the tests."}]}));
    let first = &messages(&shown)[1]["parts"][0];
    assert_eq!(first["thoughtSignature"], "skip_thought_signature_validator");
    app.append(&session, "gemini", json!(turns(5..6, true))).await;
    valid_context(app, &session).await;
    // Gemini's own instruction is counted, and told to others.
    let system = json!({"parts": [{"text": "Be brief."}]});
    let session = app.session(json!({"settings": by_hand(), "system": system})).await;
    app.append(&session, "openai_chat", json!(items)).await;
    let shown = context(app, &session, "anthropic").await;
    let texts: Vec<&Value> = shown["system"].as_array().unwrap().iter().map(|block| &block["text"]).collect();
    assert_eq!(texts, ["Be brief.", "Mind the tests."]);
    let refused = app.post("/v1/sessions", json!({"system": {"parts": "x"}})).await;
    refused.assert_problem(422, "validation_failed");
    assert_eq!(refused.body["errors"][0]["pointer"], "/system/parts");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_content_is_refused_and_leaves_nothing() {
    let app = App::shared();
    let cases = [
        (json!({"role": "assistant", "parts": [{"text": "a"}]}), "/items/1/role"),
        (json!({"role": "user", "content": "a"}), "/items/1/parts"),
        (json!({"role": "user", "parts": [{"type": "text", "text": "a"}]}), "/items/1/parts/0/type"),
        (json!({"role": "user", "parts": [{"functionCall": {"name": "f"}}]}), "/items/1/parts/0"),
        (
            json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": []}}]}),
            "/items/1/parts/0/functionResponse/response",
        ),
    ];
    for (item, pointer) in cases {
        let session = app.session(json!({})).await;
        let items = json!([{"role": "user", "parts": [{"text": "a"}]}, item]);
        let answer = app.post(&format!("{session}/entries"), json!({"format": "gemini", "items": items})).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.body);
        assert!(all(app, &format!("{session}/entries")).await.is_empty());
    }
    // Results without calls are stored, and go out nowhere.
    let session = app.session(json!({})).await;
    let orphan = json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]});
    app.append(&session, "gemini", json!([{"role": "user", "parts": [{"text": "a"}]}, orphan])).await;
    assert_eq!(valid_context(app, &session).await.len(), 1);
    let elsewhere = app.session(json!({})).await;
    let items = json!([{"role": "user", "parts": [{"text": "a"}]}]);
    let answer = app.post(&format!("{elsewhere}/entries"), json!({"format": "openai_chat", "items": items})).await;
    assert!(answer.body["errors"][0]["detail"].as_str().unwrap().contains("gemini"), "{}", answer.body);
}

/// Names as tools of other providers, of MCP servers and of people have them.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_the_api_refuses_go_out_in_its_form_and_are_known_again() {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    let app = App::shared();
    let long = "n".repeat(140);
    let names = [
        "1st",
        "2fa.verify",
        "-dash",
        ".dot",
        ":x",
        "a b",
        "9 lives",
        "läs_fil",
        "読む",
        "mcp/read",
        "1st_",
        "read",
        &long,
    ];
    for format in ["openai_chat", "openai_responses", "gemini"] {
        let session = app.session(json!({"settings": by_hand()})).await;
        let turn = |(at, name): (usize, &&str)| match format {
            "gemini" => vec![
                json!({"role": "user", "parts": [{"text": asked(at)}]}),
                json!({"role": "model", "parts": [{"functionCall": {"name": name, "args": {"at": at}}, "thoughtSignature": "c2ln"}]}),
                json!({"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": "x"}}}]}),
            ],
            "openai_chat" => vec![
                json!({"role": "user", "content": asked(at)}),
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": format!("{{\"at\":{at}}}")}}]}),
                json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": "x"}),
            ],
            _ => vec![
                json!({"type": "message", "role": "user", "content": asked(at)}),
                json!({"type": "function_call", "call_id": format!("c{at}"), "name": name, "arguments": format!("{{\"at\":{at}}}")}),
                json!({"type": "function_call_output", "call_id": format!("c{at}"), "output": "x"}),
            ],
        };
        let items: Vec<Value> = names.iter().enumerate().flat_map(turn).collect();
        app.append(&session, format, json!(items)).await;
        let shown = valid_context(app, &session).await;
        let mut sent: Vec<&str> = shown
            .iter()
            .flat_map(|content| data(content, "functionCall"))
            .map(|call| call["name"].as_str().unwrap())
            .collect();
        assert_eq!(sent.len(), names.len(), "{format}");
        assert!(sent.iter().all(|name| name.starts_with(|c| LETTERS.contains(c))), "{format}: {sent:?}");
        assert!(sent.iter().all(|name| name.len() <= 64), "{format}: {sent:?}");
        sent.sort_unstable();
        sent.dedup();
        assert_eq!(sent.len(), names.len(), "each has its own: {sent:?}");
        // Posted back as it was handed out, nothing of it is new.
        let mut back = shown.clone();
        back.push(json!({"role": "model", "parts": [{"text": "Done."}]}));
        let put =
            app.put(&format!("{session}/transcript"), json!({"format": "gemini", "items": back})).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(1), &json!(false)), "{format}: {put}");
    }
}
