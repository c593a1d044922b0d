//! An item of a context that is about to be sent, for what is settled over the whole of it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::item_ids::{IdFault, id_fault};
use crate::model::json;

/// An item that is about to be sent.
pub struct OutgoingItem {
    pub entry: Option<usize>,
    /// The item's own id.
    pub id: Option<String>,
    /// Why the API refuses the id.
    pub fault: Option<IdFault>,
    pub kind: ItemRole,
    /// Its type; a message may come without.
    pub item_type: String,
    pub call_id: Option<String>,
    pub text: String,
}

/// Role of an item for the reasoning before it.
#[derive(Clone, Copy, PartialEq)]
pub enum ItemRole {
    Reasoning,
    /// The model's own: what reasoning leads to.
    Output,
    /// A compaction: what stands before it and behind it may belong together.
    Compaction,
    /// A change of the configuration.
    Update,
    Input,
}

#[derive(Deserialize, Default)]
pub struct ItemHeader<'h> {
    #[serde(borrow, rename = "type")]
    pub kind: Option<Cow<'h, str>>,
    #[serde(borrow)]
    pub id: Option<Cow<'h, str>>,
    #[serde(borrow)]
    pub role: Option<Cow<'h, str>>,
    #[serde(borrow)]
    pub call_id: Option<Cow<'h, str>>,
}

pub fn head(item: &str) -> ItemHeader<'_> {
    serde_json::from_str(item).unwrap_or_default()
}

/// Takes an id in the place of one that is taken: that with the first number behind it which is free. `tried`: how far the
/// search has come, by id.
pub fn take_another(
    id: &str,
    taken: &mut HashSet<String>,
    tried: &mut HashMap<String, usize>,
    form: impl Fn(String) -> String,
) -> Option<String> {
    let nth = tried.entry(id.to_owned()).or_insert(1);
    let others = std::iter::repeat_with(|| {
        *nth += 1;
        form(format!("{id}_{nth}"))
    });
    others.take(taken.len() + 1).find(|other| taken.insert(other.clone()))
}

impl OutgoingItem {
    pub fn new(entry: Option<usize>, text: String) -> OutgoingItem {
        let head = head(&text);
        let owned = |field: &Option<Cow<'_, str>>| field.as_deref().map(str::to_owned);
        let (id, call_id, item_type) = (owned(&head.id), owned(&head.call_id), owned(&head.kind));
        let kind = ItemRole::classify(head.kind.as_deref(), head.role.as_deref());
        let item_type = item_type.unwrap_or_else(|| "message".to_owned());
        let fault = id.as_deref().and_then(|id| id_fault(&item_type, id));
        OutgoingItem { entry, id, fault, kind, item_type, call_id, text }
    }

    pub fn value(&self) -> Value {
        json::parse_lenient(&self.text).unwrap_or_default()
    }
}

impl ItemRole {
    fn classify(kind: Option<&str>, role: Option<&str>) -> ItemRole {
        match (kind, role) {
            (Some("reasoning"), _) => ItemRole::Reasoning,
            (Some("compaction" | "compaction_summary"), _) => ItemRole::Compaction,
            (Some("configuration_update"), _) => ItemRole::Update,
            (_, Some(role)) if role != "assistant" => ItemRole::Input,
            (Some("mcp_approval_response"), _) => ItemRole::Input,
            (Some(kind), _) if kind.ends_with("_output") => ItemRole::Input,
            _ => ItemRole::Output,
        }
    }
}
