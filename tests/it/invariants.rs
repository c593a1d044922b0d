//! The invariants of compaction on generated sessions, through the whole service on a real database.
//!
//! `CONTEXTD_INVARIANT_CASES` raises the number of cases. A case that fails is printed whole, made as small as
//! could be found, and its seed is kept in `invariants.proptest-regressions`.

mod chapters;
mod checkers;
mod checks;
mod generate;
mod items;
mod known;
mod races;
mod world;

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::time::Instant;

use futures::FutureExt;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestCaseError, TestRunner};

use crate::pg::database;
use crate::queue_support::tenant;
use generate::Case;
use world::{Effect, World};

const OPERATIONS: usize = 15;
const SEED: u64 = 2026;

thread_local! {
    /// Where this thread panicked last.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

fn note_panics() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PANICKED_AT.with_borrow_mut(|at| *at = place);
        report(info);
    }));
}

fn config(cases: u32) -> Config {
    let asked = std::env::var("CONTEXTD_INVARIANT_CASES").ok().and_then(|text| text.parse().ok());
    Config {
        cases: asked.unwrap_or(cases),
        // The plain run is the same every time; a hunt, with a number of cases asked for, is new every time.
        rng_seed: if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(SEED) },
        max_shrink_iters: 150,
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..Config::default()
    }
}

async fn play(world: &mut World, case: &Case) {
    world.check(Effect::Other, 0).await;
    for (step, operation) in case.operations.iter().enumerate() {
        let effect = world.apply(operation).await;
        world.check(effect, step + 1).await;
    }
    // Sessions that were left behind share history with the later ones.
    for session in 0..world.sessions.len() {
        world.current = session;
        world.work_off(Effect::Other).await;
        world.check(Effect::Other, session).await;
    }
}

#[test]
fn no_invariant_fails() {
    note_panics();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pool = runtime.block_on(database());
    let (cases, compactions) = (Cell::new(0_usize), Cell::new(0_usize));
    let (started, first) = (Instant::now(), RefCell::new(None::<String>));
    let mut runner = TestRunner::new(config(16));
    let outcome = runner.run(&generate::case(OPERATIONS), |case| {
        let run = async {
            // A case that failed leaves jobs behind.
            sqlx::query("DELETE FROM jobs").execute(&pool).await.unwrap();
            let mut world = World::new(&pool, tenant(&pool).await, &case).await;
            play(&mut world, &case).await;
            compactions.set(compactions.get() + world.compactions_done);
        };
        cases.set(cases.get() + 1);
        let Err(panic) = runtime.block_on(AssertUnwindSafe(run).catch_unwind()) else { return Ok(()) };
        let message = message_of(panic.as_ref());
        // A smaller case that fails elsewhere is another failure.
        let place = PANICKED_AT.with_borrow(String::clone);
        let same = *first.borrow_mut().get_or_insert_with(|| place.clone()) == place;
        if same { Err(TestCaseError::fail(message)) } else { Ok(()) }
    });
    println!("{} cases, {} compactions, {:?}", cases.get(), compactions.get(), started.elapsed());
    runtime.block_on(pool.close());
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

pub fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
