//! The agent's list of what is to be done, followed through its calls; what of it is open outlives every summary.

use std::collections::HashMap;

use serde_json::Value;

use super::text::{brief, one_line, quarters, takes};
use crate::domain::model::message::{Message, ToolCall};
use crate::domain::model::todo::{Todo, TodoState};

/// Items are kept at this length at most.
const ITEM_CHARS: usize = 300;
/// Items of a list that are carried on.
const MOST: usize = 200;
const HEADING: &str = "## Open tasks of the agent's list";

/// The newest list, or what single calls that create and update tasks add up to.
#[derive(Debug, Clone, Default)]
pub struct TodoList {
    items: Vec<Option<Todo>>,
    /// Places by number.
    places: HashMap<String, usize>,
    /// Places by the calls that were not answered yet.
    creating: HashMap<String, usize>,
}

impl TodoList {
    /// The list as an earlier compaction carried it.
    pub fn on(carried: &[Todo]) -> TodoList {
        let mut list = TodoList::default();
        carried.iter().cloned().for_each(|todo| list.push(todo));
        list
    }

    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        self.answered(message);
        message.tool_calls().for_each(|call| self.called(call));
        // A provider's own tools are answered inside the same message.
        self.answered(message);
    }

    fn called(&mut self, call: &ToolCall) {
        if let Some(items) = list_in(call) {
            *self = TodoList::default();
            items.iter().filter_map(todo).for_each(|todo| self.push(todo));
        } else if call.name == "TaskCreate" {
            let id = Some((self.items.len() + 1).to_string());
            let Some(todo) = todo(&call.arguments) else { return };
            self.creating.insert(call.id.clone(), self.items.len());
            self.push(Todo { id, ..todo });
        } else if call.name == "TaskUpdate" {
            self.updated(&call.arguments);
        }
    }

    fn push(&mut self, todo: Todo) {
        if let Some(id) = &todo.id {
            self.places.insert(id.clone(), self.items.len());
        }
        self.items.push(Some(todo));
        if self.items.len() > 4 * MOST && self.creating.is_empty() {
            *self = TodoList::on(&std::mem::take(self).into_carried());
        }
    }

    fn updated(&mut self, arguments: &Value) {
        let id = match arguments.get("taskId") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => return,
        };
        let Some(slot) = self.places.get(&id).and_then(|at| self.items.get_mut(*at)) else { return };
        if arguments.get("status").and_then(Value::as_str).is_some_and(is_gone) {
            *slot = None;
        } else if let Some(todo) = slot {
            todo.state = state(arguments).unwrap_or(todo.state);
        }
    }

    /// Takes in the numbers that new tasks were given.
    fn answered(&mut self, message: &Message) {
        for result in message.tool_results() {
            let Some(at) = self.creating.remove(&result.tool_call_id) else { continue };
            let says = result.plain_text();
            let number = says.split('#').nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
            let (Some(number), Some(Some(todo))) = (number.filter(|id| !id.is_empty()), self.items.get_mut(at)) else {
                continue;
            };
            todo.id = Some(number.to_owned());
            self.places.insert(number.to_owned(), at);
        }
    }

    /// Returns the list in its order.
    pub fn into_items(self) -> Vec<Todo> {
        self.items.into_iter().flatten().collect()
    }

    /// Returns what goes on to the next compaction: of a long list what is open, and the newest of the rest.
    pub fn into_carried(self) -> Vec<Todo> {
        let items = self.into_items();
        let mut surplus = items.len().saturating_sub(MOST);
        let mut drop = |gone: bool| {
            let drops = gone && surplus > 0;
            surplus -= usize::from(drops);
            drops
        };
        let open: Vec<Todo> = items.into_iter().filter(|todo| !drop(todo.state == TodoState::Done)).collect();
        let surplus = open.len().saturating_sub(MOST);
        open.into_iter().skip(surplus).collect()
    }
}

/// Returns true if a call does nothing but keep a list of what is to be done.
pub fn is_todo(call: &ToolCall) -> bool {
    list_in(call).is_some() || ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"].contains(&call.name.as_str())
}

fn list_in(call: &ToolCall) -> Option<&Vec<Value>> {
    ["todos", "plan", "items", "task_list"]
        .iter()
        .find_map(|key| call.arguments.get(key)?.as_array())
        .filter(|items| items.iter().any(|item| item.get("status").is_some()))
}

fn todo(item: &Value) -> Option<Todo> {
    let text =
        ["content", "step", "title", "subject", "description", "task"].iter().find_map(|key| item.get(key)?.as_str());
    let state = state(item).unwrap_or(TodoState::Pending);
    let gone = item.get("status").and_then(Value::as_str).is_some_and(is_gone);
    (!gone).then_some(Todo { text: brief(text?, ITEM_CHARS), state, id: None })
}

fn state(item: &Value) -> Option<TodoState> {
    match item.get("status").and_then(Value::as_str)? {
        "completed" | "done" => Some(TodoState::Done),
        "in_progress" => Some(TodoState::InProgress),
        _ => Some(TodoState::Pending),
    }
}

