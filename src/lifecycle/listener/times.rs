//! How long each part of a connection may take.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub header: Duration,
    pub idle: Duration,
    pub write: Duration,
}
