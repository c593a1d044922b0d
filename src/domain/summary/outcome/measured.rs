//! Numbers with their units, as measurements and sums are printed.

const UNITS: [&str; 44] = [
    "ns", "µs", "us", "ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minutes", "h", "hours", "%",
    "percent", "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "bytes", "Hz", "kHz", "MHz", "GHz", "rps",
    "fps", "req/s", "ops/s", "MB/s", "GB/s", "requests", "rows", "lines", "tokens", "commits", "px", "USD", "EUR",
];
/// Words of a line that are looked at.
const MOST_WORDS: usize = 60;

/// Counts the numbers of a line that stand with a unit.
pub fn measures(line: &str) -> usize {
    let words = line.split(|c: char| c.is_whitespace() || "=()[],;:|".contains(c)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(MOST_WORDS).collect();
    let next = words.iter().skip(1).map(Some).chain([None]);
    words.iter().zip(next).filter(|(word, next)| is_measure(word, *next)).count()
}

fn is_measure(word: &str, next: Option<&&str>) -> bool {
    let number = word.trim_start_matches(['$', '€', '~', '<', '>', '+']);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    let unit = unit.trim_end_matches('.');
    let amount = number.len() < word.len() && word.starts_with(['$', '€']) && unit.is_empty();
    let united = UNITS.contains(&unit) || unit.is_empty() && next.is_some_and(|next| UNITS.contains(next));
    digits.starts_with(|c: char| c.is_ascii_digit()) && (amount || united)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_numbers_with_units() {
        for (line, count) in [
            ("lexer benchmark: 8841 requests in 60 s, p99 412 µs", 3),
            ("p50=12ms p99=80ms cost=$3.20", 3),
            ("Finished in 3.2s.", 1),
            ("warming up 3 workers, step 4 of 5", 0),
            ("v1.2.3 of 2024-05-20", 0),
        ] {
            assert_eq!(measures(line), count, "{line}");
        }
    }
}
