//! Values that their names give away: `DB_PASSWORD=…`, `"apiKey": "…"`, `client_secret: …`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::found::{Found, compiled};
use super::guard::{is_password, is_random, is_wordy};

/// Names that end so are those of secrets; a word in front may say otherwise ([`OTHER`]).
const ENDINGS: &str = "pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|creds|auth|salt|pepper\
    |connection[_-]?string|webhook[_-]?url|(?:api|access|secret|private|preshared|auth|encryption|decryption|signing|master\
    |account|service|license|admin|client|consumer|app|application|storage|shared|session|subscription|deploy|webhook\
    |server|write|ingest|integration|hmac|jwt|aes|cookie|root|user|sas|functions?|host|project|bot|db|wallet|rsa|fernet\
    |crypto|backup|publish|upload|app_?insights|instrumentation|ingestion|maps?|search|rest|live|prod)[_\\-.]?key";
/// What may stand between a name and its sign.
const BEHIND: &str =
    "(?:[_-]?(?:production|prod|development|dev|staging|live|test|value|base64|base|b64|hex|old|new|[0-9]{1,2}))?";
/// Words of names whose values open nothing.
const OTHER: [&str; 44] = [
    "next",
    "prev",
    "previous",
    "page",
    "continuation",
    "cursor",
    "pagination",
    "public",
    "max",
    "min",
    "num",
    "count",
    "limit",
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "cls",
    "mask",
    "special",
    "stop",
    "cancel",
    "cancellation",
    "resume",
    "sync",
    "idempotency",
    "cache",
    "sort",
    "partition",
    "foreign",
    "primary",
    "hash",
    "fake",
    "mock",
    "dummy",
    "example",
    "change",
    "method",
    "function",
    "image",
    "commit",
    "tree",
    "block",
];
/// Longest name and value that are looked at, in bytes.
const NAME_BYTES: usize = 60;
const VALUE_BYTES: usize = 500;
/// In code and in data, shorter values are no passwords.
const LEAST_PASSWORD: usize = 6;
/// Keys of letters, digits and signs are no shorter.
const LEAST_MIXED: usize = 16;
/// In `.env` files, where only the name speaks.
const LEAST_ASSIGNED: usize = 5;

static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let sign = r#"(\\?["'`])?\]?([ \t]{0,8}(?:=>|:=|={1,3}|:)[ \t]{0,8})(\\?["'`]|[brfu@]["'])?"#;
    // In `.env` files, any name in capitals that ends so.
    compiled(&format!(r"(?i)(?:(?:{ENDINGS}){BEHIND}|(?-i:[A-Z0-9]_KEY)){sign}"))
});

static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(&format!("(?i)(?:{ENDINGS}){BEHIND}$")));

/// How a value stands beside its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// `NAME=value`, or `NAME: value` with a name in capitals.
    Assigned,
    Quoted,
    /// Without quotes, in a file of settings or in code.
    Bare,
}

/// What stands behind a name and its sign.
struct Assignment<'t> {
    name: &'t str,
    value: &'t str,
    /// What follows the value.
    after: &'t str,
    stands: Stands,
    has_colon: bool,
}

/// Finds the values that are assigned to names of secrets.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    let Some(assigned) = ASSIGNED.as_ref() else { return };
    for captures in assigned.captures_iter(text) {
        let Some(start) = captures.get(0).map(|whole| whole.end()) else { continue };
        let assignment = read(text, &captures, start);
        if assignment.is_of_secret() {
            let length = without_closing(assignment.value).len();
            found.push(Found { start, end: start + length, kind: kind_of(assignment.name) });
        }
    }
}

/// A value without the brace that closes what it stands in, as in `${NAME:value}`: what it opens itself it closes.
fn without_closing(value: &str) -> &str {
    if value.contains('{') { value } else { value.strip_suffix('}').unwrap_or(value) }
}

fn read<'t>(text: &'t str, captures: &Captures<'t>, start: usize) -> Assignment<'t> {
    let sign = captures.get(2).map_or("", |sign| sign.as_str());
    let end_of_name = captures.get(1).or(captures.get(2)).map_or(start, |next| next.start());
    let name = name_before(text, end_of_name);
    let has_colon = sign.contains(':');
    let is_capital = name.len() > 2 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let assigns = is_capital && (sign == "=" || has_colon && !sign.contains('='));
    let rest = text.get(start..).unwrap_or_default();
    let quote = captures.get(3).and_then(|quote| quote.as_str().chars().last());
    let (value, stands) = match quote {
        Some(_) if assigns => (until(rest, quote), Stands::Assigned),
        Some(_) => (until(rest, quote), Stands::Quoted),
        None if assigns => (assigned_value(rest), Stands::Assigned),
        None => (bare_value(rest), Stands::Bare),
    };
    let after = rest.get(value.len()..).unwrap_or_default();
    Assignment { name, value, after, stands, has_colon }
}

impl Assignment<'_> {
    fn is_of_secret(&self) -> bool {
        // The outcome of a test.
        let is_outcome = self.has_colon && self.stands != Stands::Quoted && self.name.eq_ignore_ascii_case("pass");
        !is_outcome && self.may_end_here() && is_secret(self.name, self.value, self.stands)
    }

    /// In code, a type or a call may stand where a value would: those go on.
    fn may_end_here(&self) -> bool {
        let is_quoted = self.after.starts_with(['"', '\'', '`', '\\']);
        match self.stands {
            Stands::Quoted => true,
            Stands::Assigned if !self.has_colon || is_quoted => true,
            Stands::Assigned => ends_line(self.after) && !is_wordy(self.value),
            Stands::Bare => ends_line(self.after) || is_random(self.value) && !self.after.starts_with(['<', '(']),
        }
    }
}

