//! Plans on what stands of a view.

use uuid::Uuid;

use crate::domain::compaction::prepare::{Plan, prepare, prepare_at};
use crate::domain::compaction::result::Reason;
use crate::domain::context::view::NewestCompaction;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::settings::Settings;
use crate::service::compaction::caller_cut::cut_fault;
use crate::service::path::view::PathSlice;

/// The plan of a loaded view, with the caller's own cut where there is one.
pub(crate) fn plan_on(
    loaded: &PathSlice,
    settings: &Settings,
    first_kept: Option<Uuid>,
    again: bool,
) -> std::result::Result<Plan, Reason> {
    as_standing(loaded, again, |heads, newest| match first_kept {
        None => prepare(heads, newest, settings),
        Some(id) => {
            // What came since may be tied to what is before it.
            if cut_fault(loaded, settings, id).is_some() {
                return Err(Reason::NoValidCutPoint);
            }
            let place = heads.iter().position(|head| head.id == id).ok_or(Reason::NoValidCutPoint)?;
            prepare_at(heads, newest, settings, place)
        }
    })
}

/// Plans on what stands: a compaction that was taken back does not count as one just done, nor does one that was carried
/// to the end of another path, behind whatever came there, nor, `again`, one that was not enough.
pub(crate) fn as_standing<T>(
    loaded: &PathSlice,
    again: bool,
    plan: impl FnOnce(&[EntryMeta], Option<NewestCompaction<'_>>) -> T,
) -> T {
    let reverted = loaded.newest.as_ref().is_some_and(|newest| newest.is_revert);
    let carried = is_carried(loaded);
    if !reverted && !carried && !again {
        return plan(&loaded.heads, loaded.compaction());
    }
    // The record stays in force; only the entry at the end must not read as "already compacted".
    let mut heads = loaded.heads.clone();
    while heads.last().is_some_and(|head| head.kind == EntryType::Compaction) {
        heads.pop();
    }
    let compaction = loaded
        .compaction()
        .map(|compaction| NewestCompaction { index: compaction.index.min(heads.len()), ..compaction });
    plan(&heads, compaction)
}

/// Returns true if the compaction in force repeats one of another path.
pub(crate) fn is_carried(loaded: &PathSlice) -> bool {
    loaded.record().is_some_and(|record| record.carries.is_some())
}
