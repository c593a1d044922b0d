//! Each rule by an example; then properties: what was mended is valid, and valid is what needs no mending.

mod grammar;
mod refusals;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Lint, Op, PatchStep, ViolationCode, lint};
use crate::data::Source;
use crate::format::corpus;
use crate::format::note_code::NoteCode;
use crate::format::write::{ItemFault, Note};
use crate::model::format::Format;

fn linted(format: Format, items: &[Value]) -> Lint {
    let texts: Vec<String> = items.iter().map(Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    lint(format, &texts).unwrap()
}

fn repaired(lint: &Lint) -> Vec<Value> {
    lint.repaired.iter().map(|text| serde_json::from_str(text.get()).unwrap()).collect()
}

fn codes(lint: &Lint) -> Vec<(&'static str, usize)> {
    lint.violations.iter().map(|violation| (violation.code.into_str(), violation.index)).collect()
}

/// A patch applied as RFC 6902 says.
fn patched(items: &[Value], diff: &[PatchStep]) -> Vec<Value> {
    let mut list = items.to_vec();
    let value = |change: &PatchStep| serde_json::from_str(change.value.as_ref().unwrap().get()).unwrap();
    for change in diff {
        let at: usize = change.path[1..].parse().unwrap();
        match change.op {
            Op::Add => list.insert(at, value(change)),
            Op::Remove => drop(list.remove(at)),
            Op::Replace => list[at] = value(change),
        }
    }
    list
}

/// Lints the items and checks what must hold whatever is given.
fn check(format: Format, items: &[Value]) -> Result<Lint, String> {
    let first = linted(format, items);
    let mended = repaired(&first);
    if patched(items, &first.diff) != mended {
        return Err("the patch does not lead to the copy".into());
    }
    if first.violations.is_empty() != (mended == items) {
        return Err(format!("{:?} and {:?}", codes(&first), first.diff));
    }
    let again = linted(format, &mended);
    if !again.violations.is_empty() {
        return Err(format!("the copy still has {:?}: {:?}", again.violations, mended));
    }
    Ok(first)
}

#[track_caller]
fn expect(format: Format, items: Value, wanted: &[(&str, usize)]) -> Vec<Value> {
    let items = items.as_array().unwrap();
    let found = check(format, items).unwrap();
    assert_eq!(codes(&found), wanted, "{:?}", found.violations);
    repaired(&found)
}

fn chat_call(id: &str, arguments: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}]})
}

#[test]
fn chat_rules() {
    use Format::OpenaiChat as F;
    let user = json!({"role": "user", "content": "hi"});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    expect(F, json!([user, chat_call("a", "{}"), result("a"), user, user]), &[]);
    expect(F, json!([user, result("a")]), &[("orphan_result", 1)]);
    expect(F, json!([user, chat_call("a", "{}"), user]), &[("call_without_result", 1)]);
    expect(F, json!([user, chat_call("a", "{}"), result("a"), result("a")]), &[("duplicate_result", 3)]);
    expect(F, json!([user, chat_call("a", "{}"), user, result("a")]), &[("result_out_of_place", 3)]);
    expect(
        F,
        json!([chat_call("a", "{}"), chat_call("b", "{}"), result("a"), result("b")]),
        &[("split_batch", 0), ("split_batch", 1)],
    );
    let mended = expect(F, json!([chat_call("a", "{\"path\": "), result("a")]), &[("invalid_arguments", 0)]);
    assert_eq!(mended[0]["tool_calls"][0]["function"]["arguments"], "{\"input\":\"{\\\"path\\\": \"}");
    expect(F, json!([chat_call("a", ""), result("a")]), &[("invalid_arguments", 0)]);
    expect(F, json!([{"role": "user", "content": ""}, user]), &[("empty_content", 0)]);
    expect(F, json!([{"role": "wizard", "content": "hi"}]), &[("unknown_role", 0)]);
    expect(F, json!([{"content": "hi"}]), &[("unknown_role", 0)]);
    expect(F, json!([{"role": "assistant", "content": "hi", "tool_calls": []}]), &[("empty_tool_calls", 0)]);
    expect(
        F,
        json!([{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "a"}]}]),
        &[("empty_text", 0)],
    );
    let thought =
        json!({"role": "assistant", "reasoning_content": "hm", "content": [{"type": "refusal", "refusal": ""}]});
    assert_eq!(
        expect(F, json!([user, thought]), &[("thinking_alone", 1), ("empty_content", 1)]),
        std::slice::from_ref(&user)
    );
    let mended = expect(F, json!([{"role": "user", "content": 7}]), &[("empty_content", 0)]);
    assert_eq!(mended, [json!({"role": "user", "content": [{"type": "text", "text": "7"}]})]);
}

