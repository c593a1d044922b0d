//! Hooks: registered by a tenant, called by the worker and before a move in the tree, told of what has happened.

pub(crate) mod ask;
mod deliver;

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::hook::{Event, OnError, signature};
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::hooks::Hooks;
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::store::hooks::{self as store, HookRow};
use crate::store::transaction;

pub(crate) use ask::{About, EnabledHooks};
pub(crate) use deliver::announce;
pub use deliver::{Delivery, DueDelivery, announce_chapter_request};

/// A place that is asked and told.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Hook {
    pub id: Uuid,
    pub url: String,
    pub events: Vec<Event>,
    /// For one attempt, in milliseconds.
    pub timeout_ms: i32,
    pub on_error: OnError,
    pub enabled: bool,
    /// In the answer to the creation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// A hook to be registered, checked but for its address.
#[derive(Debug, Clone)]
pub struct NewHook {
    pub url: String,
    pub events: Vec<Event>,
    /// `None`: one is made.
    pub secret: Option<String>,
    pub timeout_ms: i32,
    pub on_error: OnError,
    pub enabled: bool,
}

/// Changes to a hook; `None` leaves a field.
#[derive(Debug, Clone, Default)]
pub struct HookPatch {
    pub url: Option<String>,
    pub events: Option<Vec<Event>>,
    pub secret: Option<String>,
    pub timeout_ms: Option<i32>,
    pub on_error: Option<OnError>,
    pub enabled: Option<bool>,
}

impl Hooks {
    /// Checks a hook's address, as far as that can be done without calling it.
    ///
    /// # Errors
    /// The fault in words.
    pub fn check_url(&self, url: &str) -> std::result::Result<(), &'static str> {
        self.client.check_url(url)
    }

    /// Registers a hook. The answer is the only one that holds its secret.
    ///
    /// # Errors
    /// `Conflict` where the tenant has as many as it may have.
    pub async fn create(&self, tenant: Tenant, new: NewHook) -> Result<Hook> {
        let now = clock::now();
        let row = HookRow {
            id: clock::new_id(),
            url: new.url,
            events: words(&new.events),
            secret: new.secret.unwrap_or_else(|| signature::secret_text(&clock::random_key())),
            timeout_ms: new.timeout_ms,
            on_error: new.on_error.into_str().to_owned(),
            enabled: new.enabled,
            created_at: now,
            updated_at: now,
        };
        let most = self.options.max_hooks;
        let mut transaction = transaction::begin(&self.pool).await?;
        if !store::insert(&mut transaction, tenant.0, &row, most).await? {
            let detail = format!("a tenant may have {most} hooks; delete one first");
            return Err(ServiceError::Conflict { code: ConflictCode::TooManyHooks, detail });
        }
        let secret = Some(row.secret.clone());
        let created = Hook { secret, ..show(row)? };
        seal(&mut transaction, Outcome::Created, &created).await?;
        transaction.commit().await?;
        Ok(created)
    }

    pub async fn get(&self, tenant: Tenant, id: Uuid) -> Result<Hook> {
        show(store::get(&self.pool, tenant.0, id).await?.ok_or(ServiceError::NotFound("hook"))?)
    }

    /// In the order of their creation, which is the order in which they are asked.
    pub async fn list(&self, tenant: Tenant, page: PageRequest) -> Result<Page<Hook>> {
        let rows = store::list(&self.pool, tenant.0, page.cursor_id()?, page.limit + 1).await?;
        let shown = rows.into_iter().map(show).collect::<Result<Vec<_>>>()?;
        Ok(Page::cut(shown, page.limit, |hook| hook.id.to_string()))
    }

    pub async fn update(&self, tenant: Tenant, id: Uuid, patch: HookPatch) -> Result<Hook> {
        let mut transaction = transaction::begin(&self.pool).await?;
        let mut row = store::lock(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("hook"))?;
        row.url = patch.url.unwrap_or(row.url);
        row.events = patch.events.map_or(row.events, |events| words(&events));
        row.secret = patch.secret.unwrap_or(row.secret);
        row.timeout_ms = patch.timeout_ms.unwrap_or(row.timeout_ms);
        row.on_error = patch.on_error.map_or(row.on_error, |word| word.into_str().to_owned());
        row.enabled = patch.enabled.unwrap_or(row.enabled);
        row.updated_at = clock::now();
        store::update(&mut *transaction, tenant.0, &row).await?;
        transaction.commit().await?;
        show(row)
    }

    /// Removes a hook with its log; what was not delivered never is.
    pub async fn delete(&self, tenant: Tenant, id: Uuid) -> Result<()> {
        let found = store::delete(&self.pool, tenant.0, id).await?;
        if found { Ok(()) } else { Err(ServiceError::NotFound("hook")) }
    }
}

fn words(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.into_str().to_owned()).collect()
}

/// Without the secret.
fn show(row: HookRow) -> Result<Hook> {
    let id = row.id;
    let unknown = |column: &str| anyhow::anyhow!("hook {id} as stored: `{column}` is an unknown word");
    Ok(Hook {
        id: row.id,
        url: row.url,
        events: row
            .events
            .iter()
            .map(|word| word.parse::<Event>().ok())
            .collect::<Option<_>>()
            .ok_or_else(|| unknown("events"))?,
        timeout_ms: row.timeout_ms,
        on_error: row.on_error.parse().map_err(|_| unknown("on_error"))?,
        enabled: row.enabled,
        secret: None,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}
