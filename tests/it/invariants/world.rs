//! A service at work on generated sessions, beside a plain model of what it was given.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use contextd::domain::model::format::Format;
use contextd::llm::Upstreams;
use contextd::service::compaction::{CompactRequest, Compaction, Status};
use contextd::service::core::error::ServiceError;
use contextd::service::core::page::PageRequest;
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ingest::append::Append;
use contextd::service::navigation::Navigate;
use contextd::service::path::entries::{EntryQuery, EntryView};
use contextd::service::rebuild::{Context, Rebuild};
use contextd::service::sessions::{NewSession, SessionPatch};
use contextd::store::queue::{self, Job};
use contextd::worker::{Handler, JobOutcome, Jobs};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use super::generate::{Appending, Case, Change, HUGE, Operation};
use super::items::render;

const LEASE: Duration = Duration::from_secs(60);
const MANUAL_WAIT: Option<Duration> = None;

/// An entry as it was given, or a compaction that the service wrote.
#[derive(Debug, Clone)]
pub struct Node {
    pub parent: Option<Uuid>,
    pub given: Option<(Format, String)>,
}

/// A session as it should be.
#[derive(Debug, Clone)]
pub struct Model {
    pub id: Uuid,
    pub nodes: HashMap<Uuid, Node>,
    pub order: Vec<Uuid>,
    pub leaf: Option<Uuid>,
    pub pinned: Vec<Uuid>,
    /// The messages of the last look, by format.
    pub seen: RefCell<HashMap<Format, Vec<String>>>,
    /// Those of the last step, and whether nothing in them was made up.
    pub last: HashMap<Format, (Vec<String>, bool)>,
}

pub struct World {
    pub service: Service,
    pub jobs: Jobs,
    pub tenant: Tenant,
    pub sessions: Vec<Model>,
    pub current: usize,
    pub counter: u32,
    pub compactions_done: usize,
}

/// What an operation may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The context only grew at its end.
    Grew,
    /// Anything about the view, but nothing stored is lost.
    Other,
}

impl Model {
    pub fn path(&self, leaf: Option<Uuid>) -> Vec<Uuid> {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(id) = at {
            path.push(id);
            at = self.nodes[&id].parent;
        }
        path.reverse();
        path
    }

    pub fn any(&self, place: u16) -> Option<Uuid> {
        if self.order.is_empty() { None } else { Some(self.order[usize::from(place) % self.order.len()]) }
    }
}

impl World {
    pub async fn new(pool: &PgPool, tenant: Uuid, case: &Case) -> World {
        let service = Service::new(pool.clone(), Options::default());
        let jobs = Jobs { service: service.clone(), upstreams: Upstreams::new(Vec::new(), None).unwrap() };
        let tenant = Tenant(tenant);
        let settings = json!({"context_window": 6_000, "keep_recent_tokens": 150}).as_object().unwrap().clone();
        let system = case.system.as_ref().map(|text| to_raw_value(&text.replace("(lone)", "")).unwrap());
        let new = NewSession { settings, system, ..NewSession::default() };
        let session = service.create_session(tenant, new).await.unwrap();
        let model = Model {
            id: session.id,
            nodes: HashMap::new(),
            order: Vec::new(),
            leaf: None,
            pinned: Vec::new(),
            seen: RefCell::default(),
            last: HashMap::new(),
        };
        let mut world =
            World { service, jobs, tenant, sessions: vec![model], current: 0, counter: 0, compactions_done: 0 };
        for change in &case.settings {
            world.set(change).await;
        }
        world
    }

