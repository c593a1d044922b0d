//! The codes of what is found wrong with items: of what their provider would refuse.

use serde::Serialize;
use utoipa::ToSchema;

/// Codes of `violations`: what is wrong with an item.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    ToSchema,
    strum::EnumMessage,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ViolationCode {
    /// A result with no call before it.
    OrphanResult,
    /// A second result of a call.
    DuplicateResult,
    /// A call that nothing answers.
    CallWithoutResult,
    /// A result that does not stand right behind its call.
    ResultOutOfPlace,
    /// A message with results that begins with something else.
    ResultsNotFirst,
    /// Parallel calls, or the results of one batch, in several messages.
    SplitBatch,
    /// An id that an earlier call has.
    DuplicateCallId,
    /// A tool that the provider ran, without its call or without its result.
    ServerToolUnpaired,
    /// Something that names by its id what is not there: a call without the program or the code that made it (`caller`),
    /// an output without its program, an approval or an approved call without its request, half of a tool that the
    /// provider ran.
    MissingLink,
    /// Reasoning without what it led to.
    ReasoningWithoutItem,
    /// A message without content.
    EmptyContent,
    /// A block without text.
    EmptyText,
    /// An empty list of calls.
    EmptyToolCalls,
    /// An image or a document that says nowhere what it shows, or can't stand here.
    InvalidMedia,
    /// An image of a pi entry without its bytes.
    ImageDropped,
    /// A block that can't be read.
    InvalidBlock,
    /// Half of a character that takes two (an escaped surrogate without the other): no strict reader takes the JSON.
    HalfCharacter,
    /// More cache marks than the four that a request may have.
    TooManyCacheMarks,
    /// A cache mark of a kind, or of a time, that the provider does not know.
    InvalidCacheMark,
    /// A cache mark on a block that may have none.
    CacheMarkNotAllowed,
    /// A cache mark for an hour behind one for five minutes.
    CacheMarkOrder,
    /// A result that is marked as an error and says nothing.
    EmptyErrorResult,
    /// A result that is marked as an error and shows something besides text.
    ErrorResultNotText,
    /// More images and documents than a request may have.
    TooManyMedia,
    /// More pages of documents than a request may have.
    TooManyPages,
    /// An image or a document that is larger than the provider takes.
    MediaTooLarge,
    /// A block of another format.
    UnknownBlock,
    /// A block that this speaker can't send.
    BlockNotAllowed,
    /// Fields that only answers have.
    ResponseFields,
    /// Another provider's compaction in a native message that has to be written anew.
    ProviderCompactionAsText,
    /// An answer of nothing but its thinking.
    ThinkingAlone,
    /// Thinking without its signature.
    UnsignedThinking,
    /// A signature without a character.
    EmptySignature,
    /// A signature that is no base64.
    InvalidSignature,
    /// Reasoning without its summary, which is a list, and may be an empty one.
    ReasoningWithoutSummary,
    /// A list of spoken parts without the id of an item that the provider gave.
    AnswerWithoutId,
    /// A change of the configuration right behind another.
    ConfigurationUpdatesAdjacent,
    /// A call of the running turn without its thought signature, where others are signed.
    UnsignedCall,
    /// A turn that calls tools and does not begin with its thinking.
    ThinkingNotFirst,
    /// An answer that ends with thinking.
    EndsWithThinking,
    /// An answer at the end of the items that ends in white space.
    TrailingSpaceTrimmed,
    /// An id of a call that the provider refuses, or none.
    InvalidCallId,
    /// A name of a tool that the provider refuses, or none.
    InvalidToolName,
    /// Arguments that are no JSON, or no object where one is due.
    InvalidArguments,
    /// An output that is neither a string nor a list of parts.
    InvalidOutput,
    /// A call that can't be read.
    InvalidCall,
    /// A call by somebody else than the assistant.
    CallNotAllowed,
    /// A role that the format lacks.
    UnknownRole,
    /// A first message that is not the user's.
    FirstMessageNotUser,
    /// A system prompt among the messages, where it travels beside them.
    SystemInMessages,
    /// A system message at a place where the provider takes none.
    SystemMisplaced,
    /// An id of an item that is longer than the provider takes.
    ItemIdTooLong,
    /// An id that an earlier item has.
    DuplicateItemId,
    /// The same, or an id that is none of the provider's form, seen when all items are put together; the item gets
    /// another id.
    ItemIdChanged,
    /// The same; the item goes without its id.
    ItemIdRemoved,
    /// The same; the item is left out.
    DuplicateItemDropped,
    /// A parent that no earlier entry is.
    UnknownParent,
    /// An item that can't be read.
    InvalidItem,
    /// Something else that the provider would refuse.
    NotSendable,
}
