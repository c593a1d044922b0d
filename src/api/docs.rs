//! The OpenAPI document: what the routes say of themselves, and around it the parts under `openapi/parts` that no route
//! can say (descriptions of answers, examples, items, events, hooks, MCP).

mod answers;
mod codes;
mod operations;
mod parts;
pub mod settings;

use axum::http::Method;
use serde_json::{Value, json};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, ServerBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::problem::{InvalidField, ProblemBody};
use super::problem_code::ProblemCode;
use super::scope;

const BEARER: &str = "bearer";

/// The document before any route is added.
pub fn head() -> OpenApi {
    let description = "Manages the context of LLM agents: a lossless tree of entries, background compaction, and a \
                       rebuilt context that is valid for its provider.";
    let license = LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("contextd")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(description))
        .license(Some(license));
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .security(Some([SecurityRequirement::new(BEARER, [] as [&str; 0])]))
        .build()
}

/// The whole document.
pub fn complete(mut api: OpenApi) -> Value {
    let components = api.components.get_or_insert_with(Components::new);
    components.add_security_scheme(BEARER, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    components.schemas.insert("Problem".to_owned(), ProblemBody::schema());
    components.schemas.insert(ProblemCode::name().into_owned(), ProblemCode::schema());
    components.schemas.insert(InvalidField::name().into_owned(), InvalidField::schema());
    // A path that takes the rest of the address has no notation of its own here.
    let paths = std::mem::take(&mut api.paths.paths);
    api.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    let Ok(mut document) = serde_json::to_value(api) else { return Value::Null };
    answers::describe(&mut document);
    parts::add(&mut document);
    answers::describe_mcp(&mut document);
    codes::describe(&mut document);
    operations::for_each(&mut document, require_scope);
    document
}

/// Says which scope of a key an operation needs, where it needs one.
fn require_scope(path: &str, method: &str, operation: &mut Value) {
    if operation.get("security").is_none()
        && let Ok(method) = method.to_uppercase().parse::<Method>()
    {
        let scope: &str = scope::needed(&method, path).into();
        operation["security"] = json!([{BEARER: [scope]}]);
    }
}
