//! What can be done about a session. Each action answers with the way back, which says what happened.

use axum::extract::State;
use axum::response::{Html, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value};
use strum::VariantArray;
use uuid::Uuid;

use crate::domain::model::strategy::Strategy;
use crate::service::compaction::CompactRequest;
use crate::service::compaction::prepare::PrepareRequest;
use crate::service::sessions::Session;
use crate::ui::fault::{Fault, Result};
use crate::ui::parts::post;
use crate::ui::query::{Ids, Sent, parsed};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::{self, refused};

use super::frame::{Wanted, answer, home};
use super::prepared;

/// As in the API.
const MOST_TOPIC_CHARS: usize = 1_000;
const MOST_PROSE_CHARS: usize = 20_000;

/// Compact now, with a look ahead.
pub fn card(viewer: &Viewer, session: &Session) -> Markup {
    let path = home(session.id);
    let fields = html! {
        label { "Strategy"
            select name="strategy" {
                option value="" { "the session's" }
                @for strategy in Strategy::VARIANTS {
                    @let word: &str = (*strategy).into();
                    option value=(word) { (word) ": " (words::strategy(*strategy)) }
                }
            }
        }
        label { "Focus" input name="focus" maxlength=(MOST_TOPIC_CHARS) placeholder="what the summary should look at"; }
        label { "Instructions" textarea name="instructions" rows="2" maxlength=(MOST_PROSE_CHARS) {} }
        label.check { input type="checkbox" name="force" value="yes"; " Pass the guard" }
        div.row {
            button.primary type="submit" { "Compact now" }
            button type="submit" formaction=(format!("{path}/prepare")) data-preview
                hx-post=(format!("{path}/prepare")) hx-target="#prepared" { "Preview" }
        }
    };
    html! {
        section.card aria-labelledby="compact-title" {
            h2 #compact-title { "Compact" }
            div.stacked-form { (post(viewer, &format!("{path}/compact"), fields)) }
            div #prepared aria-live="polite" {}
        }
    }
}

#[derive(Deserialize)]
pub struct Asked {
    strategy: Option<String>,
    focus: Option<String>,
    instructions: Option<String>,
    force: Option<String>,
}

impl Asked {
    fn strategy(&self) -> Result<Option<Strategy>> {
        parsed("strategy", self.strategy.as_deref())
    }

    fn focus(&self) -> Result<Option<String>> {
        text("focus", self.focus.as_deref(), MOST_TOPIC_CHARS)
    }

    fn instructions(&self) -> Result<Option<String>> {
        text("instructions", self.instructions.as_deref(), MOST_PROSE_CHARS)
    }
}

/// A text of a form; one left empty is none.
pub fn text(name: &str, text: Option<&str>, most: usize) -> Result<Option<String>> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.contains('\0') || text.chars().count() > most {
        return Err(Fault::invalid(format!("The {name} must have at most {most} characters, and none of them NUL.")));
    }
    Ok(Some(text.to_owned()))
}

pub async fn compact(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids(id): Ids<Uuid>,
    Sent(asked): Sent<Asked>,
) -> Result<Redirect> {
    let request = CompactRequest {
        strategy: asked.strategy()?,
        focus_topic: asked.focus()?,
        instructions: asked.instructions()?,
        force: asked.force.is_some(),
        ..CompactRequest::default()
    };
    ui.services.sessions.compact(viewer.tenant, id, request, None).await.map_err(refused)?;
    Ok(back(id, "compacting"))
}

/// What that would do.
pub async fn prepare(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Sent(asked): Sent<Asked>,
) -> Result<Html<String>> {
    let mut settings: Map<String, Value> = Map::new();
    if let Some(strategy) = asked.strategy()? {
        let word: &str = strategy.into();
        settings.insert("strategy".to_owned(), word.into());
    }
    for (name, text) in [("focus_topic", asked.focus()?), ("instructions", asked.instructions()?)] {
        settings.extend(text.map(|text| (name.to_owned(), Value::String(text))));
    }
    let request = PrepareRequest { settings, ..PrepareRequest::default() };
    let forecast = ui.services.sessions.prepare(viewer.tenant, id, request).await.map_err(refused)?;
    Ok(answer(&wanted, &viewer, id, "What a compaction would do", prepared::show(id, &forecast)))
}

pub async fn reset_guard(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Redirect> {
    ui.services.sessions.reset_anti_thrash(viewer.tenant, id).await.map_err(refused)?;
    Ok(back(id, "guard"))
}

#[derive(Deserialize)]
pub struct Label {
    label: Option<String>,
}

pub async fn label(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids((id, entry)): Ids<(Uuid, Uuid)>,
    Sent(sent): Sent<Label>,
) -> Result<Redirect> {
    let label = text("label", sent.label.as_deref(), MOST_TOPIC_CHARS)?;
    let done = if label.is_some() { "labelled" } else { "unlabelled" };
    ui.services.sessions.set_label(viewer.tenant, id, entry, label).await.map_err(refused)?;
    Ok(Redirect::to(&format!("{}/entries/{entry}?done={done}", home(id))))
}

pub async fn fork(State(ui): State<Ui>, viewer: Viewer, Ids((id, entry)): Ids<(Uuid, Uuid)>) -> Result<Redirect> {
    let fork = ui.services.sessions.fork_session(viewer.tenant, id, Some(entry)).await.map_err(refused)?;
    Ok(back(fork.id, "forked"))
}

/// The session's page, which says what was done.
pub fn back(session: Uuid, done: &str) -> Redirect {
    Redirect::to(&format!("{}?done={done}", home(session)))
}
