//! An Anthropic answer that tells of the edits that were made here.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::answers::{block_events, compaction_usage, event};
use super::edits::Cleared;
use crate::service::stateless::HandoverUsage;

/// Bytes of a whole answer, or of one line of a stream, that are held to be told otherwise; a larger one passes as it is.
const MOST: usize = 8 << 20;

/// What was done to a request before it went on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub is_told: bool,
    pub cleared: Option<Cleared>,
    /// The summary that took the place of what was said, and what it took.
    pub compaction: Option<(String, HandoverUsage)>,
}

/// Tells one answer otherwise while it passes.
#[derive(Debug)]
pub struct Rewriter {
    report: Report,
    is_stream: bool,
    held: Vec<u8>,
    is_too_long: bool,
    /// The beginning of the message has passed, and the compaction is to follow.
    is_due: bool,
}

impl Rewriter {
    /// Of an answer of this type; `None`: nothing is to be told.
    pub fn of(report: Report, content_type: &str) -> Option<Rewriter> {
        let is_stream = content_type.starts_with("text/event-stream");
        let has_news = report.is_told || report.compaction.is_some();
        has_news.then_some(Rewriter { report, is_stream, held: Vec::new(), is_too_long: false, is_due: false })
    }

    /// Takes the next bytes, and gives those that can go on.
    pub fn push(&mut self, bytes: &Bytes) -> Bytes {
        if self.is_too_long && !self.is_stream {
            return bytes.clone();
        }
        self.held.extend_from_slice(bytes);
        let mut out = Vec::new();
        if self.is_stream {
            let held = std::mem::take(&mut self.held);
            let mut rest = held.as_slice();
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let (line, behind) = rest.split_at(end + 1);
                self.line(line, &mut out);
                rest = behind;
            }
            self.held = rest.to_vec();
        }
        if self.held.len() > MOST {
            self.is_too_long = true;
            out.append(&mut self.held);
        }
        Bytes::from(out)
    }

    /// The end of the answer.
    pub fn finish(mut self) -> Bytes {
        let held = std::mem::take(&mut self.held);
        if self.is_stream || self.is_too_long {
            return Bytes::from(held);
        }
        match serde_json::from_slice(&held) {
            Ok(Value::Object(message)) if message.contains_key("content") => {
                self.message(Value::Object(message)).into()
            }
            _ => Bytes::from(held),
        }
    }

    fn message(&self, mut message: Value) -> String {
        if let (Some((summary, _)), Some(content)) = (&self.report.compaction, message["content"].as_array_mut()) {
            content.insert(0, json!({"type": "compaction", "content": summary}));
        }
        let usage = message["usage"].take();
        message["usage"] = self.with_iterations(usage);
        self.tell(&mut message);
        message.to_string()
    }

    /// One line of a stream, with its end.
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let is_whole = !std::mem::take(&mut self.is_too_long);
        let told = line.strip_prefix(b"data:").filter(|_| is_whole).and_then(|data| self.told(data));
        match told {
            Some(told) => out.extend_from_slice(format!("data: {told}\n").as_bytes()),
            None => out.extend_from_slice(line),
        }
        if self.is_due && line.trim_ascii().is_empty() {
            self.is_due = false;
            let summary = self.report.compaction.as_ref().map(|(summary, _)| summary.as_str());
            let events = block_events(summary);
            events.iter().for_each(|one| out.extend_from_slice(event(one).as_bytes()));
        }
    }

    /// An event that is to be told otherwise. Answers are large, and most of their events need no change.
    fn told(&mut self, data: &[u8]) -> Option<Value> {
        let mut event: Value = serde_json::from_slice(data).ok()?;
        match event.get("type")?.as_str()? {
            "message_start" => {
                self.is_due = self.report.compaction.is_some();
                None
            }
            "content_block_start" | "content_block_delta" | "content_block_stop" => {
                self.report.compaction.as_ref()?;
                event["index"] = (event.get("index")?.as_u64()? + 1).into();
                Some(event)
            }
            "message_delta" => {
                let usage = event["usage"].take();
                event["usage"] = self.with_iterations(usage);
                self.tell(&mut event);
                Some(event)
            }
            _ => None,
        }
    }

    fn with_iterations(&self, mut usage: Value) -> Value {
        let Some((_, taken)) = &self.report.compaction else { return usage };
        let mut message = usage.clone();
        let (Some(all), Some(one)) = (usage.as_object_mut(), message.as_object_mut()) else { return usage };
        one.retain(|name, _| name.ends_with("_tokens"));
        for name in ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] {
            one.entry(name).or_insert(json!(0));
        }
        one.insert("type".to_owned(), "message".into());
        all.insert("iterations".to_owned(), json!([compaction_usage(*taken), message]));
        usage
    }

    fn tell(&self, told: &mut Value) {
        if self.report.is_told {
            let cleared = |cleared: Cleared| {
                json!({"type": "clear_tool_uses_20250919", "cleared_tool_uses": cleared.tool_uses,
                    "cleared_input_tokens": cleared.input_tokens})
            };
            let applied: Vec<Value> = self.report.cleared.map(cleared).into_iter().collect();
            told["context_management"] = json!({"applied_edits": applied});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let usage = HandoverUsage { input: 90, cached: 10, output: 7 };
        let cleared = Some(Cleared { tool_uses: 2, input_tokens: 50 });
        Report { is_told: true, cleared, compaction: Some(("told".to_owned(), usage)) }
    }

    fn rewritten(report: Report, content_type: &str, answer: &str, piece: usize) -> String {
        let mut rewriter = Rewriter::of(report, content_type).unwrap();
        let mut all = Vec::new();
        answer.as_bytes().chunks(piece).for_each(|bytes| all.extend(rewriter.push(&Bytes::copy_from_slice(bytes))));
        all.extend(rewriter.finish());
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn whole_answers_tell_what_was_done() {
        let answer = json!({"type": "message", "content": [{"type": "text", "text": "a"}],
            "usage": {"input_tokens": 5, "output_tokens": 1}});
        for piece in [3, 10_000] {
            let told = rewritten(report(), "application/json", &answer.to_string(), piece);
            let told: Value = serde_json::from_str(&told).unwrap();
            assert_eq!(told["content"][0], json!({"type": "compaction", "content": "told"}));
            assert_eq!((&told["content"][1]["text"], &told["usage"]["input_tokens"]), (&json!("a"), &json!(5)));
            let kinds: Vec<&Value> =
                told["usage"]["iterations"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
            assert_eq!(kinds, ["compaction", "message"]);
            assert_eq!(told["context_management"]["applied_edits"][0]["cleared_tool_uses"], 2);
        }
        let error = json!({"type": "error", "error": {}}).to_string();
        assert_eq!(rewritten(report(), "application/json", &error, 4), error);
        assert!(Rewriter::of(Report::default(), "application/json").is_none());
    }

    #[test]
    fn streams_have_the_compaction_first() {
        let events = [
            json!({"type": "message_start", "message": {"content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
            json!({"type": "message_stop"}),
        ];
        let stream: String = events.iter().map(event).collect::<String>() + ": ping\n\n";
        for piece in [1, 9, 10_000] {
            let told = rewritten(report(), "text/event-stream; charset=utf-8", &stream, piece);
            assert!(told.ends_with(": ping\n\n"));
            let data: Vec<Value> =
                told.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok()).collect();
            let indices: Vec<Option<u64>> = data.iter().map(|event| event["index"].as_u64()).collect();
            let due = [None, Some(0), Some(0), Some(0), Some(1), Some(1), Some(1), None, None];
            assert_eq!(indices, due, "{told}");
            assert_eq!(data[2]["delta"], json!({"type": "compaction_delta", "content": "told"}));
            assert_eq!(data[7]["usage"]["iterations"][0]["output_tokens"], 7);
            assert_eq!(data[7]["context_management"]["applied_edits"][0]["cleared_input_tokens"], 50);
        }
        let told = Report { is_told: true, ..Report::default() };
        let other = rewritten(told, "text/event-stream", &stream, 5);
        assert!(other.contains(r#""applied_edits":[]"#) && !other.contains("compaction_delta"));
    }
}
