//! The numbers of a record lead to their entries.

use std::sync::LazyLock;

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use regex::Regex;
use uuid::Uuid;

use crate::domain::model::record_numbers::RecordNumber;
use crate::ui::fault::{Fault, Result};
use crate::ui::query::Ids;
use crate::ui::session::frame::home;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::visible;

/// Where a record or notes print numbers of their own: what is quoted may hold others.
static PLACES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let places = [
        r"^(?:- )?#\d{1,9}(?:-#\d{1,9})? ",
        r"^u\d{1,9} User:",
        r"\((?:[#u]\d{1,9}[,;–-]? ?)+\)",
        r"\[(?:redacted: [^\[\]\n]{1,80}, (?:call )?|failed: )[#u]\d{1,9}\]",
    ];
    Regex::new(&format!("(?m){}", places.join("|"))).ok()
});
static NUMBERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"#\d{1,9}|\bu\d{1,9}").ok());

/// Leads to the entry that a number of the compaction's record stands for.
pub async fn follow(State(ui): State<Ui>, viewer: Viewer, Ids((id, number)): Ids<(Uuid, String)>) -> Result<Redirect> {
    let number = RecordNumber::read_bare(&number).ok_or_else(|| Fault::not_found("number"))?;
    let one = ui.services.sessions.compaction(viewer.tenant, id).await?;
    let entry = one.result.and_then(|result| result.entry_id).ok_or_else(|| Fault::not_found("record"))?;
    let found = ui.services.queries.numbered_entry(viewer.tenant, one.session_id, entry, number).await?;
    Ok(Redirect::to(&format!("{}/entries/{found}", home(one.session_id))))
}

/// The text of a compaction's summary with its numbers as links.
pub fn linked(text: &str, compaction: Uuid) -> Markup {
    let places = PLACES.iter().flat_map(|places| places.find_iter(text));
    let numbers = places.flat_map(|place| {
        let within = NUMBERS.iter().flat_map(move |numbers| numbers.find_iter(place.as_str()));
        within.map(move |number| place.start() + number.start()..place.start() + number.end())
    });
    let (mut parts, mut from) = (Vec::new(), 0);
    for number in numbers {
        if let Some(read) = text.get(number.clone()).and_then(RecordNumber::read) {
            parts.push((text.get(from..number.start).unwrap_or_default(), read));
            from = number.end;
        }
    }
    html! {
        @for (before, number) in parts {
            (visible(before)) a href=(path(compaction, number)) { (number) }
        }
        (visible(text.get(from..).unwrap_or_default()))
    }
}

fn path(compaction: Uuid, number: RecordNumber) -> String {
    // The mark of a call would end the address.
    let number = number.to_string();
    format!("/ui/compactions/{compaction}/numbers/{}", number.trim_start_matches('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_record_are_links_and_quoted_ones_are_not() {
        let shown = |text: &str| linked(text, Uuid::nil()).into_string();
        let link = |number: &str| {
            let address = number.trim_start_matches('#');
            format!("<a href=\"/ui/compactions/{}/numbers/{address}\">{number}</a>", Uuid::nil())
        };
        for (text, numbers) in [
            ("u12 User: fix <b>#881</b>", &["u12"][..]),
            ("- #47 bash(ls) → a #5", &["#47"]),
            ("- #47-#52 read(×6)", &["#47", "#52"]),
            ("- src/a.rs (#9)", &["#9"]),
            ("Moved it (#4-#6, #9; u2).", &["#4", "#6", "#9", "u2"]),
            ("A key [redacted: AWS key, call #3] and [redacted: token, u7] [failed: #8]", &["#3", "u7", "#8"]),
            ("Issue #12 and menu2, u3 too.", &[]),
        ] {
            let shown = shown(text);
            let links: Vec<String> = numbers.iter().map(|number| link(number)).collect();
            assert!(links.iter().all(|link| shown.contains(link)), "{shown}");
            assert_eq!(shown.matches("<a ").count(), numbers.len(), "{shown}");
            assert!(!shown.contains("<b>"), "{shown}");
        }
        assert_eq!(shown("- #0 x"), "- #0 x", "there is no such number");
    }
}
