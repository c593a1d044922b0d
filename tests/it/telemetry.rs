//! What the real binary tells a collector: the tree of a compaction, the context in and out, and nothing of what was said.

mod canonical;
mod collector;
mod rolled_back;
mod rotel;
mod variables;

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{App, NEVER_MS};
use crate::drill_support::{by_hand, compact, id_of, turns};
use crate::hook_support::{Receiver, Reply};
use crate::played_upstream::{Behaviour, PlayedUpstream, USAGE};
use collector::{Collector, Span};

/// A client's context.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// Stands in transcripts, queries and paths, and nowhere else.
const CANARY: &str = "CANARY-q7f3";

/// An instance whose upstream fails once and then answers well, with a hook before it.
struct Stage {
    app: App,
    upstream: PlayedUpstream,
    hook: Receiver,
    _config: tempfile::NamedTempFile,
}

impl Stage {
    async fn set(behaviour: Behaviour, envs: &[(&str, &str)], start: impl FnOnce(&[(&str, &str)]) -> App) -> Stage {
        let upstream = PlayedUpstream::start(behaviour).await;
        let config = tempfile::NamedTempFile::new().unwrap();
        let text = format!(
            "[hooks]\nallow_private_networks = true\n[[upstreams]]\nname = \"default\"\nkind = \"openai\"\n\
             model = \"played\"\nbase_url = \"{}\"\napi_key = \"sk-{CANARY}\"\ntimeout_ms = 3600000\nmax_retries = 1\n\
             retry_base_ms = 10\n",
            upstream.base_url()
        );
        std::fs::write(config.path(), text).unwrap();
        let path = config.path().to_str().unwrap();
        let all: Vec<(&str, &str)> = [("CONTEXTD_CONFIG", path)].into_iter().chain(envs.iter().copied()).collect();
        let app = start(&all);
        let hook = Receiver::start(Reply::Json(json!({}))).await;
        hook.register(&app, &["before_compact", "after_compact"], json!({})).await;
        Stage { app, upstream, hook, _config: config }
    }

    /// Before a collector, which is told at once.
    async fn told(collector: &Collector, behaviour: Behaviour, envs: &[(&str, &str)]) -> Stage {
        let url = collector.url();
        let all: Vec<(&str, &str)> = exporting(&url).into_iter().chain(envs.iter().copied()).collect();
        Stage::set(behaviour, &all, App::fresh).await
    }

    /// A session whose transcript has the canary in it.
    async fn filled(&self, mut settings: Value) -> String {
        settings["upstream"] = json!("default");
        let session = self.app.session(json!({"settings": settings, "title": CANARY})).await;
        let mut items = turns(0..20, 120);
        items[0]["content"] = json!(format!("{CANARY} {}", items[0]["content"].as_str().unwrap()));
        items[2]["content"] = json!(format!("{} {CANARY}", items[2]["content"].as_str().unwrap()));
        self.app.append(&session, "openai_chat", json!(items)).await;
        session
    }

    /// Compacts, as a client with a context and baggage asks for it.
    async fn compacted(&self, session: &str) -> Value {
        let headers = [("traceparent", PARENT), ("tracestate", "vendor=1,other=2"), ("baggage", "user=alice")];
        let body = json!({"strategy": "llm_summarize", "focus_topic": CANARY}).to_string();
        let queued = self.app.send(Method::POST, &format!("{session}/compact"), &headers, body).await.expect(202);
        crate::drill_support::ended(&self.app, &queued["id"]).await
    }
}

fn exporting(url: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "200"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", NEVER_MS),
    ]
}

