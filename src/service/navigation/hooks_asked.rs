//! Hooks around a move in the tree.

use serde_json::json;
use uuid::Uuid;

use crate::domain::hook::answer::{self, Given, Verdict};
use crate::domain::hook::{Event, HookOutcome};
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::hooks::Hooks;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::ask::{About, EnabledHooks, cancels};
use crate::service::navigation::{Navigate, PendingBranchSummary};
use crate::service::path::view;

/// A summary that a hook gives, for the branch that is left.
pub(crate) struct Offered {
    pub given: Given,
    delivery_id: Uuid,
    /// The move is not made where the summary can't be used.
    cancels: bool,
    unread: Option<String>,
}

impl Service {
    /// Asks whether the leaf may be moved. A hook may give the summary of the branch that is left; the last one that does
    /// counts, and only where the caller wants one.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` `cancelled_by_hook`.
    pub(crate) async fn before_navigate(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        navigate: &Navigate,
    ) -> Result<Option<Offered>> {
        let mut connection = self.pool().acquire().await?;
        let (caller, hooks) = (self.hooks(), EnabledHooks::load(&mut *connection, tenant).await?);
        if !hooks.has(Event::BeforeNavigate) {
            return Ok(None);
        }
        let old_leaf_id = self.inner.heads.read(&mut *connection, tenant, session_id).await?.row.leaf_id;
        if old_leaf_id == navigate.target_id {
            return Ok(None);
        }
        if let Some(target) = navigate.target_id {
            view::place(&mut connection, tenant, session_id, target).await?;
        }
        drop(connection);
        let pending = PendingBranchSummary::of(navigate, old_leaf_id);
        let plan = match navigate.summarize {
            true => self.plan_branch_summary(tenant, session_id, clock::new_id(), pending).await?,
            false => None,
        };
        let data = json!({"preparation": {
            "target_id": navigate.target_id,
            "old_leaf_id": old_leaf_id,
            "summarize": navigate.summarize,
            "common_ancestor_id": plan.as_ref().and_then(|plan| plan.ancestor_id),
            "entry_ids": plan.as_ref().map(|plan| plan.entry_ids.as_slice()).unwrap_or_default(),
            "instructions": navigate.instructions,
            "replace_instructions": navigate.replace_instructions,
        }});
        let about = About { tenant, session_id, compaction_id: None };
        let mut offered: Option<Offered> = None;
        for hook in hooks.of(Event::BeforeNavigate) {
            let asked = caller.ask(about, hook, Event::BeforeNavigate, &data, answer::before_navigate).await?;
            let id = asked.delivery_id;
            let unread = asked.unread.as_deref();
            match asked.answer {
                Ok(Verdict::Pass) => caller.conclude(tenant, id, HookOutcome::Passed, unread).await,
                Ok(Verdict::Replace(given)) => {
                    let next = Offered { given, delivery_id: id, cancels: cancels(hook), unread: asked.unread };
                    if let Some(earlier) = offered.replace(next) {
                        earlier.leave_unused(caller, tenant, "another hook's answer took its place").await;
                    }
                }
                Ok(Verdict::Cancel(reason)) => {
                    caller.conclude(tenant, id, HookOutcome::Cancelled, reason.as_deref().or(unread)).await;
                    return Err(cancelled(reason.unwrap_or_else(|| "a hook cancelled the move".to_owned())));
                }
                Err(fault) => {
                    caller.conclude(tenant, id, HookOutcome::Failed, Some(&fault)).await;
                    if cancels(hook) {
                        return Err(cancelled(format!("a hook failed: {fault}")));
                    }
                }
            }
        }
        if let Some(offered) = offered.take_if(|_| !navigate.summarize) {
            offered.leave_unused(caller, tenant, "the caller wants no summary").await;
        }
        Ok(offered)
    }
}

impl Offered {
    /// Notes that it is not used, and why.
    pub(crate) async fn leave_unused(&self, hooks: &Hooks, tenant: Tenant, why: &str) {
        hooks.conclude(tenant, self.delivery_id, HookOutcome::Unused, Some(why)).await;
    }

    /// Notes that it is used.
    pub(crate) async fn take(&self, hooks: &Hooks, tenant: Tenant) {
        hooks.conclude(tenant, self.delivery_id, HookOutcome::Replaced, self.unread.as_deref()).await;
    }

    /// Notes that it does not stand up to what a summary has to.
    ///
    /// # Errors
    /// `Conflict` `cancelled_by_hook`, where the hook wants that to end the move.
    pub(crate) async fn refuse(&self, hooks: &Hooks, tenant: Tenant, fault: &str) -> Result<()> {
        hooks.conclude(tenant, self.delivery_id, HookOutcome::Failed, Some(fault)).await;
        if self.cancels { Err(cancelled(format!("a hook failed: {fault}"))) } else { Ok(()) }
    }
}

fn cancelled(detail: String) -> ServiceError {
    ServiceError::Conflict { code: ConflictCode::CancelledByHook, detail }
}
