//! Search: full text over every entry of a session, compacted or not.
//!
//! There is no index. The session's entries are read, the database sieves them by what their raw text must hold, and
//! what passes is read as text and scored here. So an append costs nothing for search, no item is too large or too odd to be
//! stored, and what was appended a moment ago is found. `docs/ARCHITECTURE.md` has the figures.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use serde::Serialize;
use tokio::task::JoinHandle;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::background;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::record_numbers::RecordNumber;
use crate::domain::redaction::Redaction;
use crate::domain::search::{ParsedQuery, Score, TermRarity, text_of};
use crate::service::core::access::Access;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::offload::aside;
use crate::service::core::page::PageRequest;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::recall::tool_calls::{numbers, secrets_kept_from};
use crate::store::entries;
use crate::store::path::{self, Segment, join};
use crate::store::search::{self, SearchCandidate, Sieve};

/// Candidates are scored, away from the async threads, in stretches of about this many bytes.
const STRETCH_BYTES: usize = 1 << 20;
/// Rank of what a number of the record leads to, and rank of what all words are in.
const NUMBERED: u32 = u32::MAX;
const BEST: u32 = 1_000_000;

/// What was found, best first; of equals the newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SearchPage {
    pub items: Vec<SearchHit>,
    pub next_cursor: Option<String>,
    /// `all`: these entries have every word of the query. `any`: no entry has every word, these have some.
    pub matched: Matched,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matched {
    All,
    Any,
}

/// An entry that was found.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SearchHit {
    pub entry_id: Uuid,
    pub seq: i64,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    /// The text around the best match, on one line; matches stand between `<mark>` and `</mark>`. Plain text, not HTML:
    /// nothing in it is escaped.
    pub snippet: String,
    /// 0-1; above 0.5 where every word of the query is a whole word of the entry. A summary's is half of that: what it
    /// tells of comes first.
    pub rank: f64,
}

/// An entry that matches, as long as there may be many.
#[derive(Debug, Clone)]
struct FoundEntry {
    place: Segment,
    seq: i64,
    is_summary: bool,
    score: Score,
}

/// One that is to be shown, where its page begins after what ranks higher.
#[derive(Debug, Clone, Copy)]
struct RankedEntry {
    place: Segment,
    seq: i64,
    rank: u32,
}

/// Where a page ended.
struct SearchCursor {
    matched: Matched,
    rank: u32,
    seq: i64,
    /// Entries that the session had when the first page was asked for: later ones change no rank and are on no page.
    entries: i64,
}

impl Queries {
    /// Looks for words and quoted phrases in every entry of the session, on any branch, and in what a fork shares. A cursor
    /// is the rank and `seq` of the last one: what is appended meanwhile moves no page, and is on none. A number of the
    /// record, `#47` or `u12`, finds what it leads to before all else.
    ///
    /// # Errors
    /// `Invalid` at `/query/q` for a query without words or over the limits.
    pub async fn search(&self, access: Access, session_id: Uuid, q: &str, page: PageRequest) -> Result<SearchPage> {
        let tenant = access.tenant;
        let query = ParsedQuery::parse(q).map_err(|error| ServiceError::invalid("/query/q", error.to_string()))?;
        let query = Arc::new(query);
        let cursor = page.after.as_deref().map(SearchCursor::read).transpose()?;
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let entries = cursor.as_ref().map_or(head.row.next_seq, |cursor| cursor.entries.min(head.row.next_seq));
        let mut reader = self.long_reads.reader(tenant, i64::MAX).await?;
        let connection = reader.on()?;
        let mut matched = cursor.as_ref().map_or(Matched::All, |cursor| cursor.matched);
        let mut found = scan(&mut *connection, tenant, (session_id, entries), &query, matched).await?;
        if cursor.is_none() && found.is_empty() && !query.is_single() {
            matched = Matched::Any;
            found = scan(&mut *connection, tenant, (session_id, entries), &query, matched).await?;
        }
        let mut found = ranked(&found, matched, entries);
        let number = RecordNumber::read(q.trim());
        if let Some(number) = number {
            let numbered = numbers::entries_of(&mut *connection, tenant, &head, number).await?;
            found = numbered_first(&numbered, found);
        }
        found.retain(|one| cursor.as_ref().is_none_or(|end| (one.rank, one.seq) < (end.rank, end.seq)));
        let more = found.len() as i64 > page.limit;
        found.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
        let last = found.last().filter(|_| more);
        let next_cursor = last.map(|last| SearchCursor { matched, rank: last.rank, seq: last.seq, entries }.write());
        let redaction = match number {
            Some(RecordNumber::User(_)) => secrets_kept_from(access, &head),
            _ => Redaction::default(),
        };
        let items = show(connection, tenant, query, &found, (redaction, number)).await?;
        reader.done();
        Ok(SearchPage { items, next_cursor, matched })
    }
}

