//! Linting a transcript: what its provider would refuse or what would stall a session, and a copy without it.
//!
//! Each item is mended by itself first, then the same machinery that rebuilds contexts pairs and writes them. What the
//! two changed, and why, are the violations: so the copy is valid exactly where there is none.

mod diff;
mod doc;
mod item_ids;
mod mend;
mod report;
mod rewrite;
mod tree;

use std::collections::HashSet;
use std::sync::Arc;

use blake3::Hash;
use serde_json::value::RawValue;

use crate::format::refused;
use crate::model::abandoned::is_abandoned;
use crate::model::format::Format;
use crate::model::item::ItemError;
use crate::model::json;
use doc::Doc;
use report::Report;
use rewrite::Heads;

pub use crate::format::violation_code::ViolationCode;
pub use diff::{Op, PatchStep};
pub use report::Violation;

/// A copy is mended again until nothing changes any more, at most so often.
const ROUNDS: usize = 4;

/// Violations found, and the mended copy.
#[derive(Debug, Clone)]
pub struct Lint {
    /// In the order of the items.
    pub violations: Vec<Violation>,
    /// JSON texts of a valid transcript in the same format; an item that is fine is byte for byte the one given.
    pub repaired: Vec<Arc<RawValue>>,
    /// From the items to `repaired`, to be applied in order.
    pub diff: Vec<PatchStep>,
}

/// Something given that is no item at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoItem {
    pub index: usize,
    pub error: ItemError,
}

/// Checks the items of a transcript, given as JSON texts.
///
/// # Errors
/// The items that are no JSON objects: there is nothing to mend in them.
pub fn lint(format: Format, items: &[&str]) -> Result<Lint, Vec<NoItem>> {
    let mut given = Vec::with_capacity(items.len());
    let mut refused = Vec::new();
    for (index, text) in items.iter().enumerate() {
        match Doc::parse(text) {
            Ok(doc) => given.push(doc),
            Err(error) => refused.push(NoItem { index, error }),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut report = Report::default();
    let mut repaired = pass(format, &given, &mut report);
    for _ in 1..ROUNDS {
        let mut again = Report::default();
        let next = pass(format, &repaired, &mut again);
        let settled = is_abandoned() || again.found.is_empty() && same(&next, &repaired);
        repaired = next;
        if settled {
            break;
        }
    }
    let diff = diff::diff(&given, &repaired);
    name_the_unnamed(&given, &diff, &mut report);
    let mut violations = report.found;
    violations.sort_by_key(|violation| violation.index);
    violations.dedup();
    Ok(Lint { violations, repaired: repaired.into_iter().map(|doc| doc.text).collect(), diff })
}

fn same(one: &[Doc], other: &[Doc]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.says_the_same(other))
}

/// Mends each item, then the whole.
fn pass(format: Format, given: &[Doc], report: &mut Report) -> Vec<Doc> {
    let mut kept: Vec<(usize, Doc)> = Vec::with_capacity(given.len());
    let (mut heads, mut places) = (Heads::new(format), Vec::new());
    let mut ids = item_ids::ItemIds::default();
    for (index, doc) in given.iter().enumerate().take_while(|_| !is_abandoned()) {
        report.index = index;
        let mut value = doc.value();
        if doc.halves > 0 {
            let detail = format!("{} escaped halves of characters without the other", doc.halves);
            report.add(ViolationCode::HalfCharacter, detail);
        }
        for fault in refused::faults(format, &value) {
            report.add(fault.code, fault.detail);
        }
        if format == Format::OpenaiResponses && !ids.tell_apart(&mut value, report) {
            continue;
        }
        refused::mend(format, &mut value);
        mend::make_readable(format, &mut value, report);
        match format {
            Format::Pi => places.push(tree::Place::of(&value)),
            _ => heads.add(&value),
        }
        kept.push((index, doc.saying(&value)));
    }
    match format {
        Format::Pi => tree::rewrite(kept, places, report),
        _ => rewrite::rewrite(format, &kept, &heads.found, report),
    }
}

/// A change that no rule gave a reason for still is a violation, unless it follows from others: an item that was only
/// moved, or hung under another parent.
fn name_the_unnamed(given: &[Doc], diff: &[PatchStep], report: &mut Report) {
    let named: HashSet<usize> = report.found.iter().map(|violation| violation.index).collect();
    let mut unnamed = diff.iter().filter(|change| change.op != Op::Add && !named.contains(&change.index)).peekable();
    if unnamed.peek().is_some() {
        let said: HashSet<Hash> = diff.iter().filter_map(|change| change.value.as_deref().map(content)).collect();
        for change in unnamed {
            if given.get(change.index).is_some_and(|doc| !said.contains(&content(&doc.text))) {
                report.at(change.index, ViolationCode::NotSendable, "the item can't be sent as it is");
            }
        }
    }
    if report.found.is_empty()
        && let Some(change) = diff.first()
    {
        report.at(change.index, ViolationCode::NotSendable, "something is missing here");
    }
}

/// What an item says but for its place in a tree.
fn content(text: &RawValue) -> Hash {
    let mut value = json::parse_lenient(text.get()).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("parentId");
    }
    doc::digest(&value)
}

#[cfg(test)]
mod tests;
