//! Figures as people read them.

use chrono::{DateTime, Utc};

use crate::service::core::clock;

/// With a comma between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// In thousands, millions or billions above 9,999.
pub fn short(number: u64) -> String {
    let scaled = |unit: f64, name: &str| format!("{:.1}{name}", number as f64 / unit);
    match number {
        0..10_000 => count(number),
        10_000..1_000_000 => scaled(1e3, "k"),
        1_000_000..1_000_000_000 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// Of a hundred, with one decimal.
pub fn percent(of_hundred: f64) -> String {
    format!("{of_hundred:.1} %")
}

/// US dollars, to a hundredth of a cent.
pub fn usd(dollars: f64) -> String {
    if dollars < 0.0 { format!("-${:.4}", -dollars) } else { format!("${dollars:.4}") }
}

/// How long ago something was, in one unit; what is no time comes back as it is.
pub fn ago(at: &str) -> String {
    let Ok(then) = DateTime::parse_from_rfc3339(at) else { return at.to_owned() };
    let seconds = (clock::now() - then.with_timezone(&Utc)).num_seconds().max(0);
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A time to the second, in UTC; what is no time comes back as it is.
pub fn time(at: &str) -> String {
    let Ok(then) = DateTime::parse_from_rfc3339(at) else { return at.to_owned() };
    then.with_timezone(&Utc).format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A bar of `#` for a share of one.
pub fn bar(share: f64, columns: usize) -> String {
    let filled = ((share.clamp(0.0, 1.0) * columns as f64).round() as usize).min(columns);
    format!("{}{}", "#".repeat(filled), "-".repeat(columns - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([9_999, 12_345, 2_500_000].map(short), ["9,999", "12.3k", "2.5M"]);
        assert_eq!((bar(0.5, 4), bar(7.0, 2), bar(f64::NAN, 2)), ("##--".into(), "##".into(), "--".into()));
        assert_eq!((usd(0.01234), usd(-1.0)), ("$0.0123".into(), "-$1.0000".into()));
        assert_eq!(
            (ago("never"), time("2026-01-02T03:04:05.678Z")),
            ("never".into(), "2026-01-02 03:04:05 UTC".into())
        );
    }
}
