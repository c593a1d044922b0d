//! Long paths: what a read costs follows what it gives, a path that must be read whole is read in bounded statements, and
//! whoever reads one holds up nobody else.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use contextd::domain::model::call_end::CallEnd;
use contextd::domain::model::compaction::ElidedPart;
use contextd::domain::model::format::Format;
use contextd::domain::model::strategy::Strategy;
use contextd::service::compaction::prepare::PrepareRequest;
use contextd::service::compaction::{CompactRequest, Status};
use contextd::service::core::error::ServiceError;
use contextd::service::core::page::PageRequest;
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::navigation::Navigate;
use contextd::service::path::entries::EntryQuery;
use contextd::service::rebuild::Rebuild;
use contextd::service::recall::export::Export;
use contextd::service::recall::tool_calls::ToolCallRow;
use contextd::service::sessions::{NewSession, Session};
use contextd::store::entries;
use contextd::store::path::Segment;
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::app::App;
use crate::patience::{blocked, until, until_blocked};
use crate::pg;
use crate::queue_support::tenant;
use crate::service_support::{Stage, assistant, calls, chat, result, user};

/// Entries with a call in every other one.
fn traffic(range: std::ops::Range<usize>) -> Vec<Value> {
    let item = |n: usize| match n % 2 {
        0 => {
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("call_{n}"), "type": "function",
            "function": {"name": "read", "arguments": json!({"path": format!("src/{}.rs", n % 300)}).to_string()}}]})
        }
        _ => result(&format!("call_{}", n - 1), "read"),
    };
    range.map(item).collect()
}

fn unbounded() -> Value {
    json!({"enabled": false, "context_window": 20_000_000})
}

/// A session of so many entries with a call in every other one.
async fn long_session(entries: usize) -> Stage {
    let stage = Stage::set(unbounded()).await;
    for from in (0..entries).step_by(1_000) {
        stage.append(traffic(from..entries.min(from + 1_000))).await;
    }
    stage
}

/// The same through a pool of one connection, so that its own counts are all there are.
pub async fn through_one_connection(stage: Stage) -> Stage {
    let options = stage.pool.connect_options();
    stage.pool.close().await;
    let pool = PgPoolOptions::new().max_connections(1).connect_with((*options).clone()).await.unwrap();
    // A server process adds its counts as it ends, which may be after its client has gone.
    until("the other connections have ended", async || {
        let others = "SELECT count(*) FROM pg_stat_activity
                      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        sqlx::query_scalar::<_, i64>(others).fetch_one(&pool).await.unwrap() == 0
    })
    .await;
    // A table with nothing but this session is read whole sooner than one with those of others.
    sqlx::query("SET enable_seqscan = off").execute(&pool).await.unwrap();
    let service = Service::new(pool.clone(), Options::default());
    Stage { pool, service, ..stage }
}

/// Rows of `entries` that statements have fetched so far.
pub async fn fetched(pool: &PgPool) -> i64 {
    let mut connection = pool.acquire().await.unwrap();
    sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    sqlx::query("SELECT 1").execute(&mut *connection).await.unwrap();
    sqlx::query("SELECT pg_stat_clear_snapshot()").execute(&mut *connection).await.unwrap();
    let sum = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
               FROM pg_stat_user_tables WHERE relname = 'entries'";
    sqlx::query_scalar(sum).fetch_one(&mut *connection).await.unwrap()
}

/// Every row that a plan's nodes gave or threw away.
fn rows_touched(node: &Value) -> f64 {
    let figure = |name: &str| node[name].as_f64().unwrap_or(0.0);
    let own = figure("Actual Rows") + figure("Rows Removed by Join Filter") + figure("Rows Removed by Filter");
    let below: f64 = node["Plans"].as_array().into_iter().flatten().map(rows_touched).sum();
    own * figure("Actual Loops") + below
}

