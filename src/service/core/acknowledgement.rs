//! Writes whose acknowledgement got lost.
//!
//! Where a connection dies around a commit, the server may or may not have carried it out. It is asked, under the row
//! lock that the write itself needs: whatever is still on its way has ended by then or is shut out, so the answer is
//! final. Where nobody can be asked, the client is told so.

use std::cmp::Ordering;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result, ServiceError};
use crate::service::core::heads::{Heads, SessionTransaction};
use crate::service::core::tenant::Tenant;
use crate::store::fault::in_doubt;
use crate::store::sessions::SessionRow;
use crate::store::transaction;
use crate::store::{compactions, entries, sessions};

/// How long the database is given to come back and say how it went.
const ASK_FOR: Duration = Duration::from_secs(5);
const PAUSE_FROM: Duration = Duration::from_millis(5);
const PAUSE_TO: Duration = Duration::from_millis(250);

/// Proof of a write: it is there if the write has landed, and only then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// An entry that it would have written.
    Entry(Uuid),
    /// A compaction that it would have started, or the one that it was.
    Compaction(Uuid),
    /// The head as it would be right after. Once others have written, it says nothing any more.
    Head { version: i64, updated_at: DateTime<Utc> },
}

impl Proof {
    /// This entry or, where none is written, the head at this version.
    pub fn of(entry: Option<Uuid>, version: i64, updated_at: DateTime<Utc>) -> Proof {
        entry.map_or(Proof::Head { version, updated_at }, Proof::Entry)
    }
}

#[derive(Clone, Copy)]
enum WriteCheck<'a> {
    /// Is this session there?
    Made(&'a SessionRow),
    Landed(Uuid, Proof),
}

impl Heads {
    /// Commits. After an error that leaves it open whether that has happened, the proof decides.
    ///
    /// # Errors
    /// `OutcomeUnknown`; any other: nothing was written.
    pub async fn commit(
        &self,
        work: SessionTransaction,
        tenant: Tenant,
        session_id: Uuid,
        proof: Option<Proof>,
    ) -> Result<()> {
        let Err(error) = work.commit().await else { return Ok(()) };
        if !in_doubt(&error) {
            return Err(error.into());
        }
        tracing::warn!(%error, %session_id, "a commit was not acknowledged");
        let Some(proof) = proof else { return Err(ServiceError::OutcomeUnknown(error.to_string())) };
        match self.has_landed(tenant, session_id, proof).await? {
            true => Ok(()),
            false => Err(ServiceError::Unavailable(error)),
        }
    }

    /// As [`Heads::commit`], of a transaction that has made this session.
    pub async fn commit_new(&self, work: SessionTransaction, tenant: Tenant, row: &SessionRow) -> Result<()> {
        let Err(error) = work.commit().await else { return Ok(()) };
        if !in_doubt(&error) {
            return Err(error.into());
        }
        tracing::warn!(%error, session_id = %row.id, "a commit was not acknowledged");
        match self.until_told(tenant, WriteCheck::Made(row)).await? {
            true => Ok(()),
            false => Err(ServiceError::Unavailable(error)),
        }
    }

    /// Returns true if a write has landed. If not, it never will.
    ///
    /// # Errors
    /// `OutcomeUnknown`: the database stays away, or too much has happened since.
    pub async fn has_landed(&self, tenant: Tenant, session_id: Uuid, proof: Proof) -> Result<bool> {
        self.until_told(tenant, WriteCheck::Landed(session_id, proof)).await
    }

    /// Asks until there is an answer. "It can't be told" is one too.
    async fn until_told(&self, tenant: Tenant, question: WriteCheck<'_>) -> Result<bool> {
        let deadline = Instant::now() + ASK_FOR;
        let mut pause = PAUSE_FROM;
        let why = loop {
            match timeout_at(deadline, self.ask_database(tenant, question)).await {
                Ok(Ok(Some(landed))) => return Ok(landed),
                Ok(Ok(None)) => break "others have written since".to_owned(),
                Ok(Err(error)) if Instant::now() + pause >= deadline => {
                    break format!("{:#}", anyhow::Error::from(error));
                }
                Ok(Err(_)) => sleep(pause).await,
                Err(_) => break "the database does not answer".to_owned(),
            }
            pause = (pause * 2).min(PAUSE_TO);
        };
        Err(ServiceError::OutcomeUnknown(why))
    }

    async fn ask_database(&self, tenant: Tenant, question: WriteCheck<'_>) -> Result<Option<bool>> {
        match question {
            WriteCheck::Made(row) => self.is_made(tenant, row).await.map(Some),
            WriteCheck::Landed(session_id, proof) => {
                let found = self.find_proof(tenant, session_id, proof).await.optional()?;
                // Erased meanwhile, and with it whatever was written.
                Ok(found.unwrap_or(Some(false)))
            }
        }
    }

    /// Tries to take the session's place: that waits for whoever is still at it, and works if he has failed.
    async fn is_made(&self, tenant: Tenant, row: &SessionRow) -> Result<bool> {
        let mut work = transaction::begin(&self.pool).await?;
        match sessions::insert(&mut *work, tenant.0, row).await {
            Ok(()) => Ok(false),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Behind the row lock: whoever was still at it has committed or never will. `None`: it can't be told.
    async fn find_proof(&self, tenant: Tenant, session_id: Uuid, proof: Proof) -> Result<Option<bool>> {
        let (mut work, row, _) = self.begin_locked(tenant, session_id).await?;
        let landed = match proof {
            Proof::Entry(id) => Some(entries::holds(&mut *work, tenant.0, session_id, clock::seq_of(id), id).await?),
            Proof::Compaction(id) => Some(compactions::status(&mut *work, tenant.0, id).await?.is_some()),
            Proof::Head { version, updated_at } => match row.head.version.cmp(&version) {
                Ordering::Less => Some(false),
                Ordering::Equal => (row.updated_at == updated_at).then_some(true),
                Ordering::Greater => None,
            },
        };
        if landed == Some(false) {
            // A statement that has not got as far as the row yet finds another version there.
            sessions::fence(&mut *work, tenant.0, session_id).await?;
            work.commit().await?;
        }
        Ok(landed)
    }
}
