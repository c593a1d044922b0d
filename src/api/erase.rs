//! Erasing many sessions at once.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::{Body, segment};
use super::bounds;
use super::check::{Faults, MAX_METADATA_VALUES, MAX_NAME_CHARS, STATES, metadata_value};
use super::problem::Result;
use super::state::AppState;
use crate::domain::model::json::mend_surrogates;
use crate::domain::model::metadata::MetadataValue;
use crate::service::core::tenant::Tenant;
use crate::service::sessions::erasure::{EraseFilter, EraseRequest, Erased, Erasure};

/// Sessions of one call.
const MOST: i64 = 1_000;
const MAX_EXTERNAL_IDS: usize = 100;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(erase_sessions))
}

/// Which sessions: those that are all of what is named. Nothing named is refused without `all`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EraseSessions {
    #[schema(min_items = 1, max_items = 1000)]
    ids: Option<Vec<Uuid>>,
    /// All sessions of each. Not together with `ids`.
    #[schema(min_items = 1, max_items = 100)]
    external_ids: Option<Vec<String>>,
    /// `green`, `yellow` or `red`.
    state: Option<String>,
    /// Keys at the top of the metadata, each with its value: a text, a number, a boolean or null. Compared as in
    /// `GET /v1/sessions`: a text also with the JSON of a number, and the other way round.
    #[schema(value_type = Option<Object>)]
    metadata: Option<BTreeMap<String, Box<RawValue>>>,
    /// Not changed since.
    updated_before: Option<DateTime<Utc>>,
    created_before: Option<DateTime<Utc>>,
    /// Every session. Not together with anything that names some.
    #[serde(default)]
    all: bool,
    /// Most sessions that this call erases.
    #[schema(minimum = 1, maximum = 1000, default = 1000)]
    limit: Option<i64>,
    /// Erases nothing and counts them, also beyond `limit`.
    #[serde(default)]
    dry_run: bool,
    /// `next_cursor` of the call before.
    after: Option<String>,
}

impl EraseSessions {
    fn request(self) -> Result<EraseRequest> {
        let mut faults = Faults::default();
        self.check(&mut faults);
        let metadata = values(self.metadata.unwrap_or_default(), &mut faults);
        faults.finish()?;
        let filter = EraseFilter {
            ids: self.ids,
            external_ids: self.external_ids,
            state: self.state,
            metadata,
            updated_before: self.updated_before,
            created_before: self.created_before,
        };
        Ok(EraseRequest { filter, limit: self.limit.unwrap_or(MOST), dry_run: self.dry_run, after: self.after })
    }

    fn check(&self, faults: &mut Faults) {
        let lists = [
            ("ids", self.ids.as_ref().map(Vec::len), MOST as usize),
            ("external_ids", self.external_ids.as_ref().map(Vec::len), MAX_EXTERNAL_IDS),
            ("metadata", self.metadata.as_ref().map(BTreeMap::len), MAX_METADATA_VALUES),
        ];
        for (name, length, most) in lists {
            faults.range(&format!("/{name}"), length, 1..=most);
        }
        for (at, name) in self.external_ids.iter().flatten().enumerate() {
            faults.text(&format!("/external_ids/{at}"), Some(name), MAX_NAME_CHARS);
        }
        if self.ids.is_some() && self.external_ids.is_some() {
            faults.add("/external_ids", "can't be together with ids");
        }
        if self.state.as_deref().is_some_and(|state| !STATES.contains(&state)) {
            faults.add("/state", "must be green, yellow or red");
        }
        let names_some = lists.iter().any(|(_, length, _)| length.is_some())
            || self.state.is_some()
            || self.updated_before.is_some()
            || self.created_before.is_some();
        match (self.all, names_some) {
            (false, false) => faults.add("", "must say which sessions, or all: true"),
            (true, true) => faults.add("/all", "can't be together with what names some sessions"),
            _ => {}
        }
        faults.range("/limit", self.limit, 1..=MOST);
    }
}

fn values(metadata: BTreeMap<String, Box<RawValue>>, faults: &mut Faults) -> Vec<MetadataValue> {
    let mut values = Vec::new();
    for (key, raw) in metadata {
        let value = match raw.get().as_bytes().first() {
            Some(b'"') => serde_json::from_str(&mend_surrogates(raw.get())).ok(),
            Some(b'{' | b'[') | None => None,
            Some(_) => Some(raw.get().to_owned()),
        };
        match metadata_value(key, value) {
            Ok(value) => values.push(value),
            Err((key, fault)) => faults.add(format!("/metadata{}", segment(&key)), fault),
        }
    }
    values
}

/// Erases many sessions, the newest first, each as `DELETE` does.
///
/// Up to 1,000 sessions and about a minute a call; while `more` is true, the same call again, with `next_cursor` as `after`,
/// goes on. What is erased is found by no call from then on; what it held may take until shortly after the answer.
#[utoipa::path(post, path = "/v1/sessions/erase", tag = "sessions", request_body = EraseSessions,
    responses((status = 200, body = Erased)))]
async fn erase_sessions(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<EraseSessions>,
) -> Result<Json<Erased>> {
    let request = body.request()?;
    bounds::allow(Erasure::LONGEST);
    Ok(Json(state.services.erasure.erase_many(tenant, request).await?))
}
