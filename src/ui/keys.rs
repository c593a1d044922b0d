//! The tenant's keys: listed, made, rotated and revoked by a login whose key has the scope `admin`.

mod change;

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use strum::VariantArray;

use super::fault::Result;
use super::format::when;
use super::layout::{Section, page};
use super::parts::{badge, careful_button, pager, post as form};
use super::query::{Asked, given, list_page};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::name;
use crate::service::core::access::Scope;
use crate::service::ops::keys::{Key, KeyStatus, MOST_DAYS, MOST_PER_MINUTE, USUAL_GRACE};

pub fn routes() -> Router<Ui> {
    Router::new()
        .route("/ui/keys", get(list).post(change::create))
        .route("/ui/keys/{id}/rotate", post(change::rotate))
        .route("/ui/keys/{id}/revoke", post(change::revoke))
}

#[derive(Deserialize)]
struct Place {
    after: Option<String>,
}

async fn list(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Place>) -> Result<Html<String>> {
    let after = given(asked.after.as_deref())?;
    let found = ui.services.keys.of_tenant(viewer.tenant, list_page(after)).await?;
    let main = html! {
        div.head { h1 { "Keys" } }
        (making(&viewer))
        section.card aria-labelledby="keys" {
            h2 id="keys" { "Keys of this tenant" }
            @if found.items.is_empty() {
                p.empty { "This tenant has no key." @if !viewer.is_logged_in { " Without keys (" code { "--dev" } ") none is needed." } }
            } @else {
                (table(&viewer, &found.items))
            }
            (pager("/ui/keys", &[], after, found.next_cursor.as_deref()))
            p.hint { "A key that has ended opens nothing within ten seconds, and ends its logins here at once." }
        }
    };
    Ok(page(&viewer, Section::Keys, "Keys", main))
}

fn making(viewer: &Viewer) -> Markup {
    let fields = html! {
        label { "Name" input type="text" name="name" required maxlength="512" autocomplete="off"; }
        fieldset {
            legend { "Scopes" }
            @for scope in Scope::VARIANTS {
                label.choice {
                    input type="checkbox" name=(scope.into_str()) checked[*scope == Scope::Read];
                    " " (scope.into_str()) span.dim { " " (meaning(*scope)) }
                }
            }
        }
        label { "Ends after, in days" input type="number" name="days" min="1" max=(MOST_DAYS) placeholder="never"; }
        label { "Requests a minute, at each process"
            input type="number" name="per_minute" min="1" max=(MOST_PER_MINUTE) placeholder="no limit";
        }
        button type="submit" { "Make a key" }
    };
    html! {
        section.card.spaced aria-labelledby="make" {
            h2 id="make" { "Make a key" }
            div.making { (form(viewer, "/ui/keys", fields)) }
        }
    }
}

fn meaning(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "sees everything, changes nothing",
        Scope::Write => "changes sessions and hooks; includes read",
        Scope::Admin => "manages keys; includes write",
    }
}

fn table(viewer: &Viewer, keys: &[Key]) -> Markup {
    html! {
        div.scroll { table {
            caption.sr { "Keys of this tenant, newest first" }
            thead { tr {
                @for head in ["Name", "Id", "State", "Scopes", "Limit", "Made", "Ends", "Last used", ""] {
                    th scope="col" { @if head.is_empty() { span.sr { "Do" } } @else { (head) } }
                }
            } }
            tbody { @for key in keys { (row(viewer, key)) } }
        } }
    }
}

fn row(viewer: &Viewer, key: &Key) -> Markup {
    let ended_at = key.revoked_at.or(key.expires_at);
    html! {
        tr {
            th.wide scope="row" { (name(&key.name)) }
            td { code { (key.id) } }
            td { (badge(key.status.into_str())) @if viewer.access.key_id == Some(key.id) { br; span.dim { "this login's" } } }
            td { (key.scopes.words().join(", ")) }
            td.nowrap { @if let Some(limit) = key.limits.requests_per_minute { (limit) " a minute" } }
            td.nowrap { (when(key.created_at)) }
            td.nowrap { @if let Some(at) = ended_at { (when(at)) } @else { span.dim { "never" } } }
            td.nowrap { @if let Some(at) = key.last_used_at { (when(at)) } @else { span.dim { "never" } } }
            td { (doing(viewer, key)) }
        }
    }
}

fn doing(viewer: &Viewer, key: &Key) -> Markup {
    let label = key.name.chars().take(40).collect::<String>();
    let is_ended = matches!(key.status, KeyStatus::Revoked | KeyStatus::Expired);
    html! {
        @if key.status == KeyStatus::Active {
            div.nowrap { (form(viewer, &format!("/ui/keys/{}/rotate", key.id), html! {
                label { span.sr { "The old key " (name(&label)) " goes on for" }
                    select name="grace" {
                        @for (seconds, told) in change::GRACES {
                            option value=(seconds) selected[seconds == USUAL_GRACE.as_secs()] { (told) }
                        }
                    }
                }
                " " button type="submit" { "Rotate" }
            })) }
        }
        @if !is_ended {
            (careful_button(viewer, &format!("/ui/keys/{}/revoke", key.id), "Revoke",
                "Whoever uses this key is refused from then on. It can't be taken back."))
        }
    }
}