#[test]
fn anthropic_rules() {
    use Format::Anthropic as F;
    let user = json!({"role": "user", "content": "hi"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let calls =
        |ids: &[&str]| json!({"role": "assistant", "content": ids.iter().map(|id| call(id)).collect::<Vec<_>>()});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let results =
        |ids: &[&str]| json!({"role": "user", "content": ids.iter().map(|id| result(id)).collect::<Vec<_>>()});
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let text = json!({"type": "text", "text": "so"});
    let says = |blocks: &[&Value]| json!({"role": "assistant", "content": blocks});
    expect(F, json!([user, says(&[&thought, &text, &call("a")]), results(&["a"]), user]), &[]);
    expect(F, json!([{"role": "assistant", "content": "hi"}, user]), &[("first_message_not_user", 0)]);
    expect(F, json!([{"role": "system", "content": "be brief"}, user]), &[("system_in_messages", 0)]);
    expect(F, json!([user, {"role": "system", "content": "be brief"}]), &[]);
    expect(F, json!([user, says(&[&text, &thought, &call("a")]), results(&["a"])]), &[("thinking_not_first", 1)]);
    expect(F, json!([user, says(&[&text, &thought])]), &[("ends_with_thinking", 1)]);
    let unsigned = json!({"type": "thinking", "thinking": "hm"});
    let found = check(F, &[user.clone(), says(&[&unsigned, &text])]).unwrap();
    assert!(codes(&found).iter().all(|found| *found == ("unsigned_thinking", 1)));
    expect(
        F,
        json!([user, calls(&["a", "b"]), results(&["a"]), results(&["b"])]),
        &[("split_batch", 2), ("split_batch", 3)],
    );
    expect(F, json!([user, calls(&["a", "b"]), results(&["a"])]), &[("call_without_result", 1), ("split_batch", 2)]);
    let twice = json!([user, calls(&["a"]), results(&["a"]), calls(&["a"]), results(&["a"])]);
    let found = check(F, twice.as_array().unwrap()).unwrap();
    assert!(codes(&found).contains(&("duplicate_call_id", 3)), "{:?}", found.violations);
    expect(
        F,
        json!([user, {"role": "assistant", "content": "hi", "usage": {}, "id": "m"}, user]),
        &[("response_fields", 1)],
    );
    expect(F, json!([{"role": "user", "content": []}, user]), &[("empty_content", 0)]);
    expect(F, json!([{"role": "user", "content": [{"type": "image"}]}]), &[("invalid_media", 0)]);
    let found = check(F, &[user.clone(), json!({"role": "user", "content": [call("a")]}), results(&["a"])]).unwrap();
    assert_eq!(repaired(&found)[1], calls(&["a"]));
    let server = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}});
    let found = check(F, &[user.clone(), says(&[&server, &text]), user.clone()]).unwrap();
    assert_eq!(codes(&found), [("server_tool_unpaired", 1)]);
}

