//! A compaction as it stands in the tree.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::fold::Fold;
use super::record_numbers::{NumberMarks, RecordNumbers};
use super::running::RunningRequest;
use super::strategy::Strategy;

/// The item of a `compaction` entry: it says the whole view before it. Older compactions no longer matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct CompactionRecord {
    /// Entries before the cut that stay verbatim, in path order.
    pub anchors: Vec<Uuid>,
    /// The full text of the summary message: framing, summary, and what code put beside it.
    /// `None` for a compaction that only elides.
    pub summary: Option<String>,
    /// The model's part of `summary` alone: what an iterative update starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_body: Option<String>,
    /// The first entry kept after the summary. Equal to the compaction's own id: nothing before it is kept.
    /// Ids of imported pi compactions are source ids, resolved on the path.
    pub first_kept_entry_id: String,
    pub elisions: Vec<Elision>,
    pub tokens_before: u64,
    #[serde(default)]
    pub tokens_after: u64,
    /// The request that the agent is working on, where its entry is not shown behind the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningRequest>,
    /// Tokens of the summary message, with those of the running request behind it.
    #[serde(default)]
    pub summary_tokens: u32,
    /// Set on an entry that takes a compaction back: the view is again what it was before that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<Uuid>,
    /// The entry of the compaction that this one says on another path, word for word or told again: no compaction of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<Uuid>,
    #[serde(default)]
    pub strategy: Option<Strategy>,
    #[serde(default)]
    pub details: FileLists,
    /// The summary came from a hook or a caller, so its file lists are not passed on.
    #[serde(default)]
    pub from_hook: bool,
    /// The newest notes of a caller or a hook that this one's summary, which is by somebody else, goes on from: no message
    /// says what stands in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The chapters of the path that are nested in no other, in path order; also those that a summary stands for by now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chapters: Vec<Fold>,
    /// It only closed chapters: all else is as it was, and may still be compacted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes: bool,
    /// It came as a sealed handle: its anchors are what stood before it, and the next compaction chooses among them anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_handle: bool,
    /// Where the next record's reading of a very long history may begin, and the numbers of what comes before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<RecordNumbers>,
    /// Where the numbers of the record stand, on every path that it holds on.
    #[serde(default, skip_serializing_if = "NumberMarks::is_empty")]
    pub marks: NumberMarks,
}

/// One tool result, the arguments of one call, or the words of a message, shown shorter than they are. The original
/// stays in its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Elision {
    pub entry_id: Uuid,
    /// Empty for the words of a message.
    pub tool_call_id: String,
    pub kind: ElisionKind,
    /// Part of the call that is shown shorter. The entry is the one that holds this part.
    #[serde(default, skip_serializing_if = "ElidedPart::is_result")]
    pub part: ElidedPart,
    pub tokens_before: u32,
    pub tokens_after: u32,
    /// `duplicate`: the call whose result says the same. `truncate`: how many characters of head and tail stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    // With `mask` of arguments: of the JSON of each list. With that of a result: not even its size is told. `drop` of words
    // takes the thinking before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_chars: Option<(u32, u32)>,
    /// `replace`: what a hook shows in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElisionKind {
    Mask,
    Truncate,
    Duplicate,
    Drop,
    Replace,
}

/// The half of a call, or the words of a message, that an [`Elision`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElidedPart {
    #[default]
    Result,
    Arguments,
    Words,
}

impl ElidedPart {
    fn is_result(&self) -> bool {
        *self == ElidedPart::Result
    }
}

impl CompactionRecord {
    /// Says that a context shows something in the place of what it replaces.
    pub fn shows_something(&self) -> bool {
        self.running.is_some() || self.summary.as_deref().is_some_and(|summary| !summary.is_empty())
    }

    /// The same without the running request.
    pub fn forget_running(&mut self) {
        if let Some(running) = self.running.take() {
            self.summary_tokens = self.summary_tokens.saturating_sub(running.tokens);
        }
    }
}

impl Elision {
    /// Tokens that the context is smaller by.
    pub fn freed(&self) -> i64 {
        i64::from(self.tokens_before) - i64::from(self.tokens_after)
    }
}

/// The files that a session's calls read, changed and deleted, and what other tools named; each path once, sorted by UTF-16
/// code units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SessionFiles {
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    /// Deleted or moved away, and not written since.
    pub deleted_files: Vec<String>,
    /// Paths in calls of tools that are not known to read or change files: folders that were listed, files that a tool of
    /// one's own may have written.
    pub other_paths: Vec<String>,
}

/// Files that the summarised calls read and changed, sorted by UTF-16 code units; disjoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
pub struct FileLists {
    #[serde(default)]
    pub read_files: Vec<String>,
    #[serde(default)]
    pub modified_files: Vec<String>,
}
