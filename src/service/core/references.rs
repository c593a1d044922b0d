//! Settings that name something: what a client names must be there. Names that are stored already are not looked at
//! again, so that a session outlives an upstream that the operator has taken away.

use std::collections::HashSet;

use serde_json::{Map, Value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::compaction::result::BUILTIN;
use crate::domain::settings::Settings;
use crate::service::core::clock;
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::settings::SettingsResolver;
use crate::service::core::tenant::Tenant;
use crate::store::{entries, path};

impl SettingsResolver {
    /// Checks that the upstream that `given` names exists. To be called once the settings are known to be well-formed.
    ///
    /// # Errors
    /// `Invalid`, with a pointer to each name of nothing.
    pub fn check_upstream(&self, given: &Map<String, Value>) -> Result<()> {
        let Some(name) = given.get("upstream").and_then(Value::as_str) else { return Ok(()) };
        match &self.upstreams {
            // The built-in summariser is there whatever is configured.
            Some(known) if name != BUILTIN && !known.contains(name) => {
                let others = known.iter().map(String::as_str).filter(|known| *known != BUILTIN);
                let names: Vec<&str> = std::iter::once(BUILTIN).chain(others).collect();
                let detail = format!("is no upstream of this service; there are: {}", names.join(", "));
                Err(ServiceError::invalid("/settings/upstream", detail))
            }
            _ => Ok(()),
        }
    }

    /// The same, for a session's settings; `before` are those that it has.
    ///
    /// # Errors
    /// As [`SettingsResolver::check_upstream`]; the database's.
    pub async fn check_named(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        before: &Settings,
        given: &Map<String, Value>,
    ) -> Result<()> {
        self.check_upstream(given)?;
        let stored: HashSet<Uuid> = before.pinned_entry_ids.iter().copied().collect();
        let new: Vec<(usize, Uuid)> = pinned(given).into_iter().filter(|(_, id)| !stored.contains(id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let sessions = path::sessions(connection, tenant.0, session_id).await?;
        let ids: Vec<(i64, Uuid)> = new.iter().map(|(_, id)| (clock::seq_of(*id), *id)).collect();
        let places = entries::places(&mut *connection, tenant.0, &sessions, &ids).await?;
        let shared = match places.iter().any(|place| place.session_id != session_id) {
            true => path::shared_history(connection, tenant.0, session_id).await?,
            false => Vec::new(),
        };
        let own = places.iter().filter(|place| {
            place.session_id == session_id || path::holds(&shared, place.session_id, place.branch, place.depth)
        });
        let known: HashSet<Uuid> = own.map(|place| place.id).collect();
        unknown(new.into_iter().filter(|(_, id)| !known.contains(id)))
    }
}

/// Where there are no entries yet, none can be pinned.
///
/// # Errors
/// `Invalid`, with a pointer to each id.
pub(crate) fn check_nothing_pinned(given: &Map<String, Value>) -> Result<()> {
    unknown(pinned(given).into_iter())
}

/// The entries that a patch pins, with their places in the list.
fn pinned(given: &Map<String, Value>) -> Vec<(usize, Uuid)> {
    let list = given.get("pinned_entry_ids").and_then(Value::as_array);
    let ids = list.into_iter().flatten().enumerate();
    ids.filter_map(|(at, id)| Some((at, id.as_str()?.parse().ok()?))).collect()
}

fn unknown(ids: impl Iterator<Item = (usize, Uuid)>) -> Result<()> {
    let fault = |(at, _): (usize, Uuid)| FieldError {
        pointer: format!("/settings/pinned_entry_ids/{at}"),
        detail: "is no entry of this session".to_owned(),
    };
    let faults: Vec<FieldError> = ids.map(fault).collect();
    if faults.is_empty() { Ok(()) } else { Err(ServiceError::Invalid(faults)) }
}
