//! Recordings and oracle answers outside of the repository: in `../shared`, or where `CONTEXTD_SHARED` says. `build.rs`
//! looks whether they are there. A test that needs them is ignored where they are not:
//! `#[cfg_attr(not(shared), ignore = "needs ../shared")]`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Where a part of them is.
pub fn path(part: &str) -> PathBuf {
    let path = Path::new(env!("CONTEXTD_SHARED_AT")).join(part);
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// Reads a file of them, unpacked.
pub fn reader(part: &str) -> Box<dyn BufRead> {
    let file = File::open(path(part)).unwrap();
    if part.ends_with(".gz") {
        Box::new(BufReader::new(flate2::read::GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    }
}

/// The whole text of a file of them.
pub fn text(part: &str) -> String {
    let mut text = String::new();
    reader(part).read_to_string(&mut text).unwrap();
    text
}

/// What was built may be older than what lies beside it now.
#[test]
fn they_are_seen_where_they_are() {
    let is_there = Path::new(env!("CONTEXTD_SHARED_AT")).join("corpus").is_dir();
    assert_eq!(is_there, cfg!(shared), "touch build.rs");
}
