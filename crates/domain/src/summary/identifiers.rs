//! Identifiers: names and numbers that are no plain words, told by their form alone. By them it is measured what a summary
//! keeps, and whether it tells of its span at all.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::files::strings;
use crate::model::message::Message;
use crate::model::user_text::{UserText, UserTextClassifier};
use crate::record::words::is_unspaced;

/// Identifiers of one text or span that are told apart.
const MOST: usize = 20_000;
/// The most of a span that a summary is measured by.
const MOST_WEIGHTY: usize = 40;
/// A use by the user counts as much as so many by the model.
const BY_USER: u32 = 8;
const BY_MODEL: u32 = 1;
/// A number of so many digits is an id, an amount, a year.
const LONG: usize = 4;
const LENGTH: std::ops::RangeInclusive<usize> = 4..=200;
const AROUND: &str = "\"'`<>()[]{},;|*=“”「」。、，：→";

/// The identifiers that people, the model and its calls used most in what was replaced, told by their form: how many there
/// are, at most 40, how many of them the summary's body has (whole, or by the end of a path), and how many more of them
/// stand in what code put beside it. `recall` (0-1) is the body's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IdentifierReport {
    pub found: u32,
    pub kept: u32,
    pub restored: u32,
    pub recall: f64,
}

impl Default for IdentifierReport {
    fn default() -> Self {
        IdentifierReport::of(&[], "", "")
    }
}

impl IdentifierReport {
    /// Of a summary message and the body in it.
    pub fn of(weighty: &[String], body: &str, summary: &str) -> IdentifierReport {
        let count = |text: &str| weighty.iter().filter(|one| keeps(text, one)).count() as u32;
        let (found, kept) = (weighty.len() as u32, count(body));
        let recall = if found == 0 { 1.0 } else { f64::from(kept) / f64::from(found) };
        IdentifierReport { found, kept, restored: count(summary).saturating_sub(kept), recall }
    }
}

/// Calls `found` for every identifier of a text in order, repetitions included.
pub fn each<'t>(text: &'t str, found: &mut dyn FnMut(&'t str)) {
    let tokens = text.split(|c: char| c.is_whitespace() || AROUND.contains(c) || is_unspaced(c));
    tokens.map(bare).filter(|token| is_identifier(token)).for_each(found);
}

/// The distinct identifiers of a text in the order of their first appearance.
pub fn extract(text: &str, most: usize) -> Vec<&str> {
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    each(text, &mut |identifier| {
        if all.len() < most && seen.insert(identifier) {
            all.push(identifier);
        }
    });
    all
}

/// The token without the marks around it, and of a place in a file the file. A path's root is its own.
fn bare(token: &str) -> &str {
    let token = token.trim_end_matches(|c: char| !c.is_alphanumeric());
    let token = token.trim_start_matches(|c: char| !c.is_alphanumeric() && !"/.".contains(c)).trim_start_matches("...");
    match token.split_once(':') {
        Some((file, place)) if place.starts_with(|c: char| c.is_ascii_digit()) && is_identifier(file) => file,
        _ => token,
    }
}

/// Returns true if a token is no plain word: `src/a.rs`, `get_user`, `parseLine`, `E0308`, `127.0.0.1`, `4821`.
fn is_identifier(token: &str) -> bool {
    if !LENGTH.contains(&token.len()) {
        return false;
    }
    let count = |is: fn(&u8) -> bool| token.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    if !token.chars().any(char::is_alphabetic) {
        // A range of lines is none.
        return digits >= LONG && !token.contains(['-', '–', '/', ':']);
    }
    let inner = token.get(1..token.len() - 1).unwrap_or_default();
    let humps = token.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    // `and/or` and `e.g` are no names.
    let slashes = if token.starts_with(['/', '.']) { token } else { inner }.matches('/').count();
    let joined = inner.contains('_') || inner.contains("::") || slashes > 1;
    let dotted = token.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.chars().any(char::is_alphanumeric)
            && (2..=5).contains(&end.len())
            && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let is_measure = token.starts_with(|c: char| c.is_ascii_digit()) && token.len() < 7;
    let coded = digits > 0 && count(u8::is_ascii_uppercase) > 1 || digits > 1;
    joined || humps || dotted || coded && !is_measure
}

/// Returns true if a text has the identifier, whole or by the end of the path.
pub fn keeps(text: &str, identifier: &str) -> bool {
    let end = identifier.rsplit(['/', '\\']).next().filter(|end| end.len() > 3);
    stands_in(text, identifier) || end.is_some_and(|end| stands_in(text, end))
}

/// Returns true if it stands in the text by itself, not as part of a longer word or number.
fn stands_in(text: &str, identifier: &str) -> bool {
    text.match_indices(identifier).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + identifier.len()..].chars().next();
        let inside = |c: Option<char>, edge: Option<char>| {
            c.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c)) && edge.is_some_and(char::is_alphanumeric)
        };
        !inside(before, identifier.chars().next()) && !inside(after, identifier.chars().next_back())
    })
}

