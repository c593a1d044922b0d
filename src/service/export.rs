//! Sessions as files: pi's with every branch, or the items of one path.

use uuid::Uuid;

use super::error::Result;
use super::state::{Service, Tenant};
use super::stretches;
use crate::domain::format::Format;
use crate::domain::format::pi::export::{Exported, Exporter, Known, Origin, as_items};
use crate::store::entries::{self, StoredEntry};
use crate::store::{self, path};

/// What to write.
#[derive(Debug, Clone, Copy)]
pub struct Export {
    pub format: Format,
    /// Another leaf than the session's.
    pub leaf_id: Option<Uuid>,
}

/// The lines of a path in one format.
struct Lines {
    format: Format,
    text: String,
}

impl Service {
    /// A session as JSON Lines. `pi`: a session file of version 3 with all branches, the leaf last. Any other format:
    /// the items of the leaf's path, those of that format as they came.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub async fn export(&self, tenant: Tenant, session_id: Uuid, export: Export) -> Result<String> {
        match export.format {
            Format::Pi => self.export_tree(tenant, session_id, export.leaf_id).await,
            format => self.export_path(tenant, session_id, format, export.leaf_id).await,
        }
    }

    async fn export_path(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        format: Format,
        leaf_id: Option<Uuid>,
    ) -> Result<String> {
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let segments = self.path_of(&mut connection, tenant, &head, leaf_id).await?;
        let lines = Lines { format, text: String::new() };
        Ok(stretches::fold(&mut connection, tenant, &segments, lines, Lines::take).await?.text)
    }

    async fn export_tree(&self, tenant: Tenant, session_id: Uuid, leaf_id: Option<Uuid>) -> Result<String> {
        let row = self.session_row(tenant, session_id).await?;
        let mut transaction = self.pool().begin().await?;
        // Both readings must be of one state: what is appended between them would hang in the air.
        store::hold_still(&mut transaction).await?;
        let head = self.head_on(&mut transaction, tenant, session_id).await?;
        if let Some(id) = leaf_id {
            super::view::place(&mut transaction, tenant, session_id, id).await?;
        }
        let shared = path::shared_history(&mut transaction, tenant.0, session_id).await?;
        let mut heads = entries::heads(&mut *transaction, tenant.0, &shared).await?;
        heads.extend(entries::heads_by_seq(&mut *transaction, tenant.0, session_id).await?);
        let origin = Origin { session_id, created_at: row.created_at, updated_at: row.updated_at };
        let exporter = Exporter::new(heads.iter().map(known), leaf_id.or(head.row.leaf_id), origin);
        drop(heads);
        let exporter = stretches::fold(&mut transaction, tenant, &shared, exporter, push).await?;
        let own = entries::each_by_seq(&mut *transaction, tenant.0, session_id);
        Ok(stretches::fold_all(own, exporter, push).await?.finish())
    }
}

impl Lines {
    fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        // A compaction of the service's own is no item of any format.
        if stored.record.is_none() || stored.entry.source_format != Format::Native {
            for line in as_items(&stored.entry, self.format) {
                self.text.push_str(&line);
                self.text.push('\n');
            }
        }
        Ok(())
    }
}

fn push(exporter: &mut Exporter, stored: &StoredEntry) -> Result<()> {
    let (record, label) = (stored.record.as_deref(), stored.label.as_deref());
    exporter.push(&Exported { entry: &stored.entry, record, label });
    Ok(())
}

fn known(stored: &StoredEntry) -> Known<'_> {
    Known {
        head: &stored.entry.head,
        parent_id: stored.entry.parent_id,
        source_format: stored.entry.source_format,
        source_id: stored.entry.source_id.as_deref(),
        record: stored.record.as_deref(),
    }
}
