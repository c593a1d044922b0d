//! Use cases of operators: readiness, figures, keys.

pub mod composition;
pub mod defaults;
pub mod gauges;
pub mod health;
pub mod keys;
pub mod readiness;
pub mod stats;
pub mod timeline;
pub mod upstreams;
