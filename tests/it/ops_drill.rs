//! Every alert fires: a real service whose faults are real, scraped by a real Prometheus with the repository's own rules.
//!
//! So that nobody waits for half an hour, time runs thirty times faster in the rules: [`rules::quickened`] says what that
//! changes. `dev/test` runs these where Debian's `prometheus` is installed; `-- --ignored --nocapture ops_drill::` by hand
//! prints how long each alert took.

mod database;
mod edges;
mod process;
mod prometheus;
mod queue;
mod reading;
mod rules;
mod sessions;
mod stage;
mod upstreams;
mod well;
