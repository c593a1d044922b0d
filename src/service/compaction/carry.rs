//! A compaction belongs to every path on which the span that it covers still stands, wherever its entry hangs. Where the
//! leaf comes to a path without that entry, the path gets an entry of its own that says the same: a view stays a function
//! of its path, and nothing else has to know of other branches.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::format::Format;
use crate::service::compaction::commit::entry::{entry_of, item_of, new_branch, step_behind};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::head::{Head, Newest, SessionState};
use crate::service::core::tenant::Tenant;
use crate::service::path::view::{self, PathSlice};
use crate::store::entries::{self, NewBranch, NewEntry, StoredEntry};
use crate::store::path::{self, Leaf};

/// How many compactions of a session are looked at, the newest first.
const MOST_CANDIDATES: i64 = 8;

/// How many sessions that a fork shares history with are looked at, the nearest first.
const MOST_PARENTS: usize = 4;

/// An entry that repeats a compaction of another path, and the branch that it opens.
pub(crate) struct Carried {
    pub entry: NewEntry,
    pub branches: Vec<NewBranch>,
    /// Entries that it shows shorter are not here: what stands in their place is shown whole.
    pub lost_elisions: bool,
}

/// A record as it reads on another path.
struct Here {
    record: CompactionRecord,
    lost_elisions: bool,
}

/// Puts the compaction behind the leaf that still holds on its path and is not on it. `loaded` is that path, `head` stands
/// at its end; both end with the new entry then. `left` was in force on the path that an edit leaves: if that took a
/// compaction back, the compaction stays so. A move to a chosen place leaves nothing: it goes to what was in force there.
/// `is_extended`: a message follows before anything is answered.
pub(crate) async fn carry(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &mut Head,
    loaded: &mut PathSlice,
    left: Option<&Newest>,
    is_extended: bool,
) -> Result<Option<Carried>> {
    let found = holding(connection, tenant, head, loaded, left, is_extended).await?;
    let Some(Here { record, lost_elisions }) = found else {
        return Ok(None);
    };
    let mut entry = entry_of(head, record);
    if let Some(record) = entry.record.as_mut().filter(|record| record.first_kept_entry_id.is_empty()) {
        record.first_kept_entry_id = entry.head.id.to_string();
        entry.item = item_of(record);
    }
    let branches = new_branch(head, entry.branch);
    step_behind(head, &entry);
    loaded.newest = entry.record.as_ref().map(|record| view::newest_from(&entry.head, record, &loaded.stored));
    loaded.heads.push(entry.head.clone());
    loaded.stored.push(Arc::new(StoredEntry::unsaved(&entry, head.session_id)));
    take_up(head, loaded);
    Ok(Some(Carried { entry, branches, lost_elisions }))
}

/// Works the state out from the path of a leaf that was just moved.
pub(crate) fn take_up(head: &mut Head, loaded: &PathSlice) {
    let fixed = (head.state.account.system, head.state.account.tools);
    let before = SessionState { leaf_is_tip: head.state.leaf_is_tip, ..head.state.clone() };
    head.state = view::state_of_path(loaded, fixed, before);
    head.state.note_fill(head.snapshot().state, clock::now());
}

