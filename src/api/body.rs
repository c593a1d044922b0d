//! Request bodies: read within the limit, checked as text and as JSON, and turned into a type, with an exact
//! answer for whatever is wrong.

mod blocks;

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use futures::StreamExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;

use self::blocks::BodyBlocks;
use super::bounds::{self, BodyTime};
use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;
use super::state::AppState;
use crate::domain::model::json;
use crate::service::core::error::FieldError;
use crate::service::core::offload::offload;

/// A body's own object and the list in it, around an item that may nest as deep as the limit says.
const ENVELOPE_DEPTH: usize = 2;
/// A refused body is read on, up to this many times the limit, so that the client gets to see the answer.
const DRAIN_FACTOR: usize = 2;
/// Longest explanation of a parse error: serde quotes what it found.
const MAX_DETAIL_CHARS: usize = 300;

/// A JSON body of type `T`. An empty body stands for `{}`, unless it says to be something else than JSON.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<AppState> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let bytes = read(body, state.max_body).await?;
        let size = bytes.len();
        if bytes.is_empty() && !parts.headers.contains_key(header::CONTENT_TYPE) {
            return parse("{}").map(Body);
        }
        require_json(&parts.headers)?;
        if bytes.is_empty() {
            return parse("{}").map(Body);
        }
        let max_depth = state.services.sessions.options().max_depth;
        let job = move || {
            let text = utf8(&bytes)?;
            check_depth(&bytes, max_depth)?;
            parse(text).map(Body)
        };
        offload(size, job).await?
    }
}

/// Reads a whole body of at most `limit` bytes, whether or not it says its length. What is refused is read on, and
/// thrown away, so that the client gets to see the answer.
pub async fn read(body: HttpBody, limit: usize) -> Result<Bytes> {
    let mut frames = body.into_data_stream();
    let mut blocks = BodyBlocks::default();
    let mut size = 0usize;
    let mut refused: Option<Problem> = None;
    let time = BodyTime::start();
    while let Some(frame) = time.within(size, frames.next()).await? {
        let frame = frame.map_err(|_| Problem::new(ProblemCode::BodyUnreadable, "the body ended before its time"))?;
        size = size.saturating_add(frame.len());
        if size > limit.saturating_mul(DRAIN_FACTOR) {
            break;
        }
        if size > limit {
            refused = Some(too_large(limit));
        } else if refused.is_none() {
            refused = bounds::hold(size).err();
        }
        if refused.is_some() {
            blocks = BodyBlocks::default();
            bounds::let_go();
        } else {
            blocks.push(frame).await?;
        }
    }
    match refused {
        Some(problem) => Err(problem),
        None => blocks.joined().await,
    }
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("the body is larger than {limit} bytes");
    Problem::new(ProblemCode::PayloadTooLarge, detail).figure("limit", json!(limit))
}

/// A browser sends `text/plain` across sites without asking, so anything but JSON is refused.
fn require_json(headers: &HeaderMap) -> Result<()> {
    let essence = essence(headers);
    let is_json = essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    if is_json {
        return Ok(());
    }
    let detail = "the body must be sent as application/json";
    Err(Problem::new(ProblemCode::UnsupportedMediaType, detail))
}

/// The content type without its parameters.
pub fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        Problem::new(ProblemCode::InvalidUtf8, format!("the body is not UTF-8 at byte {offset}"))
            .figure("offset", json!(offset))
    })
}

fn check_depth(bytes: &[u8], max_depth: usize) -> Result<()> {
    let allowed = max_depth.saturating_add(ENVELOPE_DEPTH);
    let depth = json::depth(bytes);
    if depth <= allowed {
        return Ok(());
    }
    let detail = format!("the body nests {depth} deep; an item may nest {max_depth} deep, a body {allowed}");
    Err(Problem::new(ProblemCode::TooDeep, detail).figure("limit", json!(max_depth)))
}

/// Refuses bytes that are no JSON at all.
pub fn check_json(bytes: &[u8]) -> Result<()> {
    serde_json::from_str::<IgnoredAny>(utf8(bytes)?).map(drop).map_err(|error| malformed(&error))
}

/// Parses; only a failure pays for finding out where.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| locate::<T>(text))
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::new(ProblemCode::MalformedJson, format!("the body is not JSON: {error}"))
        .figure("line", json!(error.line()))
        .figure("column", json!(error.column()))
}

/// Parses again, this time keeping the path to the fault. What is not JSON at all is that first of all.
fn locate<T: DeserializeOwned>(text: &str) -> Problem {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return malformed(&error);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return Problem::invalid(vec![FieldError { pointer: String::new(), detail: "not valid".to_owned() }]);
    };
    let mut pointer = pointer(error.path());
    let detail = without_position(error.inner());
    if let Some(name) = named_field(&detail)
        && !pointer.ends_with(&segment(name))
    {
        pointer.push_str(&segment(name));
    }
    Problem::invalid(vec![FieldError { pointer, detail: detail.chars().take(MAX_DETAIL_CHARS).collect() }])
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|step| match step {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => segment(key),
            Segment::Enum { variant } => segment(variant),
            Segment::Unknown => String::new(),
        })
        .collect()
}

/// One step of a JSON pointer (RFC 6901).
pub fn segment(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// serde reports a missing or an unknown field at the object around it; the name is in the message only.
fn named_field(detail: &str) -> Option<&str> {
    if let Some(rest) = detail.strip_prefix("missing field `") {
        return rest.strip_suffix('`');
    }
    let rest = detail.strip_prefix("unknown field `")?;
    let end = rest.rfind("`, expected").or_else(|| rest.rfind("`, there are no fields"))?;
    // The list of expected names holds no "`, expected" of its own, so the last one ends the name.
    rest.get(..end)
}

fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).map(str::to_owned).unwrap_or(message)
}
