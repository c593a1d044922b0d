//! A session's settings: a form, what a compaction would do with it, and saving it.

mod fields;

use axum::extract::State;
use axum::response::{Html, Redirect};
use maud::{Markup, html};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::domain::settings::Settings;
use crate::service::compaction::prepare::PrepareRequest;
use crate::service::sessions::SessionPatch;
use crate::ui::fault::Result;
use crate::ui::layout::{Section, page};
use crate::ui::parts::post;
use crate::ui::query::{Ids, Sent};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::refused;

use super::actions::back;
use super::frame::{self, Wanted, answer, home};
use super::prepared;
use fields::FIELDS;

pub async fn show(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let session = ui.services.queries.session(viewer.tenant, id).await?;
    let path = format!("{}/settings", home(id));
    let now = values(&session.settings);
    let main = html! {
        (frame::assets())
        p.crumbs { a href=(home(id)) { "« Session" } }
        div.head { h1 { "Settings of the session" } }
        div.grid {
            section.card aria-labelledby="form-title" {
                h2 #form-title { "Settings" }
                p.hint { "What is left empty goes back to its default. Only what is changed here is saved." }
                div.stacked-form data-settings data-preview-path=(format!("{path}/preview")) {
                    (post(&viewer, &path, form(&now, &path)))
                }
            }
            section.card aria-labelledby="preview-title" {
                h2 #preview-title { "What a compaction would do" }
                div #prepared aria-live="polite" { p.hint { "Change a setting, or ask for the preview." } }
            }
        }
    };
    Ok(page(&viewer, Section::Sessions, "Settings", main))
}

fn form(now: &Map<String, Value>, path: &str) -> Markup {
    html! {
        div hx-post=(format!("{path}/preview")) hx-trigger="change delay:300ms" hx-include="closest form" hx-target="#prepared" {
            @for field in &FIELDS { (field.input(now.get(field.name).unwrap_or(&Value::Null))) }
        }
        div.row {
            button.primary type="submit" { "Save" }
            button type="submit" formaction=(format!("{path}/preview")) hx-post=(format!("{path}/preview")) hx-target="#prepared" { "Preview" }
        }
    }
}

fn values(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(values)) => values,
        _ => Map::new(),
    }
}

type Form = BTreeMap<String, String>;

/// What the form changes.
async fn patch(ui: &Ui, viewer: &Viewer, id: Uuid, form: &Form) -> Result<Map<String, Value>> {
    let now = values(&ui.services.queries.session(viewer.tenant, id).await?.settings);
    let mut patch = Map::new();
    for field in &FIELDS {
        let Some(text) = form.get(field.name) else { continue };
        let value = field.read(text)?;
        if !fields::same(&value, now.get(field.name).unwrap_or(&Value::Null)) {
            patch.insert(field.name.to_owned(), value);
        }
    }
    Ok(patch)
}

pub async fn preview(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Sent(form): Sent<Form>,
) -> Result<Html<String>> {
    let settings = patch(&ui, &viewer, id, &form).await?;
    let request = PrepareRequest { settings, ..PrepareRequest::default() };
    let forecast = ui.services.sessions.prepare(viewer.tenant, id, request).await.map_err(refused)?;
    Ok(answer(&wanted, &viewer, id, "What a compaction would do", prepared::show(id, &forecast)))
}

pub async fn save(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids(id): Ids<Uuid>,
    Sent(form): Sent<Form>,
) -> Result<Redirect> {
    let settings = patch(&ui, &viewer, id, &form).await?;
    if settings.is_empty() {
        return Ok(back(id, "unchanged"));
    }
    let change = SessionPatch { settings: Some(settings), ..SessionPatch::default() };
    ui.services.sessions.patch_session(viewer.tenant, id, change).await.map_err(refused)?;
    Ok(back(id, "settings"))
}
