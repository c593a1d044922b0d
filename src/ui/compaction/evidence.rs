//! What the statements of a summary rest on: each leads to the entries that it cites.

use maud::{Markup, html};
use uuid::Uuid;

use crate::domain::record::evidence::EvidenceStatus;
use crate::domain::record::evidence::told::{StatementEvidence, SummaryEvidence};
use crate::service::compaction::Compaction;
use crate::ui::session::frame::home;
use crate::ui::visible::line;

/// Characters of one statement.
const CHARS: usize = 300;

pub fn show(one: &Compaction, evidence: &SummaryEvidence) -> Markup {
    let counts = evidence.counts;
    html! {
        section.card aria-labelledby="evidence" {
            h2 #evidence { "What its statements rest on" }
            p { (counts.statements) " statements, " (counts.cited) " shown by what they cite, " (counts.unsupported) " by nothing." }
            ul.plain { @for statement in &evidence.statements { (told(one, statement)) } }
        }
    }
}

fn told(one: &Compaction, statement: &StatementEvidence) -> Markup {
    html! {
        li {
            bdi { (line(&statement.text, CHARS)) }
            " " span.hint { (words(statement.status)) }
            @for call in &statement.calls { " " (link(one, &format!("#{}", call.number), call.entry_id)) }
            @for message in &statement.messages { " " (link(one, &format!("u{}", message.number), message.entry_id)) }
        }
    }
}

fn link(one: &Compaction, number: &str, entry: Option<Uuid>) -> Markup {
    html! {
        @match entry {
            Some(entry) => a href={ (home(one.session_id)) "/entries/" (entry) } { (number) },
            None => span { (number) },
        }
    }
}

fn words(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Cited => "shown by",
        EvidenceStatus::Inferred => "inferred",
        EvidenceStatus::Elsewhere => "said elsewhere in the conversation",
        EvidenceStatus::Open => "comes next",
        EvidenceStatus::Uncited => "cites nothing that could show it",
        EvidenceStatus::UnknownNumber => "cites what is not there",
        EvidenceStatus::Failed => "told as done, but the call failed or has no result",
        EvidenceStatus::Unrelated => "cites what has none of its words",
        EvidenceStatus::OtherNumber => "a number does not stand in what it cites",
    }
}
