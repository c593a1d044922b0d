//! Prometheus' own readers: rules, scrape configuration, unit tests, and every expression of the board.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::prometheus::program;
use super::rules;
use crate::app::App;
use crate::drill_support::{by_hand, compact, filled};
use crate::ops::expressions;

fn promtool(folder: &std::path::Path, args: &[&str]) -> String {
    let output =
        Command::new(program("CONTEXTD_PROMTOOL", "promtool")).args(args).current_dir(folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    told.into_owned()
}

#[test]
#[ignore = "needs Debian's promtool; dev/test runs it where that is installed"]
fn promtool_takes_the_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ops/prometheus");
    println!("{}", promtool(&folder, &["check", "rules", "alerts.yml"]));
    println!("{}", promtool(&folder, &["check", "config", "prometheus.yml"]));
    println!("{}", promtool(&folder, &["test", "rules", "alerts_test.yml"]));
}

#[test]
#[ignore = "needs Debian's promtool; dev/test runs it where that is installed"]
fn promtool_reads_every_expression() {
    let folder = tempfile::tempdir().unwrap();
    let rule = |(number, (_, expr)): (usize, (String, String))| {
        format!("      - record: expression:{number}\n        expr: {}\n", serde_json::Value::from(expr))
    };
    let all: String = expressions::all().into_iter().enumerate().map(rule).collect();
    std::fs::write(folder.path().join("all.yml"), format!("groups:\n  - name: all\n    rules:\n{all}")).unwrap();
    println!("{}", promtool(folder.path(), &["check", "rules", "all.yml"]));
    std::fs::write(folder.path().join("quick.yml"), rules::quickened()).unwrap();
    println!("{}", promtool(folder.path(), &["check", "rules", "quick.yml"]));
}

#[tokio::test]
#[ignore = "needs Debian's promtool; dev/test runs it where that is installed"]
async fn promtool_finds_no_fault_with_what_is_scraped() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 30).await;
    compact(&app, &session, json!({"strategy": "summarize"})).await;
    let scraped = crate::app::client().get(app.url("/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(scraped.contains("contextd_compactions_total"), "{scraped}");
    let mut command = Command::new(program("CONTEXTD_PROMTOOL", "promtool"));
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut checking = command.spawn().unwrap();
    checking.stdin.take().unwrap().write_all(scraped.as_bytes()).unwrap();
    let told = checking.wait_with_output().unwrap();
    let faults = String::from_utf8_lossy(&told.stdout) + String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && faults.trim().is_empty(), "{faults}");
}
