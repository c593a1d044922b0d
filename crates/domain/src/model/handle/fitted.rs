//! What of a compaction's record is sealed, and what of it goes first where that is too much.

use crate::model::compaction::CompactionRecord;
use crate::model::framed::CLOSE;

/// Most bytes of a record as JSON, before it is deflated.
pub const MOST_BYTES: usize = 128 << 10;

/// What is let go of, in this order: each takes about half of what there is, and says false where nothing is left.
/// The summary itself tells of most of it.
const LET_GO: [fn(&mut CompactionRecord) -> bool; 4] = [files, body, given, end_of_summary];

/// The part of a record that outlives its session: what is shown, and what the next summary goes on from.
pub fn portable(record: &CompactionRecord) -> CompactionRecord {
    CompactionRecord {
        summary: record.summary.clone(),
        summary_body: record.summary_body.clone(),
        details: record.details.clone(),
        from_hook: record.from_hook,
        given: record.given.clone(),
        by_handle: true,
        ..CompactionRecord::default()
    }
}

/// The record as JSON of at most `most` bytes.
pub fn fitted(mut record: CompactionRecord, most: usize) -> String {
    let json = |record: &CompactionRecord| serde_json::to_string(record).unwrap_or_default();
    let mut text = json(&record);
    for let_go in LET_GO {
        while text.len() > most && let_go(&mut record) {
            text = json(&record);
        }
    }
    text
}

fn files(record: &mut CompactionRecord) -> bool {
    older_half(&mut record.details.read_files) || older_half(&mut record.details.modified_files)
}

/// The next summary then starts from the whole of this one.
fn body(record: &mut CompactionRecord) -> bool {
    record.summary_body.take().is_some()
}

/// The summary quotes their beginning and end, or tells of them.
fn given(record: &mut CompactionRecord) -> bool {
    record.given.take().is_some()
}

/// The last quarter of a summary that alone is too much. It stays framed.
fn end_of_summary(record: &mut CompactionRecord) -> bool {
    let Some(summary) = record.summary.as_mut().filter(|summary| summary.len() > 8 * CLOSE.len()) else { return false };
    summary.truncate(summary.floor_char_boundary(summary.len() / 4 * 3));
    summary.push('\n');
    summary.push_str(CLOSE);
    true
}

fn older_half<T>(list: &mut Vec<T>) -> bool {
    let gone = list.len().div_ceil(2);
    list.drain(..gone);
    gone > 0
}
