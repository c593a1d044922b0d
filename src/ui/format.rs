//! Figures and times as people read them.

use chrono::{DateTime, Utc};
use maud::{Markup, html};

use crate::service::core::clock;

/// `12,345,678`.
pub fn count(figure: i64) -> String {
    let digits = figure.unsigned_abs().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if figure < 0 {
        grouped.push('\u{2212}');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `842`, `12.3 k`, `4.56 M`: three figures are enough at a glance; [`short`] has the exact one at hand.
pub fn rounded(figure: i64) -> String {
    let size = figure.unsigned_abs();
    let sign = if figure < 0 { "\u{2212}" } else { "" };
    let (unit, name) = match size {
        0..1_000 => return count(figure),
        1_000..999_500 => (1e3, "k"),
        999_500..999_500_000 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let shown = size as f64 / unit;
    let digits = if shown < 9.995 { 2 } else { usize::from(shown < 99.95) };
    format!("{sign}{shown:.digits$}\u{a0}{name}")
}

/// A figure rounded, the exact one in its title.
pub fn short(figure: i64) -> Markup {
    html! { span.num title=(count(figure)) { (rounded(figure)) } }
}

/// US dollars: to the cent, and what is less than a dollar to three figures.
pub fn usd(amount: f64) -> String {
    let sign = if amount < 0.0 { "\u{2212}" } else { "" };
    let size = amount.abs();
    match size {
        0.0 => "$0".to_owned(),
        _ if size < 0.0001 => format!("{sign}<$0.0001"),
        _ if size < 1.0 => format!("{sign}${size:.4}"),
        _ => {
            let cents = (size * 100.0).round() as i64;
            format!("{sign}${}.{:02}", count(cents / 100), cents % 100)
        }
    }
}

/// What calls of `tokens` cost: not known where a model took tokens for nothing.
pub fn cost(amount: f64, tokens: i64, has_model: bool) -> Markup {
    if amount == 0.0 && tokens > 0 && has_model {
        return unknown("no price of this model is known, or none is asked");
    }
    html! { (usd(amount)) }
}

/// `340 ms`, `2.4 s`, `3 min`, `5 h`, `2 d`.
pub fn duration_ms(milliseconds: f64) -> String {
    let seconds = milliseconds / 1_000.0;
    match seconds {
        _ if milliseconds < 1_000.0 => format!("{milliseconds:.0} ms"),
        _ if seconds < 60.0 => format!("{seconds:.1} s"),
        _ if seconds < 3_600.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        _ => format!("{:.0} d", seconds / 86_400.0),
    }
}

/// A share, as `37 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}

/// A time in words from now, the exact one in its title and for machines.
pub fn when(at: DateTime<Utc>) -> Markup {
    let exact = at.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    html! { time datetime=(at.to_rfc3339()) title=(exact) { (ago((clock::now() - at).num_seconds())) } }
}

/// Less than ten seconds, also to come, may be the clocks'.
fn ago(seconds: i64) -> String {
    let (number, unit) = match seconds.unsigned_abs() {
        0..10 => return "just now".to_owned(),
        seconds @ 10..60 => (seconds, "s"),
        seconds @ 60..3_600 => (seconds / 60, "min"),
        seconds @ 3_600..172_800 => (seconds / 3_600, "h"),
        seconds => (seconds / 86_400, "d"),
    };
    if seconds < 0 { format!("in {number} {unit}") } else { format!("{number} {unit} ago") }
}

/// What is not known, which is something else than none.
pub fn unknown(why: &str) -> Markup {
    html! { span.unknown title=(why) { "—" span.sr { " unknown: " (why) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([0, 999, 1_000, -1_234_567].map(count), ["0", "999", "1,000", "−1,234,567"]);
        assert_eq!(
            [7, 1_234, 12_345, 123_456, 999_499, 999_500, 4_560_000, -12_345, 1_200_000_000]
                .map(|figure| rounded(figure).replace('\u{a0}', " ")),
            ["7", "1.23 k", "12.3 k", "123 k", "999 k", "1.00 M", "4.56 M", "−12.3 k", "1.20 G"]
        );
        assert_eq!(i64::MIN.unsigned_abs().to_string().len() + 7, count(i64::MIN).chars().count());
        assert_eq!(
            [0.0, 0.00001, 0.1234, 12.5, -1_234.56].map(usd),
            ["$0", "<$0.0001", "$0.1234", "$12.50", "−$1,234.56"]
        );
        assert!(cost(0.0, 5, true).into_string().contains("unknown: no price"));
        assert_eq!([cost(0.0, 5, false), cost(0.0, 0, true)].map(|cost| cost.into_string()), ["$0", "$0"]);
        assert_eq!(
            [340.2, 2_400.0, 180_000.0, 7.2e6, 6e8].map(duration_ms),
            ["340 ms", "2.4 s", "3 min", "2 h", "7 d"]
        );
        assert_eq!(
            [-900_000, -90, -5, 3, 59, 61, 7_200, 900_000].map(ago),
            ["in 10 d", "in 1 min", "just now", "just now", "59 s ago", "1 min ago", "2 h ago", "10 d ago"]
        );
    }
}
