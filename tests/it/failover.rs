//! A database that goes away, takes no writes, says nothing, is full, or is at another place: 503 with `Retry-After`
//! meanwhile, and appends again without a restart once it is back.

use std::process::{Command, Stdio};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Executor, PgConnection, PgPool};
use tokio::time::timeout;

use crate::app::{Answer, App};
use crate::drill_support::kept_items;
use crate::patience::{PATIENCE, until, until_blocked};
use crate::pg_proxy::{Mode, Proxy};
use crate::shutdown::endless;

fn item(text: &str) -> Value {
    json!({"format": "openai_chat", "items": [{"role": "user", "content": text}]})
}

async fn append(app: &App, session: &str) -> Answer {
    app.post(&format!("{session}/entries"), item("hello")).await
}

#[track_caller]
fn assert_passing(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(answer.header("retry-after").is_some());
}

async fn admin(proxy: &Proxy) -> PgConnection {
    crate::pg::options().await.database(&proxy.database).connect().await.unwrap()
}

/// Ends all connections to the database but this one, and says how many there were.
async fn end_all(admin: &mut PgConnection) -> u64 {
    end_each(admin, Duration::ZERO).await
}

/// As [`end_all`], waiting for the end of each as long.
async fn end_each(admin: &mut PgConnection, patience: Duration) -> u64 {
    let end = "SELECT pg_terminate_backend(pid, $1) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    sqlx::query(end).bind(patience.as_millis() as i64).execute(admin).await.unwrap().rows_affected()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_takes_no_writes_is_waited_for() {
    let proxy = Proxy::start().await;
    let app = App::fresh(&[("DATABASE_URL", &proxy.url())]);
    let session = app.session(json!({})).await;
    let mut admin = admin(&proxy).await;
    let set = |to: &str| sqlx::AssertSqlSafe(format!("ALTER DATABASE {} {to}", proxy.database));
    admin.execute(sqlx::raw_sql(set("SET default_transaction_read_only = on"))).await.unwrap();
    end_all(&mut admin).await;
    until("read-only", async || append(&app, &session).await.code() == Some("read_only")).await;
    assert_passing(&append(&app, &session).await);
    assert_passing(&app.post("/v1/sessions", json!({})).await);
    assert_passing(&app.delete(&session).await);
    assert_eq!(app.get(&session).await.status, 200, "reading goes on");
    until("not ready", async || app.get("/readyz").await.code() == Some("read_only")).await;

    // Its connections stay as they were: nothing but a look tells that others would be better.
    admin.execute(sqlx::raw_sql(set("RESET default_transaction_read_only"))).await.unwrap();
    until("appends", async || append(&app, &session).await.status == 201).await;
    until("ready", async || app.get("/readyz").await.status == 200).await;
    for _ in 0..20 {
        assert_eq!(append(&app, &session).await.status, 201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_says_nothing_is_given_up() {
    let proxy = Proxy::start().await;
    let app = App::fresh(&[("DATABASE_URL", &proxy.url()), ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "2000")]);
    let session = app.session(json!({})).await;
    let before: Vec<_> = join_all((0..10).map(|_| append(&app, &session))).await;
    assert!(before.iter().all(|answer| answer.status == 201));
    proxy.set(Mode::Silent);
    let (compact, events) = (format!("{session}/compact"), format!("{session}/events"));
    let asked = async {
        let writes = join_all((0..5).map(|_| append(&app, &session)));
        let reads = join_all((0..5).map(|_| app.get(&session)));
        let (writes, reads, waits, events) =
            tokio::join!(writes, reads, app.post(&compact, json!({"wait": 120})), app.get(&events));
        writes.into_iter().chain(reads).chain([waits, events]).collect::<Vec<_>>()
    };
    for answer in timeout(PATIENCE, asked).await.expect("requests hang") {
        assert_passing(&answer);
    }
    assert_eq!(app.get("/healthz").await.status, 200);
    assert_passing(&app.get("/readyz").await);
    assert_eq!(app.get("/metrics").await.status, 200);
    proxy.set(Mode::Pass);
    until("appends", async || append(&app, &session).await.status == 201).await;
    until("reads", async || app.get(&session).await.status == 200).await;
    until("ready", async || app.get("/readyz").await.status == 200).await;

    proxy.set(Mode::Silent);
    assert!(app.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_of_two_servers_is_taken() {
    let one = Proxy::start().await;
    let other = one.beside().await;
    let url = url_of(&one, &other);
    one.set(Mode::Cut);
    let app = App::fresh(&[("DATABASE_URL", &url), ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "2000")]);
    let session = app.session(json!({})).await;
    for (gone, how, back) in [(&other, Mode::Silent, &one), (&one, Mode::Cut, &other)] {
        back.set(Mode::Pass);
        assert_eq!(append(&app, &session).await.status, 201);
        gone.set(how);
        let answers = join_all((0..5).map(|_| append(&app, &session))).await;
        for answer in answers {
            assert!([201, 503].contains(&answer.status), "{}", answer.text);
        }
        until("appends at the other one", async || append(&app, &session).await.status == 201).await;
    }
}

/// Both servers, of which one that takes writes is wanted.
fn url_of(one: &Proxy, other: &Proxy) -> String {
    format!(
        "postgres://{}@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable&target_session_attrs=read-write",
        one.user, one.port, other.port, one.database
    )
}

/// A copy of the database, under a name as long, that takes no writes: a standby to whoever connects.
async fn standby_of(proxy: &Proxy) -> String {
    let name = proxy.database.replace("test", "copy");
    let mut server = crate::pg::options().await.connect().await.unwrap();
    let copy = format!(
        "CREATE DATABASE {name} TEMPLATE {};
         ALTER DATABASE {name} SET default_transaction_read_only = on",
        proxy.database
    );
    for statement in copy.split(';') {
        server.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(statement))).await.unwrap();
    }
    name
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_is_passed_over_and_found_when_it_does() {
    let one = Proxy::start().await;
    let filling = App::fresh(&[("DATABASE_URL", &one.url())]);
    let session = filling.session(json!({})).await;
    assert_eq!(append(&filling, &session).await.status, 201);
    assert!(filling.stop().await.success());
    let standby = standby_of(&one).await;
    let other = one.beside().await;
    let url = url_of(&one, &other);
    one.lead_to(Some(&standby));
    let app = App::fresh(&[("DATABASE_URL", &url)]);
    let mut admin = admin(&one).await;
    let mut appended = 1;
    for (primary, secondary) in [(&other, &one), (&one, &other), (&other, &one)] {
        secondary.lead_to(Some(&standby));
        primary.lead_to(None);
        end_each(&mut admin, PATIENCE).await;
        until("writes at the other one", async || all_land(&app, &session).await).await;
        until("ready", async || app.get("/readyz").await.status == 200).await;
        appended += 3;
        let stored = "SELECT count(*) FROM entries";
        let stored: i64 = sqlx::query_scalar(stored).fetch_one(&mut admin).await.unwrap();
        assert!(stored >= appended, "{stored} of {appended} acknowledged");
    }
    // Neither takes writes, then one does that the service knows as a standby.
    other.lead_to(Some(&standby));
    end_each(&mut admin, PATIENCE).await;
    until("refused", async || append(&app, &session).await.status == 503).await;
    for _ in 0..5 {
        assert_passing(&append(&app, &session).await);
    }
    let told = tokio::task::block_in_place(|| refusal(&url));
    let last = told.lines().last().unwrap_or_default();
    assert_eq!(last.matches("it can only be read").count(), 2, "{told}");
    for back in [&other, &one] {
        one.lead_to(Some(&standby));
        other.lead_to(Some(&standby));
        end_each(&mut admin, PATIENCE).await;
        until("refused", async || append(&app, &session).await.status == 503).await;
        back.lead_to(None);
        until("writes again", async || all_land(&app, &session).await).await;
        until("ready", async || app.get("/readyz").await.status == 200).await;
    }
}

/// A connection that was begun before a move and is ready after it looks as if it were of now, and leads to a server that
/// takes no writes any more: whoever were given it would be refused for as long as it lives.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_outlasts_a_move_is_not_kept() {
    let one = Proxy::start().await;
    let other = one.beside().await;
    let url = url_of(&one, &other);
    let filling = App::fresh(&[("DATABASE_URL", &one.url())]);
    let session = filling.session(json!({})).await;
    assert!(filling.stop().await.success());
    let standby = standby_of(&one).await;
    other.set(Mode::Cut);
    let minutes = PATIENCE.as_millis().to_string();
    let app = App::fresh(&[("DATABASE_URL", &url), ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", &minutes)]);
    assert_eq!(append(&app, &session).await.status, 201);

    let server = PgPool::connect_with(crate::pg::options().await).await.unwrap();
    let begun = async || -> i64 {
        let begun = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'contextd'";
        sqlx::query_scalar(begun).bind(&standby).fetch_one(&server).await.unwrap()
    };
    one.lead_to(Some(&standby));
    one.set(Mode::Silent);
    let asked = async { join_all((0..10).map(|_| append(&app, &session))).await };
    let moved = async {
        until("begun at the old one", async || begun().await > 0).await;
        other.set(Mode::Pass);
        until("writes at the new one", async || append(&app, &session).await.status == 201).await;
        assert!(begun().await > 0, "none was still on its way");
        one.set(Mode::Pass);
    };
    let (asked, ()) = tokio::join!(asked, moved);
    assert!(asked.iter().all(|answer| [201, 503].contains(&answer.status)));
    until("writes alone", async || all_land(&app, &session).await).await;
    until("none kept", async || begun().await == 0).await;
}

/// Whether what is asked on many connections at once is done, three times on end: none leads to where nothing is written.
async fn all_land(app: &App, session: &str) -> bool {
    for _ in 0..3 {
        let made = join_all((0..10).map(|_| app.post("/v1/sessions", json!({}))));
        let (mut answers, appended, read) = tokio::join!(made, append(app, session), app.get(session));
        answers.extend([appended, read]);
        answers.iter().filter(|answer| ![200, 201].contains(&answer.status)).for_each(assert_passing);
        if answers.iter().any(|answer| answer.status == 503) {
            return false;
        }
    }
    true
}

/// Makes a call until it is answered, and says how often it had to be made again. An append has another text each time:
/// those that were acknowledged or refused are put down.
async fn insist(app: &App, session: &str, name: String, is_append: bool) -> (u64, Option<String>, Vec<String>) {
    let mut refused = Vec::new();
    for failed in 0..100 {
        let text = format!("{name}, try {failed}");
        let answer = match is_append {
            true => app.post(&format!("{session}/entries"), item(&text)).await,
            false => app.get(&format!("{session}/entries")).await,
        };
        if answer.status == 503 {
            assert_passing(&answer);
            refused.extend((is_append && answer.code() != Some("outcome_unknown")).then_some(text));
            continue;
        }
        assert_eq!(answer.status, if is_append { 201 } else { 200 }, "{}", answer.text);
        return (failed, is_append.then_some(text), refused);
    }
    panic!("{name} was refused a hundred times");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_ended_cost_a_try_at_most() {
    let proxy = Proxy::start().await;
    let app = App::fresh(&[("DATABASE_URL", &proxy.url())]);
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    let mut admin = admin(&proxy).await;
    let (mut landed, mut refused, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..10 {
        // So many connections are in use until now.
        let warm = join_all((0..8).map(|_| app.get(&session))).await;
        assert!(warm.iter().all(|answer| [200, 503].contains(&answer.status)));
        let calls = join_all((0..8).map(|n| insist(&app, &session, format!("call {round}-{n}"), n % 2 == 0)));
        let (ended, calls) = match round % 2 {
            0 => tokio::join!(end_all(&mut admin), calls),
            _ => (end_all(&mut admin).await, calls.await),
        };
        let failed = calls.iter().map(|(failed, ..)| failed).sum::<u64>();
        assert!(failed <= ended, "{failed} calls failed for {ended} connections");
        costs.push((ended, failed));
        for (_, text, of_call) in calls {
            landed.extend(text);
            refused.extend(of_call);
        }
    }
    println!("connections that were ended, calls that failed: {costs:?}");
    let stored: Vec<Value> = kept_items(&app, &session).await;
    let times = |text: &String| stored.iter().filter(|item| item["content"] == **text).count();
    for text in landed {
        assert_eq!(times(&text), 1, "{text} was acknowledged");
    }
    for text in refused {
        assert_eq!(times(&text), 0, "{text} was refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_and_outlived() {
    let proxy = Proxy::start().await;
    let app = App::fresh(&[("DATABASE_URL", &proxy.url())]);
    let session = app.session(json!({})).await;
    assert_eq!(app.get("/readyz").await.status, 200);
    let mut admin = admin(&proxy).await;
    // What PostgreSQL says where a file can't be extended.
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION full_disk();";
    admin.execute(sqlx::raw_sql(full)).await.unwrap();
    // It is remembered for some seconds.
    until("not ready", async || {
        let refused = append(&app, &session).await;
        assert_passing(&refused);
        assert_eq!(refused.code(), Some("storage_full"));
        app.get("/readyz").await.code() == Some("storage_full")
    })
    .await;
    assert_eq!(app.get("/healthz").await.status, 200);
    admin.execute("DROP TRIGGER full_disk ON entries").await.unwrap();
    assert_eq!(append(&app, &session).await.status, 201);
    until("ready", async || app.get("/readyz").await.status == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_waits_too_long_ends_and_so_does_one_that_nobody_waits_for() {
    let proxy = Proxy::start().await;
    let limits = [("DATABASE_URL", proxy.url()), ("CONTEXTD_DATABASE_LOCK_TIMEOUT_MS", "500".to_owned())];
    let app = App::fresh(&limits.each_ref().map(|(name, value)| (*name, value.as_str())));
    let patient = App::fresh(&[("DATABASE_URL", &proxy.url()), ("CONTEXTD_DATABASE_LOCK_TIMEOUT_MS", "3600000")]);
    let session = app.session(json!({})).await;
    assert_eq!(append(&app, &session).await.status, 201);
    let mut locker = admin(&proxy).await;
    locker.execute(sqlx::raw_sql("BEGIN; LOCK TABLE entries IN ACCESS EXCLUSIVE MODE")).await.unwrap();
    assert_passing(&app.get(&format!("{session}/entries")).await);

    let path = format!("{session}/entries");
    let asked = patient.get(&path);
    let pool = PgPool::connect_with(crate::pg::options().await.database(&proxy.database)).await.unwrap();
    tokio::select! {
        answer = asked => panic!("{}", answer.text),
        () = until_blocked(&pool) => {}
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'contextd' AND wait_event_type = 'Lock'";
    until("it is ended", async || sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_takes_too_long_is_ended() {
    let proxy = Proxy::start().await;
    let url = proxy.url();
    let usual = App::fresh(&[("DATABASE_URL", &url)]);
    let session = usual.session(json!({})).await;
    let mut envs = endless();
    envs.extend([("DATABASE_URL", url.as_str()), ("CONTEXTD_DATABASE_STATEMENT_TIMEOUT_MS", "3000")]);
    let app = App::fresh(&envs);
    let mut admin = admin(&proxy).await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION slow();";
    admin.execute(sqlx::raw_sql(slow)).await.unwrap();
    let refused = timeout(PATIENCE, append(&app, &session)).await.expect("the statement goes on");
    assert_passing(&refused);
    assert_eq!(refused.code(), Some("unavailable"));
    admin.execute("DROP TRIGGER slow ON entries").await.unwrap();
    until("appends", async || append(&app, &session).await.status == 201).await;
}

/// What it says on standard error when it can't start.
fn refusal(url: &str) -> String {
    let root = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_contextd"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(root.path())
        .env("DATABASE_URL", url)
        .env("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "1000")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_url_says_what_is_wrong() {
    let proxy = Proxy::start().await;
    let (port, user, database) = (proxy.port, &proxy.user, &proxy.database);
    for (url, words) in [
        ("postgres://u:secret@127.0.0.1:1/db".to_owned(), "Connection refused"),
        ("postgres://u:secret@nowhere.invalid/db".to_owned(), "nowhere.invalid"),
        (format!("postgres://{user}:secret@127.0.0.1:{port}/absent?sslmode=disable"), "\"absent\" does not exist"),
        (
            format!("postgres://nobody:secret@127.0.0.1:{port}/{database}?sslmode=disable"),
            "role \"nobody\" does not exist",
        ),
        (format!("postgres://{user}:secret@127.0.0.1:{port}/{database}?sslmode=require"), "TLS"),
        ("postgres://u:secret@127.0.0.1:1,127.0.0.1:2/db".to_owned(), "port 2: Connection refused"),
        ("postgres://u:secret@host:port/db".to_owned(), "invalid port"),
        ("mysql://u:secret@host/db".to_owned(), "postgres://"),
    ] {
        let told = refusal(&url);
        let last = told.lines().last().unwrap_or_default().to_owned();
        assert!(last.contains(words), "{url}: {told}");
        assert!(!told.contains("secret") && !told.contains("pool timed out"), "{told}");
    }
}
