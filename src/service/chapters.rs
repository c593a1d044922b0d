//! Chapters as the agent meets them: the numbered tasks, the task of closing some, and the chapters there are. Writing
//! them is a compaction and lives with the others.

mod folder;

use std::collections::{HashMap, HashSet};

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::chapter::{self, Chapter, TaskSpan, TaskState, title};
use crate::domain::compaction::guard::savings_pct;
use crate::domain::context::view::{ViewItem, item_tokens};
use crate::domain::hook::Event;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::fold::Fold;
use crate::domain::redaction::Redaction;
use crate::domain::tokens::accounting::Snapshot;
use crate::families;
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::EnabledHooks;
use crate::service::path::batches;
use crate::service::path::entries::{chapter_of, message_of};
use crate::service::path::view::view_origin;
use crate::service::path::view::{self, PathSlice, ReadMode};
use crate::service::{events, hooks};
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Segment, join};

pub use folder::{FolderEntry, VfsNode};

/// A title has at most this many characters.
const TITLE_CHARS: usize = 80;

/// One numbered task of the context.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Task {
    /// From 1. The context shows the same number.
    pub n: u32,
    /// The first words of the user's message, or the chapter's name.
    pub title: String,
    pub entry_id: Uuid,
    /// What it takes in the context.
    pub tokens: u64,
    /// `done` and `chapter` can be closed.
    pub state: TaskState,
}

/// What to hand the agent when chapters are due.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterTaskView {
    /// As in the snapshot. The rest is given in any case.
    pub pending: bool,
    pub prompt: String,
    /// Name, description and JSON schema of the parameters, which are the body of `POST chapters`.
    #[schema(value_type = Object)]
    pub tool: Value,
    pub tasks: Vec<Task>,
}

/// A chapter with those nested in it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterView {
    pub id: Uuid,
    pub name: String,
    pub slug: String,
    /// Its folder under `vfs`.
    pub path: String,
    pub message: String,
    /// Task numbers as they were when it was closed.
    pub start: u32,
    pub end: u32,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub savings_pct: f64,
    /// It is shown at the leaf: neither nested in another nor replaced by a summary.
    pub in_context: bool,
    #[schema(no_recursion)]
    pub chapters: Vec<ChapterView>,
}

/// All chapters of a path, as a list of its own kind: they are few, so there is one page.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterList {
    pub items: Vec<ChapterView>,
    pub next_cursor: Option<String>,
}

/// Returns true if an append has just made the chapter task due.
pub(crate) fn is_requested(before: &Snapshot, after: &Snapshot) -> bool {
    after.chapter_task.pending && !before.chapter_task.pending
}

/// Says once that the agent is to close chapters, within the transaction of the append that made it due: whatever is
/// to be told of it, is told from here.
pub(crate) async fn request(connection: &mut PgConnection, tenant: Tenant, head: &Head) -> Result<()> {
    metrics::counter!(families::CHAPTER_REQUESTS).increment(1);
    tracing::info!(tenant = %tenant.0, session_id = %head.session_id, "the chapter task is due");
    events::record_chapter_request(&mut *connection, tenant, head.session_id, &head.snapshot()).await?;
    if !EnabledHooks::load(&mut *connection, tenant).await?.has(Event::ChapterRequested) {
        return Ok(());
    }
    let mut task = serde_json::to_value(task_view(connection, tenant, head).await?).context("a chapter task")?;
    Redaction::of(&head.settings.redact).redact_json(&mut task);
    hooks::announce_chapter_request(connection, tenant, head.session_id, &task).await
}

impl Queries {
    /// The numbered tasks of the context at the leaf.
    pub async fn tasks(&self, tenant: Tenant, session_id: Uuid) -> Result<Vec<Task>> {
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let mut reader = self.long_reads.reader(tenant, head.view_length()).await?;
        let tasks = tasks(reader.on()?, tenant, &head).await?;
        reader.done();
        Ok(tasks)
    }

    /// Prompt, tool and index for an agent that is to close chapters.
    pub async fn chapter_task(&self, tenant: Tenant, session_id: Uuid) -> Result<ChapterTaskView> {
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let mut reader = self.long_reads.reader(tenant, head.view_length()).await?;
        let view = task_view(reader.on()?, tenant, &head).await?;
        reader.done();
        Ok(view)
    }

    /// The chapters of the leaf's path in its order, nested ones under their parent.
    pub async fn chapters(&self, tenant: Tenant, session_id: Uuid) -> Result<ChapterList> {
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let shelf = Shelf::open(&mut connection, tenant, &head).await?;
        let known = shelf.all(&mut connection).await?;
        let folds = head.state.newest.iter().flat_map(|newest| &newest.folds);
        let shown: HashSet<Uuid> = folds.map(|shown| shown.fold.chapter).collect();
        let items = shelf.root.iter().filter_map(|fold| view_of(fold, "", &known, &shown)).collect();
        Ok(ChapterList { items, next_cursor: None })
    }
}

async fn task_view(connection: &mut PgConnection, tenant: Tenant, head: &Head) -> Result<ChapterTaskView> {
    let tasks = tasks(connection, tenant, head).await?;
    let lines: Vec<String> = tasks.iter().map(line).collect();
    let pending = head.snapshot().chapter_task.pending;
    Ok(ChapterTaskView { pending, prompt: chapter::prompt(&lines.join("\n")), tool: chapter::tool(), tasks })
}

