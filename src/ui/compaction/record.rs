//! What a compaction left in the tree: its summary, and what it kept.

use maud::{Markup, html};

use super::numbers::linked;
use crate::domain::compaction::result::CompactionResult;
use crate::domain::model::compaction::CompactionRecord;
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
/// Files of one kind that are listed.
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
                (identifiers(result))
                (files("Changed", &result.details.modified_files))
                (files("Read", &result.details.read_files))
            }
        }
    }
}

fn identifiers(result: &CompactionResult) -> Markup {
    let report = &result.identifiers;
    html! {
        @if report.found > 0 {
            h3 { "Identifiers" }
            p { (report.found) " found; the summary kept " (report.kept) " by itself (" (percent(report.recall)) "), "
                (report.restored) " more stand beside it." }
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
