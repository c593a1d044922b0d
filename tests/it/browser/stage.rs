//! A service with something to look at: sessions of several sizes, compactions over a day.

use reqwest::{Client, Method};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::{Keyed, NEVER_MS};
use crate::drill_support::turns;
use crate::pg;

const TITLES: [&str; 14] = [
    "Rename the billing importer's modules",
    "Flaky test in the queue: find the cause",
    "Migrate invoices to the new tax rules",
    "Support: refund for order 48213",
    "Write the release notes of 4.2",
    "Why is the nightly export slow?",
    "Upgrade the payment gateway's client",
    "Translate the onboarding mails",
    "Triage of Monday's incident",
    "Add rate limits to the public API",
    "Clean up unused feature flags",
    "Support: login fails after reset",
    "Draft of the data retention policy",
    "Port the parser to streaming",
];
const MODELS: [&str; 3] = ["claude-sonnet-4-5", "gpt-5.1", "gemini-2.5-pro"];

/// Without keys, over a database that the test can reach.
pub struct Stage {
    pub server: Keyed,
    pub pool: PgPool,
    client: Client,
}

impl Stage {
    pub async fn empty() -> Stage {
        Stage::with(&[]).await
    }

    /// With these environment variables.
    pub async fn with(envs: &[(&str, &str)]) -> Stage {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let database = pg::url().await;
        let pool = PgPool::connect(&database).await.unwrap();
        let envs: Vec<(&str, &str)> = envs.iter().copied().chain([("CONTEXTD_REQUEST_TIMEOUT_MS", NEVER_MS)]).collect();
        let server = Keyed::start(&database, &["--dev"], &envs);
        let client = Client::builder().pool_max_idle_per_host(0).no_proxy().build().unwrap();
        Stage { server, pool, client }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.base)
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> Value {
        let request = self.client.request(method, self.url(path)).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// A session with so many turns; its id.
    pub async fn session(&self, about: Value, count: usize) -> String {
        let made = self.send(Method::POST, "/v1/sessions", about).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let items = json!({"format": "openai_chat", "items": turns(0..count, 120)});
        self.send(Method::POST, &format!("/v1/sessions/{id}/entries"), items).await;
        id
    }

    /// As after a day of work.
    pub async fn filled() -> Stage {
        let stage = Stage::empty().await;
        for (at, title) in TITLES.iter().enumerate() {
            let settings = json!({"enabled": false, "context_window": 24_000, "reserve_tokens": 3_000, "keep_recent_tokens": 1_500});
            let about = json!({"title": title, "external_id": format!("job-{}", 3_100 + 17 * at),
                "model": MODELS[at % 3], "settings": settings});
            let id = stage.session(about, 4 + 4 * at).await;
            if at % 2 == 1 {
                let strategy = ["summarize", "mask", "truncate"][at / 2 % 3];
                let compact = json!({"strategy": strategy, "wait": 60, "force": true});
                stage.send(Method::POST, &format!("/v1/sessions/{id}/compact"), compact).await;
            }
        }
        stage.spread().await;
        stage
    }

    /// Compactions like those that there are, all over the last day, and sessions touched at different times.
    async fn spread(&self) {
        sqlx::query(
            "INSERT INTO compactions (tenant_id, id, session_id, status, trigger, strategy, request, attempts, error,
                result, created_at, started_at, finished_at, skip_reason, tokens_shed, calls_before, cost_usd, saved_usd,
                upstream, model, calls, failed, input_tokens, output_tokens, cached_tokens, latency_ms, snapshot_before,
                snapshot_after)
             SELECT tenant_id, (substr(at, 1, 8) || '-' || substr(at, 9) || '-7000-8000-' || lpad(to_hex(n * 100 + row), 12, '0'))::uuid,
                session_id,
                CASE WHEN n % 11 = 0 THEN 'failed' WHEN n % 5 = 0 THEN 'skipped' ELSE status END,
                CASE n % 3 WHEN 0 THEN 'auto' ELSE 'ahead' END, strategy, request, 1,
                CASE WHEN n % 11 = 0 THEN 'default: 503 after 3 attempts' END,
                CASE WHEN n % 5 = 0 OR n % 11 = 0 THEN NULL ELSE result END, finished_at - age, finished_at - age,
                finished_at - age + interval '1 millisecond' * (900 + (n * 6151 + row * 977) % 7000),
                CASE WHEN n % 5 = 0 AND n % 11 > 0 THEN (ARRAY['anti_thrash', 'low_savings', 'nothing_to_compact'])[1 + n % 3] END,
                CASE WHEN n % 5 = 0 OR n % 11 = 0 THEN 0 ELSE 4000 + (n * 7919) % 9000 END, 6 + n % 5, 0.004 * (n % 7),
                CASE WHEN n % 5 > 0 THEN 0.003 END,
                CASE n % 3 WHEN 0 THEN 'builtin' ELSE 'default' END, CASE WHEN n % 3 > 0 THEN 'claude-haiku-4-5' END,
                1, n % 13 = 0, 3000 + n * 10, 400 + n, 1400, 1500 + (n * 6151) % 7000, snapshot_before, snapshot_after
             FROM (SELECT *, row_number() OVER (ORDER BY id) AS row FROM compactions WHERE result IS NOT NULL) c,
                generate_series(1, 30) n, LATERAL (SELECT interval '1 minute' * ((n * 131 + row * 47) % 1400) AS age) a,
                LATERAL (SELECT lpad(to_hex((extract(epoch FROM finished_at - age) * 1000)::bigint), 12, '0') AS at) b",
        )
        .execute(&self.pool)
        .await
        .unwrap();
        let touched =
            "UPDATE sessions SET updated_at = updated_at - interval '1 minute' * (abs(hashtext(id::text)) % 400)";
        sqlx::query(touched).execute(&self.pool).await.unwrap();
    }
}
