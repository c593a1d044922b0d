//! What `top` shows, line by line.

use std::cmp::Ordering;

use chrono::{DateTime, Utc};
use clap::ValueEnum;
use serde_json::Value;

use crate::cli::fields::Fields;
use crate::cli::figures::{ago, bar, percent, short};
use crate::cli::people::stats::glance;
use crate::cli::table::Table;
use crate::cli::text::{cut, visible};

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The fullest windows.
    Fill,
    /// The newest changes.
    Activity,
}

/// What a look at the service found.
#[derive(Debug, Clone)]
pub struct Shown {
    pub at: DateTime<Utc>,
    pub stats: Value,
    pub sessions: Vec<Value>,
}

/// How it is shown.
#[derive(Debug)]
pub struct Frame<'a> {
    pub order: Order,
    /// Why the figures are old.
    pub remark: &'a str,
}

/// A line, and how loud it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Head,
    Yellow,
    Red,
}

impl Frame<'_> {
    /// At most `rows` lines of at most `columns` columns.
    pub fn lines(&self, shown: &Shown, columns: usize, rows: usize) -> Vec<Line> {
        let order = if self.order == Order::Fill { "fullest" } else { "newest" };
        let title = format!("contextd: {order} first, {} (s: order, q: leave)", shown.at.format("%H:%M:%S UTC"));
        let mut lines = vec![Line { text: title, tone: Tone::Head }];
        if !self.remark.is_empty() {
            lines.push(Line { text: format!("old figures: {}", visible(self.remark)), tone: Tone::Red });
        }
        // A small terminal keeps its rows for the sessions.
        if rows >= 16 {
            let figures = glance(&shown.stats).into_iter().map(|text| Line { text, tone: Tone::Plain });
            lines.extend(figures.skip(1));
            lines.push(Line { text: String::new(), tone: Tone::Plain });
        }
        let room = rows.saturating_sub(lines.len() + 1);
        lines.extend(self.sessions(shown, columns, room));
        lines.truncate(rows);
        for line in &mut lines {
            line.text = cut(&line.text, columns);
        }
        lines
    }

    fn sessions(&self, shown: &Shown, columns: usize, room: usize) -> Vec<Line> {
        let mut sessions: Vec<&Value> = shown.sessions.iter().collect();
        sessions.sort_by(|a, b| self.compare(a, b));
        sessions.truncate(room);
        let mut table = Table::new(&["~SESSION", "STATE", "FILL", "?>TOKENS", "?>WINDOW", "?CHANGED", "~NAME"]);
        for session in &sessions {
            let share = session.figure("/snapshot/utilization").unwrap_or_default();
            let name = ["/title", "/external_id"].map(|at| session.word(at));
            table.row([
                session.word("/id").to_owned(),
                session.word("/snapshot/state").to_owned(),
                format!("{} {:>7}", bar(share, 8), percent(share * 100.0)),
                short(session.number("/snapshot/tokens")),
                short(session.number("/snapshot/window")),
                ago(session.word("/updated_at")),
                name.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned(),
            ]);
        }
        let tones = sessions.iter().map(|session| match session.word("/snapshot/state") {
            "red" => Tone::Red,
            "yellow" => Tone::Yellow,
            _ => Tone::Plain,
        });
        let text = table.lines(Some(columns));
        let tones = std::iter::once(Tone::Head).chain(tones);
        text.lines().zip(tones).map(|(text, tone)| Line { text: text.to_owned(), tone }).collect()
    }

    /// The first is shown first; equals stand by their ids, so that no line jumps.
    fn compare(&self, a: &Value, b: &Value) -> Ordering {
        let fill = |session: &Value| session.figure("/snapshot/utilization").unwrap_or_default();
        let changed = |session: &Value| session.word("/updated_at").to_owned();
        let order = match self.order {
            Order::Fill => fill(b).total_cmp(&fill(a)),
            Order::Activity => changed(b).cmp(&changed(a)),
        };
        order.then_with(|| a.word("/id").cmp(b.word("/id")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::text::width;

    fn shown() -> Shown {
        let session = |id: &str, state: &str, utilization: f64, at: &str| {
            json!({"id": id, "title": "\u{1b}[2Jtitle\u{202e}", "updated_at": at,
                "snapshot": {"state": state, "utilization": utilization, "tokens": 5, "window": 100_000}})
        };
        let sessions = vec![
            session("a", "green", 0.1, "2026-01-03T00:00:00Z"),
            session("b", "red", 1.3, "2026-01-01T00:00:00Z"),
            session("c", "yellow", 0.7, "2026-01-02T00:00:00Z"),
        ];
        Shown { at: DateTime::UNIX_EPOCH, stats: json!({"sessions": {"red": 1}}), sessions }
    }

    #[test]
    fn the_fullest_or_the_newest_come_first() {
        let order = |order: Order| {
            let lines = Frame { order, remark: "" }.lines(&shown(), 120, 24);
            let rows = lines.iter().filter(|line| line.text.contains("title"));
            rows.map(|line| line.text[..1].to_owned()).collect::<Vec<_>>().concat()
        };
        assert_eq!((order(Order::Fill), order(Order::Activity)), ("bca".to_owned(), "acb".to_owned()));
    }

    #[test]
    fn a_frame_fits_any_terminal() {
        let frame = Frame { order: Order::Fill, remark: "away" };
        for columns in [0, 1, 7, 20, 80, 300] {
            for rows in [0, 1, 2, 5, 16, 60] {
                let lines = frame.lines(&shown(), columns, rows);
                assert!(lines.len() <= rows && lines.iter().all(|line| width(&line.text) <= columns));
                assert!(lines.iter().all(|line| !line.text.contains(['\u{1b}', '\u{202e}'])));
            }
        }
    }
}
