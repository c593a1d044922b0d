//! Chapters and compactions together: inside the summarised span, across the cut, after it; and taking each back.

use contextd::llm::Upstreams;
use contextd::service::compaction::summarise::SummaryOutcome;
use contextd::service::compaction::{Committed, CompactRequest, NewChapter, Status};
use contextd::store::queue;
use contextd::worker::{Handler, Jobs};
use serde_json::{Value, json};

use super::{chaptered, close, file, filled, names, original, said, tasks};
use crate::app::App;
use crate::drill_support::{all, compact, context, messages, turns};
use crate::drill_valid::{FORMATS, violations};
use crate::patience::until;
use crate::queue_support::LEASE;
use crate::service_support::{Stage, read_compaction};

#[tokio::test]
async fn a_compaction_at_work_plans_again_when_chapters_come_between() {
    let stage = Stage::set(json!({"context_window": 16_000, "reserve_tokens": 1_000, "keep_recent_tokens": 300})).await;
    stage.talk(20).await;
    let (service, tenant, session) = (&stage.service, stage.tenant, stage.session);
    let asked = service.compact(tenant, session, CompactRequest::default(), None).await.unwrap();
    let job = queue::claim(&stage.pool, 1, LEASE, uuid::Uuid::nil()).await.unwrap().remove(0);
    let work = read_compaction(service, tenant, asked.id).await.unwrap();
    let chapter = |start, end| NewChapter { start, end, name: "Part".into(), message: "Looked at it.".into() };
    service.write_chapters(tenant, session, vec![chapter(2, 5), chapter(18, 19)]).await.unwrap();
    let outcome = SummaryOutcome { history: Some("- did things".into()), ..SummaryOutcome::default() };
    assert_eq!(service.commit_compaction(&work, outcome, job.proof()).await.unwrap(), Committed::Replan);
    let jobs = Jobs { service: service.clone(), upstreams: Upstreams::new(Vec::new(), None).unwrap() };
    jobs.run(&job).await;
    let ended = service.compaction(tenant, asked.id).await.unwrap();
    assert_eq!(ended.status, Status::Succeeded, "{ended:?}");
    let chapters = service.queries().chapters(tenant, session).await.unwrap().items;
    assert_eq!(chapters.iter().map(|chapter| chapter.slug.as_str()).collect::<Vec<_>>(), ["part", "part-2"]);
    assert!(!chapters[0].in_context && chapters[1].in_context);
}

async fn revert(app: &App, id: &Value) -> Value {
    app.post(&format!("/v1/compactions/{}/revert", id.as_str().unwrap()), json!({})).await.expect(200)
}

async fn shown(app: &App, session: &str) -> Vec<Value> {
    messages(&context(app, session, "openai_chat").await).clone()
}

