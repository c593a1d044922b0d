//! What the tests of the use cases share: a session, its items, and a worker that a test steps by hand.

use contextd::domain::model::format::Format;
use contextd::domain::tokens::accounting::Snapshot;
use contextd::llm::Upstreams;
use contextd::service::compaction::work::CompactionWork;
use contextd::service::compaction::{CompactRequest, Compaction};
use contextd::service::core::error::{ConflictCode, Result, ServiceError};
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ingest::append::{Append, Appended};
use contextd::service::sessions::NewSession;
use contextd::store::queue;
use contextd::worker::{Handler, Jobs};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::pg::database;
use crate::queue_support::{LEASE, tenant};

/// A service over a fresh database, with one session.
pub struct Stage {
    pub pool: PgPool,
    pub service: Service,
    pub tenant: Tenant,
    pub session: Uuid,
}

impl Stage {
    pub async fn set(settings: Value) -> Stage {
        let pool = database().await;
        let service = Service::new(pool.clone(), Options::default());
        let tenant = Tenant(tenant(&pool).await);
        let settings = settings.as_object().unwrap().clone();
        let session = service.create_session(tenant, NewSession { settings, ..NewSession::default() }).await.unwrap();
        Stage { pool, service, tenant, session: session.id }
    }

    pub async fn try_append(&self, append: Append) -> Result<Appended> {
        self.service.append(self.tenant, self.session, append).await
    }

    pub async fn append(&self, items: Vec<Value>) -> Appended {
        self.try_append(chat(items)).await.unwrap()
    }

    /// Appends `count` turns of one user message and one answer each, about 100 tokens a turn.
    pub async fn talk(&self, count: usize) -> Appended {
        let turn = |at: usize| {
            let said = format!("Turn {at}: {}", "look at the parser and keep every test green. ".repeat(4));
            [user(&said), assistant(&said)]
        };
        self.append((0..count).flat_map(turn).collect()).await
    }

    pub async fn leaf(&self) -> Option<Uuid> {
        self.service.queries().session(self.tenant, self.session).await.unwrap().leaf_id
    }

    /// Runs every due job, as the worker would.
    pub async fn work(&self) {
        let jobs = Jobs { service: self.service.clone(), upstreams: Upstreams::new(Vec::new(), None).unwrap() };
        for job in queue::claim(&self.pool, 10, LEASE, Uuid::nil()).await.unwrap() {
            jobs.run(&job).await;
        }
    }

    pub async fn compact(&self, request: CompactRequest) -> Compaction {
        let queued = self.service.compact(self.tenant, self.session, request, None).await.unwrap();
        self.work().await;
        self.service.compaction(self.tenant, queued.id).await.unwrap()
    }

    pub async fn snapshot(&self) -> Snapshot {
        self.service.queries().snapshot(self.tenant, self.session).await.unwrap()
    }

    /// The text of every message of the context.
    pub async fn context(&self) -> Vec<String> {
        let rebuild = contextd::service::rebuild::Rebuild::of_leaf(Format::OpenaiChat);
        let context = self.service.rebuild(self.tenant, self.session, rebuild).await.unwrap();
        context.messages.iter().map(|message| message.get().to_owned()).collect()
    }
}

/// An append of chat messages behind the leaf.
pub fn chat(items: Vec<Value>) -> Append {
    Append {
        format: Format::OpenaiChat,
        items: raw(items),
        parent_id: None,
        expected_leaf_id: None,
        usage: None,
        provider_error: None,
        is_whole: false,
    }
}

pub fn raw(items: Vec<Value>) -> Vec<Box<RawValue>> {
    items.iter().map(|item| to_raw_value(item).unwrap()).collect()
}

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// An answer that calls a tool once per id.
pub fn calls(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

pub fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

pub fn is_conflict(result: &Result<Compaction>, code: ConflictCode) -> bool {
    matches!(result, Err(ServiceError::Conflict { code: found, .. }) if *found == code)
}

/// A claimed compaction, planned and read, as the worker has it before a summary is asked for. `None`: it has ended.
pub async fn read_compaction(service: &Service, tenant: Tenant, id: Uuid) -> Option<Box<CompactionWork>> {
    let mut live = service.live_compaction(tenant, id).await.unwrap()?;
    let planned = service.plan_compaction(&mut live).await.unwrap()?;
    let work = service.read_compaction(&mut live, planned).await.unwrap()?;
    service.summarise_by_hooks(&mut live, work).await.unwrap()
}
