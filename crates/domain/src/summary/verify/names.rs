//! Names in a text: of files and functions, and long numbers.

use std::collections::HashSet;

use super::words::is_asked_in;
use crate::record::words;
use crate::summary::identifiers;

/// The most names of a text.
const MOST: usize = 5_000;

/// The names of a text, each as what must stand in a span: its word, or the pairs of neighbours among its words. Of a
/// path the last part counts.
pub(super) fn of(text: &str) -> Vec<Vec<u64>> {
    let mut seen = HashSet::new();
    let names = identifiers::extract(text, MOST).into_iter().map(parts);
    names.filter(|parts| !parts.is_empty() && seen.insert(parts.clone())).collect()
}

fn parts(name: &str) -> Vec<u64> {
    let last = name.rsplit(['/', '\\']).find(|part| part.len() > 2).unwrap_or(name);
    let (mut parts, mut is_plain) = (Vec::new(), true);
    words::each(last, &mut |word| {
        parts.push(word.hash());
        is_plain &= is_asked_in(word);
    });
    match parts.as_slice() {
        _ if is_plain => Vec::new(),
        [_] | [] => parts,
        several => several.windows(2).map(|two| pair(two[0], two[1])).collect(),
    }
}

/// Two words side by side.
pub(super) fn pair(first: u64, second: u64) -> u64 {
    first.rotate_left(17) ^ second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_path_the_last_part_counts_and_a_heading_is_no_name() {
        assert_eq!(of("src/a/parse_line.rs:12 lib/parse_line.rs next_steps").len(), 1);
        assert_eq!(
            of("The file src/a/b.rs:12 has parse_line, parseLine and E0308 at 127.0.0.1, order 48219.").len(),
            6
        );
    }
}
