//! Cache marks: four at most over tools, system prompt and messages, and none for an hour behind one for five minutes.

use serde_json::Value;

use super::sent::{Sent, each_block, keep_newest};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::Notes;
use crate::format::refused::is_anthropic_marked as is_marked;
use crate::format::violation_code::ViolationCode;
use crate::format::write::{ItemFault, Note};

const MARK: &str = "cache_control";
/// How many marks a request may have.
const MOST: usize = 4;

/// The marks beside the messages, which count and come before them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside {
    marks: usize,
    /// One of them is for five minutes.
    short: bool,
}

impl Beside {
    /// Those of a system prompt's blocks and of tools.
    pub fn of<'v>(parts: impl IntoIterator<Item = &'v Value>) -> Beside {
        let mut beside = Beside::default();
        for part in parts.into_iter().filter_map(Value::as_array).flatten().filter(|part| is_marked(part)) {
            beside.marks += 1;
            beside.short |= !is_long(part);
        }
        beside
    }

    fn is_none(self) -> bool {
        self.marks == 0
    }
}

/// Leaves the newest marks of written messages: as many as those beside them leave room for.
pub fn bound_beside(messages: Vec<String>, beside: Beside, notes: &mut Vec<Note>) -> Vec<String> {
    if beside.is_none() {
        return messages;
    }
    let mut sent: Vec<Sent> = messages.into_iter().map(|text| Sent { entry: None, text }).collect();
    bound(&mut sent, beside, &mut Notes::new(notes));
    sent.into_iter().map(|message| message.text).collect()
}

/// Leaves the newest marks, and none for an hour behind one for five minutes.
pub fn bound(sent: &mut [Sent], beside: Beside, notes: &mut Notes<'_>) {
    keep_newest(sent, MARK, MOST.saturating_sub(beside.marks), is_marked, take_off, |entry| {
        notes.entry = entry;
        let fault = ItemFault::Refused(ViolationCode::TooManyCacheMarks);
        notes.add_fault(NoteCode::CacheMarksRemoved, fault, format!("a request has {MOST} cache marks at most"));
    });
    shorten(sent, beside.short, notes);
}

fn shorten(sent: &mut [Sent], mut short: bool, notes: &mut Notes<'_>) {
    for message in sent.iter_mut().filter(|message| message.text.contains(MARK)) {
        let mut value = message.value();
        let mut shortened = false;
        each_block(&mut value, &mut |block| {
            if !is_marked(block) {
                return;
            }
            if is_long(block) && short {
                shortened = true;
                if let Some(mark) = block.get_mut(MARK).and_then(Value::as_object_mut) {
                    mark.shift_remove("ttl");
                }
            }
            short |= !is_long(block);
        });
        if shortened {
            message.text = value.to_string();
            notes.entry = message.entry;
            let fault = ItemFault::Refused(ViolationCode::CacheMarkOrder);
            let detail = "a cache mark for an hour can't come behind one for five minutes";
            notes.add_fault(NoteCode::CacheMarksRemoved, fault, detail);
        }
    }
}

fn is_long(block: &Value) -> bool {
    block.get(MARK).and_then(|mark| mark.get("ttl")).is_some_and(|ttl| ttl == "1h")
}

fn take_off(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove(MARK);
    }
}
