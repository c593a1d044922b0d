use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::data::Source;
use crate::format::pi;
use crate::made_up;
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Media, Opaque, Role, ToolCall, ToolResult};

const ALL: [Estimator; 4] = [Estimator::O200k, Estimator::Cl100k, Estimator::Pi, Estimator::Praison];

fn text(text: &str) -> Block {
    Block::text(text.to_owned())
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message { role, content, stop: None, opaque: None }
}

fn call(arguments: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: "c1".to_owned(),
        name: "bash".to_owned(),
        arguments_text: Some(arguments.to_string()),
        arguments,
        kind: CallKind::Function,
        opaque: None,
    })
}

fn result(content: Vec<Block>) -> Block {
    Block::ToolResult(ToolResult {
        tool_call_id: "c1".to_owned(),
        name: None,
        content,
        is_error: false,
        kind: CallKind::Function,
        opaque: None,
    })
}

#[test]
fn encodings_charge_for_messages_calls_and_results() {
    let hello = count_text(Estimator::O200k, "hello");
    assert_eq!(hello, 1);
    assert_eq!(count_message(Estimator::O200k, &message(Role::User, vec![text("hello")])).total, 4 + hello);
    let arguments = json!({"command": "ls"});
    let spelled = count_text(Estimator::Cl100k, "bash") + count_text(Estimator::Cl100k, r#"{"command":"ls"}"#);
    let asked = count_message(Estimator::Cl100k, &message(Role::Assistant, vec![call(arguments)]));
    assert_eq!(asked, Counted { total: 4 + 6 + spelled, results: vec![] });
    let answers = message(Role::Tool, vec![result(vec![text("hello")]), result(vec![])]);
    assert_eq!(count_message(Estimator::O200k, &answers), Counted { total: 4 + 5 + 4, results: vec![5, 4] });
    for estimator in ALL {
        assert_eq!(count_message(estimator, &message(Role::Assistant, vec![])).total, 0);
    }
}

#[test]
fn pi_rounds_up_once_per_message_and_counts_utf16() {
    let spoken = message(Role::User, vec![text("é🙂"), text("ab")]);
    assert_eq!(count_message(Estimator::Pi, &spoken).total, 2);
    let image = Block::Image { source: Media::default() };
    assert_eq!(count_message(Estimator::Pi, &message(Role::User, vec![image, text("a")])).total, 1_201);
    let asked = message(Role::Assistant, vec![call(json!({"n": 1.0}))]);
    assert_eq!(count_message(Estimator::Pi, &asked).total, 3, "bash and an object of one number are 11 units");
}

#[test]
fn a_run_counts_by_command_and_output_for_pi_and_by_our_words_for_encodings() {
    let run = |excluded: bool| {
        let item = pi::read(&json!({"type": "message", "id": "a", "message": {"role": "bashExecution",
            "command": "ls -l", "output": "nothing", "exitCode": 2, "excludeFromContext": excluded}}));
        item.unwrap().message.unwrap()
    };
    assert_eq!(count_message(Estimator::Pi, &run(false)).total, 3);
    assert_eq!(count_message(Estimator::Pi, &run(true)).total, 3);
    assert!(count_message(Estimator::O200k, &run(false)).total > 15);
    assert_eq!(count_message(Estimator::O200k, &run(true)).total, 0);
    assert_eq!(count_message(Estimator::Praison, &run(true)).total, 0);
}

#[test]
fn praison_weighs_each_text_by_itself_and_prints_calls_as_python_does() {
    assert_eq!(count_text(Estimator::Praison, "abcdefg"), 1);
    assert_eq!(count_text(Estimator::Praison, "日本語"), 3);
    assert_eq!(count_text(Estimator::Praison, "a"), 1);
    assert_eq!(count_text(Estimator::Praison, ""), 0);
    // {'name': 'bash', 'arguments': '{"q":"it\'s \\n \u200b"}'}: quotes of both kinds, so the single one is escaped.
    let asked = message(Role::Assistant, vec![call(json!({"q": "it's \u{200b}"}))]);
    let printed = r#"{'name': 'bash', 'arguments': '{"q":"it\'s \u200b"}'}"#;
    assert_eq!(count_message(Estimator::Praison, &asked).total, printed.len() as u32 / 4);
}

#[test]
fn what_is_not_text_has_a_stated_cost() {
    let data = Some("A".repeat(800_000));
    let image = Block::Image { source: Media { data: data.clone(), ..Media::default() } };
    let document = |source: Media| Block::Document { source };
    let of = |block: Block| count_message(Estimator::O200k, &message(Role::User, vec![block])).total - 4;
    assert_eq!(of(image), media::IMAGE_TOKENS);
    assert_eq!(of(document(Media { data: data.clone(), ..Media::default() })), 12 * media::PAGE_TOKENS);
    assert_eq!(of(document(Media { url: Some("https://x".to_owned()), ..Media::default() })), media::PAGE_TOKENS);
    assert_eq!(of(document(Media { text: Some("hello".to_owned()), data, ..Media::default() })), 1);
    let sealed =
        Opaque { format: Format::Anthropic, value: json!({"type": "redacted_thinking", "data": "B".repeat(600)}) };
    let cost = media::opaque_tokens(&sealed.value);
    assert_eq!(cost, 32 + 617 / 6);
    assert_eq!(of(Block::Raw(sealed.clone())), cost);
    assert_eq!(of(Block::Thinking { text: String::new(), opaque: Some(sealed.clone()) }), cost);
    assert_eq!(of(Block::Thinking { text: "hello".to_owned(), opaque: Some(sealed) }), 1);
}

#[test]
fn tools_are_counted_as_compact_json() {
    let tools = json!([{"name": "bash", "input_schema": {"type": "object"}}]);
    for estimator in ALL {
        assert_eq!(count_tools(estimator, &tools), count_text(estimator, &tools.to_string()));
        for none in [json!(null), json!([]), json!({})] {
            assert_eq!(count_tools(estimator, &none), 0);
        }
    }
}

/// These would not end in a lifetime if any of it were quadratic.
#[test]
fn a_megabyte_of_anything_is_counted() {
    let size = 1_000_000;
    let base64: String = (0..size).map(|n| char::from(b'A' + (n * 7919 % 26) as u8)).collect();
    let inputs = ["a", " ", "=", "\n", "🙂", "é", " x", "\u{0}", "'s"].map(|unit| unit.repeat(size / unit.len()));
    for text in inputs.iter().chain([&base64]) {
        for estimator in ALL {
            assert!(count_text(estimator, text) > 4_000, "{estimator:?}");
        }
    }
}

fn reference(estimator: Estimator, text: &str) -> usize {
    match estimator {
        Estimator::Cl100k => tiktoken_rs::cl100k_base_singleton().count_ordinary(text),
        _ => tiktoken_rs::o200k_base_singleton().count_ordinary(text),
    }
}

fn assert_equal_to_the_reference(text: &str) {
    for estimator in [Estimator::O200k, Estimator::Cl100k] {
        assert_eq!(count_text(estimator, text) as usize, reference(estimator, text), "{estimator:?}: {text:?}");
    }
}

proptest! {
    #[test]
    fn counts_equal_the_reference(text in "\\PC{0,200}") {
        assert_equal_to_the_reference(&text);
    }

    #[test]
    fn counts_of_odd_spacing_equal_the_reference(
        parts in prop::collection::vec(prop::sample::select(vec![
            " ", "\n", "\r\n", "\t", "a", "Zz", " the", " Word", "'", "'ll",
            "12345", "=", "/", "é", "日本", "🙂", "\u{301}", "<|endoftext|>",
        ]), 0..80)
    ) {
        assert_equal_to_the_reference(&parts.concat());
    }

    #[test]
    fn no_estimator_grows_smaller_with_more_text(head in "\\PC{0,60}", tail in "\\PC{0,60}") {
        for estimator in [Estimator::Pi, Estimator::Praison] {
            let whole = [head.as_str(), tail.as_str()].concat();
            prop_assert!(count_text(estimator, &whole) >= count_text(estimator, &head));
        }
    }
}

#[test]
fn counts_of_made_up_sessions_equal_the_reference() {
    made_up::FORMATS.iter().for_each(|format| items_equal_the_reference(&made_up::items(format, 24)));
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn counts_of_recorded_sessions_equal_the_reference() {
    for name in ["claude-code-transcripts.jsonl", "glaive-toolcall-zh.jsonl", "toolbench.jsonl", "inspect-ai.jsonl"] {
        for line in Source::Shared.text(&format!("corpus/{name}")).lines() {
            let session: Value = serde_json::from_str(line).unwrap();
            items_equal_the_reference(session["messages"].as_array().unwrap());
        }
    }
}

fn items_equal_the_reference(items: &[Value]) {
    for item in items {
        assert_equal_to_the_reference(&item.to_string());
        item["content"].as_str().into_iter().for_each(assert_equal_to_the_reference);
    }
}

#[test]
fn praison_counts_what_its_rules_say() {
    assert!(praison_sizes_match(Source::Own) > 10);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn praison_equals_the_original() {
    assert_eq!(praison_sizes_match(Source::Shared), 288);
}

/// The sizes that the original compactor reports before each of its passes; how many there are.
fn praison_sizes_match(source: Source) -> usize {
    let lines = source.text("oracle/praison/strategies.ndjson");
    let mut passes = 0;
    for line in crate::model::json::mend_surrogates(&lines).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        for (pass, out) in case["case"]["passes"].as_array().unwrap().iter().zip(case["out"].as_array().unwrap()) {
            let total: u32 = pass.as_array().unwrap().iter().map(praison_size).sum();
            assert_eq!(json!(total), out["result"]["original_tokens"]);
            passes += 1;
        }
    }
    passes
}

fn praison_size(item: &Value) -> u32 {
    let mut content = vec![text(item["content"].as_str().unwrap_or_default())];
    for call in item["tool_calls"].as_array().into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        content.push(Block::ToolCall(ToolCall {
            id: String::new(),
            name: call["function"]["name"].as_str().unwrap().to_owned(),
            arguments: Value::Null,
            arguments_text: Some(arguments.to_owned()),
            kind: CallKind::Function,
            opaque: None,
        }));
    }
    count_message(Estimator::Praison, &message(Role::User, content)).total
}

/// As `JSON.stringify` writes them: an escape of six units for each that has no partner, one character for a pair.
#[test]
fn lone_surrogates_in_arguments_count_as_javascript_writes_them() {
    let pi = |format: Format, item: &str| {
        let message = crate::format::read(format, item).unwrap().message.unwrap();
        count_item(Estimator::Pi, format, item, &message).total
    };
    let lone = r#""\ud83d""#;
    let quoted = r#"\"\\ud83d\""#;
    // "{"a":["\ud83d","\ud83d","\ud83d","\ud83d"]}" is 6 + 4 * 8 + 3 + 2 units, the name 2 more.
    let four = |one: &str| [one; 4].join(",");
    let claude = format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"ls","input":{{"a":[{}]}}}}]}}"#,
        four(lone)
    );
    let own = format!(
        r#"{{"type":"message","id":"m","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{{"role":"assistant",
        "content":[{{"type":"toolCall","id":"c","name":"ls","arguments":{{"a":[{}]}}}}]}}}}"#,
        four(lone)
    );
    let chat = format!(
        r#"{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"ls",
        "arguments":"{{\"a\":[{}]}}"}}}}]}}"#,
        four(quoted)
    );
    let units = 2 + r#"{"a":["\ud83d","\ud83d","\ud83d","\ud83d"]}"#.len();
    let tokens = u32::try_from(units.div_ceil(4)).unwrap();
    assert_eq!([pi(Format::Anthropic, &claude), pi(Format::Pi, &own), pi(Format::OpenaiChat, &chat)], [tokens; 3]);
    // A character that is really there, a pair, and a text count as they did.
    let paired = claude.replace(lone, r#""\ud83d\ude00""#);
    let units = 2 + r#"{"a":["..","..","..",".."]}"#.len();
    assert_eq!(pi(Format::Anthropic, &paired), u32::try_from(units.div_ceil(4)).unwrap());
    let said = r#"{"role":"user","content":"\ud83d\ud83d\ud83d\ud83d"}"#;
    assert_eq!(pi(Format::Anthropic, said), 1);
}
