//! The pages of a session and of a compaction, as a browser without a script sees them.

use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::{App, Keyed};
use crate::drill_support::{all, asking, by_hand, compact, ended, filled, id_of, turns, upstream};
use crate::patience::eventually;
use crate::pg;
use crate::ui::{Seen, Visitor};
use contextd::service::Services;
use contextd::service::core::state::Options;
use sqlx::PgPool;

/// Parts of a session's page that have a page of their own.
const PARTS: [&str; 11] =
    ["now", "timeline", "composition", "view", "tree", "entries", "chapters", "tasks", "calls", "files", "compactions"];
/// No page is larger, whatever the session holds.
const MOST_BYTES: usize = 400_000;

fn home(session: &str) -> String {
    format!("/ui/sessions/{}", id_of(session))
}

/// Sends a form of a page with these fields besides its token.
async fn submit(app: &App, visitor: &Visitor, page: &str, action: &str, fields: &[(&str, &str)]) -> Seen {
    let path = home(page);
    let text = visitor.get(&path).await.page();
    let token = text.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut form = vec![("csrf", token)];
    form.extend(fields);
    let base = app.url("");
    visitor.send(Method::POST, action, &[("origin", &base)], &form).await
}

async fn fragment(visitor: &Visitor, path: &str) -> String {
    let seen = visitor.send(Method::GET, path, &[("hx-request", "true")], &[]).await;
    assert_eq!(seen.status, 200, "{path}: {}", seen.text);
    assert!(!seen.text.contains("<h1") && !seen.text.contains("<html"), "{path}");
    seen.text
}

/// Follows where an action leads to, and reads the page.
async fn arrives(visitor: &Visitor, seen: Seen) -> String {
    let path = seen.leads_to().to_owned();
    visitor.get(&path).await.page()
}

#[tokio::test]
async fn every_part_of_a_session_with_a_compaction_is_a_page_and_a_fragment() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 30).await;
    let compaction = compact(&app, &session, json!({"strategy": "summarize"})).await;
    app.append(&session, "openai_chat", json!(turns(30..34, 60))).await;
    let visitor = Visitor::of(&app.url(""));
    let page = visitor.get(&home(&session)).await.page();
    assert!(page.contains(id_of(&session)) && page.contains("compaction"), "{page}");
    visitor.assert_links(&page).await;
    for part in PARTS {
        let path = format!("{}/{part}", home(&session));
        let alone = visitor.get(&path).await.page();
        assert!(alone.len() < MOST_BYTES, "{part}: {}", alone.len());
        assert!(visitor.assert_links(&alone).await > 3, "{part}");
        fragment(&visitor, &path).await;
    }
    let part = async |name: &str| fragment(&visitor, &format!("{}/{name}", home(&session))).await;
    assert!(part("timeline").await.contains("data-sawtooth=\"{&quot;at&quot;"), "the chart's data");
    assert!(part("composition").await.contains("Tool results"));
    assert!(part("view").await.contains("summary"));
    assert!(part("tree").await.contains("node compaction"));
    assert!(part("files").await.contains("src/module_1.rs"));
    assert!(part("calls").await.contains("src/module_"));
    assert!(part("search?q=ABC-3").await.contains("<mark>"), "found");
    assert!(part("search?q=%22").await.contains("class=\"problem\""), "no words to look for");
    assert!(part("view?after=-1").await.contains("Messages 1–"));
    assert!(part("view?after=100000").await.contains("of "));

    let path = format!("/ui/compactions/{}", compaction["id"].as_str().unwrap());
    let page = visitor.get(&path).await.page();
    visitor.assert_links(&page).await;
    for told in ["The summary, as the model sees it", "the built-in summariser", "Queued", "Committed", "Revert"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let mut next = Some(format!("{path}/diff"));
    let (mut rows, mut openings) = (0, 0);
    while let Some(at) = next {
        let part = visitor.get(&at).await.page();
        openings += part.matches("<span class=\"opening\"").count();
        rows += part.matches("<td class=\"what\">").count();
        let later = part.split("<a href=\"").find(|link| link.contains(">Later »"));
        next = later.map(|link| link.split('"').next().unwrap().to_owned());
    }
    assert!(rows >= 120, "every message of before is told: {rows}");
    assert_eq!(openings, rows, "each with its first words");
}

