//! Paths in a patch as Codex writes it (`*** Begin Patch` … `*** End Patch`).

use super::ops::FileOps;
use crate::domain::settings::FileKind;

const BEGIN: &str = "*** Begin Patch";

/// Returns true if the text holds a patch as Codex writes it.
pub fn holds_patch(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Adds the files that a patch creates, changes, deletes or moves.
pub fn collect(text: &str, ops: &mut FileOps) {
    const MARKERS: [(&str, FileKind); 4] = [
        ("*** Add File: ", FileKind::Write),
        ("*** Update File: ", FileKind::Edit),
        ("*** Delete File: ", FileKind::Edit),
        ("*** Move to: ", FileKind::Write),
    ];
    for line in text.lines() {
        let found = MARKERS.iter().find_map(|(marker, kind)| Some((*kind, line.strip_prefix(marker)?.trim())));
        if let Some((kind, path)) = found.filter(|(_, path)| !path.is_empty()) {
            ops.add(kind, path);
        }
    }
}
