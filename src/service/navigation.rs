//! Moving the leaf, and the summary of what is left behind.
//!
//! A summary is written before the leaf moves: [`Service::navigate`] plans the pending, a worker has the summary
//! written, and one transaction moves the leaf and puts the summary there. A call that is broken off moves nothing.

mod await_summary;
mod branch_summary;
mod hooks_asked;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;
use tokio::time::Instant;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::compaction::result::{Fallback, UpstreamReport};
use crate::domain::hook::Event;
use crate::domain::model::compaction::FileLists;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::shape::Shape;
use crate::domain::tokens;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::carry::{carry, take_up};
use crate::service::compaction::commit::entry::{new_branch, step_behind};
use crate::service::compaction::committing::committing;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::About;
use crate::service::path::entries::{load_entry, message_of};
use crate::service::path::view::{self, PathSlice, ReadMode};
use crate::service::{events, hooks};
use crate::store::entries::{self, NewBranch, NewEntry, StoredEntry, Write};
use crate::store::path::{self, Leaf};
use crate::store::{branch_summaries, sessions};

pub use branch_summary::{BranchSummaryDraft, BranchSummaryWork, BranchWriter, PendingBranchSummary};

/// A branch summary whose leaf has moved on is planned anew once.
const PLANS: u32 = 2;

/// Where to move the leaf.
#[derive(Debug, Clone, Default)]
pub struct Navigate {
    /// `None`: before the first entry.
    pub target_id: Option<Uuid>,
    /// Leave a summary of the branch that is left, at the target.
    pub summarize: bool,
    /// What the summary should look at.
    pub instructions: Option<String>,
    /// `instructions` stand in place of the service's own prompt.
    pub replace_instructions: bool,
    /// The longest wait for an upstream; then the built-in summariser writes the summary.
    pub wait: Duration,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Navigated {
    pub leaf_id: Option<Uuid>,
    pub old_leaf_id: Option<Uuid>,
    /// The text of the user message that was navigated onto, to be edited and sent again.
    pub editor_text: Option<String>,
    /// Null where no summary was asked for, or nothing was left that one could tell.
    pub summary_entry_id: Option<Uuid>,
    pub summary: Option<BranchSummary>,
    pub snapshot: Snapshot,
}

/// The summary that a move of the leaf has left.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BranchSummary {
    /// As the model is shown it.
    pub text: String,
    pub tokens: u32,
    pub messages_summarized: u32,
    pub details: FileLists,
    pub upstream: UpstreamReport,
    pub fallback: Fallback,
}

/// A pending branch summary, as the call found it: the leaf that it is from, and the summary where there is something to tell.
pub(super) struct Left {
    leaf_id: Option<Uuid>,
    drafted: Option<(Uuid, BranchSummaryDraft)>,
}

/// A place for the leaf.
pub(crate) struct Landing {
    pub leaf: Leaf,
    pub is_tip: bool,
}

impl Service {
    /// Moves the leaf. Onto a user message or an extension's: the leaf is its parent and its text comes back. Onto the
    /// leaf itself: nothing happens.
    ///
    /// # Errors
    /// `NotFound`; `LeafMoved`: the branch grew faster than it could be summarised; `Conflict`: no summary
    /// (`summary_failed`), a hook is against it (`cancelled_by_hook`), or a newer call has taken this one's place (`navigation_superseded`); `QueueFull`.
    pub async fn navigate(&self, tenant: Tenant, session_id: Uuid, navigate: Navigate) -> Result<Navigated> {
        let offered = self.before_navigate(tenant, session_id, &navigate).await?;
        let deadline = Instant::now() + navigate.wait;
        for _ in 0..PLANS {
            let left = match navigate.summarize {
                true => Some(self.leave(tenant, session_id, &navigate, offered.as_ref(), deadline).await?),
                false => None,
            };
            if let Some(navigated) = committing(self.move_leaf(tenant, session_id, navigate.target_id, left)).await? {
                self.inner.feed.touch(tenant, session_id);
                return Ok(navigated);
            }
        }
        let head = self.inner.heads.read(self.pool(), tenant, session_id).await?;
        Err(ServiceError::LeafMoved { leaf_id: head.row.leaf_id })
    }

