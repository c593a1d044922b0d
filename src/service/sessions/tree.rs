//! The tree of a session: every entry without its content.

use std::collections::VecDeque;

use anyhow::Context as _;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::service::core::error::Result;
use crate::service::core::long_reads::LongReads;
use crate::service::core::pieces::{PieceWriter, Pieces, pieces};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::store::entries::{self, NodeRow};
use crate::store::path::{self, Segment};

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tree {
    pub leaf_id: Option<Uuid>,
    pub nodes: Vec<TreeNode>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TreeNode {
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u32,
    pub label: Option<String>,
}

impl From<NodeRow> for TreeNode {
    fn from(row: NodeRow) -> TreeNode {
        TreeNode {
            id: row.id,
            parent_id: row.parent_id,
            kind: row.kind.into_str(),
            role: row.role.map(|role| role.into_str()),
            tokens: row.tokens,
            label: row.label,
        }
    }
}

impl Queries {
    /// Every entry of the session, without the items: a [`Tree`] as JSON, in pieces.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub async fn tree(&self, tenant: Tenant, session_id: Uuid) -> Result<Pieces> {
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let shared = path::shared_history(&mut connection, tenant.0, session_id).await?;
        let leaf = serde_json::to_string(&head.row.leaf_id).context("an id")?;
        Ok(pieces(Nodes {
            long_reads: self.long_reads.clone(),
            tenant,
            session_id,
            shared: path::portions(&shared).collect(),
            after: -1,
            last: head.row.next_seq - 1,
            begin: Some(format!(r#"{{"leaf_id":{leaf},"nodes":["#)),
            is_first: true,
            has_ended: false,
        }))
    }
}

/// The nodes of a session up to one of them.
struct Nodes {
    long_reads: LongReads,
    tenant: Tenant,
    session_id: Uuid,
    /// Segments of the history shared with others that are not read yet, by statement.
    shared: VecDeque<Vec<Segment>>,
    after: i64,
    /// The `seq` of the last one.
    last: i64,
    begin: Option<String>,
    is_first: bool,
    has_ended: bool,
}

impl PieceWriter for Nodes {
    async fn next(&mut self) -> Result<Option<String>> {
        if self.has_ended {
            return Ok(None);
        }
        let rows = self.read().await?;
        let mut text = self.begin.take().unwrap_or_default();
        if rows.is_empty() {
            self.has_ended = true;
            text.push_str("]}");
            return Ok(Some(text));
        }
        for row in rows {
            if !std::mem::take(&mut self.is_first) {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(&TreeNode::from(row)).context("a node")?);
        }
        Ok(Some(text))
    }
}

impl Nodes {
    /// The next nodes; none are left where there are none.
    async fn read(&mut self) -> Result<Vec<NodeRow>> {
        let mut reader = self.long_reads.reader(self.tenant, self.last - self.after).await?;
        while let Some(portion) = self.shared.pop_front() {
            let rows = entries::nodes(reader.on()?, self.tenant.0, &portion).await?;
            if !rows.is_empty() {
                reader.done();
                return Ok(rows);
            }
        }
        let mut rows = entries::nodes_by_seq(reader.on()?, self.tenant.0, self.session_id, self.after).await?;
        reader.done();
        rows.retain(|row| row.seq <= self.last);
        self.after = rows.last().map_or(self.last, |row| row.seq);
        Ok(rows)
    }
}