/// What was found, best first; of equals the newest first.
fn ranked(found: &[FoundEntry], matched: Matched, entries: i64) -> Vec<RankedEntry> {
    let rarity = match matched {
        Matched::All => TermRarity::even(),
        Matched::Any => TermRarity::of(found.iter().map(|one| &one.score), usize::try_from(entries).unwrap_or(0)),
    };
    let rank = |one: &FoundEntry| {
        let rank = rarity.rank(&one.score);
        RankedEntry { place: one.place, seq: one.seq, rank: if one.is_summary { rank.div_ceil(2) } else { rank } }
    };
    let mut ranked: Vec<RankedEntry> = found.iter().map(rank).collect();
    ranked.sort_unstable_by_key(|one| std::cmp::Reverse((one.rank, one.seq)));
    ranked
}

/// What a number leads to before all else, a call before its result.
fn numbered_first(numbered: &[(Segment, i64)], found: Vec<RankedEntry>) -> Vec<RankedEntry> {
    let ranks = (0..).map(|nth| NUMBERED - nth);
    let first = numbered.iter().zip(ranks).map(|((place, seq), rank)| RankedEntry { place: *place, seq: *seq, rank });
    let rest = found.into_iter().filter(|one| numbered.iter().all(|(place, _)| *place != one.place));
    first.chain(rest).collect()
}

/// Every entry that matches, in no order.
async fn scan(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    (session_id, entries): (Uuid, i64),
    query: &Arc<ParsedQuery>,
    matched: Matched,
) -> Result<Vec<FoundEntry>> {
    let sieve = sieve(query, matched);
    let shared = path::shared_history(connection, tenant.0, session_id).await?;
    let mut found = Vec::new();
    for portion in path::portions(&shared) {
        score_each(search::among(connection, tenant.0, &portion, &sieve), query, matched, &mut found).await?;
    }
    let mut after = -1;
    while after + 1 < entries {
        let own = search::own(connection, tenant.0, session_id, (after, entries), &sieve);
        score_each(own, query, matched, &mut found).await?;
        after += path::STATEMENT_ENTRIES;
    }
    Ok(found)
}

fn sieve(query: &ParsedQuery, matched: Matched) -> Sieve {
    let probes = query.probes();
    match matched {
        Matched::All => Sieve { probes: probes.into_iter().flatten().collect(), every: true },
        // A term that nothing is certain of may be in any entry.
        Matched::Any => Sieve { probes: probes.into_iter().collect::<Option<_>>().unwrap_or_default(), every: false },
    }
}

