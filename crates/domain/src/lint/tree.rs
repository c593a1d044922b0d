//! The entries of a pi file: the path of the last one is what a model sees; the other branches stay as they are.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::doc::Doc;
use super::report::Report;
use super::rewrite::{Heads, rewrite as rewrite_items};
use crate::format::link::named_parent;
use crate::format::violation_code::ViolationCode;
use crate::model::format::Format;

/// Where an entry says that it stands: all of it that has to be known of the whole file at once.
#[derive(Debug, Clone)]
pub struct Place {
    /// Empty: it has none.
    id: String,
    parent: Parent,
    is_header: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Parent {
    Unsaid,
    /// It says that it has none.
    Nobody,
    Entry(String),
}

impl Place {
    pub fn of(value: &Value) -> Place {
        Place {
            id: value.get("id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            parent: match value.get("parentId") {
                None => Parent::Unsaid,
                Some(parent) => named_parent(parent).map_or(Parent::Nobody, Parent::Entry),
            },
            is_header: value.get("type").is_some_and(|kind| kind == "session"),
        }
    }
}

/// Mends the path of the last entry and hangs its entries one under the other again.
pub fn rewrite(given: Vec<(usize, Doc)>, places: Vec<Place>, report: &mut Report) -> Vec<Doc> {
    let (entries, places) = unique(given, places, report);
    let on_path = path(&entries, &places, report);
    let (mut shown, mut shown_places) = (Vec::new(), Vec::new());
    for ((entry, place), _) in entries.iter().zip(&places).zip(&on_path).filter(|(_, on_path)| **on_path) {
        shown.push(entry.clone());
        shown_places.push(place.clone());
    }
    let (mended, ids) = rewrite_path(&shown, &shown_places, report);
    if on_path.iter().all(|on_path| *on_path) {
        return mended;
    }
    // The other branches come first where they stood first: each before the entry of the path that followed it.
    let mut placed = Vec::with_capacity(entries.len());
    let mut found: HashMap<&str, usize> = HashMap::new();
    for (place, id) in ids.iter().enumerate() {
        found.entry(id).or_insert(place);
    }
    let mut next = 0;
    let mut mended = mended.into_iter();
    for (((_, doc), own), on_path) in entries.into_iter().zip(&places).zip(on_path) {
        if !on_path {
            placed.push(doc);
        } else if let Some(place) = found.get(own.id.as_str()).copied().filter(|place| *place >= next) {
            placed.extend(mended.by_ref().take(place + 1 - next));
            next = place + 1;
        }
    }
    placed.extend(mended);
    placed
}

/// The mended path, and the ids of its entries.
fn rewrite_path(shown: &[(usize, Doc)], places: &[Place], report: &mut Report) -> (Vec<Doc>, Vec<String>) {
    let mut heads = Heads::new(Format::Pi);
    shown.iter().for_each(|(_, doc)| heads.add(&doc.value()));
    let mut mended = rewrite_items(Format::Pi, shown, &heads.found, report);
    let after: Vec<Place> = mended.iter().map(|doc| Place::of(&doc.value())).collect();
    let ids = || after.iter().map(|place| place.id.clone()).collect();
    if places.iter().any(|place| place.id.is_empty()) {
        return (mended, ids());
    }
    let known: HashSet<&str> = after.iter().map(|place| place.id.as_str()).collect();
    let before: HashSet<&str> = places.iter().map(|place| place.id.as_str()).collect();
    let has_header = places.iter().any(|place| place.is_header);
    // Whether the first entry hangs under one that was here, or should have been.
    let is_lost = |given: &str| !known.contains(given) && (has_header || before.contains(given));
    let mut parent: Option<&str> = None;
    for (doc, own) in mended.iter_mut().zip(&after).filter(|(_, own)| !own.is_header) {
        let given = match &own.parent {
            Parent::Unsaid => None,
            Parent::Nobody => Some(""),
            Parent::Entry(given) => Some(given.as_str()),
        };
        let wrong = match parent {
            Some(parent) => given.is_some_and(|given| given != parent),
            None => given.is_some_and(|given| !given.is_empty() && is_lost(given)),
        };
        let mut value = if wrong { doc.value() } else { Value::Null };
        if let Some(fields) = value.as_object_mut() {
            fields.insert("parentId".to_owned(), parent.map_or(Value::Null, Value::from));
            *doc = Doc::of(&value);
        }
        parent = Some(&own.id);
    }
    (mended, ids())
}

/// Leaves out entries whose id was there before: pi would keep the last and lose the first.
fn unique(given: Vec<(usize, Doc)>, places: Vec<Place>, report: &mut Report) -> (Vec<(usize, Doc)>, Vec<Place>) {
    let mut seen = HashSet::new();
    let is_first = |((index, _), place): &((usize, Doc), Place)| {
        let is_first = place.id.is_empty() || seen.insert(place.id.clone());
        if !is_first {
            let detail = format!("an earlier entry has the id {:?} too", place.id);
            report.at(*index, ViolationCode::DuplicateItemId, detail);
        }
        is_first
    };
    given.into_iter().zip(places).filter(is_first).unzip()
}

/// Which entries lie on the path of the last one. Entries without ids (version 1) are one path.
fn path(entries: &[(usize, Doc)], places: &[Place], report: &mut Report) -> Vec<bool> {
    let chained = places.iter().all(|place| place.is_header || !place.id.is_empty());
    if !chained {
        return vec![true; entries.len()];
    }
    let by_id: HashMap<&str, usize> = places.iter().enumerate().map(|(at, place)| (place.id.as_str(), at)).collect();
    let mut on_path: Vec<bool> = places.iter().map(|place| place.is_header).collect();
    let mut at = places.iter().rposition(|place| !place.is_header);
    while let Some(place) = at {
        on_path[place] = true;
        let previous = || (0..place).rev().find(|before| !places[*before].is_header);
        at = match &places[place].parent {
            Parent::Unsaid => previous(),
            Parent::Entry(parent) if *parent != places[place].id => {
                // A parent that comes later would be a ring.
                match by_id.get(parent.as_str()).copied().filter(|parent| *parent < place) {
                    Some(parent) => Some(parent).filter(|parent| !places[*parent].is_header),
                    // Without a header these continue a file: the first of them hangs under what is not here.
                    None if place == 0 => None,
                    None => {
                        let detail = format!("no earlier entry has the id {parent:?}");
                        report.at(entries[place].0, ViolationCode::UnknownParent, detail);
                        previous()
                    }
                }
            }
            Parent::Nobody | Parent::Entry(_) => None,
        };
    }
    on_path
}
