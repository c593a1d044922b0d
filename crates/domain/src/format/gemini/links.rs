//! Tools and code that the provider runs itself: `toolCall` and `toolResponse` belong together by their id, and a
//! `codeExecutionResult` follows its `executableCode`. The API refuses one without the other; code alone it takes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::Value;

use super::content::OutgoingContent;
use super::fields::kinds;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::Notes;
use crate::format::violation_code::ViolationCode;
use crate::format::write::ItemFault;

/// A content and a part of it.
type Place = (usize, usize);

/// Leaves out the halves that stand alone, and contents that hold nothing else.
pub fn drop_alone(sent: &mut Vec<OutgoingContent<'_>>, notes: &mut Notes<'_>) {
    const SIGNS: [&str; 3] = ["ool_", "oolCall", "oolResponse"];
    const CODE: [&str; 2] = ["odeExecutionResult", "ode_execution_result"];
    let holds = |content: &OutgoingContent<'_>| SIGNS.iter().chain(&CODE).any(|sign| content.may_hold(sign));
    if !sent.iter().any(holds) {
        return;
    }
    let mut emptied = BTreeSet::new();
    for (at, parts) in alone(sent) {
        let Some(content) = sent.get_mut(at) else { continue };
        let mut value = content.take_value();
        let Some(list) = value.get_mut("parts").and_then(Value::as_array_mut) else { continue };
        let mut place = 0..;
        list.retain(|_| place.next().is_none_or(|place| !parts.contains(&place)));
        notes.entry = content.entry;
        let fault = ItemFault::Refused(ViolationCode::MissingLink);
        notes.add_fault(NoteCode::MissingLink, fault, "half of a tool that the provider ran, without the other half");
        if list.is_empty() {
            notes.add(NoteCode::EmptyMessageDropped, "nothing else is in this message");
            emptied.insert(at);
        }
        content.rewrite(value);
    }
    let mut at = 0..;
    sent.retain(|_| at.next().is_none_or(|at| !emptied.contains(&at)));
}

/// The parts without their other half, by content.
fn alone(sent: &[OutgoingContent<'_>]) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut alone: Vec<Place> = Vec::new();
    let mut calls: HashMap<String, VecDeque<Place>> = HashMap::new();
    let mut code = 0_usize;
    for (at, content) in sent.iter().enumerate() {
        let value = content.value();
        for (part, fields) in value.get("parts").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let Some(fields) = fields.as_object() else { continue };
            let Some((kind, key)) = kinds(fields).next() else { continue };
            let id = || fields[key].get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            match kind {
                "toolCall" => calls.entry(id()).or_default().push_back((at, part)),
                "toolResponse" if calls.get_mut(&id()).and_then(VecDeque::pop_front).is_none() => {
                    alone.push((at, part));
                }
                "executableCode" => code += 1,
                "codeExecutionResult" if code == 0 => alone.push((at, part)),
                "codeExecutionResult" => code -= 1,
                _ => {}
            }
        }
    }
    alone.extend(calls.into_values().flatten());
    let mut by_content: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, part) in alone {
        by_content.entry(at).or_default().insert(part);
    }
    by_content
}
