//! The agent's own list of tasks, followed through the calls that keep it: by their structure, whatever the tool is named.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::quote::{prefix, shortened, size};
use crate::model::message::{ToolCall, ToolResult};

/// Parts of the names of tools and arguments that hold a list of tasks.
const LISTS: [&str; 4] = ["todo", "plan", "task", "progress"];
/// Names of the fields that say how far a task is, what it is, and by which number later calls name it.
const STATES: [&str; 2] = ["status", "state"];
const TEXTS: [&str; 8] = ["content", "step", "title", "subject", "text", "task", "description", "name"];
const IDS: [&str; 5] = ["id", "taskId", "task_id", "todo_id", "todoId"];
/// Tasks that are followed, and that are told.
const MOST: usize = 400;
const MOST_TOLD: usize = 40;
/// Quarter tokens of one task, and of a result that gives it its number.
const TASK: usize = 160;
const MOST_GIVEN: usize = 600;

/// A list of tasks as it stands.
#[derive(Debug, Default, Clone)]
pub(super) struct TaskList {
    tasks: Vec<ListedTask>,
    places: HashMap<String, usize>,
}

#[derive(Debug, Clone)]
struct ListedTask {
    text: String,
    /// The list's own word; empty where it has none.
    state: String,
    gone: bool,
}

impl TaskList {
    /// Takes in a call with its result. Returns true if it wrote the list anew.
    pub fn take(&mut self, call: &ToolCall, result: Option<&ToolResult>) -> bool {
        let Value::Object(fields) = &call.arguments else { return false };
        if let Some(items) = items_of(call) {
            let merges = fields.get("merge") == Some(&Value::Bool(true));
            if !merges {
                *self = TaskList::default();
            }
            items.into_iter().for_each(|(id, text, state)| self.put(id, text, state));
            return !merges;
        }
        if holds_list(&call.name) {
            self.one(fields, result);
        }
        false
    }

    /// A call about one task: by its number, or a new one.
    fn one(&mut self, fields: &Map<String, Value>, result: Option<&ToolResult>) {
        let (id, text, state) = (id(fields), text(fields), state(fields));
        match id.as_ref().and_then(|id| self.places.get(id)).copied() {
            Some(place) => {
                let Some(task) = self.tasks.get_mut(place) else { return };
                task.gone |= state.as_deref().is_some_and(|state| state.starts_with("delete"));
                task.state = state.unwrap_or_else(|| task.state.clone());
            }
            None if id.is_none() => {
                let Some(text) = text else { return };
                // A tool that gives work to another agent is named alike: it gives no number.
                let Some(given) = result.and_then(given_number) else { return };
                self.put(Some(given), text, state.unwrap_or_default());
            }
            None => {}
        }
    }

    fn put(&mut self, id: Option<String>, text: String, state: String) {
        if let Some(place) = id.as_ref().and_then(|id| self.places.get(id)).copied()
            && let Some(task) = self.tasks.get_mut(place)
        {
            *task = ListedTask {
                text: if text.is_empty() { std::mem::take(&mut task.text) } else { text },
                state,
                gone: false,
            };
            return;
        }
        if self.tasks.len() >= MOST || text.is_empty() {
            return;
        }
        if let Some(id) = id {
            self.places.insert(id, self.tasks.len());
        }
        self.tasks.push(ListedTask { text, state, gone: false });
    }

    /// The list, a task a line with its state in the list's own word. `None`: it is empty.
    pub fn told(&self) -> Option<String> {
        let stands: Vec<&ListedTask> = self.tasks.iter().filter(|task| !task.gone).collect();
        let line = |task: &&ListedTask| {
            let text = shortened(&task.text.replace('\n', " "), TASK, 0);
            if task.state.is_empty() { format!("- {text}") } else { format!("- {}: {text}", task.state) }
        };
        let skipped = stands.len().saturating_sub(MOST_TOLD);
        let mut lines: Vec<String> = stands.iter().skip(skipped).map(line).collect();
        if skipped > 0 {
            lines.insert(0, format!("[{skipped} earlier tasks of the list are not told here]"));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// How many tasks a call writes down, where that is what it is for: its tool is named after a list, or it has no other
/// argument.
pub(super) fn list_size(call: &ToolCall) -> Option<usize> {
    let is_all = holds_list(&call.name) || call.arguments.as_object().is_some_and(|fields| fields.len() == 1);
    items_of(call).filter(|_| is_all).map(|items| items.len())
}

/// Returns true for an argument that keeps a list of tasks beside what the call does.
pub(super) fn is_side_list(call: &ToolCall, name: &str) -> bool {
    let is_list = |value| listed(true, value).is_some();
    holds_list(name) && call.arguments.get(name).is_some_and(is_list) && list_size(call).is_none()
}

/// What a call says about one task of a list that is told by itself: its number with what it is, or with its new state.
pub(super) fn one_task(call: &ToolCall, result: Option<&ToolResult>) -> Option<String> {
    let fields = call.arguments.as_object().filter(|_| holds_list(&call.name) && items_of(call).is_none())?;
    match (id(fields), state(fields), text(fields)) {
        (Some(number), Some(state), _) => Some(format!("{number}, {state}")),
        (None, _, Some(text)) => Some(format!("{}: {}", result.and_then(given_number)?, shortened(&text, TASK, 0))),
        _ => None,
    }
}

/// The tasks of the list that a call writes down.
fn items_of(call: &ToolCall) -> Option<Vec<Listed>> {
    let named = holds_list(&call.name);
    let mut fields = call.arguments.as_object()?.iter();
    fields.find_map(|(name, value)| listed(named || holds_list(name), value))
}

fn holds_list(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    LISTS.iter().any(|part| name.contains(part))
}

/// A task with its number and its state.
type Listed = (Option<String>, String, String);

/// The tasks of a value, where it is a list of such, or a check list of Markdown.
fn listed(named: bool, value: &Value) -> Option<Vec<Listed>> {
    if !named {
        return None;
    }
    match value {
        Value::Array(items) if items.is_empty() => Some(Vec::new()),
        Value::Array(items) => {
            let one = |item: &Value| {
                let fields = item.as_object()?;
                Some((id(fields), text(fields).unwrap_or_default(), state(fields)?))
            };
            items.iter().take(MOST).map(one).collect()
        }
        Value::String(text) => {
            let items: Vec<Listed> = text.lines().take(MOST).filter_map(checked).collect();
            (!items.is_empty()).then_some(items)
        }
        _ => None,
    }
}

/// `- [x] text`
fn checked(line: &str) -> Option<Listed> {
    let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '*' | '.' | ' '));
    let (mark, text) = line.strip_prefix('[')?.split_once(']')?;
    let state = match mark {
        " " | "" => "open",
        "x" | "X" | "✓" => "done",
        "-" | "~" | "/" | ">" => "in progress",
        _ => return None,
    };
    Some((None, text.trim().to_owned(), state.to_owned()))
}

fn id(fields: &Map<String, Value>) -> Option<String> {
    IDS.iter().find_map(|name| match fields.get(*name)? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    })
}

