//! Lists of sessions.

use chrono::{DateTime, Utc};

use crate::domain::model::metadata::MetadataValue;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::page::{PAGE_BYTES, Page, PageRequest};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::sessions::find::{Found, Place, SessionOrder, Wanted, find};
use crate::service::sessions::{Session, show_row};
use crate::store::session_looks::{Among, Conditions};
use crate::store::sessions;

/// Which sessions to list: those that are all of what is named.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub external_id: Option<String>,
    /// `green`, `yellow` or `red`.
    pub state: Option<String>,
    pub updated_after: Option<DateTime<Utc>>,
    /// Those alone whose guard was tripped when they last changed.
    pub guard_tripped: bool,
    pub metadata: Vec<MetadataValue>,
    pub order: SessionOrder,
}

impl Queries {
    /// A page of the sessions that fit. It looks at 50,000 sessions at most: where those are not all, it may be short
    /// and still have a next one.
    pub async fn sessions(&self, tenant: Tenant, filter: SessionFilter, page: PageRequest) -> Result<Page<Session>> {
        let SessionFilter { external_id, state, updated_after, guard_tripped, metadata, order } = filter;
        let among = external_id.map_or(Among::All, |name| Among::ExternalIds(vec![name]));
        let conditions = Conditions { fill_state: state, updated_after, guard_tripped, ..Conditions::default() };
        let found = self.found(tenant, &Wanted::new(among, conditions, metadata, order), &page).await?;
        let rows = sessions::listed(&self.pool, tenant.0, &found.ids(), PAGE_BYTES).await?;
        // What was too large for this page begins the next one.
        let cut = rows.last().map(|(place, _)| *place).filter(|last| last + 1 < found.ids().len());
        let next = cut.map_or(found.next, |last| found.behind(last));
        let items = rows.into_iter().map(|(_, row)| show_row(&self.heads, &row)).collect::<Result<Vec<_>>>()?;
        Ok(Page { items, next_cursor: next.map(|place| place.to_string()) })
    }

    /// The newest session of an external id, as a list of them has it first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn session_by_external_id(&self, tenant: Tenant, external_id: &str) -> Result<Session> {
        let nobody = || ServiceError::NotFound("session");
        // No column of text holds this character.
        if external_id.contains('\0') {
            return Err(nobody());
        }
        let id = sessions::newest_named(&self.pool, tenant.0, external_id).await?;
        self.session(tenant, id.ok_or_else(nobody)?).await
    }

    /// Finds a page of sessions. Who looks through many takes a turn.
    pub(super) async fn found(&self, tenant: Tenant, wanted: &Wanted, page: &PageRequest) -> Result<Found> {
        let read = |cursor: &str| Place::read(cursor, wanted.order, "/query/after");
        let place = page.after.as_deref().map(read).transpose()?;
        let entries = if wanted.is_long() { i64::MAX } else { 0 };
        let mut reader = self.long_reads.reader(tenant, entries).await?;
        let found = find(reader.on()?, tenant, wanted, place, page.limit).await?;
        reader.done();
        Ok(found)
    }
}
