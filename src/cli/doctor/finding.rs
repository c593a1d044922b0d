//! What a check found.

use serde::Serialize;

use crate::cli::text::{cut, padded, visible};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ok,
    /// It runs, and might run better.
    Warn,
    Fail,
    /// Not looked at.
    Skipped,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
            Verdict::Skipped => "skipped",
        }
    }
}

/// A check, what it found, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: String,
    pub verdict: Verdict,
    pub found: String,
    pub advice: Option<String>,
}

impl Finding {
    pub fn ok(check: impl Into<String>, found: impl Into<String>) -> Finding {
        Finding { check: check.into(), verdict: Verdict::Ok, found: found.into(), advice: None }
    }

    pub fn skipped(check: impl Into<String>, found: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Skipped, ..Finding::ok(check, found) }
    }

    pub fn warn(check: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Warn, advice: Some(advice.into()), ..Finding::ok(check, found) }
    }

    pub fn fail(check: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Fail, ..Finding::warn(check, found, advice) }
    }

    /// A line, and one for the advice.
    pub fn lines(&self, columns: Option<usize>) -> String {
        const MARGIN: usize = 26;
        let cut = |line: String| cut(&line, columns.unwrap_or(usize::MAX)) + "\n";
        let (verdict, check) =
            (padded(self.verdict.word(), 8, false), padded(&visible(&self.check), MARGIN - 9, false));
        let found = cut(format!("{verdict} {check} {}", visible(&self.found)));
        let advice = self.advice.as_deref().map(|advice| format!("{}{}\n", " ".repeat(MARGIN + 1), visible(advice)));
        found + &advice.unwrap_or_default()
    }
}
