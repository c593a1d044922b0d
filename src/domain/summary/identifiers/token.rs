//! Cutting text into tokens and telling identifiers from words.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::summary::text::without_colours;

const MAX_URL: usize = 500;
const MAX_TOKEN: usize = 200;
const LONGEST_TICKET: usize = 12;
const LONGEST_SETTING: usize = 80;

const SHAPES: &[&str] = &[
    // UUIDs; hashes are told by `is_hash`, which wants a digit and a letter.
    r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    r"^sha\d{1,3}[:-][0-9A-Za-z+/=]{16,}$",
    // ABC-123, #123, owner/repo#123, mia_li_3668, call_1a2b, 4WQ150, INV2024001.
    r"^[A-Z][A-Z0-9]{0,9}-\d+$",
    r"^[\w./-]*#\d+$",
    r"^[A-Za-z]+[_-][A-Za-z0-9_-]*\d[A-Za-z0-9_-]*$",
    r"^(?:[A-Z]+\d|\d+[A-Z])[A-Z0-9]{2,18}$",
    r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
    // v1.2, 1.2.3-beta.1, 2024-05-20, 2024-05-20T10:00:00Z.
    r"^v\d+(?:\.\d+)+[\w.+-]*$",
    r"^\d{1,5}(?:\.\d{1,8}){2,3}(?:[a-z]+\d*)?(?:[-+][\w.+-]+)?$",
    r"^\d{4}-\d{2}-\d{2}(?:T[\d:.+Z-]+)?$",
    // E0308, TS2345, SQLSTATE-like codes; SomethingError; ports and addresses.
    r"^[A-Z]{1,6}\d{3,6}$",
    r"^(?:\w+\.)*[A-Z]\w+(?:Error|Exception)$",
    r"^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$",
    r"^[A-Za-z][\w.-]*:\d{2,5}$",
];

/// Amounts, and numbers with a unit.
const MEASURES: &[&str] = &[
    // `$1` is a shell's argument.
    r"^(?:\$\d[\d,.]+|[€£¥]\d[\d,.]*)[kKmMbB]?$",
    r"^\d[\d,.]*(?:%|ns|µs|us|ms|s|min|h|d|B|[kKMGT]i?B|[kKMG]bps|px|pt|em|rem|Hz|[kMG]Hz|°C|kg|g|km|cm|mm|m)$",
];

static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&SHAPES.join("|")).ok());
static MEASURE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&MEASURES.join("|")).ok());

/// Returns true if an identifier is a bare amount or a number with its unit. Tools print many that mean nothing later.
pub fn is_measure(token: &str) -> bool {
    let worded = || token.split_once(' ').is_some_and(|(_, unit)| UNITS.contains(&unit));
    MEASURE.as_ref().is_some_and(|measure| measure.is_match(token)) || worded()
}

/// Returns true for a number, a date, a ticket or a setting, which say nothing without the words that they stood in.
pub fn needs_words(token: &str) -> bool {
    let is_colour = || token.starts_with('#') && token.len() == 7;
    let is_ticket = || {
        token.len() <= LONGEST_TICKET
            && !is_colour()
            && !token.contains(['/', '.', ':', '_', '@'])
            && token.contains(['#', '-'])
    };
    is_measure(token) || is_ticket() || is_setting(token)
}

/// Returns true for the name of a setting, `terminal.integrated.minimumContrastRatio`. Code has such names too; they say
/// nothing without words either.
pub fn is_setting(token: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let humps =
        |part: &str| part.as_bytes().windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    token.len() <= LONGEST_SETTING
        && token.matches('.').count() >= 2
        && token.split('.').all(is_part)
        && !["this.", "self."].iter().any(|own| token.starts_with(own))
        && token.split('.').any(|part| part.contains('_') || humps(part))
}

const ERRNO: [&str; 24] = [
    "ENOENT",
    "EACCES",
    "EPERM",
    "EEXIST",
    "EINVAL",
    "EIO",
    "ENOMEM",
    "ENOSPC",
    "EPIPE",
    "EAGAIN",
    "EBUSY",
    "ENOTDIR",
    "EISDIR",
    "EMFILE",
    "EADDRINUSE",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENOTFOUND",
    "ENOTEMPTY",
    "EROFS",
    "ECONNABORTED",
    "EXDEV",
];

