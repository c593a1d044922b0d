//! The server's files: the cluster made once by `initdb`, the socket's folder, the lock and the log.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use nix::unistd::Uid;

use super::binaries::{self, Binaries};
use super::error::StartError;
use super::identity::Identity;
use super::{detect, spawn};

/// Names the socket only: nothing listens on TCP.
pub(super) const PORT: u16 = 5432;
pub(super) const USER: &str = "contextd";

/// `sockaddr_un` holds 108 bytes with the closing zero, and the server appends this to the folder's path.
const SOCKET_NAME: &str = "/.s.PGSQL.5432";
const SOCKET_PATH_MAX: usize = 107;
const LOG_MAX_BYTES: u64 = 8 * 1024 * 1024;
const LOG_TAIL_BYTES: u64 = 2000;

/// Tuned to be a small neighbour. Durability stays PostgreSQL's default: `fsync` and `synchronous_commit` on.
const SERVER_SETTINGS: [&str; 12] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=64MB",
    "min_wal_size=32MB",
    "max_wal_size=256MB",
    "fsync=on",
    "jit=off",
    "log_checkpoints=off",
    "log_timezone=UTC",
    "timezone=UTC",
    "logging_collector=off",
];

#[derive(Debug)]
pub(super) struct Cluster {
    data_dir: PathBuf,
    pg_bin: Option<PathBuf>,
    pub socket_dir: PathBuf,
}

impl Cluster {
    /// Creates the data directory; starts nothing.
    pub fn locate(data_dir: &Path, pg_bin: Option<PathBuf>) -> Result<Self, StartError> {
        let canonical = std::fs::create_dir_all(data_dir).and_then(|()| data_dir.canonicalize());
        let data_dir =
            canonical.map_err(|error| StartError::io(format!("data directory {}", data_dir.display()), error))?;
        let socket_dir = socket_dir(&data_dir);
        Ok(Self { data_dir, pg_bin, socket_dir })
    }

    pub fn log_file(&self) -> PathBuf {
        self.data_dir.join("postgres.log")
    }

    fn directory(&self) -> PathBuf {
        self.data_dir.join("postgres")
    }

