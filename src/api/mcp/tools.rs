//! The tools: their names, what they take, what they answer.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::answer::{self, ToolAnswer, ToolRefusal};
use super::chapters;
use super::tool::{OfSession, ToolScope, id, long, long_fields, read, reads};
use crate::api::problem::Problem;
use crate::domain::model::entry_type::EntryType;
use crate::domain::search;
use crate::service::Services;
use crate::service::core::access::{Access, Scope};
use crate::service::core::page::PageRequest;
use crate::service::recall::tool_calls::RecalledItem;

/// Every tool, as clients list them.
pub fn all() -> Vec<Tool> {
    let page = json!({
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Items to list. Default 20."},
        "cursor": {"type": "string", "description": "next_cursor of the answer before."},
    });
    let mut tools = chapters::all();
    tools.extend([
        reads("get_snapshot", "How full the context is: tokens, window, state, what it consists of.", &[]),
        reads(
            "search",
            "Looks for words in everything ever said or seen in the session, also in what was compacted away or closed \
             in a chapter. Matches stand between <mark> and </mark>; read_entry shows an entry whole.",
            &[
                &json!({"query": {"type": "string", "minLength": 1, "maxLength": 1000, "description":
                    "Words, or phrases in double quotes; paths, identifiers and numbers of the record (#47, u12) work."}}),
                &page,
            ],
        ),
        reads(
            "read_entry",
            "The whole text of an entry, by its id.",
            &[&json!({"entry_id": id("The entry.")}), &long_fields()],
        ),
        reads(
            "list_tool_calls",
            "Every tool call made so far, in order, with its arguments; elided ones are not whole in the context.",
            &[&page],
        ),
        reads(
            "read_tool_result",
            "The whole original result of a tool call, also where the context shows it elided, cut or as a duplicate; or a \
             message of the user's, by its number in the record.",
            &[
                &json!({"tool_call_id": {"type": "string", "description": "The call_id that the context shows, or a \
                    number as the record prints it: #47 is the 47th call, u12 the twelfth message of the user's own."}}),
                &long_fields(),
            ],
        ),
        reads("list_files", "The files that tool calls have read, changed and deleted so far, and the paths that calls of other tools name.", &[]),
    ]);
    tools
}

/// Carries out a tool.
///
/// # Errors
/// A protocol error for a tool that does not exist. What goes wrong in a tool is its answer, marked as an error.
pub async fn call(
    services: &Services,
    access: Access,
    name: &str,
    arguments: JsonObject,
) -> Result<CallToolResult, ErrorData> {
    let scope = ToolScope { services, access, tenant: access.tenant };
    if let Err(refusal) = may(access, name) {
        return Ok(shown(Err(refusal)));
    }
    if let Some(answer) = chapters::call(&scope, name, arguments.clone()).await {
        return Ok(shown(answer));
    }
    let answer = match name {
        "get_snapshot" => scope.get_snapshot(arguments).await,
        "search" => scope.search(arguments).await,
        "read_entry" => scope.read_entry(arguments).await,
        "list_tool_calls" => scope.list_tool_calls(arguments).await,
        "read_tool_result" => scope.read_tool_result(arguments).await,
        "list_files" => scope.list_files(arguments).await,
        _ => return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None)),
    };
    Ok(shown(answer))
}

/// A tool that does more than to look needs a key that may write.
fn may(access: Access, name: &str) -> Result<(), ToolRefusal> {
    let only_looks = |tool: &Tool| tool.annotations.as_ref().and_then(|hints| hints.read_only_hint).unwrap_or(false);
    if access.scopes.allow(Scope::Write) || !all().iter().any(|tool| tool.name == name && !only_looks(tool)) {
        return Ok(());
    }
    Err(ToolRefusal::new(Problem::insufficient_scope(Scope::Write).told()))
}

fn shown(answer: ToolAnswer) -> CallToolResult {
    answer.unwrap_or_else(|ToolRefusal(text)| CallToolResult::error(vec![ContentBlock::text(text)]))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    session_id: Uuid,
    query: String,
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadEntry {
    session_id: Uuid,
    entry_id: Uuid,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListToolCalls {
    session_id: Uuid,
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadToolResult {
    session_id: Uuid,
    tool_call_id: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

impl ToolScope<'_> {
    async fn get_snapshot(&self, arguments: JsonObject) -> ToolAnswer {
        let OfSession { session_id } = read(arguments)?;
        answer::json(&self.services.queries.snapshot(self.tenant, session_id).await?)
    }

    async fn search(&self, arguments: JsonObject) -> ToolAnswer {
        let SearchArgs { session_id, query, limit, cursor } = read(arguments)?;
        let page = page(limit, cursor)?;
        answer::json(&self.services.queries.search(self.access, session_id, &query, page).await?)
    }

    async fn read_entry(&self, arguments: JsonObject) -> ToolAnswer {
        let ReadEntry { session_id, entry_id, offset, limit } = read(arguments)?;
        let entry = self.services.queries.entry(self.tenant, session_id, entry_id).await?;
        let kind = entry.kind.parse().unwrap_or(EntryType::Message);
        long(&search::text_of(kind, entry.item.get()), offset, limit)
    }

    async fn list_tool_calls(&self, arguments: JsonObject) -> ToolAnswer {
        let ListToolCalls { session_id, limit, cursor } = read(arguments)?;
        let page = page(limit, cursor)?;
        answer::json(&self.services.queries.tool_calls(self.tenant, session_id, page).await?)
    }

    async fn read_tool_result(&self, arguments: JsonObject) -> ToolAnswer {
        let ReadToolResult { session_id, tool_call_id, offset, limit } = read(arguments)?;
        let found = match self.services.queries.recalled(self.access, session_id, &tool_call_id).await? {
            RecalledItem::Message(message) => return long(&message.text, offset, limit),
            RecalledItem::Call(call) => call,
        };
        match found.result_text {
            Some(text) => long(&text, offset, limit),
            None if found.original_missing => {
                Err(ToolRefusal::new("not_found: only a placeholder of this result was ever stored"))
            }
            None => Err(ToolRefusal::new("not_found: this call has no result yet")),
        }
    }

    async fn list_files(&self, arguments: JsonObject) -> ToolAnswer {
        let OfSession { session_id } = read(arguments)?;
        answer::json(&self.services.queries.files(self.tenant, session_id).await?)
    }
}

fn page(limit: Option<i64>, cursor: Option<String>) -> Result<PageRequest, ToolRefusal> {
    let limit = limit.unwrap_or(20);
    if !(1..=200).contains(&limit) {
        return Err(ToolRefusal::new("validation_failed: limit must be from 1 to 200"));
    }
    Ok(PageRequest { limit, after: cursor })
}
