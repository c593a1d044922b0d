//! Odd but readable items of every format: whatever an append takes, what is rebuilt of it into each format is valid.
//!
//! `CONTEXTD_GRAMMAR_CASES=200000` runs it longer.

use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

use super::super::lint;
use super::refusals::rebuilt;
use crate::format;
use crate::model::format::Format;
use crate::model::json::{lone_surrogates, parse_lenient};

type Strategy1 = BoxedStrategy<Value>;

/// Stands for half of a character, which no text of Rust can hold.
const HALF: char = '\u{e000}';

fn raw(value: &Value) -> String {
    value.to_string().replace(HALF, "\\ud99c")
}

fn one_of(values: Value) -> Strategy1 {
    Union::new(values.as_array().unwrap().iter().cloned().map(Just)).boxed()
}

fn either(strategies: Vec<Strategy1>) -> Strategy1 {
    Union::new(strategies).boxed()
}

/// An object of these fields, each of them there with a probability.
fn object(fields: Vec<(&'static str, Strategy1, f64)>) -> Strategy1 {
    let strategies: Vec<_> = fields
        .into_iter()
        .map(|(key, value, weight)| {
            prop::option::weighted(weight.min(0.9999), value)
                .prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        })
        .collect();
    strategies.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>())).boxed()
}

fn list(of: Strategy1, most: usize) -> Strategy1 {
    prop::collection::vec(of, 0..=most).prop_map(Value::from).boxed()
}

fn text() -> Strategy1 {
    one_of(json!(["", " ", "a", "so\n", "x\u{e000}", "😀", "<system_message>\nb\n</system_message>", "(no output)"]))
}

fn id() -> Strategy1 {
    one_of(json!(["a", "a", "b", "a_2", "a.b", "", "c".repeat(70), "toolu_1", "\u{e000}"]))
}

fn name() -> Strategy1 {
    one_of(json!(["read", "read", "my.tool", "n".repeat(70), "a b", "n".repeat(130), "1st", ".x", "-x", "\u{e000}"]))
}

fn arguments() -> Strategy1 {
    one_of(
        json!([{}, {"a": 1}, {"\u{e000}": ["\u{e000}"]}, {"cache_control": {"type": "ephemeral"}}, [], null, "x", 7]),
    )
}

fn arguments_text() -> Strategy1 {
    one_of(json!(["{}", "", "{\"a\":1}", "{\"\\ud99c\":\"\\udc00\"}", "{", "[]", "\"x\"", "null", " {} "]))
}

fn anthropic() -> Strategy1 {
    let mark = one_of(json!([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, null]));
    let source = one_of(json!([
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}, {"type": "url", "url": "https://e.org/a.png"},
        {"type": "file", "file_id": "f1"}, {"type": "text", "media_type": "text/plain", "data": "words"}, {"type": "other"},
        {"type": "base64", "media_type": "image/png", "data": ""}, {"type": "url", "url": ""}, {"type": "file", "file_id": ""},
        {"type": "text", "media_type": "text/plain", "data": ""}, {"type": "text", "media_type": "text/plain", "data": " "}
    ]));
    let kind = |kind: &str| (one_of(json!([kind])), 1.0);
    let block = |name: &str, mut fields: Vec<(&'static str, Strategy1, f64)>, mark: &Strategy1| {
        let (strategy, weight) = kind(name);
        fields.insert(0, ("type", strategy, weight));
        fields.push(("cache_control", mark.clone(), 0.2));
        object(fields)
    };
    let simple = vec![
        block("text", vec![("text", text(), 1.0)], &mark),
        block("image", vec![("source", source.clone(), 1.0)], &mark),
        block("document", vec![("source", source, 1.0), ("title", text(), 0.2)], &mark),
        block("novelty", vec![("data", text(), 0.5)], &mark),
    ];
    let content = either(vec![text(), list(either(simple.clone()), 2)]);
    let mut blocks = simple;
    blocks.extend([
        block("thinking", vec![("thinking", text(), 1.0), ("signature", text(), 0.7)], &mark),
        block("redacted_thinking", vec![("data", text(), 1.0)], &mark),
        block("tool_use", vec![("id", id(), 0.9), ("name", name(), 1.0), ("input", arguments(), 0.9)], &mark),
        block(
            "tool_result",
            vec![
                ("tool_use_id", id(), 0.9),
                ("content", content.clone(), 0.8),
                ("is_error", one_of(json!([true, false, null])), 0.5),
            ],
            &mark,
        ),
        block("server_tool_use", vec![("id", id(), 1.0), ("name", name(), 1.0), ("input", arguments(), 1.0)], &mark),
        block("web_search_tool_result", vec![("tool_use_id", id(), 1.0), ("content", list(text(), 1), 1.0)], &mark),
        block("compaction", vec![("content", text(), 0.9)], &mark),
    ]);
    object(vec![
        ("role", one_of(json!(["user", "user", "assistant", "assistant", "system"])), 1.0),
        ("content", either(vec![text(), list(either(blocks), 3)]), 1.0),
        ("output_config", one_of(json!([{"effort": "low"}, {}])), 0.05),
        ("stop_reason", one_of(json!(["end_turn", "tool_use"])), 0.1),
        ("usage", one_of(json!([{"input_tokens": 3}])), 0.1),
    ])
}

