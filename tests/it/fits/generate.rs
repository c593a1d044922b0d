//! Growing sessions: how they are set, and what is appended in which bursts.

use contextd::domain::model::format::Format;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub struct Case {
    pub window: u32,
    pub settings: Value,
    /// Words of the system prompt.
    pub system: usize,
    /// A recorded session, by place; else one that is made up.
    pub recorded: Option<usize>,
    pub bursts: Vec<Burst>,
}

/// One append and what follows it.
#[derive(Debug, Clone)]
pub struct Burst {
    pub turns: Vec<Turn>,
    /// How many items of a recorded session.
    pub items: usize,
    /// The worker gets round to what is queued before the context is asked for, and after it.
    pub work: (bool, bool),
    pub format: Format,
    pub compact: bool,
}

/// Sizes are in percent of the window.
#[derive(Debug, Clone)]
pub struct Turn {
    pub system: Option<u32>,
    pub user: u32,
    pub calls: Vec<Call>,
    pub answer: Option<u32>,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub argument: u32,
    /// Many small values, of which none can be cut.
    pub is_list: bool,
    pub result: u32,
}

fn size() -> impl Strategy<Value = u32> {
    prop_oneof![10 => 0_u32..4, 6 => 4_u32..20, 2 => 20_u32..60, 1 => 60_u32..140]
}

fn call() -> impl Strategy<Value = Call> {
    let argument = prop_oneof![10 => Just(0_u32), 2 => 1_u32..10, 1 => 20_u32..55];
    (argument, any::<bool>(), size()).prop_map(|(argument, is_list, result)| Call { argument, is_list, result })
}

fn turn() -> impl Strategy<Value = Turn> {
    let system = option::weighted(0.15, prop_oneof![4 => 0_u32..4, 1 => 4_u32..12]);
    let user = prop_oneof![12 => 0_u32..3, 2 => 3_u32..30, 1 => 30_u32..120];
    let answer = option::weighted(0.8, prop_oneof![8 => 0_u32..5, 4 => 5_u32..20, 1 => 20_u32..60]);
    (system, user, vec(call(), 0..4), answer).prop_map(|(system, user, calls, answer)| Turn {
        system,
        user,
        calls,
        answer,
    })
}

fn burst() -> impl Strategy<Value = Burst> {
    let format = proptest::sample::select(Format::OF_CONTEXTS.to_vec());
    let work = (proptest::bool::weighted(0.7), proptest::bool::weighted(0.7));
    let items = prop_oneof![6 => 1_usize..8, 2 => 8_usize..60, 1 => 60_usize..400];
    (vec(turn(), 1..9), items, work, format, proptest::bool::weighted(0.08))
        .prop_map(|(turns, items, work, format, compact)| Burst { turns, items, work, format, compact })
}

fn settings() -> impl Strategy<Value = Value> {
    let strategies = ["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize", "llm_summarize"];
    let of = |name: &'static str, values: Value| {
        let values = values.as_array().unwrap().clone();
        option::weighted(0.25, proptest::sample::select(values)).prop_map(move |value| Some((name, value?)))
    };
    let strategy = proptest::sample::select(strategies.to_vec());
    let first = (
        of("reserve_tokens", json!([0, 1_000, 4_000])),
        of("keep_recent_tokens", json!([0, 1_000, 4_000, 20_000])),
        of("anchor_first_user", json!([false])),
        of("keep_recent_results", json!([0, 1, 10])),
        of("tool_prune_before_summarise", json!([false])),
        of("estimator", json!(["cl100k", "pi", "praison"])),
        of("preset", json!(["checkpoint", "harness", "chat"])),
    );
    let second = (
        of("preserve_recent", json!([0, 2, 20])),
        of("exclude_tools", json!([["read"]])),
        of("max_consecutive_low_savings", json!([0])),
        of("ahead_at", json!([null, 0.5])),
        of("red_at", json!([null, 0.95])),
        of("iterative", json!([false])),
        of("chaptering_trigger", json!([3_000])),
        of("pays_at", json!([0.0, 0.4])),
    );
    (strategy, first, second).prop_map(|(strategy, a, b)| {
        let mut settings = json!({"strategy": strategy});
        for (name, value) in
            [a.0, a.1, a.2, a.3, a.4, a.5, a.6, b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7].into_iter().flatten()
        {
            settings[name] = value;
        }
        settings
    })
}

pub fn case(recorded: usize) -> impl Strategy<Value = Case> {
    // Large windows take their time: they are for a hunt.
    let mut windows = vec![8_000_u32, 8_000, 8_000, 8_000, 12_000, 12_000, 24_000];
    if std::env::var_os("CONTEXTD_FIT_CASES").is_some() {
        windows.extend([24_000, 64_000]);
    }
    let window = proptest::sample::select(windows);
    // Where none are at hand, a place leads nowhere.
    let recorded = option::weighted(0.4, 0..recorded.max(1));
    (window, settings(), 0_usize..400, recorded, vec(burst(), 2..7))
        .prop_map(|(window, settings, system, recorded, bursts)| Case { window, settings, system, recorded, bursts })
}
