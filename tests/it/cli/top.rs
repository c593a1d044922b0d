//! `contextd top`, printed once, and in a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use super::{at, contextd, told};
use crate::app::App;
use crate::drill_support::*;
use crate::patience::{eventually, until};

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

/// A terminal of this size with `top` in it.
struct Terminal {
    master: File,
    slave: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    child: tokio::process::Child,
}

impl Terminal {
    fn start(url: &str, columns: u16, rows: u16) -> Terminal {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = contextd(&["top", "--every", "1", "--url", url]);
        let child = command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let master = File::from(master);
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let (mut reader, into) = (master.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                into.lock().unwrap().extend_from_slice(&piece[..read]);
            }
        });
        Terminal { master, slave, shown, child }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.slave).unwrap().local_flags.contains(LocalFlags::ECHO)
    }

    async fn ended(&mut self) -> ExitStatus {
        let child = std::cell::RefCell::new(&mut self.child);
        eventually("it leaves", async || child.borrow_mut().try_wait().unwrap()).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_gives_the_terminal_back() {
    let app = App::fresh(&[]);
    told(&app, "cli-terminal", "In a terminal").await;
    for (key, columns, rows) in [(b"q", 100, 30), (b"\x03", 30, 4)] {
        let mut terminal = Terminal::start(&app.url(""), columns, rows);
        until("a frame is drawn", async || terminal.text().contains("fullest first")).await;
        assert!(!terminal.echoes(), "keys are read one by one");
        terminal.press(b"s");
        until("the order changes", async || terminal.text().contains("newest first")).await;
        terminal.press(key);
        assert!(terminal.ended().await.success());
        until("it is as it was", async || {
            let text = terminal.text();
            text.contains("\u{1b}[?1049h") && text.ends_with("\u{1b}[?25h\u{1b}[?1049l") && terminal.echoes()
        })
        .await;
    }
}
