//! Requests that are not handed on, answered in the provider's own form.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use strum::EnumMessage;

use crate::proxy::route::Provider;
use crate::service::core::error::FieldError;
use crate::service::ops::keys::RateLimited;
use crate::trace::RefusalCode;

/// Why a request was not handed on, or came to nothing. The answer's `code` (`error_code` with Anthropic).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Refusal {
    /// 400. The body ended before its time.
    BodyUnreadable,
    /// 400. The path leads out of the provider's base path, or could, in some way of reading it: a dot segment, a control character or a broken escape, however it is spelt.
    PathRefused,
    /// 400. A sealed handle in the input does not open; the message says which, and why.
    HandleRefused,
    /// 400. No message threads are kept: the whole conversation is to be sent.
    ThreadUnsupportedRequest,
    /// 401. `contextd-key` is missing, unknown, over or revoked.
    Unauthorized,
    /// 403. The key of `contextd-key` has not the scope `write`.
    InsufficientScope,
    /// 408. The body did not come in time.
    BodyTimeout,
    /// 429. The key of `contextd-key` has made as many requests as it may within a minute; see `Retry-After`.
    RateLimited,
    /// 502. The provider could not be reached, or its connection broke before the answer began.
    UpstreamUnreachable,
    /// 503. The key of `contextd-key` can't be looked up while the database is away, and was not seen good within the last hour; see `Retry-After`.
    Unavailable,
    /// 508. The request has come by here before, or by too many proxies.
    ProxyLoop,
}

impl Refusal {
    pub fn status(self) -> StatusCode {
        match self {
            Refusal::BodyUnreadable
            | Refusal::PathRefused
            | Refusal::HandleRefused
            | Refusal::ThreadUnsupportedRequest => StatusCode::BAD_REQUEST,
            Refusal::Unauthorized => StatusCode::UNAUTHORIZED,
            Refusal::InsufficientScope => StatusCode::FORBIDDEN,
            Refusal::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Refusal::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Refusal::UpstreamUnreachable => StatusCode::BAD_GATEWAY,
            Refusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::ProxyLoop => StatusCode::LOOP_DETECTED,
        }
    }

    fn message(self) -> String {
        let meaning = self.get_documentation().unwrap_or_default().replace('\n', " ");
        let meaning = meaning.split_once(". ").map_or(meaning.as_str(), |(_, meaning)| meaning);
        // By these words clients that keep threads know that they are to do without.
        let known_by = match self {
            Refusal::ThreadUnsupportedRequest => "capability_rejected: beta_header:message-threads-2026-08-12; ",
            _ => "",
        };
        format!("contextd: {known_by}{meaning}")
    }
}

/// A refusal, and what of the request it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub refusal: Refusal,
    pub fault: Option<FieldError>,
    /// Seconds until the request may be sent again.
    pub retry_after: Option<u64>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { refusal, fault: None, retry_after: None }
    }
}

impl From<RateLimited> for Refused {
    fn from(limited: RateLimited) -> Refused {
        Refused { retry_after: Some(limited.retry_after), ..Refusal::RateLimited.into() }
    }
}

impl Refused {
    /// The answer, as a client of the provider reads it.
    pub fn response(&self, provider: Provider) -> Response {
        let body = match provider {
            Provider::Openai => self.openai(),
            Provider::Anthropic => self.anthropic(),
        };
        let content = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.refusal.status(), content, body.to_string()).into_response();
        response.extensions_mut().insert(RefusalCode(self.refusal.into_str()));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }

    fn openai(&self) -> Value {
        let Refused { refusal, fault, .. } = self;
        let kind = match refusal {
            Refusal::RateLimited => "rate_limit_error",
            refusal if refusal.status().is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let param = fault.as_ref().map(|fault| &fault.pointer);
        json!({"error": {"message": self.message(), "type": kind, "param": param, "code": refusal.into_str()}})
    }

    fn anthropic(&self) -> Value {
        let kind = match self.refusal {
            Refusal::Unauthorized => "authentication_error",
            Refusal::InsufficientScope => "permission_error",
            Refusal::RateLimited => "rate_limit_error",
            refusal if refusal.status().is_server_error() => "api_error",
            _ => "invalid_request_error",
        };
        let details = json!({"error_code": self.refusal.into_str()});
        json!({"type": "error", "error": {"type": kind, "message": self.message(), "details": details}})
    }

    fn message(&self) -> String {
        let message = self.refusal.message();
        self.fault.as_ref().map_or(message.clone(), |fault| format!("{message} {} {}", fault.pointer, fault.detail))
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;
    use crate::codes_page::assert_listed;

    #[test]
    fn the_page_lists_every_refusal_with_its_status() {
        let meaning = |refusal: &Refusal| refusal.get_documentation().unwrap().replace('\n', " ");
        assert_listed("Refusal", Refusal::VARIANTS.iter().map(|refusal| (*refusal, meaning(refusal))));
        for refusal in Refusal::VARIANTS {
            assert!(meaning(refusal).starts_with(refusal.status().as_str()), "{refusal:?}");
        }
    }

    #[test]
    fn each_provider_has_its_own_form() {
        let refusal = Refused::from(Refusal::ThreadUnsupportedRequest);
        assert_eq!(refusal.anthropic()["error"]["details"]["error_code"], "thread_unsupported_request");
        assert_eq!(refusal.anthropic()["error"]["type"], "invalid_request_error");
        assert_eq!(Refused::from(Refusal::ProxyLoop).openai()["error"]["code"], "proxy_loop");
        assert_eq!(Refused::from(Refusal::ProxyLoop).openai()["error"]["type"], "server_error");
        assert_eq!(Refused::from(Refusal::Unauthorized).anthropic()["error"]["type"], "authentication_error");
        let limited = Refused::from(RateLimited { limit: 60, retry_after: 7 });
        assert_eq!(limited.openai()["error"]["type"], "rate_limit_error");
        let response = limited.response(Provider::Anthropic);
        assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"7".parse().unwrap()));
    }
}
