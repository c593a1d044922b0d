//! Logging in with an API key, and out again.

pub mod pace;

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;

use super::cookie::{HOURS, Login, NAME};
use super::fault::Result;
use super::query::{Asked, Sent};
use super::state::Ui;
use super::{address, gate, layout};
use crate::service::core::clock;
use crate::service::ops::keys::tenant_in;
use pace::Attempt;

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/login", get(show).post(enter))
}

/// Behind the gate.
pub fn leaving() -> Router<Ui> {
    Router::new().route("/ui/logout", post(leave))
}

#[derive(Deserialize)]
struct Coming {
    next: Option<String>,
}

#[derive(Deserialize)]
struct Entering {
    key: String,
    next: Option<String>,
}

async fn show(State(ui): State<Ui>, asked: std::result::Result<Asked<Coming>, super::fault::Fault>) -> Response {
    let next = asked.map_or_else(|_| None, |Asked(coming)| coming.next);
    match ui.dev_tenant {
        Some(_) => Redirect::to(inside(next.as_deref())).into_response(),
        None => form(StatusCode::OK, None, next.as_deref()),
    }
}

async fn enter(
    State(ui): State<Ui>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    sent: std::result::Result<Sent<Entering>, super::fault::Fault>,
) -> Response {
    if !gate::is_of_ours(&headers) {
        return form(StatusCode::FORBIDDEN, Some("This was not asked for by a page of this service."), None);
    }
    let Ok(Sent(Entering { key, next })) = sent else {
        return form(StatusCode::UNPROCESSABLE_ENTITY, Some("The form can't be read."), None);
    };
    let tenant = tenant_in(key.trim());
    let attempt = Attempt::new(address::client(peer.ip(), &headers, &ui.trusted), tenant);
    if let Err(wait) = ui.logins.admit(attempt) {
        let told = "Too many keys were tried just now. Wait a little.";
        let answer = form(StatusCode::TOO_MANY_REQUESTS, Some(told), next.as_deref());
        let seconds = wait.as_secs() + 1;
        return ([(header::RETRY_AFTER, seconds.to_string())], answer).into_response();
    }
    match cookie(&ui, key.trim(), &headers).await {
        Ok(Some(cookie)) => {
            ui.logins.succeeded(attempt);
            ([(header::SET_COOKIE, cookie)], Redirect::to(inside(next.as_deref()))).into_response()
        }
        Ok(None) => {
            form(StatusCode::UNAUTHORIZED, Some("The key is unknown, has expired or was revoked."), next.as_deref())
        }
        Err(fault) => {
            ui.logins.untold(attempt);
            form(fault.status, Some(&fault.detail), next.as_deref())
        }
    }
}

/// The login ends here and at every other process: a copy of its cookie opens nothing any more.
async fn leave(State(ui): State<Ui>, headers: HeaderMap) -> Result<Response> {
    let login = gate::cookie_of(&headers).and_then(|cookie| ui.secret.open(&cookie, clock::now()));
    if let Some(Login { tenant, id, ends_at, .. }) = login {
        ui.services.keys.log_out(tenant, id, ends_at).await?;
    }
    let over = format!("{NAME}=; Path=/ui; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok(([(header::SET_COOKIE, over)], Redirect::to("/ui/login")).into_response())
}

/// The cookie that a key opens.
async fn cookie(ui: &Ui, key: &str, headers: &HeaderMap) -> Result<Option<String>> {
    let access = ui.services.keys.identify(key).await?;
    let Some((access, key_id)) = access.and_then(|access| Some((access, access.key_id?))) else { return Ok(None) };
    let value = ui.secret.seal(&Login::now(access.tenant, key_id, clock::now()));
    let is_secure = headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let secure = if is_secure { "; Secure" } else { "" };
    let age = HOURS * 3_600;
    Ok(value.map(|value| format!("{NAME}={value}; Path=/ui; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")))
}

/// Where the login leads: to a page of ours, whatever was asked.
fn inside(next: Option<&str>) -> &str {
    let is_inside = |next: &&str| {
        let of_ours = *next == "/ui" || next.starts_with("/ui/") || next.starts_with("/ui?");
        of_ours && next.bytes().all(|byte| (0x21..0x7f).contains(&byte) && byte != b'\\')
    };
    next.filter(is_inside).unwrap_or("/ui")
}

fn form(status: StatusCode, told: Option<&str>, next: Option<&str>) -> Response {
    (status, layout::bare("Log in", login_form(told, inside(next)))).into_response()
}

fn login_form(told: Option<&str>, next: &str) -> Markup {
    html! {
        section.narrow {
            h1 { "Log in" }
            @if let Some(told) = told { p.problem role="alert" { (told) } }
            form.stacked method="post" action="/ui/login" {
                input type="hidden" name="next" value=(next);
                label { "API key"
                    input type="password" name="key" required autofocus autocomplete="current-password"
                        spellcheck="false" maxlength="512";
                }
                button.primary type="submit" { "Log in" }
            }
            p.hint { "The key goes to this service and stays there: the browser keeps a signed cookie for "
                (HOURS) " hours, which ends with the key or with “Log out”. " code { "contextd keys create" } " makes one." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn a_login_leads_to_our_pages_alone() {
        for fine in ["/ui", "/ui/sessions?q=a%20b", "/ui?hours=1"] {
            assert_eq!(inside(Some(fine)), fine);
        }
        for odd in ["//evil.example", "https://evil.example", "/uix", "/ui/\r\nSet-Cookie: a=b", "/ui/\\evil", "/ui/é"]
        {
            assert_eq!(inside(Some(odd)), "/ui", "{odd}");
        }
    }
}
