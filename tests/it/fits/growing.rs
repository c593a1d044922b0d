//! A session that grows, and what is asked of every context that it hands out.

use std::fmt::Write as _;

use contextd::domain::model::format::Format;
use contextd::llm::Upstreams;
use contextd::service::compaction::{CompactRequest, Compaction};
use contextd::service::core::error::ServiceError;
use contextd::service::core::page::PageRequest;
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ingest::append::Append;
use contextd::service::rebuild::{Context, Rebuild};
use contextd::service::sessions::NewSession;
use contextd::store::queue;
use contextd::worker::{Handler, Jobs};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use super::generate::{Burst, Call, Case, Turn};
use crate::corpus::Recording;
use crate::corpus::refused::is_broken;
use crate::queue_support::LEASE;
use crate::service_support::raw;

/// One look at a context may leave this many compactions behind: what was prepared, and what was still needed.
const MOST_COMPACTIONS: usize = 2;
/// A summary message needs this much: what is fixed may be that much less than the window.
const LEAST_SUMMARY: u64 = 700;

pub struct Growing<'a> {
    service: Service,
    jobs: Jobs,
    tenant: Tenant,
    session: Uuid,
    window: u64,
    recording: Option<&'a Recording>,
    /// Items of the recording that are stored.
    taken: usize,
    words: usize,
    calls: usize,
    pub contexts: usize,
    /// Contexts with a fixed part that is too large.
    pub excused: usize,
}

