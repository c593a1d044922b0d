//! The rows: what is refused, by whom, and in which words.

use crate::format::violation_code::ViolationCode::{self, *};
use crate::model::format::Format::{self, Anthropic, Gemini, OpenaiChat, OpenaiResponses};

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    pub code: ViolationCode,
    pub formats: &'static [Format],
    /// The provider's own words, or those of its documents.
    pub says: &'static str,
}

const PROVIDERS: &[Format] = &[Anthropic, Gemini, OpenaiChat, OpenaiResponses];

const fn row(code: ViolationCode, formats: &'static [Format], says: &'static str) -> Refusal {
    Refusal { code, formats, says }
}

/// Every row, as of November 2026.
#[rustfmt::skip]
pub const TABLE: &[Refusal] = &[
    row(HalfCharacter, PROVIDERS, "The request body is not valid JSON: no low surrogate in string"),
    // Calls and results.
    row(OrphanResult, PROVIDERS, "unexpected `tool_use_id` found in `tool_result` blocks; No tool call found for function call output; messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    row(DuplicateResult, PROVIDERS, "each tool_use must have a single result; Duplicate function_call_output for call_id"),
    row(CallWithoutResult, PROVIDERS, "`tool_use` ids were found without `tool_result` blocks immediately after; No tool output found for function call; the number of function response parts is equal to the number of function call parts"),
    row(ResultOutOfPlace, PROVIDERS, "each `tool_use` block must have a corresponding `tool_result` block in the next message"),
    row(ResultsNotFirst, &[Anthropic], "tool_result blocks come first in the content of their message"),
    row(SplitBatch, &[Anthropic, Gemini, OpenaiChat], "`tool_use` ids were found without `tool_result` blocks immediately after: all results of a batch in one message"),
    row(DuplicateCallId, &[Anthropic, OpenaiResponses], "`tool_use` ids must be unique; Duplicate 'call_id'"),
    row(InvalidCallId, &[Anthropic, OpenaiChat, OpenaiResponses], "String should match pattern '^[a-zA-Z0-9_-]+$'; '^srvtoolu_[a-zA-Z0-9_]+$' of a tool of the provider's own; string too long. Expected a string with maximum length 64 (Responses), 40 (Chat)"),
    row(InvalidToolName, PROVIDERS, "string does not match pattern '^[a-zA-Z0-9_-]{1,128}$' (Anthropic), '^[a-zA-Z0-9_-]+$' and at most 64 (OpenAI)"),
    row(InvalidArguments, PROVIDERS, "Input should be a valid dictionary; arguments is a string of JSON"),
    row(InvalidOutput, &[Gemini, OpenaiResponses], "Invalid type for 'input[1].output'; response is a Struct"),
    row(InvalidCall, &[OpenaiChat], "Missing required parameter: 'messages[1].tool_calls[0].function'"),
    row(CallNotAllowed, &[OpenaiChat], "Unknown parameter: 'messages[0].tool_calls'"),
    row(EmptyToolCalls, &[OpenaiChat], "[] is too short - 'messages.1.tool_calls'"),
    row(EmptyErrorResult, &[Anthropic], "tool_result: content cannot be empty if `is_error` is true"),
    row(ErrorResultNotText, &[Anthropic], "tool_result: all content must be type `text` if `is_error` is true"),
    row(ServerToolUnpaired, &[Anthropic], "`server_tool_use` without its result in the same turn"),
    row(MissingLink, &[Anthropic, Gemini, OpenaiResponses], "`caller` is the tool or the program that made the call; an output answers the program of its call_id; an approval answers its request; codeExecutionResult always follows executableCode, toolResponse has the id of its toolCall"),
    // Messages and their content.
    row(EmptyContent, PROVIDERS, "all messages must have non-empty content; must include at least one parts field; Invalid value for 'content': expected a string, got null"),
    row(EmptyText, PROVIDERS, "text content blocks must be non-empty"),
    row(InvalidBlock, PROVIDERS, "type: Field required; required oneof field 'data' must have one initialized field"),
    row(UnknownBlock, PROVIDERS, "Input tag does not match any of the expected tags; Invalid value: 'text'. Supported values are"),
    row(BlockNotAllowed, &[Anthropic, OpenaiResponses], "`tool_use` blocks can only be in `assistant` messages; Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'"),
    row(InvalidMedia, PROVIDERS, "source: Field required; Invalid type for 'image_url': expected an object, but got a string instead"),
    row(MediaTooLarge, &[Anthropic], "image exceeds 5 MB maximum: 11641928 bytes > 5242880 bytes; At least one of the image dimensions exceed max allowed size: 8000 pixels; for many-image requests: 2000 pixels"),
    row(TooManyMedia, &[Anthropic], "too many images and documents: 104 + 1 > 100 (for models with a 200k-token context window; 600 for all others)"),
    row(TooManyPages, &[Anthropic], "A maximum of 100 PDF pages may be provided. (600 where the window is larger than 200k tokens)"),
    row(ResponseFields, &[Anthropic], "usage: Extra inputs are not permitted"),
    row(UnknownRole, PROVIDERS, "Unexpected role; Please use a valid role: user, model"),
    row(FirstMessageNotUser, &[Anthropic, Gemini], "first message must use the \"user\" role; ensure that function call turn comes immediately after a user turn or after a function response turn"),
    row(SystemInMessages, &[Anthropic, Gemini], "use the top-level 'system' parameter for the initial system prompt; Please use a valid role: user, model"),
    row(SystemMisplaced, &[Anthropic], "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result; role 'system' must precede an 'assistant' message or end the array; consecutive system messages are not allowed"),
    row(TrailingSpaceTrimmed, &[Anthropic], "final assistant content cannot end with trailing whitespace"),
    row(TooManyCacheMarks, &[Anthropic], "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    row(InvalidCacheMark, &[Anthropic], "cache_control.ephemeral.ttl: Input should be '5m' or '1h'"),
    row(CacheMarkNotAllowed, &[Anthropic], "thinking.cache_control: Extra inputs are not permitted"),
    row(CacheMarkOrder, &[Anthropic], "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"),
    // Thinking.
    row(ThinkingAlone, &[OpenaiChat], "Invalid assistant message: content or tool_calls must be set"),
    row(UnsignedThinking, &[Anthropic], "thinking.signature: Field required"),
    row(ThinkingNotFirst, &[Anthropic], "Expected `thinking` or `redacted_thinking`, but found `text`"),
    row(EndsWithThinking, &[Anthropic], "The final block in an assistant message cannot be `thinking`"),
    row(EmptySignature, &[Gemini], "Thought signature is not valid"),
    row(InvalidSignature, &[Gemini], "Invalid value at 'contents[2].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed"),
    row(UnsignedCall, &[Gemini], "Function call is missing a thought_signature in functionCall parts"),
    row(ReasoningWithoutSummary, &[OpenaiResponses], "Missing required parameter: 'input[1].summary'"),
    row(ReasoningWithoutItem, &[OpenaiResponses], "Item of type 'reasoning' was provided without its required following item"),
    // Items.
    row(AnswerWithoutId, &[OpenaiResponses], "an output message has id, type, role, content and status; input from the client is a string"),
    row(ConfigurationUpdatesAdjacent, &[OpenaiResponses], "two configuration_update items in a row are refused with 400"),
    row(ItemIdTooLong, &[OpenaiResponses], "Invalid 'input[2].id': string too long. Expected a string with maximum length 64, but got a string with length 416 instead."),
    row(DuplicateItemId, &[OpenaiResponses], "Duplicate item found with id fc_1. Remove duplicate items from your input and try again."),
];
