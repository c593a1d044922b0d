//! Which conversation a request belongs to: by what the client says of it, in headers and body, else by what was said.

use axum::http::HeaderMap;
use serde_json::Value;

use crate::proxy::conversation::Opening;
use crate::proxy::headers::SESSION;
use crate::proxy::speaker::Speaker;

/// The external id of a conversation's session, and what it was taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub external_id: String,
    /// A header or a field.
    pub source: &'static str,
    /// Where nothing names the conversation.
    pub content: Option<ByContent>,
}

/// What a conversation is known by that nothing names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByContent {
    /// What versions before this one called it: by what was said alone.
    pub before: String,
    /// Stands for who speaks, under whatever system prompt, and how it began but for what a harness writes anew.
    pub opening: blake3::Hash,
    /// Stands for who speaks, and the system prompt.
    pub scope: blake3::Hash,
}

const CLAUDE_CODE: &str = "claude-code";
const CODEX: &str = "codex";
/// Headers that hold a conversation's id, in the order in which they count, and what the id is prefixed with.
const HEADERS: [(&str, &str); 8] = [
    ("thread-id", CODEX),
    ("session-id", CODEX),
    ("x-codex-turn-metadata", CODEX),
    ("conversation_id", CODEX),
    ("session_id", CODEX),
    ("x-session-id", "session"),
    ("x-opencode-session", "session"),
    ("x-session-affinity", "session"),
];
/// Sources that coding agents give, and those that name one conversation alone.
const OF_HARNESSES: [&str; 10] = [
    "x-claude-code-session-id",
    "metadata.user_id",
    "thread-id",
    "session-id",
    "x-codex-turn-metadata",
    "conversation_id",
    "session_id",
    "client_metadata",
    "x-opencode-session",
    "x-session-affinity",
];
const OF_ONE: [&str; 8] = [
    "contextd-session",
    "conversation",
    "thread-id",
    "x-codex-turn-metadata",
    "client_metadata",
    "conversation_id",
    "x-opencode-session",
    "x-session-affinity",
];
const LONGEST: usize = 200;
const LONGEST_JSON: usize = 8 << 10;

/// Fields of a body that may say which conversation it belongs to.
#[derive(Debug, Clone, Default)]
pub struct BodyFields {
    pub conversation: Option<Value>,
    pub metadata: Option<Value>,
    /// Codex: what its headers say too.
    pub client_metadata: Option<Value>,
}

impl Identity {
    fn new(prefix: &str, id: &str, source: &'static str) -> Identity {
        Identity { external_id: format!("{prefix}:{id}"), source, content: None }
    }

    /// By the headers. Values that are no ids are passed over.
    pub fn of_headers(headers: &HeaderMap) -> Option<Identity> {
        let id = |name: &str| headers.get(name).and_then(|value| plain(value.to_str().ok()?));
        if let Some(id) = id(SESSION.as_str()) {
            return Some(Identity { external_id: id.to_owned(), source: "contextd-session", content: None });
        }
        if let Some(session) = id("x-claude-code-session-id") {
            let agent = id("x-claude-code-agent-id").map(|agent| format!("/{agent}")).unwrap_or_default();
            return Some(Identity::new(CLAUDE_CODE, &format!("{session}{agent}"), "x-claude-code-session-id"));
        }
        HEADERS.into_iter().find_map(|(name, prefix)| match name {
            "x-codex-turn-metadata" => of_turn(&parsed(headers.get(name)?.to_str().ok()?)?, name),
            _ => Some(Identity::new(prefix, id(name)?, name)),
        })
    }

    /// By the body.
    pub fn of_body(fields: &BodyFields) -> Option<Identity> {
        let metadata = fields.metadata.as_ref();
        of_turn(fields.client_metadata.as_ref().unwrap_or(&Value::Null), "client_metadata")
            .or_else(|| {
                let conversation = fields.conversation.as_ref()?;
                let id = conversation.as_str().or_else(|| conversation.get("id")?.as_str());
                Some(Identity::new("conversation", plain(id?)?, "conversation"))
            })
            .or_else(|| {
                let id = plain(metadata?.get("session_id")?.as_str()?)?;
                Some(Identity::new("session", id, "metadata.session_id"))
            })
            .or_else(|| {
                let id = session_of_user(metadata?.get("user_id")?.as_str()?)?;
                Some(Identity::new(CLAUDE_CODE, &id, "metadata.user_id"))
            })
    }

    /// By a sealed handle, or by what else stands for a conversation.
    pub fn of_content(hash: &blake3::Hash) -> Identity {
        Identity::new("content", &digits(hash), "content")
    }

    /// By who speaks, the system prompt that is spoken under, and what was said up to the first answer.
    pub fn of_speech(speaker: &Speaker, opening: &Opening) -> Option<Identity> {
        let (said, system) = (opening.hash.as_ref()?, opening.system.as_ref());
        let content = ByContent {
            before: Identity::of_content(said).external_id,
            opening: speaker.digest(None, opening.lasting.as_ref().unwrap_or(said)),
            scope: speaker.digest(system, &blake3::Hash::from_bytes([0; 32])),
        };
        Some(Identity { content: Some(content), ..Identity::of_content(&speaker.digest(system, said)) })
    }