    /// Held by the one process that runs the server; the kernel frees it however that process ends.
    pub fn try_lock(&self) -> Result<Option<File>, StartError> {
        let path = self.data_dir.join("postgres.lock");
        let failed = |error: std::io::Error| StartError::io(path.display().to_string(), error);
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Makes the cluster on the first start and spawns the server. Only the holder of the lock may call it.
    pub fn spawn(&self) -> Result<Child, StartError> {
        let binaries = binaries::find(&self.data_dir, self.pg_bin.as_deref(), self.major_version())?;
        let identity = detect::identity(&binaries)?;
        if !self.directory().exists() {
            self.create(&binaries, identity)?;
        }
        identity.take_over(&self.directory())?;
        private_dir(&self.socket_dir, identity)?;
        let log = self.open_log()?;
        let errors = log.try_clone().map_err(|error| StartError::io("the server's log", error))?;
        let mut command = spawn::command(&binaries.program("postgres"), identity);
        command.arg("-D").arg(self.directory()).arg("-k").arg(&self.socket_dir).args(["-p", &PORT.to_string()]);
        for setting in SERVER_SETTINGS {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        command.spawn().map_err(|error| StartError::io(format!("{}", binaries.directory.display()), error))
    }

    fn major_version(&self) -> Option<u32> {
        std::fs::read_to_string(self.directory().join("PG_VERSION")).ok()?.trim().parse().ok()
    }

    /// `initdb` works under another name: a cluster with its final name is a whole one.
    fn create(&self, binaries: &Binaries, identity: Identity) -> Result<(), StartError> {
        let unfinished = self.data_dir.join("postgres.new");
        // The character classes of Unicode where the system has that locale, for full-text search.
        let mut outcome = Ok(());
        for character_type in ["C.UTF-8", "C"] {
            if unfinished.exists() {
                std::fs::remove_dir_all(&unfinished)
                    .map_err(|error| StartError::io(unfinished.display().to_string(), error))?;
            }
            private_dir(&unfinished, identity)?;
            outcome = initdb(binaries, identity, &unfinished, character_type);
            if outcome.is_ok() {
                break;
            }
        }
        outcome?;
        std::fs::rename(&unfinished, self.directory())
            .and_then(|()| File::open(&self.data_dir)?.sync_all())
            .map_err(|error| StartError::io(self.directory().display().to_string(), error))
    }

    fn open_log(&self) -> Result<File, StartError> {
        let path = self.log_file();
        let too_long = path.metadata().is_ok_and(|metadata| metadata.len() > LOG_MAX_BYTES);
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        if too_long {
            options.write(true).truncate(true);
        } else {
            options.append(true);
        }
        options.open(&path).map_err(|error| StartError::io(path.display().to_string(), error))
    }
}

fn initdb(binaries: &Binaries, identity: Identity, into: &Path, character_type: &str) -> Result<(), StartError> {
    let program = binaries.program("initdb");
    let output = spawn::command(&program, identity)
        .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--username", USER])
        .arg(format!("--lc-ctype={character_type}"))
        .arg("-D")
        .arg(into)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| StartError::io(program.display().to_string(), error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(StartError::InitDb(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// `DATA_DIR/run`, or a short folder named by a hash where that path is too long for a socket.
fn socket_dir(data_dir: &Path) -> PathBuf {
    let inside = data_dir.join("run");
    if inside.as_os_str().len() + SOCKET_NAME.len() <= SOCKET_PATH_MAX {
        return inside;
    }
    let hash = blake3::hash(data_dir.as_os_str().as_bytes()).to_hex();
    let short: String = hash.chars().take(20).collect();
    Path::new("/tmp").join(format!("contextd-{short}"))
}

/// A folder that only `identity` can enter. One that exists must be ours already: names under `/tmp` can be taken by others.
fn private_dir(path: &Path, identity: Identity) -> Result<(), StartError> {
    let failed = |error: std::io::Error| StartError::io(path.display().to_string(), error);
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let metadata = path.symlink_metadata().map_err(failed)?;
            let me = Uid::effective();
            let ours = me.is_root() && path.parent() != Some(Path::new("/tmp")) || metadata.uid() == me.as_raw();
            if !metadata.is_dir() || !(ours || is_servers(identity, metadata.uid())) {
                return Err(StartError::io(path.display().to_string(), "exists and belongs to somebody else"));
            }
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    identity.take_over(path)
}

fn is_servers(identity: Identity, uid: u32) -> bool {
    matches!(identity, Identity::User(user, _) if user.as_raw() == uid)
}

/// The last lines of a log, for an error message.
pub(super) fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(LOG_TAIL_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_or_else(|error| error.to_string(), |bytes| OsStr::from_bytes(&bytes).to_string_lossy().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_path_always_fits() {
        assert_eq!(socket_dir(Path::new("/data")), Path::new("/data/run"));
        let limit = SOCKET_PATH_MAX - SOCKET_NAME.len() - "/run".len();
        let longest = PathBuf::from(format!("/{}", "d".repeat(limit - 1)));
        assert_eq!(socket_dir(&longest), longest.join("run"));
        let too_long = PathBuf::from(format!("/{}", "d".repeat(limit)));
        let short = socket_dir(&too_long);
        assert!(short.starts_with("/tmp"));
        assert!(short.as_os_str().len() + SOCKET_NAME.len() <= SOCKET_PATH_MAX);
        assert_ne!(short, socket_dir(&too_long.join("other")));
    }

    #[test]
    fn a_link_in_the_place_of_the_socket_folder_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        assert!(private_dir(&link, Identity::Own).is_err());
    }

    #[test]
    fn one_holder_of_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let cluster = Cluster::locate(root.path(), None).unwrap();
        let held = cluster.try_lock().unwrap();
        assert!(held.is_some());
        assert!(cluster.try_lock().unwrap().is_none());
        drop(held);
        assert!(cluster.try_lock().unwrap().is_some());
    }
}
