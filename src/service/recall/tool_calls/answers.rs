//! Which result answers which call: by look-ups of the calls' ids, so that it costs what the calls asked about cost, not
//! what the path is long.
//!
//! A result answers the oldest open call of its id; one that came before any call of its id is for the first that has no
//! other; a call of a later answer ends the wait of earlier ones under its id.
//! Answers of the agent are told apart by the messages of others between them.

use std::collections::{HashMap, HashSet, VecDeque};

use sqlx::PgConnection;
use uuid::Uuid;

use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::entries::text_key;
use crate::store::path::{self, Segment};
use crate::store::tool_calls::{self, FoundCall, Onward};

/// Occurrences of one id that are read at a time: agents use ids again, and branches repeat them.
const AT_A_TIME: i64 = 256;

/// A call: the depth of its entry, and its place among the calls of that.
pub(super) type CallPosition = (i64, usize);

/// The results of these calls of a path, where they have one.
pub(super) async fn of(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    calls: &[(&str, CallPosition)],
) -> Result<HashMap<CallPosition, FoundCall>> {
    let Some(first) = calls.iter().map(|(_, (depth, _))| *depth).min() else { return Ok(HashMap::new()) };
    let start = beginning(connection, tenant, path, first).await?;
    let mut search = AnswerSearch::new(path, start);
    for (id, place) in calls {
        search.threads.entry(text_key(id)).or_default().wanted.insert(*place);
    }
    while let Some(wanted) = search.wanted() {
        let mut found = tool_calls::onward(&mut *connection, tenant.0, &wanted, AT_A_TIME).await?;
        found.sort_unstable_by_key(|one| (one.call_key, one.seq, one.is_result, one.ordinal));
        let mut found = found.into_iter().peekable();
        for Onward { key, .. } in wanted {
            let rows: Vec<FoundCall> = std::iter::from_fn(|| found.next_if(|one| one.call_key == key)).collect();
            search.take(connection, tenant, key, rows).await?;
        }
    }
    let mut answers = search.early;
    answers.extend(search.answers);
    Ok(answers)
}

/// Where the agent's answer begins that the entry at this depth belongs to.
async fn beginning(connection: &mut PgConnection, tenant: Tenant, path: &[Segment], depth: i64) -> Result<i64> {
    for segment in path::clip(path, &[(0, depth)]).into_iter().rev() {
        if let Some(depth) = tool_calls::last_answer(&mut *connection, tenant.0, segment).await? {
            return Ok(depth);
        }
    }
    Ok(0)
}

struct AnswerSearch<'p> {
    path: &'p [Segment],
    start: i64,
    /// The sessions that the path leads through, in its order.
    sessions: Vec<Uuid>,
    threads: HashMap<Uuid, Thread>,
    answers: HashMap<CallPosition, FoundCall>,
    /// What was there before the call was made; another answer takes its place.
    early: HashMap<CallPosition, FoundCall>,
}

/// One id along the path.
struct Thread {
    /// The calls asked about that are not settled yet.
    wanted: HashSet<CallPosition>,
    /// Open calls, oldest first.
    waiting: VecDeque<CallPosition>,
    /// A call of it was seen.
    called: bool,
    /// Results before any call of it.
    early: VecDeque<FoundCall>,
    session: usize,
    after: i64,
}

impl Default for Thread {
    fn default() -> Thread {
        Thread {
            wanted: HashSet::new(),
            waiting: VecDeque::new(),
            called: false,
            early: VecDeque::new(),
            session: 0,
            after: -1,
        }
    }
}

impl<'p> AnswerSearch<'p> {
    fn new(path: &'p [Segment], start: i64) -> AnswerSearch<'p> {
        // From the first on: whether a result came before any call of its id is told by what lies behind the page, too.
        let mut sessions: Vec<Uuid> = path.iter().map(|segment| segment.session_id).collect();
        sessions.dedup();
        let (threads, answers, early) = (HashMap::new(), HashMap::new(), HashMap::new());
        AnswerSearch { path, start, sessions, threads, answers, early }
    }

    /// Lists the look-ups to make next, one for each id. `None`: every call is settled.
    fn wanted(&self) -> Option<Vec<Onward>> {
        let next = |(key, thread): (&Uuid, &Thread)| {
            let session_id = *self.sessions.get(thread.session).filter(|_| !thread.wanted.is_empty())?;
            Some(Onward { key: *key, session_id, after: thread.after })
        };
        let mut wanted: Vec<Onward> = self.threads.iter().filter_map(next).collect();
        wanted.sort_unstable_by_key(|one| one.key);
        (!wanted.is_empty()).then_some(wanted)
    }

    /// Takes in the next occurrences of an id, in the order of the path.
    async fn take(
        &mut self,
        connection: &mut PgConnection,
        tenant: Tenant,
        key: Uuid,
        rows: Vec<FoundCall>,
    ) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&key) else { return Ok(()) };
        let is_full = i64::try_from(rows.len()).is_ok_and(|read| read >= AT_A_TIME);
        match rows.last().filter(|_| is_full) {
            Some(last) => thread.after = last.seq,
            None => (thread.session, thread.after) = (thread.session + 1, -1),
        }
        let on_path = |one: &FoundCall| path::holds(self.path, one.session_id, one.branch, one.depth);
        for row in rows.into_iter().filter(on_path) {
            let place = (row.depth, row.nth());
            if row.is_result && !thread.called {
                thread.early.push_back(row);
                continue;
            }
            thread.called |= !row.is_result;
            if row.depth < self.start {
                if !row.is_result {
                    thread.early.pop_front();
                }
                continue;
            }
            if row.is_result {
                if let Some(call) = thread.waiting.pop_front() {
                    thread.wanted.remove(&call);
                    self.answers.insert(call, row);
                }
                continue;
            }
            if let Some((last, _)) = thread.waiting.back().copied().filter(|(last, _)| *last != row.depth) {
                let between = path::clip(self.path, &[(last + 1, row.depth)]);
                if tool_calls::is_answered(&mut *connection, tenant.0, &between).await? {
                    thread.waiting.drain(..).for_each(|call| {
                        thread.wanted.remove(&call);
                    });
                }
            }
            self.early.extend(thread.early.pop_front().map(|row| (place, row)));
            thread.waiting.push_back(place);
        }
        Ok(())
    }
}