/// All that holds whatever was closed, compacted and taken back.
async fn check(app: &App, session: &str, count: usize) {
    for format in FORMATS {
        let context = context(app, session, format).await;
        assert_eq!(violations(format, messages(&context), format == "openai_chat"), [""; 0]);
        assert_eq!(messages(&context), messages(&self::context(app, session, format).await));
    }
    let calls = all(app, &format!("{session}/tool-calls")).await;
    assert_eq!(calls.len(), count);
    let entries = all(app, &format!("{session}/entries")).await;
    let kept: Vec<&Value> = entries.iter().filter(|e| e["type"] == "message").map(|e| &e["item"]).collect();
    assert_eq!(kept, turns(0..count, 120).iter().collect::<Vec<_>>());
    // The account is that of the path, worked out afresh.
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert_eq!(fork["snapshot"]["tokens"], snapshot["tokens"]);
    assert_eq!(fork["snapshot"]["breakdown"], snapshot["breakdown"]);
    let counted = json!({"format": "openai_chat", "items": shown(app, session).await});
    let counted = app.post("/v1/count", counted).await.expect(200)["tokens"].as_f64().unwrap();
    // Numbers before tasks are not counted.
    let share = counted / snapshot["tokens"].as_f64().unwrap();
    assert!((0.95..1.08).contains(&share), "{counted} counted, {}", snapshot["tokens"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_chapters_is_a_compaction_and_is_taken_back_like_one() {
    let app = App::shared();
    let session = filled(app, 100, 8).await;
    let before = shown(app, &session).await;
    let first = close(app, &session, &[(2, 3, "First")]).await;
    check(app, &session, 8).await;
    let between = shown(app, &session).await;
    let second = close(app, &session, &[(2, 3, "Second")]).await;
    check(app, &session, 8).await;
    let listed = all(app, &format!("{session}/compactions")).await;
    assert_eq!(
        (listed.len(), &listed[0]["trigger"], &listed[0]["status"]),
        (2, &json!("chapter"), &json!("succeeded"))
    );
    let result = &listed[0]["result"];
    assert!(result["tokens_after"].as_u64() < result["tokens_before"].as_u64());
    assert!(app.get("/metrics").await.text.contains("trigger=\"chapter\""));
    revert(app, &second["compaction_id"]).await;
    assert_eq!(shown(app, &session).await, between);
    assert_eq!(names(app, &session, "chapters").await, ["first"]);
    check(app, &session, 8).await;
    revert(app, &listed[1]["id"]).await;
    assert_eq!(first["compaction_id"], listed[1]["id"]);
    assert_eq!(shown(app, &session).await, before);
    assert_eq!(names(app, &session, "").await, [""; 0]);
    check(app, &session, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chapter_in_the_summarised_span_stays_readable() {
    let app = App::shared();
    let session = filled(app, 100, 16).await;
    close(app, &session, &[(2, 3, "Early"), (4, 5, "Next")]).await;
    let before = shown(app, &session).await;
    // Right after chapters there is still something to compact.
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    check(app, &session, 16).await;
    let texts = said(app, &session).await;
    assert!(!texts.iter().any(|text| text.contains("] Chapter")));
    assert!(texts[0].ends_with(&crate::drill_support::asked(0)));
    // What the chapters hid was done all the same.
    let summary = done["result"]["summary"].as_str().unwrap();
    for n in [1, 3, 4] {
        assert!(summary.contains(&format!("src/module_{n}.rs")), "{n}: {summary}");
    }
    assert_eq!(names(app, &session, "chapters").await, ["early", "next"]);
    let text = file(app, &session, "chapters/early/events/003-tool.md").await;
    assert_eq!(original(&text), turns(1..2, 120)[2].to_string());
    let listed = app.get(&format!("{session}/chapters")).await.expect(200);
    assert_eq!(listed["items"][0]["in_context"], false);
    // After the compaction: another one, of what is left.
    let index = tasks(app, &session).await;
    assert!(index.len() > 1, "{index:?}");
    let after = shown(app, &session).await;
    let late = close(app, &session, &[(1, 2, "Late")]).await;
    check(app, &session, 16).await;
    assert_eq!(names(app, &session, "chapters").await, ["early", "next", "late"]);
    revert(app, &late["compaction_id"]).await;
    assert_eq!(shown(app, &session).await, after);
    revert(app, &done["id"]).await;
    assert_eq!(shown(app, &session).await, before);
    check(app, &session, 16).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chapter_behind_the_cut_stays_in_the_context() {
    let app = App::shared();
    let session = filled(app, 100, 16).await;
    close(app, &session, &[(14, 15, "Recent")]).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    check(app, &session, 16).await;
    let texts = said(app, &session).await;
    assert!(texts.iter().any(|text| text.contains("] Chapter \"Recent\"")), "{texts:?}");
    // The caller's own cut: at the chapter itself.
    let chapter = app.get(&format!("{session}/chapters")).await.expect(200)["items"][0]["id"].clone();
    app.append(&session, "openai_chat", json!(turns(16..18, 120))).await;
    let given = json!({"summary": "Before.", "first_kept_entry_id": chapter});
    let done = compact(app, &session, given).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    check(app, &session, 18).await;
    assert!(said(app, &session).await.iter().any(|text| text.contains("] Chapter \"Recent\"")));
    let index = tasks(app, &session).await;
    close(app, &session, &[(1, index.len() as i64 - 1, "All")]).await;
    check(app, &session, 18).await;
    assert_eq!(names(app, &session, "chapters/all/chapters").await, ["recent"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn masking_and_pruning_leave_chapters_alone() {
    let app = App::shared();
    let mut settings = chaptered(100);
    settings["keep_recent_tokens"] = json!(6_000);
    let session = app.session(json!({"settings": settings})).await;
    app.append(&session, "openai_chat", json!(turns(0..16, 120))).await;
    close(app, &session, &[(3, 4, "Part")]).await;
    let masked = compact(app, &session, json!({"strategy": "mask"})).await;
    assert_eq!(masked["status"], "succeeded", "{masked}");
    check(app, &session, 16).await;
    // Closing over masked results drops their elisions with them.
    close(app, &session, &[(1, 4, "Whole")]).await;
    check(app, &session, 16).await;
    let shown = context(app, &session, "openai_chat").await;
    let hidden: Vec<String> = (1..6).map(|n| format!("call_{n}")).collect();
    assert!(shown["elided"].as_array().unwrap().iter().all(|one| !hidden.contains(&one["tool_call_id"].to_string())));
    // Counted again under another estimator, the sizes still add up.
    app.patch(&session, json!({"settings": {"estimator": "cl100k"}})).await.expect(200);
    let snapshot = format!("{session}/snapshot");
    until("it is counted", async || app.get(&snapshot).await.expect(200)["recounting"] == false).await;
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    assert_eq!(fork["snapshot"]["tokens"], app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"]);
}
