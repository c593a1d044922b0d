//! The schema: migrations on a database with rows in it, and columns of words that know theirs and no other.

use std::collections::{BTreeMap, BTreeSet};

use contextd::domain::compaction::result::Reason;
use contextd::domain::hook::{Event, OnError};
use contextd::domain::model::entry_type::EntryType;
use contextd::domain::model::format::Format;
use contextd::domain::model::message::Role;
use contextd::domain::model::strategy::Strategy;
use contextd::service::compaction::{Status, Trigger};
use contextd::service::core::access::Scope;
use contextd::service::core::clock;
use contextd::service::core::page::PageRequest;
use contextd::service::path::entries::EntryQuery;
use contextd::store::MIGRATIONS;
use contextd::store::censuses::Subject;
use contextd::store::queue::JobKind;
use serde_json::json;
use sqlx::{Connection, PgConnection, Row};
use strum::VariantArray as _;
use uuid::Uuid;

use crate::pg;
use crate::service_support::Stage;

/// From the root of the foreign keys on.
const TABLES: [&str; 23] = [
    "tenants",
    "api_keys",
    "sessions",
    "branches",
    "entries",
    "tool_calls",
    "compactions",
    "jobs",
    "idempotency_keys",
    "rebuilds",
    "events",
    "event_positions",
    "hooks",
    "hook_deliveries",
    "departures",
    "sealing_keys",
    "recalls",
    "censuses",
    "ended_logins",
    "upstream_calls",
    "upstream_days",
    "upstream_breakers",
    "refused_texts",
];

/// A word that the column knows, where any other would be refused.
fn word(table: &str, column: &str) -> &'static str {
    match (table, column) {
        ("censuses", "subject") => "sessions",
        ("entries", "kind") => "message",
        ("entries", "role") => "user",
        ("entries", "source_format") => "native",
        ("compactions", "skip_reason") => "low_savings",
        ("compactions", "status") => "succeeded",
        ("compactions", "trigger") => "manual",
        ("compactions", "strategy") => "auto",
        ("jobs", "kind") => "compact",
        ("jobs", "status") => "dead",
        ("hooks", "on_error") => "cancel",
        ("hook_deliveries", "event") => "after_compact",
        ("hook_deliveries", "status") => "delivered",
        _ => "{}",
    }
}

/// A row of a table as it is now, all of one tenant and one session.
async fn insert(connection: &mut PgConnection, table: &str, ids: &BTreeMap<&str, Uuid>) {
    let columns = sqlx::query(
        "SELECT column_name::text, udt_name::text FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name = $1 AND is_nullable = 'NO'
           AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'",
    )
    .bind(table)
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let mut names = Vec::new();
    let mut values = Vec::new();
    for column in columns {
        let (name, kind): (String, String) = (column.get(0), column.get(1));
        let id = match (table, name.as_str()) {
            ("tenants", "id") => ids.get("tenant_id"),
            ("sessions", "id") => ids.get("session_id"),
            ("compactions", "id") => ids.get("compaction_id"),
            ("hooks", "id") => ids.get("hook_id"),
            (_, name) => ids.get(name),
        };
        values.push(match (kind.as_str(), id) {
            ("uuid", Some(id)) => format!("'{id}'"),
            ("uuid", None) => format!("'{}'", clock::new_id()),
            ("text", _) => format!("'{}'", word(table, &name)),
            ("timestamptz", _) => "now()".to_owned(),
            ("bool", _) => "false".to_owned(),
            ("bytea", _) => format!("decode('{}', 'hex')", clock::new_id().simple()),
            ("_text" | "_bytea", _) => "'{}'".to_owned(),
            ("int2" | "int4" | "int8", _) => "0".to_owned(),
            (other, _) => panic!("{table}.{name}: {other}"),
        });
        names.push(name);
    }
    let statement = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", "));
    let written = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.clone())).execute(connection).await;
    written.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

async fn tables(connection: &mut PgConnection) -> BTreeSet<String> {
    let tables = "SELECT table_name::text FROM information_schema.tables
                  WHERE table_schema = 'public' AND table_name !~ '^_sqlx'";
    sqlx::query_scalar(tables).fetch_all(connection).await.unwrap().into_iter().collect()
}

