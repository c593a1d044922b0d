//! Search over all sessions of a tenant: full text, as over one of them, from the newest session on.
//!
//! No answer looks at more than a bounded number of sessions, entries and bytes, nor for long; each says how far it came and
//! where to go on. So entries are told in the order in which they are looked at, the newest first, and have all words
//! of the query: which are the best, or whether any has them all, only a look at everything could tell.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sqlx::PgConnection;
use tokio::time::Instant;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::model::entry_type::EntryType;
use crate::domain::model::message::Role;
use crate::domain::search::{ParsedQuery, TermRarity, text_of};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::offload::aside;
use crate::service::core::page::{PageRequest, id_before};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::recall::search::SearchHit;
use crate::store::path;
use crate::store::search::Sieve;
use crate::store::search::all::{self, Candidate, SessionOnTheWay, Stretch};
use crate::store::sessions::{self, SessionName};

/// What one answer looks at.
const SESSIONS: i64 = 10_000;
const ENTRIES: i64 = 50_000;
const BYTES: i64 = 64 << 20;
const TIME: Duration = Duration::from_secs(5);
/// Sessions that are found by one statement, and bytes that one reads.
const STEP: i64 = 500;
const STEP_BYTES: i64 = 8 << 20;

/// What was found, the newest session first, and in each the newest entry.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SearchAllPage {
    pub items: Vec<SessionHit>,
    pub next_cursor: Option<String>,
    /// Sessions that this answer looked into, the first and the last perhaps in part.
    pub searched_sessions: i64,
    pub searched_entries: i64,
    /// Nothing is left to look at. Where it is false, `next_cursor` goes on, also after an answer without items.
    pub complete: bool,
}

/// An entry that has every word of the query, and the session that shows it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionHit {
    pub session_id: Uuid,
    pub session_title: Option<String>,
    pub session_external_id: Option<String>,
    #[serde(flatten)]
    pub hit: SearchHit,
}

/// Where an answer ended: entries below a seq of a session, and the sessions before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    session: Uuid,
    below: i64,
}

impl Queries {
    /// Looks for words and quoted phrases in the entries of all sessions. What forks share is found where it was written, or
    /// in the forks of a session that is erased.
    ///
    /// # Errors
    /// `Invalid` at `/query/q` for a query without words or over the limits.
    pub async fn search_all(&self, tenant: Tenant, q: &str, page: PageRequest) -> Result<SearchAllPage> {
        let query = ParsedQuery::parse(q).map_err(|error| ServiceError::invalid("/query/q", error.to_string()))?;
        let place = page.after.as_deref().map(Place::read).transpose()?;
        let mut reader = self.long_reads.reader(tenant, i64::MAX).await?;
        let mut walk = Walk::new(tenant, query, page.limit);
        let next = walk.go(reader.on()?, place.unwrap_or(Place::upto(Uuid::max()))).await?;
        let items = named(reader.on()?, tenant, walk.hits).await?;
        reader.done();
        Ok(SearchAllPage {
            items,
            next_cursor: next.map(|place| place.to_string()),
            searched_sessions: walk.sessions,
            searched_entries: walk.entries,
            complete: next.is_none(),
        })
    }
}

/// Hits with what their sessions are called.
async fn named(connection: &mut PgConnection, tenant: Tenant, hits: Vec<Hit>) -> Result<Vec<SessionHit>> {
    let mut ids: Vec<Uuid> = hits.iter().map(|hit| hit.session).collect();
    ids.dedup();
    let names = sessions::names(connection, tenant.0, &ids).await?;
    let names: HashMap<Uuid, SessionName> = names.into_iter().map(|name| (name.id, name)).collect();
    let with_name = |Hit { session, hit }: Hit| {
        // A session that was erased meanwhile has none.
        let name = names.get(&session).cloned().unwrap_or_default();
        SessionHit { session_id: session, session_title: name.title, session_external_id: name.external_id, hit }
    };
    Ok(hits.into_iter().map(with_name).collect())
}

/// A search at work.
struct Walk {
    tenant: Tenant,
    query: Arc<ParsedQuery>,
    sieve: Sieve,
    limit: usize,
    hits: Vec<Hit>,
    sessions: i64,
    entries: i64,
    bytes: i64,
    end: Instant,
}