impl<'a> Growing<'a> {
    pub async fn new(pool: &PgPool, tenant: Uuid, case: &Case, recorded: &'a [Recording]) -> Growing<'a> {
        let service = Service::new(pool.clone(), Options::default());
        let jobs = Jobs { service: service.clone(), upstreams: Upstreams::new(Vec::new(), None).unwrap() };
        let tenant = Tenant(tenant);
        let mut settings = case.settings.as_object().unwrap().clone();
        settings.insert("context_window".to_owned(), json!(case.window));
        let system = Some(to_raw_value(&"Be brief and exact. ".repeat(case.system / 4)).unwrap());
        let new = NewSession { settings, system, ..NewSession::default() };
        let session = service.create_session(tenant, new).await.unwrap().id;
        let recording = case.recorded.and_then(|place| recorded.get(place));
        let (window, taken, words, calls) = (u64::from(case.window), 0, 0, 0);
        Growing { service, jobs, tenant, session, window, recording, taken, words, calls, contexts: 0, excused: 0 }
    }

    pub async fn play(&mut self, case: &Case) {
        for (step, burst) in case.bursts.iter().enumerate() {
            if !self.append(burst).await {
                return;
            }
            if burst.work.0 {
                self.work().await;
            }
            if burst.compact {
                self.service.compact(self.tenant, self.session, CompactRequest::default(), None).await.unwrap();
            }
            let context = self.look(burst.format).await;
            self.check(&context, step);
            if burst.work.1 {
                self.work().await;
            }
        }
    }

    /// `false`: there is nothing left to append.
    async fn append(&mut self, burst: &Burst) -> bool {
        let (format, items) = match self.recording {
            Some(recording) => {
                let rest = recording.items.get(self.taken..).unwrap_or_default();
                let items = rest.get(..burst.items.min(rest.len())).unwrap_or_default().to_vec();
                self.taken += items.len();
                (serde_json::from_value(json!(recording.format)).unwrap(), items)
            }
            None => (Format::OpenaiChat, burst.turns.iter().flat_map(|turn| self.turn(turn)).collect()),
        };
        if items.is_empty() {
            return false;
        }
        let append = Append {
            format,
            items: raw(items),
            parent_id: None,
            expected_leaf_id: None,
            usage: None,
            provider_error: None,
            is_whole: false,
        };
        match self.service.append(self.tenant, self.session, append).await {
            Err(ServiceError::Invalid(_)) if self.recording.is_some_and(|one| is_broken(&one.name)) => {}
            appended => drop(appended.unwrap()),
        }
        true
    }

    fn turn(&mut self, turn: &Turn) -> Vec<Value> {
        let mut items = Vec::new();
        items.extend(turn.system.map(|size| json!({"role": "system", "content": self.text(size)})));
        items.push(json!({"role": "user", "content": self.text(turn.user)}));
        if !turn.calls.is_empty() {
            let ids: Vec<String> = turn.calls.iter().map(|_| self.call_id()).collect();
            let calls: Vec<Value> = turn.calls.iter().zip(&ids).map(|(call, id)| self.call(call, id)).collect();
            items.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
            for (call, id) in turn.calls.iter().zip(&ids) {
                items.push(json!({"role": "tool", "tool_call_id": id, "content": self.text(call.result)}));
            }
        }
        items.extend(turn.answer.map(|size| json!({"role": "assistant", "content": self.text(size)})));
        items
    }

    fn call_id(&mut self) -> String {
        self.calls += 1;
        format!("call_{}", self.calls)
    }

    fn call(&mut self, call: &Call, id: &str) -> Value {
        let text = self.text(call.argument);
        let argument = match call.is_list {
            true => json!(text.split(' ').collect::<Vec<_>>()),
            false => json!(text),
        };
        let name = ["read", "bash", "write"][self.calls % 3];
        let arguments = json!({"path": "src/a.rs", "content": argument}).to_string();
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }

    /// Words that no other text has, about `percent` of the window in tokens.
    fn text(&mut self, percent: u32) -> String {
        let tokens = self.window * u64::from(percent) / 100 + 4;
        let mut text = String::new();
        // Each of them is about three tokens.
        for _ in 0..tokens.div_ceil(3) {
            self.words += 1;
            write!(text, "w{} ", self.words).unwrap();
        }
        text.push('.');
        text
    }

    async fn work(&self) {
        for job in queue::claim(self.service.pool(), 10, LEASE, Uuid::nil()).await.unwrap() {
            self.jobs.run(&job).await;
        }
    }

    /// The context, seen twice: what the first look has made of it stays.
    async fn look(&mut self, format: Format) -> Context {
        let before = self.compactions().await.len();
        let first = self.rebuild(format).await;
        let once = self.compactions().await.len();
        assert!(once <= before + MOST_COMPACTIONS, "{} compactions for one look", once - before);
        let again = self.rebuild(format).await;
        assert_eq!(self.compactions().await.len(), once, "a second look compacts again");
        assert_eq!((again.leaf_id, again.tokens), (first.leaf_id, first.tokens));
        assert_eq!(again.stable_prefix_messages, again.messages.len());
        let snapshot = self.service.queries().snapshot(self.tenant, self.session).await.unwrap();
        // What the format can't say, and a note tells of, is in the snapshot alone.
        match first.conversion_notes.is_empty() {
            true => assert_eq!(snapshot.tokens, first.tokens),
            false => assert!(first.tokens <= snapshot.tokens, "{} of {}", first.tokens, snapshot.tokens),
        }
        first
    }

    async fn rebuild(&self, format: Format) -> Context {
        let rebuild = Rebuild::of_leaf(format);
        self.service.rebuild(self.tenant, self.session, rebuild).await.unwrap()
    }

    async fn compactions(&self) -> Vec<Compaction> {
        let page = PageRequest { limit: 200, after: None };
        self.service.compactions(self.tenant, self.session, page).await.unwrap().items
    }

    fn check(&mut self, context: &Context, step: usize) {
        self.contexts += 1;
        let Some(excess) = &context.exceeds_window else {
            assert!(context.tokens <= self.window, "step {step}: {} of {} tokens", context.tokens, self.window);
            return;
        };
        assert!(context.tokens > self.window, "step {step}: {excess:?}");
        let named = excess.fixed.total();
        assert!(named + LEAST_SUMMARY > self.window, "step {step}: what is named can fit: {named}, {excess:?}");
        self.excused += 1;
    }
}
