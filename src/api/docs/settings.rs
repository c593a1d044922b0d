//! The settings as a JSON Schema of their own, from the parts of the OpenAPI document.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::parts::part;
use crate::domain::settings::Settings;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const ABOUT: &str =
    "The settings of a contextd session, as `PATCH` takes them. Null takes any setting back to its default.";

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = part("settings").remove("SettingsPatch").unwrap_or_default();
    for (_, setting) in schema["properties"].as_object_mut().into_iter().flatten() {
        // The caller's: the table is that of the preset `auto` alone.
        setting.as_object_mut().map(|setting| setting.shift_remove("default"));
    }
    schema["$schema"] = json!(DIALECT);
    schema["title"] = json!("Settings");
    schema["description"] = json!(ABOUT);
    schema["$defs"] = Value::Object(words());
    point_inside(&mut schema);
    schema
});

/// The schema without defaults.
pub fn schema() -> Value {
    SCHEMA.clone()
}

/// The schemas that those of the settings name.
fn words() -> Map<String, Value> {
    let mut schemas = Vec::new();
    Settings::schemas(&mut schemas);
    schemas.into_iter().filter_map(|(name, schema)| Some((name, serde_json::to_value(schema).ok()?))).collect()
}

/// References are to this schema, not to the document that it was part of.
fn point_inside(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref") {
                *target = target.replace("#/components/schemas/", "#/$defs/");
            }
            fields.values_mut().for_each(point_inside);
        }
        Value::Array(items) => items.iter_mut().for_each(point_inside),
        _ => {}
    }
}