/// The plan of the statement by which this connection last read many ranges, carried out again with these.
async fn explained(connection: &mut PgConnection, tenant: Uuid, ranges: &[Segment]) -> Value {
    let prepared: (String, i32) = sqlx::query_as(
        "SELECT name, cardinality(parameter_types) FROM pg_prepared_statements
         WHERE statement LIKE '%unnest(%' AND statement LIKE '%entries e%' AND statement NOT LIKE '%parameter_types%'
         ORDER BY prepare_time DESC LIMIT 1",
    )
    .fetch_one(&mut *connection)
    .await
    .unwrap();
    let list = |values: Vec<String>, of: &str| format!("'{{{}}}'::{of}[]", values.join(","));
    let mut arguments = vec![
        format!("'{tenant}'"),
        list(ranges.iter().map(|range| range.session_id.to_string()).collect(), "uuid"),
        list(ranges.iter().map(|range| range.branch.to_string()).collect(), "int"),
        list(ranges.iter().map(|range| range.from.to_string()).collect(), "bigint"),
        list(ranges.iter().map(|range| range.to.to_string()).collect(), "bigint"),
    ];
    arguments.resize(usize::try_from(prepared.1).unwrap(), "NULL".to_owned());
    let statement = format!("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {}({})", prepared.0, arguments.join(","));
    let plan: Value = sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(connection).await.unwrap();
    plan[0]["Plan"].clone()
}

#[tokio::test]
async fn single_entries_of_a_path_are_looked_up_one_by_one() {
    const ENTRIES: usize = 2_000;
    let stage = long_session(ENTRIES).await;
    sqlx::query("ANALYZE entries").execute(&stage.pool).await.unwrap();
    let mut connection = stage.pool.acquire().await.unwrap();
    let range = |depth| Segment { session_id: stage.session, branch: 0, from: depth, to: depth };
    let ranges: Vec<Segment> = (0..ENTRIES as i64).step_by(2).map(range).collect();
    for mode in ["force_custom_plan", "force_generic_plan"] {
        let set = format!("SET plan_cache_mode = {mode}");
        sqlx::query(sqlx::AssertSqlSafe(set)).execute(&mut *connection).await.unwrap();
        let read = entries::whole(&mut connection, stage.tenant.0, &ranges).await.unwrap();
        assert_eq!(read.len(), ranges.len());
        assert!(read.iter().zip(&ranges).all(|(stored, range)| stored.entry.head.depth == range.from), "in path order");
        let asked = &ranges[..500];
        let plan = explained(&mut connection, stage.tenant.0, asked).await;
        let touched = rows_touched(&plan);
        assert!(touched < 10.0 * asked.len() as f64, "{mode}: {touched} rows for {} ranges: {plan:#}", asked.len());
    }
}

/// The plans by which the pool's only connection carries its statements out from now on, as the server logs them.
struct Plans<'p> {
    pool: &'p PgPool,
    backend: i32,
    /// Where the log ended.
    from: u64,
}

impl Plans<'_> {
    async fn watch(pool: &PgPool) -> Plans<'_> {
        let options = ["min_duration = 0", "analyze = on", "timing = off", "format = json"];
        let settings: String = options.map(|option| format!("SET auto_explain.log_{option};")).concat();
        let begin = sqlx::AssertSqlSafe(format!("LOAD 'auto_explain'; {settings}"));
        sqlx::raw_sql(begin).execute(pool).await.unwrap();
        let backend = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(pool).await.unwrap();
        let from = std::fs::metadata(pg::log_file()).unwrap().len();
        Plans { pool, backend, from }
    }

    /// Statement and plan of each that read entries since the last look.
    async fn of_entries(&mut self) -> Vec<(String, Value)> {
        // A plan is logged when its statement is put away, at the latest with the next.
        sqlx::query("SELECT 1").execute(self.pool).await.unwrap();
        let log = std::fs::read(pg::log_file()).unwrap();
        let new = String::from_utf8_lossy(&log[usize::try_from(self.from).unwrap()..]).into_owned();
        self.from = log.len() as u64;
        let own = format!("[{}] LOG:  duration: ", self.backend);
        let told = new.split(&own).skip(1).filter_map(|told| told.split_once('\n'));
        let lines = told.map(|(_, rest)| rest.lines().take_while(|line| line.starts_with('\t')).collect::<String>());
        let plans = lines.map(|plan| serde_json::from_str::<Value>(&plan).unwrap());
        let of_entries = plans.filter(|plan| plan["Plan"].to_string().contains("\"entries\""));
        of_entries.map(|plan| (plan["Query Text"].as_str().unwrap().to_owned(), plan["Plan"].clone())).collect()
    }

    /// Rows that the plans' nodes gave or threw away since the last look; the largest plan says where.
    async fn rows(&mut self) -> (f64, String) {
        let plans = self.of_entries().await;
        let largest = plans.iter().max_by(|one, other| rows_touched(&one.1).total_cmp(&rows_touched(&other.1)));
        let largest = largest.map(|(statement, plan)| format!("{statement}\n{plan:#}")).unwrap_or_default();
        (plans.iter().map(|(_, plan)| rows_touched(plan)).sum(), largest)
    }
}

