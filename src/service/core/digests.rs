//! How much of a rebuilt context is unchanged since the one before it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::PgPool;
use uuid::Uuid;

use crate::domain::model::format::Format;
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::rebuilds;

const CACHED: u64 = 4_096;
const CACHED_FOR: Duration = Duration::from_secs(600);

/// The digests last handed out, per session and format; the database has them for after a restart.
pub struct DigestCache {
    last: moka::sync::Cache<(Tenant, Uuid, Format), Arc<Vec<u64>>>,
}

impl Default for DigestCache {
    fn default() -> DigestCache {
        DigestCache { last: moka::sync::Cache::builder().max_capacity(CACHED).time_to_idle(CACHED_FOR).build() }
    }
}

/// The digests of messages.
pub fn of(messages: &[Box<RawValue>]) -> Vec<u64> {
    messages.iter().map(|message| digest(message.get())).collect()
}

impl DigestCache {
    /// The number of leading messages equal to those of the previous call, which these (see [`of`], and their leaf) now
    /// replace.
    pub async fn compare(
        &self,
        pool: &PgPool,
        tenant: Tenant,
        session_id: Uuid,
        format: Format,
        (now, leaf_id): (Vec<u64>, Option<Uuid>),
    ) -> Result<usize> {
        let key = (tenant, session_id, format);
        let before = match self.last.get(&key) {
            Some(before) => before,
            None => {
                let stored = rebuilds::get(pool, tenant.0, session_id, format.into_str()).await?;
                Arc::new(stored.map(|bytes| from_bytes(&bytes)).unwrap_or_default())
            }
        };
        let stable = now.iter().zip(before.iter()).take_while(|(now, before)| now == before).count();
        if now != *before {
            let bytes = to_bytes(&now);
            self.last.insert(key, Arc::new(now));
            let pool = pool.clone();
            // Nobody waits for this: losing it costs one wrong hint after a restart.
            tokio::spawn(async move {
                if let Err(error) = rebuilds::put(&pool, tenant.0, session_id, format.into_str(), &bytes, leaf_id).await
                {
                    tracing::debug!(%error, "digests of a rebuilt context were not stored");
                }
            });
        } else {
            self.last.insert(key, before);
        }
        Ok(stable)
    }
}

impl DigestCache {
    /// Returns true if these messages begin with those that were handed out last; more may have come since.
    pub async fn begin_with(
        &self,
        pool: &PgPool,
        tenant: Tenant,
        session_id: Uuid,
        format: Format,
        messages: &[Box<RawValue>],
    ) -> Result<bool> {
        let before = match self.last.get(&(tenant, session_id, format)) {
            Some(before) => before,
            None => {
                let stored = rebuilds::get(pool, tenant.0, session_id, format.into_str()).await?;
                Arc::new(stored.map(|bytes| from_bytes(&bytes)).unwrap_or_default())
            }
        };
        let same = || before.iter().zip(messages).all(|(before, now)| *before == digest(now.get()));
        Ok(!before.is_empty() && before.len() <= messages.len() && same())
    }
}

/// Eight bytes at a time: contexts are long, and who makes two of their own messages collide misleads nobody else.
fn digest(text: &str) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(ODD);
        mixed ^ (mixed >> 32)
    };
    let (words, tail) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(mix(0, tail.iter().fold(hash, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte))), ODD)
}

fn to_bytes(digests: &[u64]) -> Vec<u8> {
    digests.iter().flat_map(|digest| digest.to_be_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_be_bytes(*chunk)).collect()
}
