//! Many at once: what they wrote stands in one line, and one compaction is one compaction.

use std::collections::{HashMap, HashSet};

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const CLIENTS: usize = 16;
const EACH: usize = 8;

fn by(client: usize, n: usize) -> Value {
    json!([{"role": "user", "content": format!("client {client} asks {n}")},
        {"role": "assistant", "content": format!("client {client} is told {n}")}])
}

async fn assert_valid(app: &App, session: &str) {
    for format in FORMATS {
        let shown = context(app, session, format).await;
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{format}: {shown}");
    }
}

/// An instance with a session whose compaction waits for a summary, until it is released; later ones are written at once.
async fn compacting() -> (PlayedUpstream, App, String, Value) {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 30).await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    played.wait_for_calls(1).await;
    played.play(Behaviour::good());
    (played, app, session, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_clients_append_to_one_session() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let client = async |client: usize| {
        for n in 0..EACH {
            app.append(&session, "openai_chat", by(client, n)).await;
        }
    };
    join_all((0..CLIENTS).map(client)).await;
    let entries = all(app, &format!("{session}/entries")).await;
    assert_eq!(entries.len(), 2 * CLIENTS * EACH);
    let seqs: HashSet<i64> = entries.iter().map(|entry| entry["seq"].as_i64().unwrap()).collect();
    assert_eq!(seqs.len(), entries.len());
    let mut parent = Value::Null;
    let mut order: HashMap<&str, Vec<&str>> = HashMap::new();
    for pair in entries.chunks(2) {
        assert_eq!(pair[0]["parent_id"], parent, "one line");
        assert_eq!(pair[1]["parent_id"], pair[0]["id"], "the items of one append stand together");
        parent = pair[1]["id"].clone();
        let said = pair[0]["item"]["content"].as_str().unwrap();
        let (client, n) = said.rsplit_once(" asks ").unwrap();
        order.entry(client).or_default().push(n);
    }
    let numbers: Vec<String> = (0..EACH).map(|n| n.to_string()).collect();
    assert!(order.values().all(|said| *said == numbers), "each client's order is kept");
    let tree = app.get(&format!("{session}/tree")).await.expect(200);
    assert_eq!(tree["nodes"].as_array().unwrap().len(), entries.len());
    assert_eq!(tree["leaf_id"], parent);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_at_the_same_leaf_wins() {
    let app = App::shared();
    let session = filled(app, by_hand(), 1).await;
    let leaf = app.get(&session).await.expect(200)["leaf_id"].clone();
    let path = format!("{session}/entries");
    let attempt = async |client: usize| {
        let body = json!({"format": "openai_chat", "items": by(client, 0), "expected_leaf_id": leaf});
        app.post(&path, body).await
    };
    let answers = join_all((0..CLIENTS).map(attempt)).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    let lost = answers.iter().filter(|answer| answer.status != 201);
    lost.for_each(|answer| answer.assert_problem(409, "leaf_moved"));
    assert_eq!(kept_items(app, &session).await.len(), 6);
    let stale = app.post(&format!("{session}/compact"), json!({"expected_leaf_id": leaf})).await;
    stale.assert_problem(409, "leaf_moved");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_appends_once() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    let body = json!({"format": "openai_chat", "items": by(0, 0)}).to_string();
    let key = [("idempotency-key", id_of(&session))];
    let answers = join_all((0..CLIENTS).map(|_| app.send(Method::POST, &path, &key, body.clone()))).await;
    let first = &answers[0].body;
    for answer in &answers {
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!(answer.body["entries"], first["entries"]);
    }
    let fresh = answers.iter().filter(|answer| answer.header("idempotency-replayed").is_none()).count();
    assert_eq!(fresh, 1);
    let other = json!({"format": "openai_chat", "items": by(1, 0)}).to_string();
    app.send(Method::POST, &path, &key, other).await.assert_problem(422, "idempotency_key_reused");
    assert_eq!(kept_items(app, &session).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_are_the_same_compaction() {
    let (played, app, session, id) = compacting().await;
    let path = format!("{session}/compact");
    let answers = join_all((0..4).map(|_| app.post(&path, json!({})))).await;
    for answer in answers {
        assert_eq!(answer.expect(202)["id"], id);
    }
    let prepared = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
    assert_eq!((&prepared["possible"], &prepared["reason"]), (&json!(false), &json!("in_progress")));
    played.release();
    assert_eq!(ended(&app, &id).await["status"], "succeeded");
    assert_eq!(all(&app, &format!("{session}/compactions")).await.len(), 1);
    let again = filled(&app, by_hand(), 30).await;
    let ended = join_all((0..8).map(|_| compact(&app, &again, json!({})))).await;
    let ids: HashSet<String> = ended.into_iter().map(|done| done["id"].to_string()).collect();
    let succeeded =
        all(&app, &format!("{again}/compactions")).await.into_iter().filter(|one| one["status"] == "succeeded").count();
    assert_eq!(succeeded, 1, "{ids:?}");
    let entries = all(&app, &format!("{again}/entries")).await;
    assert_eq!(entries.iter().filter(|entry| entry["type"] == "compaction").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_during_a_compaction_has_the_whole_history() {
    let (played, app, session, id) = compacting().await;
    let before = context(&app, &session, "openai_chat").await;
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.append(&fork, "openai_chat", by(1, 0)).await;
    app.append(&session, "openai_chat", by(2, 0)).await;
    played.release();
    assert_eq!(ended(&app, &id).await["status"], "succeeded");
    let forked = context(&app, &fork, "openai_chat").await;
    assert!(forked["summary_entry_id"].is_null(), "the fork was made before the summary");
    let expected: Vec<Value> = messages(&before).iter().chain(by(1, 0).as_array().unwrap()).cloned().collect();
    assert_eq!(*messages(&forked), expected);
    let own = context(&app, &session, "openai_chat").await;
    assert!(messages(&own).ends_with(by(2, 0).as_array().unwrap()));
    assert!(own["summary_entry_id"].is_string());
    let later = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let later = format!("/v1/sessions/{}", later["id"].as_str().unwrap());
    assert_eq!(context(&app, &later, "openai_chat").await["messages"], own["messages"]);
    assert_eq!(compact(&app, &fork, json!({})).await["status"], "succeeded");
    for session in [&session, &fork, &later] {
        assert_valid(&app, session).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_whose_leaf_was_left_does_not_reach_the_new_branch() {
    let (played, app, session, id) = compacting().await;
    let entries = all(&app, &format!("{session}/entries")).await;
    let target = &entries[39];
    assert_eq!(target["role"], "assistant");
    app.post(&format!("{session}/navigate"), json!({"target_id": target["id"]})).await.expect(200);
    app.append(&session, "openai_chat", by(1, 0)).await;
    played.release();
    let done = ended(&app, &id).await;
    println!("left during the summary: {} {}", done["status"], done["result"]["skip_reason"]);
    let expected: Vec<Value> =
        entries[..40].iter().map(|entry| entry["item"].clone()).chain(by(1, 0).as_array().unwrap().clone()).collect();
    assert_eq!(kept_items(&app, &session).await, expected);
    let shown = context(&app, &session, "openai_chat").await;
    match done["status"].as_str().unwrap() {
        "skipped" => {
            assert_eq!(done["result"]["skip_reason"], "superseded", "{done}");
            assert_eq!(*messages(&shown), expected);
        }
        // Planned again on the new branch: what is not shown any more is nothing of the old one's.
        "succeeded" => assert!(messages(&shown).ends_with(by(1, 0).as_array().unwrap()), "{shown}"),
        _ => panic!("{done}"),
    }
    assert!(!shown.to_string().contains(&asked(20)), "nothing of the branch that was left");
    assert_valid(&app, &session).await;
    app.post(&format!("{session}/navigate"), json!({"target_id": entries[119]["id"]})).await.expect(200);
    let back = context(&app, &session, "openai_chat").await;
    let whole: Vec<Value> = entries.iter().map(|entry| entry["item"].clone()).collect();
    match done["status"].as_str().unwrap() {
        "skipped" => assert_eq!(*messages(&back), whole),
        // What it covers is here too: both branches share it.
        _ => assert!(messages(&back).ends_with(&whole[40..]), "{back}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_erased_during_its_compaction_stays_erased() {
    let (played, app, session, id) = compacting().await;
    assert_eq!(app.delete(&session).await.status, 204);
    played.release();
    played.wait_for_running(0).await;
    let other = filled(&app, by_hand(), 30).await;
    assert_eq!(compact(&app, &other, json!({})).await["status"], "succeeded");
    app.get(&session).await.assert_problem(404, "not_found");
    app.get(&format!("/v1/compactions/{}", id.as_str().unwrap())).await.assert_problem(404, "not_found");
}
