//! Long conversations of the published SDKs with something to know in every turn: after several compactions each of it is
//! in the context that the provider gets, or one call away.

use serde_json::{Value, json};

use super::{events, message, response, run};
use crate::drill_support::all;
use crate::proxy::provider::{Reply, Seen};
use crate::proxy::{CHAT, MESSAGES, RESPONSES, Stage};

const TURNS: usize = 24;
const WINDOW: usize = 4000;
const SETTINGS: &str = "context_window = 4000\nreserve_tokens = 400\nkeep_recent_tokens = 500\n";
/// So many of the user's last requests stand in the context itself; the others are found as facts are.
const NEWEST: usize = 5;
const RULES: [(usize, &str); 3] = [
    (2, "From now on never push to main without my approval."),
    (6, "Always write British spelling in comments."),
    (9, "No, I was wrong: use port 8443, not 8080."),
];

/// What is to be known of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fact {
    Request,
    /// What the user tells with it.
    Statement,
    /// What the agent finds without a tool.
    Finding,
    /// What the tool gives.
    Result,
}

const FACTS: [Fact; 4] = [Fact::Request, Fact::Statement, Fact::Finding, Fact::Result];

fn reads_file(turn: usize) -> bool {
    turn % 2 == 1
}

impl Fact {
    /// As it is said in this turn, and in no other.
    fn words(self, turn: usize) -> Option<String> {
        match self {
            Fact::Request => Some(format!("Question {turn}: what does src/module{turn}.ts export?")),
            Fact::Statement => Some(match turn % 4 {
                0 => format!("The ticket for it is PAY-{}.", 4100 + 37 * turn),
                1 => format!("Its owner has extension {}.", 61_000 + 113 * turn),
                2 => format!("It has to take {} requests a second.", 2_000 + 71 * turn),
                _ => format!("It went out with build {}-rc{turn}.", 90_100 + 19 * turn),
            }),
            Fact::Finding => (!reads_file(turn)).then(|| format!("I measured {} ms for its start.", 310 + 23 * turn)),
            Fact::Result => reads_file(turn).then(|| format!("export const limit{turn} = {};", 7919 * turn)),
        }
    }
}

/// What the user says, and what the tool gives; every third message has a long text behind it.
fn plan() -> Value {
    let turns = (0..TURNS).map(|turn| {
        let rule = RULES.iter().find(|(at, _)| *at == turn).map(|(_, rule)| format!(" {rule}")).unwrap_or_default();
        let pasted = if turn % 3 == 0 { " It was long ago.".repeat(60) } else { String::new() };
        let [request, statement, _, result] = FACTS.map(|fact| fact.words(turn));
        let text = format!("{} {}{rule}{pasted}", request.unwrap(), statement.unwrap());
        let rest = "// There is nothing else in it.\n".repeat(40);
        let result = result.map(|result| format!("// src/module{turn}.ts\n{result}\n{rest}"));
        json!({"text": text, "result": result, "stream": turn % 4 > 1})
    });
    turns.collect()
}

/// What the played model says to the newest message: for every other question it reads the file first.
fn answer(seen: &Seen) -> Reply {
    let body = seen.json();
    let streams = body["stream"] == true;
    let items = body.get("input").unwrap_or(&body["messages"]).as_array().unwrap();
    let newest = items.last().unwrap().to_string();
    let turn = newest.rsplit("src/module").next().and_then(|rest| rest.split(".ts").next()).unwrap();
    let turn: usize = turn.parse().unwrap_or_else(|_| panic!("{newest}"));
    let is_result = newest.contains("tool_call_id") || newest.contains("_output") || newest.contains("tool_result");
    let calls = (reads_file(turn) && !is_result).then(|| {
        let id = format!("call_{turn}");
        (id, json!({"path": format!("src/module{turn}.ts")}))
    });
    let finding = Fact::Finding.words(turn).unwrap_or_else(|| "That is in the file.".to_owned());
    let text = format!("I have looked at src/module{turn}.ts. {finding}{}", " Nothing else is to be said.".repeat(10));
    let input = tokens(&body);
    match seen.uri.split('?').next().unwrap() {
        "/v1/chat/completions" => by_chat(calls, &text, input, streams),
        "/v1/responses" => by_responses(calls, &text, input, streams),
        _ => by_messages(calls, &text, input, streams),
    }
}

