//! Sessions as a list shows them, looked for by what people know of them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::domain::model::metadata::MetadataValue;
use crate::domain::tokens::accounting::{FillState, Snapshot};
use crate::service::core::error::Result;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::sessions::find::{SessionOrder, Wanted};
use crate::store::session_lines::{self, LineRow};
use crate::store::session_looks::{Among, Conditions};

/// Which sessions are looked for: those that are all of what is named.
#[derive(Debug, Clone, Default)]
pub struct SessionSearch {
    /// The beginning of an id, or a part of an external id or a title, in letters of any case.
    pub text: Option<String>,
    pub state: Option<FillState>,
    /// Those alone whose guard was tripped when they last changed.
    pub guard_tripped: bool,
    pub metadata: Vec<MetadataValue>,
    pub order: SessionOrder,
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
    /// A page of the sessions that fit. One page looks at 50,000 sessions at most: where those are not all, it may be short
    /// and still have a next one.
    pub async fn session_lines(
        &self,
        tenant: Tenant,
        search: SessionSearch,
        page: PageRequest,
    ) -> Result<Page<SessionLine>> {
        let SessionSearch { text, state, guard_tripped, metadata, order } = search;
        let fill_state = state.map(|state| state.into_str().to_owned());
        let conditions = Conditions { text, fill_state, guard_tripped, ..Conditions::default() };
        let found = self.found(tenant, &Wanted::new(Among::All, conditions, metadata, order), &page).await?;
        let rows = session_lines::of(&self.pool, tenant.0, &found.ids()).await?;
        let items = rows.into_iter().map(|row| self.line(row)).collect::<Result<Vec<_>>>()?;
        Ok(Page { items, next_cursor: found.next.map(|place| place.to_string()) })
    }

    fn line(&self, row: LineRow) -> Result<SessionLine> {
        let LineRow { id, external_id, title, created_at, updated_at, head } = row;
        let (model, entry_count) = (head.model.clone(), head.head.entry_count);
        let snapshot = self.heads.of_head(id, head)?.snapshot();
        Ok(SessionLine { id, external_id, title, model, entry_count, snapshot, created_at, updated_at })
    }
}