    /// That of a conversation without tools that begins as this one does, which has tools.
    pub fn without_tools(&self) -> Identity {
        self.beside(&blake3::hash(b"without tools"))
    }

    /// The identity of another conversation under the same key, by what was said in it.
    pub fn beside(&self, hash: &blake3::Hash) -> Identity {
        self.called(format!("{}#{}", self.external_id, digits(hash)))
    }

    /// The same under another external id.
    pub fn called(&self, external_id: String) -> Identity {
        Identity { external_id, ..self.clone() }
    }

    /// Returns true if a coding agent has named the conversation, whose requests for its own conversation have tools.
    pub fn is_of_harness(&self) -> bool {
        OF_HARNESSES.contains(&self.source)
    }

    /// Returns true if it names this conversation alone, and not a run with several agents.
    pub fn is_of_one(&self) -> bool {
        self.content.is_none() && OF_ONE.contains(&self.source)
    }
}

/// 128 bits are enough to tell conversations of a tenant apart.
fn digits(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(32).collect()
}

/// Codex names the thread, which is the conversation, and the session, which may have several.
fn of_turn(metadata: &Value, source: &'static str) -> Option<Identity> {
    let id = |name: &str| metadata.get(name).and_then(Value::as_str).and_then(plain);
    Some(Identity::new(CODEX, id("thread_id").or_else(|| id("session_id"))?, source))
}

/// The session inside Anthropic's `user_id`, as Claude Code writes it: behind `_session_`, or in a JSON object.
fn session_of_user(user_id: &str) -> Option<String> {
    if let Some((_, session)) = user_id.rsplit_once("_session_") {
        return plain(session).map(str::to_owned);
    }
    plain(parsed(user_id)?.get("session_id")?.as_str()?).map(str::to_owned)
}

fn parsed(text: &str) -> Option<Value> {
    let text = text.trim();
    (text.starts_with('{') && text.len() <= LONGEST_JSON).then(|| serde_json::from_str(text).ok())?
}

/// An id of visible ASCII characters, and not too many of them.
fn plain(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_plain = (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then_some(text)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;
    use serde_json::json;

    use super::*;

    fn of_headers(all: &[(&str, &str)]) -> Option<String> {
        let headers = all.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()));
        Identity::of_headers(&headers.collect()).map(|identity| identity.external_id)
    }

    fn of_body(conversation: Value, metadata: Value, client_metadata: Value) -> Option<String> {
        let given = |value: Value| Some(value).filter(|value| !value.is_null());
        let fields = BodyFields {
            conversation: given(conversation),
            metadata: given(metadata),
            client_metadata: given(client_metadata),
        };
        Identity::of_body(&fields).map(|identity| identity.external_id)
    }

    #[test]
    fn headers_count_in_order() {
        let mut all = vec![
            ("contextd-session", "mine"),
            ("x-claude-code-session-id", "c1"),
            ("thread-id", "t1"),
            ("session-id", "s1"),
            ("x-codex-turn-metadata", r#"{"thread_id": "t2", "session_id": "s2"}"#),
            ("x-session-id", "s3"),
            ("x-opencode-session", "s4"),
            ("x-session-affinity", "s5"),
        ];
        let mut seen = Vec::new();
        while !all.is_empty() {
            seen.push(of_headers(&all).unwrap());
            all.remove(0);
        }
        let due =
            ["mine", "claude-code:c1", "codex:t1", "codex:s1", "codex:t2", "session:s3", "session:s4", "session:s5"];
        assert_eq!(seen, due);
        let agent = [("x-claude-code-agent-id", "a1"), ("x-claude-code-session-id", "c1")];
        assert_eq!(of_headers(&agent).unwrap(), "claude-code:c1/a1");
    }

    #[test]
    fn what_is_no_id_is_passed_over() {
        let long = "x".repeat(LONGEST + 1);
        for bad in ["", " ", "two words", long.as_str()] {
            let all = [("contextd-session", bad), ("x-session-id", "s")];
            assert_eq!(of_headers(&all).unwrap(), "session:s", "{bad}");
        }
        assert_eq!(of_headers(&[("x-codex-turn-metadata", "{}"), ("authorization", "Bearer x")]), None);
    }

    #[test]
    fn bodies_say_it_too() {
        let none = Value::Null;
        let user = |text: &str| json!({"user_id": text});
        assert_eq!(of_body(json!("c"), json!({"session_id": "s"}), none.clone()).unwrap(), "conversation:c");
        assert_eq!(of_body(json!({"id": "c"}), none.clone(), none.clone()).unwrap(), "conversation:c");
        assert_eq!(of_body(none.clone(), json!({"session_id": "s"}), none.clone()).unwrap(), "session:s");
        assert_eq!(of_body(none.clone(), none.clone(), json!({"thread_id": "t"})).unwrap(), "codex:t");
        let claude = user("user_0a_account_1b_session_2c-3d");
        assert_eq!(of_body(none.clone(), claude, none.clone()).unwrap(), "claude-code:2c-3d");
        let object = user(r#"{"device_id": "d", "session_id": "2c"}"#);
        assert_eq!(of_body(none.clone(), object, none.clone()).unwrap(), "claude-code:2c");
        assert_eq!(of_body(none.clone(), user("alice"), none.clone()), None);
        assert_eq!(of_body(none.clone(), json!({"session_id": 7}), none), None);
    }
}
