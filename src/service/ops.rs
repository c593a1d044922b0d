//! Use cases of operators: readiness, figures, keys.

pub mod gauges;
pub mod health;
pub mod keys;
pub mod readiness;
