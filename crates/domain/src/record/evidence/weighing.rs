//! One statement weighed against what it cites.

use std::collections::HashSet;

use super::citing::{self, Citation};
use super::statements::FoundStatement;
use super::weighed::{EvidenceStatus, WeighedStatement};
use crate::record::ending::CallEnd;
use crate::record::evidence::sections::SectionTopic;
use crate::record::numbers::{NumberedCall, PathNumbers};
use crate::record::quote::names;
use crate::record::words;

/// Share of a rule's words, and of a request's, that stand in the message that it cites.
const RULE_SHARE: f64 = 0.6;
const REQUEST_SHARE: f64 = 0.3;
/// Letters of a word that tells one text from another.
const LEAST_WORD: usize = 4;
/// Digits of a number that is looked for.
const LEAST_DIGITS: usize = 2;

pub(super) fn weigh(found: &FoundStatement<'_>, path: &PathNumbers<'_>) -> WeighedStatement {
    let citation = citing::of(found.text);
    let status = status(found.topic, &citation, path);
    let Citation { calls, users, .. } = citation;
    WeighedStatement { text: found.text.to_owned(), topic: found.topic, status, calls, users }
}

fn status(topic: SectionTopic, citation: &Citation, path: &PathNumbers<'_>) -> EvidenceStatus {
    let Citation { calls, users, is_vague, says_inferred, without } = citation;
    let cites_nothing = calls.is_empty() && users.is_empty();
    match topic {
        SectionTopic::Rules if users.is_empty() => return EvidenceStatus::Uncited,
        SectionTopic::Next | SectionTopic::Topic if cites_nothing => return EvidenceStatus::Open,
        _ if cites_nothing && *says_inferred => return EvidenceStatus::Inferred,
        SectionTopic::Goal if users.is_empty() => return EvidenceStatus::Uncited,
        // Where no call was made, the user's word is all that there is.
        SectionTopic::Done if calls.is_empty() && path.last_call > 0 => return EvidenceStatus::Uncited,
        _ if cites_nothing => return EvidenceStatus::Uncited,
        _ => {}
    }
    let is_there = |number: &u32, last: u32| (1..=last).contains(number);
    if *is_vague
        || !calls.iter().all(|call| is_there(call, path.last_call))
        || !users.iter().all(|user| is_there(user, path.last_user))
    {
        return EvidenceStatus::UnknownNumber;
    }
    if matches!(topic, SectionTopic::Next | SectionTopic::Topic) {
        return EvidenceStatus::Cited;
    }
    let newest = calls.last().and_then(|call| path.calls.get(call));
    if topic == SectionTopic::Done && newest.is_some_and(|call| call.end != CallEnd::Returned) {
        return EvidenceStatus::Failed;
    }
    let Some(cited) = cited_texts(citation, path) else { return EvidenceStatus::Cited };
    if !is_related(topic, citation, &cited) {
        return EvidenceStatus::Unrelated;
    }
    // What the user asks is quoted.
    if topic == SectionTopic::Goal {
        return EvidenceStatus::Cited;
    }
    let stands = |number: String| cited.iter().any(|text| has_number(text, &number));
    if numbers(without).into_iter().all(stands) { EvidenceStatus::Cited } else { EvidenceStatus::OtherNumber }
}

/// All that the cited calls and messages say. `None`: one of them was not read again.
fn cited_texts(citation: &Citation, path: &PathNumbers<'_>) -> Option<Vec<String>> {
    let call = |number: &u32| path.calls.get(number).map(NumberedCall::text);
    let user = |number: &u32| path.users.get(number).map(|words| words.text.clone());
    citation.calls.iter().map(call).chain(citation.users.iter().map(user)).collect()
}

fn is_related(topic: SectionTopic, citation: &Citation, cited: &[String]) -> bool {
    let wanted = stems(&citation.without);
    let least = match topic {
        SectionTopic::Rules => RULE_SHARE,
        SectionTopic::Goal => REQUEST_SHARE,
        _ if citation.calls.is_empty() => f64::MIN_POSITIVE,
        _ => return shares_name(&citation.without, cited),
    };
    // The user's words alone say what the user wants.
    let said: HashSet<u64> = cited.iter().skip(citation.calls.len()).flat_map(|text| stems(text)).collect();
    let shared = wanted.intersection(&said).count();
    wanted.is_empty() || shared as f64 / wanted.len() as f64 >= least
}

fn stems(text: &str) -> HashSet<u64> {
    let mut stems = HashSet::new();
    words::each(text, &mut |word| {
        if word.is_pair || word.text.chars().count() >= LEAST_WORD {
            stems.insert(word.stem());
        }
    });
    stems
}

/// Of the names of files and things that a statement holds, one at least stands in what it cites.
fn shares_name(statement: &str, cited: &[String]) -> bool {
    let is_name = |name: &&str| {
        name.chars().any(char::is_alphabetic)
            && (name.contains(['/', '_', '`']) || name.contains('.') && name.len() > 4)
    };
    let bare = |name: &str| name.trim_matches('`').trim_end_matches(['/', '.']).to_lowercase();
    let mut wanted = names(statement).filter(is_name).map(bare).peekable();
    let cited: Vec<String> = cited.iter().map(|text| text.to_lowercase()).collect();
    let stands = |name: String| {
        let end = name.rsplit(['/', '\\']).next().filter(|end| end.len() > 3).unwrap_or(&name);
        cited.iter().any(|text| text.contains(end))
    };
    wanted.peek().is_none() || wanted.any(stands)
}

/// The numbers of a statement that stand by themselves: no part of a name, a range or a place in a file.
fn numbers(text: &str) -> Vec<String> {
    let token = |token: &str| {
        let token = token.trim_matches(|c: char| !c.is_ascii_digit());
        let digits = token.chars().filter(char::is_ascii_digit).count();
        (digits >= LEAST_DIGITS).then(|| token.to_owned())
    };
    let is_number = |token: &&str| {
        let bare = token.trim_matches(|c: char| "()[]{}\"'`,;:!?*.“”「」。、，".contains(c));
        !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit() || ".,%$€£¥+".contains(c))
    };
    let said = without_code(text);
    said.split_whitespace().filter(is_number).filter_map(token).collect()
}

/// What stands between backticks is a name.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns true if a text holds the number, with its thousands set apart or not, with its last zeros or without.
fn has_number(text: &str, number: &str) -> bool {
    let plain: String = number.chars().filter(|c| *c != ',').collect();
    let short = match plain.contains('.') {
        true => plain.trim_end_matches('0').trim_end_matches('.'),
        false => plain.as_str(),
    };
    let bounded = |text: &str, wanted: &str| {
        text.match_indices(wanted).any(|(at, _)| {
            let before = text[..at].chars().next_back().is_some_and(|c| c.is_ascii_digit());
            let behind = &text[at + wanted.len()..];
            let behind = if wanted.contains('.') { behind.trim_start_matches('0') } else { behind };
            !before && !behind.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    bounded(text, number) || bounded(text, short) || bounded(&text.replace(',', ""), short)
}
