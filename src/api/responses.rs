//! OpenAI's compaction, as its clients call it.

mod output;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::Body;
use super::check::{Faults, MAX_NAME_CHARS, STATELESS_ITEMS};
use super::problem::{Problem, Result};
use super::state::AppState;
use super::stateless::MODEL_TIME;
use super::{bounds, large};
use crate::domain::model::format::Format;
use crate::service::core::answer_room::AnswerRoom;
use crate::service::core::clock;
use crate::service::core::error::ServiceError;
use crate::service::core::idempotency::about;
use crate::service::core::offload::size;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::transcript::PutTranscript;
use crate::service::sessions::NewSession;
use crate::service::stateless::{HandedCompaction, HandoverRequest, HandoverUsage};

const SESSION: HeaderName = HeaderName::from_static("contextd-session");

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(compact_response))
}

/// OpenAI's request. Fields that are not named here are taken, and nothing is done about them.
#[derive(Deserialize, ToSchema)]
struct CompactResponse {
    /// Its window decides how many of the user's messages stay.
    #[schema(max_length = 512)]
    model: Option<String>,
    /// The whole conversation: a text, or a list of at most 20,000 items. What an earlier compaction gave may be among
    /// them.
    #[schema(value_type = Value)]
    input: Option<Box<RawValue>>,
    /// The system prompt.
    instructions: Option<String>,
    /// Refused: responses are kept nowhere here, so `input` has to hold the whole conversation.
    #[schema(value_type = Option<String>)]
    previous_response_id: Option<Value>,
}

/// OpenAI's answer.
#[derive(Serialize, ToSchema)]
struct CompactedResponse {
    id: String,
    /// `response.compaction`.
    object: &'static str,
    /// Seconds since 1970.
    created_at: i64,
    /// The user's messages, instructions that stood among them, and at the end one item of type `compaction`: its
    /// `encrypted_content` stands for all else, wherever it comes back.
    #[schema(value_type = Vec<Object>)]
    output: Vec<Box<RawValue>>,
    usage: ResponseUsage,
}

/// Tokens of the calls to a model; where none was asked, those of input and summary.
#[derive(Serialize, ToSchema)]
struct ResponseUsage {
    input_tokens: u64,
    input_tokens_details: InputTokensDetails,
    output_tokens: u64,
    output_tokens_details: OutputTokensDetails,
    total_tokens: u64,
}

#[derive(Serialize, ToSchema)]
struct InputTokensDetails {
    cached_tokens: u64,
    /// 0: upstreams do not say.
    cache_write_tokens: u64,
}

#[derive(Serialize, ToSchema)]
struct OutputTokensDetails {
    reasoning_tokens: u64,
}

impl From<HandoverUsage> for ResponseUsage {
    fn from(usage: HandoverUsage) -> ResponseUsage {
        ResponseUsage {
            input_tokens: usage.input,
            input_tokens_details: InputTokensDetails { cached_tokens: usage.cached, cache_write_tokens: 0 },
            output_tokens: usage.output,
            output_tokens_details: OutputTokensDetails { reasoning_tokens: 0 },
            total_tokens: usage.input.saturating_add(usage.output),
        }
    }
}

/// Compacts a conversation as OpenAI's endpoint of this path does. Nothing is stored unless a session is named.
#[utoipa::path(post, path = "/v1/responses/compact", tag = "compactions", request_body = CompactResponse,
    params(("contextd-session" = Option<String>, Header,
        description = "The session that keeps the conversation and its compaction, by id or external id (of several the oldest); made when \
            new.")),
    responses((status = 200, body = CompactedResponse)))]
