//! Every recorded session through the whole job: stored, read back, rebuilt, compacted, rebuilt again.
//!
//! One test; it prints what it counted.

mod report;
mod session;
mod strategies;
mod table;

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use futures::{StreamExt, stream};
use serde_json::Value;

use crate::app::App;
use crate::drill_support::shared;
use report::Report;

/// Sessions in work at a time.
const CONCURRENCY: usize = 4;

/// One recorded session.
pub struct Recording {
    /// File and session, for people.
    pub name: String,
    /// The service's name of its format.
    pub format: &'static str,
    pub system: Value,
    pub tools: Value,
    pub items: Vec<Value>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_session_survives_the_whole_job() {
    let Some(folder) = shared("corpus") else { return };
    let recordings = recordings(&folder);
    let app = App::shared();
    let started = std::time::Instant::now();
    let runs = stream::iter(&recordings).map(|recording| session::run(app, recording)).buffer_unordered(CONCURRENCY);
    let report = runs.fold(Report::default(), async |report, outcome| report.with(outcome)).await;
    println!("{report}\n{:.0?} for all", started.elapsed());
    assert_eq!(report.sessions(), recordings.len());
    assert!(report.is_clean(), "{} violations", report.violations.len());
}

/// All recorded sessions, those whose name holds `CORPUS_ONLY`.
pub fn recordings(folder: &Path) -> Vec<Recording> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().contains(".jsonl"));
    files.sort();
    let wanted = std::env::var("CORPUS_ONLY").unwrap_or_default();
    let mut all = Vec::new();
    for path in files {
        let source = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let mut text = String::new();
        match source.ends_with(".gz") {
            true => GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap(),
            false => bytes.as_slice().read_to_string(&mut text).unwrap(),
        };
        all.extend(text.lines().map(|line| recording(&source, line)).filter(|one| one.name.contains(&wanted)));
    }
    all
}

fn recording(source: &str, line: &str) -> Recording {
    let mut value: Value = serde_json::from_str(line).unwrap();
    let format = match value["format"].as_str().unwrap() {
        "anthropic-messages" => "anthropic",
        "openai-chat" => "openai_chat",
        "openai-responses" => "openai_responses",
        "pi-jsonl" => "pi",
        other => panic!("format {other}"),
    };
    let Value::Array(items) = value["messages"].take() else { panic!("no messages in {source}") };
    Recording {
        name: format!("{} {}", source.split('.').next().unwrap(), value["session_id"].as_str().unwrap()),
        format,
        system: value["system"].take(),
        tools: value["tools"].take(),
        items,
    }
}
