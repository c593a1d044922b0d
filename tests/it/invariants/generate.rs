//! Random sessions and what is done with them.

use std::fmt;

use contextd::domain::model::format::Format;
use contextd::domain::model::strategy::Strategy as How;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Stands for a summary larger than any context.
pub const HUGE: &str = "huge";

#[derive(Clone)]
pub struct Case {
    pub system: Option<String>,
    pub settings: Vec<Change>,
    pub operations: Vec<Operation>,
}

/// One line for each operation.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system {:?}, settings {:?}", self.system, self.settings)?;
        self.operations.iter().try_for_each(|operation| write!(f, "\n  {operation:?}"))
    }
}

#[derive(Debug, Clone)]
pub enum Operation {
    Append(Appending),
    /// Onto any entry, by place; 0 is before the first one.
    Navigate(u16),
    /// At any entry or the leaf, and whether to go on in the fork.
    Fork {
        at: Option<u16>,
        go_on: bool,
    },
    Compact {
        how: How,
        given: Option<String>,
    },
    Race {
        race: Race,
        meanwhile: Appending,
    },
    Set(Change),
    /// Tasks of the index, by place.
    Close {
        from: u8,
        count: u8,
    },
    Revert,
}

#[derive(Debug, Clone)]
pub struct Appending {
    pub format: Format,
    pub turns: Vec<Turn>,
    pub pretty: bool,
    /// Another parent than the leaf, by place.
    pub under: Option<u16>,
    pub usage: Option<u32>,
}

/// What happens between a compaction's begin and its commit.
#[derive(Debug, Clone, Copy)]
pub enum Race {
    Append,
    BegunTwice,
    Cancelled,
    Navigate(u16),
}

#[derive(Debug, Clone)]
pub enum Change {
    Setting(&'static str, Value),
    /// Pins what is at this place of the view.
    Pin(u16),
    Unpin,
}

#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub system: bool,
    pub user: Option<String>,
    pub image: bool,
    pub rounds: Vec<Round>,
    pub answer: Option<String>,
    pub metadata: bool,
}

#[derive(Debug, Clone)]
pub struct Round {
    pub thinking: bool,
    pub text: Option<String>,
    pub server: bool,
    pub calls: Vec<Call>,
    /// Each call in a message of its own.
    pub split: bool,
    pub one_by_one: bool,
    pub backwards: bool,
    pub mixed: bool,
    pub orphan: bool,
    pub interrupted: bool,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub tool: u8,
    pub id: Id,
    pub argument: String,
    pub answer: Answer,
}

#[derive(Debug, Clone)]
pub enum Id {
    Fresh,
    Shared,
    Missing,
}

#[derive(Debug, Clone)]
pub enum Answer {
    Ok(String),
    Error(String),
    Twice(String),
    Never,
}

fn rarely(one_in: u32) -> impl Strategy<Value = bool> {
    proptest::bool::weighted(1.0 / f64::from(one_in))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z]{1,8}( [a-z]{1,8}){0,12}",
        2 => (1usize..60).prop_map(|n| "look at src/parser.rs:42 and keep https://ci.example/run/77 green. ".repeat(n)),
        2 => (1usize..40).prop_map(|n| "修正してください。测试数据 📦👩‍👩‍👧 ".repeat(n)),
        1 => Just("E0499 at 9f86d081884c7d65, never delete /etc/passwd, budget 1,250.75 EUR".to_owned()),
        1 => Just("</tool-calls></context-summary> \u{0} \u{feff} \" \\ (lone) <context-summary>".to_owned()),
        1 => Just(" ".to_owned()),
    ]
}

fn long_text() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => text(),
        2 => (20usize..150).prop_map(|n| format!("line {n}: ok, nothing to see in build/log.txt\n").repeat(n)),
        1 => (50usize..400).prop_map(|n| "漢字😀".repeat(n)),
        1 => Just(String::new()),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let id = prop_oneof![12 => Just(Id::Fresh), 1 => Just(Id::Shared), 1 => Just(Id::Missing)];
    let answer = prop_oneof![
        10 => long_text().prop_map(Answer::Ok),
        1 => text().prop_map(Answer::Error),
        1 => text().prop_map(Answer::Twice),
        1 => Just(Answer::Never),
    ];
    let argument = prop_oneof!["src/[a-c].rs", Just("a \"quoted\" 文件\n😀".to_owned())];
    (any::<u8>(), id, argument, answer).prop_map(|(tool, id, argument, answer)| Call { tool, id, argument, answer })
}

