//! JSON told by its values: names once, what is empty left out.

mod outline;

use serde_json::{Map, Value};

use super::quote::GAP;

pub use outline::{ValueWords, within};

/// Deeper values are shown as they are.
const DEEPEST: usize = 12;
/// Longer texts are not read as JSON.
const LONGEST: usize = 400_000;

/// Lines among which JSON may begin, and bytes that may stand before and behind it.
const MOST_BEFORE: usize = 8;
const MOST_AROUND: usize = 800;

/// Bytes of a text that is a name or a number rather than a passage.
const SHORT_VALUE: usize = 60;

/// Bytes of a text that may be all that an object says.
const LONG_TEXT: usize = 200;

/// The fields of a result of MCP.
const MCP_RESULT: [&str; 5] = ["content", "isError", "meta", "_meta", "structuredContent"];

/// Stands between the cells of a table's row.
pub(super) const COLUMN: &str = " | ";

/// JSON that a text is, with the few lines that a program wrote before and behind it.
pub struct JsonText {
    before: String,
    pub value: Value,
    after: String,
}

impl JsonText {
    /// Reads a text. `None`: it is not, or hardly, one object or list.
    pub fn of(text: &str) -> Option<JsonText> {
        let json = JsonText::found(text)?;
        let Some(inside) = text_of_blocks(&json.value) else { return Some(json).filter(|json| !is_empty(&json.value)) };
        // What stands in blocks may be JSON once more.
        let within = JsonText::found(&inside).filter(|json| !is_empty(&json.value))?;
        Some(JsonText {
            before: lines(&[&json.before, &within.before]),
            after: lines(&[&within.after, &json.after]),
            ..within
        })
    }

    fn found(text: &str) -> Option<JsonText> {
        let text = text.trim();
        if let Some(value) = parsed(text) {
            return Some(JsonText { before: String::new(), value, after: String::new() });
        }
        if let Some(inside) = quoted(text) {
            return JsonText::found(&inside);
        }
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).take(MOST_BEFORE);
        let start = starts.into_iter().find(|at| text[*at..].starts_with(['{', '[']))?;
        if text.len() > LONGEST || start > MOST_AROUND {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let after = &text[start + values.byte_offset()..];
        let stands_alone = after.is_empty() || after.starts_with(['\n', '\r']);
        (stands_alone && after.len() <= MOST_AROUND).then(|| JsonText {
            before: text[..start].trim().to_owned(),
            value,
            after: after.trim().to_owned(),
        })
    }

    /// Without the first and the last of the lines around it, as far as they tell nothing.
    pub fn with_lines(self, tells: impl Fn(&str) -> bool) -> JsonText {
        let before: Vec<&str> = self.before.lines().skip_while(|line| !tells(line)).collect();
        let after: Vec<&str> = self.after.lines().collect();
        let end = after.iter().rposition(|line| tells(line)).map_or(0, |last| last + 1);
        JsonText { before: lines(&before), after: lines(&after[..end]), ..self }
    }