fn fails_once() -> Behaviour {
    Behaviour::then_good([Behaviour::Status(500, None)])
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

fn header<'h>(headers: &'h reqwest::header::HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

fn traceparent(span: &Span) -> String {
    format!("00-{}-{}-01", span.trace, span.id)
}

/// The root of the job that carried a compaction out, once it has come.
async fn job_of(collector: &Collector, compaction: &Value) -> Span {
    let id = compaction["id"].clone();
    let is_job = move |span: &Span| span.name == "job compact" && span.attributes["contextd.compaction.id"] == id;
    collector.span("the job's span comes", is_job).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_a_tree_that_is_linked_to_its_request() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, fails_once(), &[]).await;
    let session = stage.filled(by_hand()).await;
    let done = stage.compacted(&session).await;
    assert_eq!(done["status"], "succeeded", "{done}");

    let job = job_of(&collector, &done).await;
    let request = collector.span("the request's span comes", |span| span.trace == TRACE).await;
    println!("{}{}", collector.tree(&request), collector.tree(&job));
    assert_eq!((request.name.as_str(), request.kind), ("POST /v1/sessions/{sid}/compact", "server"));
    assert_eq!((request.parent.as_str(), request.state.as_str()), ("00f067aa0ba902b7", "vendor=1,other=2"));
    for (name, value) in [
        ("http.request.method", json!("POST")),
        ("http.route", json!("/v1/sessions/{sid}/compact")),
        ("http.response.status_code", json!(202)),
        ("url.path", json!(format!("{session}/compact"))),
        ("url.scheme", json!("http")),
        ("gen_ai.conversation.id", json!(id_of(&session))),
    ] {
        assert_eq!(request.attributes[name], value, "{name}");
    }

    assert_eq!((job.kind, job.parent.as_str()), ("consumer", ""));
    assert_eq!(job.links, [(request.trace.clone(), request.id.clone())]);
    assert!(job.trace != request.trace && !job.is_error);
    assert!(job.attributes["contextd.job.queue_wait_ms"].as_i64().unwrap() >= 0);
    assert_eq!(
        (&job.attributes["contextd.job.attempt"], &job.attributes["contextd.job.outcome"]),
        (&json!(1), &json!("done"))
    );

    let below = collector.below(&job);
    let [compaction] = below.as_slice() else { panic!("{:?}", names(&below)) };
    assert_eq!((compaction.name.as_str(), compaction.kind), ("compaction", "internal"));
    let result = &done["result"];
    for (name, value) in [
        ("contextd.compaction.id", &done["id"]),
        ("contextd.compaction.trigger", &json!("manual")),
        ("contextd.compaction.strategy", &json!("llm_summarize")),
        ("contextd.compaction.outcome", &json!("succeeded")),
        ("contextd.compaction.tokens_before", &result["tokens_before"]),
        ("contextd.compaction.tokens_after", &result["tokens_after"]),
        ("contextd.compaction.calls", &json!(2)),
        ("gen_ai.conversation.id", &json!(id_of(&session))),
        ("gen_ai.conversation.compacted", &json!(true)),
    ] {
        assert_eq!(&compaction.attributes[name], value, "{name}");
    }
    let stages = collector.below(compaction);
    assert_eq!(names(&stages), ["plan", "read", "summarise", "commit"]);
    let calls = collector.below(&stages[2]);
    assert_eq!(names(&calls), ["chat played", "chat played"]);
    let asked = collector.below(&stages[0]);
    assert_eq!(names(&asked), ["POST"]);
    are_calls(&calls, &asked[0], id_of(&session));

    // The context went out with each call, and nothing of the client's baggage.
    let sent = stage.upstream.requests();
    assert_eq!(sent.len(), 2);
    for (request, span) in sent.iter().zip(&calls) {
        assert_eq!(header(&request.headers, "traceparent"), Some(traceparent(span).as_str()));
        assert_eq!((header(&request.headers, "baggage"), header(&request.headers, "tracestate")), (None, None));
    }
    let told = stage.hook.wait_for(2).await;
    assert_eq!(header(&told[0].headers, "traceparent"), Some(traceparent(&asked[0]).as_str()));
    let delivery = collector.span("the delivery's span comes", |span| span.name == "hook delivery").await;
    assert_eq!(delivery.links, [(job.trace.clone(), stages[3].id.clone())]);
    let posted = collector.below(&delivery);
    assert_eq!(header(&told[1].headers, "traceparent"), Some(traceparent(&posted[0]).as_str()));
    assert!(told.iter().all(|message| message.verified && header(&message.headers, "baggage").is_none()));
}