fn chat() -> Strategy1 {
    let url =
        one_of(json!(["https://e.org/a.png", {"url": "https://e.org/a.png"}, {"url": "data:image/png;base64,AAAA"},
        "", {"url": ""}, {"url": " "}, {"url": "data:image/png;base64,"}]));
    let part = either(vec![
        object(vec![("type", one_of(json!(["text"])), 1.0), ("text", text(), 1.0)]),
        object(vec![("type", one_of(json!(["image_url"])), 1.0), ("image_url", url, 1.0)]),
        object(vec![("type", one_of(json!(["refusal"])), 1.0), ("refusal", text(), 1.0)]),
        object(vec![("type", one_of(json!(["novelty"])), 1.0), ("data", text(), 1.0)]),
        one_of(json!([{"type": "file", "file": {"file_id": "f"}}, {"type": "file", "file": {"file_id": ""}},
                {"type": "file", "file": {"file_id": "f", "file_data": ""}}, {"type": "file", "file": {"file_data": ""}},
                {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}, {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}])),
    ]);
    let function = object(vec![
        ("name", name(), 1.0),
        ("arguments", either(vec![arguments_text(), arguments_text(), arguments()]), 0.9),
    ]);
    let custom = object(vec![("name", name(), 1.0), ("input", text(), 1.0)]);
    let call = object(vec![
        ("id", id(), 0.9),
        ("type", one_of(json!(["function", "function", "custom", "novelty"])), 0.9),
        ("function", function.clone(), 1.0),
        ("custom", custom, 1.0),
    ]);
    object(vec![
        (
            "role",
            one_of(json!(["user", "assistant", "assistant", "tool", "tool", "system", "developer", "function"])),
            1.0,
        ),
        ("content", either(vec![text(), text(), list(part, 3), one_of(json!([null]))]), 0.9),
        ("tool_calls", list(call, 2), 0.4),
        ("function_call", function, 0.05),
        ("reasoning_content", text(), 0.2),
        ("reasoning_details", one_of(json!([[], [{"type": "reasoning.text", "text": "hm"}]])), 0.1),
        ("refusal", either(vec![text(), one_of(json!([null]))]), 0.1),
        ("audio", one_of(json!([null, {"id": "audio_1"}])), 0.05),
        ("tool_call_id", id(), 0.7),
        ("name", name(), 0.3),
        ("odd", arguments(), 0.1),
    ])
}

