//! A first message that fills most of the window, a demonstration or a document, gives way to what was asked after it: it
//! stands by its beginning and its end, and what is handed out fits.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::settled;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn agent(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn filled(name: &str, lines: usize) -> String {
    (0..lines).map(|line| format!("{name} line {line}: the value of field {} is {}.\n", line * 3, line * 17)).collect()
}

async fn context(app: &App, session: &str) -> Value {
    settled(app, session).await;
    app.post(&format!("{session}/rebuild"), json!({"format": "openai_chat"})).await.expect(200)
}

fn texts(context: &Value) -> Vec<String> {
    let messages = context["messages"].as_array().unwrap();
    messages.iter().filter_map(|message| message["content"].as_str()).map(str::to_owned).collect()
}

async fn counted(app: &App, context: &Value) -> u64 {
    let body = json!({"format": "openai_chat", "items": context["messages"]});
    app.post("/v1/count", body).await.expect(200)["tokens"].as_u64().unwrap()
}

fn demonstration() -> String {
    format!("Here is how such a task is solved.\n{}Now it is your turn.", filled("demo", 300))
}

/// As agents write whose commands are text: what a command printed comes back in the user's name.
#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_gives_way_to_the_task() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 8_000}})).await;
    let task = format!("Solve this issue.\n{}The parser must read the address.", filled("issue", 30));
    let system = json!({"role": "system", "content": filled("rule", 60)});
    app.append(&session, "openai_chat", json!([system, user(&demonstration()), user(&task)])).await;
    for round in 0..4 {
        let step = [
            agent(&format!("I open file_{round}.java.")),
            user(&filled(&format!("file_{round}.java"), 40)),
            agent(&format!("I changed line {round} of it.")),
            user(&filled("found", 190)),
        ];
        app.append(&session, "openai_chat", json!(step)).await;
        let shown = context(app, &session).await;
        let tokens = counted(app, &shown).await;
        assert!(tokens <= 8_000, "round {round}: {tokens} tokens");
        let texts = texts(&shown);
        let first = texts.iter().find(|text| text.contains("Here is how such a task is solved.")).expect("it begins");
        assert!(first.contains("Now it is your turn."), "round {round}: its end: {first}");
        let all = texts.join("\n");
        assert!(all.contains("Solve this issue."), "round {round}: {all}");
        assert!(all.contains("The parser must read the address."), "round {round}: {all}");
    }
}

/// A document to talk about: whoever asks next about it has the question whole, and the context stays as it begins.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_cut_once() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 12_000}})).await;
    app.append(&session, "openai_chat", json!([user(&format!("Read this.\n{}", filled("page", 610)))])).await;
    let mut beginnings = Vec::new();
    for round in 0..5 {
        let items = [
            agent(&format!("Answer {round}. {}", filled("answer", 30))),
            user(&format!("Question {round}: what does it say of chapter {round}? {}", filled("quoted", 20))),
        ];
        app.append(&session, "openai_chat", json!(items)).await;
        let shown = context(app, &session).await;
        assert!(counted(app, &shown).await <= 12_000);
        let texts = texts(&shown);
        assert!(texts.last().unwrap().starts_with(&format!("Question {round}:")));
        if texts.iter().any(|text| text.contains("<context-summary>")) {
            beginnings.push(texts[0].clone());
        }
    }
    assert!(beginnings.len() > 1, "it was compacted");
    assert!(beginnings[0].starts_with("Read this.") && beginnings[0].len() < 8_000, "{}", beginnings[0].len());
    assert!(beginnings.iter().all(|first| *first == beginnings[0]), "the same at every turn");
}

/// A document of a third of the window, and later on a long message that has to stay whole: the document gives way to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_gives_way_to_a_long_question() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 12_000}})).await;
    app.append(&session, "openai_chat", json!([user(&format!("Read this.\n{}That was all.", filled("page", 230)))]))
        .await;
    for round in 0..4 {
        let items = [agent(&filled("answer", 60)), user(&format!("Question {round}: {}", filled("quoted", 10)))];
        app.append(&session, "openai_chat", json!(items)).await;
    }
    let question = format!("Why does it print this?\n{}Mend it.", filled("log", 430));
    app.append(&session, "openai_chat", json!([agent(&filled("answer", 20)), user(&question)])).await;
    let shown = context(app, &session).await;
    let tokens = counted(app, &shown).await;
    assert!(tokens <= 12_000, "{tokens} tokens");
    let texts = texts(&shown);
    assert_eq!(texts.last().unwrap(), &question);
    assert!(texts[0].starts_with("Read this.") && texts[0].contains("That was all."), "{}", texts[0]);
}

/// Results come in a user's message too where a provider wants it so; they can be cut, and the document stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_does_not_give_way_to_results() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 12_000}})).await;
    let document = format!("Read this.\n{}That was all.", filled("page", 170));
    app.append(&session, "anthropic", json!([user(&document)])).await;
    for round in 0..4 {
        let items = [agent(&filled("answer", 60)), user(&format!("Question {round}: {}", filled("quoted", 10)))];
        app.append(&session, "anthropic", json!(items)).await;
    }
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": filled("seen", 700)},
        {"type": "text", "text": "Mind the last line."}]);
    let items = json!([{"role": "assistant", "content": call}, {"role": "user", "content": result}]);
    app.append(&session, "anthropic", items).await;
    let shown = context(app, &session).await;
    let tokens = counted(app, &shown).await;
    assert!(tokens <= 12_000, "{tokens} tokens");
    let texts = texts(&shown);
    assert!(texts.iter().any(|text| text.contains("<context-summary>")), "it was compacted");
    assert_eq!(texts[0], document);
}

/// The only thing that was asked stays whole, however long it is.
#[tokio::test(flavor = "multi_thread")]
async fn the_only_request_is_not_cut() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 12_000}})).await;
    let request = format!("Sum this up.\n{}", filled("page", 300));
    app.append(&session, "openai_chat", json!([user(&request)])).await;
    for round in 0..6 {
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("c{round}"),
            "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": format!("c{round}"), "content": filled("seen", 40)});
        app.append(&session, "openai_chat", json!([call, result, agent("I look on.")])).await;
    }
    let shown = context(app, &session).await;
    assert_eq!(texts(&shown)[0], request);
    assert!(texts(&shown).iter().any(|text| text.contains("<context-summary>")));
}

/// What a client pinned stays as it was said.
#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_message_is_not_cut() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 12_000}})).await;
    let document = format!("Read this.\n{}", filled("page", 300));
    let stored = app.append(&session, "openai_chat", json!([user(&document)])).await;
    let id = stored["entries"][0]["id"].clone();
    app.patch(&session, json!({"settings": {"pinned_entry_ids": [id]}})).await.expect(200);
    for round in 0..4 {
        let items = [agent(&filled("answer", 40)), user(&format!("Question {round}?"))];
        app.append(&session, "openai_chat", json!(items)).await;
    }
    assert_eq!(texts(&context(app, &session).await)[0], document);
}
