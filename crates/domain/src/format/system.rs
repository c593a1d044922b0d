//! A system prompt that travels beside the messages, in the form of each format.
//!
//! It is given as a text, as a list of blocks (Anthropic), as an object with `parts` (Gemini) or as a message with
//! `content` (Chat Completions, Responses). What is in the target's own form goes out as it was given.

use serde_json::{Value, json};

use crate::format::keys::Object;
use crate::model::format::Format;

/// What is wrong with a system prompt: where in it, and what.
pub type SystemFault = (String, &'static str);

/// The faults of a value as a system prompt; none where it can be one.
pub fn faults(system: &Value) -> Vec<SystemFault> {
    match system {
        Value::Null | Value::String(_) => Vec::new(),
        Value::Array(blocks) => no_objects(blocks, ""),
        Value::Object(fields) => match (fields.get("parts"), fields.get("content")) {
            (Some(Value::Array(parts)), _) => no_objects(parts, "/parts"),
            (Some(Value::Object(_)), _) | (None, Some(Value::String(_))) => Vec::new(),
            (None, Some(Value::Array(parts))) => no_objects(parts, "/content"),
            (None, Some(_)) => vec![("/content".to_owned(), "must be a string or a list of parts")],
            _ => vec![("/parts".to_owned(), "must be a list of parts")],
        },
        _ => vec![(String::new(), "must be a string, a list of blocks or an object with `parts`")],
    }
}

fn no_objects(list: &[Value], at: &str) -> Vec<SystemFault> {
    let others = list.iter().enumerate().filter(|(_, member)| !member.is_object());
    others.map(|(place, _)| (format!("{at}/{place}"), "must be an object")).collect()
}

/// The words of a system prompt, one text for each block.
pub fn texts(system: &Value) -> Vec<&str> {
    blocks(system).into_iter().map(|block| block.text).collect()
}

/// The words of a system prompt as one text; `None` where it has none.
pub fn text(system: &Value) -> Option<String> {
    let texts = texts(system);
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The system prompt as `target` takes it; `None`: it may stay as it was given. `Null` where it says nothing.
pub fn converted(system: &Value, target: Format) -> Option<Value> {
    if is_own(system, target) {
        return None;
    }
    let blocks = blocks(system);
    let said = blocks.iter().filter(|block| !block.text.trim().is_empty());
    let list: Vec<Value> = match target {
        Format::Anthropic => said.map(SystemBlock::for_anthropic).collect(),
        _ => said.map(|block| json!({"text": block.text})).collect(),
    };
    Some(match (list.is_empty(), target) {
        (true, _) => Value::Null,
        (false, Format::Anthropic) => Value::Array(list),
        (false, Format::Gemini) => json!({"parts": list}),
        (false, _) => text(system).map_or(Value::Null, Value::String),
    })
}

/// Returns true if a system prompt has the form that this format gives it.
fn is_own(system: &Value, format: Format) -> bool {
    let is_text = |block: &Value| block["type"] == "text" && block["text"].is_string();
    // Anthropic refuses a block without a word.
    let says = |text: &Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
    match (system, format) {
        (Value::Null, _) => true,
        (Value::Object(fields), Format::Gemini) => fields.get("parts").is_some_and(Value::is_array),
        (_, Format::Gemini) => false,
        (text @ Value::String(_), Format::Anthropic) => says(text),
        (Value::String(_), _) => true,
        (Value::Array(blocks), Format::Anthropic) => blocks.iter().all(|block| is_text(block) && says(&block["text"])),
        (Value::Array(blocks), Format::OpenaiChat) => {
            blocks.iter().all(|block| is_text(block) && block.as_object().is_some_and(|fields| fields.len() == 2))
        }
        (Value::Array(_), Format::Native) => true,
        _ => false,
    }
}

/// One text of a system prompt, and what stands around it.
struct SystemBlock<'s> {
    text: &'s str,
    fields: Option<&'s Object>,
}

impl SystemBlock<'_> {
    fn for_anthropic(&self) -> Value {
        let mut block = json!({"type": "text", "text": self.text});
        if let Some(mark) = self.fields.and_then(|fields| fields.get("cache_control")).filter(|mark| !mark.is_null()) {
            block["cache_control"] = mark.clone();
        }
        block
    }
}

