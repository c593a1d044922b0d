//! A statement that was laid beside what it cites.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sections::SectionTopic;

/// What became of a statement's citations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum EvidenceStatus {
    /// What it cites is there and fits it.
    Cited,
    /// It says that it is inferred.
    Inferred,
    /// It needs no evidence: a step that comes next.
    Open,
    /// What it cites does not show it, or it cites nothing, but a message or a call says it in nearly the same words.
    Elsewhere,
    /// It cites nothing that could show it.
    Uncited,
    /// It cites a number that nothing has.
    UnknownNumber,
    /// It is told as done, and the newest call that it cites failed or has no result.
    Failed,
    /// What it cites has none of its words or names.
    Unrelated,
    /// A number of it does not stand in what it cites.
    OtherNumber,
}

impl EvidenceStatus {
    /// Returns true if it needs evidence and has none.
    pub fn is_unsupported(self) -> bool {
        !matches!(
            self,
            EvidenceStatus::Cited | EvidenceStatus::Inferred | EvidenceStatus::Open | EvidenceStatus::Elsewhere
        )
    }
}

/// One statement of a summary, and the numbers that it cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeighedStatement {
    pub text: String,
    pub topic: SectionTopic,
    pub status: EvidenceStatus,
    pub calls: Vec<u32>,
    pub users: Vec<u32>,
}

impl WeighedStatement {
    /// Returns true if it tells of work: neither of what the user asks for nor of what comes next.
    pub(super) fn is_of_work(&self) -> bool {
        !matches!(self.topic, SectionTopic::Goal | SectionTopic::Rules | SectionTopic::Next | SectionTopic::Topic)
    }
}
