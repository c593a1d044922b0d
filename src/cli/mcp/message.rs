//! JSON-RPC messages, as far as one who hands them on must understand them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Of the codes that are the server's own to give.
const SERVICE_FAILED: i32 = -32000;

/// What is said in a message about itself.
#[derive(Debug)]
pub struct Message {
    /// JSON; none in a notification.
    id: Option<Box<RawValue>>,
    /// None in an answer.
    pub method: Option<String>,
    /// The tool, prompt, resource or task that is asked for.
    pub name: Option<String>,
    /// The protocol's version that the message itself names, as those without a greeting before them do.
    pub version: Option<String>,
    /// The protocol's version that an answer settles on.
    pub settled: Option<String>,
}

/// Why a message has no answer: an error of JSON-RPC.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    code: i32,
    text: Cow<'static, str>,
}

#[derive(Deserialize)]
struct Body<'a> {
    id: Option<Box<RawValue>>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    task_id: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settled {
    protocol_version: Option<String>,
}

impl Message {
    /// Reads a line, or the body of an answer.
    ///
    /// # Errors
    /// What is no JSON, or no single message.
    pub fn parse(text: &[u8]) -> Result<Message, Fault> {
        if text.trim_ascii_start().starts_with(b"[") {
            return Err(Fault { code: INVALID_REQUEST, text: "messages come one by one, not in a list".into() });
        }
        let Body { id, method, params, result } = serde_json::from_slice(text).map_err(|error| {
            let code = if error.classify() == Category::Data { INVALID_REQUEST } else { PARSE_ERROR };
            Fault { code, text: format!("not a JSON-RPC message: {error}").into() }
        })?;
        let Params { name, uri, task_id, meta } = lenient(params);
        let Settled { protocol_version: settled } = lenient(result);
        let name = method.as_deref().and_then(|method| match method {
            "tools/call" | "prompts/get" => name,
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => uri,
            "tasks/get" | "tasks/update" | "tasks/cancel" => task_id,
            _ => None,
        });
        Ok(Message { id, method, name, version: meta.version, settled })
    }

    /// The id that an answer is owed to, as JSON; none where none is.
    pub fn asks(&self) -> Option<&str> {
        self.id.as_deref().filter(|_| self.method.is_some()).map(RawValue::get)
    }

    /// Returns true if this is the answer to a request.
    pub fn answers(&self, request: &Message) -> bool {
        let id = |message: &Message| message.id.as_ref().and_then(|id| serde_json::from_str::<Value>(id.get()).ok());
        self.method.is_none() && id(self).is_some_and(|own| Some(own) == id(request))
    }
}

impl Fault {
    /// A line that was too long to be read.
    pub fn too_long(limit: usize) -> Fault {
        Fault { code: INVALID_REQUEST, text: format!("the message is longer than {limit} bytes").into() }
    }

    /// A service that gave no answer.
    pub fn service(text: impl Into<Cow<'static, str>>) -> Fault {
        Fault { code: SERVICE_FAILED, text: text.into() }
    }

    /// The error as a line; `id` is JSON, `null` where it could not be read.
    pub fn line(&self, id: &str) -> Vec<u8> {
        let Fault { code, text } = self;
        let text = Value::from(text.as_ref());
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{text}}}}}"#).into_bytes()
    }
}

/// What can't be read is the service's to refuse.
fn lenient<'a, T: Default + Deserialize<'a>>(part: Option<&'a RawValue>) -> T {
    part.and_then(|part| serde_json::from_str(part.get()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Message {
        Message::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn requests_ask_and_nothing_else_does() {
        for (text, asks) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, Some("7")),
            (r#"{"id":"ä\"","method":"ping","params":[1]}"#, Some(r#""ä\"""#)),
            (r#"{"id":1e400,"method":"ping"}"#, Some("1e400")),
            (r#"{"method":"notifications/initialized"}"#, None),
            (r#"{"id":null,"method":"ping"}"#, None),
            (r#"{"id":7,"result":{}}"#, None),
            (r#"{}"#, None),
        ] {
            assert_eq!(parse(text).asks(), asks, "{text}");
        }
    }

    #[test]
    fn a_message_names_its_version_and_what_it_asks_for() {
        let told = |text: &str| {
            let Message { name, version, settled, .. } = parse(text);
            (name, version, settled)
        };
        let some = |text: &str| Some(text.to_owned());
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let call = format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"look",{meta}}}}}"#);
        assert_eq!(told(&call), (some("look"), some("2026-07-28"), None));
        let read = r#"{"id":1,"method":"resources/read","params":{"name":"x","uri":"contextd://é"}}"#;
        assert_eq!(told(read), (some("contextd://é"), None, None));
        let list = r#"{"id":1,"method":"tools/list","params":{"name":"x","_meta":{}}}"#;
        assert_eq!(told(list), (None, None, None));
        assert_eq!(told(r#"{"id":1,"method":"tools/call","params":{"name":5}}"#), (None, None, None));
        let greeted = r#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#;
        assert_eq!(told(greeted), (None, None, some("2025-06-18")));
    }

    #[test]
    fn an_answer_bears_the_id_of_its_request() {
        let request = parse(r#"{"id":"a","method":"ping"}"#);
        assert!(parse(r#"{"id":"\u0061","result":{}}"#).answers(&request));
        for other in [r#"{"id":"b","result":{}}"#, r#"{"id":"a","method":"ping"}"#, r#"{"id":null}"#, "{}"] {
            assert!(!parse(other).answers(&request), "{other}");
        }
        let notification = parse(r#"{"method":"ping"}"#);
        assert!(!parse(r#"{"id":null,"error":{}}"#).answers(&notification));
    }

    #[test]
    fn what_is_no_message_is_a_fault() {
        for (text, code) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            ("<html>", PARSE_ERROR),
            (" []", INVALID_REQUEST),
            (r#"[1,"ping",null,null]"#, INVALID_REQUEST),
            ("5", INVALID_REQUEST),
            (r#"{"id":1,"id":2}"#, INVALID_REQUEST),
            (r#"{"method":5}"#, INVALID_REQUEST),
        ] {
            assert_eq!(Message::parse(text.as_bytes()).unwrap_err().code, code, "{text:?}");
        }
        assert!(Message::parse(b"{\"method\":\"\xff\"}").is_err());
        let line = Fault::service("say \"no\"\n").line("7");
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"say \"no\"\n"}}"#);
    }
}