/// Scores candidates while the next ones are read.
async fn score_each(
    mut candidates: BoxStream<'_, sqlx::Result<SearchCandidate>>,
    query: &Arc<ParsedQuery>,
    matched: Matched,
    found: &mut Vec<FoundEntry>,
) -> Result<()> {
    let mut scoring: Option<JoinHandle<Vec<FoundEntry>>> = None;
    loop {
        let stretch = next_stretch(&mut candidates).await?;
        if let Some(scoring) = scoring.take() {
            found.extend(scoring.await.context("scoring entries")?);
        }
        if stretch.is_empty() {
            return Ok(());
        }
        let query = Arc::clone(query);
        scoring = Some(background::spawn(0, move || {
            stretch.into_iter().filter_map(|candidate| score(&query, matched, &candidate)).collect()
        }));
    }
}

async fn next_stretch(candidates: &mut BoxStream<'_, sqlx::Result<SearchCandidate>>) -> Result<Vec<SearchCandidate>> {
    let mut stretch = Vec::new();
    let mut bytes = 0;
    while bytes < STRETCH_BYTES {
        let Some(candidate) = candidates.try_next().await? else { break };
        bytes += candidate.item.len();
        stretch.push(candidate);
    }
    Ok(stretch)
}

fn score(query: &ParsedQuery, matched: Matched, candidate: &SearchCandidate) -> Option<FoundEntry> {
    let kind = candidate.kind.parse::<EntryType>().ok()?;
    let score = query.score(&text_of(kind, &candidate.item))?;
    let SearchCandidate { session_id, branch, depth, seq, .. } = *candidate;
    let place = Segment { session_id, branch, from: depth, to: depth };
    let is_summary = kind.is_summary();
    (score.has_all() || matched == Matched::Any).then_some(FoundEntry { place, seq, is_summary, score })
}

/// The entries of a page, read once more: most of what matches is on no page that anybody asks for.
async fn show(
    connection: &mut sqlx::PgConnection,
    tenant: Tenant,
    query: Arc<ParsedQuery>,
    found: &[RankedEntry],
    (redaction, number): (Redaction, Option<RecordNumber>),
) -> Result<Vec<SearchHit>> {
    let place = number.map(|number| number.to_string());
    let mut places: Vec<Segment> = found.iter().map(|one| one.place).collect();
    places.sort_unstable_by_key(|place| (place.session_id, place.branch, place.from));
    let stored = entries::whole(connection, tenant.0, &join(places)).await?;
    let ranks: HashMap<i64, (usize, u32)> =
        found.iter().enumerate().map(|(place, one)| (one.seq, (place, one.rank))).collect();
    let write = move || {
        let mut hits: Vec<(usize, SearchHit)> = Vec::with_capacity(stored.len());
        for stored in &stored {
            let head = &stored.entry.head;
            let Some((at, rank)) = ranks.get(&head.seq).copied() else { continue };
            let mut text = text_of(head.kind, &stored.entry.item);
            if rank > BEST {
                redaction.redact_text(&mut text, place.as_deref());
            }
            let snippet = query.snippet(&text);
            let (kind, role) = (head.kind.into_str(), head.role.map(|role| role.into_str()));
            let rank = f64::from(rank.min(BEST)) / f64::from(BEST);
            hits.push((at, SearchHit { entry_id: head.id, seq: head.seq, kind, role, snippet, rank }));
        }
        hits.sort_unstable_by_key(|(place, _)| *place);
        hits.into_iter().map(|(_, hit)| hit).collect()
    };
    aside(write).await
}

impl SearchCursor {
    fn write(&self) -> String {
        let matched = if self.matched == Matched::All { "all" } else { "any" };
        format!("{matched}-{}-{}-{}", self.rank, self.seq, self.entries)
    }

    fn read(text: &str) -> Result<SearchCursor> {
        let parse = || {
            let mut parts = text.split('-');
            let matched = match parts.next()? {
                "all" => Matched::All,
                "any" => Matched::Any,
                _ => return None,
            };
            let (rank, seq) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let entries = parts.next()?.parse().ok()?;
            parts.next().is_none().then_some(SearchCursor { matched, rank, seq, entries })
        };
        parse().ok_or_else(|| ServiceError::invalid("/query/after", "is no cursor that a list handed out"))
    }
}
