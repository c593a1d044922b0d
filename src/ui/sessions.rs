//! The list of sessions.

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;

use super::fault::{Fault, Result};
use super::format::{count, when};
use super::layout::{Section, page};
use super::parts::{badge, choice, fill_bar, pager};
use super::query::{Asked, given, list_page, parsed};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::{line, name};
use super::words;
use crate::domain::model::metadata::MetadataValue;
use crate::domain::tokens::accounting::FillState;
use crate::service::sessions::find::SessionOrder;
use crate::service::sessions::lines::{SessionLine, SessionSearch};

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/sessions", get(list))
}

#[derive(Deserialize)]
struct Search {
    q: Option<String>,
    state: Option<String>,
    guard: Option<String>,
    /// `key=value`
    metadata: Option<String>,
    order: Option<String>,
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
    let metadata = given(asked.metadata.as_deref())?;
    let order: SessionOrder = parsed("order", asked.order.as_deref())?.unwrap_or_default();
    let after = given(asked.after.as_deref())?;
    let search = SessionSearch {
        text: text.map(str::to_owned),
        state,
        guard_tripped: guard.is_some(),
        metadata: metadata.map(value_of).transpose()?.into_iter().collect(),
        order,
    };
    let found = ui.services.queries.session_lines(viewer.tenant, search, list_page(after)).await?;
    let word = state.map_or("", Into::into);
    let is_search = text.is_some() || state.is_some() || guard.is_some() || metadata.is_some();
    let by = if order == SessionOrder::default() { "" } else { order.into() };
    let params = [
        ("q", text.unwrap_or_default()),
        ("state", word),
        ("guard", guard.map_or("", Into::into)),
        ("metadata", metadata.unwrap_or_default()),
        ("order", by),
    ];
    let main = html! {
        div.head { h1 { "Sessions" } }
        form.filters method="get" action="/ui/sessions" role="search" {
            label { "Search "
                input type="search" name="q" value=(line(text.unwrap_or_default(), 512)) maxlength="512" data-search
                    placeholder="id, external id or title";
            }
            (choice("state", "State", state))
            (choice("guard", "Guard", guard))
            label { "Metadata "
                input type="text" name="metadata" value=(line(metadata.unwrap_or_default(), 1_600)) maxlength="1600"
                    placeholder="key=value";
            }
            label { "Order "
                select name="order" {
                    @for (word, told) in ORDERS {
                        option value=(word) selected[word == by] { (told) }
                    }
                }
            }
            button type="submit" { "Search" }
            @if is_search || !by.is_empty() { a href="/ui/sessions" { "Clear" } }
        }
        div.card {
            @if found.items.is_empty() {
                p.empty { (nothing(is_search, found.next_cursor.is_some())) }
            } @else {
                (table(&found.items, order))
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

/// What a list can be sorted by; the first is the default.
const ORDERS: [(&str, &str); 3] = [("", "newest first"), ("activity", "last active first"), ("size", "largest first")];

fn value_of(text: &str) -> Result<MetadataValue> {
    let (key, value) = text.split_once('=').ok_or_else(|| Fault::invalid("Metadata are asked for as key=value."))?;
    Ok(MetadataValue { key: key.to_owned(), value: value.to_owned() })
}

fn table(lines: &[SessionLine], order: SessionOrder) -> Markup {
    html! {
        div.scroll {
            table {
                caption.sr { "Sessions, " (ORDERS.iter().find(|(word, _)| *word == <&str>::from(order)).map_or(ORDERS[0].1, |(_, told)| told)) }
                thead { tr {
                    th scope="col" { "Session" }
                    th.aside scope="col" { "External id" }
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
            td.wide.aside { @if let Some(id) = &line.external_id { (name(id)) } }
            td {
                (badge(state))
                @if snapshot.anti_thrash.tripped { " " span.badge.fair title=(words::guard(snapshot.anti_thrash.tripped_by)) { "◆ guard" } }
            }
            td { (fill_bar(snapshot.tokens.try_into().unwrap_or(i64::MAX), i64::from(snapshot.window), state)) }
            td.num { (count(line.entry_count)) }
            td { @if let Some(model) = &line.model { (name(model)) } }
            td.nowrap { (when(line.updated_at)) }
        }
    }
}
