//! The real binary on its embedded default, in a data directory of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::Outcome;
use crate::client::Client;
use crate::cpu::CpuTime;

/// A running service. Dropping it kills it; its PostgreSQL stops with it.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    data_dir: TempDir,
}

impl Server {
    /// Starts it with these environment variables, in a folder on a real disk: `fsync` must cost what it costs.
    pub async fn start(environment: &[(&str, String)]) -> Outcome<Server> {
        Server::launch(&["--dev"], environment).await
    }

    /// The same, where every request needs a key.
    pub async fn start_with_keys(environment: &[(&str, String)]) -> Outcome<Server> {
        Server::launch(&[], environment).await
    }

    async fn launch(arguments: &[&str], environment: &[(&str, String)]) -> Outcome<Server> {
        let data_dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command.arg("serve").args(arguments).args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir.path());
        let log = std::fs::File::create(data_dir.path().join("contextd.log"))?;
        command.env_remove("DATABASE_URL").stdout(Stdio::piped()).stderr(log);
        // As `dev/run` and the container set it.
        command.env("MIMALLOC_PURGE_DELAY", "3").env("MIMALLOC_ARENA_EAGER_COMMIT", "0");
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let Some(address) = line.trim().strip_prefix("listening on http://") else {
            child.kill()?;
            return Err(std::fs::read_to_string(data_dir.path().join("contextd.log"))?.into());
        };
        Ok(Server { address: address.parse()?, child, data_dir })
    }

    pub async fn client(&self) -> Outcome<Client> {
        Client::connect(self.address).await
    }

    /// A key of a tenant of its own.
    pub fn make_key(&self, tenant: &str) -> Outcome<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command.args(["keys", "create", "--tenant", tenant, "--data-dir"]).arg(self.data_dir.path());
        let output = command.env_remove("DATABASE_URL").stderr(Stdio::null()).output()?;
        if !output.status.success() {
            return Err("no key was made".into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// How to reach its PostgreSQL: the server's own lock file says where its socket is.
    pub fn database(&self) -> Outcome<PgConnectOptions> {
        let lock = std::fs::read_to_string(self.data_dir.path().join("postgres/postmaster.pid"))?;
        let mut lines = lock.lines().skip(3);
        let port: u16 = lines.next().ok_or("no port")?.trim().parse()?;
        let socket = lines.next().ok_or("no socket")?.trim();
        let options = PgConnectOptions::new_without_pgpass().socket(Path::new(socket)).port(port);
        Ok(options.username("contextd").database("postgres"))
    }

    /// Processor time used so far by the service, its database and this process.
    pub fn cpu_time(&self) -> Outcome<CpuTime> {
        let lock = std::fs::read_to_string(self.data_dir.path().join("postgres/postmaster.pid"))?;
        let postmaster = lock.lines().next().ok_or("no process")?.trim().parse()?;
        CpuTime::read(self.child.id(), postmaster)
    }

    /// Resident memory now and at its peak.
    pub fn memory_mb(&self) -> Outcome<(f64, f64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let megabytes = |name: &str| -> Outcome<f64> {
            let value = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
            Ok(value.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
        };
        Ok((megabytes("VmRSS:")?, megabytes("VmHWM:")?))
    }

    /// Lets the peak of its memory begin anew.
    pub fn forget_peak(&self) -> Outcome<()> {
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?)
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(mut self) -> Outcome<()> {
        kill(Pid::from_raw(i32::try_from(self.child.id())?), Signal::SIGTERM)?;
        while self.child.try_wait()?.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
