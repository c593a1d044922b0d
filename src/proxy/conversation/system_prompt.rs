//! The system prompt of a request, wherever it stands: beside the items, or as the first of them.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};

/// The first words of a block that is another one with every request of Claude Code's.
const BILLING: &str = "x-anthropic-billing-header";

/// How many leading items are the system prompt. Anthropic has it beside them.
pub fn leading(format: Format, items: &[Box<RawValue>]) -> usize {
    if format == Format::Anthropic {
        return 0;
    }
    let is_system = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    items.iter().take_while(|raw| read(format, raw).as_ref().is_some_and(is_system)).count()
}

/// The system prompt as it is stored: the one beside the items as it came, and behind it the texts of `lead`.
pub fn stored(format: Format, beside: Option<&RawValue>, lead: &[Box<RawValue>]) -> Option<Box<RawValue>> {
    if lead.is_empty() {
        return beside.map(without_billing);
    }
    let beside: Option<String> = beside.and_then(|text| serde_json::from_str(text.get()).ok());
    let texts = beside.into_iter().chain(lead.iter().filter_map(|raw| Some(read(format, raw)?.plain_text())));
    let blocks: Vec<Value> = texts.map(|text| json!({"type": "text", "text": text})).collect();
    to_raw_value(&blocks).ok()
}

fn read(format: Format, raw: &RawValue) -> Option<Message> {
    format::accept(format, raw.get()).ok()?.message
}

fn without_billing(system: &RawValue) -> Box<RawValue> {
    let without = || {
        let blocks: Vec<&RawValue> = serde_json::from_str(system.get()).ok()?;
        let kept: Vec<&str> = blocks.into_iter().map(RawValue::get).filter(|block| !is_billing(block)).collect();
        RawValue::from_string(format!("[{}]", kept.join(","))).ok()
    };
    let holds_billing = system.get().starts_with('[') && system.get().contains(BILLING);
    holds_billing.then(without).flatten().unwrap_or_else(|| system.to_owned())
}

fn is_billing(block: &str) -> bool {
    let block: Value = serde_json::from_str(block).unwrap_or_default();
    block.get("text").and_then(Value::as_str).is_some_and(|text| text.starts_with(BILLING))
}
