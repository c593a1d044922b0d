//! State that handlers share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;

use super::bounds::Bounds;
use crate::service::Services;
use crate::service::core::tenant::Tenant;
use crate::service::ops::upstreams::UpstreamCatalogue;
use crate::service::stateless::Summariser;

/// Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    pub services: Arc<Services>,
    /// No key is needed: every request works as `dev_tenant`.
    pub dev: bool,
    pub dev_tenant: Option<Tenant>,
    /// False while starting and while draining.
    pub ready: Arc<AtomicBool>,
    /// Writes the summaries of compactions that run inside a request.
    pub summariser: Arc<dyn Summariser>,
    /// Knows the upstreams.
    pub catalogue: Arc<dyn UpstreamCatalogue>,
    /// Largest body, in bytes.
    pub max_body: usize,
    /// Limits of requests, one by one and together.
    pub bounds: Arc<Bounds>,
    /// From [`install_metrics`](super::install_metrics).
    pub metrics: PrometheusHandle,
    /// What a scrape of `/metrics` has to bear; `None`: it is open.
    pub metrics_key: Option<SecretString>,
}