const UNITS: [&str; 33] = [
    "s", "ns", "µs", "commits", "dollars", "euros", "ms", "seconds", "second", "minutes", "minute", "hours", "hour",
    "days", "day", "weeks", "bytes", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "tokens", "percent", "px",
    "requests", "rows", "lines", "USD", "EUR", "retries",
];

const EXTENSIONS: [&str; 44] = [
    "rs", "py", "js", "ts", "tsx", "jsx", "mjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php",
    "swift", "sh", "sql", "md", "txt", "json", "jsonl", "yaml", "yml", "toml", "lock", "html", "css", "scss", "xml",
    "csv", "ini", "cfg", "env", "log", "ipynb", "proto", "svg", "png", "pdf", "vue",
];

/// Names of other things that end as files do.
const NO_FILES: [&str; 16] = [
    "console.log",
    "logger.log",
    "Math.log",
    "math.log",
    "np.log",
    "process.env",
    "meta.env",
    "Node.js",
    "node.js",
    "Next.js",
    "Nuxt.js",
    "Vue.js",
    "React.js",
    "Express.js",
    "Three.js",
    "D3.js",
];

/// Calls `found` for every identifier, repetitions included, in order.
pub fn each(text: &str, found: &mut dyn FnMut(String)) {
    let mut previous = String::new();
    for chunk in text.split_whitespace() {
        let chunk = &*without_colours(chunk);
        if let Some(url) = url(chunk) {
            found(url.to_owned());
            previous.clear();
            continue;
        }
        // The name of a closing tag is no path.
        let tagless = chunk.replace("</", "<");
        let pieces = tagless.split(|c: char| "\"'`<>()[],;|=\\“”「」。、，".contains(c));
        let tokens = pieces.filter(|piece| !is_pattern(piece)).flat_map(|piece| piece.split(['{', '}', '*']));
        for (place, token) in tokens.enumerate() {
            let token = if is_cut(token) { "" } else { trimmed(token) };
            if token.is_empty() {
                continue;
            }
            // The parts of `5's` are no two words.
            if place > 0 {
                previous.clear();
            }
            if let Some(identifier) = classify(token, &previous) {
                found(identifier);
            }
            previous.clear();
            previous.push_str(token.get(..32).unwrap_or(token));
        }
    }
}

/// Returns true for a pattern or a template of names, `src/*.rs`, `${HOME}/bin` or `%03d.json`: its parts are none.
fn is_pattern(piece: &str) -> bool {
    let inside = piece.trim_matches(|c: char| "*{}_.:!?&…".contains(c));
    let is_printed = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['s', 'd', 'v']);
    inside.contains('*')
        || inside.contains(['{', '}']) && inside.contains('/')
        || inside.split('%').skip(1).any(is_printed)
}

/// Returns true for a name of which a part was left out.
fn is_cut(token: &str) -> bool {
    token.starts_with('…') || token.ends_with(['…', '-', '$']) || token.starts_with("...")
}

