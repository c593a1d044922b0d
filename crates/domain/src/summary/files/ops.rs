//! Paths by what was done with them, and the lists made of them.

use std::collections::BTreeSet;

use crate::model::compaction::{FileLists, SessionFiles};
use crate::settings::FileKind;

/// Paths by what was done with them. A path may be in several sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOps {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    /// With those that were deleted.
    pub edited: BTreeSet<String>,
    /// Deleted or moved away, and not written since.
    pub deleted: BTreeSet<String>,
    /// Named by calls of tools of which it is not known what they do.
    pub other: BTreeSet<String>,
}

impl FileOps {
    /// Starts from what an earlier summary passes on.
    pub fn seed(&mut self, lists: &FileLists) {
        self.read.extend(lists.read_files.iter().cloned());
        self.edited.extend(lists.modified_files.iter().cloned());
    }

    /// Lists the files that were changed, and those that were only read: disjoint, sorted by UTF-16 code units.
    pub fn lists(&self) -> FileLists {
        let modified: BTreeSet<&String> = self.edited.union(&self.written).collect();
        let read = self.read.iter().filter(|path| !modified.contains(path));
        FileLists { read_files: sorted(read), modified_files: sorted(modified.iter().copied()) }
    }

    /// Lists all that the calls named: each path once, sorted by UTF-16 code units.
    pub fn session_files(&self) -> SessionFiles {
        let FileLists { read_files, mut modified_files } = self.lists();
        modified_files.retain(|path| !self.deleted.contains(path));
        let known =
            |path: &&String| self.read.contains(*path) || self.edited.contains(*path) || self.written.contains(*path);
        let other = self.other.iter().filter(|path| !known(path));
        SessionFiles {
            read_files,
            modified_files,
            deleted_files: sorted(self.deleted.iter()),
            other_paths: sorted(other),
        }
    }

    pub(super) fn note_other(&mut self, path: &str) {
        self.other.insert(path.to_owned());
    }

    /// A file that was deleted was changed, too.
    pub(super) fn delete(&mut self, path: &str) {
        self.add(FileKind::Edit, path);
        self.deleted.insert(path.to_owned());
    }

    pub(super) fn add(&mut self, kind: FileKind, path: &str) {
        let set = match kind {
            FileKind::Read => &mut self.read,
            FileKind::Write => &mut self.written,
            FileKind::Edit => &mut self.edited,
        };
        set.insert(path.to_owned());
        if kind != FileKind::Read {
            self.deleted.remove(path);
        }
    }
}

fn sorted<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut paths: Vec<String> = paths.cloned().collect();
    paths.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
    paths
}