async fn tasks(connection: &mut PgConnection, tenant: Tenant, head: &Head) -> Result<Vec<Task>> {
    let (from, state) = view_origin(&mut *connection, tenant, head, None).await?;
    let loaded = view::load_view(&mut *connection, tenant, &from, ReadMode::Heads).await?;
    let spans = loaded.tasks(&state);
    let places = spans.iter().map(|span| loaded.segment(titled(span)));
    let title = |titles: &mut HashMap<Uuid, String>, stored: &StoredEntry| {
        let text = match stored.entry.head.kind {
            EntryType::Chapter => chapter_of(stored)?.name,
            _ => message_of(stored)?.map(|message| message.plain_text()).unwrap_or_default(),
        };
        titles.insert(stored.entry.head.id, title(&text, TITLE_CHARS));
        Ok(())
    };
    let titles = batches::fold(&mut *connection, tenant, &join(places), HashMap::new(), title).await?;
    let sizes = sizes(&loaded);
    let task = |(span, number): (&TaskSpan, u32)| {
        let entry_id = loaded.heads[titled(span)].id;
        let tokens = sizes.get(span.entries.clone()).unwrap_or_default().iter().sum();
        let title = titles.get(&entry_id).cloned().unwrap_or_default();
        Task { n: number, title, entry_id, tokens, state: span.state }
    };
    Ok(spans.iter().zip(1..).map(task).collect())
}

/// The entry that gives a task its title.
fn titled(span: &TaskSpan) -> usize {
    span.mark.unwrap_or(span.entries.start)
}

/// Lists the tokens that each entry takes in the view, by index.
fn sizes(loaded: &PathSlice) -> Vec<u64> {
    let mut sizes = vec![0; loaded.heads.len()];
    for item in loaded.view() {
        if let ViewItem::Entry { index, .. } = &item
            && let Some(size) = sizes.get_mut(*index)
        {
            *size = item_tokens(&loaded.heads, &item);
        }
    }
    sizes
}

/// One line of the index.
fn line(task: &Task) -> String {
    let Task { n, title, tokens, .. } = task;
    match task.state {
        TaskState::Chapter => format!("[{n}] chapter \"{title}\", {tokens} tokens"),
        TaskState::Done => format!("[{n}] {title}, {tokens} tokens"),
        TaskState::InProgress => format!("[{n}] {title} (in progress)"),
        TaskState::OpenCall => format!("[{n}] {title} (a tool call is open)"),
    }
}

/// The chapters that a path has at its leaf.
pub(super) struct Shelf {
    tenant: Tenant,
    segments: Vec<Segment>,
    /// Those nested in no other.
    pub root: Vec<Fold>,
}

impl Shelf {
    pub async fn open(connection: &mut PgConnection, tenant: Tenant, head: &Head) -> Result<Shelf> {
        let segments = path::segments(&mut *connection, tenant.0, head.leaf(), head.is_plain()).await?;
        let shelf = Shelf { tenant, segments, root: Vec::new() };
        let Some(newest) = &head.state.newest else { return Ok(shelf) };
        let stored = shelf.heads(connection, &[(newest.depth, newest.depth)]).await?;
        let record = stored.first().and_then(|stored| stored.record.as_deref());
        Ok(Shelf { root: record.map(|record: &CompactionRecord| record.chapters.clone()).unwrap_or_default(), ..shelf })
    }

    /// Entries at these depths, which ascend and are disjoint.
    pub async fn heads(&self, connection: &mut PgConnection, depths: &[(i64, i64)]) -> Result<Vec<StoredEntry>> {
        Ok(entries::heads(connection, self.tenant.0, &path::clip(&self.segments, depths)).await?)
    }

    pub async fn items(&self, connection: &mut PgConnection, depths: &[(i64, i64)]) -> Result<Vec<StoredEntry>> {
        Ok(entries::whole(connection, self.tenant.0, &path::clip(&self.segments, depths)).await?)
    }

    /// The chapters of these folds.
    pub async fn read(&self, connection: &mut PgConnection, folds: &[Fold]) -> Result<Vec<Chapter>> {
        let mut depths: Vec<(i64, i64)> = folds.iter().map(|fold| (fold.depth, fold.depth)).collect();
        depths.sort_unstable();
        let stored = self.items(connection, &depths).await?;
        let mut chapters = stored.iter().map(chapter_of).collect::<Result<Vec<_>>>()?;
        chapters.sort_by_key(|chapter| chapter.fold.from);
        Ok(chapters)
    }

    /// Every chapter, by id: one reading for each level of nesting.
    async fn all(&self, connection: &mut PgConnection) -> Result<HashMap<Uuid, Chapter>> {
        let mut known = HashMap::new();
        let mut wanted = self.root.clone();
        while !wanted.is_empty() {
            let level = self.read(connection, &wanted).await?;
            wanted = level.iter().flat_map(|chapter| chapter.chapters.iter().cloned()).collect();
            known.extend(level.into_iter().map(|chapter| (chapter.fold.chapter, chapter)));
        }
        Ok(known)
    }
}

fn view_of(fold: &Fold, parent: &str, known: &HashMap<Uuid, Chapter>, shown: &HashSet<Uuid>) -> Option<ChapterView> {
    let chapter = known.get(&fold.chapter)?;
    let folder = format!("{parent}/chapters/{}", chapter.slug);
    Some(ChapterView {
        id: fold.chapter,
        name: chapter.name.clone(),
        slug: chapter.slug.clone(),
        message: chapter.message.clone(),
        start: chapter.start,
        end: chapter.end,
        tokens_before: chapter.tokens_before,
        tokens_after: chapter.tokens_after,
        savings_pct: savings_pct(chapter.tokens_before, chapter.tokens_after),
        in_context: shown.contains(&fold.chapter),
        chapters: chapter.chapters.iter().filter_map(|fold| view_of(fold, &folder, known, shown)).collect(),
        path: format!("{folder}/"),
    })
}
