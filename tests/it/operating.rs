//! What operators look at: what fills a window, how it came to that, and what compactions changed.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::{asking, by_hand, compact, filled, id_of, upstream};

fn sum(list: &Value) -> u64 {
    list.as_array().unwrap().iter().map(|part| part["tokens"].as_u64().unwrap()).sum()
}

fn category(composition: &Value, wanted: &str) -> u64 {
    let parts = composition["categories"].as_array().unwrap();
    parts.iter().find(|part| part["category"] == wanted).unwrap()["tokens"].as_u64().unwrap()
}

#[tokio::test]
async fn the_parts_of_a_context_are_its_tokens() {
    let app = App::shared();
    let session = app
        .session(json!({"settings": by_hand(), "system": "Be brief and exact. Test all.", "tools": [
            {"type": "function", "function": {"name": "read", "description": "Reads a file", "parameters": {}}}]}))
        .await;
    let empty = app.get(&format!("{session}/composition")).await.expect(200);
    assert_eq!((empty["entries"].as_u64(), &empty["largest"]), (Some(0), &json!([])));
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(0..30, 120))).await;
    let composition = app.get(&format!("{session}/composition?largest=3")).await.expect(200);
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert_eq!(composition["tokens"], snapshot["tokens"]);
    assert_eq!(sum(&composition["categories"]), snapshot["tokens"].as_u64().unwrap());
    for part in ["system", "tools"] {
        let known = snapshot["breakdown"][part].as_u64().unwrap();
        assert!(known > 0 && category(&composition, part) == known, "{part}: {composition}");
    }
    // The frames of the messages that hold results are with them here.
    let frames = category(&composition, "tool_results") - snapshot["breakdown"]["tool_results"].as_u64().unwrap();
    assert!((1..30 * 10).contains(&frames), "{frames}");
    let largest = composition["largest"].as_array().unwrap();
    assert_eq!(largest.len(), 3);
    for entry in largest {
        assert_eq!((&entry["role"], &entry["type"]), (&json!("tool"), &json!("message")));
        let id = entry["entry_id"].as_str().unwrap();
        let whole = app.get(&format!("{session}/entries/{id}")).await.expect(200);
        assert!(whole["tokens"].as_u64().unwrap() >= entry["tokens"].as_u64().unwrap());
    }
    let tools = composition["tools"].as_array().unwrap();
    let mut named: Vec<_> = tools.iter().map(|tool| (tool["name"].as_str(), tool["calls"].as_u64())).collect();
    named.sort_unstable();
    assert_eq!(named, [(Some("edit"), Some(15)), (Some("read"), Some(15))]);

    compact(app, &session, json!({"strategy": "summarize"})).await;
    let after = app.get(&format!("{session}/composition?largest=100")).await.expect(200);
    let context = app.post(&format!("{session}/rebuild"), json!({"format": "openai_chat"})).await.expect(200);
    assert_eq!(after["tokens"], context["tokens"]);
    assert_eq!(sum(&after["categories"]), after["tokens"].as_u64().unwrap());
    assert!(category(&after, "summary") > 0);
    let shown: Vec<&Value> = after["largest"].as_array().unwrap().iter().map(|entry| &entry["entry_id"]).collect();
    assert!(shown.contains(&&context["summary_entry_id"]));
    assert_eq!(after["entries"].as_u64().unwrap(), shown.len() as u64);
}

#[tokio::test]
async fn a_composition_of_what_is_not_there_is_refused() {
    let app = App::shared();
    let session = filled(app, by_hand(), 2).await;
    for query in ["largest=101", "largest=-1", "largest=x", "most=3"] {
        app.get(&format!("{session}/composition?{query}")).await.assert_problem(422, "validation_failed");
    }
    let none = app.get(&format!("{session}/composition?largest=0")).await.expect(200);
    assert_eq!(none["largest"], json!([]));
    app.delete(&session).await.expect(204);
    app.get(&format!("{session}/composition")).await.assert_problem(404, "not_found");
    app.get("/v1/sessions/5/composition").await.assert_problem(404, "not_found");
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| one["entry_id"].as_str().unwrap_or_else(|| one.as_str().unwrap()))
        .collect()
}

/// The entries of a context but for its summary.
fn messages(list: &Value) -> Vec<&str> {
    let entries = list.as_array().unwrap().iter().filter(|entry| entry["type"] != "compaction");
    entries.map(|entry| entry["entry_id"].as_str().unwrap()).collect()
}

