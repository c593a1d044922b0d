//! Hooks: what they may say of a compaction and of a move, what they are told, and what becomes of those that hang, fail,
//! flood, redirect or talk nonsense.

use contextd::domain::hook::{Event, OnError};
use contextd::service::core::error::ServiceError;
use contextd::service::core::page::PageRequest;
use contextd::service::core::tenant::Tenant;
use contextd::service::hooks::{NewHook, announce_chapter_request};
use contextd::service::sessions::erasure::Erasure;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::app::App;
use crate::drill_support::*;
use crate::hook_support::{Receiver, Reply};
use crate::patience::eventually;
use crate::played_upstream::{Behaviour, PlayedUpstream};
use crate::queue_support::tenant;
use crate::service_support::Stage;

const SUMMARY: &str = "## Goal\n- Told by a hook: rename every module and keep the tests green.";
/// What no model's summary may be, and a hook's or a caller's may.
const AS_GIVEN: [&str; 8] = [
    "## Goal\n- Bake a cake of flour, butter and eggs",
    "I'm sorry, but I can't help with that.",
    "目標は変わらない",
    "{\"error\": {\"message\": \"overloaded\"}}",
    "<html><body>502 Bad Gateway</body></html>",
    "- once more\n- once more\n- once more\n- once more",
    "## Next Steps",
    "Everything was done in 99 hours, not 12, and the tests fail.",
];

/// An instance that may call this machine, with short pauses.
fn instance(more: &str) -> (App, NamedTempFile) {
    let file = NamedTempFile::new().unwrap();
    let hooks =
        "[hooks]\nallow_private_networks = true\nretry_base_ms = 50\nmax_attempts = 3\n[worker]\npoll_ms = 50\n";
    std::fs::write(file.path(), format!("{hooks}{more}")).unwrap();
    (App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]), file)
}

/// Compacts a new session.
async fn compacted(app: &App, request: Value) -> (String, Value) {
    let session = filled(app, by_hand(), 20).await;
    let done = compact(app, &session, request).await;
    (session, done)
}

fn report(compaction: &Value) -> (&Value, &str) {
    let report = &compaction["result"]["hooks"][0];
    (&report["outcome"], report["detail"].as_str().unwrap_or_default())
}

async fn deliveries(app: &App, hook: &str) -> Vec<Value> {
    all(app, &format!("{hook}/deliveries")).await
}