/// The token without the punctuation around it. The dot of `.env` or `../x` is its own.
fn trimmed(token: &str) -> &str {
    let token = token.trim_end_matches(|c: char| ".:!?&…".contains(c)).trim_start_matches([':', '!', '?', '&', '…']);
    // About so much.
    let token =
        token.strip_prefix(['~', '≈']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(token);
    let bare = token.trim_start_matches('.');
    let dots = token.len() - bare.len();
    if dots > 2 || bare.is_empty() { bare } else { token }
}

fn url(chunk: &str) -> Option<&str> {
    let scheme_end = chunk.find("://")?;
    let start = chunk[..scheme_end]
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        .last()
        .map(|(at, _)| at)?;
    let rest = &chunk[start..];
    let end = rest.find(|c: char| "\"'`<>()[]{}|\\”」。、，".contains(c)).unwrap_or(rest.len());
    let url = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
    (url.len() > scheme_end - start + 3 && url.len() <= MAX_URL).then_some(url)
}

fn classify(token: &str, previous: &str) -> Option<String> {
    if token.len() > MAX_TOKEN {
        return None;
    }
    if let Some(pair) = after_word(token, previous) {
        return Some(pair);
    }
    if token.len() < 2 {
        return None;
    }
    if let Some(path) = path(token) {
        return Some(path.to_owned());
    }
    let known = ERRNO.contains(&token)
        || is_hash(token)
        || is_measure(token)
        || is_setting(token)
        || SHAPE.as_ref().is_some_and(|shape| shape.is_match(token)) && !is_formula(token);
    known.then(|| token.to_owned())
}

/// `n-1`, `x_2`: a letter and a number are no name.
fn is_formula(token: &str) -> bool {
    token.len() < 5
        && token.split(['-', '_']).next().is_some_and(|name| name.len() == 1 && name != "v")
        && token.contains(['-', '_'])
        && token.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Identifiers of two words: `HTTP 404`, `exit code 1`'s code with its word, `30 seconds`.
fn after_word(token: &str, previous: &str) -> Option<String> {
    let number =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    let starts_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if UNITS.contains(&token) && number(previous) && starts_with_digit(previous) {
        return Some(format!("{previous} {token}"));
    }
    let status = token.len() == 3 && token.starts_with(['4', '5']) && number(token);
    let named = ["http", "status", "code", "error"].iter().any(|word| previous.eq_ignore_ascii_case(word));
    (status && named).then(|| format!("{previous} {token}"))
}

/// A path without its `:line:column`. A slash alone is not enough: `and/or` is no path.
fn path(token: &str) -> Option<&str> {
    let path = strip_position(token);
    if path.contains("//") || path.contains("#!") || path == "/dev/null" || !path.chars().any(char::is_alphabetic) {
        return None;
    }
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let alone = last.len() == path.len();
    let file = last.rsplit_once('.').is_some_and(|(stem, extension)| {
        // The end of a name with blanks in it has no letter: `at 01.27.21.png`.
        let named = if alone { stem.chars().any(char::is_alphabetic) } else { !stem.is_empty() };
        named && EXTENSIONS.contains(&extension)
    });
    if alone && NO_FILES.contains(&path) {
        return None;
    }
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| path.starts_with(root)) && path.len() > 3;
    let drive = path.as_bytes().get(1..3).is_some_and(|rest| rest == b":\\" || rest == b":/");
    let found = file || drive || (rooted || path.matches('/').count() > 1) && !is_prose(path);
    found.then_some(path)
}

/// `/the`, `/model`, `pros/cons/effort`: words with slashes before or between them.
fn is_prose(path: &str) -> bool {
    const FOLDERS: [&str; 24] = [
        "src", "lib", "cmd", "app", "apps", "test", "tests", "docs", "bin", "pkg", "internal", "packages", "usr",
        "etc", "var", "tmp", "home", "opt", "dev", "api", "root", "crates", "examples", "scripts",
    ];
    let parts = || path.split(['/', '\\']).filter(|part| !part.is_empty());
    let named = parts().any(|part| FOLDERS.contains(&part));
    let plain = |part: &str| part.trim_start_matches('.').chars().all(char::is_alphabetic);
    if path.starts_with(['/', '.', '~']) {
        return path.starts_with('/') && parts().count() == 1 && parts().all(plain) && !named;
    }
    let short = parts().all(|part| part.chars().count() < 5);
    !named && (short || parts().all(plain))
}

fn strip_position(token: &str) -> &str {
    let mut path = token;
    while let Some((rest, number)) = path.rsplit_once(':') {
        if rest.len() < 3 || !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            break;
        }
        path = rest;
    }
    // The sides of a diff are one file.
    let side = ["a/", "b/"].iter().find_map(|side| path.strip_prefix(side)).filter(|rest| rest.contains('/'));
    side.unwrap_or(path).trim_end_matches('/')
}

/// Hexadecimal digits, but for the places of a dump's lines, `000000a0`.
fn is_hash(token: &str) -> bool {
    (7..=128).contains(&token.len())
        && !token.starts_with("0000")
        && token.bytes().all(|byte| byte.is_ascii_hexdigit())
        && token.bytes().any(|byte| byte.is_ascii_digit())
        && token.bytes().any(|byte| byte.is_ascii_alphabetic())
}
