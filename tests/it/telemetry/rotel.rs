//! A published collector, rotel (PyPI `rotel`), between the binary and the one that is played here.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use super::collector::Collector;
use super::{Stage, TRACE, fails_once, job_of, names};
use crate::drill_support::by_hand;
use crate::patience::until;

/// Ended when dropped.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// `dev/test` runs it where rotel can be had.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_ROTEL: the agent of PyPI's rotel, as dev/rotel prints it"]
async fn a_published_collector_takes_the_tree() {
    let rotel = std::env::var("CONTEXTD_ROTEL").expect("CONTEXTD_ROTEL");
    let behind = Collector::start().await;
    let port = free_port();
    let (http, grpc) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", free_port()));
    let mut command = Command::new(rotel);
    command
        .args(["start", "--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc, "--disable-batching"])
        .args(["--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-compression", "none"])
        .args(["--otlp-exporter-endpoint", &behind.url()])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let agent = Agent(command.spawn().unwrap());
    until("rotel listens", async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
    let url = format!("http://{http}");
    let stage = Stage::set(fails_once(), &super::exporting(&url), crate::app::App::fresh).await;
    let session = stage.filled(by_hand()).await;
    let done = stage.compacted(&session).await;
    let job = job_of(&behind, &done).await;
    let request = behind.span("the request", |span| span.trace == TRACE).await;
    until("the metrics", async || behind.series("gen_ai.client.operation.duration").len() == 2).await;
    println!("{}{}", behind.tree(&request), behind.tree(&job));
    assert_eq!(job.links, [(request.trace, request.id)]);
    let compaction = behind.below(&job).remove(0);
    let stages = behind.below(&compaction);
    assert_eq!(names(&stages), ["plan", "read", "summarise", "commit"]);
    assert_eq!(names(&behind.below(&stages[2])), ["chat played", "chat played"]);
    drop(agent);
}
