//! Secrets kept from summarisers, summaries and hooks. The originals stay in the tree: whoever may read it finds them
//! there, by the place that stands in what replaces them.
//!
//! A secret is known by its own form (`tokens.tsv`), by the text around it (`patterns.tsv`), by the name that it is
//! assigned to (`named`), or as the block of a private key (`blocks`). Each is one pass over the text, in time that is
//! linear in its length. What only looks like one stays (`guard`).

mod blocks;
mod found;
mod guard;
mod message;
mod named;
mod own;
mod patterns;
mod tokens;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Match, Regex};

use found::{Found, compiled, mark};
pub use own::{OwnPatterns, PATTERN_CHARS, PATTERNS_MAX, RedactSetting, RedactWord, own_pattern};

/// Changes whenever the code of a rule does, so that what was written with other rules is not taken for the same.
const VERSION: &str = "2";
/// No secret is shorter, in bytes.
const SHORTEST: usize = 5;
const OWN_KIND: &str = "own pattern";

/// What is redacted in one session.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// `None`: nothing is.
    own: Option<Vec<Regex>>,
}

impl Redaction {
    /// The rules of a session's setting. Patterns that can't be read are left out; settings refuse them.
    pub fn of(setting: &RedactSetting) -> Redaction {
        let own = match setting {
            RedactSetting::Word(RedactWord::Off) => None,
            RedactSetting::Word(RedactWord::Auto) => Some(Vec::new()),
            RedactSetting::Own(own) => {
                Some(own.patterns.iter().filter_map(|pattern| own_pattern(pattern).ok()).collect())
            }
        };
        Redaction { own }
    }

    /// Returns true if anything is redacted.
    pub fn is_on(&self) -> bool {
        self.own.is_some()
    }

    /// Digest of the rules: two with the same one redact alike.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let built_in = [VERSION, tokens::TABLE, patterns::TABLE, include_str!("redaction/fillers.txt")];
        for part in built_in.into_iter().filter(|_| self.is_on()).chain(self.own.iter().flatten().map(Regex::as_str)) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().chars().take(32).collect()
    }

    /// Returns true if the text holds a secret.
    pub fn finds(&self, text: &str) -> bool {
        !self.found(text).is_empty()
    }

    /// The text with `[redacted: kind, place]` in place of each secret. `place`: where the original is found, such as
    /// `call #47` or `u12`.
    pub fn redact<'a>(&self, text: &'a str, place: Option<&str>) -> Cow<'a, str> {
        let found = self.found(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut redacted, mut from) = (String::with_capacity(text.len()), 0);
        for secret in found {
            redacted.push_str(text.get(from..secret.start).unwrap_or_default());
            redacted.push_str(&mark(secret.kind, place));
            from = secret.end;
        }
        redacted.push_str(text.get(from..).unwrap_or_default());
        Cow::Owned(redacted)
    }

    /// The secrets of a text in their order, none within another.
    fn found(&self, text: &str) -> Vec<Found> {
        let Some(own) = self.own.as_ref().filter(|_| text.len() >= SHORTEST) else { return Vec::new() };
        let mut found = Vec::new();
        blocks::find(text, &mut found);
        tokens::find(text, &mut found);
        patterns::find(text, &mut found);
        named::find(text, &mut found);
        if !own.is_empty() {
            let marks = marks(text);
            own.iter().for_each(|pattern| find_own(pattern, text, &marks, &mut found));
        }
        joined(found)
    }
}

/// Where secrets were replaced before: the words of a mark are none.
fn marks(text: &str) -> Vec<Range<usize>> {
    static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(r"\[redacted: [^\[\]\n]{1,80}\]"));
    MARKS.iter().flat_map(|marks| marks.find_iter(text)).map(|mark| mark.range()).collect()
}

fn find_own(pattern: &Regex, text: &str, marks: &[Range<usize>], found: &mut Vec<Found>) {
    let secrets = pattern.captures_iter(text).filter_map(|captures| captures.get(1).or(captures.get(0)));
    let is_mark = |secret: &Match<'_>| {
        let next = marks.partition_point(|mark| mark.end <= secret.start());
        marks.get(next).is_some_and(|mark| mark.start < secret.end())
    };
    let some = secrets.filter(|secret| !secret.is_empty() && !is_mark(secret));
    found.extend(some.map(|secret| Found { start: secret.start(), end: secret.end(), kind: OWN_KIND }));
}

/// Those that overlap are one, of the kind that was found first: the surest rules come first.
fn joined(mut found: Vec<Found>) -> Vec<Found> {
    let mut ranked: Vec<(usize, Found)> = found.drain(..).enumerate().collect();
    ranked.sort_by_key(|(rank, secret)| (secret.start, *rank));
    let mut joined: Vec<(usize, Found)> = Vec::new();
    for (rank, secret) in ranked {
        match joined.last_mut().filter(|(_, last)| secret.start < last.end) {
            Some((first, last)) => {
                last.end = last.end.max(secret.end);
                if rank < *first {
                    (*first, last.kind) = (rank, secret.kind);
                }
            }
            None => joined.push((rank, secret)),
        }
    }
    joined.into_iter().map(|(_, secret)| secret).collect()
}

#[cfg(test)]
mod tests;
