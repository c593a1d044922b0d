//! What fills a session's window now.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::context::composition::{CategoryPart, LargeEntry, ToolPart, Whole, take_apart};
use crate::domain::tokens::accounting::{FillState, Source};
use crate::service::core::error::Result;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::view::{ReadMode, ViewOrigin, load_view};

/// The context at the leaf, taken apart. What is `source` `estimate` is counted here; with `usage` the parts are the
/// estimates brought to the size that the provider told.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Composition {
    pub session_id: Uuid,
    pub leaf_id: Option<Uuid>,
    pub tokens: u64,
    pub window: u32,
    pub reserve_tokens: u32,
    pub state: FillState,
    pub source: Source,
    /// Entries shown, the summary's among them.
    pub entries: u64,
    /// What tool results and arguments that are shown shorter would take besides.
    pub elided_tokens: u64,
    /// Every category; together they are `tokens`.
    pub categories: Vec<CategoryPart>,
    /// The tools by the tokens of their results; 100 at most.
    pub tools: Vec<ToolPart>,
    /// The largest first.
    pub largest: Vec<LargeEntry>,
}

impl Queries {
    /// What fills the window now; the `largest` entries are named. No item is read.
    pub async fn composition(&self, tenant: Tenant, session_id: Uuid, largest: usize) -> Result<Composition> {
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let mut reader = self.long_reads.reader(tenant, head.view_length()).await?;
        let loaded = load_view(reader.on()?, tenant, &ViewOrigin::of(&head), ReadMode::Heads).await?;
        reader.done();
        let snapshot = head.snapshot();
        let (system, tools) = (head.state.account.system, head.state.account.tools);
        let view = loaded.view();
        let (tokens, unposted) = (snapshot.tokens, snapshot.breakdown.unposted);
        let whole = Whole { heads: &loaded.heads, view: &view, system, tools, tokens, unposted };
        let parts = take_apart(whole, largest);
        Ok(Composition {
            session_id,
            leaf_id: head.row.leaf_id,
            tokens: snapshot.tokens,
            window: snapshot.window,
            reserve_tokens: snapshot.reserve_tokens,
            state: snapshot.state,
            source: snapshot.source,
            entries: parts.entries,
            elided_tokens: parts.elided_tokens,
            categories: parts.categories,
            tools: parts.tools,
            largest: parts.largest,
        })
    }
}