#[test]
fn ids_that_the_provider_takes_no_call_by_are_invalid() {
    let user = json!({"role": "user", "content": "hi"});
    let call =
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a b!", "name": "read", "input": {}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a b!", "content": "x"}]});
    let found = check(Format::Anthropic, &[user.clone(), call, result]).unwrap();
    assert!(codes(&found).contains(&("invalid_call_id", 1)), "{:?}", found.violations);
    assert!(codes(&found).iter().all(|(code, _)| *code != "duplicate_call_id"), "{:?}", found.violations);
    let long = "c".repeat(100);
    let call = json!({"type": "function_call", "call_id": long, "name": "read", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": long, "output": "x"});
    let found = check(Format::OpenaiResponses, &[user, call, output]).unwrap();
    assert!(codes(&found).contains(&("invalid_call_id", 1)), "{:?}", found.violations);
}

#[test]
fn a_code_follows_the_fault_and_not_the_words() {
    let sentences = ["a is sent as b", "an answer can't end with thinking", "an earlier call has the same id", ""];
    for sentence in sentences {
        let code = |code: NoteCode, fault: Option<ItemFault>| {
            super::rewrite::code(&Note { fault, ..Note::new(code, Some(0), sentence) })
        };
        let renamed = |fault| code(NoteCode::CallIdRenamed, Some(fault));
        let dropped = |fault| code(NoteCode::ThinkingDropped, fault);
        assert_eq!(renamed(ItemFault::IdRefused), Some(ViolationCode::InvalidCallId), "{sentence}");
        assert_eq!(renamed(ItemFault::IdTaken), Some(ViolationCode::DuplicateCallId), "{sentence}");
        assert_eq!(dropped(Some(ItemFault::EndsWithThinking)), Some(ViolationCode::EndsWithThinking), "{sentence}");
        assert_eq!(dropped(None), Some(ViolationCode::UnsignedThinking), "{sentence}");
    }
}

#[test]
fn an_id_that_the_output_of_a_shell_call_has_is_told_of() {
    let call = json!({"type": "local_shell_call", "id": "ls_1", "call_id": "sh_1", "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}}});
    let output = json!({"type": "local_shell_call_output", "id": "sh_1", "output": "a.txt"});
    let answer = json!({"type": "message", "id": "sh_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "done", "annotations": []}]});
    let found = check(Format::OpenaiResponses, &[json!({"role": "user", "content": "go"}), call, output, answer]);
    assert_eq!(codes(&found.unwrap()), [("item_id_removed", 3)]);
}

#[test]
fn responses_rules() {
    use Format::OpenaiResponses as F;
    let user = json!({"type": "message", "role": "user", "content": "hi"});
    let call = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    expect(F, json!([user, reasoning, call, output]), &[]);
    expect(F, json!([user, output]), &[("orphan_result", 1)]);
    expect(F, json!([user, call]), &[("call_without_result", 1)]);
    expect(F, json!([reasoning, user]), &[("reasoning_without_item", 0)]);
    expect(F, json!([reasoning, reasoning, call, output]), &[("duplicate_item_id", 1)]);
    let broken = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": {"a": 1}});
    let mended = expect(F, json!([broken, output]), &[("invalid_arguments", 0)]);
    assert_eq!(mended[0]["arguments"], "{\"a\":1}");
    let wrong = json!({"role": "assistant", "content": [{"type": "input_text", "text": "a"}]});
    expect(F, json!([wrong]), &[("block_not_allowed", 0)]);
    expect(F, json!([call, {"type": "function_call_output", "call_id": "a"}]), &[("invalid_output", 1)]);
}

#[test]
fn native_and_pi_rules() {
    let call =
        json!({"role": "assistant", "content": [{"type": "tool_call", "id": "a", "name": "read", "arguments": {}}]});
    expect(Format::Native, json!([call]), &[("call_without_result", 0)]);
    expect(Format::Native, json!([{"role": "user", "content": []}]), &[("empty_content", 0)]);
    let entry = |id: &str, parent: Option<&str>, message: Value| {
        json!({"type": "message", "id": id, "parentId": parent,
        "timestamp": "2026-01-01T00:00:00Z", "message": message})
    };
    let user = json!({"role": "user", "content": "hi", "timestamp": 1});
    let calls =
        json!({"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "read", "arguments": {}}]});
    let header = json!({"type": "session", "version": 3, "id": "s"});
    let good = [header.clone(), entry("1", None, user.clone()), entry("2", Some("1"), user.clone())];
    assert!(check(Format::Pi, &good).unwrap().violations.is_empty());
    let open = [header.clone(), entry("1", None, calls.clone()), entry("2", Some("1"), user.clone())];
    let found = check(Format::Pi, &open).unwrap();
    assert_eq!(codes(&found), [("call_without_result", 1)]);
    let mended = repaired(&found);
    assert_eq!(mended[3]["parentId"], mended[2]["id"], "the tree goes through the entry that was put in");
    let lost = [header.clone(), entry("1", None, user.clone()), entry("2", Some("9"), user.clone())];
    assert_eq!(codes(&check(Format::Pi, &lost).unwrap()), [("unknown_parent", 2)]);
    let continued = [entry("2", Some("9"), user.clone()), entry("3", Some("2"), user.clone())];
    assert!(check(Format::Pi, &continued).unwrap().violations.is_empty());
    let torn = [entry("2", Some("9"), user.clone()), entry("3", Some("8"), user.clone())];
    assert_eq!(codes(&check(Format::Pi, &torn).unwrap()), [("unknown_parent", 1)]);
    // The call is open on a branch that was left: none of this path's business.
    let branched = [header, entry("1", None, user.clone()), entry("2", Some("1"), calls), entry("3", Some("1"), user)];
    assert!(check(Format::Pi, &branched).unwrap().violations.is_empty());
}

#[test]
fn unreadable_parts_in_a_row_are_one_text_and_one_violation() {
    let numbers: Vec<Value> = (0..1000).map(Value::from).collect();
    let text = json!({"type": "text", "text": "between"});
    let parts = [numbers.as_slice(), std::slice::from_ref(&text), &numbers[..2]].concat();
    let mended = expect(Format::Anthropic, json!([{"role": "user", "content": parts}]), &[("invalid_block", 0)]);
    let said = mended[0]["content"].as_array().unwrap();
    assert_eq!(said[1..], [text, json!({"type": "text", "text": "0\n1"})]);
    assert_eq!(said[0]["text"].as_str().unwrap().lines().count(), 1000);
    let calls = json!({"role": "assistant", "content": "hi", "tool_calls": numbers});
    let found = check(Format::OpenaiChat, &[json!({"role": "user", "content": "go"}), calls]).unwrap();
    assert_eq!(repaired(&found)[1]["content"].as_array().unwrap().len(), 2, "{:?}", found.repaired);
}

#[test]
fn an_item_that_stays_is_held_once() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",
        "function": {"name": "f", "arguments": "{}"}}]});
    let found = check(Format::OpenaiChat, &[json!({"role": "user", "content": "go"}), call]).unwrap();
    // The result that was put in stands in the copy and in the patch.
    let [step] = found.diff.as_slice() else { panic!("{:?}", found.diff) };
    assert!(std::sync::Arc::ptr_eq(step.value.as_ref().unwrap(), &found.repaired[2]));
}

#[test]
fn what_an_item_says_is_told_apart_but_for_the_order_of_its_fields() {
    use super::doc::digest;
    let same = [json!({"a": 1, "b": [true, null]}), json!({"b": [true, null], "a": 1})];
    assert_eq!(digest(&same[0]), digest(&same[1]));
    let apart = [
        json!(null),
        json!(false),
        json!(true),
        json!(0),
        json!("0"),
        json!(""),
        json!([]),
        json!({}),
        json!([[]]),
        json!([[], []]),
        json!(["a", "b"]),
        json!(["ab"]),
        json!(["b", "a"]),
        json!({"a": "b"}),
        json!({"ab": ""}),
        json!({"a": null}),
        json!(["a", null]),
        json!(1.0),
        json!(1),
    ];
    let digests: std::collections::HashSet<_> = apart.iter().map(digest).collect();
    assert_eq!(digests.len(), apart.len());
}

#[test]
fn what_is_no_item_is_refused_by_its_place() {
    let refused = lint(Format::OpenaiChat, &["{}", "7", "[]"]).unwrap_err();
    assert_eq!(refused.iter().map(|no| no.index).collect::<Vec<_>>(), [1, 2]);
}

/// Drops, doubles and moves items, as places to be taken modulo the length.
fn mutate(items: &[Value], steps: &[(u8, usize, usize)]) -> Vec<Value> {
    let mut items = items.to_vec();
    for &(step, from, to) in steps {
        if items.is_empty() {
            break;
        }
        let (from, to) = (from % items.len(), to % items.len());
        match step % 4 {
            0 => drop(items.remove(from)),
            1 => items.insert(to, items[from].clone()),
            2 => items.swap(from, to),
            _ => {
                let key = ["role", "content", "tool_calls", "call_id", "arguments", "parentId", "message"][to % 7];
                let wrong = [json!(null), json!("?"), json!([]), json!({}), json!(7)][from % 5].clone();
                if let Some(field) = items[from].as_object_mut().and_then(|fields| fields.get_mut(key)) {
                    *field = wrong;
                }
            }
        }
    }
    items
}

const FORMATS: [Format; 5] =
    [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini, Format::Pi];

#[test]
fn made_up_transcripts_and_what_becomes_of_them_are_mended() {
    are_mended(Source::Own);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn real_transcripts_and_what_becomes_of_them_are_mended() {
    are_mended(Source::Shared);
}

fn are_mended(source: Source) {
    let mut total: std::collections::BTreeMap<(&str, &str), usize> = Default::default();
    for format in FORMATS {
        if format == Format::Gemini && source == Source::Shared {
            continue;
        }
        for (n, session) in corpus::sessions(source, format).iter().enumerate() {
            let found = check(format, &session.items).unwrap_or_else(|why| panic!("{}: {why}", session.name));
            for violation in &found.violations {
                *total.entry((format.into_str(), violation.code.into_str())).or_default() += 1;
            }
            let size = session.items.len();
            if size > 400 {
                continue;
            }
            let steps: Vec<(u8, usize, usize)> =
                (0..6).map(|step: usize| ((step + n) as u8, n * 31 + step * 17, n * 7 + step * 29)).collect();
            for cut in 1..=steps.len() {
                let mutated = mutate(&session.items, &steps[..cut]);
                check(format, &mutated)
                    .unwrap_or_else(|why| panic!("{} after {:?}: {why}", session.name, &steps[..cut]));
            }
        }
    }
    println!("{total:#?}");
}

fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!("")),
        Just(json!(" ")),
        Just(json!("a")),
        Just(json!([])),
        Just(json!({})),
        Just(json!(1)),
        Just(json!([{"type": "text", "text": "a"}])),
        Just(json!([{"type": "text", "text": ""}])),
        Just(json!([7])),
        Just(json!([{"type": "tool_use", "id": "a", "name": "n", "input": {}}])),
        Just(json!([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": " "}]}])),
        Just(
            json!([{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "tool_use", "id": "b", "name": "n", "input": 1}])
        ),
        Just(json!([{"type": "redacted_thinking", "data": "x"}])),
        Just(json!([{"type": "tool_call", "id": "a", "name": "n"}, {"type": "tool_result", "tool_call_id": "a"}])),
        Just(json!([{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}, {"text": ""}, {}])),
        Just(
            json!([{"functionResponse": {"id": "a", "name": "f", "response": "x"}}, {"text": "a"}, {"inlineData": {}}])
        ),
        Just(json!([{"type": "image"}, {"type": "image_url", "image_url": 3}, {"type": "input_text", "text": "x"}])),
        Just(
            json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}, {"id": "", "type": "function"}])
        )
    ]
}

