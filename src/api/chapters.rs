//! Chapters: the tasks of a context, closing them, and the folders in which what was closed can be read.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::{Faults, MAX_NAME_CHARS, MAX_PROSE_CHARS};
use super::problem::{Problem, Result};
use super::query::Ids;
use super::state::AppState;
use crate::service::chapters::{ChapterList, ChapterTaskView, FolderEntry, Task, VfsNode};
use crate::service::compaction::{ChaptersWritten, NewChapter};
use crate::service::core::tenant::Tenant;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_tasks))
        .routes(routes!(get_chapter_task))
        .routes(routes!(write_chapters, list_chapters))
        .routes(routes!(read_vfs_root))
        .routes(routes!(read_vfs))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteChapters {
    /// An empty list closes nothing and is respected until the context has grown.
    #[schema(max_items = 1000)]
    chapters: Vec<ChapterInput>,
}

/// Task numbers are those of the index and of the context, inclusive.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChapterInput {
    start: i64,
    end: i64,
    #[schema(min_length = 1, max_length = 512)]
    name: String,
    /// What stands in the context in place of the tasks.
    #[schema(min_length = 1, max_length = 100_000)]
    message: String,
}

impl WriteChapters {
    /// The chapters, if every one is well-formed.
    pub fn checked(self, max_items: usize) -> Result<Vec<NewChapter>> {
        if self.chapters.len() > max_items {
            return Err(Problem::too_many_items(self.chapters.len(), max_items));
        }
        let mut faults = Faults::default();
        for (n, chapter) in self.chapters.iter().enumerate() {
            for (field, text, most) in
                [("name", &chapter.name, MAX_NAME_CHARS), ("message", &chapter.message, MAX_PROSE_CHARS)]
            {
                let pointer = format!("/chapters/{n}/{field}");
                faults.text(&pointer, Some(text), most);
                if text.trim().is_empty() {
                    faults.add(pointer, "must not be empty");
                }
            }
        }
        faults.finish()?;
        let chapter = |input: ChapterInput| NewChapter {
            start: input.start,
            end: input.end,
            name: input.name,
            message: input.message,
        };
        Ok(self.chapters.into_iter().map(chapter).collect())
    }
}

/// A folder of the chapters. A file is answered as `text/markdown`.
#[derive(Serialize, ToSchema)]
struct VfsFolder {
    path: String,
    entries: Vec<FolderEntry>,
}

/// The numbered tasks of the context.
#[utoipa::path(get, path = "/v1/sessions/{sid}/tasks", tag = "chapters", params(("sid" = Uuid, Path)),
    responses((status = 200, body = Vec<Task>)))]
async fn list_tasks(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<Json<Vec<Task>>> {
    Ok(Json(state.services.queries.tasks(tenant, sid).await?))
}

/// What to hand the agent when chapters are due: prompt, tool and task index.
#[utoipa::path(get, path = "/v1/sessions/{sid}/chapter-task", tag = "chapters", params(("sid" = Uuid, Path)),
    responses((status = 200, body = ChapterTaskView)))]
async fn get_chapter_task(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
) -> Result<Json<ChapterTaskView>> {
    Ok(Json(state.services.queries.chapter_task(tenant, sid).await?))
}

/// Closes tasks into chapters. A bad range is refused by itself; overlapping ranges refuse the whole call.
#[utoipa::path(post, path = "/v1/sessions/{sid}/chapters", tag = "chapters", params(("sid" = Uuid, Path)),
    request_body = WriteChapters, responses((status = 201, body = ChaptersWritten)))]
async fn write_chapters(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<WriteChapters>,
) -> Result<(StatusCode, Json<ChaptersWritten>)> {
    let asked = body.checked(state.services.sessions.options().max_items)?;
    Ok((StatusCode::CREATED, Json(state.services.sessions.write_chapters(tenant, sid, asked).await?)))
}

/// All chapters at the leaf, nested ones under their parent.
#[utoipa::path(get, path = "/v1/sessions/{sid}/chapters", tag = "chapters", params(("sid" = Uuid, Path)),
    responses((status = 200, body = ChapterList)))]
async fn list_chapters(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
) -> Result<Json<ChapterList>> {
    Ok(Json(state.services.queries.chapters(tenant, sid).await?))
}

/// The root of the folder view.
#[utoipa::path(get, path = "/v1/sessions/{sid}/vfs/", tag = "chapters", params(("sid" = Uuid, Path)),
    responses((status = 200, body = VfsFolder)))]
async fn read_vfs_root(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<Response> {
    read(&state, tenant, sid, "").await
}

/// A folder of the chapters, or a file as Markdown.
#[utoipa::path(get, path = "/v1/sessions/{sid}/vfs/{*path}", tag = "chapters",
    params(("sid" = Uuid, Path), ("path" = String, Path)),
    responses((status = 200, content((VfsFolder = "application/json"), (String = "text/markdown")))))]
async fn read_vfs(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids((sid, path)): Ids<(Uuid, String)>,
) -> Result<Response> {
    read(&state, tenant, sid, &path).await
}

async fn read(state: &AppState, tenant: Tenant, sid: Uuid, path: &str) -> Result<Response> {
    Ok(match state.services.queries.vfs(tenant, sid, path).await? {
        VfsNode::Folder { path, entries } => Json(VfsFolder { path, entries }).into_response(),
        VfsNode::File { text } => ([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response(),
    })
}
