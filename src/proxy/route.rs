//! Routes of the proxy: whose API a request is for, and whether it carries a conversation.

use axum::http::Method;

use crate::domain::model::format::Format;

/// Whose API it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Openai,
    Anthropic,
}

/// A route whose requests carry a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Route {
    ChatCompletions,
    Responses,
    Messages,
}

impl Provider {
    /// The path that its API is found under here.
    pub fn prefix(self) -> &'static str {
        match self {
            Provider::Openai => "/openai/v1",
            Provider::Anthropic => "/anthropic/v1",
        }
    }
}

impl Route {
    /// `path` is what follows the prefix. `None`: the request carries no conversation.
    pub fn of(provider: Provider, method: &Method, path: &str) -> Option<Route> {
        match (provider, path) {
            _ if method != Method::POST => None,
            (Provider::Openai, "/chat/completions") => Some(Route::ChatCompletions),
            (Provider::Openai, "/responses") => Some(Route::Responses),
            (Provider::Anthropic, "/messages") => Some(Route::Messages),
            _ => None,
        }
    }

    pub fn format(self) -> Format {
        match self {
            Route::ChatCompletions => Format::OpenaiChat,
            Route::Responses => Format::OpenaiResponses,
            Route::Messages => Format::Anthropic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_posted_to_three_routes() {
        let route = |provider, path| Route::of(provider, &Method::POST, path);
        assert_eq!(route(Provider::Openai, "/chat/completions"), Some(Route::ChatCompletions));
        assert_eq!(route(Provider::Openai, "/responses"), Some(Route::Responses));
        assert_eq!(route(Provider::Anthropic, "/messages"), Some(Route::Messages));
        for path in ["/messages/count_tokens", "/messages/batches", "/models", "/chat/completions/1", "/responses/"] {
            assert_eq!((route(Provider::Openai, path), route(Provider::Anthropic, path)), (None, None), "{path}");
        }
        assert_eq!(route(Provider::Anthropic, "/responses"), None);
        assert_eq!(Route::of(Provider::Openai, &Method::GET, "/chat/completions"), None);
    }
}
