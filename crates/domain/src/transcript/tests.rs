use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::context::pairing::SYNTHETIC_RESULT;
use crate::context::{elision, placeholder};
use crate::format;
use crate::model::format::Format;
use crate::model::message::Role;

fn said(format: Format, items: &Value) -> Vec<Said> {
    let read = |item: &Value| match format::read(format, &item.to_string()).unwrap().message {
        Some(message) => Said::Message(message),
        None => Said::Nothing(item.to_string()),
    };
    items.as_array().unwrap().iter().map(read).collect()
}

fn aligned(stored: (Format, Value), posted: (Format, Value)) -> (usize, usize, usize) {
    let sizes = || HashMap::from([("1".to_owned(), vec![100])]);
    let step = |said| ExpectedEntry { said, is_task: false, sizes: sizes() };
    let steps: Vec<ExpectedEntry> = said(stored.0, &stored.1).into_iter().map(step).collect();
    let posted: Vec<Option<Said>> = said(posted.0, &posted.1).into_iter().map(Some).collect();
    let found = align(&steps, &posted, &ShownBesides::default());
    (found.matched, found.steps, found.stored_blocks)
}

use Format::{Anthropic, OpenaiChat as Chat};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn calls(ids: &[&str]) -> Value {
    let call =
        |id: &&str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"a\": 1}"}});
    json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

#[test]
fn growth_edits_and_ends() {
    let stored = json!([user("a"), calls(&["1"]), result("1", "x")]);
    let same = |posted: Value| aligned((Chat, stored.clone()), (Chat, posted));
    assert_eq!(same(stored.clone()), (3, 3, 0));
    assert_eq!(same(json!([user("a"), calls(&["1"]), result("1", "x"), user("b")])), (3, 3, 0));
    assert_eq!(same(json!([user("a"), calls(&["1"])])), (2, 2, 0), "it ends early");
    assert_eq!(same(json!([user("a"), calls(&["1"]), result("1", "y")])), (2, 2, 0), "it departs");
    assert_eq!(same(json!([user("b"), calls(&["1"]), result("1", "x")])), (0, 0, 0));
    assert_eq!(same(json!([user("a"), calls(&["2"]), result("2", "x")])), (1, 1, 0), "ids count");
    assert_eq!(same(json!([])), (0, 0, 0));
}

#[test]
fn merged_and_split_messages_are_the_same() {
    let chat = json!([user("a"), calls(&["1", "2"]), result("1", "x"), result("2", "y"), user("b")]);
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"a": 1}, "cache_control": {"type": "ephemeral"}});
    let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]});
    let claude = json!([
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "id": "msg", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, call("1"), call("2")]},
        {"role": "user", "content": [result("1", "x"), result("2", "y")]},
        {"role": "user", "content": "b"}]);
    assert_eq!(aligned((Chat, chat.clone()), (Anthropic, claude.clone())), (4, 5, 0));
    assert_eq!(aligned((Anthropic, claude), (Chat, chat)), (5, 4, 0));
}

#[test]
fn a_batch_of_results_that_is_completed_later() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let calls = json!({"role": "assistant", "content": [call("1"), call("2")]});
    let stored = json!([user("a"), calls, {"role": "user", "content": [result("1")]}]);
    let posted = json!([user("a"), calls, {"role": "user", "content": [result("1"), result("2"), {"type": "text", "text": "go on"}]}]);
    assert_eq!(aligned((Anthropic, stored), (Anthropic, posted)), (2, 3, 1));
}

#[test]
fn what_we_put_in_is_not_said() {
    let stored = json!([user("a"), calls(&["1"]), result("1", "long"), calls(&["2"]), user("b"), result("2", "late")]);
    let marker = placeholder::marker("1", 100);
    let posted = json!([user("a"), calls(&["1"]), result("1", &marker), calls(&["2"]), result("2", "late"), user("b")]);
    assert_eq!(aligned((Chat, stored.clone()), (Chat, posted)), (6, 6, 0));
    let open = json!([user("a"), calls(&["1"]), result("1", SYNTHETIC_RESULT), user("b")]);
    assert_eq!(aligned((Chat, json!([user("a"), calls(&["1"])])), (Chat, open)), (3, 2, 0));
}

