//! What a summariser was sent for a compaction. No prompt is kept, for it would be the transcript once more; it is written
//! anew, from the entries, the request and the settings as they are now.

use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::model::strategy::Strategy;
use crate::domain::summary::prompt::{self, Prompt};
use crate::domain::summary::worth;
use crate::service::compaction::job::{CompactRequest, Compaction};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::status::show;
use crate::service::core::error::{ConflictCode, Optional as _, Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::long_reads::LONG_READ;
use crate::service::core::offload::aside;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::About;
use crate::service::path::view::{ReadMode, ViewOrigin, load_path, load_view, place, state_of_path};
use crate::store::compactions;
use crate::store::path::Leaf;

/// The prompt of a compaction, written anew. `None`: no model would be asked.
pub struct Prompts {
    pub session_id: Uuid,
    pub prompt: Option<Prompt>,
    /// It replaces the same entries now, put together in the same way.
    pub is_same_span: bool,
}

impl Service {
    /// Writes the prompts of a compaction again. They differ from what was sent where settings have changed, where hooks
    /// had a say, and where an upstream's limits asked for parts or for fewer words. Nothing is changed.
    ///
    /// # Errors
    /// `NotFound`; `Conflict`: it has not changed a context, so that what it was about is not known.
    pub async fn prompts(&self, tenant: Tenant, id: Uuid) -> Result<Prompts> {
        let row = compactions::get(self.pool(), tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let request: CompactRequest = serde_json::from_str(&row.request).context("a stored compact request")?;
        let compaction = show(row)?;
        let session_id = compaction.session_id;
        let Some(entry_id) = compaction.result.as_ref().and_then(|result| result.entry_id) else {
            let detail = "only of a compaction that succeeded is it known what it was about".to_owned();
            return Err(ServiceError::Conflict { code: ConflictCode::NothingChanged, detail });
        };
        let head = self.inner.heads.read(self.pool(), tenant, session_id).await?;
        let _turn = match head.row.entry_count > LONG_READ {
            true => Some(self.inner.long_reads.turn(tenant).await?),
            false => None,
        };
        let mut connection = self.pool().acquire().await?;
        let patch = request.patch();
        let settings = self.inner.heads.read_with(&mut *connection, tenant, session_id, &patch).await?.1;
        let before = state_before(&mut connection, tenant, &head, entry_id, compaction.started_at).await?;
        let standing = Standing { head: Head { settings: Arc::new(settings), ..before.0 }, origin: before.1 };
        let planned = standing.plan(&mut connection, tenant, &compaction, request).await?;
        drop(connection);
        let is_same_span = cut_of(&planned) == cut(&compaction) && splits(&planned) == is_split(&compaction);
        let work = self.read_and_decide(&Arc::new(planned)).await?.ok();
        let asked =
            work.filter(|work| work.summary_task.as_ref().is_some_and(|task| worth::pays(task, work.replaced_tokens)));
        let prompt = aside(move || asked?.summary_task.as_ref().map(prompt::render)).await?;
        Ok(Prompts { session_id, prompt, is_same_span })
    }
}

/// The session as it stood when a compaction began: without what came while it was at work.
async fn state_before(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    entry_id: Uuid,
    began: Option<DateTime<Utc>>,
) -> Result<(Head, ViewOrigin)> {
    let at = place(connection, tenant, head.session_id, entry_id).await?;
    let mut leaf = Leaf { session_id: at.session_id, branch: at.branch, depth: at.depth - 1 };
    let mut loaded = load_path(connection, tenant, leaf, false, ReadMode::Heads).await?;
    let came_since = loaded.heads.iter().rev().take_while(|entry| began.is_some_and(|began| made_at(entry.id) > began));
    match i64::try_from(came_since.count()).unwrap_or(0) {
        since @ 1.. if since <= leaf.depth => {
            leaf.depth -= since;
            loaded = load_path(connection, tenant, leaf, false, ReadMode::Heads).await?;
        }
        _ => {}
    }
    let fixed = (head.state.account.system, head.state.account.tools);
    let state = state_of_path(&loaded, fixed, head.state.clone());
    Ok((Head { state, ..head.clone() }, ViewOrigin { leaf, plain: false, newest: loaded.newest }))
}

/// An id carries the time at which it was made, in milliseconds.
fn made_at(id: Uuid) -> DateTime<Utc> {
    let time = id.get_timestamp().map(|time| time.to_unix());
    time.and_then(|(seconds, nanos)| DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)).unwrap_or_default()
}

struct Standing {
    head: Head,
    origin: ViewOrigin,
}

impl Standing {
    /// As it is planned now; with the cut that it had, where that is another.
    async fn plan(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        compaction: &Compaction,
        request: CompactRequest,
    ) -> Result<PlannedCompaction> {
        let asked = request.first_kept_entry_id;
        let planned = self.plan_at(connection, tenant, compaction, request.clone(), asked).await?;
        let Some(cut) = cut(compaction).filter(|cut| cut_of(&planned) != Some(*cut)) else { return Ok(planned) };
        let again = self.plan_at(connection, tenant, compaction, request, Some(cut)).await.optional()?;
        Ok(again.filter(|again| again.plan.is_ok()).unwrap_or(planned))
    }

    async fn plan_at(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        compaction: &Compaction,
        request: CompactRequest,
        first_kept: Option<Uuid>,
    ) -> Result<PlannedCompaction> {
        let (head, origin) = (&self.head, &self.origin);
        let about = About { tenant, session_id: head.session_id, compaction_id: Some(compaction.id) };
        let loaded = load_view(connection, tenant, origin, ReadMode::Heads).await?;
        let strategy = strategy(compaction, request.strategy.unwrap_or(head.settings.strategy));
        let again = head.state.account.exceeds_window(&head.settings);
        let planned = PlannedCompaction {
            request,
            trigger: compaction.trigger,
            strategy,
            origin: origin.clone(),
            ..PlannedCompaction::unplanned(head, about, loaded, (*head.settings).clone())
        };
        let plan = planned.planning(again).plan(connection, tenant, first_kept).await?;
        Ok(planned.with(plan))
    }
}

/// Where a model was asked, that is what `auto` came to, whatever it would choose now.
fn strategy(compaction: &Compaction, asked_for: Strategy) -> Strategy {
    let asked = compaction.result.as_ref().is_some_and(|result| result.upstream.calls > 0);
    if asked && asked_for == Strategy::Auto { Strategy::LlmSummarize } else { asked_for }
}

/// The first entry that a compaction kept; `None` where that is none of the path's.
fn cut(compaction: &Compaction) -> Option<Uuid> {
    let result = compaction.result.as_ref()?;
    let kept = Uuid::parse_str(result.first_kept_entry_id.as_deref()?).ok()?;
    Some(kept).filter(|kept| result.entry_id != Some(*kept))
}

fn is_split(compaction: &Compaction) -> bool {
    compaction.result.as_ref().is_some_and(|result| result.is_split_turn)
}

fn splits(planned: &PlannedCompaction) -> bool {
    planned.plan.as_ref().is_ok_and(|plan| plan.is_split_turn)
}

fn cut_of(planned: &PlannedCompaction) -> Option<Uuid> {
    let plan = planned.plan.as_ref().ok()?;
    planned.loaded.heads.get(plan.first_kept).map(|head| head.id)
}
