//! The commands for people: the real binary before a real service.

mod doctor;
mod progress;
mod report;
mod tail;
mod terminal;
mod top;

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::app::{App, Keyed};
use crate::drill_support::*;
use crate::proxy::provider::{Provider, Reply};

/// A title that would take a terminal over.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}<script>alert(1)</script>\u{202e}txt\n--\u{9b}31m & \"quotes\"";

/// What a command said, and how it ended.
#[derive(Debug)]
struct Ran {
    out: String,
    err: String,
    code: Option<i32>,
}

impl Ran {
    #[track_caller]
    fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// A failure that says all of this.
    #[track_caller]
    fn failed(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert!(words.iter().all(|word| self.err.contains(word)), "{words:?}: {self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}

/// The binary, with nothing in its environment that it would heed.
fn contextd(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
    let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in ours.filter(|name| name.starts_with("CONTEXTD_") || name == "DATABASE_URL") {
        command.env_remove(name);
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

async fn end_of(mut command: Command) -> Ran {
    let output = command.output().await.unwrap();
    Ran {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}

/// Runs it for the service at `url`.
async fn at(url: &str, args: &[&str]) -> Ran {
    let mut command = contextd(args);
    command.env("CONTEXTD_URL", url);
    end_of(command).await
}

/// A session that has been compacted, with an external id of its own.
async fn told(app: &App, external_id: &str, title: &str) -> String {
    let session = app
        .session(json!({"external_id": external_id, "title": title, "settings": by_hand(), "model": "gpt-4o"}))
        .await;
    app.append(&session, "openai_chat", json!(turns(0..30, 120))).await;
    compact(app, &session, json!({"strategy": "summarize"})).await;
    app.append(&session, "openai_chat", json!(turns(30..33, 120))).await;
    session
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_and_shown() {
    let app = App::shared();
    let session = told(app, "cli-shown", "A title").await;
    let id = id_of(&session);
    let url = app.url("");
    let table = at(&url, &["sessions", "--external-id", "cli-shown"]).await.good();
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("SESSION") && rows[1].starts_with(id), "{table}");
    assert!(rows[1].contains("A title"), "{table}");
    let listed = at(&url, &["sessions", "--external-id", "cli-shown", "--json"]).await.good();
    assert_eq!(lines(&listed), [app.get(&session).await.expect(200)], "as the API has it");
    let states = lines(&at(&url, &["sessions", "--state", "green", "--limit", "3", "--json"]).await.good());
    assert!(states.len() <= 3 && states.iter().all(|session| session["snapshot"]["state"] == "green"), "{states:?}");

    for name in [id, "cli-shown"] {
        let shown = at(&url, &["show", name]).await.good();
        for part in [
            id,
            "A title",
            "In the window now",
            "tool_results",
            "By tool",
            "Largest entries",
            "Last compactions",
            "Newest tasks",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
    let shown: Value = serde_json::from_str(&at(&url, &["show", id, "--json", "--largest", "3"]).await.good()).unwrap();
    assert_eq!(shown["composition"], app.get(&format!("{session}/composition?largest=3")).await.expect(200));
    assert_eq!(shown["compactions"], app.get(&format!("{session}/compactions?limit=10")).await.expect(200)["items"]);
    assert_eq!(shown["tasks"], app.get(&format!("{session}/tasks")).await.body);
    assert_eq!(shown["session"]["id"], id);
    assert!(at(&url, &["chapters", id]).await.good().contains("no chapters"));
    let chapters = at(&url, &["chapters", id, "--json"]).await.good();
    assert_eq!(lines(&chapters), [app.get(&format!("{session}/chapters")).await.expect(200)]);
    let stats = at(&url, &["stats"]).await.good();
    assert!(stats.contains("sessions ") && stats.contains("compactions ") && stats.contains("queue "), "{stats}");
    assert!(lines(&at(&url, &["stats", "--json"]).await.good())[0]["sessions"]["green"].is_u64());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_come_page_by_page() {
    let app = App::fresh(&[]);
    for n in 0..205 {
        app.session(json!({"external_id": format!("s{n}")})).await;
    }
    let all = lines(&at(&app.url(""), &["sessions", "--json", "--limit", "1000"]).await.good());
    assert_eq!(all.len(), 205);
    let some = at(&app.url(""), &["sessions", "--limit", "201"]).await.good();
    assert_eq!(some.lines().count(), 203, "a head, and a word about the others");
    let largest = app.session(json!({"metadata": {"user": "ada", "n": 5}, "system": "many words ".repeat(500)})).await;
    app.session(json!({"metadata": {"user": "ada"}})).await;
    let first = lines(&at(&app.url(""), &["sessions", "--json", "--order", "size", "--limit", "1"]).await.good());
    assert_eq!(first[0]["id"], id_of(&largest));
    let ada = lines(&at(&app.url(""), &["sessions", "--json", "--metadata", "user=ada"]).await.good());
    assert_eq!((ada.len(), &ada[1]["id"]), (2, &json!(id_of(&largest))));
    let both = ["sessions", "--json", "--metadata", "user=ada", "--metadata", "n=5"];
    assert_eq!(lines(&at(&app.url(""), &both).await.good()).len(), 1);
    assert_eq!(at(&app.url(""), &["sessions", "--metadata", "user"]).await.code, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_foretold_and_done() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let (id, url) = (id_of(&session), app.url(""));
    let dry = ["compact", id, "--dry-run", "--strategy", "summarize", "--focus", "the parser"];
    assert!(at(&url, &dry).await.good().contains(" tokens would be summarised"));
    let foretold = lines(&at(&url, &[dry.as_slice(), &["--json"]].concat()).await.good());
    let body = json!({"include_messages": false, "settings": {"strategy": "summarize", "focus_topic": "the parser"}});
    assert_eq!(foretold, [app.post(&format!("{session}/prepare"), body).await.expect(200)]);
    assert_eq!(app.get(&format!("{session}/compactions")).await.expect(200)["items"], json!([]), "nothing was done");

    let done = at(&url, &["compact", id, "--strategy", "mask", "--wait"]).await.good();
    assert!(done.contains("mask: ") && done.contains("-> ") && done.contains("net: "), "{done}");
    let skipped = lines(&at(&url, &["compact", id, "--wait=60", "--json"]).await.good());
    let path = format!("/v1/compactions/{}", skipped[0]["id"].as_str().unwrap());
    assert_eq!(skipped, [app.get(&path).await.expect(200)]);
    let begun = at(&url, &["compact", id, "--instructions", "be brief", "--force"]).await.good();
    assert!(begun.starts_with("queued\ncompaction ") || begun.starts_with("running\ncompaction "), "{begun}");
    for wrong in [["compact", id, "--strategy", "magic"], ["compact", id, "--dry-run", "--wait"]] {
        assert_eq!(at(&url, &wrong).await.code, Some(2));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_told_with_what_to_do() {
    let keyed = Keyed::start(&crate::pg::url().await, &[], &[]);
    let wrong = at(&keyed.base, &["sessions", "--key", "cdx_not_a_key"]).await;
    wrong.failed(&["HTTP 401", "contextd keys create"]);
    assert!(!wrong.err.contains("cdx_not_a_key"), "{wrong:?}");
    at(&keyed.base, &["stats"]).await.failed(&["HTTP 401"]);
    at("http://127.0.0.1:9", &["sessions"]).await.failed(&["nothing answers at http://127.0.0.1:9/", "contextd serve"]);
    at("ftp://127.0.0.1", &["sessions"]).await.failed(&["http://"]);
    at("nowhere", &["sessions"]).await.failed(&["URL `nowhere`"]);

    let app = App::shared();
    let url = app.url("");
    let nobody = uuid::Uuid::nil().to_string();
    for name in ["cli-no-such", &nobody, "../stats", "a/b?c"] {
        at(&url, &["show", name]).await.failed(&["no session has", name]);
    }
    for _ in 0..2 {
        app.session(json!({"external_id": "cli-twice"})).await;
    }
    at(&url, &["show", "cli-twice"]).await.failed(&["several sessions"]);
    at(&url, &["sessions", "--updated-after", "nonsense"]).await.failed(&["/query/updated_after", "HTTP 422"]);
    assert_eq!(at(&url, &["sessions", "--limit", "0"]).await.code, Some(2));
    assert_eq!(at(&url, &["show"]).await.code, Some(2));

    let provider = Provider::start().await;
    for (reply, words) in [
        (Reply::of(200, "text/html", &["<html>"]), "200 OK with text/html"),
        (Reply::of(502, "text/html", &["<html>"]), "502 Bad Gateway with text/html"),
        (Reply::of(200, "application/json", &["{"]), "not contextd"),
        (Reply::json(200, &json!({"data": []})), "no list"),
    ] {
        provider.play(move |_| reply.clone());
        at(&provider.base_url(), &["sessions"]).await.failed(&["not contextd", words]);
    }
    let refused = json!({"title": "\u{1b}[2JNo", "status": 503, "code": "timeout", "detail": "so\nit is", "errors": 5});
    provider.play(move |_| Reply::of(503, "application/problem+json", &[&refused.to_string()]));
    at(&provider.base_url(), &["sessions"]).await.failed(&["␛[2JNo: so it is (timeout, HTTP 503)"]);
    provider.play(|_| Reply::open(&[]));
    at(&provider.base_url(), &["sessions", "--timeout", "1"]).await.failed(&["not contextd"]);
}

/// Whether a terminal would show a text as it stands.
fn is_tame(text: &str) -> bool {
    text.chars().all(|char| char == '\n' || !(char.is_control() || ('\u{202a}'..='\u{202e}').contains(&char)))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_transcript_takes_a_terminal_over() {
    let app = App::fresh(&[]);
    let session = told(&app, HOSTILE, HOSTILE).await;
    let said = json!({"role": "user", "content": HOSTILE.repeat(50)});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": HOSTILE, "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": HOSTILE});
    app.append(&session, "openai_chat", json!([said, call, result])).await;
    let (id, url) = (id_of(&session), app.url(""));
    let commands: [&[&str]; 6] =
        [&["sessions"], &["show", id], &["show", HOSTILE], &["top", "--once"], &["stats"], &["compact", id, "--wait"]];
    for args in commands {
        let ran = at(&url, args).await;
        assert!(is_tame(&ran.out) && is_tame(&ran.err), "{args:?}: {ran:?}");
        ran.good();
    }
    let unknown = at(&url, &["show", "\u{1b}[2Jnobody"]).await;
    assert!(is_tame(&unknown.err), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_is_no_failure() {
    let app = App::shared();
    let session = told(app, "cli-pipe", "A title").await;
    let commands: [&[&str]; 4] = [
        &["sessions", "--json", "--limit", "100000"],
        &["show", id_of(&session)],
        &["report", id_of(&session), "-o", "-"],
        &["top", "--once"],
    ];
    for args in commands {
        let mut command = contextd(args);
        let mut child = command.env("CONTEXTD_URL", app.url("")).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert!(child.wait().await.unwrap().success() && said.is_empty(), "{args:?}: {said}");
    }
}
