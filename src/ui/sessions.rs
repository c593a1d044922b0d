//! The list of sessions.

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;

use super::fault::Result;
use super::format::{count, when};
use super::layout::{Section, page};
use super::parts::{badge, choice, fill_bar, pager};
use super::query::{Asked, given, list_page, parsed};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::{line, name};
use crate::domain::tokens::accounting::FillState;
use crate::service::sessions::lines::{SessionLine, SessionSearch};

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/sessions", get(list))
}

#[derive(Deserialize)]
struct Search {
    q: Option<String>,
    state: Option<String>,
    guard: Option<String>,
    after: Option<String>,
}

/// A guard that sessions are looked for by.
#[derive(Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
enum GuardState {
    Tripped,
}

async fn list(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Search>) -> Result<Html<String>> {
    let text = given(asked.q.as_deref())?;
    let state: Option<FillState> = parsed("state", asked.state.as_deref())?;
    let guard: Option<GuardState> = parsed("guard", asked.guard.as_deref())?;
    let after = given(asked.after.as_deref())?;
    let search = SessionSearch { text: text.map(str::to_owned), state, guard_tripped: guard.is_some() };
    let found = ui.services.queries.session_lines(viewer.tenant, search, list_page(after)).await?;
    let word = state.map_or("", Into::into);
    let params = [("q", text.unwrap_or_default()), ("state", word), ("guard", guard.map_or("", Into::into))];
    let is_search = text.is_some() || state.is_some() || guard.is_some();
    let main = html! {
        div.head { h1 { "Sessions" } }
        form.filters method="get" action="/ui/sessions" role="search" {
            label { "Search "
                input type="search" name="q" value=(line(text.unwrap_or_default(), 512)) maxlength="512" data-search
                    placeholder="id, external id or title";
            }
            (choice("state", "State", state))
            (choice("guard", "Guard", guard))
            button type="submit" { "Search" }
            @if is_search { a href="/ui/sessions" { "Clear" } }
        }
        div.card {
            @if found.items.is_empty() {
                p.empty { (nothing(is_search, found.next_cursor.is_some())) }
            } @else {
                (table(&found.items))
            }
            (pager("/ui/sessions", &params, after, found.next_cursor.as_deref()))
        }
    };
    Ok(page(&viewer, Section::Sessions, "Sessions", main))
}

fn nothing(is_search: bool, has_more: bool) -> &'static str {
    match (is_search, has_more) {
        (_, true) => "Nothing among the 50,000 sessions that were looked at; there are older ones.",
        (true, false) => "No session fits.",
        (false, false) => "There is no session yet. The first POST to /v1/sessions makes one.",
    }
}

fn table(lines: &[SessionLine]) -> Markup {
    html! {
        div.scroll {
            table {
                caption.sr { "Sessions, newest first" }
                thead { tr {
                    th scope="col" { "Session" }
                    th scope="col" { "External id" }
                    th scope="col" { "State" }
                    th scope="col" { "Tokens in the window" }
                    th.num scope="col" { "Entries" }
                    th scope="col" { "Model" }
                    th scope="col" { "Last activity" }
                } }
                tbody data-rows { @for line in lines { (row(line)) } }
            }
        }
    }
}

fn row(line: &SessionLine) -> Markup {
    let snapshot = &line.snapshot;
    let state = snapshot.state.into_str();
    html! {
        tr {
            th.wide scope="row" {
                a href={ "/ui/sessions/" (line.id) } {
                    @match line.title.as_deref().filter(|title| !title.trim().is_empty()) {
                        Some(title) => (name(title)),
                        None => code { (line.id) },
                    }
                }
            }
            td.wide { @if let Some(id) = &line.external_id { (name(id)) } }
            td {
                (badge(state))
                @if snapshot.anti_thrash.tripped { " " span.badge.fair title="Compactions saved too little: no more of them until the context has grown" { "◆ guard" } }
            }
            td { (fill_bar(snapshot.tokens.try_into().unwrap_or(i64::MAX), i64::from(snapshot.window), state)) }
            td.num { (count(line.entry_count)) }
            td { @if let Some(model) = &line.model { (name(model)) } }
            td.nowrap { (when(line.updated_at)) }
        }
    }
}