async fn compact_response(
    State(state): State<AppState>,
    tenant: Tenant,
    headers: HeaderMap,
    Body(body): Body<CompactResponse>,
) -> Result<Response> {
    let session = session(&headers)?;
    let limit = STATELESS_ITEMS.max(state.services.sessions.options().max_items);
    let mut request = checked(body, limit)?;
    bounds::allow(MODEL_TIME);
    if let Some(name) = &session {
        request.given = state.services.sessions.given_notes(tenant, name).await?;
    }
    let kept = session.map(|name| (name, request.clone()));
    let handed = state.services.stateless.hand_over(tenant, request, state.summariser.as_ref()).await;
    let handed = handed.map_err(at_input)?;
    let compaction = output::compaction(&handed.handle)?;
    if let Some((name, request)) = kept {
        keep(&state, tenant, &name, request, compaction.clone(), handed.compaction).await.map_err(at_input)?;
    }
    let answer = CompactedResponse {
        id: format!("resp_{}", clock::new_id().simple()),
        object: "response.compaction",
        created_at: clock::now().timestamp(),
        output: output::items(handed.kept, compaction)?,
        usage: handed.usage.into(),
    };
    let bytes = size(&answer.output);
    let room = AnswerRoom::wait(tenant, bytes).await?;
    large::with_room(StatusCode::OK, bytes, answer, room).await
}

/// Stores the conversation with its compaction behind it.
async fn keep(
    state: &AppState,
    tenant: Tenant,
    name: &str,
    request: HandoverRequest,
    compaction: Box<RawValue>,
    noted: Option<HandedCompaction>,
) -> std::result::Result<(), ServiceError> {
    let HandoverRequest { model, mut items, system, .. } = request;
    let sessions = &state.services.sessions;
    let id = sessions.session_named(tenant, name, NewSession { model, ..NewSession::default() }).await?;
    about(id);
    items.push(compaction);
    let system = system.map(Some);
    let put = PutTranscript { format: Format::OpenaiResponses, items, system, tools: None, usage: None };
    let put = sessions.put_transcript(tenant, id, put).await?;
    match noted {
        Some(noted) => sessions.note_handover(tenant, id, noted, &put).await,
        None => Ok(()),
    }
}

/// The session that a header names.
fn session(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(SESSION) else { return Ok(None) };
    let name = value.to_str().unwrap_or_default().trim();
    let mut faults = Faults::default();
    if name.is_empty() || name.len() > MAX_NAME_CHARS {
        faults.add("/headers/contextd-session", format!("must be 1 to {MAX_NAME_CHARS} visible ASCII characters"));
    }
    faults.finish()?;
    Ok(Some(name.to_owned()))
}

fn checked(body: CompactResponse, limit: usize) -> Result<HandoverRequest> {
    let mut faults = Faults::default();
    faults.text("/model", body.model.as_deref(), MAX_NAME_CHARS);
    if body.previous_response_id.is_some() {
        faults.add("/previous_response_id", "responses are kept nowhere here: send the whole conversation as `input`");
    }
    let items = input(body.input, &mut faults);
    faults.finish()?;
    if items.len() > limit {
        return Err(Problem::too_many_items(items.len(), limit));
    }
    let system = body.instructions.map(|text| to_raw_value(&text)).transpose().map_err(|_| Problem::internal())?;
    Ok(HandoverRequest { format: Format::OpenaiResponses, model: body.model, items, system, prompt: None, given: None })
}

/// The items of an input; a text is what the user says.
fn input(input: Option<Box<RawValue>>, faults: &mut Faults) -> Vec<Box<RawValue>> {
    let items = match &input {
        Some(text) if text.get().starts_with('"') => output::said(text).map(|item| vec![item]),
        Some(list) => serde_json::from_str(list.get()).ok(),
        None => None,
    };
    match items {
        Some(items) if !items.is_empty() => return items,
        Some(_) => faults.add("/input", "is empty"),
        None => faults.add("/input", "must be a text or a list of items"),
    }
    Vec::new()
}

/// The pointers of an error, where they point to in this body.
fn at_input(error: ServiceError) -> Problem {
    let moved = |pointer: &str| pointer.strip_prefix("/items").map(|rest| format!("/input{rest}"));
    error.with_pointers(|pointer| moved(pointer).unwrap_or_else(|| pointer.to_owned())).into()
}
