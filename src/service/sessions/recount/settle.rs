//! The end of a recount: the leaf's state, from what the context shows and not from the whole path.

use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::settings::Estimator;
use crate::domain::tokens::accounting::{Account, UsageMark};
use crate::service::compaction::Committed;
use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::head::{Head, SessionState};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::view::{self, ReadMode, ViewOrigin};
use crate::service::sessions::recount::{How, count_stretch};
use crate::store::path::{self, Leaf};
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::transaction;
use crate::store::{entries, sessions};

/// Entries that may be counted under the lock.
const TAIL: usize = 50;
/// Recounts that died and are looked at at once.
const DEAD: i64 = 100;

impl Service {
    /// Counts what was appended last and ends the job. `None`: more was appended than is counted under the lock.
    pub(super) async fn settle_recount(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        lease: LeaseProof,
        estimator: Estimator,
        mut after: i64,
    ) -> Result<Option<Committed>> {
        let forks = self.recount_forks(tenant, session_id).await?;
        let mut transaction = transaction::begin(self.pool()).await?;
        let locked = self.inner.heads.lock(&mut *transaction, tenant, session_id).await.optional()?;
        let Some((mut row, head)) = locked else {
            let completed = queue::complete(&mut transaction, tenant.0, lease).await?;
            transaction.commit().await?;
            return Ok(Some(ended(completed)));
        };
        loop {
            let how = How::By(estimator, head.settings.pictures);
            let tail = count_stretch(&mut transaction, tenant, session_id, how, after).await?;
            let Some(last) = tail.last() else { break };
            if tail.len() > TAIL {
                return Ok(None);
            }
            after = last.seq;
            entries::recount(&mut *transaction, tenant.0, session_id, &tail).await?;
        }
        let completed = queue::complete(&mut transaction, tenant.0, lease).await?;
        if completed == Completed::LeaseLost {
            return Ok(Some(Committed::LeaseLost));
        }
        // Asked for again meanwhile: what is counted now is not what is wanted, and the next run ends it.
        if completed == Completed::Done && head.settings.estimator == estimator {
            let state = counted_state(&mut transaction, tenant, &head).await?;
            state.write_to(&mut row.head, &head.settings)?;
            sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
        }
        // Their totals go on from those of the entries that they share with this session.
        for fork in forks {
            if self.inner.heads.has(&mut *transaction, tenant, fork).await? {
                self.enqueue_recount(&mut transaction, tenant, fork).await?;
            }
        }
        transaction.commit().await?;
        Ok(Some(ended(completed)))
    }

    /// Ends the recounts whose attempts are all spent: their sessions go on with the counts that they have. Returns how
    /// many there were.
    ///
    /// # Errors
    /// The database's.
    pub async fn end_dead_recounts(&self) -> Result<usize> {
        let dead = queue::dead_recounts(self.pool(), DEAD).await?;
        for (tenant, session_id) in &dead {
            let (tenant, session_id) = (Tenant(*tenant), *session_id);
            let mut transaction = transaction::begin(self.pool()).await?;
            let locked = self.inner.heads.lock(&mut *transaction, tenant, session_id).await.optional()?;
            if let Some((mut row, head)) = locked {
                let state = counted_state(&mut transaction, tenant, &head).await?;
                state.write_to(&mut row.head, &head.settings)?;
                sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
            }
            queue::forget_dead_recount(&mut *transaction, tenant.0, session_id).await?;
            transaction.commit().await?;
            tracing::error!(tenant = %tenant.0, %session_id, "a session could not be counted again");
        }
        Ok(dead.len())
    }
}

fn ended(completed: Completed) -> Committed {
    match completed {
        Completed::Done | Completed::Rerun => Committed::Done,
        Completed::LeaseLost => Committed::LeaseLost,
    }
}

/// The state of a leaf whose entries were counted again: all but the account is as it was.
async fn counted_state(connection: &mut PgConnection, tenant: Tenant, head: &Head) -> Result<SessionState> {
    let fixed = (head.state.account.system, head.state.account.tools);
    let mut before = SessionState { recounting: false, ..head.state.clone() };
    // What was learnt was of other counts.
    before.account = before.account.unlearnt();
    let has_folds = before.newest.as_ref().is_some_and(|newest| !newest.folds.is_empty());
    if has_folds || !before.early_results.is_empty() {
        // What chapters hide is measured on the path, and results without calls are found there.
        let loaded = view::load_path(connection, tenant, head.leaf(), head.is_plain(), ReadMode::Heads).await?;
        return Ok(view::state_of_path(&loaded, fixed, before));
    }
    let mut account = Account { system: fixed.0, tools: fixed.1, ..Account::default() };
    let path = path::segments(connection, tenant.0, head.leaf(), head.is_plain()).await?;
    let mut from = 0;
    if let Some(newest) = &before.newest {
        let leaf = Leaf { depth: newest.depth, ..head.leaf() };
        let at = ViewOrigin { leaf, plain: head.is_plain(), newest: Some(newest.clone()) };
        let loaded = view::load_view(connection, tenant, &at, ReadMode::Heads).await?;
        if let (Some(stored), Some(record)) = (loaded.stored.last().map(Arc::clone), loaded.record()) {
            let size = view::view_size(&loaded, record);
            account.path_tokens = stored.entry.head.path_tokens;
            account.path_result_tokens = stored.path_result_tokens;
            account.rebase(i64::from(record.summary_tokens), size.messages, size.tool_results);
        }
        from = newest.depth + 1;
    }
    let later = path::clip(&path, &[(from, i64::MAX)]);
    if let Some((tokens, results)) = entries::totals_at(&mut *connection, tenant.0, path.last()).await? {
        (account.path_tokens, account.path_result_tokens) = (tokens, results);
    }
    if let Some((usage, path_tokens)) = entries::newest_usage(connection, tenant.0, &later).await? {
        let count = account.counted(&account.base, path_tokens);
        account.usage = Some(UsageMark::whole(usage, count - account.fixed()));
        account.learn_whole(usage, count, head.settings.estimator);
    }
    account.answer_from = account.path_tokens;
    // How often the model was called depends on no estimator.
    account.path_calls = before.account.path_calls;
    account.base.path_calls = before.account.base.path_calls;
    Ok(SessionState { account, ..before })
}
