//! Finding sessions by what they are, a page at a time, in one of three orders.
//!
//! Nothing is indexed for it but ids and external ids: an index on what changes with each append would be paid by every
//! append. So a page looks at a bounded number of sessions, from the newest on, and may be short and still have a next one.
//! An order by activity or size is one of those that are looked at: a stretch of sessions, and after it the stretch of
//! older ones.

use sqlx::PgConnection;
use strum::{EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

use crate::domain::model::metadata::{MetadataValue, has_all};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::offload::offload;
use crate::service::core::page::id_before;
use crate::service::core::tenant::Tenant;
use crate::store::session_looks::{self, Among, By, Conditions, Look, Looked};
use crate::store::sessions::SessionRow;

/// Sessions that one page looks at, and that make a stretch.
pub const STRETCH: i64 = 50_000;
/// Sessions that one statement looks at where their metadata are read, or where it may end early.
const STEP: i64 = 10_000;
const FIRST_STEP: i64 = 1_000;
const STEP_OF_EACH: i64 = 1_000;
/// Bytes of metadata that one statement reads, and how many such statements a page makes.
const STEP_BYTES: i64 = 8 << 20;
const STEPS: usize = 8;

/// Order of a list of sessions, the first to last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SessionOrder {
    /// The newest first.
    #[default]
    Created,
    /// The last changed first.
    Activity,
    /// The most tokens first.
    Size,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub among: Among,
    pub conditions: Conditions,
    pub metadata: Vec<MetadataValue>,
    pub order: SessionOrder,
}

impl Wanted {
    /// Sessions of these values of metadata, besides.
    pub fn new(among: Among, mut conditions: Conditions, metadata: Vec<MetadataValue>, order: SessionOrder) -> Wanted {
        conditions.with_metadata = !metadata.is_empty();
        conditions.metadata_probes = metadata.iter().flat_map(MetadataValue::probes).map(str::to_owned).collect();
        Wanted { among, conditions, metadata, order }
    }

    fn by(&self) -> By {
        match self.order {
            SessionOrder::Created => By::Id,
            SessionOrder::Activity => By::UpdatedAt,
            SessionOrder::Size => By::Tokens,
        }
    }

    /// Returns true if a session is still among them, whatever it has become since it was found.
    pub fn admits(&self, row: &SessionRow) -> bool {
        let Conditions {
            fill_state, updated_after, updated_before, created_after, created_before, guard_tripped, ..
        } = &self.conditions;
        (!guard_tripped || row.head.guard_tripped)
            && fill_state.as_ref().is_none_or(|state| *state == row.head.fill_state)
            && updated_after.is_none_or(|time| row.updated_at > time)
            && updated_before.is_none_or(|time| row.updated_at < time)
            && created_after.is_none_or(|time| row.created_at > time)
            && created_before.is_none_or(|time| row.created_at < time)
            && has_all(&row.metadata, &self.metadata)
    }

    /// Returns true if finding them reads more than what is shown.
    pub fn is_long(&self) -> bool {
        self.order != SessionOrder::Created || self.conditions.with_metadata
    }
}

/// Place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub order: SessionOrder,
    /// The newest session that is looked at.
    pub from: Uuid,
    /// Within a stretch: its oldest session, and what was shown last.
    pub within: Option<Within>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Within {
    pub to: Uuid,
    pub below: (i64, Uuid),
}

impl Place {
    /// Behind a session, in the order of age.
    pub fn behind(id: Uuid) -> Place {
        Place::at(SessionOrder::Created, id_before(id))
    }

    fn at(order: SessionOrder, from: Uuid) -> Place {
        Place { order, from, within: None }
    }
}

/// Sessions that were found.
#[derive(Debug)]
pub(crate) struct Found {
    order: SessionOrder,
    /// The stretch, from its newest session to its oldest; the latter is nil where there is none behind it.
    stretch: (Uuid, Uuid),
    sessions: Vec<(i64, Uuid)>,
    /// Where the next page begins.
    pub next: Option<Place>,
}

