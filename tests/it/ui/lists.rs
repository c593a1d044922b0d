//! Lists: found, page by page, and nothing of what they show is more than text.

use std::collections::HashSet;

use serde_json::json;

use super::Visitor;
use crate::app::{App, Keyed};
use crate::drill_support::{by_hand, compact, filled, id_of};
use crate::pg;
use contextd::service::Services;
use contextd::service::core::state::Options;
use sqlx::PgPool;

/// The ids of the sessions that a page links to, in its order.
fn linked(page: &str) -> Vec<String> {
    let links = page.split("href=\"/ui/sessions/").skip(1);
    links.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn next_of(page: &str) -> Option<String> {
    let link = page.split("rel=\"next\" href=\"").nth(1)?;
    Some(link.split('"').next().unwrap().replace("&amp;", "&"))
}

#[tokio::test]
async fn ten_thousand_sessions_page_by_page() {
    let database = pg::url().await;
    let pool = PgPool::connect(&database).await.unwrap();
    let services = Services::new(pool.clone(), Options::default());
    let key = services.keys.create("own", "k").await.unwrap();
    let server = Keyed::start(&database, &[], &[]);
    let visitor = Visitor::with_key(&server.base, &key).await;
    let made = reqwest::Client::builder().no_proxy().build().unwrap().post(format!("{}/v1/sessions", server.base));
    let made = made.bearer_auth(&key).header("content-type", "application/json").body(r#"{"title": "the first"}"#);
    assert_eq!(made.send().await.unwrap().status(), 201);
    sqlx::query(
        r#"INSERT INTO sessions (tenant_id, id, external_id, title, metadata, settings, version, next_seq, next_branch,
            entry_count, leaf_branch, leaf_depth, state, fill_state, tokens, created_at, updated_at)
         SELECT tenant_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'ticket-' || n,
            CASE n % 3 WHEN 0 THEN NULL ELSE 'Chat number ' || n END,
            CASE n WHEN 9900 THEN '{"user": "ada"}' ELSE metadata END, settings, 0, 0, 1, 0, 0, -1, state,
            CASE WHEN n % 100 = 0 THEN 'red' ELSE 'green' END, 0, now(), now()
         FROM sessions, generate_series(1, 9999) n"#,
    )
    .execute(&pool)
    .await
    .unwrap();
    let (mut seen, mut path, mut pages) = (HashSet::new(), Some("/ui/sessions".to_owned()), 0);
    while let Some(at) = path {
        let page = visitor.get(&at).await.page();
        let links = linked(&page);
        assert!(links.len() <= 50 && page.len() < 200_000, "{} links, {} bytes", links.len(), page.len());
        seen.extend(links);
        path = next_of(&page);
        pages += 1;
    }
    assert_eq!((seen.len(), pages), (10_000, 200));

    let found = async |query: &str| linked(&visitor.get(&format!("/ui/sessions?{query}")).await.page());
    let with = |n: u32| format!("00000000-0000-7000-8000-{n:012x}");
    assert_eq!(found("q=ticket-9998").await, [with(9998)]);
    assert_eq!(found("q=TICKET-9998&state=green").await, [with(9998)]);
    assert_eq!(found("q=chat+number+77&state=red").await, [with(7700)]);
    assert_eq!(found(&format!("q={}", with(77))).await, [with(77)]);
    assert_eq!(found(&format!("q={}", with(0x2710 - 1).to_uppercase())).await, [with(9999)]);
    assert_eq!(found("q=the+FIRST").await.len(), 1);
    assert_eq!(found("q=%25").await, Vec::<String>::new(), "no wildcard");
    assert_eq!(found("state=red").await.len(), 50);
    assert_eq!(found("metadata=user%3Dada&state=red&order=activity").await, [with(9900)], "all that is asked for");
    assert_eq!(found("order=size&q=ticket-9999").await, [with(9999)]);
    assert_eq!(found("q=&state=").await.len(), 50, "what is left empty is no filter");
    for odd in ["state=purple", "after=x", "q=%00"] {
        let refused = visitor.get(&format!("/ui/sessions?{odd}")).await;
        assert_eq!(refused.status, 422, "{odd}");
        refused.assert_guarded();
    }
    let overview = visitor.get("/ui").await.page();
    assert!(overview.contains(">9,900</a>") || overview.contains(">9,901</a>"), "{overview}");
}

/// Markup, escapes of terminals, changed direction of writing.
const HOSTILE: &str = "<script>canary()</script>\"'><img src=x onerror=canary()>\u{1b}[31m\u{202e}gpj.exe\u{2066}\u{0}";

#[tokio::test]
async fn a_search_names_the_sessions_and_shows_the_match() {
    let app = App::fresh(&[]);
    let both = app.session(json!({"title": "Birds of passage", "external_id": "ticket-7"})).await;
    let unnamed = app.session(json!({"title": " ", "settings": {"enabled": false}})).await;
    let (path, prose) = ("src/".repeat(250_000), "hay ".repeat(100));
    for (session, text) in [
        (&both, "a needle".to_owned()),
        (&unnamed, format!("{path}needle.rs")),
        (&unnamed, format!("{prose}\"{}\" {prose} first", "needle ".repeat(100))),
    ] {
        app.append(session, "openai_chat", json!([{"role": "user", "content": text}])).await;
    }
    let visitor = Visitor::of(&app.url(""));
    let page = visitor.get("/ui/search?q=needle").await.page();
    assert!(page.contains("Birds of passage") && page.contains("ticket-7"), "{page}");
    assert!(page.contains(&format!("<code>{}</code>", id_of(&unnamed))), "{page}");
    let own = visitor.get(&format!("/ui/sessions/{}/search?q=needle", id_of(&unnamed))).await.page();
    for (page, hits) in [(&page, 3), (&own, 2)] {
        let shown: Vec<&str> = page.split("<p class=\"snippet\">").skip(1).collect();
        assert_eq!(shown.len(), hits, "{page}");
        for snippet in shown {
            let snippet = snippet.split("</p>").next().unwrap();
            assert!(snippet.contains("<mark>needle"), "{snippet}");
            assert!(snippet.len() < 1_000, "{snippet}");
        }
    }
    visitor.assert_links(&page).await;
}

#[tokio::test]
async fn hostile_texts_are_text() {
    let app = App::fresh(&[]);
    let hostile = HOSTILE.replace('\0', "");
    let session =
        app.session(json!({"title": hostile, "external_id": hostile, "model": hostile, "settings": by_hand()})).await;
    let long = format!("{hostile}{}", "x".repeat(5_000_000));
    app.append(
        &session,
        "openai_chat",
        json!([{"role": "user", "content": long}, {"role": "assistant", "content": "Yes."}]),
    )
    .await;
    let compacted = filled(&app, by_hand(), 30).await;
    let focus: String = hostile.chars().take(200).collect();
    let done = compact(&app, &compacted, json!({"strategy": "summarize", "focus_topic": focus})).await;
    let visitor = Visitor::of(&app.url(""));
    let query: String = form_urlencoded::byte_serialize(hostile.as_bytes()).collect();
    let pages = [
        "/ui".to_owned(),
        "/ui/sessions".to_owned(),
        format!("/ui/sessions?q={query}"),
        format!("/ui/sessions?metadata={query}%3D{query}&order=activity"),
        format!("/ui/search?q={query}"),
        "/ui/compactions".to_owned(),
        format!("/ui/compactions?session={}&since=24h&status=succeeded", id_of(&compacted)),
        "/ui/hooks".to_owned(),
        "/ui/keys".to_owned(),
    ];
    for path in &pages {
        let page = visitor.get(path).await.page();
        assert!(page.len() < 100_000, "{path}: {} bytes", page.len());
        assert!(!page.contains("<script>") && !page.contains("<img"), "{path}");
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{2066}']), "{path}");
        visitor.assert_links(&page).await;
    }
    let listed = visitor.get(&pages[2]).await.page();
    assert!(listed.contains("&lt;script&gt;canary()") && listed.contains("⟨U+202E⟩"), "it is found and shown");
    let found = visitor.get(&pages[4]).await.page();
    assert!(found.contains("&lt;script&gt;") && found.contains("<mark>") && found.contains("⟨U+202E⟩"), "{found}");
    let compactions = visitor.get(&pages[6]).await.page();
    assert!(compactions.contains(&format!("/ui/compactions/{}", done["id"].as_str().unwrap())));

    for odd in [
        "/ui?hours=2",
        "/ui?hours=%3Cscript%3E",
        "/ui/compactions?status=done",
        "/ui/compactions?since=yesterday",
        "/ui/compactions?session=5",
        "/ui/compactions?after=5",
        "/ui/hooks?after=5",
        "/ui/sessions?order=newest",
        "/ui/sessions?metadata=user",
        "/ui/sessions?order=size&after=00000000-0000-7000-8000-000000000000",
    ] {
        let refused = visitor.get(odd).await;
        assert_eq!(refused.status, 422, "{odd}");
        refused.assert_guarded();
    }
    for nothing in [format!("/ui/{query}"), "/ui/sessions/x".to_owned(), "/ui/assets/none.js".to_owned()] {
        assert_eq!(visitor.get(&nothing).await.status, 404, "{nothing}");
    }
    let nobody = "/ui/compactions?session=00000000-0000-7000-8000-000000000000";
    assert_eq!(visitor.get(nobody).await.status, 404);
}

#[tokio::test]
async fn titles_of_any_length_are_cut() {
    let database = pg::url().await;
    let pool = PgPool::connect(&database).await.unwrap();
    let services = Services::new(pool.clone(), Options::default());
    let key = services.keys.create("own", "k").await.unwrap();
    let server = Keyed::start(&database, &[], &[]);
    let visitor = Visitor::with_key(&server.base, &key).await;
    let made = reqwest::Client::builder().no_proxy().build().unwrap().post(format!("{}/v1/sessions", server.base));
    let made = made.bearer_auth(&key).header("content-type", "application/json").body("{}");
    assert_eq!(made.send().await.unwrap().status(), 201);
    sqlx::query("UPDATE sessions SET title = repeat('<b>long</b>', 1000)").execute(&pool).await.unwrap();
    let page = visitor.get("/ui/sessions").await.page();
    assert!(page.len() < 20_000 && page.contains("&lt;b&gt;long") && page.contains('…'), "{} bytes", page.len());
}

#[tokio::test]
async fn what_pages_load_never_changes_under_its_name() {
    let visitor = Visitor::of(&App::shared().url(""));
    let page = visitor.get("/ui").await.page();
    let assets: HashSet<&str> = page.split('"').filter(|part| part.starts_with("/ui/assets/")).collect();
    assert_eq!(assets.len(), 7);
    for asset in assets {
        let seen = visitor.get(asset).await;
        assert_eq!(seen.status, 200, "{asset}");
        assert!(seen.header("cache-control").contains("immutable"), "{asset}");
        assert_eq!(seen.header("x-content-type-options"), "nosniff");
    }
}
