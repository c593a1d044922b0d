//! What is handed out fits the window, or says which fixed part of it can't: on growing sessions, generated ones and
//! recorded ones, under every strategy.
//!
//! `CONTEXTD_FIT_CASES` raises the number of cases and makes every run a new one. Recorded sessions are played
//! beside the made-up ones where they are at hand.

mod forecast;
mod generate;
mod growing;
mod recipes;

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

use crate::corpus::{Recording, recordings};
use crate::pg::database;
use crate::queue_support::tenant;
use growing::Growing;

const SEED: u64 = 2027;
/// Of recorded sessions, a case takes one; those with less than this say nothing here.
const LEAST_ITEMS: usize = 12;

fn config(cases: u32) -> Config {
    let asked = std::env::var("CONTEXTD_FIT_CASES").ok().and_then(|text| text.parse().ok());
    Config {
        cases: asked.unwrap_or(cases),
        rng_seed: if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(SEED) },
        max_shrink_iters: 60,
        failure_persistence: None,
        ..Config::default()
    }
}

fn recorded() -> Vec<Recording> {
    let mut all = recordings();
    all.retain(|recording| recording.items.len() >= LEAST_ITEMS);
    all
}

#[test]
fn what_is_handed_out_fits_the_window() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pool = runtime.block_on(database());
    let recorded = recorded();
    let (contexts, excused) = (Cell::new(0_usize), Cell::new(0_usize));
    let mut runner = TestRunner::new(config(6));
    let outcome = runner.run(&generate::case(recorded.len()), |case| {
        let run = async {
            sqlx::query("DELETE FROM jobs").execute(&pool).await.unwrap();
            let mut growing = Growing::new(&pool, tenant(&pool).await, &case, &recorded).await;
            growing.play(&case).await;
            contexts.set(contexts.get() + growing.contexts);
            excused.set(excused.get() + growing.excused);
        };
        let Err(panic) = runtime.block_on(AssertUnwindSafe(run).catch_unwind()) else { return Ok(()) };
        Err(TestCaseError::fail(crate::invariants::message_of(panic.as_ref())))
    });
    println!("{} contexts, {} of them larger for a fixed part", contexts.get(), excused.get());
    runtime.block_on(pool.close());
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
