//! Paths in a patch as Codex writes it (`*** Begin Patch` … `*** End Patch`).

use super::ops::FileOps;
use crate::settings::FileKind;

const BEGIN: &str = "*** Begin Patch";

/// Returns true if the text holds a patch as Codex writes it.
pub fn holds_patch(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Adds the files that a patch creates, changes, deletes or moves. Returns true if it names any.
pub fn collect(text: &str, ops: &mut FileOps) -> bool {
    let mut updated = None;
    let mut any = false;
    for line in text.lines() {
        let named = |marker: &str| line.strip_prefix(marker).map(str::trim).filter(|path| !path.is_empty());
        if let Some(path) = named("*** Add File: ") {
            ops.add(FileKind::Write, path);
        } else if let Some(path) = named("*** Update File: ") {
            ops.add(FileKind::Edit, path);
            updated = Some(path);
        } else if let Some(path) = named("*** Delete File: ") {
            ops.delete(path);
        } else if let Some(path) = named("*** Move to: ") {
            updated.take().into_iter().for_each(|from| ops.delete(from));
            ops.add(FileKind::Write, path);
        } else {
            continue;
        }
        any = true;
    }
    any
}