    pub fn model(&self) -> &Model {
        &self.sessions[self.current]
    }

    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.sessions[self.current]
    }

    pub fn id(&self) -> Uuid {
        self.model().id
    }

    pub async fn context(&self, format: Format, leaf_id: Option<Uuid>) -> Context {
        self.bounded(format, leaf_id, None).await.unwrap()
    }

    /// 10: a look says how many messages are those of the look before it.
    pub async fn bounded(
        &self,
        format: Format,
        leaf_id: Option<Uuid>,
        max_tokens: Option<u64>,
    ) -> Result<Context, ServiceError> {
        let rebuild = Rebuild { leaf_id, max_tokens, ..Rebuild::of_leaf(format) };
        let context = self.service.rebuild(self.tenant, self.id(), rebuild).await?;
        if leaf_id.is_none() {
            assert_eq!(context.leaf_id, self.model().leaf, "a context that was made to fit does not stay as it is");
        }
        let now = texts(&context.messages);
        let before = self.model().seen.borrow_mut().insert(format, now.clone()).unwrap_or_default();
        assert_eq!(context.stable_prefix_messages, same_prefix(&before, &now), "{format:?}");
        Ok(context)
    }

    pub async fn apply(&mut self, operation: &Operation) -> Effect {
        let effect = self.act(operation).await;
        if self.force_fit().await { Effect::Other } else { effect }
    }

    /// Has a context that is larger than the window compacted, as handing it out would.
    pub async fn force_fit(&mut self) -> bool {
        let Some(relieved) = self.service.force_fit(self.tenant, self.id()).await.unwrap() else { return false };
        let ended = self.service.compaction(self.tenant, relieved.id).await.unwrap();
        let result = ended.result.unwrap();
        assert!(result.tokens_after < result.tokens_before, "{result:?}");
        let snapshot = self.service.queries().snapshot(self.tenant, self.id()).await.unwrap();
        assert_eq!(snapshot.tokens, result.tokens_after);
        self.compactions_done += 1;
        self.learn(result.entry_id.unwrap());
        true
    }

    /// Asks for a compaction. One that was prepared ahead is there at once.
    pub async fn ask(&mut self, request: CompactRequest) -> Status {
        let gives = request.summary.is_some();
        let asked = match self.service.compact(self.tenant, self.id(), request, MANUAL_WAIT).await {
            // A text that is no summary.
            Err(ServiceError::Invalid(_)) if gives => return Status::Skipped,
            asked => asked.unwrap(),
        };
        if asked.status == Status::Succeeded {
            self.compactions_done += 1;
            self.learn(asked.result.unwrap().entry_id.unwrap());
        }
        asked.status
    }

    async fn act(&mut self, operation: &Operation) -> Effect {
        match operation {
            Operation::Append(appending) => {
                let effect = self.append(appending).await;
                self.work_off(effect).await
            }
            Operation::Navigate(place) => {
                let count = self.model().order.len();
                let place = usize::from(*place) % (count + 1);
                let target_id = place.checked_sub(1).map(|place| self.model().order[place]);
                self.navigate(target_id).await;
                Effect::Other
            }
            Operation::Fork { at, go_on } => {
                let at = at.and_then(|place| self.model().any(place));
                self.fork(at, *go_on).await;
                Effect::Other
            }
            Operation::Compact { how, given } => {
                let summary = given.as_ref().map(|text| match text.as_str() {
                    HUGE => "a very long summary that says nothing. ".repeat(4_000),
                    other => other.to_owned(),
                });
                let request =
                    CompactRequest { strategy: Some(*how), summary, force: true, ..CompactRequest::default() };
                self.ask(request).await;
                self.work_off(Effect::Other).await
            }
            Operation::Race { race, meanwhile } => {
                self.race(*race, meanwhile).await;
                Effect::Other
            }
            Operation::Set(change) => {
                self.set(change).await;
                self.work_off(Effect::Other).await
            }
            Operation::Close { from, count } => {
                self.close(*from, *count).await;
                self.work_off(Effect::Other).await
            }
            Operation::Revert => {
                self.revert().await;
                Effect::Other
            }
        }
    }

    pub async fn append(&mut self, appending: &Appending) -> Effect {
        let items = render(appending.format, &appending.turns, appending.pretty, &mut self.counter);
        let raw: Vec<String> = items.iter().map(|item| item.get().to_owned()).collect();
        let parent_id = appending.under.and_then(|place| self.model().any(place));
        let append = Append {
            format: appending.format,
            items,
            parent_id,
            expected_leaf_id: None,
            usage: appending.usage.map(|tokens| json!({"input_tokens": tokens, "output_tokens": 7})),
            provider_error: None,
            is_whole: false,
        };
        let appended = self.service.append(self.tenant, self.id(), append).await.unwrap();
        assert_eq!(appended.entries.len(), raw.len());
        let model = self.model_mut();
        let effect =
            if parent_id.is_none_or(|parent| Some(parent) == model.leaf) { Effect::Grew } else { Effect::Other };
        let mut parent = parent_id.or(model.leaf);
        for (entry, raw) in appended.entries.iter().zip(raw) {
            model.nodes.insert(entry.id, Node { parent, given: Some((appending.format, raw)) });
            model.order.push(entry.id);
            parent = Some(entry.id);
        }
        model.leaf = parent;
        let landed = appended.compaction.filter(|compaction| compaction.status == Status::Succeeded);
        if let Some(landed) = landed {
            let ended = self.service.compaction(self.tenant, landed.id).await.unwrap();
            let result = ended.result.unwrap();
            assert!(result.tokens_after < result.tokens_before, "{result:?}");
            assert_eq!(appended.snapshot.tokens, result.tokens_after);
            self.compactions_done += 1;
            self.learn(result.entry_id.unwrap());
        }
        self.take_along(appended.leaf_id).await;
        if landed.is_some() { Effect::Other } else { effect }
    }

    /// Runs all jobs to their ends and learns what compactions they added.
    pub async fn work_off(&mut self, effect: Effect) -> Effect {
        let mut compacted = false;
        loop {
            // A job may have left more than the window holds.
            compacted |= self.force_fit().await;
            let Some(job) = self.claim().await else { break };
            let before = self.service.queries().snapshot(self.tenant, self.id()).await.unwrap();
            let view = self.context(Format::Native, None).await;
            assert_eq!(self.jobs.run(&job).await, JobOutcome::Done);
            let Some(id) = job.compaction_id else { continue };
            let ended = self.service.compaction(self.tenant, id).await.unwrap();
            if ended.prepared {
                let after = self.context(Format::Native, None).await;
                assert_eq!(texts(&after.messages), texts(&view.messages), "prepared, not applied");
                continue;
            }
            self.check_ended(&ended, before.tokens, &view).await;
            compacted |= ended.status == Status::Succeeded;
        }
        if compacted { Effect::Other } else { effect }
    }

    pub async fn claim(&self) -> Option<Job> {
        queue::claim(self.service.pool(), 1, LEASE, Uuid::nil()).await.unwrap().pop()
    }

    pub async fn check_ended(&mut self, ended: &Compaction, before: u64, view: &Context) {
        assert!(matches!(ended.status, Status::Succeeded | Status::Skipped), "{ended:?}");
        let result = ended.result.as_ref().unwrap();
        assert!(result.tokens_after <= result.tokens_before, "a compaction grew the context: {result:?}");
        assert_eq!(result.tokens_before, before);
        if ended.status == Status::Skipped {
            // The checks after the step see whether anything was stored.
            return assert!(result.entry_id.is_none() && result.skip_reason.is_some(), "{result:?}");
        }
        self.compactions_done += 1;
        self.learn(result.entry_id.unwrap());
        let now = self.service.queries().snapshot(self.tenant, self.id()).await.unwrap();
        assert_eq!(now.tokens, result.tokens_after);
        self.check_anchors(view).await;
    }

    /// What has to outlive a compaction: the first user message and pinned entries, as far as they were shown.
    pub async fn check_anchors(&mut self, before: &Context) {
        self.force_fit().await;
        let session = self.service.queries().session(self.tenant, self.id()).await.unwrap();
        let shown: HashSet<Uuid> = before.entry_ids.iter().copied().collect();
        let after = self.context(Format::Native, None).await;
        let mut wanted = self.model().pinned.clone();
        if session.settings.anchor_first_user {
            wanted.extend(self.first_user().await);
        }
        for id in wanted.iter().filter(|id| shown.contains(id)) {
            assert!(after.entry_ids.contains(id), "the anchor {id} is gone");
            let elided = |context: &Context| context.elided.iter().any(|elided| elided.entry_id == *id);
            assert!(!elided(&after) || elided(before), "the anchor {id} is elided");
        }
    }

    async fn first_user(&self) -> Option<Uuid> {
        let entries = self.path_entries().await;
        let asks = |entry: &&EntryView| entry.role == Some("user") && !entry.item.get().contains("tool_result");
        entries.iter().find(asks).map(|entry| entry.id)
    }

    pub async fn path_entries(&self) -> Vec<EntryView> {
        self.entries(EntryQuery::default()).await
    }

    pub async fn entries(&self, query: EntryQuery) -> Vec<EntryView> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = PageRequest { limit: 7 + all.len() as i64, after };
            let page = self.service.queries().entries(self.tenant, self.id(), query.clone(), page).await.unwrap();
            all.extend(page.items);
            after = page.next_cursor;
            if after.is_none() {
                return all;
            }
        }
    }

    /// Takes a compaction entry at the leaf into the model.
    pub fn learn(&mut self, id: Uuid) {
        let model = self.model_mut();
        model.nodes.insert(id, Node { parent: model.leaf, given: None });
        model.order.push(id);
        model.leaf = Some(id);
    }

    pub async fn navigate(&mut self, target_id: Option<Uuid>) {
        let navigated =
            self.service.navigate(self.tenant, self.id(), Navigate { target_id, ..Navigate::default() }).await.unwrap();
        let model = self.model_mut();
        let parent = target_id.and_then(|id| model.nodes[&id].parent);
        let expected = if navigated.editor_text.is_some() { parent } else { target_id };
        model.leaf = expected;
        self.take_along(navigated.leaf_id).await;
    }

    /// A leaf that moved to a path of its compaction's span has taken that along, as an entry of its own.
    async fn take_along(&mut self, leaf: Option<Uuid>) {
        if let Some(id) = leaf.filter(|_| leaf != self.model().leaf) {
            let carried = self.service.queries().entry(self.tenant, self.id(), id).await.unwrap();
            assert_eq!((carried.kind, carried.parent_id), ("compaction", self.model().leaf));
            assert!(carried.item.get().contains("\"carries\""), "{}", carried.item);
            self.learn(id);
        }
    }

    pub async fn fork(&mut self, at: Option<Uuid>, go_on: bool) {
        let fork = self.service.fork_session(self.tenant, self.id(), at).await.unwrap();
        let leaf = at.or(self.model().leaf);
        let order = self.model().path(leaf);
        let nodes = order.iter().map(|id| (*id, self.model().nodes[id].clone())).collect();
        let pinned = self.model().pinned.clone();
        self.sessions.push(Model {
            id: fork.id,
            nodes,
            order,
            leaf,
            pinned,
            seen: RefCell::default(),
            last: HashMap::new(),
        });
        let stays = std::mem::replace(&mut self.current, self.sessions.len() - 1);
        self.take_along(fork.leaf_id).await;
        if !go_on {
            self.current = stays;
        }
    }

    async fn set(&mut self, change: &Change) {
        let mut settings = Map::new();
        match change {
            Change::Setting(name, value) => drop(settings.insert((*name).to_owned(), value.clone())),
            Change::Pin(place) => {
                let shown = self.context(Format::Native, None).await.entry_ids;
                let Some(id) = shown.get(usize::from(*place) % shown.len().max(1)) else { return };
                self.model_mut().pinned.push(*id);
            }
            Change::Unpin => self.model_mut().pinned.clear(),
        }
        let pinned: Vec<Value> = self.model().pinned.iter().map(|id| id.to_string().into()).collect();
        settings.insert("pinned_entry_ids".to_owned(), pinned.into());
        let patch = SessionPatch { settings: Some(settings), ..SessionPatch::default() };
        self.service.patch_session(self.tenant, self.id(), patch).await.unwrap();
    }

    async fn revert(&mut self) {
        let page = PageRequest { limit: 200, after: None };
        let newest = self.service.compactions(self.tenant, self.id(), page).await.unwrap();
        let Some(newest) = newest.items.into_iter().find(|found| found.status == Status::Succeeded) else { return };
        match self.service.revert_compaction(self.tenant, newest.id).await {
            Ok(_) => {
                let leaf = self.service.queries().session(self.tenant, self.id()).await.unwrap().leaf_id.unwrap();
                self.learn(leaf);
            }
            Err(ServiceError::Conflict { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

pub fn same_prefix(before: &[String], now: &[String]) -> usize {
    before.iter().zip(now).take_while(|(old, new)| old == new).count()
}

/// Messages as texts.
pub fn texts(messages: &[Box<RawValue>]) -> Vec<String> {
    messages.iter().map(|message| message.get().to_owned()).collect()
}
