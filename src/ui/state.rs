//! What the pages share.

use std::sync::Arc;

use crate::service::Services;
use crate::service::core::clock;
use crate::service::core::tenant::Tenant;

use super::address::Network;
use super::cookie::Secret;
use super::login::pace::Pace;

/// Cheap to clone.
#[derive(Clone)]
pub struct Ui {
    pub services: Arc<Services>,
    /// Whom the pages are of where no key is needed.
    pub dev_tenant: Option<Tenant>,
    pub(super) secret: Arc<Secret>,
    pub(super) logins: Arc<Pace>,
    /// Proxies whose word on where a request comes from is taken.
    pub(super) trusted: Arc<[Network]>,
}

impl Ui {
    /// `secret` signs the cookies: shared by all processes of an installation. Without one a login holds at this process
    /// alone, until it ends.
    pub fn new(services: Arc<Services>, dev_tenant: Option<Tenant>, secret: Option<&str>, trusted: &[Network]) -> Ui {
        let secret = secret.map_or_else(|| Secret::from(clock::random_key()), Secret::of);
        Ui { services, dev_tenant, secret: Arc::new(secret), logins: Arc::default(), trusted: trusted.into() }
    }
}
