//! Who looks at a page.

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;

use super::fault::Fault;
use super::permit;
use crate::service::core::access::{Access, Scope};
use crate::service::core::tenant::Tenant;

/// Who looks at a page: every handler behind the gate may take one.
#[derive(Debug, Clone)]
pub struct Viewer {
    pub tenant: Tenant,
    /// What the key of the login lets do.
    pub access: Access,
    /// What every form that changes something sends as `csrf`; `parts::post` writes it.
    pub form_token: String,
    /// There is a login to be ended.
    pub is_logged_in: bool,
}

impl Viewer {
    pub fn may(&self, scope: Scope) -> bool {
        self.access.scopes.allow(scope)
    }

    /// Tells if what a form asks for would be done.
    pub fn may_send(&self, action: &str) -> bool {
        self.may_ask(&Method::POST, action)
    }

    pub fn may_ask(&self, method: &Method, path: &str) -> bool {
        permit::needed(method, path).is_none_or(|scope| self.may(scope))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Viewer {
    type Rejection = Fault;

    /// Only pages behind the gate have a viewer; on any other this is a fault of ours.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Viewer, Fault> {
        parts.extensions.get::<Viewer>().cloned().ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a page needs a viewer but is not behind the gate");
            Fault::internal()
        })
    }
}