#[tokio::test]
async fn whatever_a_transcript_holds_is_shown_and_does_nothing() {
    let app = App::fresh(&[]);
    let evil = "<script>window.canary = 1</script><img src=x onerror=\"canary()\">\u{1b}[31mred\u{202e}txt.exe\u{7}'\"--></style>";
    let title: String = "<b>\u{202e}title</b>".chars().cycle().take(900).collect();
    let session = app.session(json!({"title": title, "external_id": evil, "model": evil, "settings": by_hand()})).await;
    let call = json!({"id": evil, "type": "function", "function": {"name": "read", "arguments": json!({"path": evil}).to_string()}});
    let items = json!([
        {"role": "user", "content": evil},
        {"role": "assistant", "content": evil, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": evil, "content": "x".repeat(5_000_000)},
        {"role": "assistant", "content": evil.repeat(200)},
    ]);
    app.append(&session, "openai_chat", items).await;
    app.append(&session, "openai_chat", json!(turns(0..12, 150))).await;
    let leaf = app.get(&session).await.expect(200)["leaf_id"].as_str().unwrap().to_owned();
    let label = app.put(&format!("{session}/entries/{leaf}/label"), json!({"label": evil})).await;
    label.expect(200);
    let compaction = compact(&app, &session, json!({"strategy": "summarize", "focus_topic": evil})).await;
    let visitor = Visitor::of(&app.url(""));
    let mut paths: Vec<String> = PARTS.iter().map(|part| format!("{}/{part}", home(&session))).collect();
    paths.push(home(&session));
    paths.push(format!("{}/settings", home(&session)));
    paths.push(format!("{}/search?q=%3Cscript%3E+canary", home(&session)));
    paths.push(format!("/ui/compactions/{}", compaction["id"].as_str().unwrap()));
    paths.push(format!("/ui/compactions/{}/diff", compaction["id"].as_str().unwrap()));
    let entries = all(&app, &format!("{session}/entries")).await;
    for entry in &entries[..5] {
        paths.push(format!("{}/entries/{}", home(&session), entry["id"].as_str().unwrap()));
    }
    let mut told = 0;
    for path in &paths {
        let page = visitor.get(path).await.page();
        assert!(page.len() < MOST_BYTES, "{path}: {} bytes", page.len());
        for bad in ["<script>window", "<img", "\u{1b}", "\u{202e}", "\u{7}", "</style>"] {
            assert!(!page.contains(bad), "{path}: {bad:?}");
        }
        told += usize::from(page.contains("&lt;script&gt;"));
    }
    assert!(told >= 6, "it is told on {told} pages");

    // The large line, part by part.
    let large = entries[2]["id"].as_str().unwrap();
    let page = visitor.get(&format!("{}/entries/{large}", home(&session))).await.page();
    assert!(page.contains("4,980,000 more characters"), "{page:.600}");
    let page = visitor.get(&format!("{}/entries/{large}?piece=0&from=4999990", home(&session))).await.page();
    assert!(page.contains("From character 4,999,991") && page.contains(">xxxxxxxxxx<"));
    visitor.get(&format!("{}/entries/{large}?piece=9&from=99999999999", home(&session))).await.page();
    assert_eq!(visitor.get(&format!("{}/entries/{large}?piece=-1", home(&session))).await.status, 422);
}

#[tokio::test]
async fn each_action_is_a_form_that_says_what_it_did() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 30).await;
    let visitor = Visitor::of(&app.url(""));
    let path = home(&session);
    let leaf = app.get(&session).await.expect(200)["leaf_id"].as_str().unwrap().to_owned();

    let forecast = submit(&app, &visitor, &session, &format!("{path}/prepare"), &[("strategy", "summarize")]).await;
    assert!(forecast.page().contains("foreseen, not done"));
    let asked = [("strategy", "summarize"), ("focus", "tickets"), ("instructions", "")];
    let seen = submit(&app, &visitor, &session, &format!("{path}/compact"), &asked).await;
    assert!(arrives(&visitor, seen).await.contains("A compaction is queued"));
    let listed = app.get(&format!("{session}/compactions")).await.expect(200);
    let compaction = ended(&app, &listed["items"][0]["id"]).await;
    assert_eq!(compaction["status"], "succeeded");
    let own = format!("/ui/compactions/{}", compaction["id"].as_str().unwrap());

    let seen = submit(&app, &visitor, &session, &format!("{own}/cancel"), &[]).await;
    assert!(arrives(&visitor, seen).await.contains("had ended already"));
    let seen = submit(&app, &visitor, &session, &format!("{own}/revert"), &[]).await;
    assert!(arrives(&visitor, seen).await.contains("taken back"));
    let again = submit(&app, &visitor, &session, &format!("{own}/revert"), &[]).await;
    assert_eq!(again.status, 409);
    assert!(again.text.contains("(already_reverted)"), "{}", again.text);

    let seen = submit(&app, &visitor, &session, &format!("{path}/guard"), &[]).await;
    assert!(arrives(&visitor, seen).await.contains("The guard is reset"));
    let label = format!("{path}/entries/{leaf}/label");
    let seen = submit(&app, &visitor, &session, &label, &[("label", "here <b>it</b> broke")]).await;
    assert!(arrives(&visitor, seen).await.contains("here &lt;b&gt;it&lt;/b&gt; broke"));
    let seen = submit(&app, &visitor, &session, &label, &[("label", " ")]).await;
    assert!(arrives(&visitor, seen).await.contains("The label is cleared"));
    let seen = submit(&app, &visitor, &session, &label, &[("label", &"x".repeat(1_001))]).await;
    assert_eq!(seen.status, 422);
    let seen = submit(&app, &visitor, &session, &format!("{path}/entries/{leaf}/fork"), &[]).await;
    let fork = arrives(&visitor, seen).await;
    assert!(fork.contains("This is the new session") && fork.contains(&format!("href=\"{path}\"")), "{fork}");

    for (fields, status) in [
        (&[("strategy", "best")][..], 422),
        (&[("focus", "\0")][..], 422),
        (&[("instructions", "a"), ("instructions", "b")][..], 422),
    ] {
        let seen = submit(&app, &visitor, &session, &format!("{path}/compact"), fields).await;
        assert_eq!(seen.status, status, "{fields:?}");
    }
}

