//! Lists of compactions: a session's and the tenant's, by what they are.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::{all, asking, by_hand, compact, filled, id_of, upstream};
use crate::service_support::Stage;
use crate::ui::Visitor;
use contextd::service::compaction::{CompactRequest, CompactionFilter};
use contextd::service::core::page::PageRequest;
use contextd::service::core::tenant::Tenant;

fn ids(list: &[Value]) -> Vec<&str> {
    list.iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_tenants_compactions_are_listed_newest_first_and_by_what_they_are() {
    let app = App::fresh(&[]);
    let (one, other) = (filled(&app, by_hand(), 30).await, filled(&app, by_hand(), 30).await);
    let first = compact(&app, &one, json!({"strategy": "summarize"})).await;
    let second = compact(&app, &other, json!({"strategy": "truncate"})).await;
    let third = compact(&app, &one, json!({"strategy": "summarize"})).await;
    let (first, second, third) = (&first["id"], &second["id"], &third["id"]);
    let listed = async |query: String| all(&app, &format!("/v1/compactions{query}")).await;
    let everything = listed(String::new()).await;
    assert_eq!(ids(&everything), [third, second, first].map(|id| id.as_str().unwrap()));
    let read = app.get(&format!("/v1/compactions/{}", second.as_str().unwrap())).await.expect(200);
    assert_eq!(everything[1], read, "the same as it is read alone");
    for (query, wanted) in [
        ("?strategy=truncate".to_owned(), vec![second]),
        ("?strategy=summarize".to_owned(), vec![third, first]),
        ("?trigger=manual&status=succeeded&strategy=truncate".to_owned(), vec![second]),
        ("?trigger=auto".to_owned(), vec![]),
        ("?skip_reason=low_savings".to_owned(), vec![]),
        ("?upstream=default".to_owned(), vec![]),
        ("?status=failed".to_owned(), vec![]),
        (format!("?session_id={}", id_of(&one)), vec![third, first]),
        (format!("?session_id={}&strategy=truncate", id_of(&one)), vec![]),
        (format!("?since={}", read["created_at"].as_str().unwrap().replace('+', "%2B")), vec![third, second]),
        ("?since=2999-01-01T00:00:00Z".to_owned(), vec![]),
        ("?since=0001-01-01T00:00:00Z".to_owned(), vec![third, second, first]),
    ] {
        let wanted: Vec<&str> = wanted.into_iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(ids(&listed(query.clone()).await), wanted, "{query}");
    }
    let page = app.get("/v1/compactions?limit=2").await.expect(200);
    let next = page["next_cursor"].as_str().unwrap();
    let rest = app.get(&format!("/v1/compactions?limit=2&after={next}")).await.expect(200);
    assert_eq!(
        (ids(rest["items"].as_array().unwrap()), &rest["next_cursor"]),
        (vec![first.as_str().unwrap()], &Value::Null)
    );
    let own = all(&app, &format!("{other}/compactions?strategy=truncate")).await;
    assert_eq!(ids(&own), [second.as_str().unwrap()]);
    assert_eq!(all(&app, &format!("{other}/compactions?strategy=mask")).await, Vec::<Value>::new());

    for (query, pointer) in [
        ("status=done", "/query/status"),
        ("trigger=Manual", "/query/trigger"),
        ("strategy=", "/query/strategy"),
        ("since=yesterday", "/query/since"),
        ("session_id=5", "/query/session_id"),
        ("reason=x", "/query/reason"),
        ("skip_reason=bored", "/query/skip_reason"),
        ("upstream=", "/query/upstream"),
        ("upstream=%00", "/query/upstream"),
    ] {
        let refused = app.get(&format!("/v1/compactions?{query}")).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{query}");
    }
    let nobody = "/v1/compactions?session_id=00000000-0000-7000-8000-000000000000";
    app.get(nobody).await.assert_problem(404, "not_found");
    let twice = app.get(&format!("{one}/compactions?session_id={}", id_of(&one))).await;
    twice.assert_problem(422, "validation_failed");

    app.delete(&one).await.expect(204);
    assert_eq!(ids(&listed(String::new()).await), [second.as_str().unwrap()], "what is erased is in no list");
}

#[tokio::test]
async fn a_tenant_sees_its_own_alone() {
    let stage = Stage::set(json!({})).await;
    stage.talk(20).await;
    stage.compact(CompactRequest { force: true, ..CompactRequest::default() }).await;
    let list = async |tenant: Tenant, filter: CompactionFilter| {
        let page = PageRequest { limit: 50, after: None };
        stage.service.compactions_like(tenant, filter, page).await
    };
    let of_session = CompactionFilter { session_id: Some(stage.session), ..CompactionFilter::default() };
    assert_eq!(list(stage.tenant, of_session.clone()).await.unwrap().items.len(), 1);
    let stranger = Tenant(uuid::Uuid::now_v7());
    assert_eq!(list(stranger, CompactionFilter::default()).await.unwrap().items.len(), 0);
    assert!(list(stranger, of_session).await.is_err());
}

#[tokio::test]
async fn a_compaction_whose_id_is_a_little_older_than_its_time_is_listed_since_that_time() {
    let stage = Stage::set(json!({})).await;
    stage.talk(20).await;
    stage.compact(CompactRequest { force: true, ..CompactRequest::default() }).await;
    let late = "UPDATE compactions SET created_at = created_at + interval '50 ms' RETURNING created_at";
    let created: chrono::DateTime<chrono::Utc> = sqlx::query_scalar(late).fetch_one(&stage.pool).await.unwrap();
    let since = async |time| {
        let filter = CompactionFilter { since: Some(time), ..CompactionFilter::default() };
        let page = PageRequest { limit: 50, after: None };
        stage.service.compactions_like(stage.tenant, filter, page).await.unwrap().items.len()
    };
    assert_eq!(since(created).await, 1);
    assert_eq!(since(created + chrono::TimeDelta::microseconds(1)).await, 0, "and no longer after it");
}

#[tokio::test]
async fn compactions_are_listed_by_who_was_asked_and_by_why_they_were_skipped() {
    let app = App::fresh(&upstream("http://127.0.0.1:9/v1", "1000"));
    let stood_in = filled(&app, asking("default", "fallback"), 30).await;
    let stood_in = compact(&app, &stood_in, json!({"strategy": "llm_summarize"})).await;
    let by_rules = filled(&app, by_hand(), 30).await;
    compact(&app, &by_rules, json!({"strategy": "summarize"})).await;
    let skipped = compact(&app, &by_rules, json!({"strategy": "summarize"})).await;
    assert_eq!(skipped["result"]["skip_reason"], "already_compacted", "{skipped}");
    let listed = async |query: &str| {
        let list = all(&app, &format!("/v1/compactions?{query}")).await;
        list.into_iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed("upstream=default").await, [stood_in["id"].clone()], "asked in vain");
    assert_eq!(listed("upstream=default&skip_reason=already_compacted").await, Vec::<Value>::new());
    assert_eq!(listed("skip_reason=already_compacted&status=skipped").await, [skipped["id"].clone()]);
    assert_eq!(listed("upstream=%25").await, Vec::<Value>::new(), "no wildcard");
    let own = all(&app, &format!("{by_rules}/compactions?skip_reason=already_compacted")).await;
    assert_eq!(ids(&own), [skipped["id"].as_str().unwrap()]);

    // The overview's figures lead there.
    let visitor = Visitor::of(&app.url(""));
    let overview = visitor.get("/ui").await.page();
    let link = |part: &str| {
        let links = overview.split(" href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        links.filter(|link| link.contains(part)).map(|link| link.replace("&amp;", "&")).next().expect(part)
    };
    for (part, wanted) in [("upstream=default", &stood_in), ("skip_reason=already_compacted", &skipped)] {
        let page = visitor.get(&link(part)).await.page();
        assert_eq!(page.matches("scope=\"row\"").count(), 1, "{part}");
        assert!(page.contains(&format!("/ui/compactions/{}", wanted["id"].as_str().unwrap())), "{part}");
    }
    let odd = visitor.get("/ui/compactions?skip_reason=bored").await;
    assert_eq!(odd.status, 422);
    let evil = visitor.get("/ui/compactions?upstream=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE").await.page();
    assert!(!evil.contains("<script>alert") && !evil.contains('\u{202e}'));
}
