//! Finding PostgreSQL's programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::StartError;

/// The oldest major version the service's SQL is written for.
const OLDEST: u32 = 15;

/// A folder that holds `postgres` and `initdb`, and their major version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    pub directory: PathBuf,
    pub major: u32,
}

impl Binaries {
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// The first usable folder; with `cluster_major` (of a cluster that exists already) the first of that version.
pub(super) fn find(data_dir: &Path, pg_bin: Option<&Path>, cluster_major: Option<u32>) -> Result<Binaries, StartError> {
    let candidates = candidates(data_dir, pg_bin);
    let found: Vec<Binaries> = candidates.iter().filter_map(|directory| inspect(directory)).collect();
    let fits = |binaries: &&Binaries| cluster_major.is_none_or(|major| binaries.major == major);
    if let Some(binaries) = found.iter().find(fits) {
        return Ok(binaries.clone());
    }
    match cluster_major {
        Some(cluster) if !found.is_empty() => Err(StartError::OtherVersion {
            directory: data_dir.display().to_string(),
            cluster,
            found: join(found.iter().map(|binaries| binaries.major.to_string())),
        }),
        _ => Err(StartError::NoBinaries {
            data_dir: data_dir.display().to_string(),
            looked: join(candidates.iter().map(|directory| directory.display().to_string())),
        }),
    }
}

fn join(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn candidates(data_dir: &Path, pg_bin: Option<&Path>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = pg_bin.map(Path::to_path_buf).into_iter().collect();
    places.extend(["pg/bin", "pg"].map(|place| data_dir.join(place)));
    if let Some(beside) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        places.extend(["pg/bin", "pg"].map(|place| beside.join(place)));
    }
    places.extend(system_versions(Path::new("/usr/lib/postgresql")));
    if let Some(path) = std::env::var_os("PATH") {
        places.extend(std::env::split_paths(&path));
    }
    places
}

/// `ROOT/<major>/bin`, newest first: where Debian and Ubuntu keep every installed version.
fn system_versions(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut versions: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.into_iter().map(|version| root.join(version.to_string()).join("bin")).collect()
}

fn inspect(directory: &Path) -> Option<Binaries> {
    // Links (Debian's in PATH) are resolved: the programs look for each other beside themselves.
    let postgres = directory.join("postgres").canonicalize().ok()?;
    let directory = postgres.parent()?.to_path_buf();
    if !directory.join("initdb").is_file() {
        return None;
    }
    let output = Command::new(&postgres).arg("--version").output().ok()?;
    let major = major_version(&String::from_utf8_lossy(&output.stdout))?;
    (major >= OLDEST).then_some(Binaries { directory, major })
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` → 15.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL)")?.1.trim_start();
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 19devel"), Some(19));
        assert_eq!(major_version("bash 5.2"), None);
    }

    #[test]
    fn newest_system_version_first() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9", "15", "101", "common"] {
            std::fs::create_dir(root.path().join(version)).unwrap();
        }
        let names: Vec<_> = system_versions(root.path()).iter().map(|path| path.display().to_string()).collect();
        let expected: Vec<_> = ["101", "15", "9"].map(|v| format!("{}/{v}/bin", root.path().display())).into();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_folder_without_the_programs_is_no_candidate() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(inspect(empty.path()), None);
    }
}
