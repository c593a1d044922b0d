//! Hooks around a move in the tree.

use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::ask::{About, cancels};
use crate::domain::hook::Event;
use crate::domain::hook::answer::{self, Given, Verdict};
use crate::service::clock;
use crate::service::error::{Result, ServiceError};
use crate::service::navigation::{Departure, Navigate, Navigated};
use crate::service::state::{Service, Tenant};
use crate::service::view;

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
    ) -> Result<Option<Given>> {
        let mut connection = self.pool().acquire().await?;
        let hooks = self.enabled_hooks(&mut *connection, tenant).await?;
        if !hooks.has(Event::BeforeNavigate) {
            return Ok(None);
        }
        let old_leaf_id = self.head_on(&mut connection, tenant, session_id).await?.row.leaf_id;
        if old_leaf_id == navigate.target_id {
            return Ok(None);
        }
        if let Some(target) = navigate.target_id {
            view::place(&mut connection, tenant, session_id, target).await?;
        }
        drop(connection);
        let departure = Departure::of(navigate, old_leaf_id);
        let plan = match navigate.summarize {
            true => self.plan_departure(tenant, session_id, clock::new_id(), departure).await?,
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
        let mut given = None;
        for hook in hooks.of(Event::BeforeNavigate) {
            let asked = self.ask(about, hook, Event::BeforeNavigate, &data, answer::before_navigate).await?;
            match asked.answer {
                Ok(Verdict::Pass) => {}
                Ok(Verdict::Replace(summary)) => given = Some(summary),
                Ok(Verdict::Cancel(reason)) => {
                    return Err(cancelled(reason.unwrap_or_else(|| "a hook cancelled the move".to_owned())));
                }
                Err(fault) if cancels(hook) => return Err(cancelled(format!("a hook failed: {fault}"))),
                Err(_) => {}
            }
        }
        Ok(given)
    }

    /// Has the hooks told of a move, when the transaction commits.
    pub(crate) async fn after_navigate(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        old_leaf_id: Option<Uuid>,
        navigated: &Navigated,
    ) -> Result<()> {
        let about = About { tenant, session_id, compaction_id: None };
        let data = json!({
            "old_leaf_id": old_leaf_id,
            "new_leaf_id": navigated.leaf_id,
            "summary_entry_id": navigated.summary_entry_id,
        });
        self.announce(connection, about, Event::AfterNavigate, &data).await
    }
}

fn cancelled(detail: String) -> ServiceError {
    ServiceError::Conflict { code: "cancelled_by_hook", detail }
}
