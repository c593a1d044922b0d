//! Whom the server runs as. PostgreSQL refuses root, so root steps down first.

use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use nix::unistd::{Gid, Uid};

use super::error::StartError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity {
    /// The user that runs contextd, which is not root.
    Own,
    /// Root outside, `nobody` inside a user namespace: the files stay root's, under any folder of root's.
    Namespace,
    /// Another user of the system, where user namespaces are forbidden (most containers).
    User(Uid, Gid),
}

impl Identity {
    /// The owner that the server's files need, as seen from outside; `None`: whoever creates them.
    fn owner(self) -> Option<(u32, u32)> {
        match self {
            Self::Own => None,
            Self::Namespace => Some((0, 0)),
            Self::User(uid, gid) => Some((uid.as_raw(), gid.as_raw())),
        }
    }

    /// Gives `path` and all below it to this identity, when it is somebody else's (an earlier start may have run as another user).
    pub fn take_over(self, path: &Path) -> Result<(), StartError> {
        let Some((uid, gid)) = self.owner() else { return Ok(()) };
        let metadata = path.symlink_metadata();
        if metadata.is_ok_and(|metadata| metadata.uid() == uid && metadata.gid() == gid) {
            return Ok(());
        }
        change_owner(path, uid, gid)
            .map_err(|error| StartError::io(format!("changing the owner of {}", path.display()), error))
    }
}

/// Children first: an interrupted change is seen at the top and done again.
fn change_owner(path: &Path, uid: u32, gid: u32) -> std::io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            change_owner(&entry?.path(), uid, gid)?;
        }
    }
    lchown(path, Some(uid), Some(gid))
}
