//! How many rows a list reads: no more than a page looks at, however many sessions there are.

use std::time::Instant;

use contextd::domain::model::metadata::MetadataValue;
use contextd::service::core::page::PageRequest;
use contextd::service::core::queries::Queries;
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::sessions::find::{STRETCH, SessionOrder};
use contextd::service::sessions::lines::SessionSearch;
use contextd::service::sessions::list::SessionFilter;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use uuid::Uuid;

use super::many;
use crate::app::App;

/// Half of the sessions have one name, one in 5,000 has its guard tripped.
const NAMED: &str =
    "UPDATE sessions SET external_id = 'popular' WHERE ('x' || right(id::text, 8))::bit(32)::int % 2 = 0;
    UPDATE sessions SET guard_tripped = true WHERE ('x' || right(id::text, 8))::bit(32)::int % 5000 = 0";

enum List {
    Api(SessionFilter),
    Page(SessionSearch),
}

fn lists() -> Vec<(&'static str, List)> {
    let plain = SessionFilter::default;
    let value = |value: &str| vec![MetadataValue { key: "mod".to_owned(), value: value.to_owned() }];
    let named = |name: &str| SessionFilter { external_id: Some(name.to_owned()), ..plain() };
    let text = |text: &str| SessionSearch { text: Some(text.to_owned()), ..SessionSearch::default() };
    vec![
        ("plain", List::Api(plain())),
        ("by activity", List::Api(SessionFilter { order: SessionOrder::Activity, ..plain() })),
        ("by size", List::Api(SessionFilter { order: SessionOrder::Size, ..plain() })),
        ("metadata that many have", List::Api(SessionFilter { metadata: value("3"), ..plain() })),
        ("metadata that nobody has", List::Api(SessionFilter { metadata: value("none"), ..plain() })),
        ("guard tripped", List::Api(SessionFilter { guard_tripped: true, ..plain() })),
        ("an external id", List::Api(named("ticket-777"))),
        ("an external id that half have", List::Api(named("popular"))),
        (
            "an external id that half have, by activity",
            List::Api(SessionFilter { order: SessionOrder::Activity, ..named("popular") }),
        ),
        (
            "an external id that half have, in a state that none has",
            List::Api(SessionFilter { state: Some("yellow".to_owned()), ..named("popular") }),
        ),
        ("a state", List::Api(SessionFilter { state: Some("red".to_owned()), ..plain() })),
        ("a text that only old ones have", List::Page(text("ticket-77"))),
        ("a text that nobody has", List::Page(text("nothing like it"))),
    ]
}

/// Rows of sessions that were read so far.
async fn rows_read(pool: &PgPool) -> i64 {
    pool.execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    let sum = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'sessions'";
    sqlx::query_scalar(sum).fetch_one(pool).await.unwrap()
}

async fn read(queries: &Queries, tenant: Tenant, list: List) -> usize {
    let page = PageRequest { limit: 50, after: None };
    match list {
        List::Api(filter) => queries.sessions(tenant, filter, page).await.unwrap().items.len(),
        List::Page(search) => queries.session_lines(tenant, search, page).await.unwrap().items.len(),
    }
}

async fn measure(count: i64) {
    let url = crate::pg::url().await;
    let app = App::fresh(&[("DATABASE_URL", url.as_str())]);
    // One connection, which says what it has read.
    let pool = PgPoolOptions::new().max_connections(1).connect(&url).await.unwrap();
    many(&app, &pool, count).await;
    assert!(app.stop().await.success(), "else its census reads them too");
    pool.execute(sqlx::raw_sql(NAMED)).await.unwrap();
    pool.execute("VACUUM ANALYZE sessions").await.unwrap();
    let tenant: Uuid = sqlx::query_scalar("SELECT tenant_id FROM sessions LIMIT 1").fetch_one(&pool).await.unwrap();
    let queries = Service::new(pool.clone(), Options::default()).queries();
    for (name, list) in lists() {
        let before = rows_read(&pool).await;
        let began = Instant::now();
        let found = read(&queries, Tenant(tenant), list).await;
        let took = began.elapsed();
        let rows = rows_read(&pool).await - before;
        eprintln!("{name}: {found} found, {rows} rows read, {took:?}");
        // The first step is a short one, the last may go a step beyond; those that are shown are read once more.
        assert!(rows <= STRETCH + 11_000 && rows < count, "{name}: {rows} rows of {count}");
    }
}

#[tokio::test]
async fn a_list_reads_no_more_sessions_than_a_page_looks_at() {
    measure(150_000).await;
}

#[tokio::test]
#[ignore = "a measurement of a minute, with 1 GB on disk: run it by name, with --nocapture"]
async fn lists_of_a_million_sessions() {
    measure(1_000_000).await;
}
