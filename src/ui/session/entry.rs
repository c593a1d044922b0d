//! One entry, whole: a long text part by part.

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::service::path::entries::EntryView;
use crate::ui::fault::Result;
use crate::ui::format::{count, when};
use crate::ui::layout::{self, Section};
use crate::ui::parts::post;
use crate::ui::query::{Asked, Ids, parsed};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::{self, visible};
use crate::ui::words::speaker;

use super::frame::{self, Wanted, flash, home};
use super::message::{self, Piece};

/// Characters of a text on one page.
const CHARS: usize = 20_000;
/// The same of each text where a message has several.
const CHARS_OF_SEVERAL: usize = 6_000;

#[derive(Deserialize)]
pub struct Place {
    /// One piece of the message alone, from this character on.
    piece: Option<String>,
    from: Option<String>,
    done: Option<String>,
}

pub async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids((id, entry)): Ids<(Uuid, Uuid)>,
    Asked(asked): Asked<Place>,
) -> Result<Html<String>> {
    let (piece, from) = (parsed::<usize>("piece", asked.piece.as_deref())?, parsed("from", asked.from.as_deref())?);
    let entry = ui.services.queries.entry(viewer.tenant, id, entry).await?;
    let path = format!("{}/entries/{}", home(id), entry.id);
    let pieces = entry.message.as_ref().map_or_else(|| vec![stored(&entry)], message::pieces);
    let one = piece.and_then(|place| Some((place, pieces.get(place)?)));
    let text = match one {
        Some((place, piece)) => part(piece, place, from.unwrap_or(0), &path),
        None if pieces.len() == 1 => pieces.first().map(|piece| part(piece, 0, 0, &path)).unwrap_or_default(),
        None => message::show(entry.message.as_ref(), CHARS_OF_SEVERAL, &path),
    };
    if wanted.is_part {
        return Ok(layout::fragment(text));
    }
    let main = html! {
        (frame::assets())
        p.crumbs { a href=(home(id)) { "« Session" } @if one.is_some() { " · " a href=(path) { "The whole entry" } } }
        div.head { h1 { "Entry of " (speaker(entry.kind, entry.role)) } }
        (flash(asked.done.as_deref()))
        section.card aria-label="The entry" { (facts(&entry)) (text) }
        (deeds(&viewer, &path, &entry))
        section.card aria-labelledby="raw" {
            div.head {
                h2 #raw { "As it came" }
                a href={ (path) "/item" } download { "The whole as a file, " (count(entry.item.get().len() as i64)) " bytes" }
            }
            (visible::text(entry.item.get(), visible::TEXT, None))
        }
    };
    Ok(layout::page(&viewer, Section::Sessions, "Entry", main))
}

/// The item as it came, as a file: pages show a large one part by part.
pub async fn item(State(ui): State<Ui>, viewer: Viewer, Ids((id, entry)): Ids<(Uuid, Uuid)>) -> Result<Response> {
    let entry = ui.services.queries.entry(viewer.tenant, id, entry).await?;
    let kept = format!("attachment; filename=\"entry-{}.json\"", entry.id);
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_DISPOSITION, kept)];
    Ok((headers, Box::<str>::from(entry.item).into_string()).into_response())
}

/// What says nothing to a model, as it is stored.
fn stored(entry: &EntryView) -> Piece {
    Piece { title: String::new(), text: entry.item.get().to_owned() }
}

/// A part of a text, and where the others are.
pub fn part(piece: &Piece, place: usize, from: usize, path: &str) -> Markup {
    let rest = piece.text.char_indices().nth(from).map_or("", |(at, _)| &piece.text[at..]);
    let (text, more) = visible::clip(rest, CHARS);
    let link = |from: usize| format!("{path}?piece={place}&from={from}");
    html! {
        @if !piece.title.is_empty() { p.piece { bdi { (piece.title) } } }
        pre.text tabindex="0" { bdi { (visible(text)) } }
        @if from > 0 || more > 0 {
            nav.pager aria-label="Parts of the text" {
                span.dim { "From character " (count(from as i64 + 1)) }
                @if from > 0 { a href=(link(from.saturating_sub(CHARS))) { "‹ Before" } }
                @if more > 0 { a href=(link(from + CHARS)) { (count(more as i64)) " more characters ›" } }
            }
        }
    }
}

fn facts(entry: &EntryView) -> Markup {
    let format: &str = entry.source_format.into_str();
    html! {
        dl.facts {
            dt { "Id" } dd { code { (entry.id) } }
            @if let Some(source) = &entry.source_id { dt { "Source id" } dd { (visible::name(source)) } }
            @if let Some(label) = &entry.label { dt { "Label" } dd { (visible::name(label)) } }
            dt { "Stored" } dd { (when(entry.created_at)) ", number " (count(entry.seq + 1)) " of its session, as " (format) }
            dt { "Tokens, estimated" } dd { (count(i64::from(entry.tokens))) }
        }
    }
}

fn deeds(viewer: &Viewer, path: &str, entry: &EntryView) -> Markup {
    let label = entry.label.as_deref().unwrap_or_default();
    html! {
        section.card aria-labelledby="deeds" {
            h2 #deeds { "Do" }
            div.row {
                (post(viewer, &format!("{path}/label"), html! {
                    label { "Label " input name="label" maxlength="1000" value=(label); }
                    " " button type="submit" { "Set the label" }
                }))
                (post(viewer, &format!("{path}/fork"), html! { button type="submit" { "Fork here" } }))
            }
            p.hint { "A fork is a new session that shares the history up to this entry. Nothing is copied, nothing changes here." }
        }
    }
}
