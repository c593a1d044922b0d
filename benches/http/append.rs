//! Durable appends of one item, every client in a session (or list) of its own.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::cpu::CpuTime;
use crate::report::{Report, Round};
use crate::server::Server;
use crate::{Effort, Outcome, raw, transcript};

/// Between the sides: the database's processes of the one before end meanwhile, and cost the next one nothing.
const PAUSE: Duration = Duration::from_millis(200);

/// What one side did in one or more windows.
#[derive(Default)]
struct Done {
    requests: u64,
    cpu: CpuTime,
}

pub async fn measure(server: &Server, effort: Effort, clients: usize, report: &mut Report) -> Outcome<()> {
    let mut rounds: Vec<Round> = Vec::new();
    let (mut ours_done, mut raw_done) = (Done::default(), Done::default());
    for round in 0..=effort.rounds {
        let list = (round * clients) as i64 + if clients == 1 { 1_000_000 } else { 0 };
        let ours = appends(server, effort, clients, &mut ours_done).await?;
        let raw = inserts(server, effort, clients, list, &mut raw_done).await?;
        // The first round fills caches and is not counted.
        if round > 0 {
            rounds.push((ours, raw));
        } else {
            (ours_done, raw_done) = (Done::default(), Done::default());
        }
    }
    let what = format!("append of 1 KB, {clients} clients, beside single inserts");
    report.compare(&what, "/s", &rounds, "≥ 0.6, aim 0.8");
    let cost = |done: Done| done.cpu.per_request(done.requests).to_string();
    report.costs(&format!("processor time of that append, {clients} clients"), cost(ours_done), cost(raw_done));
    Ok(())
}

/// Appends per second.
async fn appends(server: &Server, effort: Effort, clients: usize, done: &mut Done) -> Outcome<f64> {
    let mut ready = Vec::new();
    for _ in 0..clients {
        let mut client = server.client().await?;
        let session = client.session(r#"{"enabled":false}"#).await?;
        ready.push((client, format!("{session}/entries")));
    }
    tokio::time::sleep(PAUSE).await;
    let before = server.cpu_time()?;
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (mut client, path) in ready {
        running.spawn(async move {
            let mut count = 0_u64;
            while start.elapsed() < effort.window {
                let request = client.request(&path, &transcript::body(count, count + 1));
                client.send(&request).await?;
                count += 1;
            }
            Outcome::Ok((count, client))
        });
    }
    finish(running, start, before, server, done).await
}

/// Inserts per second.
async fn inserts(server: &Server, effort: Effort, clients: usize, list: i64, done: &mut Done) -> Outcome<f64> {
    let mut ready = Vec::new();
    for n in 0..clients {
        let mut connection = raw::connect(server).await?;
        raw::insert(&mut connection, list + n as i64, -1, "").await?;
        ready.push((connection, list + n as i64));
    }
    tokio::time::sleep(PAUSE).await;
    let before = server.cpu_time()?;
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (mut connection, list) in ready {
        running.spawn(async move {
            let mut count = 0_u64;
            while start.elapsed() < effort.window {
                raw::insert(&mut connection, list, count as i64, &transcript::item(count)).await?;
                count += 1;
            }
            Outcome::Ok((count, connection))
        });
    }
    finish(running, start, before, server, done).await
}

/// The sum of what the clients did, per second. Their connections stay open until the time is read: a database process
/// that has ended can't be asked any more.
async fn finish<C: 'static>(
    mut running: JoinSet<Outcome<(u64, C)>>,
    start: Instant,
    before: CpuTime,
    server: &Server,
    done: &mut Done,
) -> Outcome<f64> {
    let (mut count, mut connections) = (0, Vec::new());
    while let Some(client) = running.join_next().await {
        let (requests, connection) = client??;
        count += requests;
        connections.push(connection);
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    done.requests += count;
    done.cpu += server.cpu_time()? - before;
    Ok(rate)
}

/// The sum of what the clients did, per second.
pub async fn rate(mut running: JoinSet<Outcome<u64>>, start: Instant) -> Outcome<f64> {
    let mut count = 0;
    while let Some(done) = running.join_next().await {
        count += done??;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