/// Waits until the newest delivery of a hook has this status.
async fn delivered(app: &App, hook: &str, status: &str) -> Value {
    eventually(&format!("the newest delivery is {status}"), async || {
        deliveries(app, hook).await.into_iter().next().filter(|newest| newest["status"] == status)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_registered_changed_and_removed_and_never_show_their_secret_again() {
    let app = App::fresh(&[]);
    let inside =
        ["http://127.0.0.1/", "http://localhost:80/", "http://[::1]/", "http://169.254.169.254/", "http://0x7f.1/"];
    for url in inside {
        let refused = app.post("/v1/hooks", json!({"url": url, "events": ["after_compact"]})).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], "/url", "{url}");
    }
    let good = json!({"url": "https://example.org/hook", "events": ["after_navigate"], "enabled": false});
    for (field, value, pointer) in [
        ("url", json!("ftp://example.org/"), "/url"),
        ("url", json!("https://me:secret@example.org/"), "/url"),
        ("url", json!("not a url"), "/url"),
        ("events", json!([]), "/events"),
        ("events", json!(["after_navigate", "every_day"]), "/events/1"),
        ("events", json!(["after_navigate", "after_navigate"]), "/events/1"),
        ("secret", json!(""), "/secret"),
        ("secret", json!("whsec_!"), "/secret"),
        ("timeout_ms", json!(99), "/timeout_ms"),
        ("timeout_ms", json!(30_001), "/timeout_ms"),
        ("timeout_ms", json!(1e12), "/timeout_ms"),
        ("on_error", json!("explode"), "/on_error"),
        ("colour", json!("red"), "/colour"),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let refused = app.post("/v1/hooks", body).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }

    let made = app.post("/v1/hooks", good.clone()).await.expect(201);
    let secret = made["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() > 40, "{secret}");
    assert_eq!((&made["timeout_ms"], &made["on_error"]), (&json!(5000), &json!("continue")));
    let own =
        json!({"url": "https://example.org/", "events": ["after_navigate"], "secret": "topsecret", "enabled": false});
    let given = app.post("/v1/hooks", own).await.expect(201);
    assert_eq!(given["secret"], "topsecret");
    let hook = format!("/v1/hooks/{}", made["id"].as_str().unwrap());
    let patched = app.patch(&hook, json!({"timeout_ms": 250, "on_error": "cancel", "secret": "another"})).await;
    let texts = [
        app.get(&hook).await.text,
        app.get("/v1/hooks").await.text,
        app.get(&format!("{hook}/deliveries")).await.text,
        patched.text.clone(),
    ];
    for text in texts {
        assert!(!text.contains(&secret) && !text.contains("topsecret") && !text.contains("another"), "{text}");
    }
    let patched = patched.expect(200);
    assert_eq!(
        (&patched["timeout_ms"], &patched["on_error"], &patched["url"]),
        (&json!(250), &json!("cancel"), &made["url"])
    );
    assert_eq!(all(&app, "/v1/hooks?limit=1").await.len(), 2);
    app.patch(&hook, json!({"url": "http://10.0.0.1/"})).await.assert_problem(422, "validation_failed");
    for path in [hook.as_str(), "/v1/hooks/0195c0de-0000-7000-8000-000000000000", "/v1/hooks/x"] {
        let status = if path == hook { 204 } else { 404 };
        assert_eq!(app.delete(path).await.status, status);
        assert_eq!(app.get(path).await.status, 404);
        assert_eq!(app.patch(path, json!({})).await.status, 404);
        assert_eq!(app.get(&format!("{path}/deliveries")).await.status, 404);
    }
    for _ in 0..49 {
        app.post("/v1/hooks", good.clone()).await.expect(201);
    }
    app.post("/v1/hooks", good).await.assert_problem(409, "too_many_hooks");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_may_pass_cancel_and_replace() {
    let (app, _file) = instance("");
    let receiver = Receiver::start(Reply::Json(json!({}))).await;
    receiver.register(&app, &["before_compact"], json!({})).await;

    let (session, done) = compacted(&app, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_eq!(report(&done).0, "passed", "{done}");
    let message = receiver.messages().remove(0);
    assert!(message.verified, "{:?}", message.headers);
    assert_eq!(message.body["event"], "before_compact");
    assert_eq!(message.body["session_id"], id_of(&session));
    assert_eq!(message.body["compaction_id"], done["id"]);
    assert_eq!(message.body["id"], message.id.as_str());
    let preparation = &message.body["preparation"];
    let first = &preparation["messages_to_summarize"][0];
    assert!(first["message"]["content"].is_array(), "{first}");
    assert_eq!(preparation["first_kept_entry_id"], done["result"]["first_kept_entry_id"]);

    receiver.play(|_, _| Reply::Json(json!({"cancel": true, "reason": "busy"})));
    let (session, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], &done["result"]["skip_reason"]), (&json!("skipped"), &json!("cancelled_by_hook")));
    assert_eq!(report(&done), (&json!("cancelled"), "busy"));
    assert_eq!(done["result"]["tokens_before"], done["result"]["tokens_after"]);
    assert_eq!(messages(&context(&app, &session, "openai_chat").await).len(), 80, "the context is as it was");

    let details = json!({"read_files": ["only/here.rs"]});
    let given = json!({"compaction": {"summary": SUMMARY, "details": details}});
    receiver.play(move |_, _| Reply::Json(given.clone()));
    let (session, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{done}");
    assert!(done["result"]["summary"].as_str().unwrap().contains(SUMMARY));
    assert_eq!(done["result"]["details"]["read_files"], json!(["only/here.rs"]));
    assert!(context(&app, &session, "anthropic").await["messages"].to_string().contains("Told by a hook"));
    // The next summary is our own again, and knows nothing of the hook's file lists.
    receiver.play(|_, _| Reply::Json(Value::Null));
    app.append(&session, "openai_chat", json!(turns(20..40, 120))).await;
    let next = compact(&app, &session, json!({})).await;
    assert_eq!(next["status"], "succeeded", "{next}");
    assert!(!next["result"]["details"].to_string().contains("only/here.rs"), "{next}");

    // Another cut, given by the hook.
    let kept = |body: &Value| body["preparation"]["messages_to_summarize"][8]["entry_id"].clone();
    receiver.play(move |_, body| {
        Reply::Json(json!({"compaction": {"summary": SUMMARY, "first_kept_entry_id": kept(body)}}))
    });
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{done}");
    assert_eq!(done["result"]["first_kept_entry_id"], kept(&receiver.messages()[0].body));
    // One that parts a call from its result is no answer.
    receiver.play(|_, body| {
        let inside = &body["preparation"]["messages_to_summarize"][5]["entry_id"];
        Reply::Json(json!({"compaction": {"summary": SUMMARY, "first_kept_entry_id": inside}}))
    });
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("failed")), "{done}");
    assert!(report(&done).1.contains("part a tool call"), "{done}");

    // The order is that of creation, and the later one wins.
    let second = Receiver::start(Reply::Json(json!({"compaction": {"summary": "## Goal\n- The second hook"}}))).await;
    second.register(&app, &["before_compact"], json!({})).await;
    receiver.play(|_, _| Reply::Json(json!({"compaction": {"summary": SUMMARY}})));
    let (_, done) = compacted(&app, json!({})).await;
    let reports = done["result"]["hooks"].as_array().unwrap();
    assert_eq!(
        reports.iter().map(|report| report["outcome"].as_str().unwrap()).collect::<Vec<_>>(),
        ["unused", "replaced"]
    );
    assert!(done["result"]["summary"].as_str().unwrap().contains("The second hook"), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_answer_follows_on_error() {
    let (app, _file) = instance("");
    let receiver = Receiver::start(Reply::Hang).await;
    let hook = receiver.register(&app, &["before_compact"], json!({})).await;
    let inside = Receiver::start(Reply::Json(json!({"cancel": true}))).await;
    let replaced = |summary: String| Reply::Json(json!({"compaction": {"summary": summary}}));
    let faults = [
        (Reply::Hang, "no answer within 400 ms", 1),
        (Reply::Huge, "larger than 1048576 bytes", 1),
        (Reply::Redirect(inside.url()), "redirect (307)", 1),
        (Reply::Text(200, "<html>hello</html>"), "not JSON", 1),
        (Reply::Text(200, "[true]"), "not a JSON object", 1),
        (Reply::Json(json!({"cancel": "please"})), "`cancel`", 1),
        (Reply::Text(404, "{\"cancel\": true}"), "status 404", 1),
        (Reply::Text(500, ""), "status 500", 3),
        (replaced(String::new()), "summary is empty", 1),
        (replaced("word ".repeat(50_000)), "the summary has", 1),
        (replaced("<tool_call>{\"name\": \"read\"}</tool_call>".to_owned()), "tool", 1),
    ];
    for (reply, fault, calls) in faults {
        for (on_error, status) in [("continue", "succeeded"), ("cancel", "skipped")] {
            let timeout_ms = if matches!(reply, Reply::Hang) { 400 } else { 30_000 };
            app.patch(&hook, json!({"on_error": on_error, "timeout_ms": timeout_ms})).await.expect(200);
            let reply = reply.clone();
            receiver.play(move |_, _| reply.clone());
            let (_, done) = compacted(&app, json!({})).await;
            assert_eq!(done["status"], status, "{fault}: {done}");
            assert_eq!(report(&done).0, "failed", "{fault}: {done}");
            assert!(report(&done).1.contains(fault), "{fault}: {done}");
            let reason = if on_error == "cancel" { json!("cancelled_by_hook") } else { Value::Null };
            assert_eq!(done["result"]["skip_reason"], reason, "{fault}");
            assert_eq!(receiver.messages().len(), calls, "{fault}");
            // The log tells of the call; what the answer is worth, the compaction tells.
            let log = deliveries(&app, &hook).await.remove(0);
            let status = if fault.contains("summary") || fault == "tool" { "delivered" } else { "failed" };
            let delivery_id = &done["result"]["hooks"][0]["delivery_id"];
            assert_eq!((&log["id"], &log["status"]), (delivery_id, &json!(status)), "{log}");
            assert_eq!(log["attempts"], calls, "{log}");
        }
    }
    assert!(inside.messages().is_empty(), "redirects are not followed");

    // Whatever else it tells, it is the hook's to decide.
    for text in AS_GIVEN {
        receiver.play(move |_, _| replaced(text.to_owned()));
        let (_, done) = compacted(&app, json!({})).await;
        assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{text}: {done}");
        assert!(done["result"]["summary"].as_str().unwrap().contains(text), "{text}: {done}");
        assert_eq!(done["result"]["upstream"]["name"], Value::Null, "{done}");
    }

    // What passes is waited for, under one id.
    receiver.play(|number, _| match number {
        0 | 1 => Reply::Text(503, "later"),
        _ => Reply::Json(json!({"compaction": {"summary": SUMMARY}})),
    });
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{done}");
    let ids: Vec<String> = receiver.messages().into_iter().map(|message| message.id).collect();
    assert_eq!((ids.len(), &ids[0], &ids[1]), (3, &ids[1], &ids[2]));

    // A hook that is switched off is not asked.
    app.patch(&hook, json!({"enabled": false})).await.expect(200);
    receiver.play(|_, _| Reply::Json(json!({"cancel": true})));
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], &done["result"]["hooks"]), (&json!("succeeded"), &json!([])), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_summary_is_used_as_given() {
    let app = App::shared();
    for text in AS_GIVEN {
        let session = filled(app, by_hand(), 20).await;
        let done = compact(app, &session, json!({"summary": text})).await;
        assert_eq!(done["status"], "succeeded", "{text}: {done}");
        assert!(done["result"]["summary"].as_str().unwrap().contains(text), "{text}: {done}");
    }
    let session = filled(app, by_hand(), 20).await;
    for none in ["", " \n\t", "<tool_call>{\"name\": \"read\"}</tool_call>"] {
        let refused = app.post(&format!("{session}/compact"), json!({"summary": none, "wait": 60})).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], "/summary", "{}", refused.text);
    }
    let larger = compact(app, &session, json!({"summary": "word ".repeat(50_000)})).await;
    assert_eq!(larger["result"]["skip_reason"], "would_grow", "{larger}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_stand_in_for_pruning_formatting_and_summarising() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&format!(
        "[[upstreams]]\nname = \"default\"\nkind = \"openai\"\nmodel = \"played\"\nbase_url = \"{}\"\n",
        upstream.base_url()
    ));
    let receiver = Receiver::start(Reply::Json(json!({"summary": SUMMARY}))).await;
    let hook = receiver.register(&app, &["build_summary"], json!({})).await;
    let (session, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{done}");
    assert_eq!(upstream.calls(), 0, "no model is asked");
    let body = receiver.messages().remove(0).body;
    assert!(body["messages"].as_array().unwrap().len() > 20 && body["previous_summary"].is_null(), "{body}");
    app.append(&session, "openai_chat", json!(turns(20..40, 120))).await;
    let done = compact(&app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let body = receiver.messages().remove(1).body;
    assert!(body["previous_summary"].as_str().unwrap().contains("Told by a hook"), "{body}");
    assert!(!body["messages"].to_string().contains("Request 3:"), "the span is what came since");
    // What is no summary follows `on_error`.
    receiver.play(|_, _| Reply::Json(json!({"summary": " \n "})));
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("failed")), "{done}");
    assert!(upstream.calls() > 0, "the model is asked after all");
    app.patch(&hook, json!({"on_error": "cancel"})).await.expect(200);
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!(done["result"]["skip_reason"], "cancelled_by_hook", "{done}");

    app.patch(&hook, json!({"events": ["format_messages"]})).await.expect(200);
    receiver.play(|_, body| Reply::Json(json!({"text": format!("In short, {}.", body["part"])})));
    let before = upstream.calls();
    let (_, done) = compacted(&app, json!({"strategy": "llm_summarize"})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{done}");
    for request in &upstream.requests()[before..] {
        assert!(request.user().starts_with("<conversation>\nIn short, \"") && !request.user().contains("Request 3"));
    }
    receiver.play(|_, _| Reply::Json(json!({"text": " \n"})));
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!((&done["result"]["skip_reason"], report(&done).1), (&json!("cancelled_by_hook"), "the text is empty"));

    app.patch(&hook, json!({"events": ["prune_tool_results"]})).await.expect(200);
    receiver.play(|_, body| {
        let short = |result: &Value| {
            let number = result["tool_call_id"].as_str().unwrap().trim_start_matches("call_").to_owned();
            json!({"tool_call_id": result["tool_call_id"], "entry_id": result["entry_id"], "text": format!("output of {number}")})
        };
        let results = body["results"].as_array().unwrap();
        Reply::Json(json!({"results": results.iter().take(5).map(short).collect::<Vec<_>>()}))
    });
    let session = filled(&app, by_hand(), 20).await;
    let whole = kept_items(&app, &session).await;
    let done = compact(&app, &session, json!({"strategy": "prune"})).await;
    assert_eq!((&done["status"], report(&done).0), (&json!("succeeded"), &json!("replaced")), "{done}");
    for format in ["openai_chat", "anthropic", "openai_responses"] {
        let rebuilt = context(&app, &session, format).await;
        let text = rebuilt["messages"].to_string();
        assert!(text.contains("output of 3\\n[tool_result shortened; call_id=call_3; original_tokens="), "{format}");
        assert!(!text.contains("line3_7 "), "{format}");
    }
    assert_eq!(kept_items(&app, &session).await, whole, "nothing is lost");
    // What a summariser reads is shortened too.
    let before = upstream.calls();
    let (_, done) = compacted(&app, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert!(upstream.requests()[before..].iter().any(|request| request.user().contains("output of 3")));
    for results in [
        json!([{"tool_call_id": "call_3", "text": "longer ".repeat(2_000)}]),
        json!([{"tool_call_id": "call_99", "text": "x"}]),
    ] {
        receiver.play(move |_, _| Reply::Json(json!({"results": results})));
        let (_, done) = compacted(&app, json!({"strategy": "prune"})).await;
        assert_eq!((&done["result"]["skip_reason"], report(&done).0), (&json!("cancelled_by_hook"), &json!("failed")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_happened_is_told_until_it_is_taken_also_after_kill_9() {
    let (app, _file) = instance("");
    let receiver = Receiver::start(Reply::Text(200, "thanks")).await;
    let hook = receiver.register(&app, &["after_compact", "after_navigate"], json!({})).await;
    receiver.play(|number, _| if number < 2 { Reply::Text(500, "") } else { Reply::Text(200, "thanks") });
    let (session, done) = compacted(&app, json!({})).await;
    let told = receiver.wait_for(3).await;
    assert!(told.iter().all(|message| message.verified && message.id == told[0].id));
    assert_eq!(told[0].body["event"], "after_compact");
    assert_eq!(told[0].body["result"]["summary"], done["result"]["summary"]);
    let log = delivered(&app, &hook, "delivered").await;
    assert_eq!(
        (&log["attempts"], &log["response"], &log["response_status"]),
        (&json!(3), &json!("thanks"), &json!(200))
    );

    // By hand, once more, under the same id.
    let again = format!("{hook}/deliveries/{}/redeliver", told[0].id);
    assert_eq!(app.post(&again, json!({})).await.expect(202)["status"], "pending");
    let told = receiver.wait_for(4).await;
    assert_eq!((&told[3].id, &told[3].body), (&told[0].id, &told[0].body));
    delivered(&app, &hook, "delivered").await;
    assert_eq!(app.post(&format!("{hook}/deliveries/{hook}/redeliver"), json!({})).await.status, 404);

    // In vain, until the attempts are spent.
    for (reply, timeout_ms, error) in
        [(Reply::Hang, 300, "no answer within 300 ms"), (Reply::Huge, 30_000, "larger than")]
    {
        app.patch(&hook, json!({"timeout_ms": timeout_ms})).await.expect(200);
        receiver.play(move |_, _| reply.clone());
        compacted(&app, json!({})).await;
        let log = delivered(&app, &hook, "failed").await;
        assert_eq!(log["attempts"], 3, "{log}");
        assert!(log["error"].as_str().unwrap().contains(error), "{log}");
    }

    // Moves are told of as well; what is not taken yet outlives the process.
    receiver.play(|_, _| Reply::Text(503, ""));
    receiver.play(|number, _| if number == 0 { Reply::Hang } else { Reply::Text(204, "") });
    let entries = all(&app, &format!("{session}/entries")).await;
    let target = &entries[3]["id"];
    app.post(&format!("{session}/navigate"), json!({"target_id": target})).await.expect(200);
    let first = receiver.wait_for(1).await.remove(0);
    let app = tokio::task::block_in_place(|| app.kill_and_restart());
    let told = receiver.wait_for(2).await;
    assert_eq!((&told[1].id, &told[1].body), (&first.id, &first.body));
    assert_eq!((&first.body["event"], &first.body["new_leaf_id"]), (&json!("after_navigate"), target));
    delivered(&app, &hook, "delivered").await;
    let metrics = app.get("/metrics").await.text;
    assert!(
        metrics.contains("contextd_hook_calls_total{event=\"after_navigate\",outcome=\"delivered\"} 1"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_waits_for_its_hooks() {
    let (app, _file) = instance("");
    let receiver = Receiver::start(Reply::Json(json!({"cancel": true, "reason": "stay"}))).await;
    let hook = receiver.register(&app, &["before_navigate"], json!({"on_error": "cancel"})).await;
    let session = filled(&app, by_hand(), 3).await;
    let entries = all(&app, &format!("{session}/entries")).await;
    let (leaf, target) = (&entries[11]["id"], &entries[3]["id"]);
    let navigate = async |target: &Value| app.post(&format!("{session}/navigate"), json!({"target_id": target})).await;
    let refused = navigate(target).await;
    refused.assert_problem(409, "cancelled_by_hook");
    assert_eq!(refused.body["detail"], "stay");
    let asked = receiver.messages().remove(0).body;
    assert_eq!((&asked["preparation"]["target_id"], &asked["preparation"]["old_leaf_id"]), (target, leaf));
    receiver.play(|_, _| Reply::Text(200, "nonsense"));
    navigate(target).await.assert_problem(409, "cancelled_by_hook");
    assert_eq!(app.get(&session).await.body["leaf_id"], *leaf);
    navigate(leaf).await.expect(200);
    assert_eq!(navigate(&json!("0195c0de-0000-7000-8000-000000000000")).await.status, 404);
    assert_eq!(receiver.messages().len(), 1, "nobody is asked about a move to where the leaf is, or to nowhere");
    app.patch(&hook, json!({"on_error": "continue"})).await.expect(200);
    assert_eq!(navigate(target).await.expect(200)["leaf_id"], *target);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_that_a_hook_gives_for_a_branch_is_used_or_its_delivery_says_why_not() {
    let (app, _file) = instance("");
    let told = "## Goal\n- Told by a hook: the first attempt at request 1 was left, src/module_1.rs is renamed.";
    let receiver = Receiver::start(Reply::Json(json!({"compaction": {"summary": told}, "colour": "red"}))).await;
    let hook = receiver.register(&app, &["before_navigate"], json!({})).await;
    let session = filled(&app, by_hand(), 3).await;
    let entries = all(&app, &format!("{session}/entries")).await;
    let outcome = async || {
        let newest = deliveries(&app, &hook).await.remove(0);
        assert_eq!(newest["status"], "delivered", "{newest}");
        (newest["outcome"].as_str().unwrap().to_owned(), newest["outcome_detail"].as_str().unwrap_or("").to_owned())
    };
    let navigate = async |body: Value| app.post(&format!("{session}/navigate"), body).await.expect(200);

    let moved = navigate(json!({"target_id": entries[3]["id"], "summarize": true})).await;
    assert!(moved["summary"]["text"].as_str().unwrap().contains("Told by a hook"), "{moved}");
    assert_eq!(moved["summary"]["upstream"]["name"], Value::Null, "{moved}");
    assert_eq!(outcome().await, ("replaced".to_owned(), "not used: `colour`".to_owned()));

    navigate(json!({"target_id": entries[11]["id"]})).await;
    assert_eq!(outcome().await, ("unused".to_owned(), "the caller wants no summary".to_owned()));

    let long = format!("{told} {}", "It went on and on. ".repeat(2_000));
    receiver.play(move |_, _| Reply::Json(json!({"compaction": {"summary": long}})));
    let moved = navigate(json!({"target_id": entries[3]["id"], "summarize": true})).await;
    assert!(!moved["summary"]["text"].as_str().unwrap().contains("Told by a hook"), "{moved}");
    let (failed, why) = outcome().await;
    assert_eq!(failed, "failed");
    assert!(!why.is_empty());

    app.patch(&hook, json!({"on_error": "cancel"})).await.expect(200);
    let body = json!({"target_id": entries[11]["id"], "summarize": true});
    let answer = app.post(&format!("{session}/navigate"), body).await;
    // From the third turn's side there is only the little that came after the move: it may be told, or not.
    assert!(answer.status == 409 || outcome().await.0 == "unused", "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_a_compaction_does_not_use_are_named() {
    let (app, _file) = instance("");
    let receiver = Receiver::start(Reply::Json(json!({"text": "Shown in place of it.", "summary": 3}))).await;
    let hook = receiver.register(&app, &["format_messages"], json!({})).await;
    let (_, done) = compacted(&app, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(report(&done).0, "unused", "no model was asked: {done}");
    let delivery = deliveries(&app, &hook).await.remove(0);
    assert_eq!((&delivery["outcome"], &delivery["status"]), (&json!("unused"), &json!("delivered")), "{delivery}");
    assert!(delivery["outcome_detail"].as_str().unwrap().contains("no model"), "{delivery}");
    app.delete(&hook).await;

    receiver.play(|_, _| Reply::Json(json!({"compaction": {"summary": SUMMARY}})));
    let hook = receiver.register(&app, &["before_compact"], json!({})).await;
    let (_, done) = compacted(&app, json!({"strategy": "mask"})).await;
    assert_eq!(report(&done).0, "unused", "{done}");
    assert_eq!(deliveries(&app, &hook).await[0]["outcome"], "unused");

    let second = Receiver::start(Reply::Json(json!({"compaction": {"summary": SUMMARY}}))).await;
    let later = second.register(&app, &["before_compact"], json!({})).await;
    let (_, done) = compacted(&app, json!({})).await;
    assert_eq!(done["result"]["hooks"][1]["outcome"], "replaced", "{done}");
    assert_eq!(deliveries(&app, &later).await[0]["outcome"], "replaced");
    let first = deliveries(&app, &hook).await.remove(0);
    assert_eq!((&first["outcome"], report(&done).0), (&json!("unused"), &json!("unused")), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_reads_of_any_answer_is_named() {
    let (app, _file) = instance("");
    let receiver = Receiver::start(Reply::Json(json!({}))).await;
    let hook = receiver.register(&app, &["build_summary"], json!({})).await;
    let named = async |event: &str, answer: Value, strategy: &str| {
        app.patch(&hook, json!({"events": [event]})).await.expect(200);
        receiver.play(move |_, _| Reply::Json(answer.clone()));
        let (_, done) = compacted(&app, json!({"strategy": strategy})).await;
        let newest = deliveries(&app, &hook).await.remove(0);
        assert_eq!((&newest["event"], &newest["status"]), (&json!(event), &json!("delivered")), "{newest}");
        assert_eq!(*report(&done).0, newest["outcome"], "{done}");
        let detail = newest["outcome_detail"].as_str().unwrap_or_default().to_owned();
        (newest["outcome"].as_str().unwrap().to_owned(), detail)
    };
    let (passed, replaced) = (|why: &str| ("passed".into(), why.into()), |why: &str| ("replaced".into(), why.into()));
    let summary = json!({"summary": SUMMARY, "details": {"read_files": ["a"], "note": 1}, "text": "T"});
    let of_summary = named("build_summary", summary, "llm_summarize").await;
    assert_eq!(of_summary, replaced("not used: `text`, `details.note`"));
    let nothing = named("build_summary", json!({"compaction": {"summary": SUMMARY}}), "llm_summarize").await;
    assert_eq!(nothing, passed("not used: `compaction`"));
    let nothing = named("prune_tool_results", json!({"results": [], "summary": SUMMARY}), "prune").await;
    assert_eq!(nothing, passed("not used: `summary`"));
    let results = json!([{"tool_call_id": "call_3", "text": "renamed", "is_error": false}]);
    let shorter = named("prune_tool_results", json!({"results": results}), "prune").await;
    assert_eq!(shorter, replaced("not used: `results.is_error`"));

    // Nobody asks these anything.
    let answer = json!({"cancel": true, "compaction": {"summary": SUMMARY}});
    for event in ["after_compact", "after_navigate", "chapter_requested"] {
        app.patch(&hook, json!({"events": [event]})).await.expect(200);
        let answer = answer.clone();
        receiver.play(move |_, _| Reply::Json(answer.clone()));
        let mut settings = by_hand();
        settings["chaptering_trigger"] = if event == "chapter_requested" { json!(100) } else { Value::Null };
        let session = filled(&app, settings, 20).await;
        if event == "after_navigate" {
            let target = all(&app, &format!("{session}/entries")).await[3]["id"].clone();
            app.post(&format!("{session}/navigate"), json!({"target_id": target})).await.expect(200);
        }
        if event == "after_compact" {
            assert_eq!(compact(&app, &session, json!({})).await["status"], "succeeded");
        }
        let told = delivered(&app, &hook, "delivered").await;
        let found = (&told["event"], &told["outcome"], &told["outcome_detail"]);
        assert_eq!(found, (&json!(event), &json!("unused"), &json!("not used: `cancel`, `compaction`")), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_belong_to_their_tenant_and_hear_of_wanted_chapters() {
    let stage = Stage::set(by_hand()).await;
    let other = Tenant(tenant(&stage.pool).await);
    let new = || NewHook {
        url: "https://example.org/".into(),
        events: vec![Event::ChapterRequested],
        secret: None,
        timeout_ms: 1000,
        on_error: OnError::Continue,
        enabled: true,
    };
    let hook = stage.service.hooks().create(stage.tenant, new()).await.unwrap().id;
    stage.service.hooks().create(other, new()).await.unwrap();
    let mut transaction = stage.pool.begin().await.unwrap();
    let task = json!({"pending": true});
    announce_chapter_request(&mut transaction, stage.tenant, stage.session, &task).await.unwrap();
    transaction.commit().await.unwrap();

    let page = || PageRequest { limit: 10, after: None };
    let log = stage.service.hooks().deliveries(stage.tenant, hook, page()).await.unwrap().items;
    assert_eq!((log.len(), log[0].event.as_str(), log[0].status.as_str()), (1, "chapter_requested", "pending"));
    let missing = |error: ServiceError| assert!(matches!(error, ServiceError::NotFound(_)), "{error:?}");
    missing(stage.service.hooks().get(other, hook).await.unwrap_err());
    missing(stage.service.hooks().deliveries(other, hook, page()).await.unwrap_err());
    missing(stage.service.hooks().redeliver(other, hook, log[0].id).await.unwrap_err());
    missing(stage.service.hooks().update(other, hook, Default::default()).await.unwrap_err());
    missing(stage.service.hooks().delete(other, hook).await.unwrap_err());
    assert_eq!(stage.service.hooks().list(other, page()).await.unwrap().items.len(), 1);

    let due = stage.service.hooks().due(10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert!(stage.service.hooks().due(10).await.unwrap().is_empty(), "claimed is claimed");
    Erasure::of(&stage.service).erase(stage.tenant, stage.session).await.unwrap();
    assert!(stage.service.hooks().deliveries(stage.tenant, hook, page()).await.unwrap().items.is_empty());
}
