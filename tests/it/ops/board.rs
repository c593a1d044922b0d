//! The board for Grafana, and the files that put it in place.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::read;

const BOARD: &str = "ops/grafana/contextd.json";

fn board() -> Value {
    serde_json::from_str(&read(BOARD)).unwrap()
}

fn panels(board: &Value) -> Vec<&Value> {
    board["panels"].as_array().unwrap().iter().collect()
}

/// Every expression of the board with its panel's title; its variables are what Grafana would put in.
pub fn expressions() -> Vec<(String, String)> {
    let board = board();
    let filled = |expr: &str| {
        expr.replace("$__rate_interval", "1m").replace("$job", "contextd").replace("$instance", ".*").to_owned()
    };
    let mut all = Vec::new();
    for panel in panels(&board).into_iter().filter(|panel| panel["type"] != "row") {
        for target in panel["targets"].as_array().unwrap() {
            all.push((panel["title"].as_str().unwrap().to_owned(), filled(target["expr"].as_str().unwrap())));
        }
    }
    for mark in board["annotations"]["list"].as_array().unwrap() {
        all.extend(mark["expr"].as_str().map(|expr| (format!("marks: {}", mark["name"]), filled(expr))));
    }
    all
}

#[test]
fn the_board_is_whole() {
    let board = board();
    assert!(board["schemaVersion"].as_u64().unwrap() >= 39);
    assert_eq!(board["uid"], "contextd");
    assert_eq!(board["id"], Value::Null, "an id is of one Grafana");
    let source = json!({"type": "prometheus", "uid": "${datasource}"});
    let variables = board["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "job", "instance"]);
    let (mut ids, mut titles, mut cells) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for panel in panels(&board) {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()) && titles.insert(title), "{title}: twice");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{title}: wider than the grid");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{title}: over another panel");
        }
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{title}");
        assert_eq!(panel["datasource"], source, "{title}");
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{title}");
        for target in targets {
            assert_eq!(target["datasource"], source, "{title}");
            let expr = target["expr"].as_str().unwrap();
            assert!(expr.contains("$job"), "{title}: {expr}");
            assert!(!expr.contains("rate(") || expr.contains("[$__rate_interval]"), "{title}: {expr}");
        }
    }
}

/// Images have a version, ports are of this machine alone, what is mounted is there.
#[test]
fn the_containers_are_pinned_and_stay_on_this_machine() {
    let compose = read("docker-compose.yml");
    let lines: Vec<&str> = compose.lines().map(str::trim).collect();
    let images: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("image: ")).collect();
    for image in images.iter().filter(|image| **image != "contextd") {
        let (_, tag) = image.split_once(':').unwrap_or_else(|| panic!("{image}"));
        assert!(tag.chars().any(|c| c.is_ascii_digit()), "{image}");
    }
    assert_eq!(lines.iter().filter(|line| **line == "profiles: [observe]").count(), 3);
    let port = regex::Regex::new(r#"^- "([\d.]+:)?\d+:\d+"$"#).unwrap();
    let ports: Vec<&&str> = lines.iter().filter(|line| port.is_match(line)).collect();
    assert!(ports.len() >= 5 && ports.iter().all(|port| port.starts_with("- \"127.0.0.1:")), "{ports:?}");
    for line in &lines {
        if let Some((file, _)) = line.strip_prefix("- ./").and_then(|mount| mount.split_once(':')) {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(file).exists(), "{file}");
        }
    }
    let observed = read("ops/observe.env");
    assert!(observed.contains("COMPOSE_PROFILES=observe\n") && compose.contains("OTEL_EXPORTER_OTLP_ENDPOINT: ${"));
    assert!(observed.contains("OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"));
    assert!(read("ops/collector/config.yaml").contains("endpoint: 0.0.0.0:4318"));
    let places = [
        ("ops/grafana/provisioning/datasources/prometheus.yml", "url: http://prometheus:9090"),
        ("ops/grafana/provisioning/dashboards/contextd.yml", "path: /etc/grafana/dashboards"),
        ("docker-compose.yml", ":/etc/grafana/dashboards/contextd.json:ro"),
        (super::SCRAPE, "targets: [\"contextd:8080\"]"),
    ];
    for (file, text) in places {
        assert!(read(file).contains(text), "{file}: {text}");
    }
}
