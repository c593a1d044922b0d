//! The real binary: its one line, its stop, its refusals.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::app::started;

fn contextd(data_dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
    command.arg("serve").arg("--data-dir").arg(data_dir).env_remove("DATABASE_URL");
    command
}

/// Starts it and reads the address from its first line.
fn start(command: &mut Command) -> (Child, String, BufReader<std::process::ChildStdout>) {
    let (child, base, output) = started(command);
    (child, base.strip_prefix("http://").unwrap().to_owned(), output)
}

fn health(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

#[test]
fn one_line_then_service_then_a_clean_end() {
    let root = tempfile::tempdir().unwrap();
    for asked in [Signal::SIGTERM, Signal::SIGINT] {
        let (mut child, address, mut output) = start(contextd(root.path()).args(["--dev", "--listen", "127.0.0.1:0"]));
        assert!(health(&address).starts_with("HTTP/1.1 200"));
        signal(&child, asked);
        assert!(child.wait().unwrap().success());
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing but one line goes to standard output");
        assert!(!root.path().join("postgres/postmaster.pid").exists(), "the server stops too");
    }
}

#[test]
fn kill_9_is_survived() {
    let root = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let (mut child, address, _output) = start(contextd(root.path()).args(["--dev", "--listen", "127.0.0.1:0"]));
        assert!(health(&address).starts_with("HTTP/1.1 200"));
        signal(&child, Signal::SIGKILL);
        child.wait().unwrap();
    }
}

#[test]
fn dev_refuses_any_other_address() {
    let root = tempfile::tempdir().unwrap();
    let output = contextd(root.path()).args(["--dev", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("loopback"));
    assert!(output.stdout.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_server_is_used_once_its_schema_is_current() {
    let root = tempfile::tempdir().unwrap();
    let url = crate::pg::url().await;
    let serve = || {
        let mut command = contextd(root.path());
        command.args(["--listen", "127.0.0.1:0"]).env("DATABASE_URL", &url);
        command
    };
    let (mut child, address, _output) = start(&mut serve());
    assert!(health(&address).starts_with("HTTP/1.1 200"));
    signal(&child, Signal::SIGTERM);
    assert!(child.wait().unwrap().success());
    assert!(std::fs::read_dir(root.path()).unwrap().next().is_none(), "no embedded server was made");

    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    sqlx::query("DELETE FROM _sqlx_migrations").execute(&pool).await.unwrap();
    let refused = serve().output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("contextd migrate"));
}

#[test]
fn as_many_files_may_be_open_as_the_system_allows() {
    let root = tempfile::tempdir().unwrap();
    let lowered = r#"ulimit -Sn 256 && exec "$0" serve --dev --listen 127.0.0.1:0 --data-dir "$1""#;
    let mut command = Command::new("sh");
    command.args(["-c", lowered, env!("CARGO_BIN_EXE_contextd")]).arg(root.path()).env_remove("DATABASE_URL");
    let (mut child, _, _output) = start(&mut command);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    signal(&child, Signal::SIGTERM);
    assert!(child.wait().unwrap().success());
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let files: Vec<&str> = files.split_whitespace().collect();
    assert_eq!(files[0], files[1], "soft and hard: {limits}");
    assert!(files[1].parse::<u64>().is_ok_and(|hard| hard > 256), "no test where the hard limit is so low: {limits}");
}
