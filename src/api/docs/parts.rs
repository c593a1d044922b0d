//! The parts of the document that are written by hand, and where they go.

use serde_json::{Map, Value, json};

use super::operations::for_each;

const PARTS: [(&str, &str); 6] = [
    ("operations", include_str!("../../../openapi/parts/operations.json")),
    ("items", include_str!("../../../openapi/parts/items.json")),
    ("settings", include_str!("../../../openapi/parts/settings.json")),
    ("events", include_str!("../../../openapi/parts/events.json")),
    ("hooks", include_str!("../../../openapi/parts/hooks.json")),
    ("mcp", include_str!("../../../openapi/parts/mcp.json")),
];

const TAGS: [(&str, &str); 12] = [
    ("sessions", "Sessions: an agent's conversation and its settings."),
    ("entries", "What was said, as a tree to which entries are only added."),
    ("context", "The context as a provider is sent it."),
    ("compactions", "Making a context smaller."),
    ("ledger", "Calls, files and search over all that was ever said."),
    ("chapters", "Tasks that the agent has closed."),
    ("events", "Server-sent events."),
    ("hooks", "A tenant's own services, asked and told."),
    ("keys", "A tenant's API keys, for those with the scope `admin`."),
    ("mcp", "The same for an agent, over the Model Context Protocol."),
    ("stats", "A tenant at a glance."),
    ("service", "The service itself: its health and figures, which need no key, and what is configured and known."),
];

/// Members that the routes know as any JSON, and their schemas: `[Item]` is a list, `?` allows null.
const TYPED: [(&str, &str, &[&str]); 8] = [
    ("items", "[Item]", &["AppendEntries", "WholeTranscript", "CountTokens", "LintItems", "CompactItems"]),
    ("messages", "[Item]", &["CompactedItems", "Context"]),
    ("repaired", "[Item]", &["Linted"]),
    ("item", "Item", &["EntryView"]),
    ("system", "SystemPrompt", &["CreateSession", "UpdateSession", "WholeTranscript", "CompactItems", "CountTokens"]),
    (
        "tools",
        "[ToolDefinition]",
        &["CreateSession", "UpdateSession", "WholeTranscript", "CompactItems", "CountTokens"],
    ),
    ("settings_own", "SettingsPatch", &["Session"]),
    (
        "settings",
        "SettingsPatch?",
        &["CreateSession", "UpdateSession", "PrepareCompaction", "CompactSession", "CompactItems"],
    ),
];

const EVENTS: [(&str, &str); 7] = [
    ("snapshot", "SnapshotEvent"),
    ("compaction.*", "CompactionEvent"),
    ("chapter.requested", "ChapterRequestedEvent"),
    ("reset", "ResetEvent"),
    ("ready", "ReadyEvent"),
    ("usage_update", "UsageUpdateEvent"),
    ("compaction_update", "CompactionUpdateEvent"),
];

/// A part by its name. A part that can't be read leaves nothing behind, which the tests find.
pub fn part(name: &str) -> Map<String, Value> {
    let text = PARTS.iter().find(|(own, _)| *own == name).map_or("{}", |(_, text)| text);
    serde_json::from_str(text).unwrap_or_default()
}

/// Puts all parts in their places.
pub fn add(document: &mut Value) {
    let (mut hooks, mut mcp) = (part("hooks"), part("mcp"));
    let within = [&mut hooks, &mut mcp].map(|part| part.remove("schemas").unwrap_or_default());
    for schemas in ["items", "settings", "events"].map(part).map(Value::Object).into_iter().chain(within) {
        merge(&mut document["components"]["schemas"], schemas);
    }
    merge(&mut document["paths"], mcp.remove("paths").unwrap_or_default());
    document["webhooks"] = hooks.remove("webhooks").unwrap_or_default();
    document["tags"] = TAGS.iter().map(|(name, about)| json!({"name": name, "description": about})).collect();
    for (member, kind, schemas) in TYPED {
        for schema in schemas {
            retype(&mut document["components"]["schemas"][schema]["properties"][member], kind);
        }
    }
    describe_settings(&mut document["components"]["schemas"]);
    for_each(document, |_, _, operation| name_events(operation));
    widen(document);
}

fn merge(into: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) {
        into.extend(more);
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Gives a member its type; its description and bounds stay.
fn retype(member: &mut Value, kind: &str) {
    let (kind, nullable) = kind.strip_suffix('?').map_or((kind, false), |kind| (kind, true));
    if let Some(one) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        member["items"] = reference(one);
        return;
    }
    let description = member.get("description").cloned();
    *member = if nullable { json!({"oneOf": [reference(kind), {"type": "null"}]}) } else { reference(kind) };
    if let Some(description) = description {
        member["description"] = description;
    }
}

/// A session shows its settings resolved, with the meaning and the bounds that they have in a patch. A patch names its
/// defaults in words: as `default`, generated clients would send them, and so set what nobody wanted to set.
fn describe_settings(schemas: &mut Value) {
    let mut settings = schemas["SettingsPatch"]["properties"].take();
    for (name, setting) in settings.as_object_mut().into_iter().flatten() {
        let resolved = &mut schemas["Settings"]["properties"][name.as_str()];
        if let Some(kind) = resolved.get("$ref").cloned() {
            *resolved = json!({"allOf": [{"$ref": kind}]});
        }
        for member in ["description", "minimum", "maximum", "default"] {
            if let Some(value) = setting.get(member) {
                resolved[member] = value.clone();
            }
        }
        if let Some(default) = setting.as_object_mut().and_then(|setting| setting.shift_remove("default")) {
            let about = setting["description"].as_str().unwrap_or_default();
            setting["description"] = json!(format!("{about} Default: `{default}`."));
            setting["x-default"] = default;
        }
    }
    schemas["SettingsPatch"]["properties"] = settings;
}

/// Says which schema the `data` of each event has: a stream is text to this notation.
fn name_events(operation: &mut Value) {
    let Some(stream) = operation.pointer_mut("/responses/200/content/text~1event-stream") else { return };
    let events: Map<String, Value> =
        EVENTS.iter().map(|(event, schema)| ((*event).to_owned(), reference(schema))).collect();
    stream["x-events"] = Value::Object(events);
}

/// Unsigned numbers are called `int32`, which half of them do not fit.
fn widen(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(|format| format == "int32") && fields.contains_key("minimum") {
                fields.insert("format".to_owned(), json!("int64"));
            }
            fields.values_mut().for_each(widen);
        }
        Value::Array(items) => items.iter_mut().for_each(widen),
        _ => {}
    }
}
