//! Rebuilding 200 entries of 1 KB beside reading the same 200 rows.

use std::time::Instant;

use tokio::task::JoinSet;

use crate::append::rate;
use crate::report::{Report, Round};
use crate::server::Server;
use crate::{Effort, Outcome, raw, transcript};

const ENTRIES: u64 = 200;
const FIRST_LIST: i64 = 2_000_000;
const REBUILD: &str = r#"{"format":"openai_chat"}"#;

pub async fn measure(server: &Server, effort: Effort, clients: &[usize], report: &mut Report) -> Outcome<()> {
    let most = clients.iter().copied().max().unwrap_or(1);
    let mut sessions = Vec::new();
    let (mut client, mut connection) = (server.client().await?, raw::connect(server).await?);
    for list in 0..most {
        let session = client.session(r#"{"enabled":false}"#).await?;
        client.post(&format!("{session}/entries"), &transcript::body(0, ENTRIES)).await?;
        for n in 0..ENTRIES {
            raw::insert(&mut connection, FIRST_LIST + list as i64, n as i64, &transcript::item(n)).await?;
        }
        let context = client.post(&format!("{session}/rebuild"), REBUILD).await?;
        let rebuilt = context["messages"].as_array().map_or(0, Vec::len);
        if rebuilt != ENTRIES as usize || raw::read(&mut connection, FIRST_LIST + list as i64).await?.len() != rebuilt {
            return Err(format!("{rebuilt} messages were rebuilt").into());
        }
        sessions.push(session);
    }
    for clients in clients {
        let sessions = &sessions[..*clients];
        let mut rounds: Vec<Round> = Vec::new();
        for round in 0..=effort.rounds {
            let ours = rebuilds(server, effort, sessions).await?;
            let raw = reads(server, effort, *clients).await?;
            if round > 0 {
                rounds.push((ours, raw));
            }
        }
        let what = format!("rebuild of {ENTRIES} entries, {clients} clients, beside reading the rows");
        report.compare(&what, "/s", &rounds, "≥ 0.6");
    }
    Ok(())
}

async fn rebuilds(server: &Server, effort: Effort, sessions: &[String]) -> Outcome<f64> {
    let mut ready = Vec::new();
    for session in sessions {
        let client = server.client().await?;
        let request = client.request(&format!("{session}/rebuild"), REBUILD);
        ready.push((client, request));
    }
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (mut client, request) in ready {
        running.spawn(async move {
            let mut count = 0_u64;
            while start.elapsed() < effort.window {
                client.send(&request).await?;
                count += 1;
            }
            Outcome::Ok(count)
        });
    }
    rate(running, start).await
}

async fn reads(server: &Server, effort: Effort, clients: usize) -> Outcome<f64> {
    let mut ready = Vec::new();
    for n in 0..clients {
        let mut connection = raw::connect(server).await?;
        let list = FIRST_LIST + n as i64;
        raw::read(&mut connection, list).await?;
        ready.push((connection, list));
    }
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (mut connection, list) in ready {
        running.spawn(async move {
            let mut count = 0_u64;
            while start.elapsed() < effort.window {
                raw::read(&mut connection, list).await?;
                count += 1;
            }
            Outcome::Ok(count)
        });
    }
    rate(running, start).await
}
