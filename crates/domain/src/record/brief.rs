//! What stands in place of a result that a context shows no more, where nothing else in it tells of that result.

use serde_json::Value;

use super::ending::CallEnd;
use super::ending::shown::ShownText;
use super::quote::{GAP, shortened};
use super::results::behind_header;
use super::told::mark;
use super::values::{parsed, told};

/// An answer of so few lines is told with its beginning.
const FEW: usize = 3;
/// Bytes of a result that is told in brief, and of one text in it.
const LONGEST: usize = 200_000;
const LONGEST_TEXT: usize = 400;
/// Quarter tokens of a line of what failed.
const LONGEST_LINE: usize = 160;

/// Writes what a result says by itself, once for each room, in quarter tokens: the values of data, those of the whole before
/// those of its parts, and short answers. Of what failed, that it did, with its first line and its last. None where of a file
/// or of a long text no part stands for the whole; texts that are alike stand once.
pub fn brief_result(tool: &str, text: &str, end: CallEnd, rooms: &[usize]) -> Vec<String> {
    let failed = end.went_wrong();
    let said = match failed {
        _ if text.len() > LONGEST => None,
        true => Some(failure(text)),
        false => by_itself(tool, text),
    };
    let Some(said) = said.filter(|said| !said.is_empty()) else { return Vec::new() };
    let told = |room: &usize| {
        let (head, tail) = if failed { (room / 2, room / 2) } else { (*room, 0) };
        format!("{}{}", mark(end, &said), shortened(&said, head, tail))
    };
    let mut told: Vec<String> = rooms.iter().map(told).collect();
    told.dedup();
    told
}

fn by_itself(tool: &str, text: &str) -> Option<String> {
    if ShownText::by(tool) == ShownText::Files {
        return None;
    }
    match parsed(text) {
        Some(value) if holds_text(&value) => None,
        Some(value) => Some(by_values(value)).filter(|said| !said.is_empty()).or_else(|| Some(text.trim().to_owned())),
        None => {
            let lines = lines_of(text);
            (lines.len() <= FEW).then(|| lines.join("\n"))
        }
    }
}

/// The first line of what failed and the last, of data those of its texts: what went wrong stands at either end.
fn failure(text: &str) -> String {
    let told = parsed(text).map(by_texts);
    let lines = lines_of(told.as_deref().unwrap_or_else(|| behind_header(text)));
    match lines.as_slice() {
        [first, .., last] if lines.len() > FEW => {
            format!("{} {GAP} {}", shortened(first, LONGEST_LINE, 0), shortened(last, LONGEST_LINE, 0))
        }
        lines => lines.join("\n"),
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Data by its values, line by line: the texts in it keep theirs.
fn by_texts(value: Value) -> String {
    let Value::Object(fields) = value else { return told(&value) };
    let line = |(name, value): (String, Value)| match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        value => format!("{name} {}", in_line(&told(&value))),
    };
    fields.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Data in one line, what the whole has by itself first.
fn by_values(value: Value) -> String {
    let Value::Object(fields) = value else { return in_line(&told(&value)) };
    let (parts, own): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|(_, value)| value.is_object() || value.is_array());
    let told_of = |fields: Vec<(String, Value)>| in_line(&told(&Value::Object(fields.into_iter().collect())));
    [told_of(own), told_of(parts)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn in_line(told: &str) -> String {
    told.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Returns true if the data holds a text of its own, such as what a command printed: a part of that says nothing.
fn holds_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONGEST_TEXT || text.trim_end().contains('\n'),
        Value::Array(list) => list.iter().any(holds_text),
        Value::Object(fields) => fields.values().any(holds_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(tool: &str, text: &str, end: CallEnd, room: usize) -> Option<String> {
        brief_result(tool, text, end, &[room]).pop()
    }

    #[test]
    fn data_and_short_answers_are_told_and_parts_of_long_texts_are_not() {
        let variants = (0..40).map(|at| format!(r#""v{at}": {{"price": {at}.5, "available": true}}"#));
        let product = format!(r#"{{"variants": {{{}}}, "name": "Camera"}}"#, variants.collect::<Vec<_>>().join(", "));
        let told = brief("get_product", &product, CallEnd::Returned, 120).unwrap();
        assert!(told.starts_with("name Camera, ") && told.ends_with("[…]") && told.len() < 200, "{told}");
        assert_eq!(brief("退款", "支付未成功。\n", CallEnd::Returned, 120).as_deref(), Some("支付未成功。"));
        assert_eq!(brief("search", "[]", CallEnd::Returned, 120).as_deref(), Some("[]"));
        for (tool, text) in [
            ("bash", "a\nb\nc\nd"),
            ("bash", r#"{"output": "a\nb\nc", "exit_code": 0}"#),
            ("read_file", r#"{"name": "app"}"#),
            ("get", ""),
        ] {
            assert_eq!(brief(tool, text, CallEnd::Returned, 120), None, "{text}");
        }
    }

    #[test]
    fn what_failed_says_so() {
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 3\n    x = y\n  more\nNameError: name 'y' is not defined\n";
        for (tool, text, told) in [
            ("bash", trace, "failed: Traceback (most recent call last): […] NameError: name 'y' is not defined"),
            ("read_file", "Die Datei gibt es nicht: a.txt", "failed: Die Datei gibt es nicht: a.txt"),
            ("bash", r#"{"output": "make\n1\n2\nError 2", "exit_code": 2}"#, "failed: make […] exit_code 2"),
            ("send", r#"{"error": "邮箱已满"}"#, "failed: 邮箱已满"),
        ] {
            assert_eq!(brief(tool, text, CallEnd::Failed, 400).as_deref(), Some(told), "{text}");
        }
        assert_eq!(brief("bash", "rm: no", CallEnd::Refused, 120).as_deref(), Some("refused: rm: no"));
    }
}
