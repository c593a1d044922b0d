//! Nobody gets out of a provider's base path, however the way out is spelt.

use reqwest::Method;

use super::{CHAT, Stage, client};
use crate::raw_http::RawConnection;

/// Ways out of the base path, behind `/openai/v1`.
const OUT: [&str; 40] = [
    "/../../../admin",
    "/..",
    "/../",
    "/.",
    "/./models",
    "/models/../../admin",
    "/models/..",
    "/models/../chat/completions",
    "/%2e%2e/%2e%2e/admin",
    "/%2E%2e/admin",
    "/.%2e/admin",
    "/%2e./admin",
    "/%2e/models",
    "/..\\admin",
    "/models\\..\\..\\admin",
    "/..%5cadmin",
    "/..%5Cadmin",
    "/..%2fadmin",
    "/..%2Fadmin",
    "/%2e%2e%2fadmin",
    "/%2e%2e%5cadmin",
    "/models%2f..%2f..%2fadmin",
    "/models%5c%2e%2e%5cadmin",
    "/%252e%252e/admin",
    "/%252E%252e%252Fadmin",
    "/%25252e%25252e/admin",
    "/..;/admin",
    "/..;x=1/admin",
    "/;/../admin",
    "/models;/../admin",
    "/%2e%2e;/admin",
    "/%2e%2e%3b/admin",
    "/.%09./admin",
    "/.%0a./admin",
    "/.%0D./admin",
    "/..%00/admin",
    "/models%00",
    "/%c0%ae%c0%ae/admin",
    "/%u002e%u002e/admin",
    "/%ff/models",
];

/// Paths that lead nowhere else, though they look odd.
const INSIDE: [&str; 8] = [
    "/models/a%2Fb",
    "/models/meta-llama%2FLlama-3.1-8B",
    "/models/ft%3Agpt-4o%3Aorg::id",
    "/models/...",
    "/models/..a/b..",
    "/files/%D0%BF%D1%80",
    "//models",
    "/models?after=../../x&path=%2e%2e%2f",
];

async fn ask(stage: &Stage, path: &str) -> (u16, usize) {
    let mut connection = RawConnection::open(&stage.app.url("")).await;
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-client\r\n\r\n");
    let status = connection.ask(head.as_bytes()).await.map_or(0, |answer| answer.status);
    (status, stage.provider.take().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_leads_out_of_the_base_path() {
    let stage = Stage::plain().await;
    for prefix in ["/openai/v1", "/anthropic/v1"] {
        let mut let_out = Vec::new();
        for path in OUT {
            let got = ask(&stage, &format!("{prefix}{path}")).await;
            if got != (400, 0) {
                let_out.push((path, got));
            }
        }
        assert!(let_out.is_empty(), "{} of {}: {let_out:?}", let_out.len(), OUT.len());
        for path in INSIDE {
            assert_eq!(ask(&stage, &format!("{prefix}{path}")).await, (200, 1), "{path}");
        }
    }
    // Raw control characters are not HTTP.
    for path in ["/openai/v1/.\t./admin", "/openai/v1/a\u{0}b", "/openai/v1/a\u{7f}"] {
        let got = ask(&stage, path).await;
        assert!(matches!(got, (0 | 400, 0)), "{path:?}: {got:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_not_posted_elsewhere_either() {
    let stage = Stage::plain().await;
    let mut connection = RawConnection::open(&stage.app.url("")).await;
    let head = format!("POST {CHAT}/../../admin HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}");
    let got = connection.ask(head.as_bytes()).await.unwrap();
    assert_eq!((got.status, stage.provider.take().len()), (400, 0));
    assert!(got.body.contains("\"path_refused\""), "{}", got.body);
    let got = super::send(&client(), Method::POST, &stage.app.url(CHAT), &[], "{}").await;
    assert_eq!(got.status, 200, "the door itself is open");
}
