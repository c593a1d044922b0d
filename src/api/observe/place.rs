//! Where a request goes, as spans and logs may tell it: ids, and nothing else that a path can hold.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use uuid::Uuid;

use crate::trace::{Beginning, KeyValue, SpanKind};

const SESSION_PARAMETERS: [&str; 2] = ["{sid}", "{session}"];

/// Method and route of a request, and its path as far as that can be told.
pub(super) struct Place {
    pub method: Method,
    route: Option<MatchedPath>,
    /// The route with the ids in it that the path has.
    path: Option<String>,
    pub session: Option<Uuid>,
}

impl Place {
    pub(super) fn of(request: &Request) -> Place {
        let route = request.extensions().get::<MatchedPath>().cloned();
        let segments = route.as_ref().map(|route| pairs(route.as_str(), request.uri().path()));
        let session = segments.as_ref().and_then(|segments| {
            let named = segments.iter().find(|(template, _)| SESSION_PARAMETERS.contains(template))?;
            named.1.parse().ok()
        });
        let path = segments.map(|segments| segments.into_iter().map(|pair| format!("/{}", told(pair))).collect());
        Place { method: request.method().clone(), route, path, session }
    }

    pub(super) fn route(&self) -> &str {
        self.route.as_ref().map_or("unmatched", MatchedPath::as_str)
    }

    /// The method, where it is one that everybody knows: a client can make up others, of any length and words.
    pub(super) fn method_name(&self) -> &'static str {
        known(&self.method).unwrap_or("_OTHER")
    }

    /// The server span by the conventions for HTTP. The query is left out, and so are parts of the path that are neither
    /// the route's nor ids: both can hold words of a transcript.
    pub(super) fn beginning(&self, request_id: &str) -> Beginning {
        let method = known(&self.method);
        let mut attributes = vec![
            KeyValue::new("http.request.method", self.method_name()),
            KeyValue::new("url.scheme", "http"),
            KeyValue::new("contextd.request.id", request_id.to_owned()),
        ];
        attributes.extend(self.path.clone().map(|path| KeyValue::new("url.path", path)));
        attributes.extend(self.session.map(|id| KeyValue::new("gen_ai.conversation.id", id.to_string())));
        let method = method.unwrap_or("HTTP");
        let name = match &self.route {
            Some(route) => {
                attributes.push(KeyValue::new("http.route", route.as_str().to_owned()));
                format!("{method} {}", route.as_str())
            }
            None => method.to_owned(),
        };
        Beginning::new(name, SpanKind::Server, attributes)
    }
}

/// The segments of a route, each with that of the path.
fn pairs<'r, 'p>(route: &'r str, path: &'p str) -> Vec<(&'r str, &'p str)> {
    route.split('/').skip(1).zip(path.split('/').skip(1)).collect()
}

fn told<'t>((template, segment): (&'t str, &'t str)) -> &'t str {
    let is_told = !template.starts_with('{') || segment.parse::<Uuid>().is_ok();
    if is_told { segment } else { template }
}

/// Methods that the conventions know; a client may send any word.
fn known(method: &Method) -> Option<&'static str> {
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"];
    methods.into_iter().find(|known| method.as_str() == *known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_by_its_ids_alone() {
        let id = "01990000-0000-7000-8000-000000000000";
        let path = |route: &str, path: &str| -> String {
            pairs(route, path).into_iter().map(|pair| format!("/{}", told(pair))).collect()
        };
        assert_eq!(path("/v1/sessions/{sid}", &format!("/v1/sessions/{id}")), format!("/v1/sessions/{id}"));
        let call =
            path("/v1/sessions/{sid}/tool-calls/{tool_call_id}", &format!("/v1/sessions/{id}/tool-calls/secret"));
        assert_eq!(call, format!("/v1/sessions/{id}/tool-calls/{{tool_call_id}}"));
        assert_eq!(path("/openai/v1/{*path}", "/openai/v1/files/secret"), "/openai/v1/{*path}");
        assert_eq!(path("/", "/"), "/");
    }
}
