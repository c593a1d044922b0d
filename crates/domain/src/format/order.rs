//! The order in which the lines of a file are taken in: parents before their children, else as they stand.
//!
//! Harnesses write a line when it is ready, so that a child may stand before its parent. Whatever the order, a parent
//! in the same file is found.

use std::collections::HashMap;

use serde_json::Value;

use super::{claude_code, pi};
use crate::model::format::Format;

/// The places of `lines` in that order; `None`: they stand in it already.
pub fn parents_first(format: Format, lines: &[Value]) -> Option<Vec<usize>> {
    let names: fn(&Value) -> (Option<&str>, Option<&str>) = match format {
        Format::Pi => pi::names,
        Format::ClaudeCode => claude_code::names,
        _ => return None,
    };
    let names: Vec<_> = lines.iter().map(names).collect();
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
    for (place, id) in names.iter().enumerate().filter_map(|(place, (id, _))| Some((place, (*id)?))) {
        places.entry(id).or_insert(place);
    }
    let parent_of = |(place, (_, parent)): (usize, &(Option<&str>, Option<&str>))| {
        parent.and_then(|parent| places.get(parent).copied()).filter(|parent| *parent != place)
    };
    let mut parents: Vec<Option<usize>> = names.iter().enumerate().map(parent_of).collect();
    if parents.iter().enumerate().all(|(place, parent)| parent.is_none_or(|parent| parent < place)) {
        return None;
    }
    open_rings(&mut parents);
    Some(sorted(&parents))
}

/// Of each ring of parents the line that stands first loses its parent.
fn open_rings(parents: &mut [Option<usize>]) {
    /// Of a line that no walk has come by.
    const UNSEEN: usize = usize::MAX;
    let mut walks = vec![UNSEEN; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(place) = at.filter(|place| walks[*place] == UNSEEN) {
            walks[place] = start;
            at = parents[place];
        }
        // Back on its own trail: from here on it is a ring.
        let Some(met) = at.filter(|place| walks[*place] == start) else { continue };
        let (mut first, mut next) = (met, parents[met]);
        while let Some(place) = next.filter(|place| *place != met) {
            first = first.min(place);
            next = parents[place];
        }
        parents[first] = None;
    }
}

/// Each line at its place, or right behind its parent where that comes later.
fn sorted(parents: &[Option<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parents.len());
    let mut is_placed = vec![false; parents.len()];
    let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent.filter(|parent| !is_placed[*parent]) {
            waiting.entry(parent).or_default().push(place);
            continue;
        }
        let mut ready = vec![place];
        while let Some(next) = ready.pop() {
            is_placed[next] = true;
            order.push(next);
            ready.extend(waiting.remove(&next).into_iter().flatten().rev());
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Lines `id<parent`, in a format's words.
    fn order(format: Format, spec: &str) -> Option<String> {
        let lines: Vec<Value> = spec
            .split(' ')
            .map(|line| {
                let (id, parent) = line.split_once('<').map_or((line, None), |(id, parent)| (id, Some(parent)));
                match format {
                    Format::Pi => json!({"type": "message", "id": id, "parentId": parent}),
                    _ => json!({"type": "user", "uuid": id, "parentUuid": parent}),
                }
            })
            .collect();
        let id = |place: usize| spec.split(' ').nth(place).unwrap().split('<').next().unwrap();
        Some(parents_first(format, &lines)?.into_iter().map(id).collect())
    }

    #[test]
    fn parents_come_before_their_children() {
        for format in [Format::Pi, Format::ClaudeCode] {
            let told = |spec: &str| order(format, spec);
            assert_eq!(told("a b<a c<b d<c"), None);
            assert_eq!(told("a b<a c<b e<d d<c f<e").as_deref(), Some("abcdef"));
            assert_eq!(told("d<c c<b b<a a").as_deref(), Some("abcd"));
            assert_eq!(told("a c<b d<b b<a e<d").as_deref(), Some("abcde"), "children of one parent in their order");
            assert_eq!(told("a b<nowhere c<c d<a"), None, "who is not there, or the line itself, is no parent");
            assert_eq!(told("a c<b b<a b<c").as_deref(), Some("abcb"), "the first of an id is meant");
        }
        let value = json!({"uuid": "b", "parentUuid": "a"});
        assert_eq!(parents_first(Format::Codex, &[value.clone(), value]), None, "it has no parents");
    }

    #[test]
    fn a_ring_is_opened_where_it_stands_first() {
        assert_eq!(order(Format::Pi, "a b<d c<b d<c e<d").as_deref(), Some("abcde"));
        assert_eq!(order(Format::Pi, "x<y y<x z<y").as_deref(), Some("xyz"));
        assert_eq!(
            order(Format::Pi, "t<b a<c b<a c<b").as_deref(),
            Some("abtc"),
            "what hangs under a ring waits for it"
        );
    }

    #[test]
    fn long_files_are_no_trouble() {
        let line = |n: usize, parent: usize| json!({"uuid": n.to_string(), "parentUuid": parent.to_string()});
        let count = 100_000;
        let reversed: Vec<Value> = (1..=count).rev().map(|n| line(n, n - 1)).collect();
        assert!(parents_first(Format::ClaudeCode, &reversed).unwrap().into_iter().eq((0..count).rev()));
        let ring: Vec<Value> = (0..count).rev().map(|n| line(n, (n + count - 1) % count)).collect();
        assert_eq!(parents_first(Format::ClaudeCode, &ring).unwrap().len(), count);
        let star: Vec<Value> = (1..=count).map(|n| line(n, 0)).chain([line(0, count + 1)]).collect();
        assert_eq!(parents_first(Format::ClaudeCode, &star).unwrap()[..3], [count, 0, 1]);
    }
}
