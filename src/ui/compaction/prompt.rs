//! What a model was sent for a compaction, written anew: prompts are not kept. What may differ from it is said.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::domain::compaction::result::CompactionResult;
use crate::domain::hook::{Event, HookOutcome};
use crate::service::compaction::Compaction;
use crate::service::compaction::prompts::Prompts;
use crate::ui::fault::Result;
use crate::ui::query::{Asked, Ids, parsed};
use crate::ui::session::entry::part;
use crate::ui::session::frame::{self, Load, Wanted, answer};
use crate::ui::session::message::Piece;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::refused;

/// Its place on the compaction's page, where a model was asked.
pub fn lazy(one: &Compaction) -> Markup {
    let asked = one.result.as_ref().filter(|result| result.entry_id.is_some() && result.upstream.calls > 0);
    html! {
        @if asked.is_some() {
            (frame::lazy("prompt", "The prompt that was sent", &path(one.id), "writes it anew from the entries", Load::Asked))
        }
    }
}

fn path(id: Uuid) -> String {
    format!("/ui/compactions/{id}/prompt")
}

#[derive(Deserialize)]
pub struct Place {
    /// One of the texts alone, from this character on.
    piece: Option<String>,
    from: Option<String>,
}

pub async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<Place>,
) -> Result<Html<String>> {
    let piece = parsed::<usize>("piece", asked.piece.as_deref())?;
    let from = parsed("from", asked.from.as_deref())?.unwrap_or(0);
    let one = ui.services.sessions.compaction(viewer.tenant, id).await?;
    let written = ui.services.sessions.prompts(viewer.tenant, id).await.map_err(refused)?;
    let differs = one.result.as_ref().map(|result| differences(result, &written)).unwrap_or_default();
    let body = html! {
        p.hint { "Prompts are not kept. This one is written anew, from the entries that were replaced and the settings as they are now." }
        @if written.prompt.is_none() { p.empty { "With the settings as they are now, no model would be asked." } }
        @else if !differs.is_empty() {
            p { "What was sent differs from it:" }
            ul.differs { @for difference in &differs { li { (difference) } } }
        }
        @for (place, text) in texts(written.prompt).iter().enumerate().filter(|(place, _)| piece.is_none_or(|piece| piece == *place)) {
            (part(text, place, if piece.is_some() { from } else { 0 }, &path(id)))
        }
    };
    Ok(answer(&wanted, &viewer, written.session_id, "The prompt that was sent", body))
}

/// The prompt's two texts.
fn texts(prompt: Option<crate::domain::summary::prompt::Prompt>) -> Vec<Piece> {
    let text = |prompt: crate::domain::summary::prompt::Prompt| {
        [
            Piece { title: "System prompt".to_owned(), text: prompt.system },
            Piece { title: "Message".to_owned(), text: prompt.user },
        ]
    };
    prompt.into_iter().flat_map(text).collect()
}

fn differences(result: &CompactionResult, written: &Prompts) -> Vec<String> {
    let by_hook = result.hooks.iter().any(|hook| {
        matches!(hook.event, Event::PruneToolResults | Event::FormatMessages) && hook.outcome == HookOutcome::Replaced
    });
    let (calls, prompts) = (result.upstream.calls, usize::from(written.prompt.is_some()));
    let mut found = Vec::new();
    if !written.is_same_span {
        found.push(
            "Planned anew, other entries would be replaced, or be put together otherwise: settings have changed since then, or entries came while it began.".to_owned(),
        );
    }
    if by_hook {
        found.push("A hook had the model read a text of its own, which is not kept.".to_owned());
    }
    if result.upstream.prefix_reused {
        found.push(
            "In place of the conversation the model was sent the session's own context, for the provider's cache, with the \
             request behind it."
                .to_owned(),
        );
    }
    if calls as usize > prompts {
        found.push(format!(
            "There were {calls} calls: answers were refused and asked for once more, with what was wrong, calls failed, or \
             the conversation went in parts because the model's window is smaller."
        ));
    }
    found.push(
        "The number of words at the end may have been lower, where the model's own limits leave less room.".to_owned(),
    );
    found
}
