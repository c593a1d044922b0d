//! Requests that may be sent twice and act once.
//!
//! A key is not locked and then worked under: the row that says "this key is answered" is written by [`seal`] in the
//! transaction of the effect itself. So there is no state between claim and completion that a crash could leave
//! behind, no lease that could expire under a slow request, and no connection held beside the use case's own:
//! either effect and answer are both there, or neither is. Of two equal requests at once the second waits on the
//! first's row at the end of its transaction, finds the key taken, rolls back and answers what the first did.
//!
//! Answers of requests without an effect (a refused request) are kept after they are made; to run such a request twice
//! does no harm. Of those that only read ([`Keyed::for_a_reading`]) the digest alone is kept: a repeat reads anew, and
//! whoever may read can't fill the disk. Of each tenant's keys the newest stay, so many and with so many bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::tenant::Tenant;
use crate::store::idempotency::{self as store, Row};

tokio::task_local! {
    static CURRENT: Arc<Keyed>;
}

/// Most keys of a tenant, and most bytes of its answers; the oldest go first. They are looked at whenever a sixteenth of
/// either was added.
const MOST_KEYS: usize = 10_000;
const MOST_BYTES: usize = 64 << 20;
const STEP: usize = 16;
/// A larger answer is not kept as it went out: what was sealed with its effect is told instead.
pub const LARGEST_KEPT: usize = MOST_BYTES / 8;
/// Stands in the place of the status where no answer was kept.
const NO_ANSWER: i16 = 0;

/// A request under its key. `request_hash` tells its method, path and body from any other's.
#[derive(Debug)]
pub struct Keyed {
    tenant: Tenant,
    key: String,
    request_hash: [u8; 32],
    /// The session that the answer tells of: it goes with it.
    session: Mutex<Option<Uuid>>,
    sealed: Mutex<Option<Sealed>>,
    /// It only reads: its answer is made anew every time.
    only_reads: bool,
}

/// What was written with the effect.
#[derive(Debug, Clone)]
struct Sealed {
    answer: KeptAnswer,
    /// What the client is told besides is not to be kept.
    is_secret: bool,
}

/// An answer as it went out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: String,
}

/// State of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    Nothing,
    Answered(KeptAnswer),
    /// The same request came before; its answer was not kept.
    Repeated,
    /// The key belongs to another request.
    Reused,
}

/// How the use case ended, in the terms of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Created,
    Accepted,
}

impl Outcome {
    fn status(self) -> u16 {
        match self {
            Outcome::Done => 200,
            Outcome::Created => 201,
            Outcome::Accepted => 202,
        }
    }
}

impl Keyed {
    /// `session`: the one that the request names, if it does; see [`about`] for those that it does not.
    pub fn new(tenant: Tenant, key: String, request_hash: [u8; 32], session: Option<Uuid>) -> Keyed {
        let (session, sealed) = (Mutex::new(session), Mutex::new(None));
        Keyed { tenant, key, request_hash, session, sealed, only_reads: false }
    }

    /// The same of a request that only reads.
    pub fn for_a_reading(self) -> Keyed {
        Keyed { only_reads: true, ..self }
    }

    pub fn only_reads(&self) -> bool {
        self.only_reads
    }

    fn session(&self) -> Option<Uuid> {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn row(&self, answer: &KeptAnswer) -> Row {
        Row {
            request_hash: self.request_hash.to_vec(),
            status: i16::try_from(answer.status).unwrap_or(i16::MAX),
            body: answer.body.clone(),
        }
    }

    fn sealed(&self) -> Option<Sealed> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs a request so that the use cases in it act under its key.
pub async fn under<F: Future>(keyed: Arc<Keyed>, request: F) -> F::Output {
    CURRENT.scope(keyed, request).await
}

/// Returns true if the current request came with a key, so that its effect needs a transaction to be sealed in.
pub fn is_keyed() -> bool {
    CURRENT.try_with(|_| ()).is_ok()
}

/// To be called by a use case whose answer tells of another session than the one in the request's path, as soon as it is
/// known and before [`seal`]: when that session is erased, so is the answer.
pub fn about(session_id: Uuid) {
    let _ = CURRENT.try_with(|keyed| {
        *keyed.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session_id);
    });
}

/// To be called by every use case that changes something, as the last statement before its commit, with what it
/// will return. Does nothing for a request without a key. An error means that an equal request was faster: the
/// transaction must be rolled back.
pub async fn seal(connection: &mut PgConnection, outcome: Outcome, answer: &impl Serialize) -> Result<()> {
    write(connection, outcome, answer, false).await
}

/// As [`seal`], for an answer that goes out with a secret which `answer` is without: an equal request is answered without
/// it, and it is stored nowhere.
pub async fn seal_without_secret(
    connection: &mut PgConnection,
    outcome: Outcome,
    answer: &impl Serialize,
) -> Result<()> {
    write(connection, outcome, answer, true).await
}

async fn write(
    connection: &mut PgConnection,
    outcome: Outcome,
    answer: &impl Serialize,
    is_secret: bool,
) -> Result<()> {
    let Ok(keyed) = CURRENT.try_with(Arc::clone) else { return Ok(()) };
    if keyed.only_reads {
        return Ok(());
    }
    let body = serde_json::to_string(answer).map_err(anyhow::Error::from)?;
    let answer = KeptAnswer { status: outcome.status(), body };
    let row = keyed.row(&answer);
    if !store::insert(connection, keyed.tenant.0, &keyed.key, keyed.session(), &row, clock::now()).await? {
        let detail = "a request with this idempotency key is being answered".to_owned();
        return Err(ServiceError::Conflict { code: ConflictCode::IdempotencyInProgress, detail });
    }
    *keyed.sealed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Sealed { answer, is_secret });
    Ok(())
}

