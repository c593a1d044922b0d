//! The machine: the data directory, room on its disk, the port, files, memory.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use super::finding::Finding;
use crate::config::Config;

const GIB: u64 = 1 << 30;
const DISK_LOW: u64 = 2 << 30;
const DISK_LEAST: u64 = 200 << 20;
const MEMORY_LEAST: u64 = 256 << 20;
/// Files beside connections: logs, upstreams, hooks, the embedded server.
const OTHER_FILES: u64 = 128;

pub fn look(config: &Config) -> Vec<Finding> {
    let places = [folder(config), port(config)].into_iter().flatten();
    places.chain([disk(config), files(config), memory(config)]).collect()
}

/// Whether the embedded database can be kept where it is to be.
fn folder(config: &Config) -> Option<Finding> {
    const CHECK: &str = "data directory";
    if config.database.url.is_some() {
        return None;
    }
    let wanted = std::path::absolute(&config.data_dir).ok()?;
    let there = standing(&wanted)?;
    let advice = "name another folder with --data-dir, CONTEXTD_DATA_DIR or data_dir, or let this user write there";
    if !there.is_dir() {
        return Some(Finding::fail(CHECK, format!("{} is no folder", there.display()), advice));
    }
    match access(there.as_path(), AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) if there == wanted => Some(Finding::ok(CHECK, format!("{} can be written to", there.display()))),
        Ok(()) => Some(Finding::ok(CHECK, format!("{} can be made", wanted.display()))),
        Err(error) => Some(Finding::fail(
            CHECK,
            format!("nothing can be written to {}: {}", there.display(), error.desc()),
            advice,
        )),
    }
}

/// Whether the service could listen where it is to. That something listens there may be its own doing.
fn port(config: &Config) -> Option<Finding> {
    const CHECK: &str = "port";
    let address = config.listen;
    if !config.role.serves_api() {
        return None;
    }
    let Err(error) = TcpListener::bind(address) else {
        return Some(Finding::ok(CHECK, format!("{address} is free")));
    };
    Some(match error.kind() {
        ErrorKind::AddrInUse => Finding::warn(
            CHECK,
            format!("something listens on {address} already"),
            "fine where that is this service; else stop what `ss -ltnp` shows there, or set listen (CONTEXTD_LISTEN)",
        ),
        ErrorKind::PermissionDenied => Finding::fail(
            CHECK,
            format!("this user may not listen on {address}"),
            "take a port above 1023 (listen, CONTEXTD_LISTEN), or give the program CAP_NET_BIND_SERVICE",
        ),
        ErrorKind::AddrNotAvailable => Finding::fail(
            CHECK,
            format!("{address} is no address of this machine"),
            "set listen (CONTEXTD_LISTEN) to one that is, or to 0.0.0.0 for all",
        ),
        _ => Finding::fail(CHECK, format!("{address}: {error}"), "set listen (CONTEXTD_LISTEN) to another address"),
    })
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
            let found = format!("{} free at {}", size(free), place.display());
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
    let found = format!("{} available; at worst {} are held for bodies", size(available), size(bodies));
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

fn size(bytes: u64) -> String {
    match bytes {
        0..GIB => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / GIB as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB"), None);
        assert_eq!((size(200 << 20), size(3 << 29)), ("200 MiB".to_owned(), "1.5 GiB".to_owned()));
    }
}
