//! Parts of every tool: its schema, its arguments, whose context it is asked about.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::answer::{self, ToolAnswer, ToolRefusal};
use crate::service::Services;
use crate::service::core::access::Access;
use crate::service::core::tenant::Tenant;

/// Characters of a long text that one call shows.
const USUAL_CHARS: usize = 20_000;
const MOST_CHARS: usize = 200_000;

/// Whose context is asked about.
pub struct ToolScope<'s> {
    pub services: &'s Services,
    pub access: Access,
    pub tenant: Tenant,
}

/// The arguments of a tool that takes a session alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfSession {
    pub session_id: Uuid,
}

pub fn reads(name: &'static str, description: &'static str, fields: &[&Value]) -> Tool {
    let hints = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    Tool::new(name, description, schema(fields)).with_annotations(hints)
}

/// Fields without a default in their description are required; `session_id` is a field of every tool.
pub fn schema(fields: &[&Value]) -> JsonObject {
    let mut properties = JsonObject::new();
    properties.insert("session_id".to_owned(), id("The session (conversation)."));
    properties.extend(fields.iter().filter_map(|fields| fields.as_object()).flat_map(Clone::clone));
    let optional = ["offset", "limit", "cursor"];
    let required: Vec<&String> = properties.keys().filter(|name| !optional.contains(&name.as_str())).collect();
    let schema = json!({"type": "object", "required": required, "additionalProperties": false});
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

/// The fields of a tool that shows a long text by pages.
pub fn long_fields() -> Value {
    json!({
        "offset": {"type": "integer", "minimum": 0, "description": "Characters to leave out at the start. Default 0."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_CHARS,
            "description": "Characters to show. Default 20000."},
    })
}

pub fn id(description: &str) -> Value {
    json!({"type": "string", "format": "uuid", "description": description})
}

pub fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolRefusal> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolRefusal::new(format!("validation_failed: the arguments are not valid: {error}")))
}

pub fn long(text: &str, offset: Option<usize>, limit: Option<usize>) -> ToolAnswer {
    let limit = limit.unwrap_or(USUAL_CHARS);
    if !(1..=MOST_CHARS).contains(&limit) {
        return Err(ToolRefusal::new(format!("validation_failed: limit must be from 1 to {MOST_CHARS}")));
    }
    Ok(answer::text(text, offset.unwrap_or(0), limit))
}
