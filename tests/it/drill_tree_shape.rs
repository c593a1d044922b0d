//! The tree itself: branches with compactions of their own, labels, forks of forks, and ten thousand branches.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

async fn leaf_to(app: &App, session: &str, target: &Value) {
    app.post(&format!("{session}/navigate"), json!({"target_id": target})).await.expect(200);
}

async fn fork(app: &App, session: &str, entry: &Value) -> String {
    let fork = app.post(&format!("{session}/fork"), json!({"entry_id": entry})).await.expect(201);
    format!("/v1/sessions/{}", fork["id"].as_str().unwrap())
}

fn shown(context: &Value) -> String {
    context["messages"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn compactions_of_several_branches_stay_apart() {
    let app = App::shared();
    let session = filled(app, by_hand(), 10).await;
    let trunk = all(app, &format!("{session}/entries")).await;
    let mut leaves = Vec::new();
    for branch in 1..4 {
        leaf_to(app, &session, &trunk[39]["id"]).await;
        app.append(&session, "openai_chat", json!(turns(branch * 100..branch * 100 + 20, 120))).await;
        let done = compact(app, &session, json!({})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        app.append(&session, "openai_chat", json!(turns(branch * 100 + 50..branch * 100 + 51, 20))).await;
        let leaf = app.get(&session).await.expect(200)["leaf_id"].clone();
        leaves.push((branch, leaf, context(app, &session, "openai_chat").await));
    }
    for (branch, leaf, before) in &leaves {
        leaf_to(app, &session, leaf).await;
        let now = context(app, &session, "openai_chat").await;
        assert_eq!((&now["messages"], &now["tokens"]), (&before["messages"], &before["tokens"]), "branch {branch}");
        for other in (1..4).filter(|other| other != branch) {
            assert!(!shown(&now).contains(&format!("module_{other}0")), "branch {branch} shows nothing of {other}");
        }
        assert!(now["summary_entry_id"].is_string());
    }
    // The trunk was never compacted, and a revert on one branch is none on another.
    leaf_to(app, &session, &trunk[39]["id"]).await;
    let own: Vec<Value> = trunk.iter().map(|entry| entry["item"].clone()).collect();
    assert_eq!(*messages(&context(app, &session, "openai_chat").await), own);
    let compactions = all(app, &format!("{session}/compactions")).await;
    leaf_to(app, &session, &leaves[0].1).await;
    let of_first = &compactions.last().unwrap()["id"];
    app.post(&format!("/v1/compactions/{}/revert", of_first.as_str().unwrap()), json!({})).await.expect(200);
    let whole = context(app, &session, "openai_chat").await;
    assert_eq!(messages(&whole).len(), 40 + 80 + 4);
    leaf_to(app, &session, &leaves[1].1).await;
    assert_eq!(context(app, &session, "openai_chat").await["messages"], leaves[1].2["messages"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_set_moved_and_cleared() {
    let app = App::shared();
    let session = filled(app, by_hand(), 2).await;
    let entries = all(app, &format!("{session}/entries")).await;
    let at = format!("{session}/entries/{}", entries[2]["id"].as_str().unwrap());
    let label = async || {
        let tree = app.get(&format!("{session}/tree")).await.expect(200);
        tree["nodes"].as_array().unwrap()[2]["label"].clone()
    };
    for wanted in [json!("before the rename"), json!("naïve 名前 🏷"), Value::Null] {
        app.put(&format!("{at}/label"), json!({"label": wanted})).await.expect(200);
        assert_eq!(label().await, wanted);
        assert_eq!(app.get(&at).await.expect(200)["label"], wanted);
    }
    app.put(&format!("{at}/label"), json!({})).await.assert_problem(422, "validation_failed");
    // pi's own label entries count as well, the newest of a target.
    let session = app.session(json!({})).await;
    let entry = |id: &str, parent: Value, rest: Value| {
        let mut entry = json!({"type": "label", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z"});
        entry.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        entry
    };
    let say = json!({"type": "message", "message": {"role": "user", "content": "hello", "timestamp": 1}});
    let mut items = vec![entry("aaaaaaa1", Value::Null, say.clone()), entry("aaaaaaa2", json!("aaaaaaa1"), say)];
    for (id, label) in [("b1", json!("one")), ("b2", json!("two"))] {
        let parent = items.last().unwrap()["id"].clone();
        items.push(entry(id, parent, json!({"targetId": "aaaaaaa1", "label": label})));
    }
    app.append(&session, "pi", json!(items)).await;
    let tree = app.get(&format!("{session}/tree")).await.expect(200);
    assert_eq!(tree["nodes"][0]["label"], "two");
    app.append(&session, "pi", json!([entry("b3", json!("b2"), json!({"targetId": "aaaaaaa1"}))])).await;
    let tree = app.get(&format!("{session}/tree")).await.expect(200);
    assert_eq!(tree["nodes"][0]["label"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_of_forks_outlive_what_they_came_from() {
    let app = App::shared();
    let first = filled(app, by_hand(), 30).await;
    let trunk = all(app, &format!("{first}/entries")).await;
    let second = fork(app, &first, &trunk[99]["id"]).await;
    app.append(&second, "openai_chat", json!(turns(200..230, 20))).await;
    let own = all(app, &format!("{second}/entries")).await;
    assert_eq!((own[..100].to_vec(), own.len()), (trunk[..100].to_vec(), 220));
    let third = fork(app, &second, &own[209]["id"]).await;
    let from_first = fork(app, &second, &trunk[49]["id"]).await;
    app.append(&third, "openai_chat", json!(turns(300..301, 20))).await;
    assert_eq!(compact(app, &third, json!({})).await["status"], "succeeded");
    let seen = |entries: &[Value]| entries.iter().map(|entry| entry["id"].clone()).collect::<Vec<_>>();
    let expected = [&own[..210], &all(app, &format!("{third}/entries")).await[210..]].concat();
    let before = context(app, &third, "openai_chat").await;
    for gone in [&first, &second] {
        assert_eq!(app.delete(gone).await.status, 204);
        app.get(gone).await.assert_problem(404, "not_found");
        assert_eq!(seen(&all(app, &format!("{third}/entries")).await), seen(&expected));
        assert_eq!(all(app, &format!("{third}/entries?all=true")).await.len(), 215);
        assert_eq!(context(app, &third, "openai_chat").await["messages"], before["messages"]);
        let tree = app.get(&format!("{third}/tree")).await.expect(200);
        assert_eq!(seen(tree["nodes"].as_array().unwrap()), seen(&expected));
    }
    // A leaf may still go back into history that came from an erased session, and leave a summary there.
    let back = json!({"target_id": trunk[49]["id"], "summarize": true});
    let back = app.post(&format!("{third}/navigate"), back).await.expect(200);
    assert!(back["summary"]["text"].as_str().unwrap().contains("module_227"), "{back}");
    assert_eq!(all(app, &format!("{third}/entries")).await.len(), 51);
    assert_eq!(all(app, &format!("{from_first}/entries")).await, trunk[..50]);
    for session in [third, from_first] {
        assert_eq!(app.delete(&session).await.status, 204);
    }
    app.get(&format!("{first}/entries/{}", trunk[0]["id"].as_str().unwrap())).await.assert_problem(404, "not_found");
}

/// A pi file of `count` branches, each of one answer: all from one root (`wide`), or each from the one before.
fn many(count: usize, wide: bool) -> Vec<Value> {
    let message = |id: String, parent: Value, role: &str| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": format!("say {id}")}], "timestamp": 1}})
    };
    let mut items = vec![message("root".into(), Value::Null, "user")];
    for n in 0..count {
        let parent = if wide || n == 0 { json!("root") } else { json!(format!("a{}", n - 1)) };
        // The first child goes on with its parent's branch, so that the deep path changes it with every entry.
        items.push(message(format!("b{n}"), parent.clone(), "user"));
        items.push(message(format!("a{n}"), parent, "assistant"));
    }
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_branches_are_all_there() {
    let app = App::fresh(&[("CONTEXTD_MAX_ITEMS", "30000")]);
    for wide in [true, false] {
        let session = app.session(json!({"settings": by_hand()})).await;
        let mut took = Vec::new();
        let mut timed = |what: &'static str, from: std::time::Instant| took.push((what, from.elapsed().as_millis()));
        let from = std::time::Instant::now();
        app.append(&session, "pi", json!(many(10_000, wide))).await;
        timed("import", from);
        let from = std::time::Instant::now();
        let tree = app.get(&format!("{session}/tree")).await.expect(200);
        timed("tree", from);
        let nodes = tree["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 20_001);
        let deepest = &nodes[20_000]["id"];
        let from = std::time::Instant::now();
        leaf_to(&app, &session, deepest).await;
        timed("navigate", from);
        let from = std::time::Instant::now();
        app.append(&session, "openai_chat", json!(turns(0..1, 5))).await;
        timed("append", from);
        let from = std::time::Instant::now();
        app.append(&session, "openai_chat", json!(turns(1..2, 5))).await;
        timed("append again", from);
        let from = std::time::Instant::now();
        let context = context(&app, &session, "openai_chat").await;
        timed("rebuild", from);
        assert_eq!(messages(&context).len(), if wide { 2 + 8 } else { 10_001 + 8 }, "wide: {wide}");
        let from = std::time::Instant::now();
        let back = json!({"target_id": nodes[1]["id"], "summarize": true});
        let back = app.post(&format!("{session}/navigate"), back).await.expect(200);
        timed("navigate and summarize", from);
        assert!(back["summary"]["text"].as_str().unwrap().contains("module_1"), "{back}");
        let from = std::time::Instant::now();
        let fork = fork(&app, &session, deepest).await;
        timed("fork", from);
        let from = std::time::Instant::now();
        let page = app.get(&format!("{fork}/entries?all=true&limit=50")).await.expect(200);
        timed("a page of the fork", from);
        assert_eq!(page["items"].as_array().unwrap().len(), if wide { 2 } else { 50 });
        let from = std::time::Instant::now();
        for session in [session, fork] {
            assert_eq!(app.delete(&session).await.status, 204);
        }
        timed("delete both", from);
        println!("10,000 branches, wide: {wide}: {took:?} (milliseconds)");
    }
}