fn text(fields: &Map<String, Value>) -> Option<String> {
    let said = |name: &&str| fields.get(*name)?.as_str().filter(|text| !text.trim().is_empty());
    TEXTS.iter().find_map(said).map(|text| prefix(text.trim(), 4 * TASK).to_owned())
}

fn state(fields: &Map<String, Value>) -> Option<String> {
    let word = STATES.iter().find_map(|name| fields.get(*name)?.as_str()).map(|state| prefix(state, 40).to_owned());
    let flag = ["done", "completed"].iter().find_map(|name| fields.get(*name)?.as_bool());
    word.or_else(|| flag.map(|done| if done { "done" } else { "open" }.to_owned()))
}

/// The number that a result gives to a new task: the first one behind a `#`, or its field `id`. A report may name numbers
/// too; it is longer.
fn given_number(result: &ToolResult) -> Option<String> {
    let text = result.plain_text();
    if size(&text) > MOST_GIVEN {
        return None;
    }
    if let Some(Value::Object(fields)) = super::values::parsed(&text) {
        return id(&fields);
    }
    let behind = text.split_once('#')?.1;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::testing::{call_with, result};

    fn take(list: &mut TaskList, name: &str, arguments: Value, answer: &str) -> bool {
        let call = call_with("c", name, arguments);
        let result = result("c", answer);
        let (call, result) = (call.tool_calls().next().unwrap(), result.tool_results().next());
        list.take(call, result)
    }

    #[test]
    fn lists_are_known_by_their_structure() {
        for (name, arguments) in [
            (
                "TodoWrite",
                json!({"todos": [{"content": "Parse", "status": "completed"}, {"content": "Test", "status": "pending"}]}),
            ),
            (
                "update_plan",
                json!({"plan": [{"step": "Parse", "status": "completed"}, {"step": "Test", "status": "pending"}]}),
            ),
            ("write_file", json!({"path": "a", "task_progress": "- [x] Parse\n- [ ] Test"})),
            ("aufgaben", json!({"todo_items": [{"title": "Parse", "done": true}, {"title": "Test", "done": false}]})),
        ] {
            let mut list = TaskList::default();
            assert!(take(&mut list, name, arguments, ""), "{name}");
            let told = list.told().unwrap();
            assert!(told.contains("Parse") && told.contains("Test") && told.lines().count() == 2, "{name}: {told}");
        }
        let mut list = TaskList::default();
        assert!(!take(&mut list, "search", json!({"items": [{"name": "x", "status": "sold"}]}), ""));
        assert!(list.told().is_none());
    }

    #[test]
    fn single_calls_add_up() {
        let mut list = TaskList::default();
        take(&mut list, "TaskCreate", json!({"subject": "Parse"}), "Task #4 created");
        take(&mut list, "TaskCreate", json!({"subject": "Test"}), "Task #5 created");
        take(&mut list, "TaskUpdate", json!({"taskId": "4", "status": "completed"}), "");
        take(&mut list, "TaskUpdate", json!({"taskId": "5", "status": "deleted"}), "");
        assert_eq!(list.told().unwrap(), "- completed: Parse");
    }

    #[test]
    fn work_that_another_agent_is_given_is_no_task_of_the_list() {
        let mut list = TaskList::default();
        let given =
            json!({"description": "Find the index writes", "prompt": "Look for them.", "subagent_type": "explore"});
        let report =
            format!("They are in #3 and #4. {}", "The writer opens the index and closes it again. ".repeat(20));
        take(&mut list, "Task", given.clone(), &report);
        take(&mut list, "Task", given, "Done.");
        assert!(list.told().is_none());
    }

    #[test]
    fn part_of_a_list_is_merged_and_an_empty_one_is_empty() {
        let mut list = TaskList::default();
        take(
            &mut list,
            "todo_write",
            json!({"merge": false, "todos": [{"id": "a", "content": "Parse", "status": "pending"}, {"id": "b", "content": "Test", "status": "pending"}]}),
            "",
        );
        take(&mut list, "todo_write", json!({"merge": true, "todos": [{"id": "a", "status": "completed"}]}), "");
        assert_eq!(list.told().unwrap(), "- completed: Parse\n- pending: Test");
        take(&mut list, "todo_write", json!({"todos": []}), "");
        assert!(list.told().is_none());
    }
}
