//! The list of compactions, and what can be done with those that failed.

use axum::Router;
use axum::extract::State;
use axum::response::{Html, Redirect};
use axum::routing::{get, post};
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use super::fault::{Fault, Result};
use super::format::{cost, duration_ms, percent, short, unknown, when};
use super::layout::{Section, page};
use super::parts::{badge, button, choice, pager};
use super::query::{Asked, Ids, given, list_page, parsed};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::line;
use crate::domain::compaction::result::CompactionSpending;
use crate::service::compaction::{Compaction, CompactionFilter, PurgeRequest, Status};
use crate::service::core::clock;

/// How often a thousand failed compactions are forgotten at a press of the button.
const MOST_PURGES: usize = 20;

pub fn routes() -> Router<Ui> {
    Router::new()
        .route("/ui/compactions", get(list))
        .route("/ui/compactions/purge", post(purge))
        .route("/ui/compactions/{id}/retry", post(retry))
}

#[derive(Deserialize)]
struct Filters {
    status: Option<String>,
    trigger: Option<String>,
    strategy: Option<String>,
    skip_reason: Option<String>,
    upstream: Option<String>,
    /// `true` or `false`.
    prepared: Option<String>,
    /// A time, or so many hours ago: `24h`.
    since: Option<String>,
    session: Option<String>,
    after: Option<String>,
}

async fn list(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Filters>) -> Result<Html<String>> {
    let since = given(asked.since.as_deref())?;
    let filter = CompactionFilter {
        session_id: parsed("session", asked.session.as_deref())?,
        status: parsed("status", asked.status.as_deref())?,
        trigger: parsed("trigger", asked.trigger.as_deref())?,
        strategy: parsed("strategy", asked.strategy.as_deref())?,
        skip_reason: parsed("reason", asked.skip_reason.as_deref())?,
        upstream: given(asked.upstream.as_deref())?.map(str::to_owned),
        since: since.map(time).transpose()?,
        prepared: parsed("prepared", asked.prepared.as_deref())?,
    };
    let after = given(asked.after.as_deref())?;
    let found = ui.services.sessions.compactions_like(viewer.tenant, filter.clone(), list_page(after)).await?;
    let session = filter.session_id.map(|id| id.to_string()).unwrap_or_default();
    let params = [
        ("status", filter.status.map_or("", Into::into)),
        ("trigger", filter.trigger.map_or("", Into::into)),
        ("strategy", filter.strategy.map_or("", Into::into)),
        ("skip_reason", filter.skip_reason.map_or("", Into::into)),
        ("upstream", filter.upstream.as_deref().unwrap_or_default()),
        ("prepared", filter.prepared.map_or("", |prepared| if prepared { "true" } else { "false" })),
        ("since", since.unwrap_or_default()),
        ("session", session.as_str()),
    ];
    let main = html! {
        div.head { h1 { "Compactions" } }
        (filters(&filter, since))
        div.card {
            @if found.items.is_empty() {
                p.empty { "No compaction fits." }
            } @else {
                (table(&viewer, &found.items, filter.session_id.is_none()))
            }
            (pager("/ui/compactions", &params, after, found.next_cursor.as_deref()))
        }
    };
    Ok(page(&viewer, Section::Compactions, "Compactions", main))
}

/// A time in RFC 3339, as a browser's field gives it (UTC), or as `24h`: hours ago.
fn time(text: &str) -> Result<DateTime<Utc>> {
    let hours = || text.strip_suffix('h')?.parse().ok().filter(|hours| (1..=87_600).contains(hours));
    let ago = || hours().map(|hours| clock::now() - TimeDelta::hours(hours));
    let exact = || DateTime::parse_from_rfc3339(text).ok().map(|at| at.to_utc());
    // Years of four digits: others may be none to PostgreSQL.
    let local = || {
        NaiveDateTime::parse_from_str(text.get(..16).filter(|_| text.len() == 16)?, "%Y-%m-%dT%H:%M")
            .ok()
            .map(|at| at.and_utc())
    };
    let found = ago().or_else(exact).or_else(local);
    found.ok_or_else(|| Fault::invalid("`since` must be a time, or hours as 24h."))
}

fn filters(filter: &CompactionFilter, since: Option<&str>) -> Markup {
    let is_empty = filter.session_id.is_none()
        && filter.status.is_none()
        && filter.trigger.is_none()
        && filter.strategy.is_none()
        && filter.skip_reason.is_none()
        && filter.upstream.is_none()
        && filter.prepared.is_none()
        && since.is_none();
    html! {
        form.filters method="get" action="/ui/compactions" {
            (choice("status", "Status", filter.status))
            (choice("trigger", "Trigger", filter.trigger))
            (choice("strategy", "Strategy", filter.strategy))
            (choice("skip_reason", "Skipped because", filter.skip_reason))
            label { "Upstream "
                input name="upstream" maxlength="1000" placeholder="any" value=(filter.upstream.as_deref().map(|name| line(name, 1_000)).unwrap_or_default());
            }
            label { "Prepared "
                select name="prepared" {
                    @for (value, label, is_chosen) in [
                        ("", "or not", filter.prepared.is_none()),
                        ("true", "waits for red", filter.prepared == Some(true)),
                        ("false", "not", filter.prepared == Some(false)),
                    ] {
                        option value=(value) selected[is_chosen] { (label) }
                    }
                }
            }
            label { "Since "
                select name="since" {
                    @let periods = [("", "any time"), ("1h", "1 hour"), ("24h", "24 hours"), ("168h", "7 days"), ("720h", "30 days")];
                    @for (value, label) in periods {
                        option value=(value) selected[since.unwrap_or_default() == value] { (label) }
                    }
                    @if let Some(other) = since.filter(|since| !periods.iter().any(|(value, _)| value == since)) {
                        option value=(other) selected { (line(other, 40)) }
                    }
                }
            }
            @if let Some(id) = filter.session_id { input type="hidden" name="session" value=(id); }
            button type="submit" { "Filter" }
            @if !is_empty { a href="/ui/compactions" { "Clear" } }
        }
        @if let Some(id) = filter.session_id { p.hint { "Of the session " a href={ "/ui/sessions/" (id) } { code { (id) } } } }
    }
}