#[tokio::test]
async fn no_action_is_done_without_the_forms_token() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 10).await;
    let visitor = Visitor::of(&app.url(""));
    let path = home(&session);
    let leaf = app.get(&session).await.expect(200)["leaf_id"].as_str().unwrap().to_owned();
    let base = app.url("");
    for deed in [
        format!("{path}/compact"),
        format!("{path}/prepare"),
        format!("{path}/guard"),
        format!("{path}/settings"),
        format!("{path}/settings/preview"),
        format!("{path}/entries/{leaf}/label"),
        format!("{path}/entries/{leaf}/fork"),
        format!("/ui/compactions/{}/cancel", Uuid::nil()),
        format!("/ui/compactions/{}/revert", Uuid::nil()),
    ] {
        for (origin, form) in [(base.as_str(), &[][..]), (base.as_str(), &[("csrf", "wrong")][..])] {
            let seen = visitor.send(Method::POST, &deed, &[("origin", origin)], form).await;
            assert_eq!(seen.status, 403, "{deed}");
        }
        let read = visitor.get(&deed).await.status;
        assert!(read == 405 || deed.ends_with("/settings"), "{deed}: {read}");
    }
    let list = app.get(&format!("{session}/compactions")).await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn settings_are_looked_at_first_and_only_what_was_changed_is_saved() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let visitor = Visitor::of(&app.url(""));
    let path = format!("{}/settings", home(&session));
    let form = visitor.get(&path).await.page();
    assert!(form.contains("name=\"context_window\"") && form.contains("value=\"40000\""), "{form}");
    let before = app.get(&session).await.expect(200)["settings"].clone();
    let preview = format!("{path}/preview");
    let seen =
        submit(&app, &visitor, &session, &preview, &[("strategy", "truncate"), ("context_window", "40000")]).await;
    assert!(seen.page().contains("truncate"));
    assert_eq!(app.get(&session).await.expect(200)["settings"], before, "nothing is saved");

    let fields = [("strategy", "mask"), ("context_window", "40000"), ("red_at", "0.80"), ("keep_recent_tokens", "")];
    let seen = submit(&app, &visitor, &session, &path, &fields).await;
    assert!(arrives(&visitor, seen).await.contains("The settings are saved"));
    let after = app.get(&session).await.expect(200)["settings"].clone();
    assert_eq!((&after["strategy"], &after["context_window"]), (&json!("mask"), &json!(40_000)));
    assert_ne!(after["keep_recent_tokens"], before["keep_recent_tokens"], "its default");
    let seen = submit(&app, &visitor, &session, &path, &[("strategy", "mask")]).await;
    assert!(arrives(&visitor, seen).await.contains("Nothing was changed"));
    for bad in [("context_window", "many"), ("red_at", "9"), ("template", "x")] {
        let seen = submit(&app, &visitor, &session, &path, &[bad]).await;
        assert_eq!(seen.status, 422, "{bad:?}");
        assert!(seen.text.contains("validation_failed"), "{bad:?}: {}", seen.text);
    }
}

