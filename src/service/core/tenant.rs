//! The tenant that a request has proved to be.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A tenant that a request has proved to be. Every use case takes one; there is no unscoped finder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tenant(pub Uuid);
