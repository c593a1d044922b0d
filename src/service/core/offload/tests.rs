use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use super::*;
use crate::domain::model::abandoned::is_abandoned;

#[tokio::test]
async fn the_work_decides_where_a_job_runs() {
    let here = thread::current().id();
    for (load, stays) in [(0, true), (INLINE_BYTES, true), (INLINE_BYTES + 1, false), (30 << 20, false)] {
        let ran = offload(load, || thread::current().id()).await.unwrap();
        assert_eq!(ran == here, stays, "{load}");
    }
    let many: Vec<Box<RawValue>> = (0..100).map(|_| RawValue::from_string("{}".to_owned()).unwrap()).collect();
    assert!(size(&many) < INLINE_BYTES && load(&many) > INLINE_BYTES, "many small items are large work");
}

/// About what a value takes beside its own place: objects have room for three fields at least, and a table to find them.
fn parsed(value: &Value) -> usize {
    const FIELD: usize = size_of::<(u64, String, Value)>();
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let inner = fields.iter().map(|(name, value)| name.len() + parsed(value)).sum::<usize>();
            64 + FIELD * fields.len().max(3) + inner
        }
        Value::Array(values) => size_of::<Value>() * values.len() + values.iter().map(parsed).sum::<usize>(),
        Value::String(text) => text.len(),
        _ => 0,
    }
}

#[test]
fn the_load_follows_what_items_take_once_they_are_parsed() {
    let shapes = [
        json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}),
        json!({"functionCall": {"name": "f", "args": {}}}),
        json!({"a": {"a": {"a": {"a": {}}}}}),
        json!([[[1], [2]], [[3]]]),
        json!("one word after another"),
        json!(1),
    ];
    for shape in shapes {
        let value = json!({"role": "user", "content": vec![shape.clone(); 1000]});
        let items = [RawValue::from_string(value.to_string()).unwrap()];
        let (load, parsed) = (load(&items), parsed(&value));
        assert!(parsed < 6 * load, "{shape}: {load} stands for {parsed}");
    }
}

#[tokio::test]
async fn small_work_never_waits_behind_large() {
    let (go, wait) = mpsc::channel::<()>();
    // It holds all that other tests may wait for.
    let held = tokio::spawn(at_usual_priority(offload(usize::MAX, move || wait.recv().is_ok())));
    while LARGE.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    let mut second = Box::pin(offload(2 << 20, || ()));
    assert!(futures::poll!(second.as_mut()).is_pending());
    offload(LARGE_BYTES - 1, || ()).await.unwrap();
    go.send(()).unwrap();
    assert!(held.await.unwrap().unwrap());
    second.await.unwrap();
}

#[tokio::test]
async fn work_ends_with_whoever_waits_for_it() {
    let (begun, has_begun) = mpsc::channel::<()>();
    let (ended, has_ended) = mpsc::channel::<()>();
    let job = move || {
        begun.send(()).unwrap();
        while !is_abandoned() {
            thread::yield_now();
        }
        ended.send(()).unwrap();
    };
    let mut asked = Box::pin(offload(1 << 20, job));
    while has_begun.try_recv().is_err() {
        assert!(futures::poll!(asked.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    drop(asked);
    has_ended.recv().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_job_in_place_holds_up_nobody_else() {
    let (go, wait) = mpsc::channel::<()>();
    // The only thread for requests would be the job's, if it stayed one.
    let held = tokio::spawn(in_place(1 << 20, move || wait.recv().is_ok()));
    tokio::spawn(async move { go.send(()).unwrap() }).await.unwrap();
    assert!(held.await.unwrap().unwrap());
}
