//! Without keys, what keeps web pages out. A browser sends requests wherever a page tells it to, so with `--dev` being
//! on this machine proves nothing: a page whose host name was rebound to this machine names its own host, and a page of
//! another site says where it comes from. A request that a browser could send unasked for such a page is refused, on
//! every route. Programs send neither `Origin` nor `Sec-Fetch-Site` and name this machine.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;

use super::body::essence;
use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;

/// Pages that somebody may have been led to by a link elsewhere. They change nothing and no other page can read them.
const PAGES: [&str; 2] = ["/docs", "/ui"];
/// Content types that a form can be sent as: no browser asks before it sends one of these to another site.
const FORMS: [&str; 3] = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];

/// The pages' own forms: `ui::gate` wants a token in each, which no other page can read.
const UI: &str = "/ui/";

/// What is handed on to a provider is of any type: without the client's own key there it comes to nothing.
const PROXIED: [&str; 2] = ["/openai/v1/", "/anthropic/v1/"];

/// Lets through what comes from this machine's own programs and pages.
pub async fn local_only(request: Request, next: Next) -> Result<Response> {
    let Ok(host) = host(&request) else {
        let detail = "with --dev the Host must be this machine's own: localhost or a loopback address";
        return Err(Problem::new(ProblemCode::HostNotAllowed, detail));
    };
    let headers = request.headers();
    if !is_own_origin(headers, host.as_ref()) || (is_cross_site(headers) && !is_followed_link(&request)) {
        let detail = "with --dev requests of other sites' pages are refused";
        return Err(Problem::new(ProblemCode::OriginNotAllowed, detail));
    }
    let path = request.uri().path();
    let takes_forms = path.starts_with(UI) || PROXIED.iter().any(|prefix| path.starts_with(prefix));
    if !takes_forms && !is_reading(request.method()) && FORMS.contains(&essence(headers).as_str()) {
        let detail = "the body must be sent as application/json";
        return Err(Problem::new(ProblemCode::UnsupportedMediaType, detail));
    }
    Ok(next.run(request).await)
}

/// A host that is not this machine.
struct Foreign;

/// The host that the request names, in its headers and in its target. No browser leaves it out.
fn host(request: &Request) -> std::result::Result<Option<Authority>, Foreign> {
    let mut host = None;
    for named in request.headers().get_all(header::HOST) {
        let named = named.to_str().ok().and_then(|named| named.parse::<Authority>().ok()).ok_or(Foreign)?;
        if host.replace(named).is_some() {
            return Err(Foreign);
        }
    }
    let all = host.iter().chain(request.uri().authority());
    if all.into_iter().all(is_loopback) { Ok(host) } else { Err(Foreign) }
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // The text of a name may hold whom to be taken for: `127.0.0.1@evil.example`.
    !authority.as_str().contains('@')
        && (host.trim_end_matches('.').eq_ignore_ascii_case("localhost")
            || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// No origin, or this service's own pages': on this machine and at the same port.
fn is_own_origin(headers: &HeaderMap, host: Option<&Authority>) -> bool {
    headers.get_all(header::ORIGIN).iter().all(|origin| {
        let authority = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        let authority = authority.and_then(|authority| authority.parse::<Authority>().ok());
        authority.is_some_and(|origin| is_loopback(&origin) && host.is_some_and(|host| port(host) == port(&origin)))
    })
}

fn port(authority: &Authority) -> u16 {
    authority.port_u16().unwrap_or(80)
}

fn is_cross_site(headers: &HeaderMap) -> bool {
    headers.get_all("sec-fetch-site").iter().any(|site| site.as_bytes().eq_ignore_ascii_case(b"cross-site"))
}

fn is_followed_link(request: &Request) -> bool {
    let is =
        |name: &str, value: &str| request.headers().get(name).is_some_and(|given| given.as_bytes() == value.as_bytes());
    let path = request.uri().path();
    let is_page =
        PAGES.iter().any(|page| path.strip_prefix(page).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    is_page && request.method() == Method::GET && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

fn is_reading(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        let named = |host: &str| host.parse::<Authority>().is_ok_and(|authority| is_loopback(&authority));
        for fine in ["localhost", "LocalHost:8080", "localhost.", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080"] {
            assert!(named(fine), "{fine}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "0.0.0.0",
            "192.168.1.2",
            "[::2]:80",
            "[::ffff:10.0.0.1]",
            "",
        ] {
            assert!(!named(bad), "{bad}");
        }
    }

    #[test]
    fn a_link_leads_to_pages_alone() {
        let follows = |method: &str, path: &str| {
            let request = Request::builder().method(method).uri(path);
            let request = request.header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document");
            is_followed_link(&request.body(Body::empty()).unwrap())
        };
        assert!(follows("GET", "/docs") && follows("GET", "/docs/") && follows("GET", "/ui/sessions?x=1"));
        assert!(!follows("POST", "/docs") && !follows("GET", "/v1/sessions") && !follows("GET", "/docsx"));
    }
}