/// Requests with a call, its result and an answer: what has calls lies apart.
fn scattered(range: std::ops::Range<usize>) -> Vec<Value> {
    let turn = |n: usize| {
        let mut items = traffic(2 * n..2 * n + 2);
        items.insert(0, user("go on"));
        items.extend([assistant("Read."), user("and so?"), assistant("It is fine.")]);
        items
    };
    range.flat_map(turn).collect()
}

#[tokio::test]
async fn what_reads_many_places_of_a_path_compares_none_with_all_others() {
    const TURNS: usize = 500;
    const ENTRIES: f64 = 6.0 * TURNS as f64;
    let stage = Stage::set(unbounded()).await;
    for from in (0..TURNS).step_by(100) {
        stage.append(scattered(from..from + 100)).await;
    }
    sqlx::query("ANALYZE entries").execute(&stage.pool).await.unwrap();
    let stage = through_one_connection(stage).await;
    let (service, tenant, session) = (&stage.service, stage.tenant, stage.session);
    let mut plans = Plans::watch(&stage.pool).await;
    for mode in ["force_custom_plan", "force_generic_plan"] {
        let set = format!("SET plan_cache_mode = {mode}");
        sqlx::query(sqlx::AssertSqlSafe(set)).execute(&stage.pool).await.unwrap();
        service.queries().files(tenant, session).await.unwrap();
        let of_files = plans.rows().await;
        for strategy in [Strategy::Summarize, Strategy::Mask, Strategy::Prune] {
            let settings = json!({"strategy": strategy, "keep_recent_tokens": 1_000, "keep_recent_results": 3});
            let request =
                PrepareRequest { settings: settings.as_object().unwrap().clone(), ..PrepareRequest::default() };
            service.prepare(tenant, session, request).await.unwrap();
            let (rows, largest) = plans.rows().await;
            println!("{mode}, prepare for {strategy:?}: {rows}");
            assert!(rows > 0.0 && rows < 12.0 * ENTRIES, "{mode}, {strategy:?}: {rows} rows: {largest}");
        }
        println!("{mode}, files: {}", of_files.0);
        assert!(of_files.0 > 0.0 && of_files.0 < 12.0 * ENTRIES, "{mode}, files: {} rows: {}", of_files.0, of_files.1);
    }
}

#[tokio::test]
async fn what_reads_a_whole_path_reads_each_entry_a_few_times() {
    const ENTRIES: usize = 3_000;
    let stage = long_session(ENTRIES).await;
    let stage = through_one_connection(stage).await;
    let (service, tenant, session) = (&stage.service, stage.tenant, stage.session);
    let begin = fetched(&stage.pool).await;
    let files = service.queries().files(tenant, session).await.unwrap();
    let of_files = fetched(&stage.pool).await - begin;
    assert_eq!(files.read_files.len(), 150);
    let prepared = service.prepare(tenant, session, PrepareRequest::default()).await.unwrap();
    let of_prepare = fetched(&stage.pool).await - begin - of_files;
    assert_eq!(prepared.preparation.unwrap().file_ops.read.len(), 150);
    let told = format!("{ENTRIES} entries: files fetched {of_files} rows, prepare {of_prepare}");
    println!("{told}");
    assert!(of_files <= ENTRIES as i64 * 2 && of_prepare <= ENTRIES as i64 * 3, "{told}");
}

#[tokio::test]
async fn a_fork_at_the_leaf_reads_no_entry_and_knows_what_reading_them_would_tell() {
    const ENTRIES: usize = 1_000;
    let stage = Stage::set(json!({"context_window": 4_000, "strategy": "summarize", "enabled": false})).await;
    stage.append(traffic(0..ENTRIES)).await;
    stage.compact(CompactRequest::default()).await;
    stage.append(traffic(ENTRIES..ENTRIES + 5)).await;
    let early = stage.append(vec![user("and now?")]).await.leaf_id;
    stage.append(vec![assistant("Now the rest.")]).await;
    let stage = through_one_connection(stage).await;
    let (service, tenant) = (&stage.service, stage.tenant);
    let source = service.queries().session(tenant, stage.session).await.unwrap();
    let told = |session: &Session| {
        // What compactions were worth is told of the session that made them.
        let mut snapshot = json!(session.snapshot);
        snapshot.as_object_mut().unwrap().remove("anti_thrash");
        (session.entry_count, session.leaf_id, snapshot)
    };
    for leaf in [None, source.leaf_id] {
        let begin = fetched(&stage.pool).await;
        let fork = service.fork_session(tenant, stage.session, leaf).await.unwrap();
        assert_eq!(fetched(&stage.pool).await, begin, "rows of entries");
        assert_eq!(told(&fork), told(&source));
        // To come back to the leaf reads its whole path.
        for target_id in [early, source.leaf_id] {
            service.navigate(tenant, fork.id, Navigate { target_id, ..Navigate::default() }).await.unwrap();
        }
        assert_eq!(told(&service.queries().session(tenant, fork.id).await.unwrap()), told(&source));
        assert!(fetched(&stage.pool).await > begin, "the count of rows is one");
    }
}

