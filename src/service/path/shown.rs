//! What the model sees now, message by message.

use std::collections::HashMap;

use anyhow::Context as _;
use serde_json::Value;
use uuid::Uuid;

use crate::domain::context::composition::{Scale, Whole};
use crate::domain::context::elision;
use crate::domain::context::view::{ViewItem, item_tokens};
use crate::domain::model::compaction::Elision;
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::tokens::accounting::Source;
use crate::service::core::error::Result;
use crate::service::core::offload::offload;
use crate::service::core::page::PageRequest;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::service::path::view::{PathSlice, ReadMode, ViewOrigin, load_view};
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{Segment, join};

/// Items of a page have so many bytes together, one larger item aside.
const PAGE_BYTES: i64 = 1 << 20;

/// Messages of the context at the leaf, in the order in which the model sees them.
#[derive(Debug, Clone)]
pub struct ShownPage {
    pub items: Vec<ShownMessage>,
    /// The place of the first of them, and how many messages there are in all.
    pub from: usize,
    pub total: usize,
    /// What the tokens rest on.
    pub source: Source,
}

/// One message, as it is shown.
#[derive(Debug, Clone)]
pub struct ShownMessage {
    /// Of a summary: the compaction's.
    pub entry_id: Uuid,
    pub kind: &'static str,
    pub role: Option<&'static str>,
    /// As in the composition: its estimate, brought to the size that the whole is known to have.
    pub tokens: u64,
    /// What of it is shown shorter; its tokens likewise.
    pub elisions: Vec<Elision>,
    /// In the native format; `None` where it says nothing.
    pub message: Option<Value>,
}

impl Queries {
    /// The messages from the place that `page.after` says on. Of the items only the page's are read.
    pub async fn shown(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<ShownPage> {
        let from = usize::try_from(page.cursor_number()?.unwrap_or(0)).unwrap_or(0);
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let mut reader = self.long_reads.reader(tenant, head.view_length()).await?;
        let loaded = load_view(reader.on()?, tenant, &ViewOrigin::of(&head), ReadMode::Heads).await?;
        let (view, snapshot) = (loaded.view(), head.snapshot());
        let (system, tools) = (head.state.account.system, head.state.account.tools);
        let (tokens, unposted) = (snapshot.tokens, snapshot.breakdown.unposted);
        let whole = Whole { heads: &loaded.heads, view: &view, system, tools, tokens, unposted };
        let (scale, source) = (Scale::of_whole(&whole), snapshot.source);
        let from = from.min(view.len());
        let most = usize::try_from(page.limit).unwrap_or(1);
        let wanted: Vec<ViewItem> = view.iter().skip(from).take(most).cloned().collect();
        let places = |items: &[ViewItem]| -> Vec<Segment> { items.iter().map(|item| segment(&loaded, item)).collect() };
        let sizes = entries::sizes(reader.on()?, tenant.0, &places(&wanted)).await?;
        let sizes: HashMap<i64, i64> = sizes.into_iter().map(|size| (size.place, size.bytes)).collect();
        let bytes = places(&wanted).into_iter().map(|place| sizes.get(&place.from).copied().unwrap_or(0));
        let fit = entries::fill(bytes, most, PAGE_BYTES);
        let wanted: Vec<ViewItem> = wanted.into_iter().take(fit).collect();
        let stored = entries::whole(reader.on()?, tenant.0, &sorted(places(&wanted))).await?;
        reader.done();
        let (bytes, total) = (stored.iter().map(|one| one.entry.item.len()).sum(), view.len());
        let stored: HashMap<Uuid, StoredEntry> = stored.into_iter().map(|one| (one.entry.head.id, one)).collect();
        let show = move || wanted.iter().filter_map(|item| show(&loaded, &stored, item, scale).transpose()).collect();
        let items: Result<Vec<ShownMessage>> = offload(bytes, show).await?;
        Ok(ShownPage { items: items?, from, total, source })
    }
}

fn index(item: &ViewItem) -> usize {
    match item {
        ViewItem::Summary { compaction } => *compaction,
        ViewItem::Entry { index, .. } => *index,
    }
}

fn segment(loaded: &PathSlice, item: &ViewItem) -> Segment {
    loaded.segment(index(item))
}

/// As few ranges as they are.
fn sorted(mut places: Vec<Segment>) -> Vec<Segment> {
    places.sort_by_key(|place| place.from);
    join(places)
}

fn show(
    loaded: &PathSlice,
    stored: &HashMap<Uuid, StoredEntry>,
    item: &ViewItem,
    scale: Scale,
) -> Result<Option<ShownMessage>> {
    let Some(head) = loaded.heads.get(index(item)) else { return Ok(None) };
    let Some(entry) = stored.get(&head.id) else { return Ok(None) };
    let (elisions, message) = match item {
        ViewItem::Summary { .. } => {
            let texts =
                entry.record.as_deref().into_iter().flat_map(|record| {
                    record.summary.iter().chain(record.running.as_ref().map(|running| &running.text))
                });
            let blocks: Vec<Block> = texts.map(|text| Block::text(text.as_str())).collect();
            (Vec::new(), (!blocks.is_empty()).then(|| Message::new(Role::CompactionSummary, blocks)))
        }
        ViewItem::Entry { elisions, .. } => {
            let mut message = message_of(entry)?;
            message.iter_mut().for_each(|message| elision::apply(message, elisions));
            (elisions.iter().map(|elision| scaled(elision, scale)).collect(), message)
        }
    };
    Ok(Some(ShownMessage {
        entry_id: head.id,
        kind: head.kind.into_str(),
        role: head.role.map(|role| role.into_str()),
        tokens: scale.of(item_tokens(&loaded.heads, item)),
        elisions,
        message: message.map(serde_json::to_value).transpose().context("a message as JSON")?,
    }))
}

fn scaled(elision: &Elision, scale: Scale) -> Elision {
    let of = |tokens: u32| u32::try_from(scale.of(tokens.into())).unwrap_or(u32::MAX);
    Elision { tokens_before: of(elision.tokens_before), tokens_after: of(elision.tokens_after), ..elision.clone() }
}
