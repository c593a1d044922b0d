//! Figures that agree: whatever becomes of a compaction and of its calls, `stats`, pages, command line, metrics, the
//! compactions' own figures and the rows of the calls add up to the same.

use std::collections::BTreeMap;
use std::process::Command;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::App;
use crate::drill_support::*;
use crate::metrics::Scrape;
use crate::patience::until;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const COMPACTIONS: usize = 200;
/// How many are at work at a time.
const TOGETHER: usize = 12;

/// Calls, errors, tokens in, cached, written to the cache, out, and billionths of a dollar: of one upstream.
type Sums = BTreeMap<String, [i64; 7]>;

fn nanos(usd: f64) -> i64 {
    (usd * 1e9).round() as i64
}

/// Of three calls one fails, each time in another way.
fn script() -> Vec<Behaviour> {
    let usage = json!({"prompt_tokens": 4_321, "completion_tokens": 321, "prompt_tokens_details": {"cached_tokens": 123, "cache_write_tokens": 45}});
    let faults = [
        Behaviour::Status(500, None),
        Behaviour::Status(429, Some("0".to_owned())),
        Behaviour::Held(SUMMARY.to_owned()),
        Behaviour::Drop,
        Behaviour::Refusal,
        Behaviour::Empty,
        Behaviour::Truncated,
        Behaviour::ToolCall,
        Behaviour::Malformed,
        Behaviour::WrongShape,
        Behaviour::Overflow,
        Behaviour::Quota,
        Behaviour::StatusBody(200, "{\"choices\":[{\"mess".to_owned()),
    ];
    let calls = (0..COMPACTIONS * 3).map(|n| match n % 3 {
        0 => Behaviour::Usage(usage.clone()),
        1 => Behaviour::good(),
        _ => faults[n / 3 % faults.len()].clone(),
    });
    calls.collect()
}

