//! `contextd doctor`, where all is well and where it is not.

use std::path::Path;

use serde_json::{Value, json};

use super::{Ran, contextd, end_of};
use crate::app::App;
use crate::proxy::provider::{Provider, Reply, Seen};

async fn doctor(args: &[&str], envs: &[(&str, &str)]) -> Ran {
    let mut command = contextd(&[&["doctor"], args].concat());
    end_of({
        command.envs(envs.iter().copied());
        command
    })
    .await
}

/// What it found under this name.
fn check<'r>(report: &'r Value, name: &str) -> &'r Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("{name}: {report}"))
}

fn verdict<'r>(report: &'r Value, name: &str) -> &'r str {
    check(report, name)["verdict"].as_str().unwrap()
}

async fn judged(args: &[&str], envs: &[(&str, &str)], code: i32) -> Value {
    let ran = doctor(&[args, &["--json"]].concat(), envs).await;
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["ok"], code == 0, "{report}");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protocol_that_is_not_spoken_is_told() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    let ran = doctor(&["--json"], &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).await;
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let told = check(&report, "telemetry");
    assert_eq!(told["verdict"], "warn", "{report}");
    assert!(told["found"].as_str().unwrap().contains("OTEL_EXPORTER_OTLP_PROTOCOL=grpc"), "{report}");
    for envs in
        [[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"); 2]]
    {
        let ran = doctor(&["--json"], &envs).await;
        assert!(!ran.out.contains("telemetry"), "{}", ran.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_place_is_found_good() {
    let app = App::fresh(&[]);
    let data = app.data_dir().to_str().unwrap();
    let report = judged(&["--data-dir", data, "--url", &app.url("")], &[], 0).await;
    for name in [
        "configuration",
        "database",
        "schema",
        "rights",
        "connections",
        "clocks",
        "upstreams",
        "data directory",
        "service",
    ] {
        assert_eq!(verdict(&report, name), "ok", "{report}");
    }
    let told = doctor(&["--data-dir", data], &[]).await.good();
    assert!(
        told.contains("ok       database") && told.contains("PostgreSQL ") && told.contains("skipped  service"),
        "{told}"
    );

    let new = tempfile::tempdir().unwrap();
    let folder = new.path().join("data");
    let report = judged(&["--data-dir", folder.to_str().unwrap()], &[], 0).await;
    assert!(check(&report, "database")["found"].as_str().unwrap().contains("first start"), "{report}");
    assert!(!folder.exists(), "it makes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_database_is_told() {
    let down = [
        ("DATABASE_URL", "postgres://somebody:hunter2@127.0.0.1:9/x"),
        ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "500"),
    ];
    let report = judged(&[], &down, 1).await;
    assert_eq!(verdict(&report, "database"), "fail", "{report}");
    assert!(!report.to_string().contains("hunter2"), "{report}");
    let told = doctor(&[], &down).await;
    told.failed(&["1 check failed"]);
    assert!(
        told.out.contains("fail     database") && told.out.contains("DATABASE_URL") && !told.out.contains("hunter2")
    );

    let blank = crate::pg::url_of(&crate::pg::blank().await);
    let report = judged(&[], &[("DATABASE_URL", &blank)], 1).await;
    assert_eq!((verdict(&report, "database"), verdict(&report, "schema")), ("ok", "fail"), "{report}");
    assert!(check(&report, "schema")["advice"].as_str().unwrap().contains("contextd migrate"), "{report}");
    assert_eq!(verdict(&report, "disk"), "skipped");

    // A user who may log in and do nothing else.
    let fresh = crate::pg::fresh().await;
    let pool = sqlx::PgPool::connect_with(fresh.clone()).await.unwrap();
    let role = format!("looker_{}", fresh.get_database().unwrap());
    let statements = format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON _sqlx_migrations TO {role}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&pool).await.unwrap();
    let url = crate::pg::url_of(&fresh.username(&role));
    let report = judged(&[], &[("DATABASE_URL", &url)], 1).await;
    assert_eq!((verdict(&report, "schema"), verdict(&report, "rights")), ("ok", "fail"), "{report}");
    assert!(check(&report, "rights")["found"].as_str().unwrap().contains("sessions"), "{report}");
}

/// An upstream of this kind at the provider, in a file.
fn configured(folder: &Path, kind: &str, base_url: &str) -> String {
    let file = folder.join(format!("{kind}.toml"));
    let text = format!(
        "data_dir = \"{}\"\n[[upstreams]]\nname = \"big\"\nkind = \"{kind}\"\nmodel = \"m-1\"\napi_key = \"sk-secret-secret\"\nbase_url = \"{base_url}\"\n",
        folder.join("data").display()
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn upstreams_are_tried_without_paying() {
    let (provider, folder) = (Provider::start().await, tempfile::tempdir().unwrap());
    let models = |names: &[&str]| json!({"data": names.iter().map(|name| json!({"id": name})).collect::<Vec<_>>()});
    let refusal = json!({"error": {"message": "no such key: sk-secret-secret"}});
    for kind in ["openai", "openai_responses", "anthropic"] {
        let file = configured(folder.path(), kind, &provider.base_url());
        let look = async |reply: Reply, code: i32| {
            provider.play(move |_| reply.clone());
            let report = judged(&["--config", &file], &[], code).await;
            let seen = provider.take_one();
            let key = if kind == "anthropic" { "x-api-key" } else { "authorization" };
            assert_eq!((seen.method.as_str(), seen.uri.as_str()), ("GET", "/v1/models"));
            assert!(seen.header(key).unwrap().ends_with("sk-secret-secret"));
            assert!(!report.to_string().contains("sk-secret-secret"), "{report}");
            verdict(&report, "upstream big").to_owned()
        };
        assert_eq!(look(Reply::json(200, &models(&["m-0", "m-1"])), 0).await, "ok");
        assert_eq!(look(Reply::json(200, &models(&["m-0"])), 0).await, "warn");
        assert_eq!(look(Reply::json(200, &json!([])), 0).await, "warn");
        assert_eq!(look(Reply::json(404, &json!({})), 0).await, "warn");
        assert_eq!(look(Reply::json(401, &refusal), 1).await, "fail");
        assert_eq!(look(Reply::json(500, &refusal), 1).await, "fail");
    }
    let file = configured(folder.path(), "openai", "http://127.0.0.1:9");
    let report = judged(&["--config", &file], &[], 1).await;
    assert!(check(&report, "upstream big")["found"].as_str().unwrap().contains("refused"), "{report}");

    let answer = move |seen: &Seen| match seen.method.as_str() {
        "GET" => Reply::json(200, &models(&["m-1"])),
        _ => Reply::good(seen, 10, 2),
    };
    provider.play(answer);
    let file = configured(folder.path(), "openai", &provider.base_url());
    let report = judged(&["--config", &file, "--call"], &[], 0).await;
    assert_eq!(verdict(&report, "call big"), "ok", "{report}");
    let asked: Vec<String> = provider.take().iter().map(|seen| seen.uri.clone()).collect();
    assert_eq!(asked, ["/v1/models", "/v1/chat/completions"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn slips_in_the_configuration_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contextd.toml");
    std::fs::write(&file, "[worker]\nconcurency = 4\n").unwrap();
    let report = judged(&["--config", file.to_str().unwrap()], &[("CONTEXTD_LISTEM", "x")], 1).await;
    assert!(check(&report, "configuration")["found"].as_str().unwrap().contains("concurency"), "{report}");
    assert_eq!(verdict(&report, "database"), "skipped");
    assert!(check(&report, "environment")["found"].as_str().unwrap().contains("CONTEXTD_LISTEM"), "{report}");
    let missing = folder.path().join("none.toml");
    assert_eq!(verdict(&judged(&["--config", missing.to_str().unwrap()], &[], 1).await, "configuration"), "fail");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_away_or_refuses_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let args = |url: &'static str| ["--data-dir", data.to_str().unwrap(), "--url", url].map(str::to_owned);
    for url in ["http://127.0.0.1:9", "nowhere"] {
        let args = args(url);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_eq!(verdict(&judged(&args, &[], 1).await, "service"), "fail", "{url}");
    }
    let keyed = crate::app::Keyed::start(&crate::pg::url().await, &[], &[]);
    let args = ["--data-dir", data.to_str().unwrap(), "--url", &keyed.base, "--key", "cdx_wrong"];
    let report = judged(&args, &[], 1).await;
    assert!(check(&report, "service")["found"].as_str().unwrap().contains("401"), "{report}");
    assert!(check(&report, "service")["advice"].as_str().unwrap().contains("keys create"), "{report}");
    assert!(!report.to_string().contains("cdx_wrong"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_will_not_do_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("file"), folder.path().join("data"));
    std::fs::write(&file, "").unwrap();
    for place in [file.join("data"), file.clone()] {
        let report = judged(&["--data-dir", place.to_str().unwrap()], &[], 1).await;
        assert_eq!(verdict(&report, "data directory"), "fail", "{report}");
        assert!(check(&report, "data directory")["advice"].as_str().unwrap().contains("--data-dir"), "{report}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let look = async |address: &str, code: i32| {
        let args = ["--data-dir", data.to_str().unwrap()];
        let report = judged(&args, &[("CONTEXTD_LISTEN", address)], code).await;
        assert_eq!(verdict(&report, "data directory"), "ok", "{report}");
        check(&report, "port").clone()
    };
    let found = look(&address, 0).await;
    assert_eq!(found["verdict"], "warn", "it may be the service itself: {found}");
    assert!(found["found"].as_str().unwrap().contains(&address), "{found}");
    // An address for documentation, which no machine has.
    assert_eq!(look("192.0.2.1:8080", 1).await["verdict"], "fail");
    drop(taken);
    assert_eq!(look(&address, 0).await["verdict"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_a_database_has_its_remedy() {
    let fresh = crate::pg::fresh().await;
    let socket = fresh.get_socket().unwrap().to_str().unwrap().replace('/', "%2F");
    let url = |user: &str, host: &str, database: &str| format!("postgres://{user}@{host}/{database}?sslmode=disable");
    let (user, nowhere) = (fresh.get_username(), "127.0.0.1:9");
    for (url, remedy) in [
        (url(user, &socket, "no_such_database"), "createdb"),
        (url("no_such_user", &socket, fresh.get_database().unwrap()), "mend user and password"),
        (url(user, nowhere, "x"), "start the server"),
        (url(user, "no-such-host.invalid", "x"), "mend the host"),
        ("mysql://x".to_owned(), "DATABASE_URL is right"),
    ] {
        let envs = [("DATABASE_URL", url.as_str()), ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "500")];
        let report = judged(&[], &envs, 1).await;
        assert_eq!(verdict(&report, "database"), "fail", "{report}");
        let advice = check(&report, "database")["advice"].as_str().unwrap();
        assert!(advice.contains(remedy), "{url}: {advice}: {report}");
    }
}
