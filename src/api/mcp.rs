//! The MCP server: what an agent may ask about its own context, as tools and resources (streamable HTTP).
//!
//! Stateless: any replica answers any request, none keeps a session. The key of the request decides the tenant, as for REST.

mod answer;
mod chapters;
mod resources;
mod tool;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::body;
use super::problem::Problem;
use super::problem_code::ProblemCode;
use super::state::AppState;
use crate::service::Services;
use crate::service::core::access::Access;
use crate::service::core::error::ServiceError;
use crate::service::core::tenant::Tenant;

const INSTRUCTIONS: &str = "Your context as contextd manages it. Nothing that you said or saw is lost when the context \
    is compacted: `search` finds it, `read_entry` and `read_tool_result` show it whole. Every tool takes the session_id \
    of the conversation.";

/// Names the version of the protocol that a client speaks.
const VERSION: &str = "mcp-protocol-version";

/// `POST /mcp`. Goes behind authentication.
pub fn routes(state: &AppState) -> Router<AppState> {
    // The router looks at the host, for every route alike.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(state.max_body)
        .disable_allowed_hosts();
    let services = Arc::clone(&state.services);
    let handler = move || Ok(Mcp { services: Arc::clone(&services) });
    Router::new()
        .route_service("/mcp", StreamableHttpService::new(handler, NeverSessionManager::default().into(), config))
        .route_layer(from_fn_with_state(state.clone(), read_body))
}

/// What a request has to say of itself so that its refusal can be told.
struct RequestTraits {
    is_json: bool,
    is_of_known_version: bool,
}

impl RequestTraits {
    fn of(headers: &HeaderMap) -> RequestTraits {
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let version = headers.get(VERSION).map(text);
        RequestTraits {
            is_json: body::essence(headers) == "application/json",
            is_of_known_version: version.is_none_or(|version| versions().any(|known| known == version)),
        }
    }
}

fn versions() -> impl Iterator<Item = &'static str> {
    ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str)
}

/// Reads the body as all others are read: in time, counted, and as JSON where it says that it is.
async fn read_body(State(state): State<AppState>, request: Request, next: Next) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let traits = RequestTraits::of(&parts.headers);
    let bytes = body::read(body, state.max_body).await?;
    if traits.is_json && parts.method == Method::POST {
        body::check_json(&bytes)?;
    }
    Ok(as_problem(next.run(Request::from_parts(parts, bytes.into())).await, &traits))
}

/// Refusals of the MCP library that are no JSON, as all others are told.
fn as_problem(response: Response, request: &RequestTraits) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.contains("json") {
        return response;
    }
    let no_message = || ServiceError::invalid("", "must be one message of JSON-RPC as MCP has them").into();
    let problem: Problem = match response.status() {
        StatusCode::BAD_REQUEST if !request.is_of_known_version => {
            let known = versions().collect::<Vec<_>>().join(", ");
            Problem::new(ProblemCode::McpVersionUnknown, format!("the versions of MCP that are known are {known}"))
        }
        StatusCode::BAD_REQUEST => no_message(),
        StatusCode::METHOD_NOT_ALLOWED => Problem::new(ProblemCode::MethodNotAllowed, "the route takes POST alone"),
        StatusCode::NOT_ACCEPTABLE => {
            let detail = "`Accept` has to name application/json and text/event-stream";
            Problem::new(ProblemCode::NotAcceptable, detail)
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(ProblemCode::PayloadTooLarge, "the body is larger than the limit")
        }
        // So the library tells of JSON that is no message, too.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if request.is_json => no_message(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let detail = "the body has to be one JSON-RPC message, as application/json";
            Problem::new(ProblemCode::UnsupportedMediaType, detail)
        }
        _ => return response,
    };
    match response.headers().get(header::ALLOW).cloned() {
        Some(allow) => problem.header(header::ALLOW, allow).into_response(),
        None => problem.into_response(),
    }
}

/// Answers one request.
struct Mcp {
    services: Arc<Services>,
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::new("contextd", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let access = access(&context)?;
        let arguments = request.arguments.unwrap_or_default();
        tools::call(&self.services, access, &request.name, arguments).await.map(CallToolResponse::from)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        resources::list(&self.services.queries, tenant(&context)?, cursor).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.services.queries, tenant(&context)?, &request.uri).await.map(ReadResourceResponse::from)
    }
}

fn tenant(context: &RequestContext<RoleServer>) -> Result<Tenant, ErrorData> {
    Ok(access(context)?.tenant)
}

/// What authentication put on the HTTP request.
fn access(context: &RequestContext<RoleServer>) -> Result<Access, ErrorData> {
    let access = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Access>().copied());
    access.ok_or_else(|| ErrorData::internal_error("the request has no tenant", None))
}
