//! The beginning of a stream of events: whether it is one of an answer, or an error in its place.

use serde_json::Value;

use crate::domain::tokens::overflow::error_words;

/// Bytes of a stream that are looked at.
const MOST: usize = 64 << 10;

/// What is known of a stream by its first events.
#[derive(Debug, Default)]
pub struct StreamOpening {
    seen: usize,
    line: Vec<u8>,
    /// An event that says more than that the request has come.
    is_over: bool,
    /// What the provider says in place of an answer.
    pub error: Option<String>,
}

impl StreamOpening {
    /// Returns true if it is still open what the stream is.
    pub fn goes_on(&self) -> bool {
        !self.is_over && self.seen < MOST
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if let Some(data) = line.strip_prefix(b"data:").filter(|_| !self.is_over) {
                self.read(data);
            }
        }
    }

    /// OpenAI's Responses tell of the whole response in their first events, and where it failed, in the last one. All others
    /// begin with a part of the answer, or with an error.
    fn read(&mut self, data: &[u8]) {
        let event: Value = serde_json::from_slice(data).unwrap_or_default();
        let response = event.get("response").filter(|response| response.is_object());
        let whole = response.unwrap_or(&event);
        let is_error = event["type"] == "error" || whole.get("error").is_some_and(|error| !error.is_null());
        if is_error {
            self.error = error_words(whole.to_string().as_bytes());
        }
        self.is_over = is_error || response.is_none();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn opened(events: &[Value], piece: usize) -> StreamOpening {
        let text: String = events.iter().map(|event| format!(": wait\r\nevent: x\r\ndata: {event}\r\n\r\n")).collect();
        let mut opening = StreamOpening::default();
        text.as_bytes().chunks(piece).for_each(|piece| opening.push(piece));
        opening
    }

    #[test]
    fn an_error_in_place_of_an_answer_is_heard() {
        let response = |status: &str, error: Value| json!({"status": status, "output": [], "error": error});
        let begun = json!({"type": "response.created", "response": response("in_progress", Value::Null)});
        let too_long = json!({"code": "context_length_exceeded", "message": "Your input exceeds the context window."});
        let failed = json!({"type": "response.failed", "response": response("failed", too_long.clone())});
        for (events, code) in [
            (vec![begun.clone(), failed], "context_length_exceeded"),
            (
                vec![begun.clone(), json!({"type": "error", "code": "server_error", "message": "Sorry."})],
                "server_error",
            ),
            (vec![json!({"error": too_long})], "context_length_exceeded"),
            (
                vec![json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}})],
                "overloaded_error",
            ),
        ] {
            for piece in [1, 7, 4_096] {
                let opening = opened(&events, piece);
                assert!(!opening.goes_on(), "{events:?}");
                assert!(opening.error.as_ref().is_some_and(|error| error.contains(code)), "{:?}", opening.error);
            }
        }
        assert!(opened(&[begun], 64).goes_on(), "nothing is known yet");
    }

    #[test]
    fn an_answer_ends_the_beginning() {
        for event in [
            json!({"type": "response.output_item.added", "item": {"type": "reasoning"}}),
            json!({"type": "message_start", "message": {"content": []}}),
            json!({"choices": [{"delta": {"content": "{\"error\": 1}"}}]}),
            json!("[DONE]"),
        ] {
            let opening = opened(std::slice::from_ref(&event), 16);
            assert!(!opening.goes_on() && opening.error.is_none(), "{event}");
        }
        let long = opened(&[json!({"response": {"instructions": "x".repeat(MOST)}})], 4_096);
        assert!(!long.goes_on(), "no more is held back");
    }
}