/// All parts of a diff as one.
async fn whole_diff(app: &App, compaction: &Value, limit: usize) -> Value {
    let path = format!("/v1/compactions/{}/diff?limit={limit}", compaction["id"].as_str().unwrap());
    let mut whole = app.get(&path).await.expect(200);
    while let Some(next) = whole["next_cursor"].as_str() {
        let mut part = app.get(&format!("{path}&after={next}")).await.expect(200);
        for list in ["before", "after", "changes"] {
            assert!(list == "after" || part[list].as_array().unwrap().len() <= limit);
            whole[list].as_array_mut().unwrap().append(part[list].as_array_mut().unwrap());
        }
        whole["next_cursor"] = part["next_cursor"].take();
    }
    whole
}

/// Compacts, and holds the diff against the contexts that are handed out before and after.
async fn compare(app: &App, session: &str, body: Value) -> (Value, Value) {
    let context = async || app.post(&format!("{session}/rebuild"), json!({"format": "openai_chat"})).await.expect(200);
    let before = context().await;
    let compaction = compact(app, session, body).await;
    assert_eq!(compaction["status"], "succeeded", "{compaction}");
    let after = context().await;
    let diff = whole_diff(app, &compaction, 7).await;
    assert_eq!(messages(&diff["before"]), ids(&before["entry_ids"]));
    assert_eq!(ids(&diff["changes"]), ids(&diff["before"]));
    let shown = messages(&diff["after"]);
    assert_eq!(shown, ids(&after["entry_ids"]));
    let summaries = |list: &Value| ids(list).len() - messages(list).len();
    assert_eq!(summaries(&diff["before"]) == 1, before["summary_entry_id"].is_string());
    assert_eq!(summaries(&diff["after"]) == 1, after["summary_entry_id"].is_string());
    for change in diff["changes"].as_array().unwrap() {
        let (was, is) = (change["tokens_before"].as_u64().unwrap(), change["tokens_after"].as_u64().unwrap());
        let is_shown = shown.contains(&change["entry_id"].as_str().unwrap());
        let fits = match change["kind"].as_str().unwrap() {
            "kept" | "anchored" => is_shown && was == is,
            "elided" => is_shown && is < was,
            "summarised" => !is_shown && is == 0,
            _ => false,
        };
        assert!(fits, "{change}");
    }
    (compaction, diff)
}

#[tokio::test]
async fn a_diff_is_the_context_before_and_after() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let (_, masked) = compare(app, &session, json!({"strategy": "mask"})).await;
    assert!(masked["counts"]["elided"].as_u64().unwrap() > 0 && masked["counts"]["summarised"] == 0);
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(29..30, 120))).await;
    let (first, told) = compare(app, &session, json!({"strategy": "summarize"})).await;
    assert!(
        told["counts"]["summarised"].as_u64().unwrap() > 0 && told["counts"]["anchored"] == 1,
        "{}",
        told["counts"]
    );
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(30..50, 120))).await;
    let (second, again) = compare(app, &session, json!({"strategy": "summarize"})).await;
    let old = first["result"]["entry_id"].as_str().unwrap();
    let change = again["changes"].as_array().unwrap().iter().find(|change| change["entry_id"] == old).unwrap();
    assert_eq!(change["kind"], "summarised", "the summary before is told by the next one");

    let id = second["id"].as_str().unwrap();
    app.post(&format!("/v1/compactions/{id}/revert"), json!({})).await.expect(200);
    assert_eq!(whole_diff(app, &second, 200).await["changes"], again["changes"], "a revert changes no diff");
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(50..60, 120))).await;
    compare(app, &session, json!({"strategy": "truncate", "settings": {"target_tokens": 6000}})).await;
    assert_eq!(whole_diff(app, &first, 200).await["changes"], told["changes"]);

    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.append(&fork, "openai_chat", json!(crate::drill_support::turns(60..90, 120))).await;
    compare(app, &fork, json!({"strategy": "summarize"})).await;
}

#[tokio::test]
async fn what_has_changed_nothing_has_no_diff() {
    let app = App::shared();
    let session = filled(app, by_hand(), 1).await;
    let skipped = compact(app, &session, json!({"strategy": "summarize"})).await;
    assert_eq!(skipped["status"], "skipped");
    let path = format!("/v1/compactions/{}/diff", skipped["id"].as_str().unwrap());
    app.get(&path).await.assert_problem(409, "nothing_changed");
    app.get(&format!("{path}?limit=0")).await.assert_problem(422, "validation_failed");
    app.get(&format!("{path}?after=x")).await.assert_problem(422, "validation_failed");
    app.delete(&session).await.expect(204);
    app.get(&path).await.assert_problem(404, "not_found");
}