fn responses() -> Strategy1 {
    let kind = |kind: &'static str| ("type", one_of(json!([kind])), 1.0);
    let own_id = || ("id", one_of(json!(["m1", "m1", "rs_1", "", "i".repeat(100), null, "a"])), 0.4);
    let image =
        one_of(json!(["https://e.org/a.png", null, "", "data:image/png;base64,", "data:image/png;base64,AAAA"]));
    let part = either(vec![
        object(vec![
            ("type", one_of(json!(["input_text", "output_text", "text", "summary_text"])), 1.0),
            ("text", text(), 1.0),
        ]),
        object(vec![kind("refusal"), ("refusal", text(), 1.0)]),
        object(vec![kind("input_image"), ("image_url", image, 0.8), ("file_id", one_of(json!(["f1", "", null])), 0.2)]),
        object(vec![
            kind("input_file"),
            ("file_data", text(), 0.5),
            ("file_url", text(), 0.2),
            ("filename", text(), 0.5),
        ]),
        object(vec![kind("novelty"), ("data", text(), 1.0)]),
    ]);
    let content = || either(vec![text(), list(part.clone(), 2)]);
    either(vec![
        object(vec![
            ("type", one_of(json!(["message"])), 0.8),
            ("role", one_of(json!(["user", "assistant", "assistant", "system", "developer"])), 1.0),
            ("content", content(), 1.0),
            own_id(),
            ("status", one_of(json!(["completed", "incomplete"])), 0.3),
            ("phase", one_of(json!(["commentary"])), 0.1),
        ]),
        object(vec![
            kind("function_call"),
            ("call_id", id(), 1.0),
            ("name", name(), 1.0),
            ("arguments", arguments_text(), 1.0),
            own_id(),
        ]),
        object(vec![
            kind("custom_tool_call"),
            ("call_id", id(), 1.0),
            ("name", name(), 1.0),
            ("input", text(), 1.0),
            own_id(),
        ]),
        object(vec![kind("function_call_output"), ("call_id", id(), 1.0), ("output", content(), 1.0), own_id()]),
        object(vec![kind("custom_tool_call_output"), ("call_id", id(), 1.0), ("output", content(), 1.0)]),
        object(vec![
            kind("reasoning"),
            own_id(),
            ("summary", one_of(json!([[], null, [{"type": "summary_text", "text": "hm"}]])), 0.7),
            ("encrypted_content", text(), 0.5),
        ]),
        object(vec![
            kind("configuration_update"),
            own_id(),
            ("reasoning", one_of(json!([{"effort": "low"}, {}])), 0.8),
            ("text", one_of(json!([{"format": {}}])), 0.3),
        ]),
        object(vec![kind("local_shell_call"), own_id(), ("call_id", id(), 1.0), ("action", arguments(), 1.0)]),
        object(vec![kind("local_shell_call_output"), ("id", id(), 1.0), ("output", text(), 1.0)]),
        object(vec![kind("web_search_call"), own_id(), ("action", arguments(), 1.0)]),
        object(vec![
            kind("mcp_call"),
            own_id(),
            ("name", name(), 1.0),
            ("arguments", arguments_text(), 1.0),
            ("output", text(), 0.5),
            ("approval_request_id", one_of(json!(["m1", "a", "", null])), 0.4),
        ]),
        object(vec![
            kind("mcp_approval_request"),
            own_id(),
            ("name", name(), 1.0),
            ("arguments", arguments_text(), 1.0),
        ]),
        object(vec![
            kind("mcp_approval_response"),
            ("approval_request_id", one_of(json!(["m1", "a", "", null])), 1.0),
            ("approve", one_of(json!([true, false])), 1.0),
            ("reason", text(), 0.5),
        ]),
        object(vec![
            kind("tool_search_call"),
            own_id(),
            ("call_id", id(), 0.7),
            ("execution", one_of(json!(["client", "server"])), 1.0),
        ]),
        object(vec![
            kind("tool_search_output"),
            own_id(),
            ("call_id", id(), 0.7),
            ("execution", one_of(json!(["client", "server"])), 1.0),
            ("tools", one_of(json!([[]])), 1.0),
        ]),
        object(vec![kind("item_reference"), own_id()]),
        object(vec![kind("compaction"), own_id(), ("encrypted_content", text(), 1.0)]),
        object(vec![kind("novelty"), own_id()]),
    ])
}

