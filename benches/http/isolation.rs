//! What everybody else notices while one tenant does its worst: `/healthz` on a fresh connection each time, and appends
//! of another tenant, beside each load alone and all of them at once.

mod loads;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::long::milliseconds;
use crate::report::{Report, quantile};
use crate::server::Server;
use crate::{Outcome, transcript};
use loads::Stage;

/// How long each load is played, once it is under way.
const WINDOW: Duration = Duration::from_secs(5);
const HEAD_START: Duration = Duration::from_millis(500);
/// Clients of the other tenant.
const CLIENTS: usize = 4;
/// Between two probes of a client.
const PAUSE: Duration = Duration::from_millis(5);
/// A probe that takes longer counts as this.
const LONGEST: Duration = Duration::from_secs(10);

pub async fn measure(report: &mut Report) -> Outcome<()> {
    let server = Arc::new(Server::start_with_keys(&[]).await?);
    let keys = [server.make_key("loud")?, server.make_key("stalling")?];
    let good = server.make_key("quiet")?;
    let stage = Arc::new(Stage::set(Arc::clone(&server), keys).await?);
    for (name, numbers) in [
        ("nothing", &[][..]),
        ("A.1, 20 × files and prepare at 12,000 entries", &[1]),
        ("A.2, 300 half-sent requests and fifteen stalled bodies of 31 MB", &[2]),
        ("A.4, two sessions whose rows are held", &[4]),
        ("A.5, a forged 28 MB transcript, six messages of 29 MB, large pages", &[5]),
        ("all of them", &[1, 2, 4, 5]),
    ] {
        let mut load = JoinSet::new();
        for number in numbers {
            stage.play(*number, &mut load).await?;
        }
        sleep(HEAD_START).await;
        let (health, appends) = probe(&server, &good).await?;
        load.shutdown().await;
        let told = format!("`/healthz` {}; appends {}", spread(&health), spread(&appends));
        report.figure(&format!("beside {name}"), told, "p99 < 50 ms; < 100 ms");
        let memory = server.memory_mb()?;
        report.note(format!("beside {name}: {:.0} MB, at its peak so far {:.0} MB", memory.0, memory.1));
        let (done, refused) = stage.large_answers();
        report.note(format!("beside {name}: of the large requests {done} done, {refused} refused"));
    }
    drop(stage);
    match Arc::try_unwrap(server) {
        Ok(server) => server.stop().await,
        // Somebody of the load still has it; it ends with this process.
        Err(_) => Ok(()),
    }
}

/// Milliseconds of the probes of one window.
async fn probe(server: &Arc<Server>, key: &str) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let (health, appends) = (Arc::<Mutex<Vec<f64>>>::default(), Arc::<Mutex<Vec<f64>>>::default());
    let end = Instant::now() + WINDOW;
    let mut probes = JoinSet::new();
    let (of, to) = (Arc::clone(server), Arc::clone(&health));
    probes.spawn(async move {
        while Instant::now() < end {
            let start = Instant::now();
            let once = async { of.client().await?.get_status("/healthz").await };
            let done = timeout(LONGEST, once).await;
            note(&to, start, matches!(done, Ok(Ok(()))));
            sleep(PAUSE).await;
        }
    });
    for _ in 0..CLIENTS {
        let (of, to, key) = (Arc::clone(server), Arc::clone(&appends), key.to_owned());
        probes.spawn(async move {
            let mut session: Option<(Client, String)> = None;
            let mut n = 0;
            while Instant::now() < end {
                let start = Instant::now();
                let once = async {
                    if session.is_none() {
                        let mut client = of.client().await?.with_key(&key);
                        let path = client.session(r#"{"enabled":false}"#).await?;
                        session = Some((client, format!("{path}/entries")));
                    }
                    let Some((client, path)) = &mut session else { return Outcome::Ok(()) };
                    let request = client.request(path, &transcript::body(n, n + 1));
                    client.send(&request).await.map(|_| ())
                };
                let done = matches!(timeout(LONGEST, once).await, Ok(Ok(())));
                if !done {
                    // Its connection is not used again.
                    session = None;
                }
                note(&to, start, done);
                n += 1;
                sleep(PAUSE).await;
            }
        });
    }
    while let Some(done) = probes.join_next().await {
        done?;
    }
    let taken = |list: &Mutex<Vec<f64>>| std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((taken(&health), taken(&appends)))
}

/// A refusal counts as the longest wait.
fn note(times: &Mutex<Vec<f64>>, start: Instant, done: bool) {
    let taken = if done { milliseconds(start) } else { LONGEST.as_secs_f64() * 1000.0 };
    times.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
}

fn spread(times: &[f64]) -> String {
    let at = |share| quantile(times, share);
    format!("{:.1} / {:.1} / {:.1} ms (p50, p99, longest of {})", at(0.5), at(0.99), at(1.0), times.len())
}
