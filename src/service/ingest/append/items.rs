//! From the items of a request to read, counted and linked ones; nothing here touches the database.

use std::sync::Arc;

use serde_json::Value;

use crate::background::{FreeingLoad, LargeValue};
use crate::domain::format::{self, link, pi};
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::handle;
use crate::domain::model::item::Item;
use crate::domain::model::json;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::usage::ReportedUsage;
use crate::domain::settings::Settings;
use crate::domain::tokens::report::Reported;
use crate::domain::tokens::{self, Counted};
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::handles::OpenedHandles;
use crate::service::core::offload::{PART_BYTES, load as load_of_items, offload};
use crate::service::ingest::append::Append;

/// One item, read.
#[derive(Debug, Clone)]
pub struct ReadItem {
    pub item: Item,
    /// Its place among the posted items.
    pub place: usize,
    pub counted: Counted,
    pub source_id: Option<String>,
    pub parent: Parent,
    /// It stands beside the conversation, on a branch of its own: the leaf stays where it was.
    pub is_aside: bool,
    /// The head of a pi file: the entries that have no parent in the file go under it.
    pub is_header: bool,
    /// What the provider reported with it, and whether the request says so, not the item.
    pub usage: Option<Reported>,
    pub usage_is_given: bool,
    /// A pi label: the source id of the entry that it is for, and its text; none clears.
    pub label: Option<(String, Option<String>)>,
    /// Record of an imported compaction, whose first kept entry is still a source id, or of a handle.
    pub record: Option<CompactionRecord>,
}

impl ReadItem {
    /// Says that it is a sealed handle.
    pub fn is_handle(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.by_handle)
    }
}

/// Which entry an item goes under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// The item before it; the append's parent for the first one.
    Previous,
    /// The start of a file: the header of the file where there is one, else no parent.
    Root,
    /// The entry that came with this id.
    Source(String),
}

impl ReadItem {
    /// The work that its parts make, its text aside.
    fn load(&self) -> usize {
        PART_BYTES * (1 + self.item.message.as_ref().map_or(0, |message| message.content.len()))
    }
}

impl FreeingLoad for Vec<ReadItem> {
    fn freeing_load(&self) -> usize {
        self.iter().map(ReadItem::load).sum()
    }
}

/// The work of planning items that are read: their texts are copied, their calls matched one by one.
pub fn load(append: &Append, items: &[ReadItem]) -> usize {
    const COPIED_IN_ONE: usize = 16;
    let text = |item: &ReadItem| append.items.get(item.place).map_or(0, |raw| raw.get().len());
    items.iter().map(|item| text(item) / COPIED_IN_ONE + item.load()).sum()
}

/// Reads and counts all items. `opened`: the handles among them.
///
/// # Errors
/// `Invalid` with pointers `/items/{n}…` and `/usage…`.
pub async fn read(
    append: Arc<Append>,
    settings: Arc<Settings>,
    opened: OpenedHandles,
) -> Result<LargeValue<Vec<ReadItem>>> {
    offload(load_of_items(&append.items), move || read_all(&append, &settings, &opened).map(LargeValue::from)).await?
}

fn read_all(append: &Append, settings: &Settings, opened: &OpenedHandles) -> Result<Vec<ReadItem>> {
    let mut errors = Vec::new();
    let mut items = Vec::with_capacity(append.items.len());
    for (n, raw) in append.items.iter().enumerate() {
        match format::accept(append.format, raw.get()) {
            Ok(item) => items.push(match opened.record(raw.get()) {
                Some(record) => read_handle(item, record, raw.get(), n, settings),
                None => read_one(item, append.format, raw.get(), n, settings),
            }),
            Err(error) => {
                errors.push(FieldError { pointer: format!("/items/{n}{}", error.pointer), detail: error.detail })
            }
        }
    }
    if !errors.is_empty() {
        return Err(ServiceError::Invalid(errors));
    }
    if append.format.is_file() {
        items = link_file(append, items)?;
    }
    report_usage(append, &mut items)?;
    Ok(items)
}

