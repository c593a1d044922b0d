//! A cut that a caller or a hook asks for.

use uuid::Uuid;

use crate::domain::compaction::cut::check_cut;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::settings::Settings;
use crate::service::path::view::PathSlice;

/// Why the context can't be cut before this entry, and which one would do. `None`: it can.
pub(crate) fn cut_fault(loaded: &PathSlice, settings: &Settings, first_kept: Uuid) -> Option<String> {
    let Some(asked) = loaded.heads.iter().position(|head| head.id == first_kept) else {
        return Some("is not an entry of the context".to_owned());
    };
    let start = loaded.compaction().map_or(0, |compaction| compaction.first_kept.unwrap_or(compaction.index + 1));
    // As our own cut: what a compaction kept and what came after it are one stretch.
    let is_shown = |head: &&EntryMeta| head.kind != EntryType::Compaction;
    let before = loaded.heads.iter().take(start).filter(is_shown).count();
    let entries: Vec<&EntryMeta> = loaded.heads.iter().filter(is_shown).skip(before).collect();
    // An anchor of an earlier compaction: nothing that could be summarised stands before it.
    let cut = loaded.heads.iter().take(asked).filter(is_shown).count().checked_sub(before)?;
    let fault = check_cut(&entries, cut, settings.most_open()).err()?;
    let nearest = fault.nearest.and_then(|place| entries.get(place)).map(|head| head.id);
    Some(match nearest {
        Some(id) => format!("{}; the nearest entry that would do is {id}", fault.why),
        None => format!("{}; no entry of the context would do", fault.why),
    })
}
