//! Integration tests: one binary, so that they share one database server.

mod embedded_postgres;
mod layers;
mod pg;
mod serve;
