//! Integration tests: one binary, so that they share one database server.

mod app;
mod corpus;
mod drill_support;
mod drill_valid;
mod embedded_postgres;
mod layers;
mod pg;
mod serve;