impl Found {
    pub fn ids(&self) -> Vec<Uuid> {
        self.sessions.iter().map(|(_, id)| *id).collect()
    }

    /// Where to go on behind one of them.
    pub fn behind(&self, place: usize) -> Option<Place> {
        let below = *self.sessions.get(place)?;
        Some(match self.order {
            SessionOrder::Created => Place::behind(below.1),
            _ => {
                let (from, to) = self.stretch;
                Place { order: self.order, from, within: Some(Within { to, below }) }
            }
        })
    }
}

/// Finds up to `limit` sessions from a place on.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: Tenant,
    wanted: &Wanted,
    place: Option<Place>,
    limit: i64,
) -> Result<Found> {
    let start = place.unwrap_or(Place::at(wanted.order, Uuid::max()));
    let mut search = Search::new(wanted, start, limit);
    for _ in 0..STEPS {
        let look = search.look();
        let seen = session_looks::look(&mut *connection, tenant.0, &wanted.among, &wanted.conditions, &look).await?;
        search.take(seen, &look).await?;
        if search.is_done() {
            break;
        }
    }
    Ok(search.end())
}

/// A search at work.
struct Search<'w> {
    wanted: &'w Wanted,
    start: Place,
    limit: i64,
    /// The first session that was looked at.
    first: Option<Uuid>,
    /// Where the next look begins.
    from: Uuid,
    looked_at: i64,
    /// Nothing is left to look at, down to the end of the stretch if that is known.
    is_over: bool,
    sessions: Vec<(i64, Uuid)>,
}

