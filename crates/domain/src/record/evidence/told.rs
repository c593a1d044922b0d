//! Evidence as it is kept with a compaction: each statement with its status and with the entries that it rests on.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{EvidenceCounts, EvidenceStatus, WeighedNotes, WeighedStatement};
use crate::record::numbers::PathNumbers;

/// The most statements that are kept, and the most characters and numbers of one.
const MOST: usize = 400;
const MOST_CHARS: usize = 400;
const MOST_NUMBERS: usize = 12;

/// A call that a statement cites, the `number`-th of the path. The entry is null where the call is not there, or stands so
/// far back that it was not read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CitedCall {
    pub number: u32,
    pub tool_call_id: Option<String>,
    pub entry_id: Option<Uuid>,
}

/// A message that a statement cites, the `number`-th of the user's own on the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CitedMessage {
    pub number: u32,
    pub entry_id: Option<Uuid>,
}

/// One statement of a summary, what became of its citations, and the entries that they lead to. A long one is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatementEvidence {
    pub text: String,
    pub status: EvidenceStatus,
    pub calls: Vec<CitedCall>,
    pub messages: Vec<CitedMessage>,
}

/// The evidence of one summary: its counts, and its statements, of a very long one the first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummaryEvidence {
    pub counts: EvidenceCounts,
    pub statements: Vec<StatementEvidence>,
}

impl SummaryEvidence {
    pub fn of(weighed: &WeighedNotes, path: &PathNumbers<'_>) -> SummaryEvidence {
        let statements = weighed.statements.iter().take(MOST).map(|one| told(one, path)).collect();
        SummaryEvidence { counts: weighed.counts(), statements }
    }
}

fn told(statement: &WeighedStatement, path: &PathNumbers<'_>) -> StatementEvidence {
    let call = |number: &u32| {
        let call = path.calls.get(number);
        let tool_call_id = call.map(|call| call.call.id.clone());
        CitedCall { number: *number, tool_call_id, entry_id: call.and_then(|call| call.entry) }
    };
    let message =
        |number: &u32| CitedMessage { number: *number, entry_id: path.users.get(number).and_then(|words| words.entry) };
    StatementEvidence {
        text: statement.text.chars().take(MOST_CHARS).collect(),
        status: statement.status,
        calls: statement.calls.iter().take(MOST_NUMBERS).map(call).collect(),
        messages: statement.users.iter().take(MOST_NUMBERS).map(message).collect(),
    }
}