fn numbers(list: &Value, field: &str) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|one| one[field].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_timeline_is_the_saw_tooth() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let first = compact(app, &session, json!({"strategy": "summarize"})).await;
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(30..60, 120))).await;
    let second = compact(app, &session, json!({"strategy": "truncate"})).await;
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(60..70, 120))).await;
    let timeline = app.get(&format!("{session}/timeline?points=2000")).await.expect(200);
    let points = &timeline["points"];
    assert_eq!((points.as_array().unwrap().len(), &timeline["path_length"]), (142, &json!(282)), "two answers a turn");
    let at = |compaction: &Value| {
        let entry = &compaction["result"]["entry_id"];
        points.as_array().unwrap().iter().position(|point| point["entry_id"] == *entry).unwrap()
    };
    for compaction in [&first, &second] {
        let place = at(compaction);
        assert_eq!(points[place - 1]["tokens"], compaction["result"]["tokens_before"]);
        assert_eq!(points[place]["tokens"], compaction["result"]["tokens_after"]);
        assert_eq!(points[place]["breakdown"], compaction["snapshot_after"]["breakdown"]);
    }
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    let last = points.as_array().unwrap().last().unwrap();
    assert_eq!((&last["tokens"], &last["state"]), (&snapshot["tokens"], &snapshot["state"]));
    let twin = numbers(points, "without_contextd");
    assert!(twin.is_sorted() && twin.iter().zip(numbers(points, "tokens")).all(|(twin, tokens)| *twin >= tokens));
    let entries = crate::drill_support::all(app, &format!("{session}/entries")).await;
    let everything: u64 =
        entries.iter().filter(|entry| entry["type"] == "message").map(|one| one["tokens"].as_u64().unwrap()).sum();
    assert_eq!(twin.last(), Some(&everything));
    let told: Vec<&Value> =
        timeline["events"].as_array().unwrap().iter().map(|event| &event["compaction_id"]).collect();
    assert_eq!(told, [&first["id"], &second["id"]]);

    let thin = app.get(&format!("{session}/timeline?points=10")).await.expect(200);
    assert!(thin["points"].as_array().unwrap().len() <= 10);
    let whole = points.as_array().unwrap();
    let peaks = [at(&first) - 1, at(&first), at(&second) - 1, at(&second), whole.len() - 1];
    for place in peaks {
        assert!(thin["points"].as_array().unwrap().contains(&whole[place]), "the saw-tooth keeps its form");
    }
}

#[tokio::test]
async fn a_revert_forks_and_branches_are_on_the_line() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let done = compact(app, &session, json!({"strategy": "summarize"})).await;
    app.post(&format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap()), json!({})).await.expect(200);
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(30..31, 120))).await;
    let timeline = app.get(&format!("{session}/timeline?points=2000")).await.expect(200);
    let (tokens, twin) = (numbers(&timeline["points"], "tokens"), numbers(&timeline["points"], "without_contextd"));
    assert_eq!(tokens[tokens.len() - 3..], twin[twin.len() - 3..], "nothing is hidden any more");
    assert!(tokens.iter().zip(&twin).any(|(tokens, twin)| tokens < twin));

    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    let forked = app.get(&format!("{fork}/timeline?points=2000")).await.expect(200);
    assert_eq!(forked["points"], timeline["points"], "shared history is the same line");

    let entry = timeline["points"][4]["entry_id"].clone();
    let branch =
        json!({"format": "openai_chat", "items": [{"role": "user", "content": "Otherwise."}], "parent_id": entry});
    app.post(&format!("{session}/entries"), branch).await.expect(201);
    let branched = app.get(&format!("{session}/timeline")).await.expect(200);
    assert_eq!(branched["path_length"], 11);
    let kinds: Vec<&Value> = branched["events"].as_array().unwrap().iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["branch"], "a compaction on another branch is no event of this path");

    app.get(&format!("{session}/timeline?points=9")).await.assert_problem(422, "validation_failed");
    app.get(&format!("{session}/timeline?points=2001")).await.assert_problem(422, "validation_failed");
    let empty = app.session(json!({})).await;
    let empty_line = app.get(&format!("{empty}/timeline")).await.expect(200);
    assert_eq!((&empty_line["points"], &empty_line["events"]), (&json!([]), &json!([])));
    app.delete(&empty).await.expect(204);
    app.get(&format!("{empty}/timeline")).await.assert_problem(404, "not_found");
}

/// Where nobody answers.
const NOBODY: &str = "http://127.0.0.1:9/v1";

