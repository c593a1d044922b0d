//! Random edits of a posted history: what is handed out fits, the snapshot is of just that, and no edit compacts anew.
//!
//! `CONTEXTD_EDIT_CASES` raises the number of cases and makes every run a new one.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::carried::{Poster, message, place_of, said, shown};
use crate::app::App;
use crate::drill_support::all;

const SEED: u64 = 2028;
/// Small and larger windows; words that make a turn fill a like share of each.
const WINDOWS: [(u64, usize); 3] = [(6_000, 1), (12_000, 2), (24_000, 4)];

#[derive(Debug, Clone, Copy)]
enum Edit {
    Nothing,
    ReplaceLast,
    Change(usize),
    Drop(usize),
    Insert(usize),
    Duplicate(usize),
    Shorten(usize),
}

/// Tokens of an answer, about.
const ANSWER: u64 = 10;

/// What a client tells of the provider's usage.
#[derive(Debug, Clone, Copy)]
enum Telling {
    Nothing,
    Honest,
    /// Of the request before.
    Late,
    /// By this factor, in hundredths.
    Absurd(u64),
}

#[derive(Debug, Clone)]
struct Case {
    telling: Telling,
    /// Which of the windows.
    window: usize,
    turns: Vec<Turn>,
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    /// The words of what is asked, and with a call, of what the tool returned.
    words: usize,
    calls: bool,
    edit: Edit,
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..64_usize;
    prop_oneof![
        3 => Just(Edit::Nothing),
        4 => Just(Edit::ReplaceLast),
        2 => at.clone().prop_map(Edit::Change),
        1 => at.clone().prop_map(Edit::Drop),
        1 => at.clone().prop_map(Edit::Insert),
        1 => at.clone().prop_map(Edit::Duplicate),
        1 => (1..4_usize).prop_map(Edit::Shorten),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let telling = prop_oneof![
        2 => Just(Telling::Nothing),
        2 => Just(Telling::Honest),
        1 => Just(Telling::Late),
        1 => prop_oneof![Just(1), Just(20), Just(700), Just(30_000)].prop_map(Telling::Absurd),
    ];
    let turn = (prop_oneof![3 => 5..40_usize, 1 => 60..100_usize], any::<bool>(), edit());
    let turn = turn.prop_map(|(words, calls, edit)| Turn { words, calls, edit });
    let turns = proptest::collection::vec(turn, 6..16);
    (telling, 0..WINDOWS.len(), turns).prop_map(|(telling, window, turns)| Case { telling, window, turns })
}

/// Gives what the edit has added to the history.
fn edited(items: &mut Vec<Value>, edit: Edit, turn: usize) -> Option<Value> {
    let place = |at: usize, length: usize| at % length.max(1);
    let length = items.len();
    match edit {
        Edit::Nothing | Edit::ReplaceLast => None,
        Edit::Change(at) => {
            let item = &mut items[place(at, length)];
            let day = format!("Today is day {turn}. ");
            item["content"] = json!(format!("{day}{}", item["content"].as_str().unwrap_or_default()));
            Some(said(turn, &day))
        }
        Edit::Drop(at) => {
            items.remove(place(at, length));
            None
        }
        Edit::Insert(at) => {
            let new = said(turn, &format!("Put in with turn {turn}."));
            items.insert(place(at, length), new.clone());
            Some(new)
        }
        Edit::Duplicate(at) => {
            let again = items[place(at, length)].clone();
            items.insert(place(at, length), again.clone());
            Some(again)
        }
        Edit::Shorten(by) => {
            items.truncate(length.saturating_sub(by).max(1));
            None
        }
    }
}

fn words(turn: usize, count: usize) -> String {
    (0..count).map(|word| format!("t{turn}w{word} ")).collect()
}

/// A call of a tool, and what it returned.
fn called(turn: usize, count: usize) -> [Value; 2] {
    let id = format!("call_{turn}");
    let function = json!({"name": "read_file", "arguments": format!(r#"{{"path": "part{turn}.txt"}}"#)});
    let call = json!({"id": id, "type": "function", "function": function});
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": format!("Read: {}", words(turn, count))}),
    ]
}

/// A client that posts an edited history with every turn.
struct Played<'a> {
    poster: Poster<'a>,
    history: Vec<Value>,
    before: Option<Vec<Value>>,
    sent: u64,
    requests: usize,
    /// Requests behind which compactions landed, and how much had been posted by then.
    compacted: Vec<(usize, u64)>,
    posted: u64,
    /// Tokens of the message at the end that the next turn replaces.
    clock: u64,
}

/// What had been posted with the request before.
#[derive(Clone, Copy)]
struct Before {
    request: usize,
    posted: u64,
}

impl Played<'_> {
    fn usage(&self, telling: Telling, sent: u64) -> Option<Value> {
        let usage = |tokens: u64| json!({"prompt_tokens": tokens, "completion_tokens": ANSWER});
        match telling {
            Telling::Nothing => None,
            Telling::Honest => Some(usage(sent)),
            Telling::Late => Some(usage(self.sent)),
            Telling::Absurd(hundredths) => Some(usage((sent * hundredths / 100).max(1))),
        }
    }

    /// The user asks; the agent calls a tool in every other turn, and answers.
    async fn turn(&mut self, turn: usize, step: Turn, telling: Telling) {
        let asked = said(0, &format!("Turn {turn}, please: {}", words(turn, step.words)));
        self.history.push(asked.clone());
        let added = edited(&mut self.history, step.edit, turn);
        let more: Vec<Value> = added.into_iter().chain([asked]).collect();
        let clock = json!({"role": "user", "content": format!("It is {turn}:00. Go on.")});
        let tail = if matches!(step.edit, Edit::ReplaceLast) { vec![clock] } else { Vec::new() };
        self.request(&more, &tail, telling).await;
        if step.calls {
            let called = called(turn, step.words);
            self.history.extend_from_slice(&called);
            self.request(&called, &[], telling).await;
        }
        self.history.push(said(1, &format!("Done with {turn}.")));
    }

    /// Posts the history with what is `more` in it, and `tail` behind it, which the next request has no more.
    async fn request(&mut self, more: &[Value], tail: &[Value], telling: Telling) {
        let before = Before { request: self.requests, posted: self.posted + self.clock };
        self.requests += 1;
        self.posted += self.poster.count(&json!(more)).await + ANSWER;
        self.clock = if tail.is_empty() { 0 } else { self.poster.count(&json!(tail)).await };
        let sent = match &self.before {
            Some(context) => self.poster.count(&json!(context)).await,
            None => 0,
        };
        let usage = self.usage(telling, sent).filter(|_| sent > 0);
        self.sent = sent;
        let answer = self.poster.put(&[self.history.as_slice(), tail].concat(), usage).await;
        self.poster.agrees(&answer).await;
        if matches!(telling, Telling::Honest) {
            teaches_nothing_new(&answer["snapshot"], self.poster.window);
        }
        self.before = Some(shown(&answer));
        self.look(before, place_of(&answer["entries"][0]["id"])).await;
    }

    /// No compaction in the request behind another, nor before a tenth has come. A worker may carry one out between two
    /// requests: one that stands before the first entry that the request has added belongs to the one before.
    async fn look(&mut self, before: Before, first_entry: Option<u64>) {
        for place in self.poster.landed().await.into_iter().skip(self.compacted.len()) {
            let is_before = first_entry.is_some_and(|first| place < first);
            let now = (self.requests, self.posted + self.clock);
            self.compacted.push(if is_before { (before.request, before.posted) } else { now });
            if let [.., (first, grown), (second, posted)] = self.compacted.as_slice() {
                assert!(second - first > 1, "compacted at {first} and {second}");
                // A tenth of the usable window.
                let tenth = self.poster.window * 3 / 4 / 10;
                assert!(
                    posted - grown >= tenth,
                    "compacted at {first} and {second}, after {} tokens more",
                    posted - grown
                );
            }
        }
    }
}

/// A provider that counts as we do teaches no factor, and nothing beside what is posted but what a replaced message makes of
/// the account.
fn teaches_nothing_new(snapshot: &Value, window: u64) {
    let (factor, unposted) = (snapshot["calibration"].as_f64(), snapshot["breakdown"]["unposted"].as_u64());
    let is_so =
        factor.is_some_and(|factor| (factor - 1.0).abs() < 0.1) && unposted.is_none_or(|tokens| tokens <= window / 50);
    assert!(is_so, "{snapshot}");
}

/// What is told, where usage that can't be true is judged by the service.
fn told(telling: Telling, judged: bool) -> Telling {
    match telling {
        Telling::Late | Telling::Absurd(_) if !judged => Telling::Honest,
        other => other,
    }
}

#[test]
fn a_history_that_is_edited_at_every_turn_keeps_its_compactions() {
    let asked = std::env::var("CONTEXTD_EDIT_CASES").ok().and_then(|text| text.parse().ok());
    let rng_seed = if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(SEED) };
    let config = Config {
        cases: asked.unwrap_or(12),
        rng_seed,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let app = App::shared();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = TestRunner::new(config).run(&case(), |case| {
        let run = async {
            let (window, factor) = WINDOWS[case.window];
            let history: Vec<Value> = (0..14 * factor).map(message).collect();
            let poster = Poster::new(app, window).await;
            let mut played = Played {
                poster,
                history,
                before: None,
                sent: 0,
                requests: 0,
                compacted: Vec::new(),
                posted: 0,
                clock: 0,
            };
            let snapshot = app.get(&format!("{}/snapshot", played.poster.session)).await.expect(200);
            let telling = told(case.telling, snapshot["breakdown"]["unposted"].is_number());
            for (turn, step) in case.turns.iter().enumerate() {
                let step = Turn { words: step.words * factor, ..*step };
                played.turn(turn, step, telling).await;
            }
            let entries = all(app, &format!("{}/entries?all=true", played.poster.session)).await;
            assert!(entries.len() >= played.history.len(), "nothing is lost");
        };
        let Err(panic) = runtime.block_on(AssertUnwindSafe(run).catch_unwind()) else { return Ok(()) };
        Err(TestCaseError::fail(crate::invariants::message_of(panic.as_ref())))
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
