//! Hooks, and what was sent to them.

use axum::Router;
use axum::extract::State;
use axum::response::{Html, Redirect};
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use super::compactions::short_id;
use super::fault::Result;
use super::format::{duration_ms, when};
use super::layout::{Section, page};
use super::parts::{badge, button, pager};
use super::query::{Asked, Ids, given, list_page};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::{TEXT, line, name, text};
use crate::service::hooks::{Delivery, Hook};

pub fn routes() -> Router<Ui> {
    Router::new()
        .route("/ui/hooks", get(list))
        .route("/ui/hooks/{id}", get(show))
        .route("/ui/hooks/{id}/deliveries/{delivery}/redeliver", post(redeliver))
}

#[derive(Deserialize)]
struct Place {
    after: Option<String>,
}

async fn list(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Place>) -> Result<Html<String>> {
    let after = given(asked.after.as_deref())?;
    let found = ui.services.hooks.list(viewer.tenant, list_page(after)).await?;
    let main = html! {
        div.head { h1 { "Hooks" } }
        div.card {
            @if found.items.is_empty() {
                p.empty { "No hook is registered. " code { "POST /v1/hooks" } " registers one." }
            } @else {
                (table(&found.items))
            }
            (pager("/ui/hooks", &[], after, found.next_cursor.as_deref()))
        }
    };
    Ok(page(&viewer, Section::Hooks, "Hooks", main))
}

fn table(hooks: &[Hook]) -> Markup {
    html! {
        div.scroll { table {
            caption.sr { "Hooks, in the order in which they are asked" }
            thead { tr {
                @for head in ["Address", "State", "Events", "On error", "Time", "Changed"] { th scope="col" { (head) } }
            } }
            tbody data-rows { @for hook in hooks {
                tr {
                    th.wide scope="row" { a href={ "/ui/hooks/" (hook.id) } { (name(&hook.url)) } }
                    td { (state(hook)) }
                    td.wide { (events(hook)) }
                    td { (hook.on_error.into_str()) }
                    td.nowrap { (duration_ms(f64::from(hook.timeout_ms))) }
                    td.nowrap { (when(hook.updated_at)) }
                }
            } }
        } }
    }
}

fn state(hook: &Hook) -> Markup {
    badge(if hook.enabled { "enabled" } else { "disabled" })
}

fn events(hook: &Hook) -> String {
    hook.events.iter().map(|event| event.into_str()).collect::<Vec<_>>().join(", ")
}

async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<Place>,
) -> Result<Html<String>> {
    let after = given(asked.after.as_deref())?;
    let hook = ui.services.hooks.get(viewer.tenant, id).await?;
    let log = ui.services.hooks.deliveries(viewer.tenant, id, list_page(after)).await?;
    let main = html! {
        div.head { h1 { "Hook " (name(&hook.url)) } (state(&hook)) }
        div.card.spaced {
            dl.facts {
                dt { "Id" } dd { code { (hook.id) } }
                dt { "Events" } dd { (events(&hook)) }
                dt { "On error" } dd { (hook.on_error.into_str()) }
                dt { "Time for an attempt" } dd { (duration_ms(f64::from(hook.timeout_ms))) }
                dt { "Registered" } dd { (when(hook.created_at)) }
            }
        }
        section.card aria-labelledby="log" {
            h2 id="log" { "Deliveries" }
            @if log.items.is_empty() {
                p.empty { "Nothing was sent to it yet, or the log was cleared by its age." }
            } @else {
                (deliveries(&viewer, id, &log.items))
            }
            (pager(&format!("/ui/hooks/{id}"), &[], after, log.next_cursor.as_deref()))
        }
    };
    Ok(page(&viewer, Section::Hooks, "Hook", main))
}

fn deliveries(viewer: &Viewer, hook: Uuid, log: &[Delivery]) -> Markup {
    html! {
        div.scroll { table {
            caption.sr { "Deliveries, newest first" }
            thead { tr {
                @for head in ["Sent", "Event", "Session", "Status", "Attempts", "Answer", "Took", ""] {
                    th scope="col" { @if head.is_empty() { span.sr { "Do" } } @else { (head) } }
                }
            } }
            tbody data-rows { @for one in log { (delivery(viewer, hook, one)) } }
        } }
    }
}

fn delivery(viewer: &Viewer, hook: Uuid, one: &Delivery) -> Markup {
    html! {
        tr {
            th.nowrap scope="row" { (when(one.created_at)) }
            td { (one.event) }
            td {
                a href={ "/ui/sessions/" (one.session_id) } { (short_id(one.session_id)) }
                @if let Some(id) = one.compaction_id { br; a href={ "/ui/compactions/" (id) } { "compaction" } }
            }
            td {
                (badge(&one.status))
                @if let Some(outcome) = &one.outcome { br; span.dim title=[one.outcome_detail.as_deref().map(|why| line(why, 300))] { (outcome) } }
            }
            td.num { (one.attempts) @if let Some(next) = one.next_attempt_at { br; span.dim { "next " (when(next)) } } }
            td.wide {
                @if let Some(status) = one.response_status { (status) " " }
                @if let Some(error) = &one.error { bdi.bad { (line(error, 200)) } }
                @if let Some(answer) = one.response.as_deref().filter(|answer| !answer.is_empty()) {
                    details { summary { "its text" } (text(answer, TEXT, None)) }
                }
            }
            td.nowrap.num { @if let Some(ms) = one.duration_ms { (duration_ms(ms as f64)) } }
            td {
                @if one.finished_at.is_some() {
                    (button(viewer, &format!("/ui/hooks/{hook}/deliveries/{}/redeliver", one.id), "Redeliver"))
                }
            }
        }
    }
}

async fn redeliver(State(ui): State<Ui>, viewer: Viewer, Ids((hook, id)): Ids<(Uuid, Uuid)>) -> Result<Redirect> {
    ui.services.hooks.redeliver(viewer.tenant, hook, id).await?;
    Ok(Redirect::to(&format!("/ui/hooks/{hook}")))
}
