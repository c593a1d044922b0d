//! What stands in place of a result that a context shows no more, where nothing else in it tells of that result.

use serde_json::Value;

use super::ending::shown::ShownText;
use super::quote::shortened;
use super::values::{parsed, told};

/// An answer of so few lines is told with its beginning.
const FEW: usize = 3;
/// Bytes of a result that is told in brief, and of one text in it.
const LONGEST: usize = 200_000;
const LONGEST_TEXT: usize = 400;

/// Writes what a result says by itself in at most so much room, in quarter tokens: the values of data, those of the whole
/// before those of its parts, and short answers. `None`: of a file or of a long text no part stands for the whole.
pub fn brief_result(tool: &str, text: &str, room: usize) -> Option<String> {
    if text.len() > LONGEST || ShownText::by(tool) == ShownText::Files {
        return None;
    }
    let said = match parsed(text) {
        Some(value) if holds_text(&value) => return None,
        Some(value) => Some(by_values(value)).filter(|said| !said.is_empty()).unwrap_or_else(|| text.trim().to_owned()),
        None => {
            let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let first: Vec<&str> = lines.by_ref().take(FEW).collect();
            if lines.next().is_some() {
                return None;
            }
            first.join("\n")
        }
    };
    (!said.is_empty()).then(|| shortened(&said, room, 0))
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

    #[test]
    fn data_and_short_answers_are_told_and_parts_of_long_texts_are_not() {
        let variants = (0..40).map(|at| format!(r#""v{at}": {{"price": {at}.5, "available": true}}"#));
        let product = format!(r#"{{"variants": {{{}}}, "name": "Camera"}}"#, variants.collect::<Vec<_>>().join(", "));
        let told = brief_result("get_product", &product, 120).unwrap();
        assert!(told.starts_with("name Camera, ") && told.ends_with("[…]") && told.len() < 200, "{told}");
        assert_eq!(brief_result("退款", "支付未成功。\n", 120).as_deref(), Some("支付未成功。"));
        assert_eq!(brief_result("search", "[]", 120).as_deref(), Some("[]"));
        for (tool, text) in [
            ("bash", "a\nb\nc\nd"),
            ("bash", r#"{"output": "a\nb\nc", "exit_code": 0}"#),
            ("read_file", r#"{"name": "app"}"#),
            ("get", ""),
        ] {
            assert_eq!(brief_result(tool, text, 120), None, "{text}");
        }
    }
}
