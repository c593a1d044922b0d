//! `contextd top`, printed once, and in a terminal.

use nix::sys::signal::Signal;
use serde_json::json;

use super::terminal::{Shows, Terminal};
use super::{HOSTILE, at, told};
use crate::app::App;
use crate::drill_support::*;
use crate::patience::until;

#[tokio::test(flavor = "multi_thread")]
async fn one_frame_can_be_printed() {
    let app = App::fresh(&[]);
    let empty = at(&app.url(""), &["top", "--once"]).await.good();
    assert!(empty.starts_with("contextd: ") && empty.contains("SESSION"), "{empty}");
    let session = told(&app, "cli-top", "The fullest").await;
    let frame = at(&app.url(""), &["top", "--once", "--sort", "activity"]).await.good();
    assert!(frame.contains(id_of(&session)) && frame.contains("The fullest"), "{frame}");
    at(&app.url(""), &["top"]).await.failed(&["needs a terminal", "--once"]);
    assert_eq!(at(&app.url(""), &["top", "--sort", "luck"]).await.code, Some(2));
}

fn started(app: &App, columns: u16, rows: u16) -> Terminal {
    Terminal::start(&["top", "--every", "1", "--url", &app.url("")], Shows::All, columns, rows)
}

async fn until_drawn(terminal: &Terminal) {
    until("a frame is drawn", async || terminal.text().contains("fullest first")).await;
    assert!(!terminal.echoes(), "keys are read one by one");
}

async fn until_given_back(terminal: &Terminal) {
    until("it is as it was", async || {
        let text = terminal.text();
        text.contains("\u{1b}[?1049h") && text.ends_with("\u{1b}[?25h\u{1b}[?1049l") && terminal.echoes()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_gives_the_terminal_back() {
    let app = App::fresh(&[]);
    told(&app, "cli-terminal", "In a terminal").await;
    for (key, columns, rows) in [(b"q", 100, 30), (b"\x03", 30, 4)] {
        let mut terminal = started(&app, columns, rows);
        until_drawn(&terminal).await;
        terminal.press(b"s");
        until("the order changes", async || terminal.text().contains("newest first")).await;
        terminal.press(key);
        assert!(terminal.ended().await.success());
        until_given_back(&terminal).await;
    }
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut terminal = started(&app, 100, 30);
        until_drawn(&terminal).await;
        terminal.send(signal);
        assert!(terminal.ended().await.success(), "{signal}");
        until_given_back(&terminal).await;
    }
}

/// The lines of the newest whole frame, which the next one follows.
fn newest_frame(text: &str) -> Vec<String> {
    let codes = regex::Regex::new("\u{1b}\\[[0-9;?]*[a-zA-Z]").unwrap();
    let rows = regex::Regex::new("\u{1b}\\[[0-9]+;1H").unwrap();
    let frame = text.rsplit("\u{1b}[1;1H").nth(1).unwrap_or_default();
    rows.split(frame).map(|row| codes.replace_all(row, "").into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_may_change_its_size_and_hold_hostile_titles() {
    let app = App::fresh(&[]);
    for n in 0..30 {
        app.session(json!({"title": format!("{n} {HOSTILE}")})).await;
    }
    let mut terminal = started(&app, 120, 40);
    until_drawn(&terminal).await;
    for (columns, rows) in [(24, 6), (300, 12), (60, 200), (1, 1), (120, 40)] {
        terminal.resize(columns, rows).await;
        // The head is cut where the terminal ends, so it says which frame is one of the new size.
        let head =
            |width: usize| move |line: &String| line.chars().count() == width.min(60) || line.ends_with("q: leave)");
        until("it is drawn anew", async || {
            let frame = newest_frame(&terminal.text());
            let fits = frame.iter().all(|line| line.chars().count() <= columns.into());
            frame.first().is_some_and(head(columns.into())) && fits && frame.len() <= usize::from(rows) + 1
        })
        .await;
    }
    let text = terminal.text();
    assert!(
        !text.contains(['\u{202e}', '\u{9b}', '\u{7}']) && !text.contains("\u{1b}[2J") && !text.contains("owned\u{7}")
    );
    terminal.press(b"q");
    assert!(terminal.ended().await.success());
    until_given_back(&terminal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_are_left_out_where_nobody_wants_them() {
    let app = App::fresh(&[]);
    let small = json!({"enabled": false, "context_window": 6_000, "reserve_tokens": 1_000, "keep_recent_tokens": 400});
    filled(&app, small, 30).await;
    for (envs, is_coloured) in [(&[] as &[_], true), (&[("NO_COLOR", "1")], false), (&[("NO_COLOR", "")], true)] {
        let mut terminal = Terminal::with(envs, &["top", "--url", &app.url("")], Shows::All, 100, 30);
        until("the red session is drawn", async || terminal.text().contains("red    #")).await;
        terminal.press(b"q");
        assert!(terminal.ended().await.success());
        until_given_back(&terminal).await;
        assert_eq!(terminal.text().contains("\u{1b}[38;5;9m"), is_coloured, "{envs:?}: {}", terminal.text());
    }
}
