//! The entries of a pi file: the path of the last one is what a model sees; the other branches stay as they are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::doc::Doc;
use super::report::Report;
use super::rewrite::rewrite as rewrite_items;
use crate::domain::format::violation_code::ViolationCode;
use crate::domain::model::format::Format;

/// Mends the path of the last entry and hangs its entries one under the other again.
pub fn rewrite(given: Vec<(usize, Doc)>, report: &mut Report) -> Vec<Doc> {
    let entries = unique(given, report);
    let on_path = path(&entries, report);
    let shown: Vec<(usize, Doc)> =
        entries.iter().zip(&on_path).filter(|(_, on_path)| **on_path).map(|(entry, _)| entry.clone()).collect();
    let mended = rewrite_path(&shown, report);
    if on_path.iter().all(|on_path| *on_path) {
        return mended;
    }
    // The other branches come first where they stood first: each before the entry of the path that followed it.
    let mut placed = Vec::with_capacity(entries.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, doc) in mended.iter().enumerate() {
        places.entry(id(&doc.value).to_owned()).or_insert(place);
    }
    let mut next = 0;
    let mut mended = mended.into_iter();
    for ((_, doc), on_path) in entries.into_iter().zip(on_path) {
        if !on_path {
            placed.push(doc);
        } else if let Some(place) = places.get(id(&doc.value)).copied().filter(|place| *place >= next) {
            placed.extend(mended.by_ref().take(place + 1 - next));
            next = place + 1;
        }
    }
    placed.extend(mended);
    placed
}

fn rewrite_path(shown: &[(usize, Doc)], report: &mut Report) -> Vec<Doc> {
    let before: Vec<String> = shown.iter().map(|(_, doc)| id(&doc.value).to_owned()).collect();
    let mut mended = rewrite_items(Format::Pi, shown, report);
    let after: Vec<String> = mended.iter().map(|doc| id(&doc.value).to_owned()).collect();
    if before.iter().any(String::is_empty) {
        return mended;
    }
    let known: HashSet<&str> = after.iter().map(String::as_str).collect();
    let has_header = shown.iter().any(|(_, doc)| is_header(&doc.value));
    // Whether the first entry hangs under one that was here, or should have been.
    let is_lost = |given: &str| !known.contains(given) && (has_header || before.iter().any(|id| id == given));
    let mut parent: Option<&str> = None;
    for (doc, own) in mended.iter_mut().zip(&after) {
        if is_header(&doc.value) {
            continue;
        }
        let given = doc.value.get("parentId").map(|given| given.as_str().unwrap_or_default());
        let wrong = match parent {
            Some(parent) => given.is_some_and(|given| given != parent),
            None => given.is_some_and(|given| !given.is_empty() && is_lost(given)),
        };
        if wrong && let Some(fields) = Arc::make_mut(&mut doc.value).as_object_mut() {
            fields.insert("parentId".to_owned(), parent.map_or(Value::Null, Value::from));
            doc.text = doc.value.to_string();
        }
        parent = Some(own);
    }
    mended
}

/// Leaves out entries whose id was there before: pi would keep the last and lose the first.
fn unique(given: Vec<(usize, Doc)>, report: &mut Report) -> Vec<(usize, Doc)> {
    let mut seen = HashSet::new();
    let mut kept = Vec::with_capacity(given.len());
    for (index, doc) in given {
        if !id(&doc.value).is_empty() && !seen.insert(id(&doc.value).to_owned()) {
            report.at(
                index,
                ViolationCode::DuplicateItemId,
                format!("an earlier entry has the id {:?} too", id(&doc.value)),
            );
            continue;
        }
        kept.push((index, doc));
    }
    kept
}

/// Which entries lie on the path of the last one. Entries without ids (version 1) are one path.
fn path(entries: &[(usize, Doc)], report: &mut Report) -> Vec<bool> {
    let chained = entries.iter().all(|(_, doc)| is_header(&doc.value) || !id(&doc.value).is_empty());
    if !chained {
        return vec![true; entries.len()];
    }
    let places: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(place, (_, doc))| (id(&doc.value), place)).collect();
    let mut on_path: Vec<bool> = entries.iter().map(|(_, doc)| is_header(&doc.value)).collect();
    let mut at = entries.iter().rposition(|(_, doc)| !is_header(&doc.value));
    while let Some(place) = at {
        on_path[place] = true;
        let (index, doc) = &entries[place];
        let previous = || (0..place).rev().find(|before| !is_header(&entries[*before].1.value));
        at = match doc.value.get("parentId") {
            None => previous(),
            Some(Value::String(parent)) if parent != id(&doc.value) => {
                // A parent that comes later would be a ring.
                match places.get(parent.as_str()).copied().filter(|parent| *parent < place) {
                    Some(parent) => Some(parent).filter(|parent| !is_header(&entries[*parent].1.value)),
                    // Without a header these continue a file: the first of them hangs under what is not here.
                    None if place == 0 => None,
                    None => {
                        report.at(
                            *index,
                            ViolationCode::UnknownParent,
                            format!("no earlier entry has the id {parent:?}"),
                        );
                        previous()
                    }
                }
            }
            Some(_) => None,
        };
    }
    on_path
}

fn id(value: &Value) -> &str {
    value.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn is_header(value: &Value) -> bool {
    value.get("type").is_some_and(|kind| kind == "session")
}
