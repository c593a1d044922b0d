//! Chapter files as resources: `contextd://sessions/{session_id}/chapters/…`, each path as in the folder view.

use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;
use uuid::Uuid;

use super::answer::ToolRefusal;
use crate::service::chapters::{ChapterView, VfsNode};
use crate::service::core::error::ServiceError;
use crate::service::core::page::PageRequest;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::sessions::list::SessionFilter;

const SCHEME: &str = "contextd://sessions/";
const MARKDOWN: &str = "text/markdown";

/// Sessions whose chapters one page lists.
const SESSIONS: i64 = 20;

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("contextd://sessions/{session_id}/chapters/{slug}/summary.md", "chapter_summary")
            .with_title("Summary of a chapter")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new("contextd://sessions/{session_id}/chapters/{+path}", "chapter_file")
            .with_title("File or folder of the chapters")
            .with_description("summary.md, events/ with every message as it was, nested chapters/.")
            .with_mime_type(MARKDOWN),
    ]
}

/// The summaries of all chapters, session by session, the newest session first.
pub async fn list(queries: &Queries, tenant: Tenant, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let page = PageRequest { limit: SESSIONS, after: cursor };
    let sessions = queries.sessions(tenant, SessionFilter::default(), page).await.map_err(refused)?;
    let mut resources = Vec::new();
    for session in &sessions.items {
        match queries.chapters(tenant, session.id).await {
            Ok(found) => found.items.iter().for_each(|chapter| add(&mut resources, session.id, chapter)),
            // Erased since it was listed.
            Err(ServiceError::NotFound(_)) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = sessions.next_cursor;
    Ok(result)
}

fn add(resources: &mut Vec<Resource>, session_id: Uuid, chapter: &ChapterView) {
    let path = chapter.path.trim_matches('/');
    let uri = format!("{SCHEME}{session_id}/{}/summary.md", encoded(path));
    resources.push(Resource::new(uri, format!("{path}/summary.md")).with_title(&chapter.name).with_mime_type(MARKDOWN));
    chapter.chapters.iter().for_each(|nested| add(resources, session_id, nested));
}

/// A file as Markdown; a folder as the JSON of its entries.
pub async fn read(queries: &Queries, tenant: Tenant, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})));
    let (session_id, path) = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')).ok_or_else(unknown)?;
    let session_id = Uuid::parse_str(session_id).map_err(|_| unknown())?;
    let path = decoded(path).ok_or_else(unknown)?;
    let contents = match queries.vfs(tenant, session_id, &path).await {
        Ok(VfsNode::File { text }) => ResourceContents::text(text, uri).with_mime_type(MARKDOWN),
        Ok(VfsNode::Folder { path, entries }) => {
            let listing = json!({"path": path, "entries": entries}).to_string();
            ResourceContents::text(listing, uri).with_mime_type("application/json")
        }
        Err(ServiceError::NotFound(_)) => return Err(unknown()),
        Err(error) => return Err(refused(error)),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn refused(error: ServiceError) -> ErrorData {
    let is_bad_input = matches!(error, ServiceError::Invalid(_));
    let ToolRefusal(text) = error.into();
    if is_bad_input { ErrorData::invalid_params(text, None) } else { ErrorData::internal_error(text, None) }
}

/// A path of slugs as it stands in a URI.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
