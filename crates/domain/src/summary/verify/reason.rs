//! Why an answer is not stored, in words that a model can be told.

use thiserror::Error;

/// Why a summary, or the compaction around it, is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RejectReason {
    #[error("the summary is empty")]
    Empty,
    #[error("the summary was cut off by the output limit")]
    Length,
    #[error("it is a call of a tool, not a summary")]
    ToolCall,
    #[error("the model refused to write a summary")]
    Refusal,
    #[error("the model stopped before the summary was complete")]
    Incomplete,
    #[error("the model repeated its instructions or the transcript")]
    PromptEcho,
    #[error("the summary has {tokens} tokens and replaces {replaced}")]
    TooLarge { tokens: u64, replaced: u64 },
    #[error("the context would grow from {before} to {after} tokens")]
    Growth { before: u64, after: u64 },
    #[error("the answer is an error message of a server, not a summary")]
    ErrorBody,
    #[error("the summary says the same thing over and over")]
    Repetition,
    #[error("the summary has headings, but nothing stands under them")]
    NoContent,
    #[error("the summary has none of the headings that were asked for")]
    NoHeadings,
    #[error("most of the summary is copied from the conversation instead of summing it up")]
    TranscriptEcho,
    #[error("the summary is written in a script or a language that nobody in the conversation writes in")]
    WrongLanguage,
    #[error("the summary does not tell of this conversation: {found} of its {total} names and words occur there")]
    Unrelated { found: u32, total: u32 },
    #[error("the summary names none of what the conversation was about")]
    TellsNothing,
    #[error("the summary has {tokens} tokens, and {least} are the least for what it stands for")]
    TooShort { tokens: u64, least: u64 },
    #[error(
        "none of its statements names its number: a statement of work ends with the number of its call, such as (#12), a \
         request or a rule with that of the user's message, such as (u3), as they stand in the conversation"
    )]
    Uncited,
    #[error("{unsupported} of its {statements} statements of work cite nothing that shows them")]
    Unsupported { unsupported: usize, statements: usize },
}

impl RejectReason {
    /// A stable word for results and logs.
    pub fn code(&self) -> &'static str {
        match self {
            RejectReason::Empty => "empty",
            RejectReason::Length => "length",
            RejectReason::ToolCall => "tool_call",
            RejectReason::Refusal => "refusal",
            RejectReason::Incomplete => "incomplete",
            RejectReason::PromptEcho => "prompt_echo",
            RejectReason::TooLarge { .. } => "too_large",
            RejectReason::Growth { .. } => "would_grow",
            RejectReason::ErrorBody => "error_body",
            RejectReason::Repetition => "repetition",
            RejectReason::NoContent => "no_content",
            RejectReason::NoHeadings => "no_headings",
            RejectReason::TranscriptEcho => "transcript_echo",
            RejectReason::WrongLanguage => "wrong_language",
            RejectReason::Unrelated { .. } => "unrelated",
            RejectReason::TellsNothing => "tells_nothing",
            RejectReason::TooShort { .. } => "too_short",
            RejectReason::Uncited => "uncited",
            RejectReason::Unsupported { .. } => "unsupported",
        }
    }
}
