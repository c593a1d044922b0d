//! The text of a model that was refused as a summary.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use uuid::Uuid;

use crate::service::ops::calls::RefusedText;
use crate::ui::fault::Result;
use crate::ui::format::when;
use crate::ui::layout::{Section, page};
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible;

/// More than is ever kept.
const MOST_CHARS: usize = 64 << 10;

/// Where the text can be read.
pub fn link(refused: &RefusedText) -> Markup {
    html! {
        p.notice {
            "A text of " (visible::name(&refused.model)) " was refused (" code { (visible::name(&refused.reason)) } "): "
            a href={ "/ui/compactions/" (refused.compaction_id) "/refused" } { "read it" }
            ", until " (when(refused.expires_at)) "."
        }
    }
}

pub async fn show(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let refused = ui.services.calls.refused_text(viewer.tenant, id).await?;
    let main = html! {
        p.crumbs { a href={ "/ui/compactions/" (id) } { "« Compaction" } }
        div.head { h1 { "Refused text" } }
        p.hint {
            (visible::name(&refused.upstream)) ", " (visible::name(&refused.model)) " · refused " (when(refused.refused_at))
            " because of " code { (visible::name(&refused.reason)) } " · kept until " (when(refused.expires_at))
        }
        @if refused.truncated { p.notice { "There was more: 64 KiB are kept." } }
        section.card { (visible::text(&refused.text, MOST_CHARS, None)) }
    };
    Ok(page(&viewer, Section::Compactions, "Refused text", main))
}
