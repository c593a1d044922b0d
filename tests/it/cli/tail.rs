//! `contextd tail`, also over connections that are cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout};
use tokio_util::sync::CancellationToken;

use super::{at, contextd};
use crate::app::App;
use crate::drill_support::*;

/// A wire to a service that can be cut, and stay so.
struct Wire {
    address: SocketAddr,
    cut: Arc<std::sync::Mutex<CancellationToken>>,
    is_down: Arc<AtomicBool>,
}

impl Wire {
    async fn to(url: &str) -> Wire {
        let target = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, is_down) = (Arc::<std::sync::Mutex<CancellationToken>>::default(), Arc::<AtomicBool>::default());
        let (cuts, down) = (Arc::clone(&cut), Arc::clone(&is_down));
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                if down.load(Ordering::SeqCst) {
                    continue;
                }
                let (target, cut) = (target.clone(), cuts.lock().unwrap().clone());
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(target).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        () = cut.cancelled() => {}
                    }
                });
            }
        });
        Wire { address, cut, is_down }
    }

    fn cut(&self) {
        self.is_down.store(true, Ordering::SeqCst);
        std::mem::take(&mut *self.cut.lock().unwrap()).cancel();
    }

    fn mend(&self) {
        self.is_down.store(false, Ordering::SeqCst);
    }
}

struct Tail {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Tail {
    fn start(url: &str, args: &[&str]) -> Tail {
        let mut child =
            contextd(&[&["tail", "--url", url], args].concat()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Tail { child, lines }
    }

    async fn line(&mut self) -> String {
        self.lines.next_line().await.unwrap().expect("a line")
    }

    /// Everything up to the event of this kind, which is about this compaction.
    async fn until(&mut self, kind: &str, compaction: &Value) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let event: Value = serde_json::from_str(&self.line().await).unwrap();
            let is_last = event["event"] == kind && event["data"]["compaction_id"] == *compaction;
            seen.push(event);
            if is_last {
                return seen;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_connection_is() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let wire = Wire::to(&app.url("")).await;
    let mut tail = Tail::start(&format!("http://{}", wire.address), &[id_of(&session), "--json"]);
    let first: Value = serde_json::from_str(&tail.line().await).unwrap();
    assert_eq!((&first["event"], &first["data"]["session_id"]), (&json!("snapshot"), &json!(id_of(&session))));
    let one = compact(app, &session, json!({"strategy": "mask"})).await;
    let mut seen = tail.until("compaction.succeeded", &one["id"]).await;

    wire.cut();
    app.append(&session, "openai_chat", json!(turns(30..50, 120))).await;
    let other = compact(app, &session, json!({"strategy": "summarize"})).await;
    wire.mend();
    let after = tail.until("compaction.succeeded", &other["id"]).await;
    let own = |event: &&Value| event["data"]["compaction_id"] == other["id"];
    let kinds: Vec<&str> = after.iter().filter(own).map(|event| event["event"].as_str().unwrap()).collect();
    for kind in ["compaction.queued", "compaction.started", "compaction.succeeded"] {
        assert_eq!(kinds.iter().filter(|seen| **seen == kind).count(), 1, "{kind}: {kinds:?}");
    }
    seen.extend(after);
    let ids: Vec<u64> = seen.iter().filter_map(|event| event["id"].as_str()?.parse().ok()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sessions_are_followed_in_words() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let mut tail = Tail::start(&app.url(""), &["--after", "0"]);
    compact(app, &session, json!({"strategy": "mask"})).await;
    let mut line = String::new();
    while !(line.contains(id_of(&session)) && line.contains("compaction.succeeded")) {
        line = tail.line().await;
    }
    assert!(line.contains("mask, manual: ") && line.contains(" -> "), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_followed_ends_it() {
    at("http://127.0.0.1:9", &["tail"]).await.failed(&["nothing answers"]);
    let app = App::shared();
    at(&app.url(""), &["tail", "cli-nobody"]).await.failed(&["no session has"]);
    let session = app.session(json!({})).await;
    let mut tail = Tail::start(&app.url(""), &[id_of(&session)]);
    tail.line().await;
    app.delete(&session).await.expect(204);
    // The service ends its stream, and another one is refused.
    while let Some(line) = tail.lines.next_line().await.unwrap() {
        println!("{line}");
    }
    assert_eq!(tail.child.wait().await.unwrap().code(), Some(1));
}
