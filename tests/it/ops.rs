//! `ops/` and `docs/OPERATING.md`: rules, board, runbook and what `/metrics` has belong together. Prometheus itself reads
//! them in `ops_drill`.

mod board;
pub mod expressions;
mod page;
pub mod rules;

use std::path::Path;

pub fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_else(|_| panic!("{file}"))
}

pub const RULES: &str = "ops/prometheus/alerts.yml";
pub const SCRAPE: &str = "ops/prometheus/prometheus.yml";
pub const PAGE: &str = "docs/OPERATING.md";
