//! Integration tests: one binary, so that they share one database server.

mod api_bad_input;
mod api_idempotency;
mod app;
mod embedded_postgres;
mod idempotency;
mod layers;
mod pg;
mod queue_claim;
mod queue_compaction;
mod queue_lease;
mod queue_support;
mod queue_worker;
mod serve;