#[test]
fn a_result_said_early_does_not_hide_what_was_left_out() {
    let stored = json!([user("a"), calls(&["1"]), user("b"), result("1", "x")]);
    let posted = json!([user("a"), calls(&["1"]), result("1", "x"), user("c")]);
    assert_eq!(aligned((Chat, stored), (Chat, posted)), (2, 2, 0));
}

#[test]
fn thinking_at_the_end_is_new_and_in_between_it_may_differ() {
    use Format::OpenaiResponses as Responses;
    let reasoning = |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": id});
    let answer = json!({"role": "assistant", "content": "yes"});
    let stored = json!([user("a"), reasoning("r1"), answer]);
    assert_eq!(aligned((Responses, stored.clone()), (Responses, json!([user("a"), answer]))), (2, 3, 0));
    assert_eq!(aligned((Responses, stored.clone()), (Responses, stored.clone())), (3, 3, 0));
    let grown = json!([user("a"), reasoning("r1"), answer, reasoning("r2"), user("b")]);
    assert_eq!(aligned((Responses, stored), (Responses, grown)), (3, 3, 0));
}

#[test]
fn leading_system_messages_may_be_elsewhere() {
    let system = json!({"role": "system", "content": "be brief"});
    let stored = json!([system, user("a")]);
    assert_eq!(aligned((Chat, stored.clone()), (Anthropic, json!([user("a")]))), (1, 2, 0));
    let other = json!({"role": "system", "content": "be long"});
    assert_eq!(aligned((Chat, stored), (Chat, json!([other, user("a")]))), (0, 0, 0));
}

#[test]
fn what_other_formats_tell_in_words_is_the_same() {
    let search = json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []});
    let summary = json!({"type": "compaction", "content": "so far\nall well"});
    let answer = |blocks: &[&Value]| json!({"role": "assistant", "content": blocks});
    let text = json!({"type": "text", "text": "so"});
    let stored = json!([user("a"), answer(&[&summary, &search, &found, &text]), user("b")]);
    let steps = said(Anthropic, &stored);
    for format in [Chat, Format::OpenaiResponses, Format::Pi, Format::Native, Anthropic] {
        let piece = |said: &Said| match said {
            Said::Message(message) => format::write::Piece::Message { entry: None, message: message.clone() },
            Said::Nothing(item) => panic!("{item}"),
        };
        let pieces: Vec<_> = steps.iter().map(piece).collect();
        let mut written: Vec<Value> = format::write(format, &pieces, &mut Vec::new())
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        let all = written.len();
        assert_eq!(
            aligned((Anthropic, stored.clone()), (format, json!(written))),
            (all, 3, 0),
            "{format:?}: {written:?}"
        );
        written.push(written[0].clone());
        assert_eq!(aligned((Anthropic, stored.clone()), (format, json!(written))), (all, 3, 0), "{format:?}");
    }
}

