//! The agent's own lists of what is to be done.

use serde_json::Value;

use super::super::super::text::brief;
use super::items::ITEM_CHARS;
use crate::domain::summary::ledger::LedgerCall;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    pub text: String,
    pub state: TodoState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoState {
    Done,
    Open,
    Pending,
}

/// The newest list, or what single calls that create and update tasks add up to.
pub fn of(calls: &[LedgerCall<'_>]) -> Vec<Todo> {
    let list = calls.iter().rev().find_map(list_in).map(|items| items.iter().filter_map(todo).collect());
    list.unwrap_or_else(|| one_by_one(calls))
}

/// Returns true if a call does nothing but keep a list of what is to be done.
pub fn is_todo(call: &LedgerCall<'_>) -> bool {
    list_in(call).is_some() || ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"].contains(&call.call.name.as_str())
}

fn list_in<'a>(call: &LedgerCall<'a>) -> Option<&'a Vec<Value>> {
    ["todos", "plan", "items", "task_list"]
        .iter()
        .find_map(|key| call.call.arguments.get(key)?.as_array())
        .filter(|items| items.iter().any(|item| item.get("status").is_some()))
}

fn todo(item: &Value) -> Option<Todo> {
    let text =
        ["content", "step", "title", "subject", "description", "task"].iter().find_map(|key| item.get(key)?.as_str());
    Some(Todo { text: brief(text?, ITEM_CHARS), state: state(item).unwrap_or(TodoState::Pending) })
}

fn state(item: &Value) -> Option<TodoState> {
    match item.get("status").and_then(Value::as_str)? {
        "completed" | "done" => Some(TodoState::Done),
        "in_progress" => Some(TodoState::Open),
        _ => Some(TodoState::Pending),
    }
}

/// Tasks that are numbered as they are created.
fn one_by_one(calls: &[LedgerCall<'_>]) -> Vec<Todo> {
    let mut tasks: Vec<(String, Todo)> = Vec::new();
    for call in calls {
        let arguments = &call.call.arguments;
        if call.call.name == "TaskCreate" {
            let says = call.result.map(|result| result.plain_text()).unwrap_or_default();
            let number = says.split('#').nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
            let id = number.map_or_else(|| (tasks.len() + 1).to_string(), str::to_owned);
            tasks.extend(todo(arguments).map(|todo| (id, todo)));
        } else if call.call.name == "TaskUpdate" {
            let id = arguments.get("taskId").and_then(Value::as_str).unwrap_or_default();
            if let Some((_, todo)) = tasks.iter_mut().rev().find(|(known, _)| known == id) {
                todo.state = state(arguments).unwrap_or(todo.state);
            }
        }
    }
    tasks.into_iter().map(|(_, todo)| todo).collect()
}