/// The kind of the secret that a field of a structure holds, where it is one.
pub(super) fn of_field(name: &str, value: &str) -> Option<&'static str> {
    let is_capital = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let stands = if is_capital { Stands::Assigned } else { Stands::Quoted };
    let ends = name.len() <= NAME_BYTES && FIELD.as_ref().is_some_and(|field| field.is_match(name));
    (ends && value.len() <= VALUE_BYTES && !value.contains(char::is_whitespace) && is_secret(name, value, stands))
        .then(|| kind_of(name))
}

fn is_secret(name: &str, value: &str, stands: Stands) -> bool {
    let kind = kind_of(name);
    // To bypass, a compass.
    let is_none = ["ypass", "compass"].iter().any(|end| name.to_lowercase().ends_with(end));
    if is_none || words(name).any(|word| OTHER.contains(&word.as_str())) || value.contains(char::is_whitespace) {
        return false;
    }
    match (kind, stands) {
        // A key of any kind, such as one to sort by, unless it looks like a secret.
        (_, Stands::Assigned) if is_any_key(name) => is_random(value),
        (_, Stands::Assigned) => value.len() >= LEAST_ASSIGNED && is_password(value),
        ("password", Stands::Quoted | Stands::Bare) => {
            let digit = value.bytes().any(|byte| byte.is_ascii_digit());
            let letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
            value.len() >= LEAST_PASSWORD && !is_wordy(value) && digit && letter && is_password(value)
        }
        (_, Stands::Quoted | Stands::Bare) => {
            let is_made_up = is_random(value) || stands == Stands::Quoted && is_mixed(value);
            is_made_up && is_password(value) && !is_uuid_of_none(name, value) && !is_address(value)
        }
    }
}

/// Letters, digits and signs that no name has, as programs make up keys.
fn is_mixed(value: &str) -> bool {
    let has = |sort: fn(&u8) -> bool| value.as_bytes().iter().any(sort);
    value.len() >= LEAST_MIXED
        && has(u8::is_ascii_alphabetic)
        && has(u8::is_ascii_digit)
        && has(|byte| b"!@#$%^&*(+".contains(byte))
}

/// A UUID is a key only by a name that says so: `"token": "<uuid>"` may name a place in a list.
fn is_uuid_of_none(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    value.len() == 36
        && value.matches('-').count() == 4
        && !["key", "secret", "auth", "access"].iter().any(|it| lower.contains(it))
}

/// Returns true for words with colons before a UUID, as sessions are addressed: `agent:main:child:<uuid>`.
fn is_address(value: &str) -> bool {
    let mut parts = value.split(':').rev();
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_uuid = parts.next().is_some_and(|last| uuid::Uuid::try_parse(last).is_ok() && last.len() == 36);
    is_uuid && value.matches(':').count() > 1 && parts.all(is_word)
}

fn is_any_key(name: &str) -> bool {
    name.ends_with("_KEY") && FIELD.as_ref().is_some_and(|field| !field.is_match(name))
}

fn kind_of(name: &str) -> &'static str {
    let lower = name.to_lowercase();
    match () {
        () if lower.contains("pass") || lower.contains("pwd") => "password",
        () if lower.contains("token") => "token",
        () if lower.contains("key") => "key",
        () => "secret",
    }
}

/// The name that ends here.
fn name_before(text: &str, end: usize) -> &str {
    let bytes = text.as_bytes();
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let mut start = end;
    while start > 0 && end - start < NAME_BYTES && part(bytes[start - 1]) {
        start -= 1;
    }
    text.get(start..end).unwrap_or_default()
}

/// The words of a name, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.into_iter()
}

fn until(rest: &str, quote: Option<char>) -> &str {
    taken(rest, |c| Some(c) == quote || matches!(c, '\n' | '\r' | '\\'))
}

fn assigned_value(rest: &str) -> &str {
    taken(rest, |c| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '\\' | '<' | '>'))
}

fn bare_value(rest: &str) -> &str {
    let ends = |c: char| matches!(c, '"' | '\'' | '`' | '\\' | '<' | '>' | ',' | ';' | ')' | ']' | '}' | '&' | '|');
    taken(rest, |c| c.is_whitespace() || ends(c))
}

/// What stands before the first character that ends it; nothing where that is too far away.
fn taken(rest: &str, ends: impl Fn(char) -> bool) -> &str {
    let near = rest.char_indices().take_while(|(at, _)| *at <= VALUE_BYTES);
    let mut last = 0;
    for (at, c) in near {
        if ends(c) {
            return rest.get(..at).unwrap_or_default();
        }
        last = at + c.len_utf8();
    }
    if last == rest.len() { rest } else { "" }
}

/// Returns true if nothing but a remark follows on the line.
fn ends_line(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t']);
    rest.is_empty()
        || rest.starts_with(['\n', '\r', '#', ';'])
        || rest.starts_with("</")
        || rest.starts_with("\\n")
        || rest.starts_with("\\r")
}
