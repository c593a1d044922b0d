//! The beginning of a session's own system prompt. Whoever writes notes is shown it, so that they need not say it again.

use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::format;
use crate::domain::model::json;
use crate::domain::record::quote::shortened;
use crate::domain::redaction::Redaction;
use crate::domain::settings::Settings;
use crate::service::core::error::Result;
use crate::service::core::offload::offload;
use crate::service::core::tenant::Tenant;
use crate::store::sessions;

/// More of it fits no prompt, in quarter tokens.
const LONGEST: usize = 32_000;

/// `None`: the session has none, or there is no session.
pub(crate) async fn background(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    settings: &Settings,
) -> Result<Option<Arc<str>>> {
    let Some(system) = sessions::system(connection, tenant.0, session_id).await? else { return Ok(None) };
    let redaction = Redaction::of(&settings.redact);
    offload(system.len(), move || told(&system, &redaction)).await
}

/// Redacted before it is cut: half of a secret would not be known for one.
fn told(system: &str, redaction: &Redaction) -> Option<Arc<str>> {
    let text = format::system::text(&json::parse_lenient(system).ok()?)?;
    let told = shortened(&redaction.redact(&text, None), LONGEST, 0);
    (!told.is_empty()).then(|| told.into())
}
