//! Where each entry of a pi file hangs: ids and parents, made up for version 1, which had none.

use std::collections::HashSet;

use serde_json::Value;

use crate::format::link::{Link, LinkError, named_parent, twice};

/// Links a batch. With a header that names no version (or 1) the entries are one chain; else they say their
/// places themselves.
///
/// # Errors
/// Two items of one id.
pub fn link(items: &[Value]) -> Result<Vec<Link>, LinkError> {
    let header = items.iter().find(|item| is_header(item));
    let mut seen = HashSet::new();
    let links: Vec<Link> = match header {
        Some(header) if version(header) < 2 => chain(items, header),
        _ => items.iter().map(own_place).collect(),
    };
    for (index, place) in links.iter().enumerate() {
        if let Some(id) = place.source_id.as_deref().filter(|id| !seen.insert(*id)) {
            return Err(twice(index, "id", id));
        }
    }
    Ok(links)
}

fn is_header(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("session")
}

fn version(header: &Value) -> u64 {
    header.get("version").and_then(Value::as_u64).unwrap_or(1)
}

fn own_id(item: &Value) -> Option<String> {
    item.get("id").and_then(Value::as_str).map(str::to_owned)
}

/// The id of an entry, and the parent that it names.
pub fn names(item: &Value) -> (Option<&str>, Option<&str>) {
    let text = |key: &str| item.get(key).and_then(Value::as_str).filter(|_| !is_header(item));
    (text("id"), text("parentId"))
}

fn own_place(item: &Value) -> Link {
    let named = item.get("parentId").filter(|_| !is_header(item));
    Link { source_id: own_id(item), parent: named.map(named_parent), ..Link::default() }
}

fn chain(items: &[Value], header: &Value) -> Vec<Link> {
    let seed = own_id(header).unwrap_or_default();
    let mut used: HashSet<String> = HashSet::from([seed.clone()]);
    let mut links: Vec<Link> = Vec::with_capacity(items.len());
    let mut previous: Option<String> = None;
    for (index, item) in items.iter().enumerate() {
        if is_header(item) {
            links.push(own_place(item));
            continue;
        }
        let id = fresh_id(&seed, index, &mut used);
        let first_kept = item.get("firstKeptEntryIndex").and_then(Value::as_u64).and_then(|line| {
            let line = usize::try_from(line).ok()?;
            let kept = items.get(line).filter(|kept| !is_header(kept)).and(links.get(line))?;
            kept.source_id.clone()
        });
        links.push(Link {
            source_id: Some(id.clone()),
            parent: Some(previous.replace(id)),
            first_kept,
            ..Link::default()
        });
    }
    links
}

fn fresh_id(seed: &str, index: usize, used: &mut HashSet<String>) -> String {
    let mut attempt = 0_u64;
    loop {
        let digest = blake3::hash(format!("{seed}/{index}/{attempt}").as_bytes()).to_hex();
        let id: String = digest.chars().take(8).collect();
        if used.insert(id.clone()) {
            return id;
        }
        attempt += 1;
    }
}
