//! Counting a session again under another estimator: every own entry once, in the background.
//!
//! Entries that a fork shares with its origin keep the counts of the origin's estimator; they are not this session's.

use std::collections::HashMap;

use anyhow::Context as _;
use uuid::Uuid;

use super::clock;
use super::compactions::Committed;
use super::error::Result;
use super::head::SessionState;
use super::history::message_of;
use super::state::{Service, Tenant};
use super::view::{self, Read};
use crate::domain::message::{Message, Role};
use crate::domain::settings::Estimator;
use crate::domain::tokens;
use crate::store::entries::{self, Recount, StoredEntry};
use crate::store::path;
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::sessions;

impl Service {
    /// Counts every entry of the session again and works the leaf's state out anew, in one transaction.
    pub async fn recount(&self, tenant: Tenant, session_id: Uuid, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = self.pool().begin().await?;
        let row = sessions::lock(&mut *transaction, tenant.0, session_id).await?;
        if queue::complete(&mut transaction, tenant.0, lease).await? == Completed::LeaseLost {
            return Ok(Committed::LeaseLost);
        }
        let Some(mut row) = row else {
            transaction.commit().await?;
            return Ok(Committed::Done);
        };
        let head = self.head_of(&row)?;
        let shared = path::shared_history(&mut transaction, tenant.0, session_id).await?;
        let shared = entries::heads(&mut *transaction, tenant.0, &shared).await?;
        let own = entries::by_seq(&mut *transaction, tenant.0, session_id, -1, i64::MAX).await?;
        let estimator = head.settings.estimator;
        let counted = tokio::task::spawn_blocking(move || count(&shared, own, estimator))
            .await
            .context("counting a session again")??;
        entries::recount(&mut *transaction, tenant.0, session_id, &counted).await?;
        let loaded = view::load_path(&mut transaction, tenant, head.leaf(), head.is_plain(), Read::Heads).await?;
        let fixed = (head.state.account.system, head.state.account.tools);
        let mut before = SessionState { recounting: false, ..head.state.clone() };
        before.account.calibration = 1.0;
        let state = view::state_of_path(&loaded, fixed, before);
        state.write_to(&mut row.head, &head.settings)?;
        sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
        transaction.commit().await?;
        Ok(Committed::Done)
    }
}

/// New counts by `seq`, parents before children.
fn count(shared: &[StoredEntry], own: Vec<StoredEntry>, estimator: Estimator) -> Result<Vec<Recount>> {
    let total =
        |stored: &StoredEntry| (stored.entry.head.id, (stored.entry.head.path_tokens, stored.path_result_tokens));
    let mut totals: HashMap<Uuid, (i64, i64)> = shared.iter().map(total).collect();
    let mut counted = Vec::with_capacity(own.len());
    for mut stored in own {
        let before = stored.entry.parent_id.and_then(|parent| totals.get(&parent).copied()).unwrap_or_default();
        let mut added = (0, 0);
        if stored.entry.head.kind.holds_message()
            && let Some(message) = message_of(&stored)?
        {
            let fresh = tokens::count_message(estimator, &message);
            for (result, tokens) in stored.entry.head.shape.results.iter_mut().zip(&fresh.results) {
                result.tokens = *tokens;
            }
            stored.entry.head.tokens = fresh.total;
            added = (i64::from(fresh.total), fresh.results.iter().map(|tokens| i64::from(*tokens)).sum());
        }
        if let Some(record) = &mut stored.record {
            let summary = Message::text(Role::User, record.summary.clone().unwrap_or_default());
            record.summary_tokens = tokens::count_message(estimator, &summary).total;
            stored.entry.head.tokens = record.summary_tokens;
        }
        let after = (before.0 + added.0, before.1 + added.1);
        totals.insert(stored.entry.head.id, after);
        counted.push(Recount {
            seq: stored.entry.head.seq,
            tokens: stored.entry.head.tokens,
            path_tokens: after.0,
            path_result_tokens: after.1,
            shape: stored.entry.head.shape,
            record: stored.record,
        });
    }
    Ok(counted)
}
