//! The real binary after real work: every family is there, in form, and nothing that a client made up is in it.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::http::StatusCode;
use contextd::service::core::clock::new_id;
use reqwest::Method;
use serde_json::{Value, json};

use super::Scrape;
use crate::app::App;
use crate::drill_support::{asking, compact, filled, id_of};
use crate::hook_support::{Receiver, Reply};
use crate::patience::eventually;
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Names, types and labels as operators' rules and boards have them: changed only with those.
const PROMISED: [(&str, &str, &str); 44] = [
    ("contextd_http_requests_total", "counter", "method route status"),
    ("contextd_http_request_duration_seconds", "histogram", "method route"),
    ("contextd_http_connections", "gauge", ""),
    ("contextd_http_connections_evicted_total", "counter", ""),
    ("contextd_appends_total", "counter", ""),
    ("contextd_entries_appended_total", "counter", ""),
    ("contextd_sessions", "gauge", "state"),
    ("contextd_context_tokens", "gauge", "state"),
    ("contextd_sessions_guard_tripped", "gauge", ""),
    ("contextd_figures_timestamp_seconds", "gauge", "figures"),
    ("contextd_queue_jobs", "gauge", "status"),
    ("contextd_queue_oldest_job_age_seconds", "gauge", ""),
    ("contextd_queue_attempts_total", "counter", "kind outcome"),
    ("contextd_queue_attempt_duration_seconds", "histogram", "kind"),
    ("contextd_queue_wait_seconds", "histogram", "kind"),
    ("contextd_queue_reaped_total", "counter", ""),
    ("contextd_compactions_total", "counter", "status strategy trigger"),
    ("contextd_compactions_skipped_total", "counter", "reason"),
    ("contextd_compaction_savings_ratio", "histogram", ""),
    ("contextd_compaction_wait_seconds", "histogram", "trigger"),
    ("contextd_compaction_duration_seconds", "histogram", ""),
    ("contextd_compaction_tokens_shed_total", "counter", ""),
    ("contextd_compaction_upstream_failures_total", "counter", "reason upstream"),
    ("contextd_compaction_fallbacks_total", "counter", "reason"),
    ("contextd_upstream_requests_total", "counter", "outcome upstream"),
    ("contextd_upstream_request_duration_seconds", "histogram", "upstream"),
    ("contextd_upstream_tokens_total", "counter", "direction upstream"),
    ("contextd_upstream_cost_usd_total", "counter", "upstream"),
    ("contextd_upstream_breaker_open", "gauge", "upstream"),
    ("contextd_hook_calls_total", "counter", "event outcome"),
    ("contextd_hook_call_duration_seconds", "histogram", "event"),
    ("contextd_proxy_requests_total", "counter", "outcome route"),
    ("contextd_event_streams", "gauge", ""),
    ("contextd_chapter_requests_total", "counter", ""),
    ("contextd_ui_csp_reports_total", "counter", ""),
    ("contextd_database_up", "gauge", ""),
    ("contextd_database_connections", "gauge", "state"),
    ("contextd_database_connections_max", "gauge", ""),
    ("contextd_build_info", "gauge", "version"),
    ("process_cpu_seconds_total", "counter", ""),
    ("process_resident_memory_bytes", "gauge", ""),
    ("process_open_fds", "gauge", ""),
    ("process_max_fds", "gauge", ""),
    ("process_start_time_seconds", "gauge", ""),
];

fn promised() -> impl Iterator<Item = (&'static str, &'static str, BTreeSet<String>)> {
    let labelled = |labels: &str| labels.split_whitespace().map(str::to_owned).collect();
    PROMISED.into_iter().map(move |(name, kind, labels)| (name, kind, labelled(labels)))
}

async fn scrape(app: &App) -> Scrape {
    let answer = app.get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    Scrape::read(&answer.text)
}

/// A provider that answers with a status of its own making.
async fn odd_provider() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(|| async { StatusCode::from_u16(799).unwrap() });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}/v1")
}

