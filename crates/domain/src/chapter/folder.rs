//! Files of a chapter's folder: which events, under which names.

use super::Chapter;
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::fold::Fold;

/// The depths of a chapter that lie in none of its nested ones, inclusive, ascending.
pub fn own_depths(chapter: &Chapter) -> Vec<(i64, i64)> {
    let mut ranges = Vec::new();
    let mut from = chapter.fold.from;
    for nested in &chapter.chapters {
        ranges.push((from, nested.from - 1));
        from = nested.to + 1;
    }
    ranges.push((from, chapter.fold.to));
    ranges.retain(|(from, to)| from <= to);
    ranges
}

/// File names of the entries at these depths, in path order; `None` for what is the service's own. A nested chapter
/// takes a number where it stands.
pub fn event_names<'a>(heads: impl Iterator<Item = &'a EntryMeta>, nested: &[Fold]) -> Vec<Option<String>> {
    let mut nested = nested.iter().peekable();
    let mut number = 0;
    let name = |head: &EntryMeta| {
        while nested.next_if(|fold| fold.from <= head.depth).is_some() {
            number += 1;
        }
        if matches!(head.kind, EntryType::Compaction | EntryType::Chapter) {
            return None;
        }
        number += 1;
        Some(format!("{number:03}-{}.md", kind(head)))
    };
    heads.map(name).collect()
}

fn kind(head: &EntryMeta) -> &'static str {
    match (head.kind, head.role) {
        (EntryType::Message, Some(role)) => role.into_str(),
        (kind, _) => kind.into_str(),
    }
}