/// Finds the newest compaction that holds on this path and is not on it, as a record for it. One that covers less than
/// what the path has is passed over, and a path that was compacted since it parted from all others speaks for itself.
async fn holding(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    loaded: &PathSlice,
    left: Option<&Newest>,
    is_extended: bool,
) -> Result<Option<Here>> {
    let sessions = match head.is_fork {
        true => path::sessions(&mut *connection, tenant.0, head.session_id).await?,
        false => vec![head.session_id],
    };
    let candidates = candidates(connection, tenant, &sessions, loaded).await?;
    if candidates.is_empty() {
        return Ok(None);
    }
    let places: HashMap<Uuid, usize> = loaded.heads.iter().enumerate().map(|(at, head)| (head.id, at)).collect();
    let mut taken_back: HashSet<Uuid> = HashSet::new();
    for stored in candidates {
        let (id, Some(record)) = (stored.entry.head.id, stored.record.as_deref()) else { continue };
        if places.contains_key(&id) {
            return Ok(None);
        }
        taken_back.extend(record.reverts);
        if taken_back.contains(&id) {
            taken_back.extend(record.carries);
        }
        let is_left = left.is_some_and(|left| left.id == id);
        if is_left && record.reverts.is_some_and(|reverted| places.contains_key(&reverted)) {
            // It was taken back behind a message that is not on this path: here it stays so, too.
            let cut = cut_on(connection, tenant, &sessions, &stored, record, &places).await?;
            let first_kept = cut.and_then(|cut| loaded.heads.get(cut)).map(|head| head.id.to_string());
            return Ok(first_kept.map(|first_kept_entry_id| Here {
                record: CompactionRecord { first_kept_entry_id, ..record.clone() },
                lost_elisions: false,
            }));
        }
        let is_back = taken_back.contains(&id) || record.carries.is_some_and(|root| taken_back.contains(&root));
        let is_plain = record.reverts.is_none() && !record.closes && !record.by_handle;
        if is_back || !is_plain || stored.entry.source_format != Format::Native {
            continue;
        }
        let Some(cut) = cut_on(connection, tenant, &sessions, &stored, record, &places).await? else { continue };
        // What was made to keep nothing shows nothing anywhere; what came along shows what its origin kept.
        let keeps_nothing = record.carries.is_none() && record.first_kept_entry_id == id.to_string();
        if !is_extended && shows_nothing(loaded, cut) && !keeps_nothing {
            continue;
        }
        let Some(here) = on_path(loaded, &places, record, cut) else { continue };
        if !grew_from(connection, tenant, loaded, &stored).await? {
            return Ok(None);
        }
        let carries = Some(record.carries.unwrap_or(id));
        return Ok(Some(Here { record: CompactionRecord { carries, ..here.record }, ..here }));
    }
    Ok(None)
}

/// The newest compactions of the session, and of what it shares with those that it was forked from; the newest first.
async fn candidates(
    connection: &mut PgConnection,
    tenant: Tenant,
    sessions: &[Uuid],
    loaded: &PathSlice,
) -> Result<Vec<StoredEntry>> {
    let Some((own, parents)) = sessions.split_first() else { return Ok(Vec::new()) };
    let mut found = entries::newest_compactions(&mut *connection, tenant.0, *own, MOST_CANDIDATES).await?;
    if loaded.stored.first().is_none_or(|first| first.session_id == *own) {
        return Ok(found);
    }
    let shared = path::shared_history(&mut *connection, tenant.0, *own).await?;
    for session in parents.iter().take(MOST_PARENTS) {
        let its = entries::newest_compactions(&mut *connection, tenant.0, *session, MOST_CANDIDATES).await?;
        let is_shared =
            |stored: &StoredEntry| path::holds(&shared, stored.session_id, stored.branch, stored.entry.head.depth);
        found.extend(its.into_iter().filter(is_shared));
    }
    Ok(found)
}

/// Where on this path the compaction's tail begins: behind the last entry that it summarised. `None`: that is not here.
async fn cut_on(
    connection: &mut PgConnection,
    tenant: Tenant,
    sessions: &[Uuid],
    stored: &StoredEntry,
    record: &CompactionRecord,
    places: &HashMap<Uuid, usize>,
) -> Result<Option<usize>> {
    let Ok(first_kept) = Uuid::parse_str(&record.first_kept_entry_id) else { return Ok(None) };
    if let Some(fold) = record.chapters.iter().find(|fold| fold.chapter == first_kept) {
        let is_here = places.contains_key(&fold.chapter);
        return Ok(usize::try_from(fold.place).ok().filter(|_| is_here));
    }
    if let Some(at) = places.get(&first_kept) {
        return Ok(Some(*at));
    }
    let last_summarised = if first_kept == stored.entry.head.id {
        stored.entry.parent_id
    } else {
        let seq = clock::seq_of(first_kept);
        match entries::parent_of(&mut *connection, tenant.0, sessions, seq, first_kept).await? {
            Some(parent) => parent,
            None => return Ok(None),
        }
    };
    Ok(match last_summarised {
        None => Some(0),
        Some(id) => places.get(&id).map(|at| at + 1),
    })
}

