//! Planning and viewing a path of 100,000 entries: the pure part of `prepare`, `compact` and `rebuild`, once the small
//! columns are read. `cargo bench --bench plan` prints times and the memory that each step takes at its peak.

use std::hint::black_box;
use std::time::{Duration, Instant};

use contextd::domain::compaction::prepare::prepare;
use contextd::domain::context::view::{NewestCompaction, item_tokens, plan_view};
use contextd::domain::model::compaction::{CompactionRecord, ElidedPart, Elision, ElisionKind};
use contextd::domain::model::entry::EntryMeta;
use contextd::domain::model::entry_type::EntryType;
use contextd::domain::model::message::Role;
use contextd::domain::model::shape::{CallRef, ResultRef, Shape, ShapeKind};
use contextd::domain::settings::resolve;
use peak_alloc::PeakAlloc;
use serde_json::Map;
use uuid::Uuid;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const ENTRIES: usize = 100_000;
const ROUNDS: usize = 31;
/// One of so many entries is a user's; between them calls and results take turns.
const TURN: usize = 21;
const CALL_TOKENS: u32 = 60;
const RESULT_TOKENS: u32 = 200;

fn main() {
    let path = path();
    let Ok(settings) = resolve(&Map::new(), &Map::new(), None) else { return };
    println!("| step on {ENTRIES} entries | median (minimum-maximum) | memory at its peak |");
    println!("| --- | --- | --- |");
    measure("plan, never compacted", || prepare(&path, None, &settings));
    measure("view and its size, never compacted", || {
        let view = plan_view(&path, None);
        let size: u64 = view.iter().map(|item| item_tokens(&path, item)).sum();
        (view, size)
    });
    let (index, record) = compaction(&path);
    let newest = Some(NewestCompaction { index, record: &record, first_kept: Some(ENTRIES / 100) });
    measure("plan, compacted near its beginning, 1,000 results masked", || prepare(&path, newest, &settings));
    measure("view and its size, compacted near its beginning", || {
        let view = plan_view(&path, newest);
        let size: u64 = view.iter().map(|item| item_tokens(&path, item)).sum();
        (view, size)
    });
}

/// Runs a step over and over. What it returns counts as its memory.
fn measure<T>(step: &str, mut run: impl FnMut() -> T) {
    let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
    let mut peak = 0;
    for _ in 0..ROUNDS {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let start = Instant::now();
        let answer = black_box(run());
        times.push(start.elapsed());
        peak = peak.max(MEMORY.peak_usage().saturating_sub(before));
        drop(answer);
    }
    times.sort();
    let at = |place: usize| times.get(place).copied().unwrap_or_default().as_secs_f64() * 1_000.0;
    println!(
        "| {step} | {:.2} ms ({:.2}-{:.2}) | {:.1} MB |",
        at(ROUNDS / 2),
        at(0),
        at(ROUNDS - 1),
        peak as f64 / 1_000_000.0
    );
}

fn path() -> Vec<EntryMeta> {
    let mut path_tokens = 0;
    (0..ENTRIES)
        .map(|at| {
            let place = at % TURN;
            let calls = place % 2 == 1;
            let tokens = if calls { CALL_TOKENS } else { RESULT_TOKENS };
            path_tokens += i64::from(tokens);
            EntryMeta {
                id: id(at),
                seq: at as i64,
                depth: at as i64,
                kind: EntryType::Message,
                role: Some(match place {
                    0 => Role::User,
                    _ if calls => Role::Assistant,
                    _ => Role::Tool,
                }),
                tokens,
                path_tokens,
                usage: None,
                shape: shape(at, place),
            }
        })
        .collect()
}

fn shape(at: usize, place: usize) -> Shape {
    let mut shape = Shape::default();
    match place {
        0 => {}
        _ if place % 2 == 1 => {
            shape.calls.push(CallRef { id: call_id(at), name: "read".to_owned(), kind: ShapeKind::Function });
        }
        _ => shape.results.push(ResultRef {
            call_id: call_id(at - 1),
            tokens: RESULT_TOKENS,
            end: Default::default(),
            kind: ShapeKind::Function,
        }),
    }
    shape
}

/// The first hundredth is summarised; of what is kept, a thousand results are masked.
fn compaction(path: &[EntryMeta]) -> (usize, CompactionRecord) {
    let index = ENTRIES / 10;
    let results =
        path.get(ENTRIES / 100..index).unwrap_or_default().iter().filter(|head| !head.shape.results.is_empty());
    let elisions = results.take(1_000).map(|head| Elision {
        entry_id: head.id,
        tool_call_id: head.shape.results.first().map(|result| result.call_id.clone()).unwrap_or_default(),
        kind: ElisionKind::Mask,
        part: ElidedPart::Result,
        tokens_before: RESULT_TOKENS,
        tokens_after: 30,
        same_as: None,
        keep_chars: None,
        text: None,
    });
    let record = CompactionRecord {
        summary: Some("What was done.".to_owned()),
        elisions: elisions.collect(),
        ..CompactionRecord::default()
    };
    (index, record)
}

fn id(at: usize) -> Uuid {
    Uuid::from_u128(at as u128)
}

fn call_id(at: usize) -> String {
    format!("toolu_{at:024}")
}
