//! What pages load: in the binary, under names that change with what is in them.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use strum::{EnumCount, VariantArray};

use super::state::Ui;

const CACHED: &str = "public, max-age=31536000, immutable";

/// A file that pages load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumCount)]
pub enum Asset {
    Css,
    UplotCss,
    Script,
    Charts,
    Htmx,
    Uplot,
    Icon,
    SessionCss,
    Session,
}

impl Asset {
    /// Name, type, content.
    fn file(self) -> (&'static str, &'static str, &'static str) {
        const CSS: &str = "text/css; charset=utf-8";
        const SCRIPT: &str = "text/javascript; charset=utf-8";
        match self {
            Asset::Css => ("contextd.css", CSS, include_str!("assets/contextd.css")),
            Asset::UplotCss => ("uplot.css", CSS, include_str!("assets/uplot-1.6.32.min.css")),
            Asset::Script => ("contextd.js", SCRIPT, include_str!("assets/contextd.js")),
            Asset::Charts => ("charts.js", SCRIPT, include_str!("assets/charts.js")),
            Asset::Htmx => ("htmx.js", SCRIPT, include_str!("assets/htmx-2.0.11.min.js")),
            Asset::Uplot => ("uplot.js", SCRIPT, include_str!("assets/uplot-1.6.32.min.js")),
            Asset::SessionCss => ("session.css", CSS, include_str!("assets/session.css")),
            Asset::Session => ("session.js", SCRIPT, include_str!("assets/session.js")),
            Asset::Icon => ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
        }
    }

    /// Where it is loaded from.
    pub fn path(self) -> &'static str {
        static PATHS: LazyLock<Vec<String>> =
            LazyLock::new(|| Asset::VARIANTS.iter().map(|asset| asset.named()).collect());
        PATHS.get(self as usize).map_or("", String::as_str)
    }

    fn named(self) -> String {
        let (name, _, content) = self.file();
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
        format!("/ui/assets/{stem}-{}.{ending}", &hash[..12])
    }
}

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/assets/{name}", get(serve))
}

async fn serve(Path(name): Path<String>) -> Response {
    let found = Asset::VARIANTS.iter().find(|asset| asset.path().rsplit('/').next() == Some(name.as_str()));
    let Some(asset) = found else { return StatusCode::NOT_FOUND.into_response() };
    let (_, kind, content) = asset.file();
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, CACHED), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, content).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = Asset::VARIANTS.iter().map(|asset| asset.path()).collect();
        assert_eq!(names.len(), Asset::COUNT);
        assert!(names.iter().all(|name| name.starts_with("/ui/assets/")), "{names:?}");
    }
}
