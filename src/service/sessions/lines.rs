//! Sessions as a list shows them, looked for by what people know of them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::domain::tokens::accounting::{FillState, Snapshot};
use crate::service::core::error::Result;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::store::session_lines::{self, LineQuery, LineRow};

/// Which sessions are looked for: those that are all of what is named.
#[derive(Debug, Clone, Default)]
pub struct SessionSearch {
    /// The beginning of an id, or a part of an external id or a title, in letters of any case.
    pub text: Option<String>,
    pub state: Option<FillState>,
    /// Those alone whose guard is tripped.
    pub guard_tripped: bool,
}

/// A session in a list. Long names are cut off.
#[derive(Debug, Clone)]
pub struct SessionLine {
    pub id: Uuid,
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub model: Option<String>,
    pub entry_count: i64,
    pub snapshot: Snapshot,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Queries {
    /// A page of the sessions that fit, newest first. One page looks at 50,000 sessions at most: where those are not all,
    /// it may be short and still have a next one.
    pub async fn session_lines(
        &self,
        tenant: Tenant,
        search: SessionSearch,
        page: PageRequest,
    ) -> Result<Page<SessionLine>> {
        let before_id = page.cursor_id()?;
        let fill_state = search.state.map(Into::into);
        let guard_tripped = search.guard_tripped;
        let query = LineQuery { text: search.text, fill_state, guard_tripped, before_id, limit: page.limit + 1 };
        let mut connection = self.pool.acquire().await?;
        let rows = session_lines::list(&mut *connection, tenant.0, &query).await?;
        let lines = rows.into_iter().map(|row| self.line(row)).collect::<Result<Vec<_>>>()?;
        let mut shown = Page::cut(lines, page.limit, |line| line.id.to_string());
        if shown.next_cursor.is_none() && (query.text.is_some() || fill_state.is_some()) {
            let looked_to = session_lines::looked_to(&mut *connection, tenant.0, &query).await?;
            shown.next_cursor = looked_to.map(|id| id.to_string());
        }
        Ok(shown)
    }

    fn line(&self, row: LineRow) -> Result<SessionLine> {
        let LineRow { id, external_id, title, created_at, updated_at, head } = row;
        let (model, entry_count) = (head.model.clone(), head.head.entry_count);
        let snapshot = self.heads.of_head(id, head)?.snapshot();
        Ok(SessionLine { id, external_id, title, model, entry_count, snapshot, created_at, updated_at })
    }
}
