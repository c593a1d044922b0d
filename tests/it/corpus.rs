//! Every session, recorded and made up, through the whole job: stored, read back, rebuilt, compacted, rebuilt again.
//!
//! One test; it prints what it counted.

pub mod refused;
mod report;
mod session;
mod strategies;
mod table;

use futures::{StreamExt, stream};
use serde_json::Value;

use crate::app::App;
use crate::data::Source;
use report::Report;

/// Sessions in work at a time.
const CONCURRENCY: usize = 4;

/// One session, recorded or made up.
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
    let recordings = recordings();
    let app = App::shared();
    let started = std::time::Instant::now();
    let runs = stream::iter(&recordings).map(|recording| session::run(app, recording)).buffer_unordered(CONCURRENCY);
    let report = runs.fold(Report::default(), async |report, outcome| report.with(outcome)).await;
    println!("{report}\n{:.0?} for all", started.elapsed());
    assert_eq!(report.sessions(), recordings.len());
    assert!(report.is_clean(), "{} violations", report.violations.len());
    assert_eq!(report.refused, refused::known(&recordings), "what was recorded is taken, but for what is broken in it");
}

/// All sessions, made up and recorded.
pub fn recordings() -> Vec<Recording> {
    let mut all = of(Source::Own);
    if cfg!(shared) {
        all.extend(of(Source::Shared));
    }
    all
}

/// Those made up, or those recorded; of them those whose name holds `CORPUS_ONLY`.
pub fn of(source: Source) -> Vec<Recording> {
    let wanted = std::env::var("CORPUS_ONLY").unwrap_or_default();
    let mut all = match source {
        Source::Own => made_up(),
        Source::Shared => recorded(),
    };
    all.retain(|one| one.name.contains(&wanted));
    all
}

fn made_up() -> Vec<Recording> {
    let recording = |(name, format, items)| Recording { name, format, system: Value::Null, tools: Value::Null, items };
    crate::made_up::sessions().into_iter().map(recording).collect()
}

fn recorded() -> Vec<Recording> {
    let source = Source::Shared;
    let folder = std::fs::read_dir(source.path("corpus")).unwrap();
    let mut files: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|file| file.contains(".jsonl"));
    files.sort();
    let recordings = |file: String| {
        let text = source.text(&format!("corpus/{file}"));
        text.lines().map(|line| recording(&file, line)).collect::<Vec<_>>()
    };
    files.into_iter().flat_map(recordings).collect()
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