/// An instance with an upstream that answers, one that nobody is behind, and a provider.
async fn stage(good: &PlayedUpstream) -> (App, tempfile::NamedTempFile) {
    let provider = odd_provider().await;
    let config = format!(
        "[hooks]\nallow_private_networks = true\n[proxy]\nenabled = true\nopenai = {{ base_url = \"{provider}\" }}\n\
         [[upstreams]]\nname = \"good\"\nkind = \"openai\"\nmodel = \"played\"\nbase_url = \"{}\"\napi_key = \"sk-played\"\n\
         timeout_ms = 3600000\nprice_input_per_mtok = 3.0\nprice_output_per_mtok = 15.0\n\
         [[upstreams]]\nname = \"nobody\"\nkind = \"openai\"\nmodel = \"played\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         api_key = \"sk-played\"\nmax_retries = 0\n",
        good.base_url()
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), config).unwrap();
    (App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]), file)
}

/// Something of everything; the paths of the sessions that it made.
async fn work(app: &App) -> Vec<String> {
    let receiver = Receiver::start(Reply::Text(204, "")).await;
    receiver.register(app, &["after_compact"], json!({})).await;
    let summarised = filled(app, asking("good", "fail"), 30).await;
    let done = compact(app, &summarised, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let stood_in = filled(app, asking("nobody", "fallback"), 30).await;
    let done = compact(app, &stood_in, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(done["result"]["fallback"]["used"], true, "{done}");
    let small = filled(app, asking("good", "fail"), 1).await;
    assert_eq!(compact(app, &small, json!({})).await["status"], "skipped");
    receiver.wait_for(2).await;
    vec![summarised, stood_in, small]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_family_is_there_after_work_and_in_form() {
    let good = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _config) = stage(&good).await;
    let sessions = work(&app).await;
    let odd = app.get("/openai/v1/models").await;
    assert_eq!(odd.status, 799, "{}", odd.text);
    // What a client makes up.
    let made_up = format!("made-up-{}", new_id().simple());
    for (method, path) in [
        ("GET", format!("/{made_up}")),
        ("BREW", format!("/v1/sessions/{made_up}")),
        ("POST", format!("/v1/sessions/{}/{made_up}", id_of(&sessions[0]))),
        ("GET", format!("/v1/sessions/{made_up}/snapshot?{made_up}=1")),
        ("GET", format!("/openai/v1/{made_up}")),
        ("GET", format!("/ui/{made_up}")),
        ("GET", format!("/v1/sessions/{}/vfs/{made_up}", id_of(&sessions[0]))),
    ] {
        app.send(Method::from_bytes(method.as_bytes()).unwrap(), &path, &[("x-request-id", &made_up)], "").await;
    }
    let is_counted = async || {
        let found = scrape(&app).await;
        let counted = found.value("contextd_sessions", &[("state", "green")]);
        (counted == Some(3.0) && found.kinds.contains_key("contextd_queue_jobs")).then_some(found)
    };
    let found = eventually("all is counted", is_counted).await;
    assert_families(&found);
    assert_closed(&found, &[&made_up, "BREW", "799"], &sessions);
    assert_figures(&found);
}

fn assert_families(found: &Scrape) {
    let mut wrong = Vec::new();
    for (name, kind, labels) in promised() {
        if found.kinds.get(name).map(String::as_str) != Some(kind) || !found.helps.contains_key(name) {
            wrong.push(format!("{name}: {:?}, {:?}", found.kinds.get(name), found.helps.get(name)));
        } else if found.labels(name) != labels {
            wrong.push(format!("{name}: {:?}", found.labels(name)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let names: BTreeSet<&str> = promised().map(|(name, ..)| name).collect();
    for sample in &found.samples {
        let family = found.family(sample);
        assert!(names.contains(family.as_str()), "{family} is not promised");
        assert!(found.kinds.contains_key(&family) && found.helps.contains_key(&family), "{family} is not described");
        assert!(sample.value >= 0.0, "{sample:?}");
    }
    for (name, kind) in &found.kinds {
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} {kind}");
    }
}

/// No label holds what a client made up, nor an id.
fn assert_closed(found: &Scrape, made_up: &[&str], sessions: &[String]) {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (label, value) in found.samples.iter().flat_map(|sample| &sample.labels) {
        for text in made_up.iter().copied().chain(sessions.iter().map(|session| id_of(session))) {
            assert!(!value.contains(text), "{label}={value}");
        }
        values.entry(label).or_default().insert(value);
    }
    let of = |label: &str| values[label].clone();
    assert!(of("method").contains("other") && of("status").contains("other"), "{values:?}");
    assert!(of("route").iter().all(|route| route.starts_with('/') || *route == "unmatched" || !route.contains('/')));
    // A record is no call of a model, and nobody left a branch.
    assert_eq!(of("upstream"), BTreeSet::from(["good", "nobody"]));
    assert_eq!(of("direction"), BTreeSet::from(["cached", "input", "output"]));
    assert_eq!(of("figures"), BTreeSet::from(["queue", "sessions"]));
}

fn assert_figures(found: &Scrape) {
    let value = |name: &str, labels: &[(&str, &str)]| found.value(name, labels).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(value("contextd_appends_total", &[]), 3.0);
    assert_eq!(value("contextd_compactions_skipped_total", &[("reason", "nothing_to_compact")]), 1.0);
    let skipped = [("status", "skipped"), ("strategy", "auto"), ("trigger", "manual")];
    assert_eq!(value("contextd_compactions_total", &skipped), 1.0);
    assert_eq!(value("contextd_compaction_savings_ratio_count", &[]), 2.0);
    let ratio = value("contextd_compaction_savings_ratio_sum", &[]);
    assert!(ratio > 0.0 && ratio <= 2.0, "{ratio}");
    assert!(value("contextd_compaction_tokens_shed_total", &[]) > 0.0);
    assert_eq!(value("contextd_compaction_fallbacks_total", &[("reason", "connect")]), 1.0);
    assert_eq!(value("contextd_queue_attempts_total", &[("kind", "compact"), ("outcome", "done")]), 3.0);
    assert_eq!(value("contextd_queue_wait_seconds_count", &[("kind", "compact")]), 3.0);
    assert_eq!(value("contextd_upstream_breaker_open", &[("upstream", "good")]), 0.0);
    let tokens = |direction| value("contextd_upstream_tokens_total", &[("upstream", "good"), ("direction", direction)]);
    let cost = (tokens("input") * 3.0 + tokens("output") * 15.0) / 1e6;
    let told = value("contextd_upstream_cost_usd_total", &[("upstream", "good")]);
    assert!((told - cost).abs() < 1e-9 && told > 0.0, "{told} for {cost}");
    assert_eq!(found.value("contextd_upstream_cost_usd_total", &[("upstream", "nobody")]), None, "no price, no cost");
    assert_eq!(value("contextd_database_up", &[]), 1.0);
    assert_eq!(value("contextd_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_has_the_key_reads_it() {
    let url = crate::pg::url().await;
    let key = "a-key-of-the-operator";
    let keyed = crate::app::Keyed::start(&url, &[], &[("CONTEXTD_METRICS_KEY", key)]);
    let client = crate::app::client();
    let asked = async |authorization: Option<String>| {
        let request = client.get(format!("{}/metrics", keyed.base));
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let (status, kind) = (answer.status().as_u16(), answer.headers().get("content-type").cloned());
        (status, kind.unwrap().to_str().unwrap().to_owned(), answer.text().await.unwrap())
    };
    for wrong in [
        None,
        Some("Bearer ".to_owned()),
        Some(key.to_owned()),
        Some(format!("Bearer {key}x")),
        Some(format!("Bearer {}", &key[1..])),
        Some(format!("Basic {key}")),
    ] {
        let (status, kind, text) = asked(wrong.clone()).await;
        assert_eq!((status, kind.as_str()), (401, "application/problem+json"), "{wrong:?}: {text}");
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["code"], "unauthorized");
        assert!(!text.contains("contextd_") && !text.contains(key), "{text}");
    }
    let (status, _, text) = asked(Some(format!("Bearer {key}"))).await;
    assert!(status == 200 && text.contains("contextd_build_info"), "{text}");
    let health = client.get(format!("{}/healthz", keyed.base)).send().await.unwrap();
    assert_eq!(health.status(), 200, "probes need none");
}
