//! Integration tests: one binary, so that they share one database server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail in any line")]

#[path = "../support/played_upstream.rs"]
mod played_upstream;

mod api_bad_input;
mod api_idempotency;
mod api_sessions;
mod app;
mod corpus;
mod drill_appends;
mod drill_auto;
mod drill_context;
mod drill_crash;
mod drill_curl;
mod drill_growth;
mod drill_guard;
mod drill_input;
mod drill_model_faults;
mod drill_mutations;
mod drill_provider;
mod drill_races;
mod drill_rounds;
mod drill_sizes;
mod drill_small_window;
mod drill_support;
mod drill_tree;
mod drill_tree_shape;
mod drill_upstream;
mod drill_upstreams;
mod drill_valid;
mod embedded_postgres;
mod idempotency;
mod invariants;
mod layers;
mod pg;
mod pi_files;
mod queue_claim;
mod queue_compaction;
mod queue_lease;
mod queue_support;
mod queue_worker;
mod serve;
mod service_ahead;
mod service_append;
mod service_compactions;
mod service_strategies;
mod service_support;
mod summary_settings;
