//! Why a conversation is not kept, and what becomes of its request.

use crate::proxy::bypass::BypassReason;
use crate::proxy::refusal::{Refusal, Refused};
use crate::service::core::error::ServiceError;

/// What becomes of a request whose conversation is not kept.
#[derive(Debug, PartialEq, Eq)]
pub enum Unkept {
    /// It goes on as it came.
    Bypass(BypassReason),
    /// It is the client's to mend.
    Refused(Refused),
}

impl From<BypassReason> for Unkept {
    fn from(reason: BypassReason) -> Unkept {
        Unkept::Bypass(reason)
    }
}

impl From<Refusal> for Unkept {
    fn from(refusal: Refusal) -> Unkept {
        Unkept::Refused(refusal.into())
    }
}

impl From<ServiceError> for Unkept {
    fn from(error: ServiceError) -> Unkept {
        match error {
            ServiceError::HandleRefused(faults) => {
                Unkept::Refused(Refused { fault: faults.into_iter().next(), ..Refusal::HandleRefused.into() })
            }
            error => Unkept::Bypass(error.into()),
        }
    }
}
