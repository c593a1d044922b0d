//! The chapter task: what an agent is asked when its context has grown past the trigger, and with which tool it answers.

use serde_json::{Value, json};

use crate::model::chapter_task::OPENING;

/// The prompt around the task index, one line per task.
pub fn prompt(index: &str) -> String {
    format!(
        "{OPENING}\nYour context has become large. Below are its tasks; the same numbers stand before them in the \
context. Fold what is finished into chapters with the tool write_chapters, then go on with your work.\n\n{index}\n\n\
- A chapter takes whole tasks from start to end. Join neighbours that belong together; leave out what you still need \
word for word.\n\
- Its message takes the place of these tasks in your context. Keep in it what later work depends on: results, decisions \
and their reasons, exact names, paths, ids and figures, what failed, what is left to do.\n\
- Chapters can be folded again like tasks. Nothing is lost: each chapter stays readable under /chapters/.\n\
- A task in progress or with an open tool call can't be closed. Ranges must not overlap.\n\
- If nothing should be closed now, send an empty list."
    )
}

/// The tool's definition: name, description and JSON schema of its parameters, which are the body of `POST chapters`.
pub fn tool() -> Value {
    json!({
        "name": "write_chapters",
        "description": "Folds finished tasks of the conversation into named chapters with a summary written by you. \
    Ranges are task numbers of the index, inclusive. An empty list closes nothing.",
        "parameters": {
            "type": "object",
            "properties": {"chapters": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "start": {"type": "integer", "minimum": 1, "description": "Number of the first task."},
                    "end": {"type": "integer", "minimum": 1, "description": "Number of the last task."},
                    "name": {"type": "string", "description": "A short title."},
                    "message": {"type": "string", "description": "What to remember of these tasks."}
                },
                "required": ["start", "end", "name", "message"],
                "additionalProperties": false
            }}},
            "required": ["chapters"],
            "additionalProperties": false
        }
    })
}