async fn page(stage: &Stage, session: Uuid, limit: i64, after: Option<String>) -> (Vec<ToolCallRow>, Option<String>) {
    let page = stage.service.queries().tool_calls(stage.tenant, session, PageRequest { limit, after }).await.unwrap();
    (page.items, page.next_cursor)
}

#[tokio::test]
async fn a_page_of_calls_costs_what_the_page_holds() {
    const ENTRIES: usize = 4_000;
    let stage = long_session(ENTRIES).await;
    let fork = stage.service.fork_session(stage.tenant, stage.session, None).await.unwrap().id;
    stage.service.append(stage.tenant, fork, chat(traffic(ENTRIES..ENTRIES + 20))).await.unwrap();
    let stage = through_one_connection(stage).await;
    let (service, tenant) = (&stage.service, stage.tenant);
    for session in [stage.session, fork] {
        let begin = fetched(&stage.pool).await;
        let (first, next) = page(&stage, session, 20, None).await;
        let first_cost = fetched(&stage.pool).await - begin;
        assert_eq!(
            (first.len(), first[19].tool_call_id.as_str(), first[19].status),
            (20, "call_38", CallEnd::Returned)
        );
        let last_page = format!("{}.0", ENTRIES - 20);
        assert_eq!(next.as_deref(), Some("40.0"));
        let (last, next) = page(&stage, session, 20, Some(last_page)).await;
        let last_cost = fetched(&stage.pool).await - begin - first_cost;
        assert_eq!(last.len(), if session == fork { 20 } else { 10 });
        assert!(next.is_none() && last.iter().all(|row| row.status == CallEnd::Returned && !row.elided));
        let one = service.queries().tool_call(tenant, session, "call_2000").await.unwrap();
        let one_cost = fetched(&stage.pool).await - begin - first_cost - last_cost;
        assert_eq!(one.result_text.as_deref(), Some("read"));
        println!(
            "of {ENTRIES} entries: {first_cost} for the first page, {last_cost} for the last, {one_cost} for one call"
        );
        assert!([first_cost, last_cost, one_cost].into_iter().all(|cost| cost < 300));
    }
}

/// The calls of a path of chat items, as [`ToolCallRow`] tells them: entry, id, status, the result's entry.
fn reference(path: &[(Uuid, Value)]) -> Vec<(Uuid, String, CallEnd, Option<Uuid>)> {
    let mut found: Vec<(Uuid, String, CallEnd, Option<Uuid>)> = Vec::new();
    let mut open: HashMap<String, (usize, VecDeque<usize>)> = HashMap::new();
    let mut answers = 0;
    // Results that came before any call of their id: the first is the first call's, unless one behind that answers it.
    let mut early: HashMap<String, Vec<Uuid>> = HashMap::new();
    for (entry, item) in path {
        answers += usize::from(item["role"] != "assistant");
        for call in item["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap().to_owned();
            let (answer, waiting) = open.entry(id.clone()).or_default();
            if *answer != answers {
                (*answer, *waiting) = (answers, VecDeque::new());
            }
            waiting.push_back(found.len());
            found.push((*entry, id, CallEnd::Open, None));
        }
        let Some(id) = item["tool_call_id"].as_str() else { continue };
        match open.get_mut(id) {
            None => early.entry(id.to_owned()).or_default().push(*entry),
            Some((_, waiting)) => {
                if let Some(call) = waiting.pop_front() {
                    (found[call].2, found[call].3) = (CallEnd::Returned, Some(*entry));
                }
            }
        }
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, id, status, result) in &mut found {
        let nth = counts.entry(id.clone()).or_default();
        if let Some(entry) = early.get(id).and_then(|early| early.get(*nth)).filter(|_| *status == CallEnd::Open) {
            (*status, *result) = (CallEnd::Returned, Some(*entry));
        }
        *nth += 1;
    }
    found
}

