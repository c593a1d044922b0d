//! Integration tests: one binary, so that they share one database server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail in any line")]
#![allow(clippy::disallowed_methods, reason = "nobody goes away while a test begins a transaction")]

#[path = "../support/data.rs"]
mod data;
#[path = "../support/made_up.rs"]
mod made_up;
#[path = "../support/played_upstream.rs"]
mod played_upstream;

mod api_bad_input;
mod api_idempotency;
mod api_sessions;
mod app;
mod bounds;
mod cancellation;
mod chapters;
mod client_readers;
mod corpus;
mod cut_proxy;
mod drill_appends;
mod drill_auto;
mod drill_context;
mod drill_crash;
mod drill_curl;
mod drill_cuts;
mod drill_files;
mod drill_formats;
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
mod drill_surface;
mod drill_tree;
mod drill_tree_shape;
mod drill_upstream;
mod drill_upstreams;
mod drill_valid;
mod embedded_postgres;
mod erasure;
mod events;
mod failover;
mod fits;
mod hook_support;
mod hooks;
mod idempotency;
mod invariants;
mod large_items;
mod layers;
mod local_only;
mod long_reads;
mod mcp;
mod migrations;
mod model_calls;
mod odd_values;
mod openapi;
mod patience;
mod pg;
mod pg_proxy;
mod pi_files;
mod queue_claim;
mod queue_compaction;
mod queue_lease;
mod queue_support;
mod queue_worker;
mod recall;
mod recount;
mod search;
mod serve;
mod service_ahead;
mod service_append;
mod service_compactions;
mod service_locks;
mod service_relief;
mod service_strategies;
mod service_support;
mod shutdown;
mod stateless;
mod summary_settings;
mod transcript;
