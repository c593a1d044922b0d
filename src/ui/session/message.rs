//! A message of a transcript on a page: its blocks as texts, clipped, whatever they hold.

use maud::{Markup, html};
use serde_json::Value;

use crate::ui::format::count;
use crate::ui::visible::{self, TITLE, line};

/// Pieces of one message that are shown; further ones are counted.
const MOST_PIECES: usize = 40;
/// Characters of a line about a message.
const OPENING: usize = 160;

/// A block of a message as a text.
pub struct Piece {
    /// Already fit to be seen.
    pub title: String,
    pub text: String,
}

/// The pieces of a message in the native format.
pub fn pieces(message: &Value) -> Vec<Piece> {
    let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    blocks.iter().map(piece).collect()
}

fn piece(block: &Value) -> Piece {
    let word = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    match word("type") {
        "text" => Piece { title: String::new(), text: word("text").to_owned() },
        "thinking" => Piece { title: "Thinking".to_owned(), text: word("text").to_owned() },
        kind @ ("image" | "document") => {
            Piece { title: media(kind, &block["source"]), text: media_text(&block["source"]) }
        }
        "tool_call" => Piece {
            title: format!("Call of {} · {}", line(word("name"), TITLE), line(word("id"), TITLE)),
            text: arguments(&block["arguments"]),
        },
        "tool_result" => {
            let outcome = if block["is_error"] == true { "Error" } else { "Result" };
            Piece {
                title: format!("{outcome} of {}", line(word("tool_call_id"), TITLE)),
                text: result(&block["content"]),
            }
        }
        _ => Piece {
            title: "The provider's own block".to_owned(),
            text: block.get("value").unwrap_or(block).to_string(),
        },
    }
}

fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn result(content: &Value) -> String {
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let told = |block: &Value| match block.get("type").and_then(Value::as_str) {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some(kind @ ("image" | "document")) => format!("[{}]", media(kind, &block["source"])),
        _ => "[the provider's own block]".to_owned(),
    };
    blocks.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// Media are told of, not shown: their bytes stay where they are.
fn media(kind: &str, source: &Value) -> String {
    let word = |name: &str| source.get(name).and_then(Value::as_str);
    let kind = if kind == "image" { "Image" } else { "Document" };
    let of = word("media_type").map(|of| format!(", {}", line(of, TITLE))).unwrap_or_default();
    let size = word("data").map(|data| format!(", {} characters of base64", count(data.len() as i64)));
    format!("{kind}{of}{}", size.unwrap_or_default())
}

fn media_text(source: &Value) -> String {
    let found = ["text", "url", "file_id", "filename"].iter().find_map(|name| source.get(name)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// How a message begins, for a line about it.
pub fn opening(message: &Value) -> String {
    let pieces = pieces(message);
    let told = pieces.iter().filter(|piece| !piece.title.is_empty() || !piece.text.trim().is_empty());
    let words = told.take(2).flat_map(|piece| piece.title.split_whitespace().chain(piece.text.split_whitespace()));
    line(&words.take(OPENING).collect::<Vec<_>>().join(" "), OPENING)
}

/// The pieces of a message, each clipped at `most` characters; `whole` is where all of it can be read.
pub fn show(message: Option<&Value>, most: usize, whole: &str) -> Markup {
    let pieces = message.map(pieces).unwrap_or_default();
    html! {
        @if pieces.iter().all(|piece| piece.text.is_empty() && piece.title.is_empty()) { p.empty { "Says nothing." } }
        @for (place, piece) in pieces.iter().enumerate().take(MOST_PIECES) {
            @if !piece.title.is_empty() { p.piece { bdi { (piece.title) } } }
            @if !piece.text.is_empty() { (visible::text(&piece.text, most, Some(&format!("{whole}?piece={place}")))) }
        }
        @if pieces.len() > MOST_PIECES { p.hint { a href=(whole) { (pieces.len() - MOST_PIECES) " more pieces" } } }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_block_is_told() {
        let message = json!({"role": "assistant", "content": [
            {"type": "text", "text": "hello"},
            {"type": "tool_call", "id": "c\u{202e}1", "name": "read", "arguments": {"path": "<b>"}},
            {"type": "tool_result", "tool_call_id": "c1", "is_error": true, "content": [
                {"type": "text", "text": "no"}, {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}]},
            {"type": "image", "source": {"url": "https://a.example/x.png"}},
            {"type": "raw", "format": "anthropic", "value": {"type": "odd"}},
        ]});
        let told: Vec<(String, String)> = pieces(&message).into_iter().map(|piece| (piece.title, piece.text)).collect();
        assert_eq!(told[0], (String::new(), "hello".to_owned()));
        assert_eq!(told[1].0, "Call of read · c⟨U+202E⟩1");
        assert_eq!(told[2], ("Error of c1".to_owned(), "no\n[Image, image/png, 4 characters of base64]".to_owned()));
        assert_eq!(told[3].1, "https://a.example/x.png");
        assert!(told[4].1.contains("odd"), "{}", told[4].1);
        assert_eq!(opening(&message), "hello Call of read · c⟨U+202E⟩1 { \"path\": \"<b>\" }");
        let shown = show(Some(&message), 3, "/ui/x").into_string();
        assert!(shown.contains("&lt;b&gt;") || !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("/ui/x?piece=0") && shown.contains("2 more characters"), "{shown}");
        assert!(show(None, 3, "/").into_string().contains("Says nothing."));
    }
}
