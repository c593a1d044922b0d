//! Service and upstreams that the service's own jobs work with.

use crate::llm::Upstreams;
use crate::service::core::state::Service;

/// The service and the upstreams that write its summaries.
pub struct Jobs {
    pub service: Service,
    pub upstreams: Upstreams,
}
