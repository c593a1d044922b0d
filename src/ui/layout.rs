//! What all pages look like.

use axum::http::{Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets::Asset;
use super::fault::Fault;
use super::viewer::Viewer;
use super::visible::{TITLE, line};
use crate::service::core::access::Scope;

/// The pages of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Overview,
    Sessions,
    Search,
    Compactions,
    Hooks,
    Keys,
    /// None of them.
    Other,
}

/// Name, address and place of each; the key after `g` that leads there.
const SECTIONS: [(Section, &str, &str, &str); 6] = [
    (Section::Overview, "Overview", "/ui", "o"),
    (Section::Sessions, "Sessions", "/ui/sessions", "s"),
    (Section::Search, "Search", "/ui/search", "f"),
    (Section::Compactions, "Compactions", "/ui/compactions", "c"),
    (Section::Hooks, "Hooks", "/ui/hooks", "h"),
    (Section::Keys, "Keys", "/ui/keys", "k"),
];

/// No expressions, no styles of its own, no copies of pages in the browser's store.
const HTMX: &str = r#"{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0,"historyRestoreAsHxRequest":false}"#;

/// A page. `title` is told in the window's title; `main` brings the heading (`h1`) itself.
pub fn page(viewer: &Viewer, section: Section, title: &str, main: Markup) -> Html<String> {
    Html(whole(Some(viewer), section, title, main).into_string())
}

/// A page of nobody in particular: the login.
pub fn bare(title: &str, main: Markup) -> Html<String> {
    Html(whole(None, Section::Other, title, main).into_string())
}

/// Part of a page, for htmx.
pub fn fragment(markup: Markup) -> Html<String> {
    Html(markup.into_string())
}

/// What there is instead of a page.
pub fn fault(viewer: Option<&Viewer>, fault: &Fault) -> Response {
    let reason = fault.status.canonical_reason().unwrap_or("Error");
    let main = html! {
        h1 { (fault.status.as_u16()) " " (reason) }
        p { (line(&fault.detail, 1_000)) }
        p { a href="/ui" { "Overview" } " · " a href="/ui/sessions" { "Sessions" } }
    };
    let page = Html(whole(viewer, Section::Other, reason, main).into_string());
    let retry = matches!(fault.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
    let mut response = (fault.status, page).into_response();
    if retry {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("5"));
    }
    response
}

fn whole(viewer: Option<&Viewer>, section: Section, title: &str, main: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="htmx-config" content=(HTMX);
                title { (line(title, TITLE)) " · contextd" }
                link rel="icon" href=(Asset::Icon.path()) type="image/svg+xml";
                link rel="stylesheet" href=(Asset::UplotCss.path());
                link rel="stylesheet" href=(Asset::Css.path());
                script src=(Asset::Script.path()) {}
                @for script in [Asset::Htmx, Asset::Uplot, Asset::Charts] {
                    script defer src=(script.path()) {}
                }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(viewer, section))
                main id="main" tabindex="-1" { (main) }
                (help())
            }
        }
    }
}

fn header(viewer: Option<&Viewer>, section: Section) -> Markup {
    html! {
        header.top {
            a.brand href="/ui" { "contextd" }
            @if let Some(viewer) = viewer {
                nav aria-label="Pages of contextd" {
                    @for (own, name, path, key) in SECTIONS.iter().filter(|(.., path, _)| viewer.may_ask(&Method::GET, path)) {
                        a href=(path) data-go=(key) aria-current=[(*own == section).then_some("page")] { (name) }
                    }
                }
            }
            div.tools {
                button.plain type="button" data-theme-toggle hidden { "Theme: automatic" }
                button.plain type="button" data-help hidden aria-label="Keyboard help" { "?" }
                @if viewer.is_some_and(|viewer| !viewer.may(Scope::Write)) {
                    span.dim { "Read only" }
                }
                @if let Some(viewer) = viewer.filter(|viewer| viewer.is_logged_in) {
                    (super::parts::button(viewer, "/ui/logout", "Log out"))
                }
            }
        }
    }
}

fn help() -> Markup {
    let keys = [
        ("/", "search"),
        ("g o", "overview"),
        ("g s", "sessions"),
        ("g f", "search in all sessions"),
        ("g c", "compactions"),
        ("g h", "hooks"),
        ("g k", "keys"),
        ("j, k", "next and previous row"),
        ("Enter", "open the row"),
        ("?", "this help"),
        ("Esc", "close, leave a field"),
    ];
    html! {
        dialog id="help" aria-labelledby="help-title" {
            h2 id="help-title" { "Keyboard" }
            dl {
                @for (key, does) in keys {
                    dt { kbd { (key) } }
                    dd { (does) }
                }
            }
            form method="dialog" { button type="submit" { "Close" } }
        }
    }
}
