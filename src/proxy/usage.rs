//! The usage that an answer reports, read from its bytes as they pass.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::domain::model::usage::ReportedUsage;

/// Bytes of an answer, or of one line of a stream, that are kept to be read; usage in a larger one is not seen.
const MOST: usize = 1 << 20;

/// Reads the usage of one answer. What it has seen of it is never more than a copy of one line.
#[derive(Debug)]
pub struct UsageReader {
    is_stream: bool,
    pending: Vec<u8>,
    is_too_long: bool,
    found: Map<String, Value>,
    /// The usage at the answer's end was there.
    is_whole: bool,
}

/// An answer, or an event of a stream: usage lies in it, in its response, or where the answer begins, in its message.
#[derive(Deserialize)]
struct Told {
    usage: Option<Value>,
    response: Option<Part>,
    message: Option<Part>,
}

#[derive(Deserialize)]
struct Part {
    usage: Option<Value>,
}

/// Returns true if an answer of this type is a stream of events.
pub fn is_stream(content_type: &str) -> bool {
    essence(content_type).eq_ignore_ascii_case("text/event-stream")
}

fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

impl UsageReader {
    /// `None`: answers of this type report none.
    pub fn of(content_type: &str) -> Option<UsageReader> {
        let is_stream = is_stream(content_type);
        if !is_stream && !essence(content_type).eq_ignore_ascii_case("application/json") {
            return None;
        }
        Some(UsageReader { is_stream, pending: Vec::new(), is_too_long: false, found: Map::new(), is_whole: false })
    }

    /// Takes the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| self.is_stream && *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.keep(line);
            self.read_line();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    /// The usage, in the provider's own names, where the answer was whole.
    pub fn finish(mut self) -> Option<Value> {
        if self.is_stream {
            self.read_line();
        } else {
            let told: Option<Told> = serde_json::from_slice(&self.pending).ok();
            self.take(told?);
        }
        let usage = Value::Object(std::mem::take(&mut self.found));
        (self.is_whole && ReportedUsage::parse(&usage).is_ok()).then_some(usage)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.is_too_long || self.pending.len() + bytes.len() > MOST {
            (self.is_too_long, self.pending) = (true, Vec::new());
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }

    fn read_line(&mut self) {
        let line = std::mem::take(&mut self.pending);
        self.is_too_long = false;
        let data = line.strip_prefix(b"data:").unwrap_or_default();
        let names_usage = data.windows(7).any(|word| word == b"\"usage\"");
        if let Some(told) = names_usage.then(|| serde_json::from_slice(data).ok()).flatten() {
            self.take(told);
        }
    }

    fn take(&mut self, told: Told) {
        let at_end = told.usage.or_else(|| told.response?.usage);
        let at_beginning = told.message.and_then(|message| message.usage);
        self.is_whole |= at_end.as_ref().is_some_and(Value::is_object);
        for usage in [at_beginning, at_end].into_iter().flatten() {
            let Value::Object(fields) = usage else { continue };
            self.found.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The usage of an answer that comes in pieces of so many bytes.
    fn read(content_type: &str, answer: &str, piece: usize) -> Option<Value> {
        let mut reader = UsageReader::of(content_type).unwrap();
        answer.as_bytes().chunks(piece).for_each(|piece| reader.push(piece));
        reader.finish()
    }

    fn events(all: &[Value]) -> String {
        all.iter().map(|event| format!("event: x\r\ndata: {event}\r\n\r\n")).collect()
    }

    #[test]
    fn whole_answers_and_streams_report_it() {
        let chat = json!({"prompt_tokens": 10, "completion_tokens": 2});
        let answer = json!({"id": "c", "choices": [{"message": {"content": "\"usage\""}}], "usage": chat}).to_string();
        let stream = events(&[
            json!({"choices": [{"delta": {"content": "a"}}], "usage": null}),
            json!({"choices": [], "usage": chat}),
        ]) + "data: [DONE]\n\n";
        let responses = json!({"input_tokens": 10, "output_tokens": 2});
        let response = events(&[
            json!({"type": "response.created", "response": {"usage": null}}),
            json!({"type": "response.completed", "response": {"output": [], "usage": responses}}),
        ]);
        for piece in [1, 7, 10_000] {
            assert_eq!(read("application/json; charset=utf-8", &answer, piece).unwrap(), chat);
            assert_eq!(read("text/event-stream", &stream, piece).unwrap(), chat);
            assert_eq!(read("text/event-stream", &response, piece).unwrap(), responses);
        }
    }

    #[test]
    fn a_message_tells_it_in_two_parts() {
        let begin = json!({"type": "message_start", "message": {"usage": {"input_tokens": 3,
            "cache_read_input_tokens": 90, "output_tokens": 1}}});
        let end = json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 20, "input_tokens": null}});
        let usage = read("text/event-stream", &events(&[begin.clone(), end]), 5).unwrap();
        assert_eq!(usage, json!({"input_tokens": 3, "cache_read_input_tokens": 90, "output_tokens": 20}));
        assert_eq!(read("text/event-stream", &events(&[begin]), 5), None, "an answer that was broken off");
    }

    #[test]
    fn what_is_no_usage_is_none() {
        assert!(UsageReader::of("audio/mpeg").is_none());
        assert_eq!(read("application/json", "{\"usage\": {\"prompt_tokens\": 1}", 9), None);
        assert_eq!(read("application/json", "{\"usage\": {\"seconds\": 1}}", 9), None);
        let long = format!("data: {{\"x\": \"{}\", \"usage\": {{\"input_tokens\": 1}}}}\n", "x".repeat(MOST));
        let next = "data: {\"usage\": {\"input_tokens\": 2}}\n";
        assert_eq!(read("text/event-stream", &long, 4096), None);
        assert_eq!(read("text/event-stream", &(long + next), 4096).unwrap(), json!({"input_tokens": 2}));
    }
}
