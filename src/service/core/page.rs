//! Pages of lists.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::service::core::error::{Result, ServiceError};

/// Most bytes of what is stored that a page of a list holds, one larger item aside.
pub(crate) const PAGE_BYTES: i64 = 4 << 20;

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

/// Part of a list that is asked for: `limit` 1-200, `after` an earlier page's `next_cursor`.
#[derive(Debug, Clone)]
pub struct PageRequest {
    pub limit: i64,
    pub after: Option<String>,
}

impl PageRequest {
    /// The cursor as an id.
    ///
    /// # Errors
    /// `Invalid` at `after` for anything that no page handed out.
    pub fn cursor_id(&self) -> Result<Option<Uuid>> {
        self.after.as_deref().map(|cursor| Uuid::parse_str(cursor).map_err(|_| bad_cursor())).transpose()
    }

    /// The cursor as a number; see [`PageRequest::cursor_id`].
    pub fn cursor_number(&self) -> Result<Option<i64>> {
        self.after.as_deref().map(|cursor| cursor.parse().map_err(|_| bad_cursor())).transpose()
    }
}

/// The greatest id below this one.
pub(crate) fn id_before(id: Uuid) -> Uuid {
    Uuid::from_u128(id.as_u128().saturating_sub(1))
}

fn bad_cursor() -> ServiceError {
    ServiceError::invalid("/query/after", "is no cursor that a list handed out")
}

impl<T> Page<T> {
    /// One page of `items`, which hold one more than `limit` where there is a next page.
    pub fn cut(items: Vec<T>, limit: i64, cursor: impl Fn(&T) -> String) -> Page<T> {
        let found = items.len();
        Page::of(items, found, limit, cursor)
    }

    /// The same of those of `found` items that were not too large for one page.
    pub fn of(mut items: Vec<T>, found: usize, limit: i64, cursor: impl Fn(&T) -> String) -> Page<T> {
        items.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let more = found > items.len();
        let next_cursor = items.last().filter(|_| more).map(cursor);
        Page { items, next_cursor }
    }
}
