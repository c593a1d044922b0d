//! A compaction in a line.

use serde_json::Value;

use crate::cli::fields::Fields;
use crate::cli::figures::{ago, count, percent, usd};
use crate::cli::table::Table;

/// Compactions, a row each.
pub fn table(compactions: &[&Value]) -> Table {
    let names =
        ["COMPACTION", "STATUS", "?TRIGGER", "STRATEGY", "?>BEFORE", "?>AFTER", ">SAVED", "?CREATED", "~REMARK"];
    let mut table = Table::new(&names);
    for compaction in compactions {
        let is_done = compaction.word("/status") == "succeeded";
        let size = |at: &str| if is_done { count(compaction.number(at)) } else { String::new() };
        table.row([
            compaction.word("/id").to_owned(),
            compaction.word("/status").to_owned(),
            compaction.word("/trigger").to_owned(),
            strategy(compaction).to_owned(),
            size("/result/tokens_before"),
            size("/result/tokens_after"),
            if is_done { percent(compaction.figure("/result/savings_pct").unwrap_or_default()) } else { String::new() },
            ago(compaction.word("/created_at")),
            remark(compaction),
        ]);
    }
    table
}

/// What was done, else what was asked for.
pub fn strategy(compaction: &Value) -> &str {
    match compaction.word("/result/strategy_used") {
        "" => compaction.word("/strategy"),
        used => used,
    }
}

/// Why it did not succeed, or that it was taken back.
pub fn remark(compaction: &Value) -> String {
    let reverted = if compaction.word("/reverted_at").is_empty() { "" } else { "reverted" };
    let told = [compaction.word("/result/skip_reason"), compaction.word("/error"), reverted];
    told.into_iter().filter(|told| !told.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What it costs once, against what is no longer sent.
pub fn net(net: &Value) -> String {
    let shed = format!("{} tokens a call less", count(net.number("/tokens_shed_per_turn")));
    let once = net.figure("/summary_cost_usd").unwrap_or_default() + net.figure("/cache_cost_usd").unwrap_or_default();
    let cost = format!("{} once", usd(once));
    let even = match net.figure("/break_even_turns") {
        Some(turns) => format!("pays after {turns:.1} calls"),
        None => "when it pays is not known".to_owned(),
    };
    format!("{shed}, {cost}, {even}")
}
