//! Making, rotating and revoking keys. The text of a new key stands in the answer to its form and nowhere else: no
//! address has it and no page shows it again.

use std::time::Duration;

use axum::extract::State;
use axum::response::{Html, Redirect};
use chrono::TimeDelta;
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::service::core::access::{Scope, Scopes};
use crate::service::core::clock;
use crate::service::ops::keys::{Key, KeyLimits, MOST_DAYS, MOST_PER_MINUTE, NewKey, USUAL_GRACE};
use crate::ui::fault::{Fault, Result};
use crate::ui::format::when;
use crate::ui::layout::{Section, page};
use crate::ui::query::{Ids, Sent, given, parsed};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::name;

/// How long a rotated key may go on: seconds, and words for it.
pub const GRACES: [(u64, &str); 4] = [
    (0, "old key ends now"),
    (3_600, "old key 1 hour more"),
    (86_400, "old key 1 day more"),
    (604_800, "old key 7 days more"),
];

const MAX_NAME_CHARS: usize = 512;

#[derive(Deserialize)]
pub struct Making {
    name: String,
    read: Option<String>,
    write: Option<String>,
    admin: Option<String>,
    days: Option<String>,
    per_minute: Option<String>,
}

#[derive(Deserialize)]
pub struct Rotating {
    grace: Option<String>,
}

impl Making {
    fn checked(&self) -> Result<NewKey> {
        let named = given(Some(&self.name))?.filter(|name| name.chars().count() <= MAX_NAME_CHARS);
        let named = named.ok_or_else(|| Fault::invalid("A key needs a name of 512 characters at most."))?;
        let chosen = [(&self.read, Scope::Read), (&self.write, Scope::Write), (&self.admin, Scope::Admin)];
        let scopes = Scopes::of(chosen.into_iter().filter(|(field, _)| field.is_some()).map(|(_, scope)| scope));
        if scopes.is_empty() {
            return Err(Fault::invalid("A key needs a scope."));
        }
        let days = parsed::<u32>("number of days", self.days.as_deref())?;
        let requests_per_minute = parsed::<u32>("limit", self.per_minute.as_deref())?;
        let is_outside = days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days))
            || requests_per_minute.is_some_and(|n| !(1..=MOST_PER_MINUTE).contains(&n));
        if is_outside {
            return Err(Fault::invalid(
                "A key ends after 1 to 36,500 days, and makes 1 to 1,000,000 requests a minute.",
            ));
        }
        let expires_at = days.map(|days| clock::now() + TimeDelta::days(days.into()));
        Ok(NewKey { name: named.to_owned(), scopes, limits: KeyLimits { requests_per_minute }, expires_at })
    }
}

pub async fn create(State(ui): State<Ui>, viewer: Viewer, Sent(sent): Sent<Making>) -> Result<Html<String>> {
    let made = ui.services.keys.create_key(viewer.tenant, sent.checked()?).await?;
    Ok(shown_once(&viewer, &made, html! {}))
}

pub async fn rotate(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids(id): Ids<Uuid>,
    Sent(sent): Sent<Rotating>,
) -> Result<Html<String>> {
    let grace = parsed::<u64>("time", sent.grace.as_deref())?.unwrap_or(USUAL_GRACE.as_secs());
    if !GRACES.iter().any(|(seconds, _)| *seconds == grace) {
        return Err(Fault::invalid("A rotated key goes on for none of these times."));
    }
    let made = ui.services.keys.rotate(viewer.tenant, id, Duration::from_secs(grace)).await?;
    let old = ui.services.keys.key(viewer.tenant, id).await?;
    let told = html! {
        p { "It takes the place of " code { (old.id) } @if let Some(end) = old.expires_at { ", which ends " (when(end)) } "." }
    };
    Ok(shown_once(&viewer, &made, told))
}

pub async fn revoke(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Redirect> {
    ui.services.keys.revoke_key(viewer.tenant, id).await?;
    Ok(Redirect::to("/ui/keys"))
}

fn shown_once(viewer: &Viewer, made: &Key, told: Markup) -> Html<String> {
    let main = html! {
        div.head { h1 { "Key " (name(&made.name)) } }
        section.card aria-labelledby="text" {
            h2 id="text" { "The key" }
            p role="status" { "Copy it now: it is shown this once and kept nowhere." }
            p { code data-key { (made.key.as_deref().unwrap_or_default()) } }
            (told)
            p { "Scopes: " (made.scopes.words().join(", ")) "." }
            p { a href="/ui/keys" { "Back to the keys" } }
        }
    };
    page(viewer, Section::Keys, "A new key", main)
}
