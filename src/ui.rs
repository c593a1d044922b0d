//! The pages for people at `/ui`: server-rendered, readable without a script, strict about what a browser may do with
//! them. They ask the same use cases as the API.

mod address;
mod assets;
mod compaction;
mod compactions;
mod cookie;
mod csp;
mod fault;
mod format;
mod gate;
mod hooks;
mod keys;
mod layout;
mod login;
mod overview;
mod parts;
mod permit;
mod query;
mod queue;
mod search;
mod session;
mod sessions;
mod state;
mod viewer;
mod visible;
mod words;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get};

use fault::Fault;

pub use address::Network;
pub use state::Ui;

/// All pages, and what they load.
pub fn router(ui: Ui) -> Router {
    let pages = Router::new()
        .merge(overview::routes())
        .merge(sessions::routes())
        .merge(search::routes())
        .merge(compactions::routes())
        .merge(queue::routes())
        .merge(hooks::routes())
        .merge(keys::routes())
        .merge(session::routes())
        .merge(compaction::routes())
        .merge(login::leaving())
        .route("/ui/", get(|| async { Redirect::permanent("/ui") }))
        .route("/ui/{*rest}", any(|| async { Fault::not_found("page") }))
        .method_not_allowed_fallback(|| async { Fault::method_not_allowed() })
        .route_layer(from_fn_with_state(ui.clone(), gate::admit));
    Router::new()
        .merge(pages)
        .merge(login::routes())
        .merge(csp::routes())
        .layer(DefaultBodyLimit::max(gate::MAX_FORM_BYTES))
        .layer(from_fn(gate::guard_headers))
        .merge(assets::routes())
        .with_state(ui)
}