/// Rows are written after each migration, so that every later one meets rows of every schema before it.
#[tokio::test]
async fn every_migration_takes_what_was_stored_before_it() {
    let mut connection = PgConnection::connect_with(&pg::blank().await).await.unwrap();
    let mut stored: BTreeMap<&str, i64> = BTreeMap::new();
    for migration in MIGRATIONS.iter() {
        let run = sqlx::raw_sql(sqlx::AssertSqlSafe(migration.sql.as_str().to_owned())).execute(&mut connection).await;
        run.unwrap_or_else(|error| panic!("{}: {error}", migration.description));
        let there = tables(&mut connection).await;
        let ids = ["tenant_id", "session_id", "compaction_id", "hook_id"].map(|name| (name, clock::new_id()));
        for table in TABLES.into_iter().filter(|table| there.contains(*table)) {
            insert(&mut connection, table, &ids.into_iter().collect()).await;
            *stored.entry(table).or_default() += 1;
        }
    }
    let known: BTreeSet<String> = TABLES.iter().map(|table| (*table).to_owned()).collect();
    assert_eq!(tables(&mut connection).await, known);
    for (table, count) in stored {
        let found = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
        let found: i64 = found.fetch_one(&mut connection).await.unwrap();
        assert_eq!(found, count, "{table}");
    }
}

/// The words of a constraint, as PostgreSQL writes it.
fn quoted(definition: &str) -> BTreeSet<String> {
    definition.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

fn words<T>(all: &[T], word: impl Fn(&T) -> &'static str) -> BTreeSet<String> {
    all.iter().map(|one| word(one).to_owned()).collect()
}

#[tokio::test]
async fn columns_of_words_know_the_words_of_the_service_and_no_other() {
    let mut connection = PgConnection::connect_with(&pg::fresh().await).await.unwrap();
    let deliveries = ["pending", "running", "delivered", "failed"].map(str::to_owned).into_iter().collect();
    let jobs = ["pending", "running", "dead"].map(str::to_owned).into_iter().collect();
    let known: [(&str, BTreeSet<String>); 14] = [
        ("api_keys_scopes_known", words(Scope::VARIANTS, |one| one.into_str())),
        ("censuses_subject_known", words(Subject::VARIANTS, |one| one.into_str())),
        ("compactions_skip_reason_known", words(Reason::VARIANTS, |one| one.into_str())),
        ("compactions_status_known", words(Status::VARIANTS, |one| one.into_str())),
        ("compactions_strategy_known", words(Strategy::VARIANTS, |one| one.into_str())),
        ("compactions_trigger_known", words(Trigger::VARIANTS, |one| one.into_str())),
        ("entries_kind_known", words(EntryType::VARIANTS, |one| one.into_str())),
        ("entries_role_known", words(Role::VARIANTS, |one| one.into_str())),
        ("entries_source_format_known", words(Format::VARIANTS, |one| one.into_str())),
        ("hook_deliveries_event_known", words(Event::VARIANTS, |one| one.into_str())),
        ("hook_deliveries_status_known", deliveries),
        ("hooks_on_error_known", words(OnError::VARIANTS, |one| one.into_str())),
        ("jobs_kind_known", words(JobKind::VARIANTS, |one| one.into_str())),
        ("jobs_status_known", jobs),
    ];
    let constraints = "SELECT conname::text, pg_get_constraintdef(oid), convalidated
                       FROM pg_constraint WHERE contype = 'c' AND conname LIKE '%\\_known' ORDER BY conname";
    let found = sqlx::query(constraints).fetch_all(&mut connection).await.unwrap();
    let found: Vec<(String, BTreeSet<String>)> = found
        .iter()
        .map(|row| {
            assert!(row.get::<bool, _>(2), "{}", row.get::<String, _>(0));
            (row.get(0), quoted(&row.get::<String, _>(1)))
        })
        .collect();
    let known: Vec<(String, BTreeSet<String>)> = known.map(|(name, words)| (name.to_owned(), words)).into();
    assert_eq!(found, known);
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let stage = Stage::set(json!({"enabled": false})).await;
    let appended = stage.append(vec![json!({"role": "user", "content": "hello"})]).await;
    let refused = sqlx::query("UPDATE entries SET kind = 'poem'").execute(&stage.pool).await.unwrap_err();
    assert!(refused.to_string().contains("entries_kind_known"), "{refused}");
    sqlx::query("UPDATE entries SET shape = '{'").execute(&stage.pool).await.unwrap();
    let read = stage
        .service
        .queries()
        .entries(stage.tenant, stage.session, EntryQuery::default(), PageRequest { limit: 10, after: None })
        .await;
    let told = format!("{:?}", read.unwrap_err());
    assert!(told.contains(&appended.entries[0].id.to_string()), "{told}");
}
