//! What writers of contexts share: the pieces they are given and the notes they leave.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::message::Message;

/// One step of a context on its way out, pairing already repaired: every `Function` or `Custom` call is answered
/// by the `Tool` pieces that directly follow its message, in the order of the calls, and no result stands alone.
#[derive(Debug, Clone)]
pub enum Piece<'a> {
    /// The stored item, valid as it is in the target format: it goes out byte for byte.
    Verbatim { entry: usize, item: &'a str },
    /// A message to be written. `entry` is its place in the view's entries; `None`: made up by the service
    /// (a summary, a synthetic result).
    Message { entry: Option<usize>, message: Message },
}

/// Something that the context says otherwise than the stored items do, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Note {
    /// A stable snake_case word, e.g. `thinking_dropped`, `synthetic_result`, `orphan_result_dropped`.
    pub code: &'static str,
    /// Index into the view's entries (replaced by the entry's id before it is shown).
    pub entry: Option<usize>,
    pub detail: String,
}
