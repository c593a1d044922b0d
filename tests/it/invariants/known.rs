//! Cases that failed once, by hand: they outlive changes of what is generated.

use contextd::domain::model::format::Format;
use serde_json::json;

use super::generate::{Appending, Case, Change, Operation, Turn};
use super::play;
use super::world::World;
use crate::pg::database;
use crate::queue_support::tenant;

fn say(turns: usize, words: usize) -> Operation {
    let text = "keep the tests green and look at the parser. ".repeat(words / 9 + 1);
    let turn = Turn { user: Some(text.clone()), answer: Some(text), ..Turn::default() };
    append(vec![turn; turns])
}

fn append(turns: Vec<Turn>) -> Operation {
    Operation::Append(Appending { format: Format::OpenaiChat, turns, pretty: false, under: None, usage: None })
}

fn enable(enabled: bool) -> Change {
    Change::Setting("enabled", json!(enabled))
}

/// Plays the operations on a session of 6000 tokens that is not compacted before it is enabled.
async fn hold(operations: Vec<Operation>) -> World {
    let pool = database().await;
    let case = Case { system: None, settings: vec![enable(false)], operations };
    let mut world = World::new(&pool, tenant(&pool).await, &case).await;
    play(&mut world, &case).await;
    world
}

#[tokio::test]
async fn a_fork_that_was_left_at_a_full_place_is_made_to_fit_when_it_is_looked_at() {
    let fork = Operation::Fork { at: Some(59), go_on: false };
    let world = hold(vec![say(30, 120), Operation::Set(enable(true)), fork]).await;
    assert_eq!(world.compactions_done, 2);
}

#[tokio::test]
async fn a_context_that_cannot_be_made_to_fit_leaves_no_job() {
    let turn = Turn { user: Some("keep the tests green. ".repeat(2_000)), ..Turn::default() };
    let world = hold(vec![append(vec![turn]), Operation::Set(enable(true)), Operation::Revert]).await;
    assert_eq!(world.compactions_done, 0);
}

#[tokio::test]
async fn a_closed_chapter_lets_a_reverted_context_be_made_to_fit_again() {
    let close = Operation::Close { from: 0, count: 1 };
    let world = hold(vec![say(30, 240), Operation::Set(enable(true)), Operation::Revert, close]).await;
    assert_eq!(world.compactions_done, 3);
}