fn is_gone(status: &str) -> bool {
    matches!(status, "deleted" | "cancelled" | "canceled")
}

/// A section with the open tasks that a text does not tell of, as many from the front as `max_tokens` (four characters
/// each) hold, the number of the others stated. `None`: there are none, or there is no room.
pub fn open_tasks(todos: &[Todo], text: &str, max_tokens: u32) -> Option<String> {
    let told = one_line(text).to_lowercase();
    let untold = |todo: &&Todo| {
        todo.state != TodoState::Done && !told.contains(todo.text.to_lowercase().trim_end_matches(['.', '…']))
    };
    let lines: Vec<String> = todos.iter().filter(untold).map(line).collect();
    let mut left = (max_tokens as usize * 4).checked_sub(HEADING.len() + GAP)?;
    let shown: Vec<&str> =
        lines.iter().map(String::as_str).take_while(|line| takes(&mut left, quarters(line) + 1)).collect();
    let gap = lines.len() - shown.len();
    let gap = (gap > 0).then(|| format!("- (… {gap} more)"));
    (!shown.is_empty()).then(|| {
        let all: Vec<&str> = [HEADING].into_iter().chain(shown).chain(gap.as_deref()).collect();
        all.join("\n")
    })
}

/// Room of the line for tasks left out, in quarter tokens.
const GAP: usize = 24;

fn line(todo: &Todo) -> String {
    let state = if todo.state == TodoState::InProgress { " (in progress)" } else { "" };
    format!("- {}{state}", todo.text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{call, result};
    use super::*;

    fn after(carried: &[Todo], messages: &[Message]) -> Vec<Todo> {
        let mut list = TodoList::on(carried);
        messages.iter().for_each(|message| list.add(message));
        list.into_carried()
    }

    fn open(todos: &[Todo]) -> Vec<&str> {
        todos.iter().filter(|todo| todo.state != TodoState::Done).map(|todo| todo.text.as_str()).collect()
    }

    #[test]
    fn the_newest_list_counts() {
        let list = |states: [&str; 2]| {
            call(
                "c",
                "TodoWrite",
                json!({"todos": [{"content": "Mend the parser", "status": states[0]},
                {"content": "Write the docs", "status": states[1]}]}),
            )
        };
        let first = after(&[], &[list(["in_progress", "pending"])]);
        assert_eq!(open(&first), ["Mend the parser", "Write the docs"]);
        assert_eq!(open(&after(&first, &[])), ["Mend the parser", "Write the docs"], "nothing came");
        assert_eq!(open(&after(&first, &[list(["completed", "pending"])])), ["Write the docs"]);
        assert_eq!(open(&after(&first, &[list(["completed", "cancelled"])])), Vec::<&str>::new());
    }

    #[test]
    fn tasks_are_followed_by_their_numbers_through_compactions() {
        let create = |at: &str, subject: &str| call(at, "TaskCreate", json!({"subject": subject}));
        let update = |id: &str, status: &str| call("u", "TaskUpdate", json!({"taskId": id, "status": status}));
        let first = after(
            &[],
            &[
                create("a", "Mend the parser"),
                result("a", "Task #7 created"),
                create("b", "Write the docs"),
                result("b", "Task #8 created"),
            ],
        );
        let second = after(&first, &[update("7", "completed"), create("c", "Tag it"), result("c", "Task #9 created")]);
        assert_eq!(open(&second), ["Write the docs", "Tag it"]);
        let stored = serde_json::to_string(&second).unwrap();
        let second: Vec<Todo> = serde_json::from_str(&stored).unwrap();
        assert_eq!(open(&after(&second, &[update("8", "deleted"), update("9", "in_progress")])), ["Tag it"]);
    }

    #[test]
    fn a_hundred_thousand_tasks_are_no_trouble() {
        let mut list = TodoList::default();
        for at in 0..100_000 {
            let id = format!("c{at}");
            list.add(&call(&id, "TaskCreate", json!({"subject": format!("Do part {at}")})));
            list.add(&result(&id, &format!("Task #{at} created")));
            list.add(&call("u", "TaskUpdate", json!({"taskId": at.to_string(), "status": "completed"})));
        }
        let carried = list.into_carried();
        assert_eq!((carried.len(), carried[MOST - 1].text.as_str()), (MOST, "Do part 99999"));
    }

    #[test]
    fn what_the_text_tells_is_not_said_twice() {
        let todo = |text: &str, state| Todo { text: text.into(), state, id: None };
        let todos = [
            todo("Mend the parser", TodoState::InProgress),
            todo("Write the docs", TodoState::Pending),
            todo("Tag it", TodoState::Done),
        ];
        let section = |text: &str, room| open_tasks(&todos, text, room);
        assert_eq!(
            section("- write the\n docs.", 100).as_deref(),
            Some("## Open tasks of the agent's list\n- Mend the parser (in progress)")
        );
        assert_eq!(section("Mend the parser; write the docs", 100), None);
        assert_eq!(
            section("", 26).as_deref(),
            Some("## Open tasks of the agent's list\n- Mend the parser (in progress)\n- (… 1 more)")
        );
        assert_eq!(section("", 5), None);
    }
}