impl Walk {
    fn new(tenant: Tenant, query: ParsedQuery, limit: i64) -> Walk {
        let sieve = Sieve { probes: query.probes().into_iter().flatten().collect(), every: true };
        Walk {
            tenant,
            query: Arc::new(query),
            sieve,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            hits: Vec::new(),
            sessions: 0,
            entries: 0,
            bytes: 0,
            end: Instant::now() + TIME,
        }
    }

    fn is_over(&self) -> bool {
        self.hits.len() >= self.limit
            || self.sessions >= SESSIONS
            || self.entries >= ENTRIES
            || self.bytes >= BYTES
            || Instant::now() >= self.end
    }

    /// Looks from a place on. Where to go on; `None`: there is nothing more.
    async fn go(&mut self, connection: &mut PgConnection, mut place: Place) -> Result<Option<Place>> {
        let mut passed = 0;
        loop {
            let sessions = all::sessions(&mut *connection, self.tenant.0, place.session, STEP).await?;
            let Some(last) = sessions.last().map(|session| session.id) else { return Ok(None) };
            let is_end = (sessions.len() as i64) < STEP;
            if let Some(stop) = self.through(connection, &sessions, place).await? {
                return Ok(Some(stop));
            }
            if is_end {
                return Ok(None);
            }
            place = Place::upto(id_before(last));
            // Hidden ones are passed by, but not without end.
            passed += sessions.len() as i64;
            if self.is_over() || passed >= SESSIONS {
                return Ok(Some(place));
            }
        }
    }

    /// Looks through these sessions. Where it stopped before their end.
    async fn through(
        &mut self,
        connection: &mut PgConnection,
        sessions: &[SessionOnTheWay],
        start: Place,
    ) -> Result<Option<Place>> {
        let mut stretches = Vec::new();
        for session in sessions.iter().filter(|session| session.is_there) {
            let below = if session.id == start.session { start.below } else { i64::MAX };
            stretches.extend(own(session, below));
            if session.has_hidden_parent {
                stretches.extend(self.hidden(connection, session.id, below).await?);
            }
        }
        let (before, mut stop) = (self.sessions, None);
        'portions: for mut portion in all::portions(&stretches) {
            // A statement ends early where its bytes are many.
            while !portion.is_empty() {
                let came_to = self.look(connection, &portion).await?;
                if let Some(came_to) = came_to
                    && self.is_over()
                {
                    stop = Some(came_to.place);
                    break 'portions;
                }
                portion = came_to.map_or_else(Vec::new, |came_to| rest(&portion, came_to));
            }
        }
        let looked_into =
            |session: &&SessionOnTheWay| session.is_there && stop.is_none_or(|stop: Place| session.id >= stop.session);
        self.sessions = before + sessions.iter().filter(looked_into).count() as i64;
        Ok(stop)
    }

    /// What an erased session has left to this fork.
    async fn hidden(&self, connection: &mut PgConnection, fork: Uuid, below: i64) -> Result<Vec<Stretch>> {
        let shared = path::shared_history(connection, self.tenant.0, fork).await?;
        let hidden = all::hidden(&mut *connection, self.tenant.0, &path::sessions_of(&shared)).await?;
        let of = |segment: &path::Segment| Stretch {
            shown_in: fork,
            session_id: segment.session_id,
            branch: Some(segment.branch),
            low: segment.from,
            high: segment.to,
            below,
        };
        Ok(shared.iter().rev().filter(|segment| hidden.contains(&segment.session_id)).map(of).collect())
    }

    /// One statement. Where it came to; `None`: it looked at nothing.
    async fn look(&mut self, connection: &mut PgConnection, portion: &[Stretch]) -> Result<Option<CameTo>> {
        let found = all::candidates(&mut *connection, self.tenant.0, portion, &self.sieve, STEP_BYTES).await?;
        let Some(last) = found.last() else { return Ok(None) };
        let stretch = |place: i64| usize::try_from(place - 1).ok().and_then(|place| portion.get(place));
        let (place, seq, was_cut) = (last.place, last.seq, last.bytes >= STEP_BYTES);
        self.entries += last.entries;
        self.bytes += last.bytes;
        let owners: Vec<Option<Uuid>> =
            found.iter().map(|one| stretch(one.place).map(|stretch| stretch.shown_in)).collect();
        let (query, room) = (Arc::clone(&self.query), self.limit - self.hits.len());
        let score = move || {
            let found = found.iter().zip(owners);
            found.filter_map(|(one, owner)| hit(&query, owner?, one)).take(room).collect::<Vec<Hit>>()
        };
        self.hits.extend(aside(score).await?);
        if self.hits.len() >= self.limit
            && let Some(hit) = self.hits.last()
        {
            return Ok(Some(CameTo { place: Place { session: hit.session, below: hit.hit.seq }, at: None }));
        }
        let owner = stretch(place).map_or(Uuid::nil(), |stretch| stretch.shown_in);
        Ok(Some(CameTo { place: Place { session: owner, below: seq }, at: was_cut.then_some((place, seq)) }))
    }
}

