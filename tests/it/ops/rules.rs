//! The alert rules, read as they are written: one form, which Prometheus' own reader checks in the drill.

use super::{PAGE, RULES, SCRAPE, read};

#[derive(Debug)]
pub struct Alert {
    pub name: String,
    pub expr: String,
    pub text: String,
}

/// All alerts, in order.
pub fn alerts() -> Vec<Alert> {
    let text = read(RULES);
    let (_, blocks) = text.split_once("- alert: ").unwrap();
    let alerts: Vec<Alert> = blocks.split("- alert: ").map(alert).collect();
    assert!(alerts.len() > 10);
    alerts
}

fn alert(block: &str) -> Alert {
    let (name, rest) = block.split_once('\n').unwrap();
    let (_, expr) = rest.split_once("expr: ").unwrap();
    let end = ["\n        for:", "\n        labels:"].iter().filter_map(|next| expr.find(next)).min().unwrap();
    let expr = expr[..end].trim_start_matches('|').trim().to_owned();
    Alert { name: name.trim().to_owned(), expr, text: rest.to_owned() }
}

/// The value of a field of an alert.
fn field<'a>(alert: &'a Alert, name: &str) -> &'a str {
    let start = format!(" {name}: ");
    let line = alert.text.lines().find_map(|line| line.split_once(&start));
    line.unwrap_or_else(|| panic!("{}: {name}", alert.name)).1
}

#[test]
fn every_alert_says_what_it_must() {
    let known = regex::Regex::new(r"^Contextd[A-Z][A-Za-z]+$").unwrap();
    for alert in alerts() {
        let name = &alert.name;
        assert!(known.is_match(name), "{name}");
        assert!(["critical", "warning"].contains(&field(&alert, "severity")), "{name}");
        assert!(field(&alert, "summary").contains(' '), "{name}");
        let description = field(&alert, "description");
        let is_yes_or_no =
            ["ContextdDown", "ContextdDatabaseAway", "ContextdUpstreamBreakerOpen"].contains(&name.as_str());
        assert_eq!(description.contains("$value"), !is_yes_or_no, "{name}: a description has the value");
        assert_eq!(field(&alert, "runbook_url"), format!("{PAGE}#{}", name.to_lowercase()));
    }
}

#[test]
fn every_alert_has_its_section_and_every_section_its_alert() {
    let page = read(PAGE);
    let (_, alerts_on) = page.split_once("\n# Alerts\n").unwrap();
    let (sections, _) = alerts_on.split_once("\n# ").unwrap();
    let mut told: Vec<&str> = Vec::new();
    for section in sections.split("\n## ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap();
        told.push(name);
        for part in ["**Means.**", "**Users see.**", "**Cause", "**Harmless"] {
            assert!(text.contains(part), "{name}: {part}");
        }
        assert!(text.contains("**Mend.**") || text.contains("**mend**"), "{name}");
    }
    told.sort_unstable();
    let mut named: Vec<String> = alerts().into_iter().map(|alert| alert.name).collect();
    named.sort_unstable();
    assert_eq!(told, named);
}

#[test]
fn every_alert_is_tested_both_ways() {
    let tests = read("ops/prometheus/alerts_test.yml");
    for alert in alerts() {
        let name = &alert.name;
        let silent = format!("alertname: {name}, exp_alerts: [] }}");
        let fires = format!("alertname: {name}\n        exp_alerts:\n          - exp_labels:");
        assert!(tests.matches(&silent).count() >= 3 && tests.contains(&fires), "{name}");
    }
}

#[test]
fn the_rules_look_at_the_job_that_is_scraped() {
    let scrape = read(SCRAPE);
    assert!(scrape.contains("job_name: contextd\n") && scrape.contains("  - alerts.yml\n"));
    let others = regex::Regex::new(r"\b(up|process_\w+)\b(\{[^}]*\})?").unwrap();
    for alert in alerts() {
        for found in others.captures_iter(&alert.expr) {
            assert!(found.get(2).is_some_and(|labels| labels.as_str().contains("job=\"contextd\"")), "{}", alert.name);
        }
    }
}
