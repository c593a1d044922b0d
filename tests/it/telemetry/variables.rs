//! The standard variables, and collectors that are not there.

use reqwest::Method;
use serde_json::json;

use super::collector::Collector;
use super::{PARENT, Stage, exporting, fails_once};
use crate::app::App;
use crate::drill_support::by_hand;

const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_to_be_exported_is_not() {
    let collector = Collector::start().await;
    let stage = Stage::told(&collector, fails_once(), &[("OTEL_TRACES_EXPORTER", "none")]).await;
    let session = stage.filled(by_hand()).await;
    stage.compacted(&session).await;
    assert!(stage.app.stop().await.success());
    assert!(collector.exports() > 0 && collector.spans().is_empty());

    let collector = Collector::start().await;
    let stage = Stage::told(&collector, fails_once(), &[("OTEL_METRICS_EXPORTER", "none")]).await;
    let session = stage.filled(by_hand()).await;
    stage.compacted(&session).await;
    assert!(stage.app.stop().await.success());
    assert!(collector.exports() == 0 && !collector.spans().is_empty());

    let collector = Collector::start().await;
    let stage = Stage::told(&collector, fails_once(), &[("OTEL_SDK_DISABLED", "true")]).await;
    let session = stage.filled(by_hand()).await;
    stage.compacted(&session).await;
    assert!(stage.app.stop().await.success());
    assert!(collector.exports() == 0 && collector.spans().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resource_and_the_headers_are_as_the_variables_say() {
    let collector = Collector::start().await;
    let named = [
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=drill,service.name=mine"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue"),
    ];
    let app = Stage::told(&collector, fails_once(), &named).await.app;
    collector.span("any span", |_| true).await;
    let resource = collector.resource();
    assert_eq!(
        (&resource["service.name"], &resource["deployment.environment.name"]),
        (&json!("mine"), &json!("drill"))
    );
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(collector.header("x-team").as_deref(), Some("blue"));
    drop(app);

    let collector = Collector::start().await;
    let url = format!("{}/v1/traces", collector.url());
    let app = App::fresh(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &url), ("OTEL_BSP_SCHEDULE_DELAY", "100")]);
    app.get("/v1/sessions").await.expect(200);
    collector.span("any span", |_| true).await;
    assert_eq!(collector.resource()["service.name"], "contextd");
    assert!(app.stop().await.success());
    assert_eq!(collector.exports(), 0, "no endpoint for metrics");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_is_warned_of_and_not_spoken() {
    let collector = Collector::start().await;
    let url = collector.url();
    for (asked, warned) in [
        (vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], vec!["OTEL_EXPORTER_OTLP_PROTOCOL"]),
        (
            vec![
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
                ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json"),
            ],
            vec!["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"],
        ),
        (vec![("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "HTTP/protobuf"), ("OTEL_METRICS_EXPORTER", "none")], vec![]),
        (vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_SDK_DISABLED", "true")], vec![]),
    ] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let envs = [exporting(&url), asked.clone()].concat();
        let app = App::logging(&envs, log.reopen().unwrap());
        app.get("/v1/sessions").await.expect(200);
        assert!(app.stop().await.success());
        let text = std::fs::read_to_string(log.path()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let lines = lines.filter(|line| line["message"].as_str().is_some_and(|text| text.contains("is spoken")));
        let told: Vec<String> = lines.map(|line| line["variable"].as_str().unwrap().to_owned()).collect();
        assert_eq!(told, warned, "{asked:?}: {text}");
    }
    assert!(collector.spans().len() >= 3, "it is exported all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_follows_the_client_and_the_variables() {
    let collector = Collector::start().await;
    let url = collector.url();
    let get = async |app: &App, id: &str, parent: Option<&str>| {
        let mut headers = vec![("x-request-id", id)];
        headers.extend(parent.map(|parent| ("traceparent", parent)));
        app.send(Method::GET, "/v1/sessions", &headers, "").await.expect(200);
    };
    let mut envs = exporting(&url);
    let app = App::fresh(&envs);
    get(&app, "default-root", None).await;
    get(&app, "default-sampled", Some(PARENT)).await;
    get(&app, "default-unsampled", Some(UNSAMPLED)).await;
    assert!(app.stop().await.success());
    envs.push(("OTEL_TRACES_SAMPLER", "parentbased_always_off"));
    let app = App::fresh(&envs);
    get(&app, "off-root", None).await;
    get(&app, "off-sampled", Some(PARENT)).await;
    assert!(app.stop().await.success());
    let mut told: Vec<String> =
        collector.spans().iter().map(|span| span.attributes["contextd.request.id"].to_string()).collect();
    told.sort();
    assert_eq!(told, ["\"default-root\"", "\"default-sampled\"", "\"off-sampled\""]);
}

/// One that takes connections and never answers, and one that is not there, hold up neither requests nor the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_hangs_or_is_away_holds_nothing_up() {
    let hanging = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let away = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let urls = [&hanging, &away].map(|listener| format!("http://{}", listener.local_addr().unwrap()));
    drop(away);
    for url in &urls {
        let mut envs = exporting(url);
        // Full after a few spans.
        envs.extend([("OTEL_BSP_MAX_QUEUE_SIZE", "4"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")]);
        let stage = Stage::set(fails_once(), &envs, App::fresh).await;
        let session = stage.filled(by_hand()).await;
        for _ in 0..200 {
            stage.app.get(&session).await.expect(200);
        }
        assert_eq!(stage.compacted(&session).await["status"], "succeeded");
        // The exporter's own time is an hour.
        assert!(stage.app.stop().await.success(), "{url}");
    }
}
