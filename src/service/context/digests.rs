//! How much of a rebuilt context is unchanged since the one before it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::PgPool;
use uuid::Uuid;

use crate::domain::format::Format;
use crate::service::error::Result;
use crate::service::state::Tenant;
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

impl DigestCache {
    /// The number of leading messages equal to those of the previous call, which these now replace.
    pub async fn compare(
        &self,
        pool: &PgPool,
        tenant: Tenant,
        session_id: Uuid,
        format: Format,
        messages: &[Box<RawValue>],
    ) -> Result<usize> {
        let key = (tenant, session_id, format);
        let now: Vec<u64> = messages.iter().map(|message| digest(message.get())).collect();
        let before = match self.last.get(&key) {
            Some(before) => before,
            None => {
                let stored = rebuilds::get(pool, tenant.0, session_id, format.as_str()).await?;
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
                if let Err(error) = rebuilds::put(&pool, tenant.0, session_id, format.as_str(), &bytes).await {
                    tracing::debug!(%error, "digests of a rebuilt context were not stored");
                }
            });
        } else {
            self.last.insert(key, before);
        }
        Ok(stable)
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn to_bytes(digests: &[u64]) -> Vec<u8> {
    digests.iter().flat_map(|digest| digest.to_be_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_be_bytes(*chunk)).collect()
}
