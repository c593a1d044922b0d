//! Taking a compaction back. Nothing is deleted: a further entry says that the view is what it was before.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry_type::EntryType;
use crate::service::compaction::commit::entry::{advance, entry_of, hold_off, leave_unrelieved, new_branch};
use crate::service::compaction::committing::committing;
use crate::service::compaction::job::{Compaction, Status};
use crate::service::compaction::status::show;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::idempotency::{Outcome, about, seal};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::events;
use crate::service::path::view::{self, PathSlice, ReadMode, newest_from, newest_of, state_of_path};
use crate::store::compactions;
use crate::store::entries::{self, StoredEntry, Write};
use crate::store::transaction;

impl Service {
    /// Takes back the compaction that is in force on the leaf's path.
    ///
    /// # Errors
    /// `NotFound`; `Conflict`: it did not succeed, was reverted before, or is not the newest on the path.
    pub async fn revert_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        committing(self.revert(tenant, id)).await
    }

    async fn revert(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let row =
            compactions::get(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let compaction = show(row)?;
        about(compaction.session_id);
        let entry_id = compaction.result.as_ref().and_then(|result| result.entry_id);
        let (Status::Succeeded, Some(entry_id)) = (compaction.status, entry_id) else {
            return Err(conflict(ConflictCode::NotRevertible, "only a compaction that succeeded can be reverted"));
        };
        let (mut session, mut head) = self.inner.heads.lock(&mut *transaction, tenant, compaction.session_id).await?;
        let mut loaded =
            view::load_path(&mut transaction, tenant, head.leaf(), head.is_plain(), ReadMode::Heads).await?;
        let entry_id = match in_force(&loaded.stored) {
            // Reverted before, but on another branch: here it is in force.
            Some(newest) if says(newest, entry_id) => newest.entry.head.id,
            _ if compaction.reverted_at.is_some() => {
                return Err(conflict(ConflictCode::AlreadyReverted, "this compaction was reverted before"));
            }
            _ => return Err(conflict(ConflictCode::NotNewest, "another compaction is the newest on the current path")),
        };
        let now = clock::now();
        compactions::mark_reverted(&mut *transaction, tenant.0, id, now).await?;
        let entry = entry_of(&head, record_before(&loaded, entry_id));
        let proof = Some(Proof::Entry(entry.head.id));
        let branches = new_branch(&head, entry.branch);
        loaded.heads.push(entry.head.clone());
        loaded.stored.push(Arc::new(entries::StoredEntry::unsaved(&entry, head.session_id)));
        let place = loaded.stored.len() - 1;
        if let Some(record) = &entry.record {
            loaded.newest = Some(newest_from(&entry.head, record, &loaded.stored[..place]));
        }
        let fixed = (head.state.account.system, head.state.account.tools);
        let mut state = state_of_path(&loaded, fixed, head.state.clone());
        state.account.take_place_of(&head.state.account, false);
        // Else the next append would do again what was just taken back.
        hold_off(&mut state, &head.settings);
        leave_unrelieved(&mut state, &head.settings);
        self.drop_candidate(&mut transaction, tenant, &mut state, &head.settings).await?;
        let snapshot = advance(&mut head, state, &entry)?;
        session.head = head.row;
        let write = Write {
            session_id: session.id,
            version: session.head.version,
            head: &session.head,
            entries: &[entry],
            branches: &branches,
            now,
        };
        entries::write(&mut *transaction, tenant.0, &write).await?;
        events::record_snapshot(&mut transaction, tenant, session.id, &snapshot).await?;
        let reverted =
            compactions::get(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let reverted = show(reverted)?;
        seal(&mut transaction, Outcome::Done, &reverted).await?;
        self.inner.heads.commit(transaction, tenant, session.id, proof).await?;
        Ok(reverted)
    }
}

/// The compaction whose view is shown. A revert shows again what was in force before the one that it takes back.
fn in_force(path: &[Arc<StoredEntry>]) -> Option<&StoredEntry> {
    let mut path = path;
    loop {
        let place = path.iter().rposition(|stored| stored.entry.head.kind == EntryType::Compaction)?;
        let (before, newest) = (path.get(..place)?, path.get(place)?);
        let Some(reverted) = newest.record.as_ref().and_then(|record| record.reverts) else {
            return Some(newest);
        };
        let place = before.iter().rposition(|stored| stored.entry.head.id == reverted)?;
        path = before.get(..place)?;
    }
}

/// Returns true if this entry is the compaction's, or says on this path what that says on another.
fn says(newest: &StoredEntry, entry_id: Uuid) -> bool {
    let carries = newest.record.as_ref().and_then(|record| record.carries);
    newest.entry.head.id == entry_id || carries == Some(entry_id)
}

/// The view that the compaction found, as a record of its own.
fn record_before(loaded: &PathSlice, entry_id: Uuid) -> CompactionRecord {
    let place = loaded.heads.iter().position(|head| head.id == entry_id).unwrap_or(loaded.heads.len());
    let earlier = &loaded.stored[..place];
    let before = newest_of(earlier).and_then(|newest| {
        let stored = earlier.iter().find(|stored| stored.entry.head.id == newest.id)?;
        let record = stored.record.as_deref().cloned()?;
        // Entries between that compaction and this one were shown too.
        let kept = newest.first_kept_depth.unwrap_or(newest.depth + 1);
        let first = earlier.iter().find(|stored| stored.entry.head.depth >= kept)?;
        Some(CompactionRecord { first_kept_entry_id: first.entry.head.id.to_string(), ..record })
    });
    let record = before.unwrap_or_else(|| CompactionRecord {
        first_kept_entry_id: loaded.heads.first().map(|head| head.id.to_string()).unwrap_or_default(),
        ..CompactionRecord::default()
    });
    CompactionRecord { reverts: Some(entry_id), carries: None, ..record }
}

fn conflict(code: ConflictCode, detail: &str) -> ServiceError {
    ServiceError::Conflict { code, detail: detail.to_owned() }
}