impl<'w> Search<'w> {
    fn new(wanted: &'w Wanted, start: Place, limit: i64) -> Search<'w> {
        Search {
            wanted,
            start,
            limit,
            first: None,
            from: start.from,
            looked_at: 0,
            is_over: false,
            sessions: Vec::new(),
        }
    }

    fn look(&self) -> Look {
        let conditions = &self.wanted.conditions;
        let is_plain = self.wanted.order == SessionOrder::Created && conditions.is_empty();
        let sessions = match (self.wanted.is_long(), conditions.with_metadata) {
            // One step more where the newest of them were erased and only hidden.
            _ if is_plain && self.looked_at == 0 => self.limit + 1,
            // So many of each of them.
            _ if matches!(&self.wanted.among, Among::ExternalIds(names) if names.len() > 1) => STEP_OF_EACH,
            (true, false) => STRETCH,
            _ if self.looked_at == 0 => FIRST_STEP,
            _ => STEP,
        };
        Look {
            by: self.wanted.by(),
            from: self.from,
            to: self.start.within.map_or(Uuid::nil(), |within| within.to),
            sessions,
            bytes: STEP_BYTES,
            below: self.start.within.map(|within| within.below),
            // Whether what is read for its metadata fits is not known yet.
            limit: if conditions.with_metadata { sessions } else { self.limit + 1 },
        }
    }

    async fn take(&mut self, seen: Vec<Looked>, look: &Look) -> Result<()> {
        let Some(last) = seen.iter().find(|one| one.is_last) else {
            self.is_over = true;
            return Ok(());
        };
        self.first = self.first.or(Some(last.first));
        self.from = id_before(last.id);
        self.looked_at += last.looked_at;
        // Where metadata are read, a look may end by their bytes.
        self.is_over = last.id <= look.to || (last.looked_at < look.sessions && !self.wanted.conditions.with_metadata);
        let metadata = self.wanted.metadata.clone();
        let bytes = seen.iter().filter_map(|one| one.metadata.as_ref()).map(String::len).sum();
        let fitting = move || -> Vec<(i64, Uuid)> {
            let fits = |one: &Looked| one.fits && has_all(one.metadata.as_deref().unwrap_or_default(), &metadata);
            seen.iter().filter(|one| fits(one)).map(|one| (one.value, one.id)).collect()
        };
        self.sessions.extend(offload(bytes, fitting).await?);
        self.sessions.sort_unstable_by_key(|session| std::cmp::Reverse(*session));
        self.sessions.truncate(usize::try_from(self.limit + 1).unwrap_or(usize::MAX));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.sessions.len() as i64 > self.limit
    }

    fn is_done(&self) -> bool {
        let is_short = self.wanted.order == SessionOrder::Created && self.is_full();
        self.is_over || is_short || self.looked_at >= STRETCH
    }

    fn end(mut self) -> Found {
        let order = self.wanted.order;
        let known = self.start.within.map(|within| within.to);
        let to = known.unwrap_or(if self.is_over { Uuid::nil() } else { Uuid::from_u128(self.from.as_u128() + 1) });
        let is_full = self.is_full();
        self.sessions.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        let stretch = (self.first.unwrap_or(self.start.from), to);
        let mut found = Found { order, stretch, sessions: self.sessions, next: None };
        found.next = match is_full {
            true => found.sessions.len().checked_sub(1).and_then(|last| found.behind(last)),
            false => (!to.is_nil()).then(|| Place::at(order, id_before(to))),
        };
        found
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order: &str = self.order.into();
        match self.within {
            None => write!(f, "{order}.{}", self.from),
            Some(Within { to, below: (value, id) }) => write!(f, "{order}.{}.{to}.{value}.{id}", self.from),
        }
    }
}

impl Place {
    /// Reads a cursor of a list in this order.
    ///
    /// # Errors
    /// `Invalid` at `pointer` for anything that no such list handed out.
    pub fn read(text: &str, order: SessionOrder, pointer: &str) -> Result<Place> {
        let parse = || {
            let mut parts = text.split('.');
            if parts.next()?.parse() != Ok(order) {
                return None;
            }
            let from = Uuid::parse_str(parts.next()?).ok()?;
            let within = match (parts.next(), order) {
                (None, _) => None,
                (Some(_), SessionOrder::Created) => return None,
                (Some(to), _) => {
                    let to = Uuid::parse_str(to).ok()?;
                    let value = parts.next()?.parse().ok()?;
                    Some(Within { to, below: (value, Uuid::parse_str(parts.next()?).ok()?) })
                }
            };
            parts.next().is_none().then_some(Place { order, from, within })
        };
        // A list by age once handed out bare ids: what comes behind them.
        let bare = || (order == SessionOrder::Created).then(|| Uuid::parse_str(text).ok()).flatten();
        let found = parse().or_else(|| bare().map(Place::behind));
        found.ok_or_else(|| ServiceError::invalid(pointer, "is no cursor that a list in this order handed out"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    #[test]
    fn cursors_are_read_back_by_their_own_order_alone() {
        let within = Some(Within { to: id(3), below: (-7, id(5)) });
        for place in [
            Place::at(SessionOrder::Created, id(9)),
            Place::at(SessionOrder::Size, id(9)),
            Place { order: SessionOrder::Activity, from: id(9), within },
        ] {
            let text = place.to_string();
            assert_eq!(Place::read(&text, place.order, "").unwrap(), place, "{text}");
            for other in SessionOrder::VARIANTS.iter().filter(|other| **other != place.order) {
                assert!(Place::read(&text, *other, "").is_err(), "{text}");
            }
        }
        let bare = Place::read(&id(9).to_string(), SessionOrder::Created, "").unwrap();
        assert_eq!(bare, Place::at(SessionOrder::Created, id(8)));
        for odd in ["", ".", "size", "size.", "size.x", "created.x.y", &format!("size.{}.{}", id(1), id(2))] {
            assert!(Place::read(odd, SessionOrder::Size, "").is_err(), "{odd}");
            assert!(Place::read(odd, SessionOrder::Created, "").is_err(), "{odd}");
        }
    }
}