#[tokio::test]
async fn a_session_of_another_tenant_is_not_there() {
    let database = pg::url().await;
    let services = Services::new(PgPool::connect(&database).await.unwrap(), Options::default());
    let (own, other) =
        (services.keys.create("own", "k").await.unwrap(), services.keys.create("other", "k").await.unwrap());
    let server = Keyed::start(&database, &[], &[]);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let made = client.post(format!("{}/v1/sessions", server.base)).bearer_auth(&own);
    let made = made.header("content-type", "application/json").body("{}").send().await.unwrap().text().await.unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    let path = format!("/ui/sessions/{}", made["id"].as_str().unwrap());
    let (visitor, stranger) =
        (Visitor::with_key(&server.base, &own).await, Visitor::with_key(&server.base, &other).await);
    visitor.get(&path).await.page();
    for part in PARTS.iter().chain(&["settings", "search?q=a", "events"]) {
        let path = format!("{path}/{part}");
        assert_eq!(stranger.get(&path).await.status, 404, "{path}");
        assert_eq!(Visitor::of(&server.base).get(&path).await.status, 303, "{path}");
    }
    assert_eq!(stranger.get(&path).await.status, 404);
    for odd in ["/ui/sessions/1", "/ui/compactions/x", "/ui/compactions/00000000-0000-7000-8000-000000000000/diff"] {
        assert_eq!(visitor.get(odd).await.status, 404, "{odd}");
    }
    let empty = visitor.get(&format!("{path}/timeline")).await.page();
    assert!(empty.contains("Nothing was said yet"));
}

#[tokio::test]
async fn an_open_page_hears_what_happens_and_that_the_session_is_gone() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let visitor = Visitor::of(&app.url(""));
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    // As many as there may be people looking.
    let mut streams = Vec::new();
    for _ in 0..50 {
        let stream = client.get(app.url(&format!("{}/events", home(&session)))).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push(stream.bytes_stream());
    }
    compact(&app, &session, json!({"strategy": "summarize"})).await;
    for stream in &mut streams {
        let mut heard = String::new();
        while !heard.contains("data: compaction.succeeded") {
            heard.push_str(&String::from_utf8_lossy(&stream.next().await.unwrap().unwrap()));
        }
        assert!(heard.contains("event: changed") && !heard.contains("summary"), "{heard}");
    }
    app.delete(&session).await.expect(204);
    for stream in &mut streams {
        while stream.next().await.is_some() {}
    }
    eventually("the page is gone", async || (visitor.get(&home(&session)).await.status == 404).then_some(())).await;
    for part in PARTS {
        let path = format!("{}/{part}", home(&session));
        let seen = visitor.send(Method::GET, &path, &[("hx-request", "true")], &[]).await;
        assert_eq!(seen.status, 404, "{part}");
    }
}

/// Every other entry calls a tool.
fn calling(count: usize) -> Vec<Value> {
    let pair = |n: usize| {
        let path = json!({"path": format!("src/part_{}/file_{n}.rs", n % 40)}).to_string();
        let call =
            json!({"id": format!("call_{n}"), "type": "function", "function": {"name": "read", "arguments": path}});
        [
            json!({"role": "assistant", "content": format!("Step {n}"), "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("call_{n}"), "content": format!("line {n} of the file\n").repeat(12)}),
        ]
    };
    (0..count / 2).flat_map(pair).collect()
}

#[tokio::test]
async fn a_long_session_opens_as_a_short_one_does() {
    let app = App::fresh(&[]);
    for entries in [5_000, 12_000] {
        let settings = json!({"enabled": false, "context_window": 4_000_000});
        let session = app.session(json!({"settings": settings, "title": "Long"})).await;
        for chunk in calling(entries).chunks(1_000) {
            app.append(&session, "openai_chat", json!(chunk)).await;
        }
        let visitor = Visitor::of(&app.url(""));
        visitor.get(&home(&session)).await.page();
        for part in PARTS.iter().chain(&["", "search?q=step"]) {
            let path = format!("{}/{part}", home(&session));
            let path = path.trim_end_matches('/');
            let begun = std::time::Instant::now();
            let page = visitor.get(path).await.page();
            println!("{entries} {part:12} {:4} ms {:7} bytes", begun.elapsed().as_millis(), page.len());
            assert!(page.len() < MOST_BYTES, "{part}: {} bytes", page.len());
        }
    }
}

#[tokio::test]
async fn a_compaction_that_failed_says_why_and_who_was_asked() {
    let app = App::fresh(&upstream("http://127.0.0.1:9/v1", "1000"));
    let visitor = Visitor::of(&app.url(""));
    let page = async |on_failure: &str| {
        let session = filled(&app, asking("default", on_failure), 30).await;
        let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        visitor.get(&format!("/ui/compactions/{}", done["id"].as_str().unwrap())).await.page()
    };
    let failed = page("fail").await;
    assert!(failed.contains("It failed:") && failed.contains(">Retry<") && !failed.contains(">Revert<"), "{failed}");
    let stood_in = page("fallback").await;
    for told in ["In place of", "the built-in summariser", "default"] {
        assert!(stood_in.contains(told), "{told}: {stood_in}");
    }
}