fn read_one(item: Item, format: Format, raw: &str, place: usize, settings: &Settings) -> ReadItem {
    let Settings { estimator, pictures, .. } = *settings;
    let counted = match &item.message {
        Some(message) if item.kind.holds_message() => tokens::count_item_for(pictures, estimator, format, raw, message),
        _ => Counted { total: 0, results: Vec::new() },
    };
    let trusted = item.stop.is_none_or(|stop| !stop.spoils_usage());
    let usage = item.usage.filter(|_| trusted).and_then(|usage| reported(&usage));
    ReadItem {
        source_id: item.source_id.clone(),
        place,
        parent: Parent::Previous,
        is_aside: false,
        is_header: false,
        usage,
        usage_is_given: false,
        label: None,
        record: None,
        counted,
        item,
    }
}

/// A handle is a compaction. It adds nothing to a context by itself: its summary enters through the view.
fn read_handle(item: Item, record: &CompactionRecord, raw: &str, place: usize, settings: &Settings) -> ReadItem {
    let size = |message: Message| tokens::count_message(settings.estimator, &message).total;
    let record = CompactionRecord { summary_tokens: handle::told(record).map_or(0, size), ..record.clone() };
    let item = Item { kind: EntryType::Compaction, message: None, ..item };
    ReadItem { record: Some(record), ..read_one(item, Format::OpenaiResponses, raw, place, settings) }
}

/// Takes the tree of a file over, parents first.
fn link_file(append: &Append, items: Vec<ReadItem>) -> Result<Vec<ReadItem>> {
    let values: Vec<Value> = append
        .items
        .iter()
        .map(|raw| json::parse_lenient(raw.get()))
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| ServiceError::invalid("/items", error.to_string()))?;
    let order = format::parents_first(append.format, &values);
    let (mut items, values) = (in_order(items, order.as_deref()), in_order(values, order.as_deref()));
    let links = format::link(append.format, &values).map_err(|error: link::LinkError| {
        let place = items.get(error.index).map_or(error.index, |item| item.place);
        ServiceError::invalid(format!("/items/{place}{}", error.error.pointer), error.error.detail)
    })?;
    for ((item, link), value) in items.iter_mut().zip(links).zip(&values) {
        item.source_id = link.source_id.or(item.source_id.take());
        item.is_aside = link.is_aside;
        item.is_header = append.format == Format::Pi && value.get("type").and_then(Value::as_str) == Some("session");
        item.parent = match link.parent {
            _ if item.is_header => Parent::Root,
            None => Parent::Previous,
            Some(None) => Parent::Root,
            Some(Some(id)) => Parent::Source(id),
        };
        item.label = pi::label(value).filter(|_| append.format == Format::Pi);
        if item.item.kind == EntryType::Compaction {
            item.record = format::compaction_record(append.format, value);
            if let (Some(record), Some(first_kept)) = (&mut item.record, link.first_kept) {
                record.first_kept_entry_id = first_kept;
            }
        }
    }
    Ok(items)
}

/// The members in another order; `None`: as they stand.
pub fn in_order<T>(members: Vec<T>, order: Option<&[usize]>) -> Vec<T> {
    let Some(order) = order else { return members };
    let mut members: Vec<Option<T>> = members.into_iter().map(Some).collect();
    order.iter().filter_map(|place| members.get_mut(*place)?.take()).collect()
}

/// Puts the usage of the request on the newest answer in it.
fn report_usage(append: &Append, items: &mut [ReadItem]) -> Result<()> {
    let Some(usage) = &append.usage else { return Ok(()) };
    let usage = ReportedUsage::parse(usage)
        .map_err(|error| ServiceError::invalid(format!("/usage{}", error.pointer), error.detail))?;
    let answer = items
        .iter_mut()
        .rev()
        .find(|item| item.item.message.as_ref().is_some_and(|message| message.role == Role::Assistant));
    if let Some(answer) = answer.filter(|answer| answer.item.stop.is_none_or(|stop| !stop.spoils_usage())) {
        (answer.usage, answer.usage_is_given) = (reported(&usage), true);
    }
    Ok(())
}

fn reported(usage: &ReportedUsage) -> Option<Reported> {
    let (request, total) = (usage.request_tokens(), usage.context_tokens());
    (total > 0).then(|| Reported { request: request.min(total), answer: total.saturating_sub(request) })
}