#[test]
fn arguments_shown_by_their_ends_are_the_stored_ones() {
    let script = format!("start{}end", "x".repeat(4_000));
    let call = |text: &str| {
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "1", "name": "write", "input": {"path": "a", "text": text, "n": 1.0}}]})
    };
    let Said::Message(mut shown) = said(Anthropic, &json!([call(&script)])).remove(0) else { panic!("a message") };
    let whole = shown.clone();
    for block in &mut shown.content {
        let crate::model::message::Block::ToolCall(call) = block else { continue };
        assert!(elision::arguments::shorten(call, 100, 100));
        call.arguments["n"] = json!(1);
    }
    let step = |said| ExpectedEntry { said, is_task: false, sizes: HashMap::new() };
    let steps = [step(Said::Message(whole.clone()))];
    assert_eq!(align(&steps, &[Some(Said::Message(shown.clone()))], &ShownBesides::default()).matched, 1);
    struct One(Message);
    impl StoredCalls for One {
        fn call(&self, id: &str) -> Option<Rc<crate::model::message::ToolCall>> {
            self.0.tool_calls().find(|call| call.id == id).cloned().map(Rc::new)
        }
        fn result(&self, _: &str) -> Option<Rc<StoredResult>> {
            None
        }
        fn is_known(&self, _: &str) -> bool {
            false
        }
    }
    let restored = whole_again(&shown, &One(whole.clone())).unwrap();
    assert_eq!(restored.tool_calls().next().unwrap().arguments, whole.tool_calls().next().unwrap().arguments);
    assert_eq!(whole_again(&whole, &One(whole.clone())), None);
    let other = said(Anthropic, &json!([call(&format!("{script}."))]));
    assert_eq!(
        align(&[step(other[0].clone())], &[Some(Said::Message(shown))], &ShownBesides::default()).matched,
        0,
        "another text"
    );
}

#[test]
fn a_result_that_quotes_a_marker_stays_as_it_is() {
    let quoting = json!([{"role": "tool", "tool_call_id": "new", "content": placeholder::marker("old", 40)}]);
    let Said::Message(message) = said(Chat, &quoting).remove(0) else { panic!("a message") };
    struct Any;
    impl StoredCalls for Any {
        fn call(&self, _: &str) -> Option<Rc<crate::model::message::ToolCall>> {
            None
        }
        fn result(&self, id: &str) -> Option<Rc<StoredResult>> {
            panic!("{id} is asked for")
        }
        fn is_known(&self, id: &str) -> bool {
            panic!("{id} is asked for")
        }
    }
    assert_eq!(whole_again(&message, &Any), None);
}

#[test]
fn what_providers_ran_themselves_is_known_again() {
    use Format::OpenaiResponses as Responses;
    let long: String = (0..90).map(|n| format!("line {n}\n")).collect();
    let kinds = [
        json!({"type": "mcp_list_tools", "server_label": "s", "tools": [{"name": "a", "input_schema": {"b": 1, "a": 2}}]}),
        json!({"type": "mcp_call", "name": "ask", "arguments": "{\"q\":1}", "server_label": "s", "output": long}),
        json!({"type": "mcp_call", "name": "ask", "arguments": "{\"q\":1}", "server_label": "s", "error": long}),
        json!({"type": "web_search_call", "action": {"type": "search", "query": "x"}, "status": "completed"}),
        json!({"type": "file_search_call", "queries": ["x"], "results": [{"text": long}]}),
        json!({"type": "code_interpreter_call", "code": long, "outputs": [{"type": "logs", "logs": long}]}),
        json!({"type": "image_generation_call", "revised_prompt": "x", "result": "aGk="}),
        json!({"type": "mcp_approval_request", "name": "ask", "arguments": "{}", "server_label": "s"}),
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": long}]}),
        json!({"type": "something_else", "value": 1}),
    ];
    let blocks = json!([{"type": "server_tool_use", "id": "srv_1", "name": "code_execution", "input": {"code": long}},
        {"type": "code_execution_tool_result", "tool_use_id": "srv_1", "content":
            {"type": "code_execution_result", "stdout": long, "stderr": "", "return_code": 0, "content": []}}]);
    let claude = json!({"role": "assistant", "content": blocks});
    let mut cases = vec![(Anthropic, vec![user("a"), claude.clone(), claude, user("b")])];
    for kind in kinds {
        let mut named = kind.clone();
        named["id"] = json!("it_1");
        cases.push((Responses, vec![user("a"), kind.clone(), kind.clone(), user("b"), kind]));
        cases.push((Responses, vec![user("a"), named.clone(), user("b"), named]));
    }
    for (format, items) in cases {
        for cut in 0..=items.len() {
            let found = aligned((format, json!(items[..cut])), (format, json!(items)));
            assert_eq!(found, (cut, cut, 0), "{} of {items:?}", cut);
        }
    }
}

