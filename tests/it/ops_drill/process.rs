//! The process: gone, gone again and again, and out of file descriptors.

use std::io::BufReader;
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::prometheus::{Prometheus, free_port};
use super::stage::nothing;
use crate::app::{NEVER_MS, started};
use crate::patience::until;

/// A process at an address that stays the same.
struct Service {
    url: String,
    port: u16,
    running: Option<(Child, BufReader<ChildStdout>)>,
}

impl Service {
    async fn new() -> Service {
        Service { url: crate::pg::url().await, port: free_port(), running: None }
    }

    fn start(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command.args(["serve", "--dev", "--listen", &format!("127.0.0.1:{}", self.port)]);
        let (child, _, output) = started(command.env("DATABASE_URL", &self.url));
        self.running = Some((child, output));
    }

    fn kill(&mut self) {
        if let Some((mut child, _)) = self.running.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn a_process_that_is_killed() {
    let mut service = Service::new().await;
    service.start();
    let prometheus = Prometheus::start(&format!("127.0.0.1:{}", service.port), None).await;
    prometheus.has_all().await;
    prometheus.sees_it_well("at first").await;

    service.kill();
    prometheus.fires("ContextdDown", &[], nothing).await;
    service.start();
    prometheus.sees_it_well("once it runs again").await;

    let service = std::sync::Mutex::new(service);
    let starts = async || prometheus.query("process_start_time_seconds{job=\"contextd\"}").await;
    // Until the lease of a killed process ends, nobody counts anew.
    let told = prometheus
        .fires("ContextdRestarting", &["ContextdFiguresStale"], async || {
            let before = starts().await;
            {
                let mut service = service.lock().unwrap();
                service.kill();
                service.start();
            }
            let value = |series: &[serde_json::Value]| series.first().map(|series| series["value"][1].clone());
            until("it is seen to have started", async || {
                let now = starts().await;
                value(&now).is_some() && value(&now) != value(&before)
            })
            .await;
        })
        .await;
    assert!(told.labels["instance"].as_str().unwrap().starts_with("127.0.0.1:"));
    prometheus.sees_it_well("once it stays").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn a_process_that_runs_out_of_files() {
    const MOST: u32 = 600;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(hard > 2_000, "this machine lets no test open so many files");
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(2_000), hard).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let limited = format!("ulimit -n {MOST} && exec \"$0\" serve --dev --listen 127.0.0.1:0 --data-dir \"$1\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_contextd")]).arg(folder.path()).env_remove("DATABASE_URL");
    command.env("CONTEXTD_HEADER_TIMEOUT_MS", NEVER_MS).env("CONTEXTD_DATABASE_MAX_CONNECTIONS", "4");
    let (mut child, base, _output) = started(&mut command);
    let address = base.trim_start_matches("http://").to_owned();
    let prometheus = Prometheus::start(&address, None).await;
    prometheus.has_all().await;
    prometheus.sees_it_well("at first").await;

    let clients: Vec<TcpStream> = (0..MOST - 135).map(|_| TcpStream::connect(&address).unwrap()).collect();
    prometheus.fires("ContextdFileDescriptors", &[], nothing).await;
    drop(clients);
    prometheus.sees_it_well("once the clients are gone").await;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().try_into().unwrap()), nix::sys::signal::SIGTERM)
        .unwrap();
    assert!(child.wait().unwrap().success());
}
