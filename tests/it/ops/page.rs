//! The page for operators: its commands and statements work, and it knows every metric.

use contextd::families;
use sqlx::PgPool;

use super::{PAGE, read};
use crate::app::App;
use crate::book;

#[test]
fn it_lists_every_metric() {
    let page = read(PAGE);
    let (_, table) = page.split_once("| --- | --- | --- | --- |\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let row = |family: &families::Family| {
        let kind: &str = family.kind.into();
        let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{}` | {kind} | {} | {} |", family.name, labels.join(", "), family.help)
    };
    let rows: Vec<String> = families::ALL.iter().map(row).collect();
    assert_eq!(table, rows.join("\n"), "it should be:\n{}", rows.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn its_commands_work() {
    let app = App::fresh(&[]);
    let (base, data) = (app.url(""), app.data_dir().to_owned());
    tokio::task::spawn_blocking(move || book::run(&read(PAGE), &base, &data)).await.unwrap();
}

#[tokio::test]
async fn its_statements_work() {
    let pool: PgPool = crate::pg::database().await;
    let page = read(PAGE);
    let blocks = book::blocks(&page, &["sql"]);
    let statements: Vec<&str> =
        blocks.iter().flat_map(|(_, code)| code.split(';')).map(str::trim).filter(|code| !code.is_empty()).collect();
    assert!(statements.len() >= 8, "{}", statements.len());
    for statement in statements {
        let reads = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).fetch_all(&pool).await;
        assert!(reads.is_ok() && statement.starts_with("SELECT"), "{statement}: {:?}", reads.err());
    }
}

#[test]
fn its_settings_are_there() {
    let (page, configuring) = (read(PAGE), read("docs/book/src/configuring.md"));
    let variables = read("src/config/env.rs");
    let variable = regex::Regex::new(r"CONTEXTD_[A-Z_]+|DATABASE_URL").unwrap();
    for name in variable.find_iter(&page).map(|found| found.as_str()) {
        let of_upstream =
            name.strip_prefix("CONTEXTD_UPSTREAM_").is_some_and(|name| variables.contains(&format!("\"{name}\"")));
        let of_client = ["CONTEXTD_URL", "CONTEXTD_API_KEY"].contains(&name);
        assert!(of_upstream || of_client || variables.contains(&format!("\"{name}\"")), "{name}");
    }
    let (_, table) = page.split_once("| setting | variable |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let setting = regex::Regex::new(r"(?m)^\| `(?:\w+\.)?(\w+)`").unwrap();
    let named: Vec<&str> = setting.captures_iter(table).map(|found| found.get(1).unwrap().as_str()).collect();
    assert!(named.len() > 10);
    for name in named {
        let line = regex::Regex::new(&format!(r"(?m)^(# )?{name}\b")).unwrap();
        assert!(line.is_match(&configuring), "{name}");
    }
}

#[test]
fn its_links_lead_somewhere() {
    let page = read(PAGE);
    let link = regex::Regex::new(r"\]\(([^)#]*)(?:#([^)]*))?\)").unwrap();
    let anchors: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## ").or(line.strip_prefix("# ")))
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    for found in link.captures_iter(&page) {
        match (&found[1], found.get(2)) {
            ("", Some(anchor)) => assert!(anchors.iter().any(|known| known == anchor.as_str()), "{}", anchor.as_str()),
            (file, _) => {
                let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file);
                assert!(place.exists(), "{file}");
            }
        }
    }
}
