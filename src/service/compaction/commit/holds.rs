//! Does a finished compaction still hold? Its span must stand on the leaf's path, and nothing else have been compacted.

use std::borrow::Cow;
use std::collections::HashSet;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::compaction::guard::changes_outcome;
use crate::service::compaction::carry::root_of;
use crate::service::compaction::commit::ReadyCompaction;
use crate::service::compaction::job::Trigger;
use crate::service::compaction::work::{CompactionWork, KeptFrom};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::view;
use crate::store::entries;
use crate::store::path::{self, Segment};

impl Service {
    /// The compaction as it reads on the leaf's path. `None`: it does not hold there, and is to be planned anew.
    ///
    /// What came after the span may have been replaced meanwhile: a client that tells the time in its last message does so
    /// at every turn.
    pub(crate) async fn on_leafs_path<'r>(
        &self,
        connection: &mut PgConnection,
        ready: ReadyCompaction<'r>,
        head: &Head,
    ) -> Result<Option<ReadyCompaction<'r>>> {
        let work = &ready.work;
        // Nobody asked for this one under the settings that it was planned with.
        if work.trigger == Trigger::Ahead && changes_outcome(&work.settings, &head.settings) {
            return Ok(None);
        }
        // The record of a compaction that has fallen is told again first: that is no second one.
        if matches!(work.trigger, Trigger::Auto | Trigger::Ahead) && head.is_to_retell() {
            return Ok(None);
        }
        if !is_basis(connection, work, head).await? {
            return Ok(None);
        }
        let Some(leaf_id) = work.basis.leaf_id.filter(|id| Some(*id) != head.row.leaf_id) else {
            return Ok(Some(ready));
        };
        let segments = path::segments(connection, work.tenant.0, head.leaf(), head.is_plain()).await?;
        if is_on(connection, work.tenant, head, &segments, leaf_id).await? {
            return Ok(Some(ready));
        }
        moved(connection, ready, head, &segments).await
    }
}

/// Returns true if the newest compaction is the one that was planned on, here or as another path says it.
async fn is_basis(connection: &mut PgConnection, work: &CompactionWork, head: &Head) -> Result<bool> {
    let newest = head.state.newest.as_ref().map(|newest| newest.id);
    let (Some(id), Some(basis)) = (newest, work.basis.newest) else { return Ok(newest == work.basis.newest) };
    if id == basis {
        return Ok(true);
    }
    Ok(root_of(connection, work.tenant, head.session_id, id).await? == basis)
}

/// A compaction whose leaf has left the path, if what it summarises stands there and something behind that, or all that it
/// shows shorter.
async fn moved<'r>(
    connection: &mut PgConnection,
    ready: ReadyCompaction<'r>,
    head: &Head,
    segments: &[Segment],
) -> Result<Option<ReadyCompaction<'r>>> {
    let (tenant, first_kept) = (ready.work.tenant, ready.work.outline.first_kept);
    let sessions = path::sessions_of(segments);
    let seq = clock::seq_of(first_kept.id);
    let parent = entries::parent_of(&mut *connection, tenant.0, &sessions, seq, first_kept.id).await?;
    let stands = match parent {
        None => false,
        Some(None) => first_kept.depth == 0,
        Some(Some(last)) => is_on(connection, tenant, head, segments, last).await?,
    };
    let here = path::clip(segments, &[(first_kept.depth, first_kept.depth)]);
    let kept = entries::heads(&mut *connection, tenant.0, &here).await?;
    let Some(kept) = kept.first().filter(|_| stands).map(|stored| stored.entry.head.id) else { return Ok(None) };
    let ids: Vec<(i64, Uuid)> =
        ready.work.outline.elisions.iter().map(|elision| (clock::seq_of(elision.entry_id), elision.entry_id)).collect();
    let places = entries::places(&mut *connection, tenant.0, &sessions, &ids).await?;
    let places = places.iter().filter(|place| path::holds(segments, place.session_id, place.branch, place.depth));
    let elided: HashSet<Uuid> = places.map(|place| place.id).collect();
    // What only shows results shorter would leave most of them whole.
    if ready.work.outline.elides_only && ids.iter().any(|(_, id)| !elided.contains(id)) {
        return Ok(None);
    }
    let ReadyCompaction { work, outcome, draft } = ready;
    let (mut work, mut draft) = (work.into_owned(), draft.into_owned());
    work.outline.first_kept = KeptFrom { id: kept, ..first_kept };
    work.outline.elisions.retain(|elision| elided.contains(&elision.entry_id));
    draft.record.elisions.clone_from(&work.outline.elisions);
    Ok(Some(ReadyCompaction { work: Cow::Owned(work), outcome, draft: Cow::Owned(draft) }))
}

async fn is_on(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    segments: &[Segment],
    id: Uuid,
) -> Result<bool> {
    let place = view::place(connection, tenant, head.session_id, id).await?;
    Ok(path::holds(segments, place.session_id, place.branch, place.depth))
}
