//! The stored items that are paired.

use crate::model::format::Format;

/// A stored item as it came.
#[derive(Debug, Clone, Copy)]
pub struct StoredSource<'a> {
    pub format: Format,
    pub item: &'a str,
    /// Its shape was told just now and says all that the provider would refuse: it is not parsed again to find out.
    pub is_examined: bool,
    /// Goes to a client that knows its items by their ids: what the provider would refuse of those stays.
    pub keeps_ids: bool,
}
