//! Headers on their way through: what ends at a proxy, what is ours, and how a loop is told.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The tenant's key at this service.
pub const KEY: HeaderName = HeaderName::from_static("contextd-key");
/// The proxies that a request has come through.
pub const PROXY: HeaderName = HeaderName::from_static("contextd-proxy");

/// Names the session of a conversation: an external id, of several sessions the oldest, or a session's id as an answer
/// has it.
pub const SESSION: HeaderName = HeaderName::from_static("contextd-session");
/// Of an answer: its context's size and fill state, the compaction that it is the first to show, and why its request went
/// on as it came.
pub const TOKENS: HeaderName = HeaderName::from_static("contextd-tokens");
pub const STATE: HeaderName = HeaderName::from_static("contextd-state");
pub const COMPACTION: HeaderName = HeaderName::from_static("contextd-compaction");
pub const BYPASS: HeaderName = HeaderName::from_static("contextd-bypass");

/// Headers of one connection (RFC 9110, 7.6.1).
const HOPS: [&str; 10] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const OURS: &str = "contextd-";
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");
/// How the names of Anthropic's betas for compactions begin.
const BETAS: [&str; 2] = ["compact-", "context-management-"];
/// A request that has come through so many proxies goes in circles.
const MOST_PROXIES: usize = 8;

/// The headers as the other side gets them: without those of the connection and without ours.
pub fn handed_on(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = words(headers, &header::CONNECTION).map(str::to_ascii_lowercase).collect();
    let ends_here =
        |name: &str| HOPS.contains(&name) || name.starts_with(OURS) || named.iter().any(|word| word == name);
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter().filter(|(name, _)| !ends_here(name.as_str())) {
        kept.append(name.clone(), value.clone());
    }
    kept
}

/// Takes the betas out that are for compactions: the other side has none.
pub fn without_compaction_betas(headers: &mut HeaderMap) {
    let is_other = |beta: &&str| !BETAS.iter().any(|prefix| beta.starts_with(prefix));
    let betas: Vec<&str> = words(headers, &BETA).filter(is_other).collect();
    match HeaderValue::from_str(&betas.join(",")).ok().filter(|value| !value.is_empty()) {
        Some(others) => _ = headers.insert(BETA, others),
        None => _ = headers.remove(BETA),
    }
}

/// The value of [`PROXY`] that the request goes on with. `None`: it goes in circles.
pub fn passed(headers: &HeaderMap, instance: &str) -> Option<HeaderValue> {
    let mut proxies: Vec<&str> = words(headers, &PROXY).collect();
    if proxies.len() >= MOST_PROXIES || proxies.contains(&instance) {
        return None;
    }
    proxies.push(instance);
    HeaderValue::from_str(&proxies.join(", ")).ok()
}

/// Returns true if the body is compressed.
pub fn is_encoded(headers: &HeaderMap) -> bool {
    words(headers, &header::CONTENT_ENCODING).any(|word| !word.eq_ignore_ascii_case("identity"))
}

fn words<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_ends_here_is_not_handed_on() {
        let came = headers(&[
            ("authorization", "Bearer sk-1"),
            ("anthropic-beta", "a,b"),
            ("contextd-key", "ctxd_1"),
            ("contextd-session", "s"),
            ("connection", "keep-alive, X-Private"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
        ]);
        let kept = handed_on(&came);
        let mut names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["anthropic-beta", "authorization"]);
    }

    #[test]
    fn betas_for_compactions_are_taken_out() {
        let mut some =
            headers(&[("anthropic-beta", "compact-2026-01-12, one-2026-01-01,context-management-2025-06-27")]);
        without_compaction_betas(&mut some);
        assert_eq!(some["anthropic-beta"], "one-2026-01-01");
        let mut none = headers(&[("anthropic-beta", "compact-2026-01-12")]);
        without_compaction_betas(&mut none);
        assert!(none.is_empty());
    }

    #[test]
    fn a_circle_is_seen() {
        assert_eq!(passed(&headers(&[]), "me").unwrap(), "me");
        assert_eq!(passed(&headers(&[("contextd-proxy", "you")]), "me").unwrap(), "you, me");
        assert_eq!(passed(&headers(&[("contextd-proxy", "you, me")]), "me"), None);
        assert_eq!(passed(&headers(&[("contextd-proxy", "1,2,3,4,5,6,7,8")]), "me"), None);
    }

    #[test]
    fn a_compressed_body_is_seen() {
        assert!(is_encoded(&headers(&[("content-encoding", "zstd")])));
        assert!(!is_encoded(&headers(&[("content-encoding", "identity")])) && !is_encoded(&headers(&[])));
    }
}