/// A script of turns in which ids are used again, calls stay open and results come late or twice.
fn script(seed: u64, count: usize) -> Vec<Value> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % below
    };
    let ids = ["a", "b", "c", "d", "e"];
    let item = |_| match next(10) {
        0 => user("go on"),
        1 => assistant("Done."),
        2..=5 => {
            let some: Vec<&str> = (0..=next(3)).map(|_| ids[next(5) as usize]).collect();
            calls(&some)
        }
        _ => result(ids[next(5) as usize], &"what the tool said ".repeat(30)),
    };
    (0..count).map(item).collect()
}

/// Compares the list of calls, in pages of several sizes, with what the path and the context say.
async fn check(stage: &Stage, session: Uuid) {
    let (service, tenant) = (&stage.service, stage.tenant);
    let mut path = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest { limit: 200, after };
        let page = service.queries().entries(tenant, session, EntryQuery::default(), page).await.unwrap();
        let said = page.items.iter().filter(|entry| entry.kind == "message");
        path.extend(said.map(|entry| (entry.id, serde_json::from_str(entry.item.get()).unwrap())));
        after = page.next_cursor;
        if after.is_none() {
            break;
        }
    }
    let rebuild = Rebuild::of_leaf(Format::Native);
    let context = service.rebuild(tenant, session, rebuild).await.unwrap();
    let shown: HashSet<Uuid> = context.entry_ids.iter().copied().collect();
    let elided: HashSet<(Uuid, &str, bool)> = context
        .elided
        .iter()
        .map(|one| (one.entry_id, one.tool_call_id.as_str(), one.part == ElidedPart::Result))
        .collect();
    let expected: Vec<_> = reference(&path)
        .into_iter()
        .map(|(entry, id, status, result)| {
            let hidden =
                result.is_some_and(|result| !shown.contains(&result) || elided.contains(&(result, id.as_str(), true)));
            let hidden = hidden || elided.contains(&(entry, id.as_str(), false));
            (entry, id, status, result, hidden)
        })
        .collect();
    for limit in [1, 7, 200] {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let (items, next) = page(stage, session, limit, after).await;
            assert!(items.len() as i64 <= limit);
            rows.extend(items);
            after = next;
            if after.is_none() {
                break;
            }
        }
        let told: Vec<_> = rows
            .into_iter()
            .map(|row| (row.entry_id, row.tool_call_id, row.status, row.result_entry_id, row.elided))
            .collect();
        assert_eq!(told, expected, "in pages of {limit}");
    }
    let newest: BTreeMap<&str, _> = expected.iter().map(|row| (row.1.as_str(), row)).collect();
    for (id, (entry, _, status, result, hidden)) in newest {
        let one = service.queries().tool_call(tenant, session, id).await.unwrap();
        assert_eq!((one.entry_id, one.status, one.result_entry_id, one.elided), (*entry, *status, *result, *hidden));
    }
}

#[tokio::test]
async fn calls_are_paired_and_shown_alike_in_pages_of_any_size_on_branches_and_forks() {
    for seed in 1..5 {
        let stage = Stage::set(json!({"context_window": 200_000, "enabled": false, "keep_recent_tokens": 900,
            "keep_recent_results": 2, "min_gain_tokens": 0}))
        .await;
        let first = stage.append(script(seed, 60)).await;
        check(&stage, stage.session).await;
        let asked = |strategy| CompactRequest { strategy: Some(strategy), ..CompactRequest::default() };
        let masked = stage.compact(asked(Strategy::Mask)).await;
        assert_eq!(masked.status, Status::Succeeded, "{:?}", masked.result);
        stage.append(script(seed + 100, 25)).await;
        check(&stage, stage.session).await;
        let fork = stage.service.fork_session(stage.tenant, stage.session, Some(first.entries[40].id)).await.unwrap();
        stage.service.append(stage.tenant, fork.id, chat(script(seed + 200, 25))).await.unwrap();
        check(&stage, fork.id).await;
        let summarised = stage.compact(asked(Strategy::Summarize)).await;
        assert_eq!(summarised.status, Status::Succeeded, "{:?}", summarised.result);
        stage.append(script(seed + 300, 20)).await;
        check(&stage, stage.session).await;
        let branch = contextd::service::ingest::append::Append {
            parent_id: Some(first.entries[30].id),
            ..chat(script(seed + 400, 25))
        };
        stage.try_append(branch).await.unwrap();
        check(&stage, stage.session).await;
    }
}