    /// The move itself. `None`: the leaf is no longer the one that was left.
    async fn move_leaf(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        target_id: Option<Uuid>,
        left: Option<Left>,
    ) -> Result<Option<Navigated>> {
        let (mut transaction, mut row, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        let old_leaf_id = row.head.leaf_id;
        if left.as_ref().is_some_and(|left| left.leaf_id != old_leaf_id) {
            return Ok(None);
        }
        let mut proof = None;
        let mut navigated = Navigated {
            leaf_id: old_leaf_id,
            old_leaf_id,
            editor_text: None,
            summary_entry_id: None,
            summary: None,
            snapshot: head.snapshot(),
        };
        if target_id != old_leaf_id {
            let (target, editor_text) = aim(&mut transaction, tenant, session_id, target_id).await?;
            let landing = land(&mut transaction, tenant, &mut row, target.as_ref()).await?;
            let mut loaded = view::load_path(&mut transaction, tenant, landing.leaf, false, ReadMode::Heads).await?;
            head.row = row.head.clone();
            head.state.leaf_is_tip = landing.is_tip;
            take_up(&mut head, &loaded);
            let carried = carry(&mut transaction, tenant, &mut head, &mut loaded, None, true).await?;
            let (mut entries, mut branches) =
                carried.map_or_else(Default::default, |carried| (vec![carried.entry], carried.branches));
            let carried_id = entries.last().map(|entry| entry.head.id);
            if let Some((id, draft)) = left.and_then(|left| left.drafted) {
                branch_summaries::remove(&mut *transaction, tenant.0, session_id, id).await?;
                let (entry, branch) = settle_summary(&mut head, &mut loaded, old_leaf_id, &draft);
                navigated.summary_entry_id = Some(entry.head.id);
                navigated.summary = Some(report(&entry, draft));
                entries.push(entry);
                branches.extend(branch);
            }
            self.check_candidate(&mut transaction, tenant, &mut head).await?;
            navigated.snapshot = head.state.write_to(&mut head.row, &head.settings)?;
            if head.row.fill_state != row.head.fill_state {
                events::record_snapshot(&mut transaction, tenant, session_id, &navigated.snapshot).await?;
            }
            let (version, now) = (head.row.version, clock::now());
            let write = Write { session_id, version, head: &head.row, entries: &entries, branches: &branches, now };
            if !entries::write(&mut *transaction, tenant.0, &write).await? {
                return Err(anyhow::anyhow!("the head of a locked session has moved").into());
            }
            let made = navigated.summary_entry_id.or(carried_id);
            proof = Some(Proof::of(made, version + 1, now));
            (navigated.leaf_id, navigated.editor_text) = (head.row.leaf_id, editor_text);
            announce_move(&mut transaction, tenant, session_id, old_leaf_id, &navigated).await?;
        }
        seal(&mut transaction, Outcome::Done, &navigated).await?;
        self.inner.heads.commit(transaction, tenant, session_id, proof).await?;
        Ok(Some(navigated))
    }
}

/// Puts the leaf on a target. An entry of shared history is reached through a branch of this session's own.
pub(crate) async fn land(
    connection: &mut PgConnection,
    tenant: Tenant,
    row: &mut sessions::SessionRow,
    target: Option<&StoredEntry>,
) -> Result<Landing> {
    let (place, id) = match target {
        Some(stored) => {
            let depth = stored.entry.head.depth;
            (Leaf { session_id: stored.session_id, branch: stored.branch, depth }, Some(stored.entry.head.id))
        }
        None => (Leaf { session_id: row.id, branch: 0, depth: -1 }, None),
    };
    let foreign = place.session_id != row.id || (place.depth < 0 && row.parent_session.is_some());
    let branch = if foreign {
        let branch = row.head.next_branch;
        row.head.next_branch += 1;
        path::insert_branch(connection, tenant.0, row.id, branch, place).await?;
        branch
    } else {
        place.branch
    };
    (row.head.leaf_branch, row.head.leaf_depth, row.head.leaf_id) = (branch, place.depth, id);
    let leaf = Leaf { session_id: row.id, branch, depth: place.depth };
    let tip = entries::tip_depth(connection, tenant.0, row.id, branch).await?;
    Ok(Landing { leaf, is_tip: tip == leaf.depth || (tip < 0 && branch != 0) })
}

/// Has the hooks told of a move, when the transaction commits.
async fn announce_move(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    old_leaf_id: Option<Uuid>,
    navigated: &Navigated,
) -> Result<()> {
    let about = About { tenant, session_id, compaction_id: None };
    let data = json!({
        "old_leaf_id": old_leaf_id,
        "new_leaf_id": navigated.leaf_id,
        "summary_entry_id": navigated.summary_entry_id,
    });
    hooks::announce(connection, about, Event::AfterNavigate, &data).await
}

/// Where a move to this target ends, and the text that goes back to the editor.
async fn aim(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    target_id: Option<Uuid>,
) -> Result<(Option<StoredEntry>, Option<String>)> {
    let Some(id) = target_id else { return Ok((None, None)) };
    let entry = load_entry(connection, tenant, session_id, id).await?;
    if !goes_back_to_editor(&entry) {
        return Ok((Some(entry), None));
    }
    let text = message_of(&entry)?.map(|message| message.plain_text());
    let parent = match entry.entry.parent_id {
        Some(parent) => Some(load_entry(connection, tenant, session_id, parent).await?),
        None => None,
    };
    Ok((parent, text))
}

fn goes_back_to_editor(stored: &StoredEntry) -> bool {
    let head = &stored.entry.head;
    let spoken = head.kind == EntryType::Message && head.role == Some(Role::User) && head.shape.results.is_empty();
    spoken || head.kind == EntryType::CustomMessage
}

/// Appends the summary at the new leaf, which it then is.
fn settle_summary(
    head: &mut Head,
    loaded: &mut PathSlice,
    from_id: Option<Uuid>,
    draft: &BranchSummaryDraft,
) -> (NewEntry, Vec<NewBranch>) {
    let branches = new_branch(head, head.row.next_branch);
    let branch = branches.first().map_or(head.row.leaf_branch, |new| new.branch);
    let entry = summary_entry(head, branch, from_id, draft);
    step_behind(head, &entry);
    loaded.heads.push(entry.head.clone());
    loaded.stored.push(Arc::new(StoredEntry::unsaved(&entry, head.session_id)));
    take_up(head, loaded);
    (entry, branches)
}

fn summary_entry(head: &Head, branch: i32, from_id: Option<Uuid>, draft: &BranchSummaryDraft) -> NewEntry {
    let (now, seq) = (clock::now(), head.row.next_seq);
    let role = Role::BranchSummary;
    let counted = tokens::count_message(head.settings.estimator, &Message::text(role, draft.text.as_str()));
    let item = json!({
        "type": EntryType::BranchSummary.into_str(),
        "role": role.into_str(),
        "content": [{"type": "text", "text": draft.text}],
        "from_id": from_id,
        "details": draft.details,
        "from_hook": draft.from_hook,
    });
    NewEntry {
        head: EntryMeta {
            id: clock::entry_id(now, seq),
            seq,
            depth: head.row.leaf_depth + 1,
            kind: EntryType::BranchSummary,
            role: Some(role),
            tokens: counted.total,
            path_tokens: head.state.account.path_tokens + i64::from(counted.total),
            usage: None,
            shape: Shape::default(),
        },
        branch,
        parent_id: head.row.leaf_id,
        path_result_tokens: head.state.account.path_result_tokens,
        source_format: Format::Native,
        source_id: None,
        item: item.to_string(),
        record: None,
        created_at: now,
    }
}

fn report(entry: &NewEntry, draft: BranchSummaryDraft) -> BranchSummary {
    BranchSummary {
        text: draft.text,
        tokens: entry.head.tokens,
        messages_summarized: draft.messages,
        details: draft.details,
        upstream: draft.upstream,
        fallback: draft.fallback,
    }
}

/// A draft as the row keeps it.
fn json_text<T: Serialize>(value: &T) -> Result<String> {
    Ok(serde_json::to_string(value).context("a pending branch summary as JSON")?)
}
