//! What the proxy costs beside a direct call, in one run.
//!
//! `cargo test --release --test it proxy::overhead -- --ignored --nocapture`, on a machine with nothing else to do.

use std::time::{Duration, Instant};

use reqwest::Method;

use super::{CHAT, Stage, body, send};
use crate::drill_support::turns;

/// Words of a tool's result in each turn of a conversation, and its turns: each is asked for once directly and once
/// through the proxy.
const CONVERSATIONS: [(usize, usize); 2] = [(40, 200), (400, 100)];
/// Bodies are told apart by size: up to so many KiB.
const SIZES: [usize; 5] = [8, 32, 128, 256, 1024];

/// A request's body and what it took: directly, and through the proxy.
struct Measured {
    kib: usize,
    times: [Duration; 2],
}

fn percentile(times: impl Iterator<Item = Duration>, percent: usize) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
}

fn report(name: &str, all: &[&Measured]) {
    for percent in [50, 95] {
        let [direct, through] = [0, 1].map(|way| percentile(all.iter().map(|one| one.times[way]), percent));
        let more = through - direct;
        let count = all.len();
        println!(
            "{name:>14} ({count:>3}) p{percent}: direct {direct:.2} ms, through {through:.2} ms, {more:.2} ms more"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures: needs a machine with nothing else to do"]
async fn beside_a_direct_call() {
    let stage = Stage::plain().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let urls = [stage.provider.base_url() + "/chat/completions", stage.app.url(CHAT)];
    let mut measured = Vec::new();
    for (words, count) in CONVERSATIONS {
        let mut history = Vec::new();
        for n in 0..count {
            let turn = turns(n..n + 1, words);
            history.push(turn[0].clone());
            let body = body(CHAT, &history).to_string();
            let mut times = [Duration::ZERO; 2];
            for (time, url) in times.iter_mut().zip(&urls) {
                let name = format!("measured-{words}");
                let began = Instant::now();
                let got = send(&client, Method::POST, url, &[("contextd-session", &name)], body.clone()).await;
                *time = began.elapsed();
                assert_eq!((got.status, got.header("contextd-bypass")), (200, None));
            }
            measured.push(Measured { kib: body.len() >> 10, times });
            history.extend_from_slice(&turn[1..]);
            stage.provider.take();
        }
    }
    report("all", &measured.iter().collect::<Vec<_>>());
    let mut least = 0;
    for most in SIZES {
        let some: Vec<&Measured> = measured.iter().filter(|one| (least..most).contains(&one.kib)).collect();
        if !some.is_empty() {
            report(&format!("{least}-{most} KiB"), &some);
        }
        least = most;
    }
}
