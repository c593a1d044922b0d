//! Lists of sessions: by metadata, in three orders, page by page, among many; and the session of an external id.

mod reads;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::App;
use crate::drill_support::{all, id_of};

fn ids(list: &[Value]) -> Vec<&str> {
    list.iter().map(|one| one["id"].as_str().unwrap()).collect()
}

/// An instance on a database that the test can write to.
pub async fn place() -> (App, PgPool) {
    let url = crate::pg::url().await;
    let app = App::fresh(&[("DATABASE_URL", url.as_str())]);
    (app, PgPool::connect(&url).await.unwrap())
}

/// The id of the session that [`many`] makes as the `n`th.
pub fn nth(n: u32) -> String {
    format!("00000000-0000-7000-8000-{n:012x}")
}

/// Makes sessions 1 to `count`, all older than any other: `n` in the metadata, sizes and times of change in an order of
/// their own, every 1,000th red.
pub async fn many(app: &App, pool: &PgPool, count: i64) {
    let pattern = app.session(json!({"title": "the pattern"})).await;
    sqlx::query(
        r#"INSERT INTO sessions (tenant_id, id, external_id, metadata, settings, version, next_seq, next_branch, entry_count,
            leaf_branch, leaf_depth, state, fill_state, tokens, created_at, updated_at)
         SELECT tenant_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'ticket-' || n,
            '{"n": ' || n || ', "mod": "' || n % 7 || '", "odd": "\u0000", "big": 1e999}', settings, 0, 0, 1, 0, 0, -1,
            state, CASE WHEN n % 1000 = 0 THEN 'red' ELSE 'green' END, n * 7919 % 100003,
            now(), timestamptz '2026-01-01' + n * 104729 % 1000003 * interval '1 second'
         FROM sessions, generate_series(1, $1) n"#,
    )
    .bind(count)
    .execute(pool)
    .await
    .unwrap();
    app.delete(&pattern).await.expect(204);
}

