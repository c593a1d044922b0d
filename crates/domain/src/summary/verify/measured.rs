//! Measures answers of real models against their spans. The figures stand in `docs/SURVIVAL.md`.
//!
//! `CONTEXTD_ANSWERS` is a folder of files, each `{"format", "items", "previous"?, "summary", "kind", "group"}`: items of
//! a recorded session, and what a model wrote of them. Sessions of one group are about the same work.

use std::path::PathBuf;
use std::str::FromStr;

use serde_json::Value;

use super::*;
use crate::model::format::Format;
use crate::summary::SummaryTask;
use crate::summary::testing::{messages, task};

struct Pair {
    name: String,
    kind: String,
    group: String,
    span: SpanEvidence,
    summary: String,
}

fn pairs() -> Vec<Pair> {
    let Ok(folder) = std::env::var("CONTEXTD_ANSWERS") else { panic!("CONTEXTD_ANSWERS names no folder") };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(pair).collect()
}

fn pair(file: &PathBuf) -> Pair {
    let pair: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let text = |key: &str| pair[key].as_str().unwrap_or_default().to_owned();
    let format = Format::from_str(&text("format")).unwrap();
    let messages = messages(format, pair["items"].as_array().unwrap());
    let previous = pair["previous"].as_str().map(str::to_owned);
    let task = SummaryTask { prompt: Some("Write notes.".to_owned()), previous, ..task(messages) };
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let span = SpanEvidence::of(&task);
    Pair { name, kind: text("kind"), group: text("group"), span, summary: text("summary") }
}

fn line(pair: &Pair, of: &str, text: &str) -> String {
    let found = answer::Found::of(&without_citations(text), &pair.span);
    let kept = pair.span.kept(text);
    let judged = check_summary(text, None, u64::MAX, Estimator::Pi, &pair.span);
    let verdict = judged.as_ref().map_or_else(|reason| format!("{}: {reason}", reason.code()), |()| "ok".to_owned());
    let new = repetition::new_share(text).unwrap_or(1.0);
    let repeated = repetition::repeated_share(text).unwrap_or(0.0);
    format!(
        "{}\t{}\t{of}\twords {}\tspan {}\tcontent {:.3} of {}\tnames {:.3} of {}\tkept {:.3} of {}\tsaid {} of {}\tpages {:.3}\tphrases {:.3}\tnew {new:.3}\trepeated {repeated:.3}\t{verdict}",
        pair.kind,
        pair.name,
        text.split_whitespace().count(),
        found.span_words,
        found.content.ratio(),
        found.content.total,
        found.names.ratio(),
        found.names.total,
        kept.ratio(),
        kept.total,
        found.said,
        found.said_words,
        found.pages,
        found.phrases,
    )
}

#[test]
#[ignore = "measures a folder of recorded answers"]
fn measures_recorded_answers() {
    let pairs = pairs();
    let mut refused = Vec::new();
    for pair in &pairs {
        let line = line(pair, "own", &pair.summary);
        println!("{line}");
        refused.extend((!line.ends_with("\tok")).then_some(line));
    }
    println!("own: {} of {} refused", refused.len(), pairs.len());
    for line in &refused {
        println!("REFUSED {line}");
    }
    let (mut crossed, mut stored) = (0, 0);
    let summaries: Vec<&Pair> =
        pairs.iter().filter(|pair| ["compaction", "notes"].contains(&pair.kind.as_str())).collect();
    for pair in summaries.iter().filter(|pair| pair.span.kept("").total >= 8) {
        for other in summaries.iter().filter(|other| other.group != pair.group) {
            crossed += 1;
            if check_summary(&other.summary, None, u64::MAX, Estimator::Pi, &pair.span).is_ok() {
                stored += 1;
                println!("STORED {}", line(pair, &other.name, &other.summary));
            }
        }
    }
    println!("crossed: {stored} of {crossed} stored");
}