#[tokio::test]
async fn a_tenant_at_a_glance() {
    let app = App::fresh(&upstream(NOBODY, "1000"));
    let nothing = app.get("/v1/stats").await.expect(200);
    assert_eq!(nothing["sessions"], json!({"green": 0, "yellow": 0, "red": 0, "guard_tripped": 0}));
    assert_eq!((&nothing["tokens_shed"], &nothing["savings"]["net_usd"]), (&json!(0), &Value::Null));
    assert_eq!(nothing["series"].as_array().unwrap().len(), 24);

    let (one, other) = (filled(&app, by_hand(), 30).await, filled(&app, by_hand(), 1).await);
    let summarised = compact(&app, &one, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(summarised["result"]["fallback"]["used"], true, "{summarised}");
    compact(&app, &other, json!({"strategy": "summarize"})).await;
    let stats = app.get("/v1/stats").await.expect(200);
    assert_eq!((&stats["sessions"]["green"], &stats["capped"]), (&json!(2), &json!(false)));
    let size =
        async |session: &str| app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].as_i64().unwrap();
    assert_eq!(stats["tokens_held"], size(&one).await + size(&other).await);
    let shed = &summarised["result"]["tokens_saved"];
    assert_eq!((&stats["tokens_shed"], &stats["savings"]["gross_tokens"]), (shed, shed));
    assert_eq!(stats["compactions"]["by_status"], json!({"skipped": 1, "succeeded": 1}));
    assert_eq!(stats["compactions"]["by_reason"], json!({"nothing_to_compact": 1}));
    assert_eq!(stats["compactions"]["by_strategy"], json!({"summarize": 2}));
    let asked = &stats["upstreams"][0];
    // Each try is a call.
    assert_eq!((&asked["name"], &asked["calls"]), (&summarised["result"]["fallback"]["from"], &json!(4)));
    assert_eq!(asked["errors"], asked["calls"]);
    assert_eq!(stats["queue"], json!({"pending": 0, "running": 0, "dead": 0, "oldest_age_seconds": 0.0}));
    let series = stats["series"].as_array().unwrap();
    let last = series.iter().rfind(|bucket| bucket["succeeded"] == 1).unwrap();
    assert_eq!((&last["tokens_shed"], &last["skipped"]), (shed, &json!(1)));

    app.post(&format!("/v1/compactions/{}/revert", summarised["id"].as_str().unwrap()), json!({})).await.expect(200);
    assert_eq!(app.get("/v1/stats").await.expect(200)["tokens_shed"], 0, "what was taken back has shed nothing");

    let hourly = app.get("/v1/stats?bucket=3600&since=2999-01-01T00:00:00Z").await;
    hourly.assert_problem(422, "validation_failed");
    for query in ["bucket=59", "bucket=x", "since=yesterday", "bucket=60&since=2020-01-01T00:00:00Z", "days=3"] {
        app.get(&format!("/v1/stats?{query}")).await.assert_problem(422, "validation_failed");
    }
    let long = app.get("/v1/stats?since=0001-01-01T00:00:00Z").await.expect(200);
    assert!(long["series"].as_array().unwrap().len() <= 500);
}

#[tokio::test]
async fn a_failed_compaction_is_done_again_or_forgotten() {
    let app = App::fresh(&upstream(NOBODY, "1000"));
    let session = filled(&app, asking("default", "fail"), 30).await;
    let failing = async || compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    let failed = failing().await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let retry = format!("/v1/compactions/{}/retry", failed["id"].as_str().unwrap());
    app.patch(&session, json!({"settings": {"on_upstream_failure": "fallback"}})).await.expect(200);
    let again = app.post(&retry, json!({})).await.expect(202);
    assert_eq!((&again["id"], &again["error"], &again["attempts"]), (&failed["id"], &Value::Null, &json!(0)));
    let done = crate::drill_support::ended(&app, &failed["id"]).await;
    assert_eq!((&done["status"], &done["trigger"]), (&json!("succeeded"), &json!("manual")));
    app.post(&retry, json!({})).await.assert_problem(409, "not_retryable");

    app.patch(&session, json!({"settings": {"on_upstream_failure": "fail"}})).await.expect(200);
    app.append(&session, "openai_chat", json!(crate::drill_support::turns(30..60, 120))).await;
    let failed = failing().await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let id = failed["id"].as_str().unwrap();
    let purge = async |body: Value| app.post("/v1/compactions/purge", body).await;
    assert_eq!(purge(json!({"before": "2020-01-01T00:00:00Z"})).await.expect(200)["purged"], 0);
    purge(json!({"session_id": "00000000-0000-7000-8000-000000000000"})).await.assert_problem(404, "not_found");
    purge(json!({"status": "failed"})).await.assert_problem(422, "validation_failed");
    let purged = purge(json!({"session_id": id_of(&session)})).await.expect(200);
    assert_eq!(purged, json!({"purged": 1, "more": false}));
    app.get(&format!("/v1/compactions/{id}")).await.assert_problem(404, "not_found");
    app.post(&format!("/v1/compactions/{id}/retry"), json!({})).await.assert_problem(404, "not_found");
    assert_eq!(app.get(&format!("/v1/compactions/{}", done["id"].as_str().unwrap())).await.expect(200), done);
    assert_eq!(purge(json!({})).await.expect(200)["purged"], 0, "what succeeded stays");
}
