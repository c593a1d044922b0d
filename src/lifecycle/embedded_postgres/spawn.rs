//! Child processes under another identity, tied to the life of the thread that starts them.
//! With `unsafe` code: `pre_exec` has no safe form.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getpid, getppid, write};

use super::identity::Identity;

/// A command that runs `program` as `identity`, with no PostgreSQL variable of ours, and that is interrupted (for a server: a
/// fast shutdown) when the spawning thread ends, even by `kill -9`.
pub(super) fn command(program: &Path, identity: Identity) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PG") {
            command.env_remove(&name);
        }
    }
    if let Identity::User(uid, gid) = identity {
        command.uid(uid.as_raw()).gid(gid.as_raw());
    }
    let parent = getpid();
    // SAFETY: between fork and exec only async-signal-safe system calls run; `become_child` allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || become_child(parent, identity == Identity::Namespace));
    }
    command
}

/// Runs after the change of user, which would clear the signal.
fn become_child(parent: Pid, in_namespace: bool) -> io::Result<()> {
    if in_namespace {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        put(c"/proc/self/setgroups", b"deny")?;
        put(c"/proc/self/uid_map", b"65534 0 1")?;
        put(c"/proc/self/gid_map", b"65534 0 1")?;
    }
    set_pdeathsig(Signal::SIGINT)?;
    // The parent may have died before the signal was set.
    if getppid() != parent { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

fn put(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = open(path, OFlag::O_WRONLY, Mode::empty())?;
    if write(&file, text)? == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
