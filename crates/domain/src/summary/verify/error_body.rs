//! What servers say when something is wrong with them, handed on as if a model had said it.

use serde_json::Value;

/// A status line is short; a summary that opens like one goes on.
const LONGEST: usize = 600;
const WORDS_OF_A_SUMMARY: usize = 25;

/// Members that an error's JSON has and a summary's has not.
const ERROR_KEYS: [&str; 4] = ["error", "errors", "error_code", "error_message"];
/// Members of which two together make an error.
const TOLD_KEYS: [&str; 8] = ["code", "status", "statusCode", "status_code", "detail", "message", "msg", "request_id"];

/// Returns true if a text is a page or a body of a server that failed.
pub(super) fn is_error_body(text: &str) -> bool {
    let text = text.trim();
    let opening: String = text.chars().take(40).collect::<String>().to_lowercase();
    is_page(&opening) || is_json_error(text) || is_status(text)
}

fn is_page(opening: &str) -> bool {
    ["<!doctype", "<html", "<head", "<body", "<?xml"].iter().any(|start| opening.starts_with(start))
}

fn is_json_error(text: &str) -> bool {
    let text = text.strip_prefix("data:").unwrap_or(text).trim_start();
    if !text.starts_with(['{', '[']) {
        return false;
    }
    let Some(Ok(value)) = serde_json::Deserializer::from_str(text).into_iter::<Value>().next() else { return false };
    let first = value.as_array().and_then(|values| values.first()).unwrap_or(&value);
    let Value::Object(fields) = first else { return false };
    let is_typed = fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("error"));
    let told = TOLD_KEYS.iter().filter(|key| fields.contains_key(**key)).count();
    is_typed || ERROR_KEYS.iter().any(|key| fields.contains_key(*key)) || told == fields.len() && told > 0
}

/// A status of HTTP and its few words, or such a status with an error's body: `502 Bad Gateway`, `Error code: 429 - {…}`.
fn is_status(text: &str) -> bool {
    let is_short = text.len() <= LONGEST && text.split_whitespace().count() <= WORDS_OF_A_SUMMARY;
    let number = |word: &str| word.parse::<u16>().is_ok_and(|status| (400..600).contains(&status));
    let bare = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let opens = bare.split_whitespace().next().is_some_and(number);
    let holds = || text.contains('{') && text.split(|c: char| !c.is_alphanumeric()).any(number);
    is_short && (opens || holds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_pages_bodies_and_lines() {
        let errors = [
            "<!DOCTYPE html>\n<html><body>502</body></html>",
            "<html><head><title>502 Bad Gateway</title></head></html>",
            "{\"error\": {\"message\": \"overloaded\", \"type\": \"server_error\"}}",
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
            "{\"detail\": \"Not Found\"}",
            "[{\"error\": {\"code\": 503}}]",
            "data: {\"error\": \"x\"}\n\n",
            "502 Bad Gateway\nnginx/1.25",
            "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
            "# 503 Service Unavailable",
        ];
        for text in errors {
            assert!(is_error_body(text), "{text}");
        }
    }

    #[test]
    fn leaves_summaries_of_errors() {
        let summaries = [
            "502 Bad Gateway on /login was traced to the pool in `src/db.rs`: its size is 5 and the health check takes \
             two of these. The user wants it at 20 with no change to the proxy; deployed, not yet confirmed.",
            "{\"goal\": \"fix the login\", \"done\": [\"src/db.rs\"]}",
            "## Goal\n- Find out why `{\"error\": \"x\"}` is answered",
            "The error `E0308` in src/a.rs is gone.",
        ];
        for text in summaries {
            assert!(!is_error_body(text), "{text}");
        }
    }
}
