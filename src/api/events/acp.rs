//! Events as the Agent Client Protocol has them: the parameters of its `session/update`.

use serde_json::{Value, json};

use crate::service::events::StreamEvent;

/// A snapshot as `usage_update`, a compaction that has begun or ended as `compaction_update`: the name, and the data as
/// JSON. `None`: the protocol has no word for it.
pub fn update(event: &StreamEvent) -> Option<(&'static str, String)> {
    let data: Value = serde_json::from_str(&event.data).ok()?;
    let (name, mut update) = match event.kind.as_str() {
        "snapshot" => ("usage_update", json!({"used": data.get("tokens")?, "size": data.get("window")?})),
        kind => ("compaction_update", compaction(kind.strip_prefix("compaction.")?, &data)?),
    };
    update["sessionUpdate"] = name.into();
    Some((name, json!({"sessionId": data.get("session_id")?, "update": update}).to_string()))
}

/// A compaction that was skipped has ended without a change, as a cancelled one.
fn compaction(kind: &str, data: &Value) -> Option<Value> {
    let status = match kind {
        "started" => "in_progress",
        "succeeded" => "completed",
        "skipped" | "cancelled" => "cancelled",
        "failed" => "failed",
        _ => return None,
    };
    let mut update = json!({"compactionId": data.get("compaction_id")?, "status": status});
    if let ("failed", Some(error)) = (status, data["error"].as_str()) {
        update["error"] = error.into();
    }
    Some(update)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, data: Value) -> Option<(&'static str, Value)> {
        let event = StreamEvent { id: Some(1), kind: kind.to_owned(), data: data.to_string() };
        update(&event).map(|(name, data)| (name, serde_json::from_str(&data).unwrap()))
    }

    #[test]
    fn snapshots_say_how_full_the_window_is() {
        let snapshot = json!({"session_id": "s", "phase": "after", "compaction_id": "c", "tokens": 9, "window": 100});
        let update = json!({"sessionUpdate": "usage_update", "used": 9, "size": 100});
        assert_eq!(told("snapshot", snapshot), Some(("usage_update", json!({"sessionId": "s", "update": update}))));
    }

    #[test]
    fn compactions_have_four_states() {
        for (kind, status) in [
            ("started", "in_progress"),
            ("succeeded", "completed"),
            ("skipped", "cancelled"),
            ("cancelled", "cancelled"),
            ("failed", "failed"),
        ] {
            let data =
                json!({"session_id": "s", "compaction_id": "c", "status": kind, "error": "told", "result": null});
            let (name, data) = told(&format!("compaction.{kind}"), data).unwrap();
            let mut update = json!({"sessionUpdate": name, "compactionId": "c", "status": status});
            if kind == "failed" {
                update["error"] = json!("told");
            }
            assert_eq!((name, data), ("compaction_update", json!({"sessionId": "s", "update": update})));
        }
    }

    #[test]
    fn for_the_rest_there_are_no_words() {
        for kind in ["compaction.queued", "chapter.requested", "reset", "ready", "compactionx"] {
            let data = json!({"session_id": "s", "compaction_id": "c", "tokens": 1, "window": 2});
            assert_eq!(told(kind, data), None, "{kind}");
        }
    }
}