/// The first of two attempts failed.
#[track_caller]
fn are_calls(calls: &[Span], asked: &Span, session: &str) {
    for call in calls {
        assert_eq!(call.kind, "client");
        for (name, value) in [
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!("openai")),
            ("gen_ai.request.model", json!("played")),
            ("gen_ai.conversation.id", json!(session)),
            ("server.address", json!("127.0.0.1")),
        ] {
            assert_eq!(call.attributes[name], value, "{name}");
        }
        assert!(call.attributes["server.port"].as_u64().is_some());
    }
    let (failed, good) = (&calls[0], &calls[1]);
    assert!(failed.is_error && !good.is_error);
    assert_eq!(failed.attributes["error.type"], "server_error");
    assert_eq!(good.attributes["http.request.resend_count"], 1);
    let (input, output, cached) = USAGE;
    assert_eq!(good.attributes["gen_ai.usage.input_tokens"], input);
    assert_eq!(good.attributes["gen_ai.usage.output_tokens"], output);
    assert_eq!(good.attributes["gen_ai.usage.cache_read.input_tokens"], cached);
    assert_eq!(good.attributes["gen_ai.response.finish_reasons"], json!(["stop"]));
    assert_eq!((asked.kind, &asked.attributes["contextd.hook.event"]), ("client", &json!("before_compact")));
    assert_eq!(asked.attributes["http.response.status_code"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn model_calls_are_measured_by_the_conventions() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, fails_once(), &[]).await;
    let session = stage.filled(by_hand()).await;
    stage.compacted(&session).await;
    let (durations, tokens) = ("gen_ai.client.operation.duration", "gen_ai.client.token.usage");
    crate::patience::until("both histograms come", async || {
        collector.series(durations).len() == 2 && collector.series(tokens).len() == 2
    })
    .await;
    for series in collector.series(durations) {
        println!("{durations} {series:?}");
        assert_eq!((series.unit.as_str(), series.count), ("s", 1));
        assert_eq!((series.bounds.first(), series.bounds.last(), series.bounds.len()), (Some(&0.01), Some(&81.92), 14));
        assert_eq!(series.attributes["gen_ai.request.model"], "played");
    }
    let failed = collector.series(durations).into_iter().filter(|series| series.attributes.contains_key("error.type"));
    assert_eq!(failed.map(|series| series.attributes["error.type"].clone()).collect::<Vec<_>>(), ["server_error"]);
    let (input, output, _) = USAGE;
    let sums = collector.series(tokens).into_iter().map(|series| {
        assert_eq!((series.unit.as_str(), series.bounds.len()), ("{token}", 14));
        (series.attributes["gen_ai.token.type"].as_str().unwrap().to_owned(), series.sum as u64)
    });
    assert_eq!(sums.collect::<BTreeSet<_>>(), [("input".to_owned(), input), ("output".to_owned(), output)].into());
}

/// A failure of an upstream, a compaction that is skipped: told by words.
#[tokio::test(flavor = "multi_thread")]
async fn what_came_to_nothing_says_why() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, Behaviour::EchoError(500), &[]).await;
    let mut settings = by_hand();
    settings["on_upstream_failure"] = json!("fail");
    let session = stage.filled(settings).await;
    let failed = stage.compacted(&session).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let job = job_of(&collector, &failed).await;
    let compaction = collector.below(&job).remove(0);
    assert_eq!(compaction.attributes["error.type"], "server_error");
    assert_eq!(compaction.attributes["contextd.compaction.outcome"], "failed");
    assert!(compaction.is_error && !compaction.attributes.contains_key("gen_ai.conversation.compacted"));

    let empty = stage.app.session(json!({"settings": by_hand()})).await;
    let skipped = compact(&stage.app, &empty, json!({})).await;
    assert_eq!(skipped["status"], "skipped", "{skipped}");
    let job = job_of(&collector, &skipped).await;
    let compaction = collector.below(&job).remove(0);
    assert_eq!(compaction.attributes["contextd.compaction.skip_reason"], skipped["result"]["skip_reason"]);
    assert!(!compaction.is_error && !compaction.attributes.contains_key("gen_ai.conversation.compacted"));
}