fn by_chat(calls: Option<(String, Value)>, text: &str, input: usize, streams: bool) -> Reply {
    let (message, end) = match calls {
        None => (json!({"role": "assistant", "content": text}), "stop"),
        Some((id, arguments)) => {
            let function = json!({"name": "read", "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let usage = json!({"prompt_tokens": input, "completion_tokens": 3, "total_tokens": input + 3});
    let body = |object: &str, choices: Value| json!({"id": "chatcmpl-1", "object": object, "created": 1, "model": "gpt-5", "choices": choices});
    if streams {
        let chunk = |delta: Value, end: Value| {
            body("chat.completion.chunk", json!([{"index": 0, "delta": delta, "finish_reason": end}]))
        };
        let mut last = body("chat.completion.chunk", json!([]));
        last["usage"] = usage;
        return events(&[chunk(message, Value::Null), chunk(json!({}), json!(end)), last]);
    }
    let mut whole =
        body("chat.completion", json!([{"index": 0, "message": message, "finish_reason": end, "logprobs": null}]));
    whole["usage"] = usage;
    Reply::json(200, &whole)
}

fn by_responses(calls: Option<(String, Value)>, text: &str, input: usize, streams: bool) -> Reply {
    let item = match calls {
        None => {
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
        }
        Some((id, arguments)) => json!({"id": "fc_1", "type": "function_call", "call_id": id, "name": "read",
            "arguments": arguments.to_string(), "status": "completed"}),
    };
    let whole = response(input, "completed", json!([item]));
    if !streams {
        return Reply::json(200, &whole);
    }
    let item_event =
        |kind: &str, number: usize| json!({"type": kind, "sequence_number": number, "output_index": 0, "item": item});
    events(&[
        json!({"type": "response.created", "sequence_number": 0, "response": response(input, "in_progress", json!([]))}),
        item_event("response.output_item.added", 1),
        item_event("response.output_item.done", 2),
        json!({"type": "response.completed", "sequence_number": 3, "response": whole}),
    ])
}

fn by_messages(calls: Option<(String, Value)>, text: &str, input: usize, streams: bool) -> Reply {
    let (block, empty, delta, end) = match calls {
        None => (
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Some((id, arguments)) => (
            json!({"type": "tool_use", "id": id, "name": "read", "input": arguments}),
            json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
    };
    if !streams {
        let mut whole = message(input, json!([block]));
        whole["stop_reason"] = json!(end);
        return Reply::json(200, &whole);
    }
    events(&[
        json!({"type": "message_start", "message": message(input, json!([]))}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": end, "stop_sequence": null},
            "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ])
}

/// The texts in a body, as a model reads them.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        _ => String::new(),
    }
}

fn tokens(body: &Value) -> usize {
    texts(body).len() / 4
}

/// What a model's one call tells it: the result, by the id that its context shows, else a search for the turn's file.
async fn by_one_call(stage: &Stage, session: &str, fact: Fact, turn: usize, context: &str) -> String {
    let id = format!("call_{turn}");
    let shows_id = context.split(|at: char| !at.is_alphanumeric() && at != '_').any(|word| word == id);
    if fact == Fact::Result && shows_id {
        let recalled = stage.app.get(&format!("{session}/tool-calls/{id}")).await.expect(200);
        return recalled["result_text"].as_str().unwrap_or_default().to_owned();
    }
    let found = stage.app.get(&format!("{session}/search?q=src%2Fmodule{turn}.ts")).await.expect(200);
    found["items"].as_array().unwrap().iter().filter_map(|hit| hit["snippet"].as_str()).map(unmarked).collect()
}

/// A snippet without the marks around what was looked for.
fn unmarked(snippet: &str) -> String {
    snippet.replace("<mark>", "").replace("</mark>", "")
}

/// A conversation by each API, half of it streamed.
pub async fn converse(program: &str, script: &str) {
    let stage = Stage::set(SETTINGS, &[]).await;
    stage.provider.play(answer);
    let plan_file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(plan_file.path(), plan().to_string()).unwrap();
    run(&stage, program, script, &["converse", plan_file.path().to_str().unwrap()]).await;
    let seen = stage.provider.take();
    println!("{script:<36} facts  in the context  by one call  lost");
    let mut lost = Vec::new();
    for (path, name) in [(CHAT, "chat"), (RESPONSES, "responses"), (MESSAGES, "messages")] {
        let uri = path.split_once("/v1").unwrap().1;
        let sent: Vec<&Seen> = seen.iter().filter(|seen| seen.uri.ends_with(uri)).collect();
        assert_eq!(sent.len(), TURNS + TURNS / 2, "{path}");
        assert!(sent.iter().all(|seen| tokens(&seen.json()) <= WINDOW), "{path}: what is sent fits");
        lost.extend(lost_of(&stage, name, &texts(&sent.last().unwrap().json())).await);
    }
    assert!(lost.is_empty(), "{lost:?}");
}

/// What one conversation has lost, when its last context is this one.
async fn lost_of(stage: &Stage, name: &str, context: &str) -> Vec<String> {
    let sessions = all(&stage.app, &format!("/v1/sessions?external_id={name}")).await;
    let session = format!("/v1/sessions/{}", sessions[0]["id"].as_str().unwrap());
    let compactions = all(&stage.app, &format!("{session}/compactions")).await;
    let succeeded = compactions.iter().filter(|one| one["status"] == "succeeded").count();
    assert!(succeeded >= 3, "{name}: {compactions:?}");

    for (_, rule) in RULES {
        assert!(context.contains(rule), "{name}: {rule} is not in {context}");
    }
    for request in (TURNS - NEWEST..TURNS).filter_map(|turn| Fact::Request.words(turn)) {
        assert!(context.contains(&request), "{name}: {request} is not in {context}");
    }
    let kept = texts(&json!(all(&stage.app, &format!("{session}/entries")).await));
    let mut lost = Vec::new();
    for fact in FACTS {
        let (mut facts, mut here, mut away) = (0, 0, 0);
        for (turn, words) in (0..TURNS).filter_map(|turn| Some((turn, fact.words(turn)?))) {
            assert!(kept.contains(&words), "{name}: {words} is not in the session");
            facts += 1;
            if context.contains(&words) {
                here += 1;
            } else if by_one_call(stage, &session, fact, turn, context).await.contains(&words) {
                away += 1;
            } else {
                lost.push(format!("{name}: {words}"));
            }
        }
        let title = format!("{name}, {succeeded} compactions: {fact:?}");
        println!("{title:<36} {facts:>5}  {here:>14}  {away:>11}  {:>4}", facts - here - away);
    }
    lost
}
