use serde_json::json;

use super::*;

fn read(route: Route, body: &str) -> Result<Conversation, Unkept> {
    Conversation::read(route, Bytes::from(body.to_owned()), Reading { max_depth: 64, answers: false })
}

fn raw(items: &[Value]) -> Vec<Box<RawValue>> {
    items.iter().map(|item| RawValue::from_string(item.to_string()).unwrap()).collect()
}

fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap()
}

#[test]
fn the_rest_of_a_body_stays_as_it_is() {
    let body = "{ \"model\" : \"m\", \"messages\": [ {\"role\": \"user\", \"content\": \"a\"} ],\n \"new\": 1.50e3, \
        \"tools\": [{}] }";
    let conversation = read(Route::ChatCompletions, body).unwrap();
    assert_eq!((conversation.model.as_deref(), conversation.items.len()), (Some("m"), 1));
    assert!(conversation.opening.has_tools && conversation.opening.hash.is_none());
    assert_eq!(text(&conversation.body), body);
    let changed = conversation.with_context(&raw(&[json!({"role": "user", "content": "b"})]), None);
    let due = body.replace("[ {\"role\": \"user\", \"content\": \"a\"} ]", r#"[{"role":"user","content":"b"}]"#);
    assert_eq!(text(&changed), due);
}

#[test]
fn a_system_prompt_is_changed_where_the_context_has_another() {
    let body = r#"{"system":"s","messages":[{"role":"user","content":"a"}]}"#;
    let system = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let messages = raw(&[json!({})]);
    let conversation = read(Route::Messages, body).unwrap();
    assert_eq!(
        text(&conversation.with_context(&messages, Some(&system(r#""s""#)))),
        r#"{"system":"s","messages":[{}]}"#
    );
    assert_eq!(text(&conversation.with_context(&messages, Some(&system("[]")))), r#"{"system":[],"messages":[{}]}"#);
    let bare = read(Route::Messages, r#"{"messages":[{"role":"user","content":"a"}]}"#).unwrap();
    assert_eq!(text(&bare.with_context(&messages, Some(&system("[]")))), r#"{"system":[],"messages":[{}]}"#);
}

#[test]
fn what_changes_with_every_request_is_not_stored() {
    let body = r#"{"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1"},{"type":"text","text":"s"}],
        "messages":[{"role":"user","content":"a"}]}"#;
    let conversation = read(Route::Messages, body).unwrap();
    let stored = conversation.transcript(None).system.unwrap().unwrap();
    assert_eq!(stored.get(), r#"[{"type":"text","text":"s"}]"#);
    assert!(text(&conversation.with_context(&raw(&[json!({})]), Some(&stored))).contains("cch=1"));
}

#[test]
fn a_system_prompt_among_the_items_is_the_clients_own() {
    let body = r#"{"messages":[{"role":"system","content":"It is noon."},{"role":"user","content":"a"}]}"#;
    let conversation = read(Route::ChatCompletions, body).unwrap();
    assert_eq!(conversation.items.len(), 1);
    let stored = conversation.transcript(None).system.unwrap().unwrap();
    assert_eq!(stored.get(), r#"[{"type":"text","text":"It is noon."}]"#);
    let changed = conversation.with_context(&raw(&[json!({"role": "user", "content": "b"})]), Some(&stored));
    assert_eq!(text(&changed), body.replace("\"a\"", "\"b\""));
    let input = r#"{"instructions":"i","input":[{"type":"message","role":"developer","content":"d"},
        {"type":"message","role":"user","content":"a"}]}"#;
    let stored = read(Route::Responses, input).unwrap().transcript(None).system.unwrap().unwrap();
    assert_eq!(stored.get(), r#"[{"type":"text","text":"i"},{"type":"text","text":"d"}]"#);
    assert!(read(Route::ChatCompletions, r#"{"messages":[{"role":"system","content":"s"}]}"#).is_err());
}

#[test]
fn a_text_is_a_message() {
    let conversation = read(Route::Responses, r#"{"input":"hello","instructions":"i"}"#).unwrap();
    assert_eq!(conversation.items[0].get(), r#"{"type":"message","role":"user","content":"hello"}"#);
    assert_eq!(conversation.transcript(None).system.unwrap().unwrap().get(), "\"i\"");
}

#[test]
fn what_the_provider_holds_is_left_to_it() {
    let reason = |body: &str| read(Route::Responses, body).unwrap_err();
    for body in [
        r#"{"input":"a","previous_response_id":"resp_1"}"#,
        r#"{"input":"a","conversation":"conv_1"}"#,
        r#"{"input":[{"type":"item_reference","id":"msg_1"}]}"#,
        r#"{"input":[{"id":"msg_1"}]}"#,
    ] {
        assert_eq!(reason(body), Unkept::Bypass(BypassReason::ServerState), "{body}");
    }
    let trigger = r#"{"input":[{"type":"compaction_trigger"}]}"#;
    assert_eq!(reason(trigger), Unkept::Bypass(BypassReason::ProviderCompaction));
    assert!(read(Route::Responses, r#"{"input":"a","previous_response_id":null}"#).is_ok());
}

#[test]
fn what_is_no_conversation_is_unreadable() {
    let deep = format!(r#"{{"messages":[{}1{}]}}"#, "[".repeat(70), "]".repeat(70));
    for body in
        ["", "{", "[]", "{}", r#"{"messages":[]}"#, r#"{"messages":"a"}"#, r#"{"messages":1,"messages":2}"#, &deep]
    {
        let unread = read(Route::ChatCompletions, body).unwrap_err();
        assert_eq!(unread, Unkept::Bypass(BypassReason::Unreadable), "{body}");
    }
    let body = Bytes::from_static(b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}");
    assert!(Conversation::read(Route::ChatCompletions, body, Reading { max_depth: 64, answers: false }).is_err());
}

#[test]
fn threads_begin_here_and_are_not_gone_on_with() {
    let create = r#"{"thread":{"type":"create"},"messages":[{"role":"user","content":"a"}]}"#;
    let conversation = read(Route::Messages, create).unwrap();
    assert_eq!(text(&conversation.body), r#"{"messages":[{"role":"user","content":"a"}]}"#);
    let on = r#"{"messages":[],"thread":{"type":"continue","previous_message_id":"msg_1"}}"#;
    assert_eq!(read(Route::Messages, on).unwrap_err(), Unkept::from(Refusal::ThreadUnsupportedRequest));
    assert!(read(Route::ChatCompletions, create).unwrap().body.len() == create.len());
}

#[test]
fn marks_stay_on_the_last_message() {
    let marked = |text: &str| {
        let mark = json!({"type": "ephemeral"});
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [
            {"type": "text", "text": text, "cache_control": mark}], "cache_control": mark});
        json!({"role": "user", "content": [result]})
    };
    let body = json!({"messages": [marked("a"), {"role": "assistant", "content": "b"}, marked("c")]}).to_string();
    let conversation = read(Route::Messages, &body).unwrap();
    let changed = conversation.with_context(&conversation.items.clone(), None);
    let changed: Value = serde_json::from_slice(&changed).unwrap();
    let plain = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}]});
    assert_eq!(changed["messages"][0]["content"][0], plain);
    assert_eq!(changed["messages"][2], marked("c"));
}

#[test]
fn conversations_are_told_apart_by_their_first_answer() {
    let opening = |items: Value| {
        let body = json!({"messages": items, "tools": [{"name": "read"}]}).to_string();
        read(Route::Messages, &body).unwrap().opening
    };
    let (user, answer) = (json!({"role": "user", "content": "go"}), json!({"role": "assistant", "content": "done"}));
    let other = json!({"role": "assistant", "content": "no"});
    let first = opening(json!([user]));
    let second = opening(json!([user, answer]));
    assert!(first.hash.is_none() && first.first.is_some() && first.first == second.first);
    assert_eq!(second.hash, opening(json!([user, answer, other])).hash);
    assert_ne!(second.hash, opening(json!([user, other])).hash);
    assert!(second.outweighs(&first) && !first.outweighs(&second) && second.is_work() && !first.is_work());
}
