//! What a page may load and where it may send, and the reports of what it was kept from.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use metrics::counter;
use serde_json::Value;

use super::state::Ui;
use crate::families;

/// Reports are counted all, and logged so often.
const LOGGED_EACH: Duration = Duration::from_secs(1);

pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; report-uri /ui/csp-report";

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/csp-report", post(report))
}

/// Anybody may send one: nothing is done with it but to count it and to log a short line now and then.
async fn report(body: Bytes) -> StatusCode {
    static LOGGED: Mutex<Option<Instant>> = Mutex::new(None);
    counter!(families::UI_CSP_REPORTS).increment(1);
    let mut logged = LOGGED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if logged.is_none_or(|at| at.elapsed() >= LOGGED_EACH) {
        *logged = Some(Instant::now());
        let report: Value = serde_json::from_slice(&body).unwrap_or_default();
        // Addresses of pages hold what somebody searched for, and anybody may send anything.
        tracing::warn!(
            directive = directive(&report["csp-report"]["violated-directive"]),
            "a page was kept from something"
        );
    }
    StatusCode::NO_CONTENT
}

/// The first word, if it can be the name of a directive.
fn directive(value: &Value) -> &'static str {
    const KNOWN: [&str; 12] = [
        "base-uri",
        "connect-src",
        "default-src",
        "font-src",
        "form-action",
        "frame-ancestors",
        "frame-src",
        "img-src",
        "script-src",
        "script-src-elem",
        "style-src",
        "style-src-elem",
    ];
    let word = value.as_str().and_then(|text| text.split_whitespace().next()).unwrap_or_default();
    KNOWN.into_iter().find(|known| *known == word).unwrap_or("another")
}
