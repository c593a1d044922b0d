//! Elisions of compactions, counted anew: each result and call as it came and as it is shown.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::context::elision::{self, arguments};
use crate::domain::model::compaction::{CompactionRecord, ElidedPart, Elision};
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::model::shape::ResultRef;
use crate::domain::settings::Estimator;
use crate::domain::tokens;
use crate::service::core::error::Result;
use crate::service::core::offload::offload;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::store::entries::{self, StoredEntry};

/// Items held at a time: so many, or so many bytes of them.
const ENTRIES: usize = 200;
const BYTES: i64 = 4 << 20;

/// Counts the elisions of a record again. Everything that they are of comes before it, and so has its new counts.
pub async fn recount(
    connection: &mut PgConnection,
    tenant: Tenant,
    sessions: &[Uuid],
    estimator: Estimator,
    record: &mut CompactionRecord,
) -> Result<()> {
    let mut wanted: Vec<Uuid> = record.elisions.iter().map(|elision| elision.entry_id).collect();
    wanted.sort_unstable();
    wanted.dedup();
    for ids in wanted.chunks(ENTRIES) {
        let mut rest = entries::sizes_of(&mut *connection, tenant.0, sessions, ids).await?;
        while !rest.is_empty() {
            let fit = entries::fill(rest.iter().map(|(_, bytes)| *bytes), ENTRIES, BYTES);
            let part: Vec<Uuid> = rest.drain(..fit).map(|(id, _)| id).collect();
            let stored = entries::by_ids(&mut *connection, tenant.0, sessions, &part).await?;
            let bytes = stored.iter().map(|stored| stored.entry.item.len()).sum();
            let mut elisions = std::mem::take(&mut record.elisions);
            let job = move || {
                ElisionRecount::of(&stored, estimator).recount(&mut elisions);
                elisions
            };
            record.elisions = offload(bytes, job).await?;
        }
    }
    Ok(())
}

struct ElisionRecount {
    estimator: Estimator,
    known: HashMap<Uuid, (Message, Vec<ResultRef>)>,
}

impl ElisionRecount {
    fn of(stored: &[StoredEntry], estimator: Estimator) -> ElisionRecount {
        let known = stored.iter().filter_map(|stored| {
            let message = message_of(stored).ok().flatten()?;
            Some((stored.entry.head.id, (message, stored.entry.head.shape.results.clone())))
        });
        ElisionRecount { estimator, known: known.collect() }
    }

    /// Counts each result and call anew, as it came and as it is shown. Elisions of one entry stand in any order.
    fn recount(&self, elisions: &mut [Elision]) {
        for elision in elisions.iter_mut() {
            let Some((message, results)) = self.known.get(&elision.entry_id) else { continue };
            let fresh = match elision.part {
                ElidedPart::Result => self.result(elision, message, results),
                ElidedPart::Arguments => self.arguments(elision, message),
                ElidedPart::Words => self.words(elision, message),
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
        elision::apply(&mut shown, std::slice::from_ref(elision));
        let after = tokens::count_message(self.estimator, &shown).results.first().copied();
        Some((results.get(slot)?.tokens, after.unwrap_or(elision.tokens_after)))
    }

    fn words(&self, elision: &Elision, message: &Message) -> Option<(u32, u32)> {
        let mut shown = message.clone();
        elision::apply(&mut shown, std::slice::from_ref(elision));
        let count = |message: &Message| tokens::count_message(self.estimator, message).total;
        Some((count(message), count(&shown)))
    }

    fn arguments(&self, elision: &Elision, message: &Message) -> Option<(u32, u32)> {
        let mut call = message.tool_calls().find(|call| call.id == elision.tool_call_id)?.clone();
        let before = arguments::call_tokens(self.estimator, &call);
        elision.keep_chars?;
        arguments::show(&mut call, elision);
        Some((before, arguments::call_tokens(self.estimator, &call)))
    }
}
