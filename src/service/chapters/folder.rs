//! The folder view: `/chapters/{slug}/` with its summary, its events as they came, and the chapters nested in it.

use std::fmt::Write as _;

use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Shelf;
use crate::domain::chapter::{Chapter, event_names, own_depths};
use crate::domain::model::fold::Fold;
use crate::domain::model::message::Role;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::store::entries::StoredEntry;

const CHAPTERS: &str = "chapters";
const EVENTS: &str = "events";
const SUMMARY: &str = "summary.md";

/// Node of the folder view, named by a path: a folder or a file.
#[derive(Debug, Clone)]
pub enum VfsNode {
    /// `path` ends with a slash.
    Folder { path: String, entries: Vec<FolderEntry> },
    /// Markdown.
    File { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FolderEntry {
    pub name: String,
    /// `folder` or `file`.
    pub kind: &'static str,
    /// Bytes of a file; null for a folder.
    pub size: Option<u64>,
}

impl FolderEntry {
    fn folder(name: impl Into<String>) -> FolderEntry {
        FolderEntry { name: name.into(), kind: "folder", size: None }
    }

    fn file(name: impl Into<String>, text: &str) -> FolderEntry {
        FolderEntry { name: name.into(), kind: "file", size: Some(text.len() as u64) }
    }
}

impl Queries {
    /// Reads a folder or a file of the chapters at the leaf. Segments are compared as they are, so that a path climbs
    /// nowhere; one slash at the end and one at the beginning say nothing.
    ///
    /// # Errors
    /// `NotFound` for whatever is not there.
    pub async fn vfs(&self, tenant: Tenant, session_id: Uuid, path: &str) -> Result<VfsNode> {
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let shelf = Shelf::open(&mut connection, tenant, &head).await?;
        let inner = path.strip_prefix('/').unwrap_or(path);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if inner.is_empty() {
            let entries = if shelf.root.is_empty() { Vec::new() } else { vec![FolderEntry::folder(CHAPTERS)] };
            return Ok(VfsNode::Folder { path: "/".to_owned(), entries });
        }
        let (mut segments, mut folds) = (inner.split('/'), shelf.root.clone());
        let mut chapter: Option<Chapter> = None;
        while let Some(segment) = segments.next() {
            if segment != CHAPTERS || folds.is_empty() {
                let chapter = chapter.ok_or_else(missing)?;
                return inside(&mut connection, &shelf, &chapter, segment, segments, inner).await;
            }
            let level = shelf.read(&mut connection, &folds).await?;
            let Some(slug) = segments.next() else {
                let entries = level.iter().map(|chapter| FolderEntry::folder(chapter.slug.as_str())).collect();
                return Ok(folder(inner, entries));
            };
            let found = level.into_iter().find(|chapter| chapter.slug == slug).ok_or_else(missing)?;
            folds = found.chapters.clone();
            chapter = Some(found);
        }
        Ok(folder(inner, top(&chapter.ok_or_else(missing)?)))
    }
}

fn missing() -> ServiceError {
    ServiceError::NotFound("file")
}

fn folder(path: &str, entries: Vec<FolderEntry>) -> VfsNode {
    VfsNode::Folder { path: format!("/{path}/"), entries }
}

/// Lists the files and folders in a chapter's own folder.
fn top(chapter: &Chapter) -> Vec<FolderEntry> {
    let mut entries = vec![FolderEntry::file(SUMMARY, &chapter.summary()), FolderEntry::folder(EVENTS)];
    entries.extend((!chapter.chapters.is_empty()).then(|| FolderEntry::folder(CHAPTERS)));
    entries
}

/// The summary, the events, or one of them.
async fn inside(
    connection: &mut PgConnection,
    shelf: &Shelf,
    chapter: &Chapter,
    segment: &str,
    mut rest: std::str::Split<'_, char>,
    inner: &str,
) -> Result<VfsNode> {
    let name = rest.next();
    if rest.next().is_some() {
        return Err(missing());
    }
    let file = |text: String| Ok(VfsNode::File { text });
    match (segment, name) {
        (SUMMARY, None) => file(chapter.summary()),
        (EVENTS, None) => {
            let events = events(shelf.items(connection, &own_depths(chapter)).await?, &chapter.chapters);
            let entries = events.iter().map(|(name, stored)| Ok(FolderEntry::file(name, &text(name, stored)?)));
            Ok(folder(inner, entries.collect::<Result<_>>()?))
        }
        (EVENTS, Some(name)) => {
            let events = events(shelf.heads(connection, &own_depths(chapter)).await?, &chapter.chapters);
            let depth = events.iter().find(|(known, _)| known == name).map(|(_, stored)| stored.entry.head.depth);
            let depth = depth.ok_or_else(missing)?;
            let stored = shelf.items(connection, &[(depth, depth)]).await?;
            file(text(name, stored.first().ok_or_else(missing)?)?)
        }
        _ => Err(missing()),
    }
}

/// Events with their file names, in path order.
fn events(stored: Vec<StoredEntry>, nested: &[Fold]) -> Vec<(String, StoredEntry)> {
    let names = event_names(stored.iter().map(|stored| &stored.entry.head), nested);
    names.into_iter().zip(stored).filter_map(|(name, stored)| Some((name?, stored))).collect()
}

/// An event to read: what was said, and the item as it came, byte for byte.
fn text(name: &str, stored: &StoredEntry) -> Result<String> {
    let entry = &stored.entry;
    let title = name.strip_suffix(".md").unwrap_or(name);
    let mut text = format!("# {title}\n\n- entry: {}\n- time: {}\n", entry.head.id, entry.created_at.to_rfc3339());
    if let Some(message) = message_of(stored)? {
        let said = message.plain_text();
        if !said.trim().is_empty() {
            let _ = write!(text, "\n## Text\n\n{said}\n");
        }
        for call in message.tool_calls() {
            let arguments = call.arguments.to_string();
            let fence = fence(&arguments);
            let _ = write!(text, "\n## Call {} ({})\n\n{fence}json\n{arguments}\n{fence}\n", call.name, call.id);
        }
        for result in message.tool_results().filter(|_| entry.head.role != Some(Role::Assistant)) {
            let said = result.plain_text();
            let fence = fence(&said);
            let _ = write!(text, "\n## Result of {}\n\n{fence}\n{said}\n{fence}\n", result.tool_call_id);
        }
    }
    let fence = fence(&entry.item);
    let format = entry.source_format.into_str();
    let _ = write!(text, "\n## Original ({format})\n\n{fence}json\n{}\n{fence}\n", entry.item);
    Ok(text)
}

/// A fence that nothing in the text closes.
fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
