//! In front of every page: who looks, whether a change was asked for by a page of ours, and the headers that keep a
//! browser from doing more than it must.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::fault::{Fault, Result};
use super::state::Ui;
use super::viewer::Viewer;
use super::{cookie, csp, layout, permit};
use crate::service::core::access::Access;
use crate::service::core::clock;

/// Most bytes of a form.
pub const MAX_FORM_BYTES: usize = 64 << 10;

/// Lets a request through with its [`Viewer`], draws what it answers instead of a page, or leads to the login.
pub async fn admit(State(ui): State<Ui>, request: Request, next: Next) -> Response {
    let cookie = cookie_of(request.headers()).unwrap_or_default();
    let viewer = match viewer(&ui, &cookie).await {
        Ok(Some(viewer)) => viewer,
        Ok(None) => return to_login(&request),
        Err(fault) => return layout::fault(None, &fault),
    };
    let mut response = match checked(&ui, &viewer, &cookie, request).await {
        Ok(mut request) => {
            request.extensions_mut().insert(viewer.clone());
            next.run(request).await
        }
        Err(fault) => fault.into_response(),
    };
    if let Some(fault) = response.extensions_mut().remove::<Fault>() {
        response = layout::fault(Some(&viewer), &fault);
    }
    response.extensions_mut().insert(viewer.access);
    response
}

/// The value of our cookie.
pub fn cookie_of(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(header::COOKIE).iter().filter_map(|header| header.to_str().ok());
    all.find_map(|header| cookie::value_of(header).map(str::to_owned))
}

/// Asks for key and login at each request: a key that was revoked or is over ends its logins at once, and a login that was
/// ended stays so at every process.
async fn viewer(ui: &Ui, cookie: &str) -> Result<Option<Viewer>> {
    let form_token = ui.secret.form_token(cookie);
    if let Some(tenant) = ui.dev_tenant {
        return Ok(Some(Viewer { tenant, access: Access::whole(tenant), form_token, is_logged_in: false }));
    }
    let Some(login) = ui.secret.open(cookie, clock::now()) else { return Ok(None) };
    let keys = &ui.services.keys;
    if keys.has_logged_out(login.tenant, login.id).await? {
        return Ok(None);
    }
    let access = keys.identify_by_id(login.tenant, login.key_id).await?;
    Ok(access.map(|access| Viewer { tenant: login.tenant, access, form_token, is_logged_in: true }))
}

/// A page is come back to after the login, a change is not. A fragment has its whole page go there.
fn to_login(request: &Request) -> Response {
    let back = Some(request.uri()).filter(|_| request.method() == Method::GET);
    if request.headers().contains_key("hx-request") {
        let headers = [(HeaderName::from_static("hx-redirect"), HeaderValue::from_static("/ui/login"))];
        return (StatusCode::UNAUTHORIZED, headers).into_response();
    }
    let next = back.and_then(Uri::path_and_query).map_or("/ui", |path| path.as_str());
    let query: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    Redirect::to(&format!("/ui/login?next={query}")).into_response()
}

/// The key of the login lets do it; a request that changes something comes from a page of ours, besides, and bears the
/// token of its login's forms.
async fn checked(ui: &Ui, viewer: &Viewer, cookie: &str, request: Request) -> Result<Request> {
    let (method, path) = (request.method(), request.uri().path());
    if let Some(scope) = permit::needed(method, path).filter(|scope| !viewer.may(*scope)) {
        let word = scope.into_str();
        return Err(Fault::forbidden(&format!("This needs a key with the scope {word}, which your login's has not.")));
    }
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    if !is_of_ours(request.headers()) {
        return Err(Fault::forbidden("This was not asked for by a page of this service."));
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_FORM_BYTES).await else {
        return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "The form is too large."));
    };
    let token = form_urlencoded::parse(&bytes).find(|(name, _)| name == "csrf").map(|(_, token)| token);
    if !token.is_some_and(|token| ui.secret.is_form_token(cookie, &token)) {
        return Err(Fault::forbidden("The form is of another login. Load its page again."));
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// Tells if the request was sent by a page of this very origin: as the browser says, which pages can't change.
pub fn is_of_ours(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    origin.is_some() && origin == text(header::HOST)
}

/// Headers of every page. The referrer stays within this origin: with none at all, forms would come from nowhere.
pub async fn guard_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let guards = [
        (header::CONTENT_SECURITY_POLICY, csp::POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    headers.extend(guards.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_pages_of_this_origin_are_ours() {
        for fine in [
            &[("sec-fetch-site", "same-origin")][..],
            &[("origin", "http://contextd.example:8080"), ("host", "contextd.example:8080")],
            &[("origin", "https://contextd.example"), ("host", "contextd.example")],
            &[("sec-fetch-site", "same-origin"), ("origin", "https://outside.example"), ("host", "inside:8080")],
        ] {
            assert!(is_of_ours(&headers(fine)), "{fine:?}");
        }
        for bad in [
            &[][..],
            &[("host", "contextd.example")],
            &[("origin", "null"), ("host", "contextd.example")],
            &[("origin", "https://evil.example"), ("host", "contextd.example")],
            &[("origin", "http://contextd.example:81"), ("host", "contextd.example")],
            &[("sec-fetch-site", "same-site"), ("origin", "http://a.example"), ("host", "a.example")],
            &[("sec-fetch-site", "none")],
        ] {
            assert!(!is_of_ours(&headers(bad)), "{bad:?}");
        }
    }
}