#[tokio::test]
async fn many_long_reads_leave_connections_to_others() {
    let stage = Stage::set(unbounded()).await;
    for from in (0..5_000).step_by(1_000) {
        stage.append(traffic(from..from + 1_000)).await;
    }
    let observer = PgPool::connect_with((*stage.pool.connect_options()).clone()).await.unwrap();
    let mut holder = stage.pool.begin().await.unwrap();
    sqlx::query("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE").execute(&mut *holder).await.unwrap();
    let reads: Vec<_> = (0..20)
        .map(|_| {
            let (service, tenant, session) = (stage.service.clone(), stage.tenant, stage.session);
            tokio::spawn(async move { service.queries().files(tenant, session).await })
        })
        .collect();
    until_blocked(&observer).await;
    let other = Tenant(tenant(&stage.pool).await);
    for _ in 0..20 {
        stage.service.create_session(other, NewSession::default()).await.expect("a connection is left");
    }
    assert!(blocked(&observer).await <= 2, "a tenant's long reads take turns");
    holder.rollback().await.unwrap();
    // On a busy machine the last of them may be told that no turn came in time.
    let mut answered = 0;
    for read in reads {
        match read.await.unwrap() {
            Ok(files) => {
                assert_eq!(files.read_files.len(), 150);
                answered += 1;
            }
            Err(error) => assert!(matches!(error, ServiceError::Unavailable(_)), "{error:?}"),
        }
    }
    assert!(answered > 0);
}

#[tokio::test]
async fn the_statement_of_a_client_that_has_gone_is_cancelled() {
    let url = pg::url().await;
    let pool = PgPoolOptions::new().max_connections(2).connect(&url).await.unwrap();
    let app = App::fresh(&[("DATABASE_URL", &url)]);
    let session = app.session(json!({"settings": unbounded()})).await;
    for from in (0..5_000).step_by(1_000) {
        app.append(&session, "openai_chat", json!(traffic(from..from + 1_000))).await;
    }
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE").execute(&mut *holder).await.unwrap();
    for path in ["files", "tasks", "tree", "search?q=parser", "export?format=pi"] {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = tokio::spawn(client.get(app.url(&format!("{session}/{path}"))).send());
        until_blocked(&pool).await;
        request.abort();
        until(path, async || blocked(&pool).await == 0).await;
    }
    holder.rollback().await.unwrap();
    assert_eq!(app.get(&format!("{session}/files")).await.expect(200)["read_files"].as_array().unwrap().len(), 150);
}

#[tokio::test]
async fn tree_and_files_of_a_session_are_written_in_pieces() {
    let stage = long_session(5_000).await;
    let (service, tenant) = (&stage.service, stage.tenant);
    let fork = service.fork_session(tenant, stage.session, None).await.unwrap().id;
    service.append(tenant, fork, chat(traffic(5_000..5_010))).await.unwrap();
    for (session, own) in [(stage.session, 5_000), (fork, 5_010)] {
        let pieces: Vec<String> = service.queries().tree(tenant, session).await.unwrap().try_collect().await.unwrap();
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.len() < 2 << 20));
        let tree: Value = serde_json::from_str(&pieces.concat()).unwrap();
        let nodes = tree["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), own);
        assert_eq!(tree["leaf_id"], nodes[own - 1]["id"]);
        let parents = nodes.windows(2).all(|pair| pair[1]["parent_id"] == pair[0]["id"]);
        assert!(parents && nodes[0]["parent_id"].is_null());
        for format in [Format::OpenaiChat, Format::Pi] {
            let mut pieces = service.queries().export(tenant, session, Export { format, leaf_id: None }).await.unwrap();
            let (mut lines, mut count) = (0, 0);
            while let Some(piece) = pieces.next().await {
                let piece = piece.unwrap();
                assert!(piece.is_empty() || piece.ends_with('\n'));
                (lines, count) = (lines + piece.lines().count(), count + 1);
            }
            let head = usize::from(format == Format::Pi);
            assert_eq!(lines, own + head, "{format:?}");
            assert!(count > 2);
        }
    }
}