fn blocks(system: &Value) -> Vec<SystemBlock<'_>> {
    match system {
        Value::String(text) => vec![SystemBlock { text, fields: None }],
        Value::Array(list) => list.iter().flat_map(blocks).collect(),
        Value::Object(fields) => match fields.get("text") {
            Some(Value::String(text)) => vec![SystemBlock { text, fields: Some(fields) }],
            _ => fields.get("parts").or(fields.get("content")).map(blocks).unwrap_or_default(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: [Format; 4] = [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini];

    fn handed(system: &Value, target: Format) -> Value {
        converted(system, target).unwrap_or_else(|| system.clone())
    }

    #[test]
    fn every_form_is_said_in_every_other() {
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        let given = [
            json!("a\nb"),
            blocks.clone(),
            json!({"parts": [{"text": "a"}, {"text": "b"}]}),
            json!({"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}),
            json!({"role": "system", "content": "a\nb"}),
            json!({"role": "developer", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}),
            json!([{"role": "developer", "content": "a"}, {"role": "developer", "content": "b"}]),
        ];
        for system in &given {
            assert!(faults(system).is_empty(), "{system}");
            for target in TARGETS {
                let handed = handed(system, target);
                assert_eq!(text(&handed).as_deref(), Some("a\nb"), "{system} as {target:?}: {handed}");
                assert!(is_own(&handed, target), "{system} as {target:?}: {handed}");
                assert!(faults(&handed).is_empty(), "what is handed out is taken");
            }
        }
        assert_eq!(handed(&given[2], Format::Anthropic), blocks);
        assert_eq!(handed(&blocks, Format::Gemini), given[2]);
        assert_eq!(handed(&blocks, Format::OpenaiChat), blocks, "its own form stays");
    }

    #[test]
    fn cache_marks_stay_for_anthropic_alone() {
        let mark = json!({"type": "ephemeral", "ttl": "1h"});
        let block = json!({"type": "text", "text": "a", "cache_control": mark});
        for system in [json!([block]), json!({"role": "system", "content": [block]})] {
            assert_eq!(handed(&system, Format::Anthropic), json!([block]));
            assert_eq!(handed(&system, Format::OpenaiChat), json!("a"));
            assert_eq!(handed(&system, Format::OpenaiResponses), json!("a"));
            assert_eq!(handed(&system, Format::Gemini), json!({"parts": [{"text": "a"}]}));
        }
    }

    #[test]
    fn blocks_that_say_nothing_go_out_nowhere() {
        let mark = json!({"type": "ephemeral"});
        let said = json!({"type": "text", "text": "Be brief.", "cache_control": mark});
        for empty in ["", " \n"] {
            let nothing = json!({"type": "text", "text": empty});
            assert_eq!(handed(&json!([nothing, said]), Format::Anthropic), json!([said]));
            assert_eq!(handed(&json!([said, nothing, nothing]), Format::Anthropic), json!([said]));
            for system in [json!([nothing]), json!(empty), json!({"parts": [{"text": empty}]})] {
                assert_eq!(handed(&system, Format::Anthropic), Value::Null, "{system}");
            }
        }
    }

    #[test]
    fn one_part_is_taken_and_nothing_is_said_of_nothing() {
        let one = json!({"parts": {"text": "a"}});
        assert!(faults(&one).is_empty());
        assert_eq!(handed(&one, Format::Gemini), json!({"parts": [{"text": "a"}]}));
        assert_eq!(handed(&one, Format::OpenaiChat), json!("a"));
        for target in TARGETS {
            assert_eq!(handed(&Value::Null, target), Value::Null);
            assert!(texts(&handed(&json!([]), target)).is_empty());
        }
        assert_eq!(handed(&json!([]), Format::OpenaiResponses), Value::Null);
    }

    #[test]
    fn what_is_no_system_prompt_is_named() {
        let places = |system: Value| faults(&system).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(places(json!(1)), [""]);
        assert_eq!(places(json!({})), ["/parts"]);
        assert_eq!(places(json!({"parts": 1})), ["/parts"]);
        assert_eq!(places(json!({"parts": [1]})), ["/parts/0"]);
        assert_eq!(places(json!({"content": 1})), ["/content"]);
        assert_eq!(places(json!(["a", {"text": "b"}])), ["/0"]);
    }
}
