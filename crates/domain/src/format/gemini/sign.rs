//! The signatures of calls, which Gemini 3 models want back since the user last spoke.

use serde_json::Value;

use super::NO_SIGNATURE;
use super::content::OutgoingContent;
use super::fields::{is_signed, kinds};
use crate::format::keys::Object;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::Notes;

/// Marks the first call of each step of the running turn that lacks its signature, in a context of which other calls are
/// signed: a model that signs none asks for none.
pub fn running_turn(sent: &mut [OutgoingContent<'_>], notes: &mut Notes<'_>) {
    if !sent.iter().any(|content| content.may_hold("hought") && holds_signed_call(&content.value())) {
        return;
    }
    for content in sent.iter_mut().rev() {
        let mut value = content.value();
        if !content.is_model {
            if starts_turn(&value) {
                return;
            }
        } else if mark_first_call(&mut value) {
            notes.entry = content.entry;
            notes.add(NoteCode::SignaturePlaceholder, "a call of the running turn lacks its signature");
            content.rewrite(value);
        }
    }
}

/// Puts the stated word on the first call of a content, unless that is signed. Returns whether it did.
pub fn mark_first_call(content: &mut Value) -> bool {
    let Some(parts) = content.get_mut("parts").and_then(Value::as_array_mut) else { return false };
    let first = parts.iter_mut().filter_map(Value::as_object_mut).find(|part| is_call(part));
    match first.filter(|part| !is_signed(part)) {
        Some(part) => {
            part.insert("thoughtSignature".to_owned(), NO_SIGNATURE.into());
            true
        }
        None => false,
    }
}

fn is_call(part: &Object) -> bool {
    kinds(part).any(|(kind, _)| kind == "functionCall")
}

fn holds_signed_call(content: &Value) -> bool {
    super::fields::parts(content).any(|part| is_call(part) && is_signed(part))
}

/// Returns true if a content of the user says something besides results.
fn starts_turn(content: &Value) -> bool {
    super::fields::parts(content).any(|part| !kinds(part).any(|(kind, _)| kind == "functionResponse"))
}
