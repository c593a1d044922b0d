//! What the OpenAPI document says of every operation alike.

use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::problem::{InvalidField, ProblemBody};

const BEARER: &str = "bearer";

/// The document before any route is added.
pub fn head() -> OpenApi {
    let description = "Manages the context of LLM agents: a lossless tree of entries, background compaction, and a \
                       rebuilt context that is valid for its provider.";
    let info = InfoBuilder::new().title("contextd").version(env!("CARGO_PKG_VERSION")).description(Some(description));
    OpenApiBuilder::new().info(info).security(Some([SecurityRequirement::new(BEARER, [] as [&str; 0])])).build()
}

/// Adds what all operations share: the error answer, the idempotency header, the key.
pub fn complete(mut api: OpenApi) -> OpenApi {
    let components = api.components.get_or_insert_with(Components::new);
    components.add_security_scheme(BEARER, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    components.schemas.insert("Problem".to_owned(), ProblemBody::schema());
    components.schemas.insert(InvalidField::name().into_owned(), InvalidField::schema());
    // A path that takes the rest of the address has no notation of its own here.
    let paths = std::mem::take(&mut api.paths.paths);
    api.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    for item in api.paths.paths.values_mut() {
        let writes = [&mut item.post, &mut item.put];
        writes.into_iter().flatten().for_each(add_idempotency_key);
        let all = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        all.into_iter().flatten().for_each(finish);
    }
    api
}

fn finish(operation: &mut Operation) {
    let problem = RefOr::Ref(Ref::from_schema_name("Problem"));
    let content = ContentBuilder::new().schema(Some(problem)).build();
    let response = ResponseBuilder::new()
        .description("Not done: `code` says why.")
        .content("application/problem+json", content)
        .build();
    operation.responses.responses.insert("default".to_owned(), response.into());
}

fn add_idempotency_key(operation: &mut Operation) {
    let key = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(255)).build();
    let parameter = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .description(Some("The same key with the same request is answered once and replayed from then on."))
        .schema(Some(key))
        .build();
    operation.parameters.get_or_insert_with(Vec::new).push(parameter.into());
}
