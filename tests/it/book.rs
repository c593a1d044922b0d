//! The book and the README: every command in them is run, in order, before a fresh service; what the book says is complete.

mod built;
mod told;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::app::App;
use crate::hook_support::{Receiver, Reply};
use told::{Drift, settled};

const WRITTEN_FOR: &str = "http://127.0.0.1:8080";
/// Where the guide has its hooks and no model.
const RECEIVER: &str = "http://127.0.0.1:9000";
const NO_MODEL: &str = "http://127.0.0.1:9/v1";

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn chapters() -> Vec<String> {
    let summary = read("docs/book/src/SUMMARY.md");
    let links = regex::Regex::new(r"\]\(([^)]+)\)").unwrap();
    links.captures_iter(&summary).map(|link| format!("docs/book/src/{}", &link[1])).collect()
}

/// The fenced blocks of a page that are of these kinds, with their kinds.
pub fn blocks<'p>(page: &'p str, kinds: &[&str]) -> Vec<(&'p str, &'p str)> {
    let parts: Vec<&str> = page.split("\n```").collect();
    let opened = parts.iter().skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    opened.filter(|(kind, _)| kinds.contains(kind)).collect()
}

/// Runs a page's commands in one shell, in a folder of its own; gives what they wrote after each block.
pub fn run(page: &str, base: &str, data: &Path) -> Vec<String> {
    const BORDER: &str = "=== the end of a block ===";
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(page, &["sh"]);
    let script: String = blocks.iter().map(|(_, code)| format!("{code}\necho '{BORDER}'\n")).collect();
    let binaries = PathBuf::from(env!("CARGO_BIN_EXE_contextd")).parent().unwrap().to_owned();
    let path = std::env::join_paths(
        std::iter::once(binaries).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    // A page that waits for what never comes fails, and leaves nothing running.
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=10", "900", "bash", "-eu", "-o", "pipefail", "-c", &script.replace(WRITTEN_FOR, base)])
        .current_dir(folder.path());
    command.env("PATH", path.unwrap()).env("CONTEXTD_URL", base).env("CONTEXTD_DATA_DIR", data);
    let output = command.env_remove("CONTEXTD_API_KEY").env_remove("DATABASE_URL").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let told: Vec<String> = out.split(&format!("{BORDER}\n")).map(str::to_owned).collect();
    assert_eq!(told.len(), blocks.len() + 1);
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_book_works() {
    let receiver = Receiver::start(Reply::Text(204, "")).await;
    let mut drift = Drift::asked();
    for chapter in chapters() {
        let page = read(&chapter);
        let app = App::fresh(&settings_of(&page));
        let (base, code) = (app.url(""), page.replace(RECEIVER, receiver.url().trim_end_matches("/hook")));
        let data = app.data_dir().to_owned();
        let told = tokio::task::spawn_blocking(move || run(&code, &base, &data)).await.unwrap();
        let mut block = 0;
        for (kind, code) in blocks(&page, &["sh", "output", "output exact"]) {
            match kind {
                "sh" => block += 1,
                "output" => {
                    for line in code.lines() {
                        assert!(told[block - 1].contains(line.trim_end()), "{chapter}: {line}\n{}", told[block - 1]);
                    }
                }
                _ => drift.compare(&chapter, code, &settled(&told[block - 1])),
            }
        }
    }
    drift.end();
}

/// What a chapter asks of the service that it is run before: only one shows what becomes of a model that is away.
fn settings_of(page: &str) -> Vec<(&'static str, &'static str)> {
    let mut settings = vec![("CONTEXTD_HOOKS_ALLOW_PRIVATE_NETWORKS", "true")];
    if page.contains(NO_MODEL) {
        settings.extend([
            ("CONTEXTD_UPSTREAM_KIND", "openai"),
            ("CONTEXTD_UPSTREAM_MODEL", "away"),
            ("CONTEXTD_UPSTREAM_BASE_URL", NO_MODEL),
        ]);
    }
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_readme_works() {
    let app = App::fresh(&[]);
    let (base, data) = (app.url(""), app.data_dir().to_owned());
    tokio::task::spawn_blocking(move || run(&read("README.md"), &base, &data)).await.unwrap();
}

/// `METHOD /path`, with `{}` for whatever is filled in.
fn shape(method: &str, path: &str) -> String {
    let part = |part: &str| if part.starts_with(['$', '{']) { "{}".to_owned() } else { part.to_owned() };
    format!("{method} {}", path.split('/').map(part).collect::<Vec<_>>().join("/"))
}

#[test]
fn the_guide_calls_every_operation() {
    let page = read("docs/book/src/api.md");
    let code: String = blocks(&page, &["sh"]).iter().map(|(_, code)| *code).collect();
    let call = regex::Regex::new(r#"curl -\S+( -N)?( -m 1)?(?: -X ([A-Z]+))? "\$url(/[^"?]*)"#).unwrap();
    let path =
        |found: &str| found.split("$(").next().unwrap().to_owned() + if found.contains("$(") { "$x" } else { "" };
    let called = call.captures_iter(&code).map(|call| {
        let method = call.get(3).map_or("GET", |method| method.as_str());
        shape(method, &path(&call[4]))
    });
    let called: BTreeSet<String> = called.collect();
    let document: Value = serde_json::from_str(include_str!("../../openapi/openapi.json")).unwrap();
    let operations = crate::openapi::operations(&document);
    let wanted: BTreeSet<String> = operations.iter().map(|(path, method, _)| shape(method.as_str(), path)).collect();
    assert_eq!(called, wanted);
}

#[test]
fn every_code_has_its_remedy() {
    let codes = read("docs/CODES.md");
    let errors = codes.split("\n## ").find(|section| section.starts_with("Errors")).unwrap();
    let code = |line: &str| line.split('`').nth(1).unwrap().to_owned();
    let listed: Vec<String> = errors.lines().filter(|line| line.starts_with("| `")).map(code).collect();
    let page = read("docs/book/src/troubleshooting.md");
    let told: Vec<String> = page.lines().filter(|line| line.starts_with("## `")).map(code).collect();
    assert_eq!(told, listed);
}

#[test]
fn every_link_leads_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#]+)(?:#[^)]*)?\)").unwrap();
    for chapter in chapters().into_iter().chain(["README.md".to_owned()]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(&chapter);
        let page = read(&chapter);
        for file in link.captures_iter(&page).map(|link| link[1].to_owned()).filter(|link| !link.contains("://")) {
            assert!(folder.parent().unwrap().join(&file).exists(), "{chapter}: {file}");
        }
    }
}
