//! Recordings and oracle answers: a small set of our own in `tests/data`, and a large one outside of the repository in
//! `../shared`, or where `CONTEXTD_SHARED` says. `build.rs` looks whether the latter is there. A test that needs it is
//! ignored where it is not: `#[cfg_attr(not(shared), ignore = "needs ../shared")]`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Own,
    Shared,
}

impl Source {
    /// Where a part of it is; packed where `part` with `.gz` is there instead.
    pub fn path(self, part: &str) -> PathBuf {
        let root = match self {
            Source::Own => concat!(env!("CONTEXTD_ROOT"), "/tests/data"),
            Source::Shared => env!("CONTEXTD_SHARED_AT"),
        };
        let plain = Path::new(root).join(part);
        let packed = Path::new(root).join(format!("{part}.gz"));
        let found = [plain, packed].into_iter().find(|path| path.exists());
        found.unwrap_or_else(|| panic!("{part} is not in {root}"))
    }

    /// Reads a file of it, unpacked.
    pub fn reader(self, part: &str) -> Box<dyn BufRead> {
        let path = self.path(part);
        let file = File::open(&path).unwrap();
        match path.extension().is_some_and(|extension| extension == "gz") {
            true => Box::new(BufReader::new(flate2::read::GzDecoder::new(file))),
            false => Box::new(BufReader::new(file)),
        }
    }

    /// The whole text of a file of it.
    pub fn text(self, part: &str) -> String {
        let mut text = String::new();
        self.reader(part).read_to_string(&mut text).unwrap();
        text
    }
}

/// No test that needs them is ignored where they are. What was built may be older than what lies beside it now.
#[test]
fn they_are_seen_where_they_are() {
    let is_there = ["corpus", "oracle"].iter().any(|part| Path::new(env!("CONTEXTD_SHARED_AT")).join(part).is_dir());
    assert_eq!(is_there, cfg!(shared), "touch build.rs");
}
