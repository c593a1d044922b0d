//! The identity that this system permits the server to run as.

use std::process::Stdio;

use nix::unistd::{Uid, User};

use super::binaries::Binaries;
use super::error::StartError;
use super::identity::Identity;
use super::spawn;

/// The best one; `binaries` are tried out inside the namespace.
pub(super) fn identity(binaries: &Binaries) -> Result<Identity, StartError> {
    if !Uid::effective().is_root() {
        return Ok(Identity::Own);
    }
    let mut probe = spawn::command(&binaries.program("postgres"), Identity::Namespace);
    probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        return Ok(Identity::Namespace);
    }
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .map(|user| Identity::User(user.uid, user.gid))
        .ok_or_else(|| {
            StartError::io(
                "PostgreSQL does not run as root",
                "user namespaces are forbidden here, and there is no user `postgres` or `nobody`",
            )
        })
}
