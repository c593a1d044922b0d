//! What a compaction left in the tree: its summary, and the identifiers that it keeps.

use maud::{Markup, html};

use super::numbers::linked;
use crate::domain::compaction::result::CompactionResult;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};
use crate::service::compaction::Compaction;
use crate::service::core::error::Optional as _;
use crate::ui::fault::Result;
use crate::ui::format::percent;
use crate::ui::session::frame::home;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::{self, line};

/// Characters of the summary.
const CHARS: usize = 20_000;
/// Identifiers of one kind that are listed.
const MOST: usize = 60;

/// The compaction's entry, where it left one that is still there.
pub async fn read(ui: &Ui, viewer: &Viewer, one: &Compaction) -> Result<Option<CompactionRecord>> {
    let Some(entry) = one.result.as_ref().and_then(|result| result.entry_id) else { return Ok(None) };
    let entry = ui.services.queries.entry(viewer.tenant, one.session_id, entry).await.optional()?;
    Ok(entry.and_then(|entry| serde_json::from_str(entry.item.get()).ok()))
}

pub fn show(one: &Compaction, result: &CompactionResult, record: Option<&CompactionRecord>) -> Markup {
    let shown = record.and_then(|record| record.summary.as_deref()).or(result.summary.as_deref());
    html! {
        @if let Some(summary) = shown {
            section.card aria-labelledby="summary" {
                h2 #summary { "The summary, as the model sees it" }
                @let all = result.entry_id.map(|entry| format!("{}/entries/{entry}", home(one.session_id)));
                (visible::text_as(summary, CHARS, all.as_deref(), |shown| linked(shown, one.id)))
                (identifiers(result, record))
                (files("Changed", &result.details.modified_files))
                (files("Read", &result.details.read_files))
            }
        }
    }
}

fn identifiers(result: &CompactionResult, record: Option<&CompactionRecord>) -> Markup {
    let report = &result.identifiers;
    html! {
        @if report.found > 0 {
            h3 { "Identifiers, rules and requests" }
            p { (report.found) " found; the summary kept " (report.kept) " by itself (" (percent(report.recall)) "), "
                (report.restored) " were put back around it." }
            @if let Some(record) = record { (tracked(record)) }
        }
    }
}

/// Told apart by whether the summary's own words hold them.
fn tracked(record: &CompactionRecord) -> Markup {
    let body = record.summary_body.as_deref().unwrap_or_default();
    let whole = record.summary.as_deref().unwrap_or_default();
    let named = || record.identifiers.iter().filter(|one| one.kind != IdentifierKind::LeftOut);
    let kept: Vec<&TrackedIdentifier> = named().filter(|one| body.contains(&one.text)).collect();
    let restored: Vec<&TrackedIdentifier> =
        named().filter(|one| !body.contains(&one.text) && whole.contains(&one.text)).collect();
    html! {
        (list("In the summary's own words", &kept))
        (list("Put back around it", &restored))
    }
}

fn list(title: &str, identifiers: &[&TrackedIdentifier]) -> Markup {
    html! {
        @if !identifiers.is_empty() {
            details.plain {
                summary { (title) " (" (identifiers.len()) ")" }
                ul.plain.columns { @for one in identifiers.iter().take(MOST) { li { code { bdi { (line(one.shown(), 120)) } } } } }
                @if identifiers.len() > MOST { p.hint { (identifiers.len() - MOST) " more" } }
            }
        }
    }
}

fn files(title: &str, files: &[String]) -> Markup {
    html! {
        @if !files.is_empty() {
            details.plain {
                summary { (title) ": " (files.len()) " files" }
                ul.plain.columns { @for file in files.iter().take(MOST) { li { code { bdi { (line(file, 300)) } } } } }
                @if files.len() > MOST { p.hint { (files.len() - MOST) " more" } }
            }
        }
    }
}
