//! The codes of the notes that a context comes with.

use serde::Serialize;
use utoipa::ToSchema;

/// Codes of `conversion_notes`: what a context says otherwise than the stored items do.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    ToSchema,
    strum::EnumMessage,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum NoteCode {
    /// A result without a call, before it or behind it, is left out.
    OrphanResultDropped,
    /// A second result of a call is left out.
    DuplicateResultDropped,
    /// A call has no result; one that says so is put in.
    SyntheticResult,
    /// A result is put right behind its call.
    ResultMoved,
    /// Parallel calls, the results of one batch, or system messages in a row go in one message.
    MessagesMerged,
    /// A call goes under another id: the provider refuses its own, or an earlier call has it.
    CallIdRenamed,
    /// A tool goes under a name that the provider takes.
    ToolNameRenamed,
    /// Arguments that are no object become the one argument `input`; an empty list becomes an empty object.
    ArgumentsWrapped,
    /// The format can't mark a result as an error.
    ErrorFlagDropped,
    /// Media of a result follow it in a user message.
    ResultMediaMoved,
    /// A tool that another provider ran is told in words.
    ServerToolAsText,
    /// A tool that the provider ran lacks its call or its result; the other half is left out.
    ServerToolUnpaired,
    /// What names by its id something that is not in the context goes without that name, or is left out.
    MissingLink,
    /// Thinking that the provider would refuse is left out.
    ThinkingDropped,
    /// Thinking was signed for another model than the newest, and is kept, as set.
    ThinkingOfOtherModel,
    /// The running tool-use turn has thinking that can't be given back: send it with thinking off.
    ThinkingMissing,
    /// Signed thinking stands behind a summary or behind shortened tool traffic; the provider may refuse it.
    ThinkingAfterCompaction,
    /// Thinking is left out, as set.
    ThinkingStripped,
    /// A call goes with the word that Gemini takes in place of a signature: another model made it, or its own is lost.
    SignaturePlaceholder,
    /// Reasoning is left out: what it led to is not there.
    ReasoningUnpaired,
    /// Reasoning goes by its id alone: the provider must have stored the response.
    ReasoningByReference,
    /// An image or a document can't be given to the provider here.
    MediaDropped,
    /// An image is left out: pi holds images by their bytes only.
    ImageDropped,
    /// A document is left out: pi holds none.
    DocumentDropped,
    /// A document is told by its URL.
    DocumentAsLink,
    /// A document of plain text is sent as text.
    DocumentAsText,
    /// A block that only another provider understands is left out.
    RawDropped,
    /// The same in `openai_chat`.
    RawBlockDropped,
    /// Another provider's compaction is left out: only that provider can read it.
    ProviderCompactionDropped,
    /// The summary of another provider's compaction is sent as text.
    ProviderCompactionAsText,
    /// Blocks without text are left out.
    EmptyTextDropped,
    /// A message of which nothing can be sent is left out.
    EmptyMessageDropped,
    /// Fields that only answers have are left out.
    ResponseFieldsRemoved,
    /// White space at the end of the context is cut off: the provider refuses it behind an answer.
    TrailingSpaceTrimmed,
    /// A system message inside the conversation is passed on by the user.
    SystemAsUser,
    /// A user message is put first: the provider wants one there.
    UserMessageInserted,
    /// Halves of characters, which no strict reader of JSON takes, are sent as U+FFFD.
    HalfCharacterReplaced,
    /// Cache marks are taken off or shortened: the provider takes no such ones, or not so many.
    CacheMarksRemoved,
    /// A stored item is mended: the provider would refuse it as it came.
    ItemRepaired,
    /// A stored item can't be read any more; its calls alone are sent.
    ItemUnreadable,
    /// An item goes under another id: an earlier one has its own, or the provider takes none such (its form, its
    /// length).
    ItemIdChanged,
    /// An item goes without its id: an earlier one has it, or the provider takes none such (its form, its length).
    ItemIdRemoved,
    /// An item is left out: an earlier one has its id, and it needs one.
    DuplicateItemDropped,
    /// A pi entry hangs under the entry that is shown before it.
    ParentChanged,
    /// The name of whoever speaks is left out: the format has no field for it, and it is no user's, whose words it would
    /// stand before.
    NameDropped,
    /// Tasks begin with their number, as `chaptering_trigger` has it.
    TasksNumbered,
}
