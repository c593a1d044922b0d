//! What the proxy costs beside a direct call, in one run.
//!
//! `cargo test --release --test it proxy::overhead -- --ignored --nocapture`, on a machine with nothing else to do.

use std::time::{Duration, Instant};

use reqwest::Method;

use super::{CHAT, Stage, body, send};
use crate::drill_support::turns;

/// Turns of the conversation, each asked for once directly and once through the proxy.
const TURNS: usize = 200;

fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures: needs a machine with nothing else to do"]
async fn beside_a_direct_call() {
    let stage = Stage::plain().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let direct = stage.provider.base_url() + "/chat/completions";
    let through = stage.app.url(CHAT);
    let (mut times, mut history) = ([Vec::new(), Vec::new()], Vec::new());
    for n in 0..TURNS {
        let turn = turns(n..n + 1, 40);
        history.push(turn[0].clone());
        let body = body(CHAT, &history).to_string();
        for (times, url) in times.iter_mut().zip([&direct, &through]) {
            let began = Instant::now();
            let got = send(&client, Method::POST, url, &[("contextd-session", "measured")], body.clone()).await;
            times.push(began.elapsed());
            assert_eq!((got.status, got.header("contextd-bypass")), (200, None));
        }
        history.extend_from_slice(&turn[1..]);
        stage.provider.take();
    }
    let [direct, through] = times;
    for percent in [50, 95] {
        let (direct, through) = (percentile(&direct, percent), percentile(&through, percent));
        println!("p{percent}: direct {direct:.2} ms, through {through:.2} ms, {:.2} ms more", through - direct);
    }
}
