//! Compactions: asked for, watched, cancelled, reverted; and committed for the worker.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::Result;
use super::state::{Page, PageRequest, Service, Tenant};
use crate::domain::compaction::CompactionResult;
use crate::domain::settings::Strategy;

/// A job just started, in an append's answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompactionRef {
    pub id: Uuid,
    pub status: Status,
    pub trigger: Trigger,
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),+ }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

words!(Status { Queued = "queued", Running = "running", Succeeded = "succeeded", Failed = "failed", Cancelled = "cancelled", Skipped = "skipped" });
words!(Trigger { Manual = "manual", Auto = "auto", Ahead = "ahead", Chapter = "chapter", Overflow = "overflow" });

/// A compaction job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Compaction {
    pub id: Uuid,
    pub session_id: Uuid,
    pub status: Status,
    pub trigger: Trigger,
    pub strategy: Strategy,
    pub attempts: i32,
    /// What went wrong last, for people; null otherwise.
    pub error: Option<String>,
    pub result: Option<CompactionResult>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub reverted_at: Option<DateTime<Utc>>,
}

/// What a compact call asks for; stored with the job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactRequest {
    pub strategy: Option<Strategy>,
    pub focus_topic: Option<String>,
    pub instructions: Option<String>,
    /// Passes the anti-thrash guard.
    pub force: bool,
    /// Bind to a prepared plan: 409 unless this is the leaf.
    pub expected_leaf_id: Option<Uuid>,
    /// The caller's own summary: no model is asked.
    pub summary: Option<String>,
    pub first_kept_entry_id: Option<Uuid>,
    pub details: Option<Value>,
    /// Settings for this compaction only.
    pub settings: Map<String, Value>,
}

impl Service {
    /// Queues a compaction, or returns the one that is live. With `wait`, returns when it has ended or the time is up.
    pub async fn compact(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        request: CompactRequest,
        wait: Option<Duration>,
    ) -> Result<Compaction> {
        todo!()
    }
    pub async fn compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        todo!()
    }
    pub async fn compactions(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<Page<Compaction>> {
        todo!()
    }
    pub async fn cancel_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        todo!()
    }
    pub async fn revert_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        todo!()
    }
}
