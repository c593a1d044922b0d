//! What compactions still call by its old name; goes with them.

use std::ops::ControlFlow;

use serde::Serialize;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::domain::hook::answer::BadAnswer;
use crate::domain::hook::{Event, HookOutcome};
use crate::domain::tokens::accounting::Snapshot;
use crate::service::core::error::Result;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::events;
use crate::service::hooks::ask::{About, EnabledHooks, HookAnswered, Reports, enabled};
use crate::service::hooks::deliver::announce;
use crate::store::hooks::HookRow;

impl Service {
    pub(crate) async fn enabled_hooks(&self, executor: impl PgExecutor<'_>, tenant: Tenant) -> Result<EnabledHooks> {
        enabled(executor, tenant).await
    }

    pub(crate) async fn announce(
        &self,
        connection: &mut PgConnection,
        about: About,
        event: Event,
        data: &impl Serialize,
    ) -> Result<()> {
        announce(connection, about, event, data).await
    }

    pub(crate) async fn record_snapshot(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        snapshot: &Snapshot,
    ) -> Result<()> {
        events::record_snapshot(connection, tenant, session_id, snapshot).await
    }

    pub(crate) async fn conclude(&self, tenant: Tenant, id: Uuid, outcome: HookOutcome, detail: Option<&str>) {
        self.hooks().conclude(tenant, id, outcome, detail).await;
    }

    pub(crate) async fn settle(
        &self,
        tenant: Tenant,
        reports: &mut Reports<'_>,
        hook: &HookRow,
        log: (Uuid, Option<String>),
        outcome: std::result::Result<HookOutcome, String>,
    ) -> ControlFlow<()> {
        self.hooks().settle(tenant, reports, hook, log, outcome).await
    }

    pub(crate) async fn ask<T>(
        &self,
        about: About,
        hook: &HookRow,
        event: Event,
        data: &impl Serialize,
        read: impl FnOnce(&[u8]) -> std::result::Result<T, BadAnswer>,
    ) -> Result<HookAnswered<T>> {
        self.hooks().ask(about, hook, event, data, read).await
    }
}
