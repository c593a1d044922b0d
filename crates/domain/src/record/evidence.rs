//! Evidence of a summary: each of its statements, and whether the calls and messages that it cites show it.
//!
//! It knows no language. What a sentence says is not read; what is looked at is its place (under which heading of the
//! template it stands), its numbers, names and citations, and how the calls that it cites ended.

mod citing;
mod grounding;
pub mod sections;
mod statements;
pub mod told;
mod weighed;
mod weighing;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::numbers::{CitedNumbers, PathNumbers};
use sections::{Section, SectionTopic};

pub use citing::without_citations;
use grounding::{PathWords, WantedWords, is_said_together};
use statements::FoundStatement;
pub use weighed::{EvidenceStatus, WeighedStatement};

/// Stands behind a statement that nothing cited shows.
pub const NOT_SHOWN: &str = "[not shown]";
/// The most statements that are looked at.
const MOST: usize = 1_000;

/// How many statements a summary makes that need evidence, and how many of them have it. `cited`: they name calls or
/// messages that are there and fit them. `unsupported`: they name none, or wrongly; those that say that they are inferred
/// are neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceCounts {
    pub statements: u32,
    pub cited: u32,
    pub unsupported: u32,
}

/// A summary's statements, and its text with a mark behind those that nothing shows; rules that nothing shows are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WeighedNotes {
    pub marked: String,
    pub statements: Vec<WeighedStatement>,
}

impl WeighedNotes {
    /// Lays a text beside the path that it tells of. `sections` are the headings that it was asked to have.
    pub fn of(text: &str, sections: &[Section], path: &PathNumbers<'_>) -> WeighedNotes {
        let found = statements::of(text, sections, MOST);
        let mut weighed: Vec<WeighedStatement> = found.iter().map(|one| weighing::weigh(one, path)).collect();
        look_elsewhere(&mut weighed, path);
        WeighedNotes { marked: marked(text, &found, &weighed), statements: weighed }
    }

    pub fn counts(&self) -> EvidenceCounts {
        let count = |holds: fn(EvidenceStatus) -> bool| {
            u32::try_from(self.statements.iter().filter(|one| holds(one.status)).count()).unwrap_or(u32::MAX)
        };
        EvidenceCounts {
            statements: count(|status| status != EvidenceStatus::Open),
            cited: count(|status| status == EvidenceStatus::Cited),
            unsupported: count(EvidenceStatus::is_unsupported),
        }
    }

    /// All statements of work, and those of them that nothing shows.
    pub fn of_work(&self) -> (usize, usize) {
        let work = || self.statements.iter().filter(|one| one.is_of_work() && one.status != EvidenceStatus::Open);
        (work().count(), work().filter(|one| one.status.is_unsupported()).count())
    }

    /// The numbers that it cites, where there are such.
    pub fn cited(&self, path: &PathNumbers<'_>) -> CitedNumbers {
        let calls = self.statements.iter().flat_map(|one| one.calls.iter().copied());
        let users = self.statements.iter().flat_map(|one| one.users.iter().copied());
        CitedNumbers {
            calls: calls.filter(|number| (1..=path.last_call).contains(number)).collect(),
            users: users.filter(|number| (1..=path.last_user).contains(number)).collect(),
        }
    }
}

/// What the conversation says somewhere is no invention, whatever it cites. A rule has to stand in its message.
fn look_elsewhere(weighed: &mut [WeighedStatement], path: &PathNumbers<'_>) {
    let may_stand = |one: &WeighedStatement| {
        let is_cited_wrongly =
            matches!(one.status, EvidenceStatus::Uncited | EvidenceStatus::Unrelated | EvidenceStatus::OtherNumber);
        is_cited_wrongly && one.topic != SectionTopic::Rules
    };
    let wanted = |one: &WeighedStatement| may_stand(one).then(|| WantedWords::of(&without_citations(&one.text)));
    let wanted: Vec<Option<WantedWords>> = weighed.iter().map(wanted).collect();
    let said = PathWords::of(wanted.iter().flatten(), path);
    for (one, wanted) in weighed.iter_mut().zip(&wanted) {
        let Some(wanted) = wanted else { continue };
        if said.say(wanted) || is_said_together(wanted, path, &one.calls, &one.users) {
            one.status = EvidenceStatus::Elsewhere;
        }
    }
}

fn marked(text: &str, found: &[FoundStatement<'_>], weighed: &[WeighedStatement]) -> String {
    let mut marked = String::with_capacity(text.len() + 64);
    let mut next = 0;
    for (found, weighed) in found.iter().zip(weighed) {
        if !weighed.status.is_unsupported() {
            continue;
        }
        if weighed.topic == SectionTopic::Rules {
            marked.push_str(&text[next..found.range.start]);
            next = found.range.end;
            continue;
        }
        marked.push_str(&text[next..found.range.end]);
        let failed = weighed.calls.iter().max().filter(|_| weighed.status == EvidenceStatus::Failed);
        let mark = failed.map_or(NOT_SHOWN.to_owned(), |call| format!("[failed: #{call}]"));
        if !found.text.ends_with(&mark) && !text[found.range.end..].trim_start().starts_with(&mark) {
            marked.push_str(&format!(" {mark}"));
        }
        next = found.range.end;
    }
    marked.push_str(&text[next..]);
    tidied(&marked)
}

/// Without the lines of which rules were taken away, and without headings that nothing stands under.
fn tidied(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let level = |line: &str| line.len() - line.trim_start_matches('#').len();
    let is_bare =
        |line: &str| !line.trim().is_empty() && !line.chars().any(|c| c.is_alphanumeric() || c == '|' || c == '`');
    for line in text.lines().filter(|line| !is_bare(line) || line.trim().len() > 2) {
        while level(line) > 0
            && let Some(at) = kept.iter().rposition(|line| !line.trim().is_empty())
            && level(kept[at]) >= level(line)
        {
            kept.truncate(at);
        }
        kept.push(line);
    }
    while kept.last().is_some_and(|line| line.trim().is_empty() || level(line) > 0) {
        kept.pop();
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests;