/// Compactions as rows; `with_session` where they are of several.
pub fn table(viewer: &Viewer, items: &[Compaction], with_session: bool) -> Markup {
    html! {
        div.scroll {
            table {
                caption.sr { "Compactions, newest first" }
                thead { tr {
                    th scope="col" { "Asked for" }
                    @if with_session { th scope="col" { "Session" } }
                    th scope="col" { "Status" }
                    th scope="col" { "Trigger" }
                    th scope="col" { "Strategy" }
                    th.num scope="col" { "Tokens before" }
                    th.num scope="col" { "After" }
                    th.num scope="col" { "Saved" }
                    th.num scope="col" { "Cost" }
                    th.num scope="col" { "Took" }
                    th scope="col" { "Note" }
                } }
                tbody data-rows { @for one in items { (row(viewer, one, with_session)) } }
            }
        }
    }
}

fn row(viewer: &Viewer, one: &Compaction, with_session: bool) -> Markup {
    let before = one.snapshot_before.as_ref().map(|snapshot| snapshot.tokens);
    let result = one.result.as_ref();
    let took = one.started_at.zip(one.finished_at).map(|(from, to)| (to - from).num_milliseconds());
    html! {
        tr {
            th.nowrap scope="row" { a href={ "/ui/compactions/" (one.id) } { (when(one.created_at)) } }
            @if with_session { td { a href={ "/ui/sessions/" (one.session_id) } { (short_id(one.session_id)) } } }
            td { (badge(one.status.into_str())) @if one.prepared { " " span.badge.calm { "prepared" } } @if one.reverted_at.is_some() { " " span.badge.calm { "↺ reverted" } } }
            td { (one.trigger.into_str()) }
            td { (result.map_or(one.strategy, |result| result.strategy_used).into_str()) }
            td.num { @match before { Some(tokens) => (short(whole(tokens))), None => (unknown("it has not begun")) } }
            @match result.filter(|_| one.status == Status::Succeeded) {
                Some(result) => {
                    td.num { (short(whole(result.tokens_after))) }
                    td.num { (percent(result.savings_pct / 100.0)) }
                }
                None => { td.num { "" } td.num { "" } }
            }
            // Whatever became of it, its calls were made.
            td.num { (spent(&one.spent)) }
            td.num { @if let Some(took) = took { (duration_ms(took as f64)) } }
            td.wide { (note(viewer, one)) }
        }
    }
}

fn spent(spent: &CompactionSpending) -> Markup {
    if spent.calls == 0 {
        return html! {};
    }
    cost(spent.cost_usd, whole(spent.input_tokens), true)
}

fn note(viewer: &Viewer, one: &Compaction) -> Markup {
    let reason = one.result.as_ref().and_then(|result| result.skip_reason);
    let stood_in = one.result.as_ref().filter(|result| result.fallback.used);
    html! {
        div.row.spread { div {
        @if let Some(reason) = reason { span.dim { (reason.into_str()) } }
        @if let Some(error) = &one.error { bdi.dim { (line(error, 160)) } " " }
        @if let Some(result) = stood_in { span.fair { "another wrote the summary: " (line(result.fallback.reason.as_deref().unwrap_or("unknown"), 60)) } }
        }
        @if one.status == Status::Failed { (button(viewer, &format!("/ui/compactions/{}/retry", one.id), "Retry")) }
        }
    }
}

/// The first and last digits of an id: the first are of the time, the last tell it from others.
pub fn short_id(id: Uuid) -> Markup {
    let text = id.to_string();
    html! { code title=(text) { (&text[..8]) "…" (&text[text.len() - 6..]) } }
}

fn whole(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

async fn retry(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Redirect> {
    ui.services.sessions.retry_compaction(viewer.tenant, id).await?;
    Ok(Redirect::to(&format!("/ui/compactions/{id}")))
}

#[derive(Deserialize)]
struct Purge {
    /// Those that failed after the page was drawn are not forgotten.
    before: String,
}

async fn purge(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Purge>) -> Result<Redirect> {
    let before = Some(time(&asked.before)?);
    for _ in 0..MOST_PURGES {
        let request = PurgeRequest { session_id: None, before };
        if !ui.services.sessions.purge_compactions(viewer.tenant, request).await?.more {
            break;
        }
    }
    Ok(Redirect::to("/ui"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_as_links_and_fields_give_them() {
        assert_eq!(time("2026-11-24T02:00:00Z").unwrap(), time("2026-11-24T02:00").unwrap());
        assert!(time("24h").unwrap() < clock::now());
        for odd in ["yesterday", "h", "-1h", "0h", "999999999999h", "24", "+99999-01-01T00:00"] {
            assert!(time(odd).is_err(), "{odd}");
        }
    }
}