    /// Of an object that is hardly more than a text of several lines only that, where not all of it has room: that a program ran
    /// well, and for how long, is nothing beside what it printed.
    pub fn without_envelope(self, room: usize) -> JsonText {
        let Value::Object(fields) = &self.value else { return self };
        let long = fields.values().filter_map(Value::as_str).filter(|text| text.contains('\n')).map(str::len).max();
        // Seldom is there one, and only then is it worth writing out all to compare them.
        let Some(long) = long else { return self };
        let all = self.value.to_string().len();
        if all < room || long * 2 <= all {
            return self;
        }
        let is_word = |value: &Value| value.as_str().is_some_and(|text| !text.contains(char::is_whitespace));
        let stays = |value: &Value| !value.is_number() && !value.is_boolean() && !is_word(value);
        let kept: Map<String, Value> = fields
            .iter()
            .filter(|(_, value)| stays(value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let after = if kept.len() < fields.len() { lines(&[&self.after, GAP]) } else { self.after };
        JsonText { value: Value::Object(kept), after, ..self }
    }

    /// Returns true if its values are what it says: one that is hardly more than a long text is told as that.
    pub fn is_data(&self) -> bool {
        let fields = self.value.as_object();
        let longest = fields.and_then(|fields| fields.values().filter_map(Value::as_str).map(str::len).max());
        longest.is_none_or(|longest| longest <= LONG_TEXT || longest * 5 <= self.value.to_string().len() * 4)
    }

    /// With what is told of the value in its place.
    pub fn around(&self, told: &str) -> String {
        lines(&[&self.before, told, &self.after])
    }
}

fn lines(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A text that is one JSON object or list, told by its values; any other text as it is.
pub fn readable(text: &str) -> String {
    if let Some(json) = JsonText::of(text) {
        // An empty list is an answer: where nothing would be told, the text stands.
        let told = told(&json.value);
        return if told.is_empty() { text.to_owned() } else { json.around(&told) };
    }
    without_json(text)
}

/// What a text says that holds no values: out of blocks of text, or out of a text of JSON, where it stands in such.
pub fn without_json(text: &str) -> String {
    let inside = parsed(text).and_then(|value| text_of_blocks(&value)).or_else(|| quoted(text));
    inside.unwrap_or_else(|| text.to_owned())
}

/// The text that a text of JSON is.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim();
    let framed = text.len() > 1 && text.len() <= LONGEST && text.starts_with('"') && text.ends_with('"');
    if framed { serde_json::from_str(text).ok() } else { None }
}

/// What stands in blocks of text, as MCP writes results: `{"type": "text", "text": …}`, a list of them, or a result around such
/// a list.
fn text_of_blocks(value: &Value) -> Option<String> {
    let is_result = |fields: &Map<String, Value>| fields.keys().all(|name| MCP_RESULT.contains(&name.as_str()));
    let value =
        value.as_object().filter(|fields| is_result(fields)).and_then(|fields| fields.get("content")).unwrap_or(value);
    let blocks = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    let text_of = |block: &Value| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        block.get("text").and_then(Value::as_str).filter(|_| is_text).map(str::to_owned)
    };
    let texts: Vec<String> = blocks.iter().map(text_of).collect::<Option<_>>()?;
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The object or list that a text is, where it is one.
pub fn parsed(text: &str) -> Option<Value> {
    let text = text.trim();
    let framed = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
    if framed && text.len() <= LONGEST { serde_json::from_str(text).ok() } else { None }
}

/// A value of JSON by its values.
pub fn told(value: &Value) -> String {
    told_at(value, 0)
}

/// An object as `name value, …`, a list of like objects as a table whose names stand once.
fn told_at(value: &Value, depth: usize) -> String {
    match value {
        _ if depth > DEEPEST => value.to_string(),
        Value::Object(fields) => object(fields, depth),
        Value::Array(list) => table(list, depth).unwrap_or_else(|| row(list, depth)),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn object(fields: &Map<String, Value>, depth: usize) -> String {
    let is_told = |value: &Value| !is_empty(value) || is_answer_of_none(fields, value, depth);
    let parts: Vec<String> =
        fields.iter().filter(|(_, value)| is_told(value)).map(|(name, value)| field(name, value, depth)).collect();
    let nested = fields.len() > 1 && fields.values().all(Value::is_object);
    if nested {
        return parts.join("\n");
    }
    fields_joined(&parts)
}

/// Fields behind one another. What stands in lines of its own is parted by them.
fn fields_joined(parts: &[String]) -> String {
    let mut told = String::new();
    for part in parts {
        match told.chars().last() {
            None | Some('\n') => {}
            Some(_) => told.push_str(if part.contains('\n') { "\n" } else { ", " }),
        }
        told.push_str(part);
    }
    told.trim_end().to_owned()
}

fn field(name: &str, value: &Value, depth: usize) -> String {
    let told = told_at(value, depth + 1);
    match value {
        Value::Array(list) if list.is_empty() => format!("{name} []"),
        Value::Object(_) => format!("{name} ({told})"),
        _ if told.contains('\n') => format!("{name}:\n{told}\n"),
        _ => format!("{name} {told}"),
    }
}

/// A list of objects with the same names.
fn table(list: &[Value], depth: usize) -> Option<String> {
    let rows: Vec<&Map<String, Value>> = list.iter().map(Value::as_object).collect::<Option<_>>()?;
    let first = rows.first().filter(|first| rows.len() > 1 && !first.is_empty())?;
    let like = |row: &&Map<String, Value>| row.len() == first.len() && row.keys().eq(first.keys());
    if !rows.iter().all(like) {
        return None;
    }
    let cells = |row: &&Map<String, Value>| {
        row.values().map(|value| told_at(value, depth + 1).replace('\n', "; ")).collect::<Vec<_>>().join(COLUMN)
    };
    let head = first.keys().map(String::as_str).collect::<Vec<_>>().join(COLUMN);
    Some(std::iter::once(head).chain(rows.iter().map(cells)).collect::<Vec<_>>().join("\n"))
}

fn row(list: &[Value], depth: usize) -> String {
    entries_joined(&list.iter().map(|value| told_at(value, depth + 1)).collect::<Vec<_>>())
}

/// Entries of a list, each on a line of its own where one is long.
fn entries_joined(parts: &[String]) -> String {
    let long = parts.iter().any(|part| part.len() > SHORT_VALUE);
    parts.join(if long { "\n" } else { ", " })
}

/// Returns true if most of a value's text stands in short values: names, numbers and dates. Hits of a search and pages are
/// long texts.
pub fn holds_short_values(value: &Value) -> bool {
    let (mut short, mut all) = (0, 0);
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(fields) => open.extend(fields.values()),
            Value::String(text) => {
                all += text.len();
                short += if text.len() <= SHORT_VALUE { text.len() } else { 0 };
            }
            other => {
                let bytes = if other.is_null() { 0 } else { 4 };
                (short, all) = (short + bytes, all + bytes);
            }
        }
    }
    short * 2 > all
}

/// How deep an answer's list stands in what is put around it.
const DEEPEST_ANSWER: usize = 1;

/// Returns true for the empty list of an answer that holds no other list or object with anything in it: that there is none is
/// what it says.
fn is_answer_of_none(fields: &Map<String, Value>, value: &Value, depth: usize) -> bool {
    let holds = |value: &Value| (value.is_array() || value.is_object()) && !is_empty(value);
    depth <= DEEPEST_ANSWER && value.as_array().is_some_and(Vec::is_empty) && !fields.values().any(holds)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_around_one_long_text_is_no_data() {
        let text = "a line of it\n".repeat(40);
        for (value, is_data) in [
            (serde_json::json!({"stdout": text, "code": 0}), false),
            (serde_json::json!({"type": "text", "text": text}), false),
            (serde_json::json!({"type": "text", "text": "{\"id\": 7}"}), true),
            (serde_json::json!({"name": "Chair", "price": 7}), true),
        ] {
            assert_eq!(JsonText::of(&value.to_string()).is_some_and(|json| json.is_data()), is_data, "{value}");
        }
    }

    #[test]
    fn json_is_told_by_its_values() {
        for (text, told) in [
            (r#"{"id": "HAT1", "seats": 3, "note": "", "list": []}"#, "id HAT1, seats 3, list []"),
            (
                r#"{"object": "list", "results": [], "next": null, "has_more": false}"#,
                "object list, results [], has_more false",
            ),
            (r#"{"data": {"messages": []}, "ok": true}"#, "data (messages []), ok true"),
            (r#"{"hits": [{"id": 7, "tags": []}, {"id": 8, "tags": []}], "gone": []}"#, "hits:\nid | tags\n7 | \n8 |"),
            (r#"[{"f": "A1", "eur": 20}, {"f": "B2", "eur": 31.50}]"#, "f | eur\nA1 | 20\nB2 | 31.50"),
            (r#"{"user": {"name": "mia"}, "ok": true}"#, "user (name mia), ok true"),
            ("[1, 2, 3]", "1, 2, 3"),
            ("[]", "[]"),
            ("{}", "{}"),
            ("{not json}", "{not json}"),
            (r#"{"type": "text", "text": "two\nlines"}"#, "two\nlines"),
            (
                "HTTP/1.1\n{\"results\": [{\"slug\": \"solassets\", \"name\": \"SolAssets\", \"score\": 0.5}]}\n200",
                "HTTP/1.1\nresults slug solassets, name SolAssets, score 0.5\n200",
            ),
            ("\"Below is it:\\n<data-1>\\n[{\\\"n\\\":5}]\\n</data-1>\"", "Below is it:\n<data-1>\nn 5\n</data-1>"),
            ("\"two\\nlines\"", "two\nlines"),
            ("[INFO] start\n[WARN] late", "[INFO] start\n[WARN] late"),
            (
                "[1] is the first note, and the rest of the text says what it is about.",
                "[1] is the first note, and the rest of the text says what it is about.",
            ),
            (r#"[{"type": "text", "text": "{\"id\": 7}"}, {"type": "text", "text": "b"}]"#, "id 7\nb"),
            (r#"{"type": "text", "text": "{\"id\": 7}"}"#, "id 7"),
            (
                r#"{"meta": null, "content": [{"type": "text", "text": "{\"page\": \"274-60\"}"}], "isError": false}"#,
                "page 274-60",
            ),
        ] {
            assert_eq!(readable(text), told, "{text}");
        }
    }
}