/// Returns true if no message stands behind a cut: what is to be answered next would stand in the record alone.
fn shows_nothing(loaded: &PathSlice, cut: usize) -> bool {
    !loaded.heads.get(cut..).unwrap_or_default().iter().any(EntryMeta::is_visible)
}

/// The record as it reads on this path. `None`: something of it is not here, or the path's own compaction covers more.
fn on_path(loaded: &PathSlice, places: &HashMap<Uuid, usize>, record: &CompactionRecord, cut: usize) -> Option<Here> {
    let is_here = |id: &Uuid| places.contains_key(id);
    let covered = loaded.newest.as_ref().map_or(0, tail_of);
    let whole = record.anchors.iter().all(is_here) && record.chapters.iter().all(|fold| is_here(&fold.chapter));
    if !whole || i64::try_from(cut).unwrap_or(i64::MAX) < covered {
        return None;
    }
    let elisions: Vec<_> = record.elisions.iter().filter(|elision| is_here(&elision.entry_id)).cloned().collect();
    if elisions.is_empty() && record.summary.as_deref().unwrap_or_default().is_empty() && record.anchors.is_empty() {
        return None;
    }
    // Empty: nothing is kept, which its own id says.
    let first_kept = loaded.heads.get(cut).map(|head| head.id.to_string()).unwrap_or_default();
    let lost_elisions = elisions.len() < record.elisions.len();
    let record = CompactionRecord { elisions, first_kept_entry_id: first_kept, ..record.clone() };
    Some(Here { record, lost_elisions })
}

/// The depth from which on a compaction's view shows what is there.
fn tail_of(newest: &Newest) -> i64 {
    newest.first_kept_depth.unwrap_or(newest.depth)
}

/// Returns true if the path's own newest compaction is on the other one's path too.
async fn grew_from(
    connection: &mut PgConnection,
    tenant: Tenant,
    loaded: &PathSlice,
    stored: &StoredEntry,
) -> Result<bool> {
    let own = loaded.newest.as_ref().and_then(|newest| loaded.stored.get(loaded.at_depth(newest.depth)?));
    let Some(own) = own else { return Ok(true) };
    let leaf = Leaf { session_id: stored.session_id, branch: stored.branch, depth: stored.entry.head.depth };
    let its = path::segments(connection, tenant.0, leaf, false).await?;
    Ok(path::holds(&its, own.session_id, own.branch, own.entry.head.depth))
}

/// The compaction in force before a move, if nothing that covers as much has come along: the new path changes what it
/// covers or shows shorter, or ends before that.
pub(crate) fn fallen<'n>(
    before: Option<&'n Newest>,
    after: Option<&Newest>,
    carried: Option<&Carried>,
) -> Option<&'n Newest> {
    let lost = carried.is_some_and(|carried| carried.lost_elisions);
    let covers = |before: &&Newest| !lost && after.is_some_and(|after| tail_of(after) >= tail_of(before));
    before.filter(|before| !before.is_revert && !covers(before))
}

impl Newest {
    /// Returns true if a path that ends at this depth has nothing but what is covered. Such a one has merely lost it.
    pub(crate) fn covers_beyond(&self, last_depth: i64) -> bool {
        last_depth < tail_of(self)
    }
}

/// The compaction that an entry says, wherever that hangs.
pub(super) async fn root_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    entry_id: Uuid,
) -> Result<Uuid> {
    let place = view::place(connection, tenant, session_id, entry_id).await?;
    let record = entries::record_at(connection, tenant.0, place.session_id, place.seq).await?;
    Ok(record.and_then(|record| record.carries).unwrap_or(entry_id))
}