/// Steps of tasks and answers, and what a context of them may show.
fn numbered(stored: &Value, chapters: &[(&str, Vec<std::ops::Range<usize>>)], posted: &Value) -> (usize, usize) {
    let is_task = |said: &Said| matches!(said, Said::Message(message) if message.role == Role::User);
    let steps: Vec<ExpectedEntry> = said(Chat, stored)
        .into_iter()
        .map(|said| ExpectedEntry { is_task: is_task(&said), said, sizes: HashMap::new() })
        .collect();
    let standing = |(text, hides): &(&str, Vec<std::ops::Range<usize>>)| Standing {
        texts: vec![text.to_string()],
        hides: hides.clone(),
    };
    let shown = ShownBesides::new(chapters.iter().map(standing).collect(), true);
    let posted: Vec<Option<Said>> = said(Chat, posted).into_iter().map(Some).collect();
    let found = align(&steps, &posted, &shown);
    (found.matched, found.steps)
}

#[test]
fn numbers_before_tasks_are_not_said() {
    let answer = json!({"role": "assistant", "content": "[1] yes"});
    let picture =
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}]});
    let marked = json!({"role": "user", "content": [{"type": "text", "text": "[5]"}, picture["content"][0]]});
    let stored = json!([user("a"), answer, user("[7] b\nc"), answer, user(""), picture]);
    let posted = json!([user("[1] a"), answer, user("[3] [7] b\nc"), answer, user("[4] "), marked]);
    assert_eq!(numbered(&stored, &[], &posted), (6, 6));
    assert_eq!(numbered(&stored, &[], &stored), (6, 6));
    let said = |item: Value| numbered(&stored, &[], &json!([user("[2] a"), item]));
    assert_eq!(said(json!({"role": "assistant", "content": "[2] [1] yes"})), (1, 1), "only before tasks");
    assert_eq!(said(user("[2]")), (1, 1), "a number alone is new");
    assert_eq!(numbered(&json!([user("b\na")]), &[], &json!([user("b\n[1] a")])), (0, 0), "only at the beginning");
    assert_eq!(numbered(&json!([user("a")]), &[], &json!([user("[01] a")])), (0, 0));
    assert_eq!(numbered(&json!([user("a")]), &[], &json!([user("a"), user("[2]")])), (1, 1), "new");
}

#[test]
fn chapters_stand_for_what_they_hide() {
    let stored = json!([user("a"), user("b"), user("c"), user("d"), user("e"), user("c")]);
    let (one, both) = ("Chapter \"One\" (/chapters/one/)\n\nDone.", "Chapter \"Both\" (/chapters/both/)\n\nDone.");
    let chapters = [(one, std::iter::once(1..2).collect()), (both, [1..3, 4..5].into_iter().collect::<Vec<_>>())];
    let seen = |posted: Value| numbered(&stored, &chapters, &posted);
    let shown = |number: usize, text: &str| user(&format!("[{number}] {text}"));
    assert_eq!(seen(json!([shown(1, "a"), shown(2, one), shown(3, "c"), user("d")])), (4, 4));
    assert_eq!(seen(json!([user("a"), user(one), user("c"), user("d"), user("e"), user("c")])), (6, 6));
    let nested = json!([shown(1, "a"), shown(2, both), user("d"), shown(3, "c"), user("new")]);
    assert_eq!(seen(nested), (4, 6), "what it hides is not looked for again");
    assert_eq!(seen(json!([user("a"), user(both), user("d"), user("x")])), (3, 5), "what is hidden is not left behind");
    assert_eq!(seen(json!([user("a"), user("b"), user(one), user("c")])), (2, 2), "it was said");
    assert_eq!(seen(json!([user("a"), user("Chapter \"One\" (/chapters/one/)\n\nElse.")])), (1, 1));
}