fn item() -> impl Strategy<Value = Value> {
    let role = prop_oneof![Just("user"), Just("assistant"), Just("system"), Just("tool"), Just("function"), Just("x")];
    let kind = prop_oneof![
        Just("message"),
        Just("function_call"),
        Just("function_call_output"),
        Just("reasoning"),
        Just("toolResult")
    ];
    (role, prop::option::of(kind), junk(), prop::option::of(junk()), prop::option::of(0..3_u8)).prop_map(
        |(role, kind, content, other, id)| {
            let mut item = json!({"role": role, "content": content});
            if let Some(kind) = kind {
                item["type"] = kind.into();
            }
            if let Some(other) = other {
                item["tool_calls"] = other.clone();
                item["arguments"] = other.clone();
                item["parts"] = other.clone();
                item["output"] = other.clone();
                item["message"] = other;
            }
            if let Some(id) = id {
                item["id"] = format!("id{id}").into();
                item["call_id"] = format!("id{id}").into();
                item["tool_call_id"] = "a".into();
                item["name"] = "n".into();
            }
            item
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn whatever_is_given_can_be_mended(items in prop::collection::vec(item(), 0..7), format in 0..Format::OF_CONTEXTS.len()) {
        check(Format::OF_CONTEXTS[format], &items).map_err(TestCaseError::fail)?;
    }
}