/// The answers that are kept under their keys.
#[derive(Clone)]
pub struct KeptAnswers {
    pool: PgPool,
    /// Keys and bytes that this process has added since it last looked at a tenant's; none of one that it has not yet
    /// looked at.
    added: Arc<Mutex<HashMap<Tenant, (usize, usize)>>>,
}

impl KeptAnswers {
    pub fn new(pool: PgPool) -> KeptAnswers {
        KeptAnswers { pool, added: Arc::default() }
    }

    /// What is known of a request's key.
    pub async fn known(&self, keyed: &Keyed) -> Result<KeyState> {
        let row = store::get(&self.pool, keyed.tenant.0, &keyed.key).await?;
        Ok(match row {
            None => KeyState::Nothing,
            Some(row) if row.request_hash != keyed.request_hash => KeyState::Reused,
            Some(row) if row.status == NO_ANSWER => KeyState::Repeated,
            Some(row) => {
                KeyState::Answered(KeptAnswer { status: u16::try_from(row.status).unwrap_or(500), body: row.body })
            }
        })
    }

    /// Keeps what the client is about to be told, where that is more than what was sealed with the effect
    /// (a context that came with an append, the end of a compaction that was waited for).
    pub async fn keep(&self, keyed: &Keyed, answer: &KeptAnswer) -> Result<()> {
        let row = keyed.row(answer);
        match keyed.sealed() {
            Some(sealed) if sealed.is_secret || sealed.answer == *answer => {}
            Some(_) => store::replace(&self.pool, keyed.tenant.0, &keyed.key, &row).await?,
            None => {
                let (tenant, key) = (keyed.tenant.0, &keyed.key);
                store::insert(&self.pool, tenant, key, keyed.session(), &row, clock::now()).await?;
            }
        }
        self.bound(keyed.tenant, answer.body.len()).await
    }

    /// Keeps no more than that this request came under its key; an answer that was sealed with an effect stays.
    pub async fn keep_digest(&self, keyed: &Keyed) -> Result<()> {
        if keyed.sealed().is_none() {
            let row = Row { request_hash: keyed.request_hash.to_vec(), status: NO_ANSWER, body: String::new() };
            store::insert(&self.pool, keyed.tenant.0, &keyed.key, keyed.session(), &row, clock::now()).await?;
        }
        self.bound(keyed.tenant, 0).await
    }

    /// Forgets the oldest keys of a tenant, where it has enough new ones.
    async fn bound(&self, tenant: Tenant, bytes: usize) -> Result<()> {
        let is_due = {
            let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
            let unknown = (MOST_KEYS, MOST_BYTES);
            let of_tenant = added.entry(tenant).or_insert(unknown);
            *of_tenant = (of_tenant.0 + 1, of_tenant.1.saturating_add(bytes));
            let is_due = of_tenant.0 > MOST_KEYS / STEP || of_tenant.1 > MOST_BYTES / STEP;
            if is_due {
                *of_tenant = (0, 0);
            }
            is_due
        };
        if is_due {
            let (keys, bytes) = (MOST_KEYS - MOST_KEYS / STEP, MOST_BYTES - MOST_BYTES / STEP);
            let [keys, bytes] = [keys, bytes].map(|most| i64::try_from(most).unwrap_or(i64::MAX));
            store::keep_newest(&self.pool, tenant.0, keys, bytes).await?;
        }
        Ok(())
    }

    /// Forgets keys older than `age`; returns how many.
    pub async fn purge(&self, age: Duration) -> Result<u64> {
        // So that tenants that are gone are not remembered.
        self.added.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(store::purge(&self.pool, clock::now() - age).await?)
    }
}
