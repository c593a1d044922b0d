//! Planning by strategy: what the counting strategies need to know of a context beside its heads.

use std::collections::HashMap;

use anyhow::Context as _;
use sqlx::PgConnection;
use uuid::Uuid;

use super::error::Result;
use super::head::SessionState;
use super::history::message_of;
use super::plan::{as_standing, plan_on};
use super::state::Tenant;
use super::tool_calls::join;
use super::view::Loaded;
use crate::domain::compaction::Reason;
use crate::domain::prepare::Plan;
use crate::domain::settings::{Settings, Strategy};
use crate::domain::strategy::notice;
use crate::domain::strategy::smart::Clues;
use crate::domain::strategy::{Choice, Item, Room, counts, select};
use crate::domain::view::{ViewItem, item_tokens};
use crate::store::entries;
use crate::store::path::Segment;

/// Messages that are read and looked at together.
const STRETCH: usize = 256;

/// A context, and the compaction that is planned on it.
pub(crate) struct Planning<'a> {
    pub loaded: &'a Loaded,
    pub state: &'a SessionState,
    pub settings: &'a Settings,
    pub strategy: Strategy,
    /// Nobody asked for it.
    pub automatic: bool,
}

impl Planning<'_> {
    /// The plan, with the caller's own cut where there is one. The inner error is the reason to do nothing.
    pub async fn plan(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        first_kept: Option<Uuid>,
    ) -> Result<std::result::Result<Plan, Reason>> {
        if first_kept.is_some() || !counts(self.strategy) {
            return Ok(plan_on(self.loaded, self.settings, first_kept));
        }
        let items = shown_items(self.loaded);
        let clues = match self.strategy {
            Strategy::Smart => self.clues(connection, tenant, &items).await?,
            _ => HashMap::new(),
        };
        let carried =
            self.loaded.record().and_then(|record| record.summary_body.as_deref().or(record.summary.as_deref()));
        let carried = notice::without(carried.unwrap_or_default());
        let room = Room::of(&self.state.account, self.settings, &carried, self.automatic);
        Ok(as_standing(self.loaded, |path, newest| {
            let choice = Choice { path, newest, items: &items, settings: self.settings, room, clues: &clues };
            select(self.strategy, &choice)
        }))
    }

    async fn clues(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        items: &[Item],
    ) -> Result<HashMap<usize, Clues>> {
        let mut clues = HashMap::with_capacity(items.len());
        for stretch in items.chunks(STRETCH) {
            let segments = join(stretch.iter().filter_map(|item| self.segment(item.index)));
            let stored = entries::whole(&mut *connection, tenant.0, &segments).await?;
            let topic = self.settings.focus_topic.clone();
            let read = move || {
                let read = stored.iter().map(|stored| {
                    let clues = message_of(stored)?.map(|message| Clues::of(&message, topic.as_deref()));
                    Ok(clues.map(|clues| (stored.entry.head.depth, clues)))
                });
                read.filter_map(Result::transpose).collect::<Result<Vec<_>>>()
            };
            for (depth, found) in tokio::task::spawn_blocking(read).await.context("reading messages")?? {
                let index = self.loaded.heads.binary_search_by_key(&depth, |head| head.depth);
                clues.extend(index.ok().map(|index| (index, found)));
            }
        }
        Ok(clues)
    }

    fn segment(&self, index: usize) -> Option<Segment> {
        let stored = self.loaded.stored.get(index)?;
        let depth = stored.entry.head.depth;
        Some(Segment { session_id: stored.session_id, branch: stored.branch, from: depth, to: depth })
    }
}

/// The messages of a view, as large as they are shown.
pub(crate) fn shown_items(loaded: &Loaded) -> Vec<Item> {
    let item = |item: &ViewItem| match item {
        ViewItem::Entry { index, .. } => Some(Item { index: *index, tokens: item_tokens(&loaded.heads, item) }),
        ViewItem::Summary { .. } => None,
    };
    loaded.view().iter().filter_map(item).collect()
}
