//! A real Prometheus on a port of its own.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;

use super::rules;
use crate::patience::until;

pub struct Prometheus {
    child: Child,
    base: String,
    client: Client,
    _folder: TempDir,
}

/// An alert as Prometheus tells it.
#[derive(Debug, Clone)]
pub struct Told {
    pub name: String,
    pub is_firing: bool,
    pub labels: Value,
    pub annotations: Value,
}

/// A program of Prometheus: as the environment says, else by its name.
pub fn program(variable: &str, name: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| name.into(), PathBuf::from)
}

/// A port that nobody listens at just now.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Prometheus {
    /// With the quickened rules, before the service at this address.
    pub async fn start(address: &str, key: Option<&str>) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let key_file = key.map(|key| {
            let file = folder.path().join("key");
            std::fs::write(&file, key).unwrap();
            file.to_str().unwrap().to_owned()
        });
        let config = folder.path().join("prometheus.yml");
        std::fs::write(&config, rules::scraping(address, key_file.as_deref())).unwrap();
        std::fs::write(folder.path().join("alerts.yml"), rules::quickened()).unwrap();
        let listen = format!("127.0.0.1:{}", free_port());
        let child = Command::new(program("CONTEXTD_PROMETHEUS", "prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={listen}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let client = Client::builder().no_proxy().build().unwrap();
        let prometheus = Prometheus { child, base: format!("http://{listen}"), client, _folder: folder };
        until("Prometheus is ready", async || {
            let ready = prometheus.client.get(format!("{}/-/ready", prometheus.base)).send().await;
            ready.is_ok_and(|answer| answer.status() == 200)
        })
        .await;
        prometheus
    }

    async fn ask(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let address = reqwest::Url::parse_with_params(&format!("{}{path}", self.base), query).unwrap();
        let answer = self.client.get(address).send().await.unwrap();
        let status = answer.status();
        let body: Value = answer.json().await.unwrap();
        assert!(status == 200 && body["status"] == "success", "{query:?}: {body}");
        body["data"].clone()
    }

    /// Alerts that fire or are about to.
    pub async fn alerts(&self) -> Vec<Told> {
        let mut data = self.ask("/api/v1/alerts", &[]).await;
        let told = |alert: &mut Value| Told {
            name: alert["labels"]["alertname"].as_str().unwrap().to_owned(),
            is_firing: alert["state"] == "firing",
            labels: alert["labels"].take(),
            annotations: alert["annotations"].take(),
        };
        data["alerts"].as_array_mut().unwrap().iter_mut().map(told).collect()
    }

    /// The series that an expression gives.
    pub async fn query(&self, expr: &str) -> Vec<Value> {
        self.ask("/api/v1/query", &[("query", expr)]).await["result"].as_array().unwrap().clone()
    }

    /// Names of the alerts in the rules that are loaded, all of which were evaluated without a fault.
    pub async fn loaded(&self) -> Vec<String> {
        let data = self.ask("/api/v1/rules", &[]).await;
        let rules = data["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
        rules
            .map(|rule| {
                assert!(rule["health"] != "err", "{rule}");
                rule["name"].as_str().unwrap().to_owned()
            })
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