#[tokio::test]
async fn sessions_are_listed_by_their_metadata() {
    let app = App::fresh(&[]);
    let made = async |metadata: &str| {
        let body = format!(r#"{{"metadata": {metadata}}}"#);
        let made = app.send(reqwest::Method::POST, "/v1/sessions", &[], body).await.expect(201);
        made["id"].as_str().unwrap().to_owned()
    };
    let zoe =
        made(r#"{"user": "zoë", "n": 1.0, "on": true, "none": null, "a.b": "c", "": "empty", "deep": {"user": 1}}"#)
            .await;
    let max = made(r#"{"user": "max", "n": "1.0", "on": "true"}"#).await;
    let odd = made(r#"{"us\u0065r": "m\u0061x", "nul": "a\u0000b", "huge": 1e999, "path": "a\/b"}"#).await;
    let listed = async |query: &str| ids(&all(&app, &format!("/v1/sessions?{query}")).await).join(" ");
    for (query, wanted) in [
        ("metadata.user=zo%C3%AB", vec![&zoe]),
        ("metadata.user=max", vec![&odd, &max]),
        ("metadata.user=max&metadata.on=true", vec![&max]),
        ("metadata[user]=max&metadata%5Bon%5D=true", vec![&max]),
        ("metadata.n=1.0", vec![&max, &zoe]),
        ("metadata.n=1", vec![]),
        ("metadata.on=true", vec![&max, &zoe]),
        ("metadata.none=null", vec![&zoe]),
        ("metadata.a.b=c", vec![&zoe]),
        ("metadata.=empty", vec![&zoe]),
        ("metadata.deep=%7B%22user%22:%201%7D", vec![]),
        ("metadata.huge=1e999", vec![&odd]),
        ("metadata.path=a/b", vec![&odd]),
        ("metadata.user=", vec![]),
        ("metadata.user=max&metadata.user=zo%C3%AB", vec![]),
        ("metadata.user=max&state=red", vec![]),
        ("metadata.user=max&order=activity&state=green", vec![&odd, &max]),
    ] {
        let wanted: Vec<&str> = wanted.into_iter().map(String::as_str).collect();
        assert_eq!(listed(query).await, wanted.join(" "), "{query}");
    }
    let (long, many) = ("x".repeat(1_001), (0..17).map(|n| format!("metadata.k{n}=v")).collect::<Vec<_>>().join("&"));
    for (query, pointer) in [
        (format!("metadata.user={long}"), "/query/metadata.user"),
        (format!("metadata.{}=v", &long[..513]), &*format!("/query/metadata.{}", &long[..64])),
        ("metadata.user=%00".to_owned(), "/query/metadata.user"),
        (many, "/query/metadata"),
        ("metadata=x".to_owned(), "/query/metadata"),
        ("metadata[user=x".to_owned(), "/query/metadata"),
        ("order=newest".to_owned(), "/query/order"),
        ("after=x".to_owned(), "/query/after"),
        (format!("order=size&after={zoe}"), "/query/after"),
        (format!("order=size&after=activity.{zoe}"), "/query/after"),
        (format!("after=created.{zoe}.{zoe}.5.{zoe}"), "/query/after"),
    ] {
        let refused = app.get(&format!("/v1/sessions?{query}")).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{query}");
    }
    let after = app.get(&format!("/v1/sessions?after={max}")).await.expect(200);
    assert_eq!(ids(after["items"].as_array().unwrap()), [zoe.as_str()], "a session's id is a cursor too");
}

/// Every page of a list; no page has more than its limit.
async fn pages(app: &App, query: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = app.get(&format!("/v1/sessions?{query}&limit={limit}{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap().clone();
        assert!(items.len() <= limit);
        pages.push(items);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn ten_thousand_sessions_in_any_order() {
    let (app, pool) = place().await;
    many(&app, &pool, 10_000).await;
    type Key = fn(&Value) -> (i64, String);
    let tokens: Key = |one| (one["snapshot"]["tokens"].as_i64().unwrap_or(0), String::new());
    let changed: Key = |one| (0, one["updated_at"].as_str().unwrap().to_owned());
    let age: Key = |one| (0, one["id"].as_str().unwrap().to_owned());
    for (order, key) in [("size", tokens), ("activity", changed), ("created", age)] {
        let listed = pages(&app, &format!("order={order}"), 200).await.concat();
        assert_eq!(listed.len(), 10_000, "{order}");
        let mut sizes: BTreeMap<&str, i64> = BTreeMap::new();
        ids(&listed).into_iter().for_each(|id| *sizes.entry(id).or_default() += 1);
        assert_eq!(sizes.len(), 10_000, "{order}: each once");
        if order == "size" {
            let rows: Vec<String> = sqlx::query_scalar("SELECT id::text FROM sessions ORDER BY tokens DESC, id DESC")
                .fetch_all(&pool)
                .await
                .unwrap();
            assert_eq!(ids(&listed), rows, "{order}");
        } else {
            assert!(listed.is_sorted_by_key(|one| std::cmp::Reverse(key(one))), "{order}");
        }
    }
    let found = async |query: &str| ids(&all(&app, &format!("/v1/sessions?{query}")).await).join(" ");
    assert_eq!(found("metadata.n=7700").await, nth(7700));
    assert_eq!(found("metadata.n=7700&state=red").await, "");
    assert_eq!(found("metadata.n=7000&state=red&external_id=ticket-7000").await, nth(7000));
    assert_eq!(found("metadata.mod=3&state=red").await, nth(4000));
    assert_eq!(found("state=red").await.split(' ').count(), 10);
    let sevenths = pages(&app, "metadata.mod=0&order=size", 50).await.concat();
    assert_eq!(sevenths.len(), 10_000 / 7);
    assert!(sevenths.is_sorted_by_key(|one| std::cmp::Reverse(tokens(one).0)));
}

#[tokio::test]
async fn beyond_what_one_page_looks_at_lists_go_on() {
    let (app, pool) = place().await;
    many(&app, &pool, 120_000).await;
    let rare = pages(&app, "metadata.n=5", 50).await;
    assert!(rare.len() > 1 && rare[0].is_empty(), "one page does not look at all of them");
    assert_eq!(ids(&rare.concat()), [nth(5)]);
    let red = pages(&app, "state=red&external_id=ticket-1000", 50).await;
    assert_eq!((red.len(), ids(&red.concat())), (1, vec![nth(1000).as_str()]));
    assert_eq!(pages(&app, "state=red", 50).await.concat().len(), 120);

    // Stretches of 50,000, each sorted; also where sessions go while the list is read.
    let first = app.get("/v1/sessions?order=size&state=red&limit=30").await.expect(200);
    let (shown, cursor) = (first["items"].as_array().unwrap(), first["next_cursor"].as_str().unwrap());
    for gone in &shown[..10] {
        app.delete(&format!("/v1/sessions/{}", gone["id"].as_str().unwrap())).await.expect(204);
    }
    let mut all = shown.clone();
    let mut after = cursor.to_owned();
    loop {
        let page = app.get(&format!("/v1/sessions?order=size&state=red&limit=30&after={after}")).await.expect(200);
        all.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    let number = |one: &Value| i64::from_str_radix(&one["id"].as_str().unwrap()[24..], 16).unwrap();
    let wanted: Vec<i64> = [70_001..=120_000, 20_001..=70_000, 1..=20_000]
        .into_iter()
        .flat_map(|stretch| {
            let mut red: Vec<i64> = stretch.filter(|n| n % 1000 == 0).collect();
            red.sort_by_key(|n| std::cmp::Reverse((n * 7919 % 100_003, *n)));
            red
        })
        .collect();
    assert_eq!(all.iter().map(number).collect::<Vec<_>>(), wanted);
}

#[tokio::test]
async fn what_is_erased_but_shared_hides_nothing_behind_it() {
    let (app, pool) = place().await;
    many(&app, &pool, 30_000).await;
    // Erased parents of forks stay as hidden rows.
    sqlx::query("UPDATE sessions SET deleted_at = now() WHERE id > $1::uuid")
        .bind(nth(3))
        .execute(&pool)
        .await
        .unwrap();
    let left = [nth(3), nth(2), nth(1)];
    for query in ["order=created", "order=activity", "state=green", "metadata.big=1e999"] {
        let mut found: Vec<String> =
            ids(&all(&app, &format!("/v1/sessions?{query}")).await).iter().map(|id| (*id).to_owned()).collect();
        found.sort();
        found.reverse();
        assert_eq!(found, left, "{query}");
    }
}

#[tokio::test]
async fn a_page_ends_before_it_is_too_large_in_any_order() {
    let app = App::fresh(&[]);
    for n in 0..12 {
        app.session(json!({"title": format!("{n}"), "system": "s".repeat(900_000), "metadata": {"a": "b"}})).await;
    }
    for query in ["order=created", "order=size", "metadata.a=b&order=activity"] {
        let pages = pages(&app, query, 50).await;
        assert!(pages.len() > 2 && pages.iter().all(|page| page.len() <= 4), "{query}");
        let mut titles: Vec<String> =
            pages.concat().iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), 12, "{query}");
    }
    // Metadata that are larger than what one page reads.
    for n in 0..12 {
        app.session(json!({"metadata": {"a": "c", "n": n, "large": "x".repeat(900_000)}})).await;
    }
    assert_eq!(all(&app, "/v1/sessions?metadata.a=c").await.len(), 12);
    assert_eq!(all(&app, "/v1/sessions?metadata.n=0&order=activity").await.len(), 1);
}

#[tokio::test]
async fn a_session_is_read_by_its_external_id() {
    let app = App::fresh(&[]);
    let escaped = |id: &str| form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>().replace('+', "%20");
    for id in ["ticket 5", "a/b/c", "%2F", "é{}", "fork", "a//b", "?x#y", &"x".repeat(512), "ticket/", "/"] {
        let made = app.session(json!({"external_id": id})).await;
        let found = app.get(&format!("/v1/sessions/by-external-id/{}", escaped(id))).await.expect(200);
        assert_eq!((found["id"].as_str(), found["external_id"].as_str()), (Some(id_of(&made)), Some(id)));
        assert_eq!(found, app.get(&made).await.expect(200), "as it is read by its id");
    }
    let slashes = app.get("/v1/sessions/by-external-id/a/b/c").await.expect(200);
    assert_eq!(slashes["external_id"], "a/b/c");
    let younger = app.session(json!({"external_id": "a/b/c"})).await;
    let found = app.get("/v1/sessions/by-external-id/a/b/c").await.expect(200);
    assert_eq!(found["id"], id_of(&younger), "of several the newest, as a list has it first");
    app.delete(&younger).await.expect(204);
    let found = app.get("/v1/sessions/by-external-id/a/b/c").await.expect(200);
    assert_eq!(found["id"], slashes["id"]);
    app.delete(&format!("/v1/sessions/{}", slashes["id"].as_str().unwrap())).await.expect(204);
    for nobody in ["a/b/c", &"x".repeat(10_000), "%00", "%FF", id_of(&younger), "A/B/C"] {
        app.get(&format!("/v1/sessions/by-external-id/{nobody}")).await.assert_problem(404, "not_found");
    }
    assert_eq!(app.get("/v1/sessions/by-external-id/").await.status, 404);
    let created = app.post("/v1/sessions/by-external-id/x", json!({})).await;
    assert_eq!(created.status, 405);
}
