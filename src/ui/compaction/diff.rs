//! The context before a compaction and after it, side by side.

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::domain::context::diff::{Change, ChangeKind, ShownEntry};
use crate::service::compaction::Compaction;
use crate::service::compaction::diff::CompactionDiff;
use crate::service::core::page::PageRequest;
use crate::ui::fault::Result;
use crate::ui::format::{count, short};
use crate::ui::query::{Asked, Ids, given};
use crate::ui::session::frame::{self, Load, Wanted, answer, home};
use crate::ui::session::message;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::{signed, speaker};

const LIMIT: i64 = 40;

/// Its place on the compaction's page.
pub fn lazy(one: &Compaction) -> Markup {
    frame::lazy("diff", "Before and after", &path(one.id), "", Load::Revealed)
}

fn path(id: Uuid) -> String {
    format!("/ui/compactions/{id}/diff")
}

#[derive(Deserialize)]
pub struct PageQuery {
    after: Option<String>,
}

pub async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<PageQuery>,
) -> Result<Html<String>> {
    let after = given(asked.after.as_deref())?;
    let page = PageRequest { limit: LIMIT, after: after.map(str::to_owned) };
    let diff = ui.services.queries.compaction_diff(viewer.tenant, id, page).await?;
    let ids: HashSet<Uuid> = diff.before.iter().chain(&diff.after).map(|entry| entry.entry_id).collect();
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let openings = ui.services.queries.openings(viewer.tenant, diff.session_id, &ids).await?;
    let link = |place: &str, name: &str| {
        let path = if place.is_empty() { path(id) } else { format!("{}?after={place}", path(id)) };
        html! { a href=(path) hx-get=(path) hx-target="#diff-body" { (name) } }
    };
    let counts = &diff.counts;
    let body = html! {
        p { (count(signed(diff.messages_before))) " messages before, " (count(signed(diff.messages_after))) " after: "
            (counts.kept) " kept, " (counts.anchored) " kept before the cut, " (counts.elided) " shown shorter, "
            (counts.summarised) " summarised. " span.dim { "Their tokens are estimated." } }
        (table(&diff, &openings))
        nav.pager aria-label="Pages of the comparison" {
            @if after.is_some() { (link("", "« First")) }
            @if let Some(next) = &diff.next_cursor { (link(next, "Later »")) }
        }
    };
    Ok(answer(&wanted, &viewer, diff.session_id, "Before and after", body))
}

fn table(diff: &CompactionDiff, openings: &HashMap<Uuid, Value>) -> Markup {
    let changes: HashMap<Uuid, &Change> = diff.changes.iter().map(|change| (change.entry_id, change)).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Before and after" {
            table.diff {
                thead { tr { th scope="col" { "Before" } th.num scope="col" { "Tokens" } th scope="col" { "What became of it" }
                    th scope="col" { "After" } th.num scope="col" { "Tokens" } } }
                tbody data-rows {
                    @for (before, after) in rows(&diff.before, &diff.after) {
                        @let opening = before.or(after).and_then(|entry| openings.get(&entry.entry_id)).map(message::opening);
                        @let change = before.and_then(|before| changes.get(&before.entry_id).copied());
                        tr class=[change.map(|change| class(change.kind))] {
                            (side(diff.session_id, before, opening.as_deref()))
                            td.what { @match (change, after) {
                                (Some(change), _) => (told(change.kind)),
                                (None, _) => "new",
                            } }
                            (side(diff.session_id, after, opening.as_deref().filter(|_| before.is_none())))
                        }
                    }
                }
            }
        }
    }
}

/// Both sides in their order, an entry of both in one row.
fn rows<'e>(
    before: &'e [ShownEntry],
    after: &'e [ShownEntry],
) -> Vec<(Option<&'e ShownEntry>, Option<&'e ShownEntry>)> {
    let known: HashMap<Uuid, usize> = after.iter().enumerate().map(|(place, entry)| (entry.entry_id, place)).collect();
    let mut rows = Vec::with_capacity(before.len() + after.len());
    let mut next = 0;
    for entry in before {
        match known.get(&entry.entry_id).copied().filter(|place| *place >= next) {
            None => rows.push((Some(entry), None)),
            Some(place) => {
                rows.extend(after[next..place].iter().map(|new| (None, Some(new))));
                rows.push((Some(entry), after.get(place)));
                next = place + 1;
            }
        }
    }
    rows.extend(after[next..].iter().map(|new| (None, Some(new))));
    rows
}

/// `opening` is how the entry begins; where it stands on both sides, once is enough.
fn side(session: Uuid, entry: Option<&ShownEntry>, opening: Option<&str>) -> Markup {
    html! {
        @match entry {
            None => { td {} td.num {} }
            Some(entry) => {
                td { a href=(format!("{}/entries/{}", home(session), entry.entry_id)) { (speaker(entry.kind, entry.role)) }
                    @if entry.elided { " " span.dim { "shorter" } }
                    @if let Some(opening) = opening { span.opening { bdi { (opening) } } } }
                td.num { (short(signed(entry.tokens))) }
            }
        }
    }
}

fn class(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Kept => "kept",
        ChangeKind::Summarised => "summarised",
        ChangeKind::Elided => "elided",
        ChangeKind::Anchored => "anchored",
    }
}

fn told(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Kept => "kept",
        ChangeKind::Summarised => "summarised",
        ChangeKind::Elided => "shown shorter",
        ChangeKind::Anchored => "kept before the cut",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u128) -> ShownEntry {
        ShownEntry { entry_id: Uuid::from_u128(id), kind: "message", role: Some("user"), tokens: 1, elided: false }
    }

    #[test]
    fn what_is_on_both_sides_stands_in_one_row() {
        let (before, after) = ([1, 2, 3, 4].map(entry), [1, 9, 4].map(entry));
        let ids = |(before, after): &(Option<&ShownEntry>, Option<&ShownEntry>)| {
            (before.map(|one| one.entry_id.as_u128()), after.map(|one| one.entry_id.as_u128()))
        };
        let told: Vec<_> = rows(&before, &after).iter().map(ids).collect();
        assert_eq!(told, [(Some(1), Some(1)), (Some(2), None), (Some(3), None), (None, Some(9)), (Some(4), Some(4))]);
        assert_eq!(rows(&[], &after).len(), 3);
    }
}
