//! The operations of the document, one by one.

use serde_json::Value;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Calls `change` with path, method and operation of every one.
pub fn for_each(document: &mut Value, mut change: impl FnMut(&str, &str, &mut Value)) {
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else { return };
    for (path, item) in paths {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method) {
                change(path, method, operation);
            }
        }
    }
}
