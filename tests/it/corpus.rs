//! Every session, recorded and made up, through the whole job: stored, read back, rebuilt, compacted, rebuilt again.
//!
//! One test; it prints what it counted.

mod made_up;
pub mod refused;
mod report;
mod session;
mod strategies;
mod table;

use futures::{StreamExt, stream};
use serde_json::Value;

use crate::app::App;
use crate::shared;
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

/// All sessions, made up and recorded, those whose name holds `CORPUS_ONLY`.
pub fn recordings() -> Vec<Recording> {
    let wanted = std::env::var("CORPUS_ONLY").unwrap_or_default();
    let mut all = made_up::recordings();
    if cfg!(shared) {
        let folder = std::fs::read_dir(shared::path("corpus")).unwrap();
        let mut sources: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        sources.retain(|source| source.contains(".jsonl"));
        sources.sort();
        for source in sources {
            let text = shared::text(&format!("corpus/{source}"));
            all.extend(text.lines().map(|line| recording(&source, line)));
        }
    }
    all.retain(|one| one.name.contains(&wanted));
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
