//! Use cases of operators: readiness, figures, keys.

pub mod calls;
pub mod composition;
pub mod defaults;
pub mod figures;
pub mod health;
pub mod jobs;
pub mod keys;
pub mod readiness;
pub mod stats;
pub mod timeline;
pub mod upstreams;
