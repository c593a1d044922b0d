//! A terminal with a command in it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use super::{contextd, told};
use crate::app::App;
use crate::drill_support::id_of;
use crate::patience::{eventually, until};

/// What goes into the terminal; the rest goes into a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    All,
    ErrorsAlone,
}

pub struct Terminal {
    master: File,
    slave: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    pub child: Child,
}

/// The same, as the leader of a session whose terminal its standard input is: so it is told of a new size.
fn own_terminal(command: Command) -> Command {
    let command = command.as_std();
    let mut own = Command::new("setsid");
    own.arg("--ctty").arg(command.get_program()).args(command.get_args()).kill_on_drop(true);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    own
}

impl Terminal {
    /// Runs the binary in a terminal of this size.
    pub fn start(args: &[&str], shows: Shows, columns: u16, rows: u16) -> Terminal {
        Terminal::with(&[], args, shows, columns, rows)
    }

    /// The same, with more in its environment.
    pub fn with(envs: &[(&str, &str)], args: &[&str], shows: Shows, columns: u16, rows: u16) -> Terminal {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
        // Nobody but its own child holds it: when this end is closed, that one is told.
        for end in [&master, &slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = contextd(args);
        if shows == Shows::All {
            command = own_terminal(command);
            command.stdin(end()).stdout(end());
        }
        command.env_remove("NO_COLOR").envs(envs.iter().copied());
        let child = command.env("TERM", "xterm").stderr(end()).spawn().unwrap();
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

    /// All that was ever written to it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    pub fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    pub fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().unwrap().try_into().unwrap()), signal).unwrap();
    }

    /// Gives it another size, as dragging its corner does.
    pub async fn resize(&self, columns: u16, rows: u16) {
        let mut stty = Command::new("stty");
        stty.args(["cols", &columns.to_string(), "rows", &rows.to_string()]);
        assert!(stty.stdin(Stdio::from(self.slave.try_clone().unwrap())).status().await.unwrap().success());
    }

    pub fn echoes(&self) -> bool {
        tcgetattr(&self.slave).unwrap().local_flags.contains(LocalFlags::ECHO)
    }

    pub async fn ended(&mut self) -> ExitStatus {
        let child = std::cell::RefCell::new(&mut self.child);
        eventually("it leaves", async || child.borrow_mut().try_wait().unwrap()).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_fits_its_terminal_and_keeps_the_names() {
    let app = App::shared();
    let session = told(app, "cli-narrow", "A title of some length").await;
    for (columns, is_dated) in [(80, false), (200, true)] {
        for args in [["sessions", "--external-id", "cli-narrow"], ["show", id_of(&session), "--largest=2"]] {
            let mut terminal =
                Terminal::start(&[&args[..], &["--url", &app.url("")]].concat(), Shows::All, columns, 40);
            assert!(terminal.ended().await.success(), "{}", terminal.text());
            let last = if args[0] == "show" { "TASK" } else { "cli-n" };
            until("all is shown", async || terminal.text().contains(last)).await;
            let text = terminal.text();
            let table = text
                .lines()
                .filter(|line| ["SESSION ", "COMPACTION ", id_of(&session)].iter().any(|name| line.starts_with(name)));
            for line in table.filter(|line| !line.contains('\u{b7}')) {
                assert!(line.chars().count() <= usize::from(columns), "{line}");
            }
            assert_eq!(text.contains("CHANGED") || text.contains("CREATED"), is_dated, "{text}");
        }
    }
}
