//! The tenant's keys, to be read: they are made and revoked at the command line.

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use maud::{Markup, html};

use super::fault::Result;
use super::format::when;
use super::layout::{Section, page};
use super::parts::badge;
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::name;
use crate::service::ops::keys::KeyRow;

/// Keys shown.
const MOST: i64 = 200;

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/keys", get(list))
}

async fn list(State(ui): State<Ui>, viewer: Viewer) -> Result<Html<String>> {
    let keys = ui.services.keys.of_tenant(viewer.tenant, MOST).await?;
    let main = html! {
        div.head { h1 { "Keys" } }
        div.card {
            @if keys.is_empty() {
                p.empty { "This tenant has no key." @if !viewer.is_logged_in { " Without keys (" code { "--dev" } ") none is needed." } }
            } @else {
                (table(&keys))
            }
            p.hint { "Keys are made and revoked where the service runs: " code { "contextd keys create" } ", "
                code { "contextd keys revoke ID" } ". A revoked key ends its logins here at once." }
        }
    };
    Ok(page(&viewer, Section::Keys, "Keys", main))
}

fn table(keys: &[KeyRow]) -> Markup {
    html! {
        div.scroll { table {
            caption.sr { "Keys of this tenant, newest first" }
            thead { tr { @for head in ["Name", "Id", "State", "Made", "Revoked"] { th scope="col" { (head) } } } }
            tbody { @for key in keys {
                tr {
                    th.wide scope="row" { (name(&key.name)) }
                    td { code { (key.id) } }
                    td { (badge(if key.revoked_at.is_some() { "revoked" } else { "enabled" })) }
                    td.nowrap { (when(key.created_at)) }
                    td.nowrap { @if let Some(at) = key.revoked_at { (when(at)) } }
                }
            } }
        } }
    }
}
