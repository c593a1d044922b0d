//! The pages in a real browser: headless Chromium, driven by its own driver.
//!
//! `CONTEXTD_CHROMEDRIVER` names the driver; `CONTEXTD_CHROMIUM` the browser, where it is not the driver's own;
//! `CONTEXTD_AXE` the accessibility checker's `axe.min.js`; `CONTEXTD_PICTURES` a folder that pictures are written to.

mod bars;
mod following;
mod large;
mod lists;
mod narrow;
mod parts;
mod report;
mod session;
pub mod stage;
mod worked;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser of its own: nothing is kept from another test, and nothing is left behind.
pub struct Browser {
    pub client: Client,
    driver: Child,
    _profile: TempDir,
}

impl Browser {
    pub async fn start() -> Browser {
        Browser::with(json!({})).await
    }

    /// One whose window is so many pixels wide, which may be less than a browser lets a window be.
    pub async fn of_width(width: u32) -> Browser {
        let metrics = json!({"width": width, "height": 900, "pixelRatio": 1, "mobile": false, "touch": false});
        Browser::with(json!({"mobileEmulation": {"deviceMetrics": metrics}})).await
    }

    async fn with(more: Value) -> Browser {
        let path = std::env::var("CONTEXTD_CHROMEDRIVER").expect("CONTEXTD_CHROMEDRIVER names chromedriver");
        let mut driver =
            Command::new(path).arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let port = port_of(&mut driver);
        let profile = tempfile::tempdir().unwrap();
        let folder = format!("--user-data-dir={}", profile.path().display());
        let mut options = json!({"args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--window-size=1280,900", "--force-device-scale-factor=1", folder,
        ]});
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        if let Ok(browser) = std::env::var("CONTEXTD_CHROMIUM") {
            options["binary"] = browser.into();
        }
        let wanted = json!({"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}});
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(wanted.as_object().unwrap().clone());
        let client = builder.connect(&format!("http://127.0.0.1:{port}")).await.unwrap();
        Browser { client, driver, _profile: profile }
    }

    /// Opens a page in a theme: `light` or `dark`.
    pub async fn open(&self, url: &str, theme: &str) {
        self.client.goto(url).await.unwrap();
        let script = "localStorage.setItem('contextd-theme', arguments[0])";
        self.client.execute(script, vec![theme.into()]).await.unwrap();
        self.client.goto(url).await.unwrap();
    }

    /// What a script gives.
    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Waits until a script gives true.
    pub async fn until(&self, what: &str, script: &str) {
        crate::patience::eventually(what, async || (self.run(script).await == Value::Bool(true)).then_some(())).await;
    }

    /// What the accessibility checker finds that is serious or critical: rule and places.
    pub async fn axe(&self) -> Vec<String> {
        let path = std::env::var("CONTEXTD_AXE").expect("CONTEXTD_AXE names axe.min.js");
        self.client.execute(&std::fs::read_to_string(path).unwrap(), vec![]).await.unwrap();
        let script = "const done = arguments[arguments.length - 1];
            axe.run(document, {resultTypes: ['violations']}).then((found) => done(found.violations))";
        let found = self.client.execute_async(script, vec![]).await.unwrap();
        let serious = |one: &&Value| matches!(one["impact"].as_str(), Some("serious" | "critical"));
        let told = |one: &Value| {
            let nodes = one["nodes"].as_array().unwrap().iter().map(|node| node["html"].to_string());
            format!("{}: {}", one["id"], nodes.take(5).collect::<Vec<_>>().join(" | "))
        };
        found.as_array().unwrap().iter().filter(serious).map(told).collect()
    }

    /// Writes a picture, where somebody wants them.
    pub async fn picture(&self, name: &str) {
        if let Ok(folder) = std::env::var("CONTEXTD_PICTURES") {
            std::fs::write(Path::new(&folder).join(name), self.client.screenshot().await.unwrap()).unwrap();
        }
    }

    pub async fn quit(self) {
        self.client.clone().close().await.unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn port_of(driver: &mut Child) -> u16 {
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find(|line| line.contains("started successfully on port")).unwrap();
    said.trim_end_matches('.').rsplit(' ').next().unwrap().parse().unwrap()
}