/// The identifiers of a span that is read piece by piece. What tools printed does not count: nobody may have looked at it.
#[derive(Debug, Default)]
pub struct IdentifierSpan {
    classifier: UserTextClassifier,
    messages: usize,
    /// The weight of each, and the message that used it last.
    uses: HashMap<String, (u32, usize)>,
}

impl IdentifierSpan {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        self.messages += 1;
        match self.classifier.classify(message) {
            UserText::Said(text) => self.note(&text, BY_USER),
            UserText::Output(_) => {}
            UserText::Other | UserText::Continued(_) | UserText::Agent(_) => {
                self.note(&message.plain_text(), BY_MODEL);
            }
        }
        for call in message.tool_calls() {
            strings(&call.arguments).into_iter().for_each(|text| self.note(text, BY_MODEL));
        }
    }

    fn note(&mut self, text: &str, weight: u32) {
        let (uses, at) = (&mut self.uses, self.messages);
        each(text, &mut |identifier| {
            let has_room = uses.len() < MOST;
            match uses.get_mut(identifier) {
                Some(used) => *used = (used.0.saturating_add(weight), at),
                None if has_room => {
                    uses.insert(identifier.to_owned(), (weight, at));
                }
                None => {}
            }
        });
    }

    /// Those that were used most, of equals those that were used last.
    pub fn weighty(self) -> Vec<String> {
        let mut all: Vec<(String, (u32, usize))> = self.uses.into_iter().collect();
        all.sort_unstable_by(|(one, uses), (other, others)| others.cmp(uses).then_with(|| one.cmp(other)));
        all.into_iter().map(|(text, _)| text).take(MOST_WEIGHTY).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::summary::testing::{assistant, call, result, user};

    #[test]
    fn names_and_numbers_are_told_by_their_form() {
        let text = "See https://example.org/a/b.html, then `src/domain/lib.rs:42:7` and (Cargo.toml) in /srv/app. Commit 9f8e7d6c5b, \
            ticket ABC-123, user mia_li_3668, booking HAT069, call toolu_01AbC, v1.2.3, error[E0308] at 127.0.0.1:8080, \
            order 48219, 550e8400-e29b-41d4-a716-446655440000, ValueError, 修改config/a.yaml文件.";
        let wanted = [
            "https://example.org/a/b.html",
            "src/domain/lib.rs",
            "Cargo.toml",
            "/srv/app",
            "9f8e7d6c5b",
            "ABC-123",
            "mia_li_3668",
            "HAT069",
            "toolu_01AbC",
            "v1.2.3",
            "E0308",
            "127.0.0.1",
            "48219",
            "550e8400-e29b-41d4-a716-446655440000",
            "ValueError",
            "config/a.yaml",
        ];
        assert_eq!(extract(text, 100), wanted);
        let prose =
            "And/or words with - marks, e.g. these: 12 of 30, 80%, 250ms, lines 336-340, \"30\" seconds, well-kept.";
        assert_eq!(extract(prose, 100), Vec::<&str>::new());
        assert_eq!(extract("a.rs b.rs a.rs c.rs", 2), ["a.rs", "b.rs"]);
    }

    #[test]
    fn what_was_spoken_of_is_measured_and_what_was_printed_is_not() {
        let mut span = IdentifierSpan::default();
        for message in [
            call("c", "read_file", json!({"file_path": "src/main.rs"})),
            result("c", &"see other/file.rs and third/file.rs ".repeat(100)),
            assistant("The bug is in src/main.rs, tracked as ABC-9."),
            user("Work on src/parse.rs."),
        ] {
            span.add(&message);
        }
        let weighty = span.weighty();
        assert_eq!(weighty, ["src/parse.rs", "src/main.rs", "ABC-9"]);
        let report =
            IdentifierReport::of(&weighty, "parse.rs is done, ABC-91 too", "parse.rs is done, ABC-91 too; ABC-9");
        assert_eq!((report.found, report.kept, report.restored), (3, 1, 1));
        assert_eq!(IdentifierReport::default().recall, 1.0);
    }

    #[test]
    fn a_megabyte_is_no_trouble() {
        for piece in ["a", "a1b2c3d-", "://", "/a", "\"", "1 ", "日"] {
            assert!(extract(&piece.repeat(1_000_000 / piece.len()), 300).len() <= 300);
        }
    }

    proptest! {
        #[test]
        fn what_is_found_is_kept_by_its_text(text in "[a-zA-Z0-9_/.:#…日「 -]{0,80}") {
            for identifier in extract(&text, 300) {
                prop_assert!(keeps(&text, identifier), "{identifier}");
            }
        }
    }
}
