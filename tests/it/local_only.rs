//! Without keys: only this machine's own programs and pages get in, on every route.

use reqwest::Method;
use serde_json::json;

use crate::app::{Answer, App};
use crate::drill_support::{all, by_hand, filled, id_of};
use crate::openapi::operations;

/// Besides those of the document.
const ROUTES: [&str; 6] = ["/docs", "/docs/", "/openapi.json", "/nowhere", "/v1/nowhere", "/"];

async fn ask(app: &App, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let body = if method == Method::POST { "{}" } else { "" };
    app.send(method, path, headers, body).await
}

#[tokio::test]
async fn a_host_of_others_is_refused_on_every_route() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let document = app.get("/openapi.json").await.expect(200);
    let nobody = "0195c0de-0000-7000-8000-000000000000";
    let mut routes: Vec<(Method, String)> = ROUTES.map(|path| (Method::GET, path.to_owned())).into();
    for (path, method, _) in operations(&document) {
        let of_session = path.replace("{sid}", id_of(&session));
        let parts = of_session.split('/').map(|part| if part.starts_with('{') { nobody } else { part });
        routes.push((method, parts.collect::<Vec<_>>().join("/")));
    }
    println!("{} routes", routes.len());
    assert!(routes.len() > 50, "{}", routes.len());
    for (method, path) in &routes {
        for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:8080", "localhost@evil.example"] {
            let answer = ask(app, method.clone(), path, &[("host", host)]).await;
            let found = (answer.status, answer.code());
            assert_eq!(found, (403, Some("host_not_allowed")), "{method} {path} for {host}: {}", answer.text);
        }
    }
    for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:8080", "127.9.9.9"] {
        assert_eq!(ask(app, Method::GET, &session, &[("host", host)]).await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    // One of its own, so that whatever is made shows.
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let own = app.url("");
    let held = async || {
        let compactions = all(&app, &format!("{session}/compactions")).await;
        (all(&app, "/v1/sessions").await, compactions, app.get(&session).await.expect(200))
    };
    let before = held().await;
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "https://127.0.0.1"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1:1"),
        ("origin", "http://127.0.0.1.evil.example"),
        ("sec-fetch-site", "cross-site"),
    ] {
        for (method, path) in [
            (Method::POST, "/v1/sessions".to_owned()),
            (Method::POST, format!("{session}/fork")),
            (Method::POST, format!("{session}/compact")),
            (Method::POST, format!("{session}/anti-thrash/reset")),
            (Method::GET, session.clone()),
            (Method::DELETE, session.clone()),
            (Method::POST, "/mcp".to_owned()),
        ] {
            ask(&app, method, &path, &[(name, value)]).await.assert_problem(403, "origin_not_allowed");
        }
    }
    let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    assert_eq!(ask(&app, Method::GET, "/docs/", &link).await.status, 200, "a link to the pages may be followed");
    ask(&app, Method::GET, &session, &link).await.assert_problem(403, "origin_not_allowed");
    assert_eq!(held().await, before, "nothing was made, changed or erased");
    for headers in
        [vec![("origin", own.as_str()), ("sec-fetch-site", "same-origin")], vec![("sec-fetch-site", "none")], vec![]]
    {
        assert_eq!(ask(&app, Method::GET, &session, &headers).await.status, 200, "{headers:?}");
        assert_eq!(ask(&app, Method::POST, "/v1/sessions", &headers).await.status, 201, "{headers:?}");
    }
}

#[tokio::test]
async fn a_form_says_nothing_without_a_body_either() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "TEXT/PLAIN; charset=utf-8",
    ] {
        let headers = [("content-type", kind)];
        let fork = format!("{session}/fork");
        let reset = format!("{session}/anti-thrash/reset");
        for path in ["/v1/sessions", &fork, &format!("{session}/compact"), &reset] {
            app.send(Method::POST, path, &headers, "").await.assert_problem(415, "unsupported_media_type");
        }
    }
    let bare = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = bare.post(app.url("/v1/sessions")).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 201, "an empty body that says nothing of itself still stands for {{}}");
}