fn gemini() -> Strategy1 {
    let signed = || ("thoughtSignature", one_of(json!(["", "c2ln"])), 0.3);
    let media = one_of(json!([
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"fileData": {"fileUri": "https://e.org/a.pdf"}},
        {"inlineData": {"mimeType": "image/png", "data": ""}}, {"fileData": {"fileUri": ""}},
        {"file_data": {"mime_type": "text/plain", "file_uri": " "}}
    ]));
    let call = object(vec![("name", name(), 1.0), ("args", arguments(), 0.9), ("id", id(), 0.4)]);
    let result = object(vec![
        ("name", name(), 0.9),
        ("response", one_of(json!([{"output": "x"}, {"error": "\u{e000}"}, {}, "x", {"a": {"\u{e000}": 1}}])), 0.9),
        ("id", id(), 0.4),
        ("parts", list(media.clone(), 2), 0.2),
    ]);
    let part = either(vec![
        object(vec![("text", text(), 1.0), signed(), ("thought", one_of(json!([true, false])), 0.2)]),
        object(vec![("functionCall", call, 1.0), signed()]),
        object(vec![("functionResponse", result, 1.0)]),
        media,
        one_of(json!([{}, {"text": null}, {"thoughtSignature": "c2ln"}, {"thought_signature": ""}, {"novelty": 1},
            {"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}])),
    ]);
    object(vec![
        ("role", one_of(json!(["user", "user", "model", "model", "function"])), 0.95),
        ("parts", list(part, 3), 0.95),
    ])
}

fn native() -> Strategy1 {
    let kind = |kind: &'static str| ("type", one_of(json!([kind])), 1.0);
    let block = either(vec![
        object(vec![kind("text"), ("text", text(), 1.0)]),
        object(vec![kind("thinking"), ("text", text(), 1.0)]),
        object(vec![kind("tool_call"), ("id", id(), 0.9), ("name", name(), 1.0), ("arguments", arguments(), 0.9)]),
        object(vec![
            kind("tool_result"),
            ("tool_call_id", id(), 0.9),
            ("content", text(), 0.9),
            ("is_error", one_of(json!([true, false])), 0.4),
        ]),
        object(vec![
            ("type", one_of(json!(["image", "document"])), 1.0),
            (
                "source",
                one_of(json!([{"url": "https://e.org/a.png"}, {"url": ""}, {"data": ""}, {"text": ""}, {"text": "a"}])),
                1.0,
            ),
        ]),
        one_of(json!([{"type": "novelty"}])),
    ]);
    object(vec![
        ("role", one_of(json!(["user", "assistant", "tool", "system", "developer"])), 1.0),
        ("content", either(vec![text(), list(block, 3)]), 0.9),
    ])
}

fn pi() -> Strategy1 {
    let block = either(vec![
        object(vec![("type", one_of(json!(["text"])), 1.0), ("text", text(), 1.0)]),
        object(vec![
            ("type", one_of(json!(["thinking"])), 1.0),
            ("thinking", text(), 1.0),
            ("thinkingSignature", text(), 0.3),
        ]),
        object(vec![
            ("type", one_of(json!(["toolCall"])), 1.0),
            ("id", id(), 1.0),
            ("name", name(), 1.0),
            ("arguments", arguments(), 1.0),
        ]),
        object(vec![
            ("type", one_of(json!(["image"])), 1.0),
            ("mimeType", one_of(json!(["image/png"])), 1.0),
            ("data", one_of(json!(["", "AAAA"])), 1.0),
        ]),
    ]);
    let message = object(vec![
        ("role", one_of(json!(["user", "assistant", "toolResult"])), 1.0),
        ("content", either(vec![text(), list(block, 3)]), 1.0),
        ("toolCallId", id(), 0.9),
        ("toolName", name(), 0.9),
        ("isError", one_of(json!([true, false])), 0.5),
    ]);
    object(vec![("type", one_of(json!(["message"])), 1.0), ("message", message, 1.0)])
}

fn items() -> impl Strategy<Value = (Format, Vec<String>)> {
    let of = |format: Format, item: Strategy1| {
        prop::collection::vec(item, 1..7)
            .prop_map(move |items| {
                let readable = |item: &String| format::accept(format, item).is_ok();
                (format, items.iter().map(raw).filter(readable).collect::<Vec<_>>())
            })
            .boxed()
    };
    Union::new([
        of(Format::Anthropic, anthropic()),
        of(Format::OpenaiChat, chat()),
        of(Format::OpenaiResponses, responses()),
        of(Format::Gemini, gemini()),
        of(Format::Native, native()),
        of(Format::Pi, pi()),
    ])
}

fn cases() -> u32 {
    std::env::var("CONTEXTD_GRAMMAR_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600)
}

/// What is wrong with the context of these items in a format.
fn faults(source: Format, items: &[String], target: Format) -> Result<(), String> {
    let (out, _) = rebuilt(source, items, target).ok_or("it can't be read")?;
    let texts: Vec<&str> = out.iter().map(String::as_str).collect();
    let found = lint(target, &texts).map_err(|refused| format!("{refused:?}"))?;
    let halves: usize = out.iter().map(|text| lone_surrogates(text)).sum();
    let said = |texts: &[&str]| texts.iter().map(|text| parse_lenient(text).unwrap()).collect::<Vec<Value>>();
    let repaired: Vec<&str> = found.repaired.iter().map(|text| text.get()).collect();
    if found.violations.is_empty() && halves == 0 && said(&repaired) == said(&texts) {
        return Ok(());
    }
    Err(format!(
        "{source:?} {items:#?}\nas {target:?} {out:#?}\n{:?}, {halves} halves\n{:?}",
        found.violations, found.diff
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_rebuilt_of_whatever_can_be_read_is_valid((source, items) in items()) {
        for target in Format::OF_CONTEXTS {
            faults(source, &items, *target).map_err(TestCaseError::fail)?;
        }
    }
}

/// Found by the random ones: a result whose code is missing goes, and a call behind it follows the model's own content.
#[test]
fn what_goes_between_contents_leaves_one_answer() {
    let items = [
        r#"{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}"#,
        r#"{"parts":[{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}]}"#,
        r#"{"role":"model","parts":[{"functionCall":{"name":"read"}}]}"#,
    ];
    let items = items.map(str::to_owned);
    Format::OF_CONTEXTS.iter().for_each(|target| assert_eq!(faults(Format::Gemini, &items, *target), Ok(())));
}

/// Found by the random ones: a system message that goes on to a later place never stands behind a call that is open.
#[test]
fn nothing_goes_behind_an_open_call_of_the_providers_own() {
    let items = [
        r#"{"role":"system","content":"a","output_config":{"effort":"low"}}"#,
        r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"a","name":"read"}]}"#,
    ];
    let items = items.map(str::to_owned);
    Format::OF_CONTEXTS.iter().for_each(|target| assert_eq!(faults(Format::Anthropic, &items, *target), Ok(())));
}

/// Found by the random ones: what is empty beside thinking leaves the thinking alone.
#[test]
fn what_leaves_thinking_alone_leaves_nothing() {
    let items = [
        (
            Format::OpenaiChat,
            json!({"role": "assistant", "reasoning_content": "hm", "content": [{"type": "refusal", "refusal": ""}]}),
        ),
        (
            Format::OpenaiChat,
            json!({"role": "assistant", "reasoning_details": [{"text": "hm"}],
            "content": [{"type": "text", "text": ""}, {"type": "refusal", "refusal": ""}]}),
        ),
    ];
    for (source, item) in items {
        for target in Format::OF_CONTEXTS {
            faults(source, &[item.to_string()], *target).unwrap();
        }
    }
}

#[test]
#[ignore = "a tool: the kinds of faults, each by its smallest case"]
fn gathers() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::default();
    let items = items();
    let mut kinds: std::collections::BTreeMap<String, (usize, String)> = std::collections::BTreeMap::new();
    for _ in 0..cases() {
        let (source, items) = items.new_tree(&mut runner).unwrap().current();
        for target in Format::OF_CONTEXTS {
            if let Err(why) = faults(source, &items, *target) {
                let (out, _) = rebuilt(source, &items, *target).unwrap();
                let texts: Vec<&str> = out.iter().map(String::as_str).collect();
                let codes: Vec<&str> = lint(*target, &texts)
                    .map_or(vec!["?"], |found| found.violations.iter().map(|one| one.code.into_str()).collect());
                let kind = kinds.entry(format!("{source:?} {target:?} {codes:?}")).or_insert((0, why.clone()));
                kind.0 += 1;
                if why.len() < kind.1.len() {
                    kind.1 = why;
                }
            }
        }
    }
    for (kind, (times, why)) in kinds {
        println!("== {kind}: {times}\n{why}\n");
    }
}
