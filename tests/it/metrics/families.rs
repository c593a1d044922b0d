//! Read from the source: what is described is recorded, and what is recorded is described.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use contextd::families::{ALL, Kind, UPSTREAM_COST};

use crate::layers::sources;

/// The constants of `families.rs`, by the name that each stands for.
fn constants(source: &str) -> BTreeMap<String, String> {
    let lines = source.lines().filter_map(|line| line.trim().split_once(": "));
    lines
        .filter(|(constant, _)| constant.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
        .filter_map(|(constant, rest)| Some((rest.split('"').nth(1)?.to_owned(), constant.to_owned())))
        .collect()
}

/// What is recorded: kind and first argument of every call of the recorder.
fn recorded(source: &str) -> Vec<(Kind, String)> {
    let mut found = Vec::new();
    for (word, kind) in [("counter!(", Kind::Counter), ("gauge!(", Kind::Gauge), ("histogram!(", Kind::Histogram)] {
        for (at, _) in source.match_indices(word) {
            if source[..at].ends_with("describe_") {
                continue;
            }
            let argument = source[at + word.len()..].trim_start();
            let end = argument.find([',', ')']).unwrap();
            found.push((kind, argument[..end].trim().to_owned()));
        }
    }
    found
}

#[test]
fn every_family_is_recorded_by_its_constant_and_as_what_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let constants = constants(&std::fs::read_to_string(root.join("families.rs")).unwrap());
    assert_eq!(constants.len(), ALL.len());
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut calls = BTreeSet::new();
    for file in files {
        let shown = file.strip_prefix(&root).unwrap().display().to_string();
        for (kind, argument) in recorded(&std::fs::read_to_string(&file).unwrap()) {
            match argument.strip_prefix("families::") {
                Some(constant) => drop(calls.insert((kind.into_str(), constant.to_owned()))),
                // Where all are described, those without labels begin.
                None => assert_eq!((shown.as_str(), argument.as_str()), ("api/metrics.rs", "family.name")),
            }
        }
    }
    let described: BTreeSet<_> = ALL
        .iter()
        // An amount, which the recorder does not count.
        .filter(|family| family.name != UPSTREAM_COST)
        .map(|family| (family.kind.into_str(), constants[family.name].clone()))
        .collect();
    assert_eq!(calls, described);
}

/// Documents, dashboards and clients go by the names.
#[test]
fn no_document_names_a_family_that_is_not_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for file in [
        "README.md",
        "docs/ARCHITECTURE.md",
        "docs/API.md",
        "docs/PERFORMANCE.md",
        "docs/book/src/integrating.md",
        "docs/book/src/operating.md",
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for (at, _) in text.match_indices("contextd_") {
            let name: String =
                text[at..].chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_').collect();
            let is_other = text[..at].ends_with(|c: char| c.is_alphanumeric() || "_/.-".contains(c));
            if !is_other && !ALL.iter().any(|family| family.name == name.trim_end_matches('_')) {
                wrong.push(format!("{file}: {name}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
