//! Sealed handles: the summary of a compaction as a client carries it, in `encrypted_content` of a Responses item. It opens
//! for its tenant alone.
//!
//! `ctxd1.{key}.{sealed}`: the number of the tenant's key, and in base64url without padding a nonce of 12 bytes and a
//! compaction's record as JSON, deflated and encrypted with AES-256-GCM. What stands before the last point and the
//! tenant's id are authenticated with it.

mod fitted;
mod sealed;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::compaction::CompactionRecord;
use crate::model::entry::EntryMeta;
use crate::model::message::{Message, Role};

pub use fitted::MOST_BYTES;
pub use sealed::{key_of, open, seal};

/// The beginning of every handle, of whatever version. What other services seal begins otherwise.
const MARK: &str = "ctxd";

/// A secret that handles of one tenant are sealed with, and its number among the tenant's.
#[derive(Clone)]
pub struct SealingKey {
    pub id: u32,
    pub secret: [u8; 32],
}

/// Fault of a handle, in words for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandleFault {
    #[error("is no whole handle of this service: it was cut off or changed on its way")]
    Malformed,
    #[error("was sealed with a key that is not known here: by another installation, or for another tenant")]
    UnknownKey,
    #[error("does not open with this tenant's key: it was changed on its way, or sealed for another tenant")]
    Refused,
    #[error("opens, and holds nothing that this version can read")]
    Unreadable,
}

/// A handle among items, by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHandle {
    pub place: usize,
    pub text: String,
}

#[derive(Deserialize)]
struct SealedItem<'i> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'i, str>,
    #[serde(borrow)]
    encrypted_content: Cow<'i, str>,
}

/// The item that a handle travels in.
pub fn item(id: &str, handle: &str) -> Value {
    json!({"id": format!("cmp_{id}"), "type": "compaction", "encrypted_content": handle})
}

/// Lists the handles among Responses items, given as JSON texts.
pub fn found<'i>(items: impl Iterator<Item = &'i str>) -> Vec<FoundHandle> {
    let handle = |(place, item)| Some(FoundHandle { place, text: handle_of(item)? });
    items.enumerate().filter_map(handle).collect()
}

/// Returns the handle that a Responses item holds. `None`: it is another item; a compaction of OpenAI's own is one.
pub fn handle_of(item: &str) -> Option<String> {
    if !item.contains(MARK) || !item.contains("encrypted_content") {
        return None;
    }
    let SealedItem { kind, encrypted_content } = serde_json::from_str(item).ok()?;
    let is_compaction = matches!(&*kind, "compaction" | "compaction_summary");
    (is_compaction && encrypted_content.starts_with(MARK)).then(|| encrypted_content.into_owned())
}

/// What a handle says: the message that contexts show in its place. `None`: its compaction wrote no summary.
pub fn told(record: &CompactionRecord) -> Option<Message> {
    let summary = record.summary.as_deref().filter(|summary| !summary.is_empty());
    summary.map(|summary| Message::text(Role::User, summary))
}

/// Returns true for an entry that is shown beside a handle behind it: what the user said, instructions, and what
/// another service has sealed. The handle stands for all else.
pub fn stays(head: &EntryMeta) -> bool {
    // An approval is nothing without what it approves.
    let is_alone = head.shape.results.is_empty() && head.shape.links.needs.is_empty();
    let is_said = matches!(head.role, Some(Role::User | Role::System | Role::Developer)) && is_alone;
    head.is_visible() && (is_said || head.shape.checkpoint)
}

#[cfg(test)]
mod tests;
