//! A key's text, which is shown once and never stored: the prefix, the tenant's id (32 hex digits), then 64 hex digits of
//! secret.

use uuid::Uuid;

use crate::service::core::clock;

const PREFIX: &str = "ctxd_";
const TENANT_DIGITS: usize = 32;

/// The text of a new key.
pub fn new(tenant: Uuid) -> String {
    format!("{PREFIX}{}{}", tenant.simple(), clock::secret())
}

/// The tenant that a key's text names.
pub fn tenant_in(key: &str) -> Option<Uuid> {
    Uuid::try_parse(key.strip_prefix(PREFIX)?.get(..TENANT_DIGITS)?).ok()
}

/// What is stored of it.
pub fn digest(key: &str) -> [u8; 32] {
    *blake3::hash(key.as_bytes()).as_bytes()
}
