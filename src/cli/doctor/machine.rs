//! The machine: room on the disk, files, memory.

use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;

use super::finding::Finding;
use crate::config::Config;

const DISK_LOW: u64 = 2 << 30;
const DISK_LEAST: u64 = 200 << 20;
const MEMORY_LEAST: u64 = 256 << 20;
/// Files beside connections: logs, upstreams, hooks, the embedded server.
const OTHER_FILES: u64 = 128;

pub fn look(config: &Config) -> Vec<Finding> {
    vec![disk(config), files(config), memory(config)]
}

fn disk(config: &Config) -> Finding {
    const CHECK: &str = "disk";
    if config.database.url.is_some() {
        return Finding::skipped(CHECK, "the database named by DATABASE_URL has its own");
    }
    // The data directory may be still to be made.
    let Some(place) = std::path::absolute(&config.data_dir).ok().and_then(|path| standing(&path)) else {
        return Finding::fail(
            CHECK,
            format!("{} can't be", config.data_dir.display()),
            "set data_dir to a folder's path",
        );
    };
    match statvfs(place.as_path()) {
        Ok(found) => {
            let free = found.blocks_available() * found.fragment_size();
            let found = format!("{} free at {}", gib(free), place.display());
            let advice = "make room: a database whose disk is full takes no changes";
            match free {
                0..DISK_LEAST => Finding::fail(CHECK, found, advice),
                DISK_LEAST..DISK_LOW => Finding::warn(CHECK, found, advice),
                _ => Finding::ok(CHECK, found),
            }
        }
        Err(error) => Finding::warn(CHECK, format!("{}: {error}", place.display()), "see that this user can read it"),
    }
}

fn standing(path: &Path) -> Option<std::path::PathBuf> {
    path.ancestors().find(|ancestor| ancestor.exists()).map(Path::to_path_buf)
}

fn files(config: &Config) -> Finding {
    const CHECK: &str = "open files";
    let wanted = config.server.max_connections as u64 + u64::from(config.database.max_connections) + OTHER_FILES;
    match getrlimit(Resource::RLIMIT_NOFILE) {
        // The service raises the soft limit to the hard one by itself.
        Ok((_, hard)) if hard >= wanted => {
            Finding::ok(CHECK, format!("{hard} may be open, {wanted} are the most needed"))
        }
        Ok((_, hard)) => Finding::warn(
            CHECK,
            format!("{hard} may be open; {wanted} with all connections"),
            "raise the hard limit (LimitNOFILE= of systemd, ulimit -Hn), or lower server.max_connections",
        ),
        Err(error) => Finding::warn(CHECK, error.to_string(), "the limit of open files can't be read"),
    }
}

fn memory(config: &Config) -> Finding {
    const CHECK: &str = "memory";
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let Some(available) = available(&meminfo).map(|host| host.min(group_limit().unwrap_or(u64::MAX))) else {
        return Finding::skipped(CHECK, "this system does not say how much there is");
    };
    let bodies = config.server.buffered(config.limits.max_body_bytes) as u64;
    let wanted = MEMORY_LEAST + bodies;
    let found = format!("{} available; at worst {} are held for bodies", gib(available), gib(bodies));
    match available < wanted {
        true => {
            Finding::warn(CHECK, found, "lower server.max_buffered_bytes or limits.max_body_bytes, or give it more")
        }
        false => Finding::ok(CHECK, found),
    }
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// What a container may have.
fn group_limit() -> Option<u64> {
    std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB"), None);
    }
}
