//! The recorded items that are refused: broken in the recording itself, and no others.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Recording;

/// Recording, pointer, and what is broken there.
const BROKEN: [(&str, &str, &str); 3] = [
    ("agent-sessions-fixtures codex-small", "/items/19/arguments", "a call whose arguments the fixture cut to null"),
    ("claude-code-log edge_cases", "/items/9/content", "a message whose `content` is misspelt `contenst`"),
    ("claude-code-log edge_cases", "/items/12/content/0", "a bare string where a block of the content stands"),
];

/// The refusals of these recordings that are known, in the words of [`refusals`].
pub fn known(recordings: &[Recording]) -> BTreeSet<String> {
    let is_there = |name: &str| recordings.iter().any(|one| one.name == name);
    BROKEN.iter().filter(|broken| is_there(broken.0)).map(|(name, pointer, _)| format!("{name}: {pointer}")).collect()
}

/// Recording and pointer of each error of a refused append.
pub fn refusals(name: &str, errors: &Value) -> Vec<String> {
    let pointer = |error: &Value| error["pointer"].as_str().unwrap_or_default().to_owned();
    errors.as_array().unwrap().iter().map(|error| format!("{name}: {}", pointer(error))).collect()
}

/// Whether a part of the recording may be refused.
pub fn is_broken(name: &str) -> bool {
    BROKEN.iter().any(|broken| broken.0 == name)
}

/// Whether this item of the recording may be refused.
pub fn is_broken_item(recording: &Recording, item: &Value) -> bool {
    let place = |pointer: &str| pointer.split('/').nth(2).and_then(|index| index.parse::<usize>().ok()).unwrap();
    let of_it = BROKEN.iter().filter(|broken| broken.0 == recording.name);
    of_it.map(|broken| place(broken.1)).any(|index| recording.items[index] == *item)
}
