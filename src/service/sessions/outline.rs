//! The outline of a session's tree: its branches, where they part, and the entries that stand out.

use uuid::Uuid;

use crate::service::core::error::Result;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::store::outline::{self, BranchRow, MarkRow};

/// Branches that are told, besides the first.
const MOST_BRANCHES: i64 = 200;
const MOST_MARKS: i64 = 200;
/// Labels are looked for among so many of the newest entries.
const LABELLED_ENTRIES: i64 = 20_000;

/// A session's tree without its entries.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Branch and depth of the leaf; `None` where it is in the history that a fork shares, or there is none.
    pub leaf: Option<(i32, i64)>,
    /// In order; not all where there are more than 200.
    pub branches: Vec<OutlineBranch>,
    pub marks: Vec<OutlineMark>,
}

/// A branch of the session's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineBranch {
    pub branch: i32,
    /// The branch of this session that it goes on from.
    pub parent: Option<i32>,
    /// Depths of its first and last entry.
    pub from: i64,
    pub to: i64,
    /// Its last entry.
    pub tip: Uuid,
}

/// An entry that stands out: a compaction, a chapter, a branch summary, or one with a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineMark {
    pub branch: i32,
    pub depth: i64,
    pub entry_id: Uuid,
    /// As the entry's `type`.
    pub kind: String,
    /// The first 120 characters of it.
    pub label: Option<String>,
}

impl Queries {
    /// The outline of a session's tree. No item is read, and what it costs does not follow the number of entries.
    pub async fn outline(&self, tenant: Tenant, session_id: Uuid) -> Result<Outline> {
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let branches = outline::branches(&mut *connection, tenant.0, session_id, MOST_BRANCHES).await?;
        let mut marks = outline::ours(&mut *connection, tenant.0, session_id, MOST_MARKS).await?;
        let after = head.row.next_seq - LABELLED_ENTRIES;
        marks.extend(outline::labelled(&mut *connection, tenant.0, session_id, after, MOST_MARKS).await?);
        marks.sort_by_key(|mark| (mark.branch, mark.depth));
        marks.dedup_by_key(|mark| mark.id);
        let branches: Vec<OutlineBranch> = branches.into_iter().map(|row| branch(session_id, row)).collect();
        let (at, depth) = (head.row.leaf_branch, head.row.leaf_depth);
        let holds = |branch: &OutlineBranch| branch.branch == at && (branch.from..=branch.to).contains(&depth);
        let leaf = branches.iter().any(holds).then_some((at, depth));
        Ok(Outline { leaf, branches, marks: marks.into_iter().map(mark).collect() })
    }
}

fn branch(session_id: Uuid, row: BranchRow) -> OutlineBranch {
    OutlineBranch {
        branch: row.branch,
        parent: (row.parent_session == Some(session_id)).then_some(row.parent_branch),
        from: row.fork_depth + 1,
        to: row.tip_depth,
        tip: row.tip,
    }
}

fn mark(row: MarkRow) -> OutlineMark {
    OutlineMark { branch: row.branch, depth: row.depth, entry_id: row.id, kind: row.kind, label: row.label }
}
