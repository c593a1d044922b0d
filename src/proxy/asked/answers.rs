//! Compactions as providers answer with them, whole or as a stream of events.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::service::stateless::HandoverUsage;

/// An answer of ours in a provider's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAnswer {
    pub content_type: &'static str,
    pub body: String,
}

/// OpenAI's response with one item and nothing else.
pub fn response(
    id: &str,
    created_at: i64,
    model: Option<&str>,
    item: &RawValue,
    usage: HandoverUsage,
    streams: bool,
) -> OwnAnswer {
    let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": id, "object": "response", "created_at": created_at, "status": status, "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "model": model.unwrap_or_default(),
            "output": output, "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [],
            "top_p": null, "usage": usage})
    };
    let total = usage.input.saturating_add(usage.output);
    let used = json!({"input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": total});
    let completed = response("completed", json!([item]), used);
    if !streams {
        return whole(&completed);
    }
    let begun = response("in_progress", json!([]), Value::Null);
    let events = [
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": completed}),
    ];
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        event
    });
    streamed(numbered)
}

/// Anthropic's message with one block `compaction` and nothing else. Without a summary the compaction has failed.
pub fn message(id: &str, model: Option<&str>, summary: Option<&str>, usage: HandoverUsage, streams: bool) -> OwnAnswer {
    let message = |content: Value, stop: Value, usage: Value| {
        json!({"id": id, "type": "message", "role": "assistant", "model": model.unwrap_or_default(),
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
            "context_management": {"applied_edits": []}})
    };
    // What the compaction took is in `iterations` alone.
    let used = || {
        json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "iterations": [compaction_usage(usage)]})
    };
    if !streams {
        let content = json!([{"type": "compaction", "content": summary}]);
        return whole(&message(content, "compaction".into(), used()));
    }
    let mut events = vec![json!({"type": "message_start", "message": message(json!([]), Value::Null, used())})];
    events.extend(block_events(summary));
    events.extend([
        json!({"type": "message_delta", "delta": {"stop_reason": "compaction", "stop_sequence": null},
            "usage": used(), "context_management": {"applied_edits": []}}),
        json!({"type": "message_stop"}),
    ]);
    streamed(events)
}

/// The events of a block `compaction` that is the first of its message. It comes whole.
pub fn block_events(summary: Option<&str>) -> [Value; 3] {
    [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": null}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": summary}}),
        json!({"type": "content_block_stop", "index": 0}),
    ]
}

/// What a compaction took, as one of a message's `iterations`.
pub fn compaction_usage(usage: HandoverUsage) -> Value {
    json!({"type": "compaction", "input_tokens": usage.input.saturating_sub(usage.cached),
        "output_tokens": usage.output, "cache_creation_input_tokens": 0, "cache_read_input_tokens": usage.cached})
}

/// An event as it stands in a stream.
pub fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn whole(answer: &Value) -> OwnAnswer {
    OwnAnswer { content_type: "application/json", body: answer.to_string() }
}

fn streamed(events: impl IntoIterator<Item = Value>) -> OwnAnswer {
    let body = events.into_iter().map(|one| event(&one)).collect();
    OwnAnswer { content_type: "text/event-stream", body }
}
