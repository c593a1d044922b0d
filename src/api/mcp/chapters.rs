//! The tools about chapters.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::answer::{self, ToolAnswer, ToolRefusal};
use super::tool::{OfSession, ToolScope, long, long_fields, read, reads, schema};
use crate::api::chapters::WriteChapters;
use crate::domain::chapter;
use crate::service::chapters::VfsNode;

pub fn all() -> Vec<Tool> {
    let path = |description: &str| json!({"path": {"type": "string", "description": description}});
    let tool = chapter::tool();
    let words = tool["description"].as_str().unwrap_or_default().to_owned();
    let hints = ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(false);
    vec![
        reads(
            "list_tasks",
            "The numbered tasks of the context, with their sizes, and whether chapters are due. `done` tasks and chapters \
             can be closed with write_chapters.",
            &[],
        ),
        Tool::new("write_chapters", words, schema(&[&tool["parameters"]["properties"]])).with_annotations(hints),
        reads("list_chapters", "All chapters closed so far, nested ones under their parent.", &[]),
        reads(
            "list_chapter_files",
            "What a folder of the chapters holds: summary.md, events/ with every message as it was, nested chapters/.",
            &[&path("A folder, such as /chapters/ or /chapters/{slug}/events/.")],
        ),
        reads(
            "read_chapter_file",
            "A file of a chapter.",
            &[&path("A file, such as /chapters/{slug}/summary.md."), &long_fields()],
        ),
    ]
}

/// `None`: it is none of these tools.
pub async fn call(scope: &ToolScope<'_>, name: &str, arguments: JsonObject) -> Option<ToolAnswer> {
    Some(match name {
        "list_tasks" => list_tasks(scope, arguments).await,
        "write_chapters" => write_chapters(scope, arguments).await,
        "list_chapters" => list_chapters(scope, arguments).await,
        "list_chapter_files" => list_chapter_files(scope, arguments).await,
        "read_chapter_file" => read_chapter_file(scope, arguments).await,
        _ => return None,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFiles {
    session_id: Uuid,
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    session_id: Uuid,
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

async fn list_tasks(scope: &ToolScope<'_>, arguments: JsonObject) -> ToolAnswer {
    let OfSession { session_id } = read(arguments)?;
    let found = scope.services.queries.chapter_task(scope.tenant, session_id).await?;
    answer::json(&json!({"pending": found.pending, "tasks": found.tasks}))
}

async fn write_chapters(scope: &ToolScope<'_>, mut arguments: JsonObject) -> ToolAnswer {
    let session_id = arguments.shift_remove("session_id").unwrap_or(Value::Null);
    let OfSession { session_id } = read([("session_id".to_owned(), session_id)].into_iter().collect())?;
    let body: WriteChapters = read(arguments)?;
    let asked = body
        .checked(scope.services.sessions.options().max_items)
        .map_err(|problem| ToolRefusal::new(problem.told()))?;
    answer::json(&scope.services.sessions.write_chapters(scope.tenant, session_id, asked).await?)
}

async fn list_chapters(scope: &ToolScope<'_>, arguments: JsonObject) -> ToolAnswer {
    let OfSession { session_id } = read(arguments)?;
    answer::json(&scope.services.queries.chapters(scope.tenant, session_id).await?)
}

async fn list_chapter_files(scope: &ToolScope<'_>, arguments: JsonObject) -> ToolAnswer {
    let ListFiles { session_id, path } = read(arguments)?;
    match scope.services.queries.vfs(scope.tenant, session_id, &path).await? {
        VfsNode::Folder { path, entries } => answer::json(&json!({"path": path, "entries": entries})),
        VfsNode::File { .. } => Err(ToolRefusal::new("not_found: this is a file; read_chapter_file shows it")),
    }
}

async fn read_chapter_file(scope: &ToolScope<'_>, arguments: JsonObject) -> ToolAnswer {
    let ReadFile { session_id, path, offset, limit } = read(arguments)?;
    match scope.services.queries.vfs(scope.tenant, session_id, &path).await? {
        VfsNode::File { text } => long(&text, offset, limit),
        VfsNode::Folder { .. } => Err(ToolRefusal::new("not_found: this is a folder; list_chapter_files shows it")),
    }
}