/// Compactions that a request carries out or waits for are below it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_request_does_itself_is_below_it() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, Behaviour::good(), &[]).await;
    let app = &stage.app;

    let body = json!({"format": "openai_chat", "items": turns(0..20, 120), "strategy": "llm_summarize",
        "settings": {"context_window": 40_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1_500}});
    let compacted = app.post("/v1/compact", body).await.expect(200);
    let request = collector.span("stateless", |span| span.name == "POST /v1/compact").await;
    println!("{}", collector.tree(&request));
    let compaction = collector.below(&request).remove(0);
    assert_eq!(compaction.attributes["contextd.compaction.tokens_after"], compacted["result"]["tokens_after"]);
    let summarise = collector.below(&compaction).remove(0);
    assert_eq!(names(&collector.below(&summarise)), ["chat played"]);

    let settings = json!({"context_window": 8_000, "reserve_tokens": 1_000, "keep_recent_tokens": 1_000,
        "upstream": "default"});
    // Where no worker is, none is there first.
    let alone = Stage::told(&collector, Behaviour::good(), &[("CONTEXTD_ROLE", "api")]).await;
    let session = alone.app.session(json!({"settings": settings})).await;
    alone.app.append(&session, "openai_chat", json!(turns(0..40, 120))).await;
    alone.app.post(&format!("{session}/rebuild"), json!({"format": "openai_chat"})).await.expect(200);
    let id = json!(id_of(&session));
    let is_rebuild = move |span: &Span| {
        span.name == "POST /v1/sessions/{sid}/rebuild" && span.attributes.get("gen_ai.conversation.id") == Some(&id)
    };
    let request = collector.span("rebuild", is_rebuild).await;
    println!("{}", collector.tree(&request));
    let compaction = collector.below(&request).remove(0);
    assert_eq!(compaction.attributes["contextd.compaction.fallback_reason"], "window_full");
    assert_eq!(compaction.attributes["gen_ai.conversation.compacted"], true);
    assert_eq!(names(&collector.below(&compaction)), ["plan", "commit"]);

    let session = stage.filled(by_hand()).await;
    let done = compact(app, &session, json!({"strategy": "llm_summarize"})).await;
    let id = done["id"].clone();
    let waits =
        move |span: &Span| span.name == "wait for compaction" && span.attributes["contextd.compaction.id"] == id;
    let waited = collector.span("the wait", waits).await;
    let job = job_of(&collector, &done).await;
    assert_eq!(job.links, [(waited.trace, waited.parent)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_context_is_ignored() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, Behaviour::good(), &[]).await;
    for (at, bad) in [PARENT.to_uppercase(), format!("{PARENT}-x"), "nonsense".to_owned()].iter().enumerate() {
        let id = format!("malformed-{at}");
        let answer =
            stage.app.send(Method::GET, "/v1/sessions", &[("traceparent", bad), ("x-request-id", &id)], "").await;
        answer.expect(200);
        let span = collector.span(&id, |span| span.attributes.get("contextd.request.id") == Some(&json!(id))).await;
        assert_eq!((span.parent.as_str(), span.trace == TRACE), ("", false), "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_what_was_said_is_in_any_span() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, Behaviour::EchoError(500), &[]).await;
    let session = stage.filled(by_hand()).await;
    let done = stage.compacted(&session).await;
    let app = &stage.app;
    app.get(&format!("{session}/search?q={CANARY}")).await.expect(200);
    app.get(&format!("{session}/tool-calls/{CANARY}")).await.assert_problem(404, "not_found");
    app.get(&format!("{session}/vfs/{CANARY}.md")).await.assert_problem(404, "not_found");
    app.get(&format!("/ui/sessions?q={CANARY}")).await;
    app.get(&format!("/nowhere/{CANARY}")).await.assert_problem(404, "not_found");
    app.post("/v1/compact", json!({"format": "openai_chat", "items": [{"role": CANARY}]})).await;
    app.send(Method::GET, "/healthz", &[("x-request-id", "the-last")], "").await.expect(200);
    job_of(&collector, &done).await;
    collector.span("the last", |span| span.attributes.get("contextd.request.id") == Some(&json!("the-last"))).await;
    let spans = collector.spans();
    println!("{} spans", spans.len());
    for span in &spans {
        assert!(!format!("{span:?}").contains(CANARY), "{span:?}");
        assert_eq!(span.events, 0, "{span:?}");
    }
}

/// What a client sends goes on to those that are called, in the trace that is the client's.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_collector_the_context_goes_on_as_it_came() {
    let stage = Stage::set(Behaviour::good(), &[], App::fresh).await;
    let session = stage.filled(by_hand()).await;
    stage.compacted(&session).await;
    let sent = stage.upstream.requests().remove(0);
    let told = stage.hook.wait_for(2).await;
    for headers in [&sent.headers, &told[0].headers, &told[1].headers] {
        assert_eq!(header(headers, "traceparent"), Some(PARENT));
        assert_eq!(header(headers, "tracestate"), Some("vendor=1,other=2"));
        assert_eq!(header(headers, "baggage"), None);
    }
    let session = stage.filled(by_hand()).await;
    compact(&stage.app, &session, json!({"strategy": "llm_summarize"})).await;
    let sent = stage.upstream.requests().pop().unwrap();
    assert_eq!(header(&sent.headers, "traceparent"), None);
}