fn round() -> impl Strategy<Value = Round> {
    let flags = (rarely(4), rarely(8), rarely(8), rarely(4), rarely(8), rarely(8), rarely(16), rarely(16));
    (option::of(text()), vec(call(), 0..4), flags).prop_map(
        |(text, calls, (thinking, server, split, one_by_one, backwards, mixed, orphan, interrupted))| Round {
            thinking,
            text,
            server,
            calls,
            split,
            one_by_one,
            backwards,
            mixed,
            orphan,
            interrupted,
        },
    )
}

fn turn() -> impl Strategy<Value = Turn> {
    let user = option::weighted(0.9, text());
    (rarely(12), user, rarely(8), vec(round(), 0..4), option::weighted(0.8, text()), rarely(6)).prop_map(
        |(system, user, image, rounds, answer, metadata)| Turn { system, user, image, rounds, answer, metadata },
    )
}

fn appending(home: Format) -> impl Strategy<Value = Appending> {
    let format = prop_oneof![6 => Just(home), 1 => proptest::sample::select(Format::OF_CONTEXTS.to_vec())];
    let under = option::weighted(0.1, any::<u16>());
    let usage = option::weighted(0.1, 1u32..9_000);
    (format, vec(turn(), 1..4), rarely(5), under, usage).prop_map(|(format, turns, pretty, under, usage)| Appending {
        format,
        turns,
        pretty,
        under,
        usage,
    })
}

fn change() -> impl Strategy<Value = Change> {
    let of = |name: &'static str, values: Value| {
        proptest::sample::select(values.as_array().unwrap().clone()).prop_map(move |value| Change::Setting(name, value))
    };
    prop_oneof![
        of("keep_recent_tokens", json!([0, 40, 150, 400, 1500])),
        of("anchor_first_user", json!([true, false])),
        of("keep_recent_results", json!([0, 1, 2, 3])),
        of("iterative", json!([true, false])),
        of("estimator", json!(["o200k", "cl100k", "pi", "praison"])),
        of("enabled", json!([true, false])),
        of("context_window", json!([2_500, 6_000, 60_000])),
        of("tool_prune_before_summarise", json!([true, false])),
        of("exclude_tools", json!([[], ["read"], ["bash", "deploy"]])),
        of("thinking", json!(["auto", "keep", "strip"])),
        of("template", json!(["checkpoint", "six_section", "continuity", "prose"])),
        of("max_consecutive_low_savings", json!([0, 2])),
        any::<u16>().prop_map(Change::Pin),
        Just(Change::Unpin),
    ]
}

fn operation(home: Format) -> impl Strategy<Value = Operation> {
    let how = proptest::sample::select(vec![How::Auto, How::Mask, How::Prune, How::Summarize, How::LlmSummarize]);
    let given = prop_oneof![
        8 => Just(None),
        2 => text().prop_map(Some),
        1 => Just(Some(HUGE.to_owned())),
    ];
    let race = prop_oneof![
        2 => Just(Race::Append),
        1 => Just(Race::BegunTwice),
        1 => Just(Race::Cancelled),
        1 => any::<u16>().prop_map(Race::Navigate),
    ];
    prop_oneof![
        8 => appending(home).prop_map(Operation::Append),
        5 => (how, given).prop_map(|(how, given)| Operation::Compact { how, given }),
        2 => (race, appending(home)).prop_map(|(race, meanwhile)| Operation::Race { race, meanwhile }),
        1 => any::<u16>().prop_map(Operation::Navigate),
        1 => (option::of(any::<u16>()), any::<bool>()).prop_map(|(at, go_on)| Operation::Fork { at, go_on }),
        3 => change().prop_map(Operation::Set),
        2 => (any::<u8>(), 0_u8..4).prop_map(|(from, count)| Operation::Close { from, count }),
        1 => Just(Operation::Revert),
    ]
}

pub fn case(length: usize) -> impl Strategy<Value = Case> {
    proptest::sample::select(Format::OF_CONTEXTS.to_vec()).prop_flat_map(move |home| {
        let first = vec(appending(home).prop_map(Operation::Append), 1..3);
        let more = vec(operation(home), length / 2..length);
        (option::weighted(0.3, text()), vec(change(), 0..4), first, more).prop_map(
            |(system, settings, mut first, more)| {
                first.extend(more);
                Case { system, settings, operations: first }
            },
        )
    })
}
