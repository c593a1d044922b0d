//! Where a request goes: a place below the provider's base path, in whatever way its path is spelt.
//!
//! A path that could lead out of it is refused rather than mended: what a spelling means is decided by whoever reads it
//! last, and each gateway on the way may decode once more.

use std::borrow::Cow;

use reqwest::Url;

/// How often an escape may be escaped.
const MOST_ROUNDS: usize = 8;

/// What a segment ends with; a wide slash is one where names are normalised.
const SLASHES: [char; 5] = ['/', '\\', '\u{ff0f}', '\u{fe68}', '\u{ff3c}'];

/// The address of `path`, which begins with a slash and may have a query, below `base`, which has no slash at its end.
/// `None`: it leads out of there, or nobody can tell where it leads.
pub fn below(base: &str, path: &str) -> Option<Url> {
    let only_path = path.split_once('?').map_or(path, |(path, _)| path);
    if !only_path.starts_with('/') || !stays_below(only_path) {
        return None;
    }
    let (root, url) = (Url::parse(base).ok()?, Url::parse(&format!("{base}{path}")).ok()?);
    // What is sent is what the parser has made of it.
    let rest = url.path().strip_prefix(root.path().trim_end_matches('/'))?;
    (url.origin() == root.origin() && rest.starts_with('/')).then_some(url)
}

/// Decodes as often as there is something to decode, and looks at every stage.
fn stays_below(path: &str) -> bool {
    if !is_well_escaped(path) {
        return false;
    }
    let mut stage = Cow::Borrowed(path);
    for _ in 0..MOST_ROUNDS {
        if stage.chars().any(char::is_control) || stage.split(SLASHES).any(is_dots) {
            return false;
        }
        let decoded = percent_decoded(&stage);
        match String::from_utf8(decoded) {
            Ok(decoded) if decoded == stage => return true,
            Ok(decoded) => stage = Cow::Owned(decoded),
            // So the dot is hidden in a form of two bytes.
            Err(_) => return false,
        }
    }
    false
}

/// Some servers take parameters off a segment, and blanks, before they look at it; to whoever decodes first and then looks
/// for where the path ends, it ends at a query or a fragment. Wide dots become dots where names are normalised.
fn is_dots(segment: &str) -> bool {
    let name = segment.split([';', '?', '#']).next().unwrap_or_default().trim();
    let is_dot = |c: char| matches!(c, '.' | '\u{ff0e}' | '\u{fe52}' | '\u{2024}' | '\u{2025}');
    !name.is_empty() && name.chars().count() <= 2 && name.chars().all(is_dot)
}

/// Returns true if two hexadecimal digits are behind each per cent sign.
fn is_well_escaped(path: &str) -> bool {
    let mut rest = path.split('%');
    rest.next();
    rest.all(|behind| behind.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}

/// What is no escape stays as it is.
fn percent_decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (bytes, mut decoded) = (text.as_bytes(), Vec::with_capacity(text.len()));
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = || Some(digit(*bytes.get(at + 1)?)? << 4 | digit(*bytes.get(at + 2)?)?);
        match escaped().filter(|_| byte == b'%') {
            Some(value) => (decoded.push(value), at += 3).1,
            None => (decoded.push(byte), at += 1).1,
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASES: [&str; 3] = ["https://api.example/v1", "http://127.0.0.1:9/a/b%20c/v1", "http://[::1]:1"];

    #[test]
    fn what_is_inside_stays_as_it_is_spelt() {
        for path in [
            "/models/a%2Fb",
            "/m//x",
            "/m/...",
            "/m/..a",
            "/m/100%25",
            "/m/%D0%BF",
            "/m/a;b=c",
            "/m?a=../..&b=%",
            "/m/a%3fb",
            "/m/..a%3f",
            "/m/a%23..",
            "/m/%3f",
            "/m/%E2%80%A6",
        ] {
            for base in BASES {
                assert_eq!(below(base, path).unwrap().as_str(), format!("{base}{path}"), "{base} {path}");
            }
        }
    }

    #[test]
    fn what_nobody_decodes_to_its_end_is_refused() {
        let deep = |levels: usize| format!("/a/%{}41", "25".repeat(levels));
        assert!(below(BASES[0], &deep(3)).is_some() && below(BASES[0], &deep(MOST_ROUNDS)).is_none());
        assert!(below(BASES[0], &deep(30_000)).is_none());
        for odd in [
            "",
            "models",
            "/a%",
            "/a%4",
            "/a%zz",
            "/%u002e",
            "/%c0%ae",
            "/a%7f",
            "/..%20/x",
            "@evil.example/",
            "/..%3f/admin",
            "/..%23/admin",
            "/..%3f",
            "/a/..%23",
            "/.%3fx/b",
            "/..%253f/admin",
            "/..%25253F",
            "/..%5cadmin",
            "/..%3b%3f/x",
            "/..%23%2fadmin",
            "/a%2f..%3fb",
            "/\u{ff0e}\u{ff0e}/x",
            "/%ef%bc%8e%ef%bc%8e/x",
            "/..%00/x",
            "/..%09/x",
            "/%252e%252e%3f/x",
            "/.\u{2024}/x",
            "/%e0%80%ae%e0%80%ae/x",
            "/..\u{ff0f}admin",
            "/..%ef%bc%8fadmin",
        ] {
            assert!(below(BASES[0], odd).is_none(), "{odd}");
        }
    }

    /// Pieces that ways out are made of.
    fn piece() -> impl Strategy<Value = String> {
        let pieces = [
            ".",
            "..",
            "/",
            "\\",
            ";",
            "%",
            "%2e",
            "%2E",
            "%2f",
            "%5C",
            "%25",
            "25",
            "2e",
            "%3b",
            "%09",
            "%00",
            "%3f",
            "%23",
            "#",
            "%ef%bc%8e",
            "\u{ff0e}",
            "a",
            "v1",
            "?",
            "@",
            ":",
            "%20",
            "\u{e9}",
            "%c0%ae",
            "//",
        ];
        prop::sample::select(pieces.to_vec()).prop_map(str::to_owned)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Read by the parser that sends it, and decoded once or more behind that, it is below the base.
        #[test]
        fn the_url_that_is_sent_has_the_base_path_as_its_prefix(
            pieces in prop::collection::vec(piece(), 0..12), base in prop::sample::select(BASES.to_vec())
        ) {
            let path = format!("/{}", pieces.concat());
            if let Some(url) = below(base, &path) {
                let root = Url::parse(base).unwrap();
                let prefix = root.path().trim_end_matches('/');
                prop_assert!(url.as_str().starts_with(base), "{} {}", path, url);
                let mut read = url.path().to_owned();
                for _ in 0..4 {
                    read = String::from_utf8(percent_decoded(&read)).unwrap().replace('\\', "/");
                    let again = Url::parse(&format!("http://h{read}")).unwrap();
                    let prefix = String::from_utf8(percent_decoded(prefix)).unwrap();
                    let at = Url::parse(&format!("http://h{prefix}/x")).unwrap();
                    let at = at.path().trim_end_matches("/x");
                    prop_assert!(again.path().starts_with(at), "{} {}", path, again);
                }
            }
        }
    }
}
