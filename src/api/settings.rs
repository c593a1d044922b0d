//! What can be set, what can be named: the settings, the upstreams and the models that are known.

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::docs::settings;
use super::problem::{Problem, Result};
use super::query::{PageQuery, Query};
use super::state::AppState;
use crate::domain::settings::Settings;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::state::Service;
use crate::service::ops::defaults::KnownModel;
use crate::service::ops::upstreams::UpstreamInfo;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_settings_schema))
        .routes(routes!(list_upstreams))
        .routes(routes!(list_models))
}

/// The settings of a session as a JSON Schema (2020-12): types, bounds, meanings. `default` is what a session gets that sets
/// nothing, with the operator's own defaults; `presets` holds the values of each preset.
#[utoipa::path(get, path = "/v1/settings/schema", tag = "service", responses((status = 200, body = Value)))]
async fn get_settings_schema(State(state): State<AppState>) -> Result<Json<Value>> {
    let mut schema = settings::schema();
    let defaults = values(&state.services.sessions, None)?;
    for (name, setting) in schema["properties"].as_object_mut().into_iter().flatten() {
        if let (Some(setting), Some(default)) = (setting.as_object_mut(), defaults.get(name)) {
            setting.insert("default".to_owned(), default.clone());
        }
    }
    let named = schema["$defs"]["Preset"]["enum"].as_array().cloned().unwrap_or_default();
    let presets = named.iter().filter_map(Value::as_str).map(|name| {
        let values = values(&state.services.sessions, Some(name))?;
        Ok((name.to_owned(), Value::Object(values)))
    });
    schema["presets"] = Value::Object(presets.collect::<Result<Map<_, _>>>()?);
    Ok(Json(schema))
}

fn values(sessions: &Service, preset: Option<&str>) -> Result<Map<String, Value>> {
    let settings: Settings = sessions.default_settings(preset)?;
    match serde_json::to_value(settings) {
        Ok(Value::Object(values)) => Ok(values),
        _ => Err(Problem::internal()),
    }
}

/// The configured upstreams, by name. Nothing secret is told: no key, no header, no path of an address.
#[utoipa::path(get, path = "/v1/upstreams", tag = "service", params(PageQuery),
    responses((status = 200, body = Page<UpstreamInfo>)))]
async fn list_upstreams(
    State(state): State<AppState>,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<UpstreamInfo>>> {
    let upstreams = state.services.calls.with_breakers(state.catalogue.upstreams()).await?;
    Ok(Json(page_of(upstreams, page, |upstream| &upstream.name)))
}

/// The models that are known by name, with their windows: what decides where neither a session nor an upstream says.
#[utoipa::path(get, path = "/v1/models", tag = "service", params(PageQuery),
    responses((status = 200, body = Page<KnownModel>)))]
async fn list_models(State(state): State<AppState>, Query(page): Query<PageRequest>) -> Result<Json<Page<KnownModel>>> {
    Ok(Json(page_of(state.services.sessions.known_models()?, page, |model| model.prefix)))
}

/// A page of a list in memory that is in the order of its names, which are its cursors.
fn page_of<T>(all: Vec<T>, page: PageRequest, name: impl Fn(&T) -> &str) -> Page<T> {
    let after = page.after.as_deref().unwrap_or_default();
    let rest = all.into_iter().filter(|one| name(one) > after).collect();
    Page::cut(rest, page.limit, |one| name(one).to_owned())
}