fn config(one: &PlayedUpstream, two: &PlayedUpstream, dead: &PlayedUpstream) -> tempfile::NamedTempFile {
    let part = |name: &str, upstream: &PlayedUpstream, more: &str| {
        format!(
            "[[upstreams]]\nname = \"{name}\"\nkind = \"openai\"\nbase_url = \"{}\"\nmodel = \"{name}-model\"\n\
             api_key = \"sk-played\"\ntimeout_ms = 3000\nretry_base_ms = 1\n{more}\n",
            upstream.base_url()
        )
    };
    let text = part(
        "one",
        one,
        "fallbacks = [\"two\"]\nmax_retries = 1\nprice_input_per_mtok = 0.0375\nprice_output_per_mtok = 0.15\n\
         price_cached_per_mtok = 0.009",
    ) + &part("two", two, "max_retries = 0\nprice_input_per_mtok = 1.1\nprice_output_per_mtok = 4.4")
        + &part("dead", dead, "max_retries = 0");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

/// An upstream with its calls, errors, tokens and money, in billionths of a dollar.
type UpstreamSums = (String, i64, i64, i64, i64, i64, i64, i64);

async fn of_rows(pool: &PgPool) -> Sums {
    let rows: Vec<UpstreamSums> = sqlx::query_as(
        "SELECT upstream, count(*), count(*) FILTER (WHERE outcome <> 'ok'), sum(input_tokens)::bigint,
            sum(cached_tokens)::bigint, sum(cache_write_tokens)::bigint, sum(output_tokens)::bigint,
            sum(nano_usd)::bigint
         FROM upstream_calls GROUP BY upstream",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    rows.into_iter().map(|(name, a, b, c, d, e, f, g)| (name, [a, b, c, d, e, f, g])).collect()
}

fn of_stats(stats: &Value) -> Sums {
    let one = |one: &Value| (one["name"].as_str().unwrap().to_owned(), own_figures(one));
    let upstreams = stats["upstreams"].as_array().unwrap();
    let sums: Sums = upstreams.iter().map(one).collect();
    assert_eq!(sums.len(), upstreams.len(), "an upstream has one row for each model: {stats}");
    sums
}

fn of_metrics(found: &Scrape, names: &[&str]) -> Sums {
    let one = |name: &&str| {
        let calls = |wanted: &dyn Fn(&str) -> bool| -> f64 {
            let is_own = |labels: &BTreeMap<String, String>| labels.get("upstream").is_some_and(|own| own == name);
            let samples = found.samples.iter().filter(|sample| sample.name == "contextd_upstream_requests_total");
            samples.filter(|one| is_own(&one.labels) && wanted(&one.labels["outcome"])).map(|one| one.value).sum()
        };
        let tokens = |direction: &str| {
            found
                .value("contextd_upstream_tokens_total", &[("upstream", *name), ("direction", direction)])
                .unwrap_or(0.0) as i64
        };
        let cost = found.value("contextd_upstream_cost_usd_total", &[("upstream", *name)]).unwrap_or(0.0);
        let (all, failed) = (calls(&|_| true) as i64, calls(&|outcome| outcome != "ok") as i64);
        let sums = [all, failed, tokens("input"), tokens("cached"), -1, tokens("output"), nanos(cost)];
        ((*name).to_owned(), sums)
    };
    names.iter().map(one).collect()
}

fn total(sums: &Sums) -> [i64; 7] {
    let mut total = [0; 7];
    for one in sums.values() {
        (0..7).for_each(|at| total[at] += one[at]);
    }
    total
}

fn own_figures(spent: &Value) -> [i64; 7] {
    let of = |name: &str| spent[name].as_i64().unwrap();
    let [a, b, c, d, e, f] =
        ["calls", "errors", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"].map(of);
    [a, b, c, d, e, f, nanos(spent["cost_usd"].as_f64().unwrap())]
}

/// One compaction, and now and then something else that asks a model.
async fn one(app: &App, n: usize) -> String {
    let upstream = if n.is_multiple_of(9) { "dead" } else { "one" };
    let mut settings = asking(upstream, if n.is_multiple_of(4) { "fail" } else { "fallback" });
    settings["strategy"] = json!("llm_summarize");
    let session = filled(app, settings, 8).await;
    match n % 20 {
        7 => {
            // Nobody waits for it any more.
            let started = app.post(&format!("{session}/compact"), json!({})).await.expect(202);
            let id = started["id"].as_str().unwrap();
            app.post(&format!("/v1/compactions/{id}/cancel"), json!({})).await.expect(200);
        }
        _ => drop(compact(app, &session, json!({})).await),
    }
    if n.is_multiple_of(25) {
        let root = all(app, &format!("{session}/entries")).await[3]["id"].clone();
        let body = json!({"target_id": root, "summarize": true, "wait": 60});
        let moved = app.post(&format!("{session}/navigate"), body).await;
        assert!([200, 409].contains(&moved.status), "{}", moved.text);
        let posted = json!({"format": "openai_chat", "items": turns(0..8, 120), "strategy": "llm_summarize", "settings": by_hand()});
        let answer = app.post("/v1/compact", posted).await;
        assert!([200, 409].contains(&answer.status), "{}", answer.text);
    }
    session
}

async fn stats(app: &App) -> Value {
    app.get("/v1/stats").await.expect(200)
}

/// What the command line prints.
fn printed(app: &App, args: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_contextd")).args(args).args(["--url", &app.url("")]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

async fn scrape(app: &App) -> Scrape {
    Scrape::read(&app.get("/metrics").await.text)
}

fn without_cache_writes(mut sums: Sums) -> Sums {
    sums.values_mut().for_each(|one| one[4] = -1);
    sums
}

#[tokio::test(flavor = "multi_thread")]
async fn all_figures_agree_whatever_fails() {
    let one_upstream = PlayedUpstream::start(Behaviour::Sequence(script(), Box::new(Behaviour::good()))).await;
    let two = PlayedUpstream::start(Behaviour::Sequence(script(), Box::new(Behaviour::good()))).await;
    let dead = PlayedUpstream::start(Behaviour::Status(503, None)).await;
    let file = config(&one_upstream, &two, &dead);
    let url = crate::pg::url().await;
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap()), ("DATABASE_URL", &url)]);
    let pool = PgPool::connect(&url).await.unwrap();
    let sessions: Vec<String> =
        stream::iter(0..COMPACTIONS).map(|n| one(&app, n)).buffer_unordered(TOGETHER).collect().await;
    until("nothing is at work", async || {
        let running: i64 = sqlx::query_scalar("SELECT count(*) FROM jobs WHERE status IN ('pending', 'running')")
            .fetch_one(&pool)
            .await
            .unwrap();
        running == 0
    })
    .await;
    // What was abandoned is written beside those who have gone on.
    until("every call has its row", async || {
        total(&of_metrics(&scrape(&app).await, &["one", "two", "dead"]))[0] == total(&of_rows(&pool).await)[0]
    })
    .await;

    let rows = of_rows(&pool).await;
    println!("{rows:?}");
    let asked = (one_upstream.calls() + two.calls() + dead.calls()) as i64;
    let abandoned = "SELECT count(*) FROM upstream_calls WHERE outcome = 'abandoned'";
    let abandoned: i64 = sqlx::query_scalar(abandoned).fetch_one(&pool).await.unwrap();
    // What was abandoned may not have come.
    let made = total(&rows)[0];
    assert!((asked..=asked + abandoned).contains(&made), "{made} rows, {asked} requests came, {abandoned} abandoned");
    assert!(rows["one"][1] * 6 > rows["one"][0], "a fifth of the calls or more fail: {rows:?}");
    assert!(rows["dead"][0] > 0 && rows["dead"][0] == rows["dead"][1], "it always fails, and shows: {rows:?}");
    let told = stats(&app).await;
    assert_eq!(of_stats(&told), rows, "stats");
    assert_eq!(nanos(told["savings"]["cost_usd"].as_f64().unwrap()), total(&rows)[6], "{told}");
    let series: i64 =
        told["series"].as_array().unwrap().iter().map(|one| nanos(one["cost_usd"].as_f64().unwrap())).sum();
    assert_eq!(series, total(&rows)[6], "{told}");
    assert_eq!(of_metrics(&scrape(&app).await, &["one", "two", "dead"]), without_cache_writes(rows.clone()), "metrics");

    // The compactions' own figures, and what no compaction is asked for.
    let compactions = all(&app, "/v1/compactions").await;
    assert!(compactions.len() >= COMPACTIONS, "{}", compactions.len());
    let mut own = [0; 7];
    for one in &compactions {
        let spent = own_figures(&one["spent"]);
        (0..7).for_each(|at| own[at] += spent[at]);
        if let Some(upstream) = one["result"]["upstream"].as_object() {
            assert_eq!(nanos(upstream["cost_usd"].as_f64().unwrap()), spent[6], "{one}");
            assert_eq!(upstream["calls"].as_i64().unwrap(), spent[0], "{one}");
        }
    }
    let beside: (i64, i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE outcome <> 'ok'), coalesce(sum(nano_usd), 0)::bigint
         FROM upstream_calls WHERE compaction_id IS NULL",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert!(beside.0 > 0, "branch summaries and transcripts that are not stored ask too");
    let summed = total(&rows);
    assert_eq!((own[0] + beside.0, own[1] + beside.1, own[6] + beside.2), (summed[0], summed[1], summed[6]));
    let failed = compactions.iter().filter(|one| one["status"] == "failed" && one["spent"]["calls"].as_i64() > Some(0));
    assert!(failed.count() > 0, "failed ones have figures");

    // The page and the command line show the same.
    let page = app.get("/ui?hours=24").await.text;
    for (name, sums) in &rows {
        assert!(page.contains(&format!("{name}-model")), "{name}: {page}");
        assert!(page.contains(&format!(">{}<", sums[0])), "{name} {sums:?}: {page}");
    }
    let json: Value = serde_json::from_str(&printed(&app, &["stats", "--json"])).unwrap();
    assert_eq!(of_stats(&json), rows, "contextd stats --json");
    let text = printed(&app, &["stats"]);
    assert!(text.contains(&format!("${:.4}", total(&rows)[6] as f64 / 1e9)), "{text}");

    // Erased by session; the days stay.
    for session in sessions.iter().take(COMPACTIONS / 2) {
        app.delete(session).await.expect(204);
    }
    until("their rows are gone", async || {
        let ids: Vec<uuid::Uuid> =
            sessions.iter().take(COMPACTIONS / 2).map(|path| id_of(path).parse().unwrap()).collect();
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM upstream_calls WHERE session_id = ANY ($1)")
            .bind(ids)
            .fetch_one(&pool)
            .await
            .unwrap();
        left == 0
    })
    .await;
    assert!(total(&of_rows(&pool).await)[0] < total(&rows)[0]);
    let after = stats(&app).await;
    assert_eq!(of_stats(&after), rows, "stats of a period do not shrink");
    assert_eq!(nanos(after["savings"]["cost_usd"].as_f64().unwrap()), total(&rows)[6]);
}

/// What the sessions' prompt caches lost is what their compactions say of it, added up.
#[tokio::test(flavor = "multi_thread")]
async fn what_prompt_caches_lost_adds_up() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let lines = "kind = \"openai\"\nmodel = \"played\"\nprice_input_per_mtok = 20.0\nprice_output_per_mtok = 80.0";
    let (app, _file) = crate::drill_model_faults::instance(&[("default", &upstream, lines)]);
    // Nobody has said what a token of the last one's model costs.
    for (model, count, strategy) in
        [("played", 20, "summarize"), ("played", 30, "llm_summarize"), ("nobody-knows", 20, "summarize")]
    {
        let session = app.session(json!({"settings": by_hand(), "model": model})).await;
        app.append(&session, "openai_chat", json!(turns(0..count, 120))).await;
        let done = compact(&app, &session, json!({"strategy": strategy})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
    }
    let compactions = all(&app, "/v1/compactions").await;
    let lost: Vec<f64> = compactions.iter().filter_map(|one| one["result"]["net"]["cache_cost_usd"].as_f64()).collect();
    assert!(lost.len() == 2 && lost.iter().all(|usd| *usd > 0.0), "{lost:?}");
    let sum: f64 = lost.iter().sum();
    // Between these the page and the command line write it alike.
    assert!((0.001..1.0).contains(&sum), "{lost:?}");
    let written = format!("${sum:.4}");

    let told = stats(&app).await;
    assert_eq!(nanos(told["savings"]["cache_cost_usd"].as_f64().unwrap()), nanos(sum), "{told}");
    let series = told["series"].as_array().unwrap().iter();
    let series: f64 = series.map(|one| one["cache_cost_usd"].as_f64().unwrap()).sum();
    assert_eq!(nanos(series), nanos(sum), "{told}");
    let page = app.get("/ui?hours=24").await.text;
    assert!(page.contains(&format!("prompt caches lost {written} besides")), "{written}: {page}");
    // All of it is of the last hour, which is one row of the table.
    assert!(page.contains(&format!(">{written}<")), "{written}: {page}");
    let json: Value = serde_json::from_str(&printed(&app, &["stats", "--json"])).unwrap();
    assert_eq!(nanos(json["savings"]["cache_cost_usd"].as_f64().unwrap()), nanos(sum), "{json}");
    let text = printed(&app, &["stats"]);
    assert!(text.contains(&format!("prompt caches lost {written},")), "{written}: {text}");
}

/// Written and waiting: neither running as others are, nor ended.
#[tokio::test(flavor = "multi_thread")]
async fn prepared_ones_are_told_apart() {
    let app = App::fresh(&[]);
    let settings =
        json!({"context_window": 12_000, "reserve_tokens": 2_000, "keep_recent_tokens": 1_000, "ahead_at": 0.5});
    let session = app.session(json!({"settings": settings})).await;
    let mut count = 0;
    let id = loop {
        let answer = app.append(&session, "openai_chat", json!(turns(count..count + 1, 120))).await;
        count += 1;
        if let Some(id) = answer["compaction"]["id"].as_str() {
            break id.to_owned();
        }
        assert!(count < 80);
    };
    until("it is prepared", async || {
        app.get(&format!("/v1/compactions/{id}")).await.expect(200)["prepared"] == json!(true)
    })
    .await;
    let listed = async |query: &str| -> Vec<String> {
        let found = app.get(&format!("/v1/compactions?{query}")).await.expect(200);
        found["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed("prepared=true").await, std::slice::from_ref(&id));
    assert_eq!(listed("status=running").await, std::slice::from_ref(&id));
    assert_eq!(listed("status=running&prepared=false").await, Vec::<String>::new());
    app.get("/v1/compactions?prepared=perhaps").await.assert_problem(422, "validation_failed");
    assert_eq!(stats(&app).await["compactions"]["prepared"], 1);
    let page = app.get("/ui/compactions?prepared=true").await.text;
    assert!(page.contains(&id) && page.contains("prepared"), "{page}");
    assert!(!app.get("/ui/compactions?prepared=false").await.text.contains(&id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handover_that_is_kept_is_in_the_lists() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let lines = "kind = \"openai\"\nmodel = \"played\"\nprice_input_per_mtok = 2.0\nprice_output_per_mtok = 8.0";
    let (app, _file) = crate::drill_model_faults::instance(&[("default", &upstream, lines)]);
    let said = |n: usize| {
        let answer = json!([{"type": "output_text", "text": format!("Renamed it. {}", "All of it works. ".repeat(60)), "annotations": []}]);
        [
            json!({"type": "message", "role": "user", "content": format!("Rename src/module_{n}.rs, ticket ABC-{n}.")}),
            json!({"type": "message", "role": "assistant", "id": format!("msg_{n}"), "status": "completed", "content": answer}),
        ]
    };
    let input: Vec<Value> = (0..40).flat_map(said).collect();
    let body = json!({"model": "gpt-4o", "input": input}).to_string();
    let headers = [("contextd-session", "handed-over")];
    app.send(reqwest::Method::POST, "/v1/responses/compact", &headers, body).await.expect(200);
    let listed = app.get("/v1/compactions").await.expect(200);
    let one = &listed["items"][0];
    assert_eq!((&one["status"], &one["trigger"]), (&json!("succeeded"), &json!("manual")), "{listed}");
    let told = stats(&app).await;
    assert_eq!(one["spent"]["calls"].as_u64(), Some(upstream.calls() as u64), "{one}");
    assert_eq!(one["spent"]["cost_usd"], told["savings"]["cost_usd"], "{one} {told}");
    assert!(one["spent"]["cost_usd"].as_f64().unwrap() > 0.0, "{one}");
    let session = one["session_id"].as_str().unwrap();
    let entry =
        app.get(&format!("/v1/sessions/{session}/entries/{}", one["result"]["entry_id"].as_str().unwrap())).await;
    assert_eq!(entry.expect(200)["type"], "compaction");
}

/// Whoever is asked tells what any process has met.
#[tokio::test(flavor = "multi_thread")]
async fn the_breaker_of_another_process_is_told() {
    let dead = PlayedUpstream::start(Behaviour::Status(503, None)).await;
    let url = crate::pg::url().await;
    let base = dead.base_url();
    let mut envs = upstream(&base, "1000");
    envs.push(("CONTEXTD_UPSTREAM_MAX_RETRIES", "0"));
    envs.push(("DATABASE_URL", &url));
    let (working, asked) = (App::fresh(&envs), App::fresh(&envs));
    let breaker = async || asked.get("/v1/upstreams?after=builtin").await.expect(200)["items"][0]["breaker"].clone();
    assert_eq!(breaker().await, json!({"state": "closed", "retry_after_ms": null}));
    // Either process may take the job; the transcript that is not stored is summarised by the one that has it.
    for _ in 0..6 {
        let posted = json!({"format": "openai_chat", "items": turns(0..30, 120), "strategy": "llm_summarize", "settings": by_hand()});
        working.post("/v1/compact", posted).await.expect(200);
    }
    let told = breaker().await;
    assert_eq!(told["state"], "open", "{told}");
    assert!(told["retry_after_ms"].as_u64().is_some_and(|rest| rest > 0 && rest <= 30_000), "{told}");
}

/// The built-in summariser stands in for nobody where nobody else was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_is_no_fallback() {
    let app = App::shared();
    for (settings, body) in [
        (by_hand(), json!({})),
        (by_hand(), json!({"strategy": "summarize"})),
        (asking("builtin", "fallback"), json!({"strategy": "llm_summarize"})),
    ] {
        let session = filled(app, settings, 20).await;
        let done = compact(app, &session, body).await;
        assert_eq!(done["result"]["upstream"]["name"], "builtin", "{done}");
        assert_eq!(done["result"]["fallback"]["used"], false, "{done}");
    }
    // The last resort as well.
    let session = app.session(json!({"settings": {"context_window": 10_000, "reserve_tokens": 2_000}})).await;
    let items = turns(0..1, 12_000);
    app.append(&session, "openai_chat", json!(items[..2])).await;
    app.append(&session, "openai_chat", json!(items[2..3])).await;
    context(app, &session, "openai_chat").await;
    let done = all(app, &format!("{session}/compactions")).await;
    let done = done.iter().find(|one| one["status"] == "succeeded").unwrap();
    assert_eq!(done["result"]["fallback"]["used"], false, "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_text_can_be_read_until_its_session_goes() {
    let refused = format!("I'm sorry, but I can't help with that. {}", "é".repeat(40_000));
    let upstream = PlayedUpstream::start(Behaviour::Good(refused.clone())).await;
    let lines = "kind = \"openai\"\nmodel = \"played\"";
    let (app, _file) = crate::drill_model_faults::instance(&[("default", &upstream, lines)]);
    let session = filled(&app, by_hand(), 20).await;
    let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    let id = done["id"].as_str().unwrap();
    let told = app.get(&format!("/v1/compactions/{id}/refused")).await.expect(200);
    assert_eq!(told["reason"], done["result"]["fallback"]["reason"], "{done}");
    let text = told["text"].as_str().unwrap();
    assert!(refused.starts_with(text) && text.len() <= 65_536 && text.len() > 65_000, "{}", text.len());
    assert_eq!(
        (&told["truncated"], &told["model"], &told["upstream"]),
        (&json!(true), &json!("played"), &json!("default"))
    );
    let page = app.get(&format!("/ui/compactions/{id}")).await.text;
    assert!(page.contains(&format!("/ui/compactions/{id}/refused")), "{page}");
    assert!(app.get(&format!("/ui/compactions/{id}/refused")).await.text.contains("help with that"));

    // Nothing was refused, nothing is there, nothing is left of what was erased.
    upstream.play(Behaviour::good());
    let other = filled(&app, by_hand(), 20).await;
    let fine = compact(&app, &other, json!({"strategy": "llm_summarize"})).await;
    let path = format!("/v1/compactions/{}/refused", fine["id"].as_str().unwrap());
    app.get(&path).await.assert_problem(404, "not_found");
    app.get(&format!("/v1/compactions/{}/refused", id_of(&other))).await.assert_problem(404, "not_found");
    app.delete(&session).await.expect(204);
    app.get(&format!("/v1/compactions/{id}/refused")).await.assert_problem(404, "not_found");
}
