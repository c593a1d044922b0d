//! Counting a session again under another estimator: every own entry once, in the background.
//!
//! Entries that a fork shares with its origin keep the counts of the origin's estimator; they are not this session's.
//! Where they change, the fork's own totals, which go on from theirs, are worked out again too.

use std::collections::{HashMap, HashSet};

use anyhow::Context as _;
use uuid::Uuid;

use super::clock;
use super::compactions::Committed;
use super::error::Result;
use super::head::SessionState;
use super::history::message_of;
use super::state::{Service, Tenant};
use super::view::{self, Read};
use crate::domain::compaction::{ElidedPart, Elision};
use crate::domain::entry::{EntryHead, EntryType};
use crate::domain::mask::{self, arguments};
use crate::domain::message::{Block, Message, Role};
use crate::domain::settings::Estimator;
use crate::domain::shape::ResultRef;
use crate::domain::tokens;
use crate::store::entries::{self, Recount, StoredEntry};
use crate::store::path;
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::sessions;

impl Service {
    /// Counts every entry of the session again and works the leaf's state out anew, in one transaction.
    pub async fn recount(&self, tenant: Tenant, session_id: Uuid, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = self.pool().begin().await?;
        let row = sessions::lock(&mut *transaction, tenant.0, session_id).await?;
        if queue::complete(&mut transaction, tenant.0, lease).await? == Completed::LeaseLost {
            return Ok(Committed::LeaseLost);
        }
        let Some(mut row) = row else {
            transaction.commit().await?;
            return Ok(Committed::Done);
        };
        let head = self.head_of(&row)?;
        let shared = path::shared_history(&mut transaction, tenant.0, session_id).await?;
        let shared = entries::whole(&mut *transaction, tenant.0, &shared).await?;
        let own = entries::by_seq(&mut *transaction, tenant.0, session_id, -1, i64::MAX).await?;
        let estimator = head.settings.estimator;
        let counted = tokio::task::spawn_blocking(move || count(&shared, own, estimator))
            .await
            .context("counting a session again")??;
        entries::recount(&mut *transaction, tenant.0, session_id, &counted).await?;
        let loaded = view::load_path(&mut transaction, tenant, head.leaf(), head.is_plain(), Read::Heads).await?;
        let fixed = (head.state.account.system, head.state.account.tools);
        let mut before = SessionState { recounting: false, ..head.state.clone() };
        before.account.calibration = 1.0;
        let state = view::state_of_path(&loaded, fixed, before);
        state.write_to(&mut row.head, &head.settings)?;
        sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
        // Their totals go on from those of the entries that they share with this session.
        for fork in path::forks(&mut transaction, tenant.0, session_id).await? {
            self.enqueue_recount(&mut transaction, tenant, fork).await?;
        }
        transaction.commit().await?;
        Ok(Committed::Done)
    }
}

/// New counts by `seq`, parents before children.
fn count(shared: &[StoredEntry], own: Vec<StoredEntry>, estimator: Estimator) -> Result<Vec<Recount>> {
    let total =
        |stored: &StoredEntry| (stored.entry.head.id, (stored.entry.head.path_tokens, stored.path_result_tokens));
    let mut totals: HashMap<Uuid, (i64, i64)> = shared.iter().map(total).collect();
    let mut elided = Elided::of(shared.iter().chain(&own), estimator);
    for stored in shared {
        elided.learn(&stored.entry.head, message_of(stored)?);
    }
    let mut counted = Vec::with_capacity(own.len());
    for mut stored in own {
        let before = stored.entry.parent_id.and_then(|parent| totals.get(&parent).copied()).unwrap_or_default();
        let mut added = (0, 0);
        if stored.entry.head.kind.holds_message()
            && let Some(message) = message_of(&stored)?
        {
            let fresh = tokens::count_message(estimator, &message);
            for (result, tokens) in stored.entry.head.shape.results.iter_mut().zip(&fresh.results) {
                result.tokens = *tokens;
            }
            stored.entry.head.tokens = fresh.total;
            // A chapter's message enters the context through the view alone.
            let is_chapter = stored.entry.head.kind == EntryType::Chapter;
            let fresh_total = if is_chapter { 0 } else { fresh.total };
            added = (i64::from(fresh_total), fresh.results.iter().map(|tokens| i64::from(*tokens)).sum());
            elided.learn(&stored.entry.head, Some(message));
        }
        if let Some(record) = &mut stored.record {
            let size =
                |text: &String| tokens::count_message(estimator, &Message::text(Role::User, text.as_str())).total;
            record.summary_tokens = record.summary.as_ref().map_or(0, size);
            stored.entry.head.tokens = record.summary_tokens;
            elided.recount(&mut record.elisions);
        }
        let after = (before.0 + added.0, before.1 + added.1);
        totals.insert(stored.entry.head.id, after);
        counted.push(Recount {
            seq: stored.entry.head.seq,
            tokens: stored.entry.head.tokens,
            path_tokens: after.0,
            path_result_tokens: after.1,
            shape: stored.entry.head.shape,
            record: stored.record.map(|record| *record),
        });
    }
    Ok(counted)
}

/// The messages that compactions show shorter, with the new counts of their results.
struct Elided {
    estimator: Estimator,
    wanted: HashSet<Uuid>,
    known: HashMap<Uuid, (Message, Vec<ResultRef>)>,
}

impl Elided {
    fn of<'a>(all: impl Iterator<Item = &'a StoredEntry>, estimator: Estimator) -> Elided {
        let records = all.filter_map(|stored| stored.record.as_ref());
        let wanted = records.flat_map(|record| &record.elisions).map(|elision| elision.entry_id).collect();
        Elided { estimator, wanted, known: HashMap::new() }
    }

    fn learn(&mut self, head: &EntryHead, message: Option<Message>) {
        if let Some(message) = message.filter(|_| self.wanted.contains(&head.id)) {
            self.known.insert(head.id, (message, head.shape.results.clone()));
        }
    }

    /// Counts each result and call anew, as it came and as it is shown. Elisions of one entry stand in any order.
    fn recount(&self, elisions: &mut [Elision]) {
        for elision in elisions.iter_mut() {
            let Some((message, results)) = self.known.get(&elision.entry_id) else { continue };
            let fresh = match elision.part {
                ElidedPart::Result => self.result(elision, message, results),
                ElidedPart::Arguments => self.arguments(elision, message),
            };
            if let Some((before, after)) = fresh {
                (elision.tokens_before, elision.tokens_after) = (before, after);
            }
        }
    }

    fn result(&self, elision: &Elision, message: &Message, results: &[ResultRef]) -> Option<(u32, u32)> {
        let slot = results.iter().position(|result| result.call_id == elision.tool_call_id)?;
        let result = message.tool_results().nth(slot)?;
        let mut shown = Message::new(Role::Tool, vec![Block::ToolResult(result.clone())]);
        mask::apply(&mut shown, std::slice::from_ref(elision));
        let after = tokens::count_message(self.estimator, &shown).results.first().copied();
        Some((results.get(slot)?.tokens, after.unwrap_or(elision.tokens_after)))
    }

    fn arguments(&self, elision: &Elision, message: &Message) -> Option<(u32, u32)> {
        let mut call = message.tool_calls().find(|call| call.id == elision.tool_call_id)?.clone();
        let before = arguments::call_tokens(self.estimator, &call);
        let (head, tail) = elision.keep_chars?;
        arguments::shorten(&mut call, head as usize, tail as usize);
        Some((before, arguments::call_tokens(self.estimator, &call)))
    }
}