/// An entry that was found, and the session that shows it.
struct Hit {
    session: Uuid,
    hit: SearchHit,
}

/// Where a statement came to.
#[derive(Debug, Clone, Copy)]
struct CameTo {
    place: Place,
    /// Its bytes ended it at this stretch and seq.
    at: Option<(i64, i64)>,
}

/// What is left of a portion.
fn rest(portion: &[Stretch], came_to: CameTo) -> Vec<Stretch> {
    let Some((place, seq)) = came_to.at else { return Vec::new() };
    let mut rest = portion.get(usize::try_from(place - 1).unwrap_or(usize::MAX)..).unwrap_or_default().to_vec();
    if let Some(first) = rest.first_mut() {
        first.below = seq;
        if first.branch.is_none() {
            first.high = seq - 1;
        }
    }
    rest.retain(|stretch| stretch.low <= stretch.high);
    rest
}

fn own(session: &SessionOnTheWay, below: i64) -> Option<Stretch> {
    let high = session.next_seq.min(below) - 1;
    (session.first_seq <= high).then_some(Stretch {
        shown_in: session.id,
        session_id: session.id,
        branch: None,
        low: session.first_seq,
        high,
        below: i64::MAX,
    })
}

fn hit(query: &ParsedQuery, session: Uuid, found: &Candidate) -> Option<Hit> {
    let kind = found.kind.parse::<EntryType>().ok()?;
    let text = text_of(kind, found.item.as_deref()?);
    let score = query.score(&text).filter(|score| score.has_all())?;
    let rank = TermRarity::even().rank(&score);
    let rank = if kind.is_summary() { rank.div_ceil(2) } else { rank };
    let role = found.role.as_deref().and_then(|role| role.parse::<Role>().ok());
    let hit = SearchHit {
        entry_id: found.id,
        seq: found.seq,
        kind: kind.into_str(),
        role: role.map(|role| role.into_str()),
        snippet: query.snippet(&text),
        rank: f64::from(rank) / 1e6,
    };
    Some(Hit { session, hit })
}

impl Place {
    /// All of a session, and those before it.
    fn upto(session: Uuid) -> Place {
        Place { session, below: i64::MAX }
    }

    fn read(text: &str) -> Result<Place> {
        let (session, below) = text.split_once('.').unwrap_or((text, ""));
        let parse = || {
            let below = if text.contains('.') { below.parse().ok().filter(|seq| *seq >= 0)? } else { i64::MAX };
            Some(Place { session: Uuid::parse_str(session).ok()?, below })
        };
        parse().ok_or_else(|| ServiceError::invalid("/query/after", "is no cursor that a search handed out"))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.below {
            i64::MAX => write!(f, "{}", self.session),
            below => write!(f, "{}.{below}", self.session),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_back() {
        let session = Uuid::from_u128(7);
        for place in [Place::upto(session), Place { session, below: 0 }, Place { session, below: 99 }] {
            assert_eq!(Place::read(&place.to_string()).unwrap(), place);
        }
        for odd in ["", "7", ".", &format!("{session}."), &format!("{session}.-1"), &format!("{session}.1.2")] {
            assert!(Place::read(odd).is_err(), "{odd}");
        }
    }
}
