//! Processor time by process. All of them share the machine, so what a request costs is what they use together.

use std::fmt;
use std::ops::{AddAssign, Sub};
use std::path::Path;

use nix::unistd::{SysconfVar, sysconf};

use crate::Outcome;

/// Seconds of processor time used so far, or between two moments.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuTime {
    pub service: f64,
    pub database: f64,
    pub client: f64,
}

impl CpuTime {
    /// Of the service, of the database with the processes that it has ended, and of this process.
    pub fn read(service: u32, postmaster: u32) -> Outcome<CpuTime> {
        let postgres = stat(postmaster)?;
        let mut database = postgres.own + postgres.ended;
        for entry in std::fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A process may have ended since it was listed.
            database += stat(pid).ok().filter(|stat| stat.parent == postmaster).map_or(0.0, |stat| stat.own);
        }
        Ok(CpuTime { service: stat(service)?.own, database, client: stat(std::process::id())?.own })
    }

    /// Microseconds a request.
    pub fn per_request(self, requests: u64) -> PerRequest {
        let each = |seconds: f64| seconds * 1e6 / requests.max(1) as f64;
        PerRequest(CpuTime { service: each(self.service), database: each(self.database), client: each(self.client) })
    }
}

impl Sub for CpuTime {
    type Output = CpuTime;

    fn sub(self, before: CpuTime) -> CpuTime {
        CpuTime {
            service: self.service - before.service,
            database: self.database - before.database,
            client: self.client - before.client,
        }
    }
}

impl AddAssign for CpuTime {
    fn add_assign(&mut self, more: CpuTime) {
        self.service += more.service;
        self.database += more.database;
        self.client += more.client;
    }
}

/// Microseconds by process.
pub struct PerRequest(CpuTime);

impl fmt::Display for PerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CpuTime { service, database, client } = self.0;
        let all = service + database + client;
        write!(f, "{all:.0} µs: contextd {service:.0}, PostgreSQL {database:.0}, client {client:.0}")
    }
}

/// A process's parent, and the seconds that it and those of its children that have ended have used.
struct Stat {
    parent: u32,
    own: f64,
    ended: f64,
}

fn stat(pid: u32) -> Outcome<Stat> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
    // The name in brackets may hold anything, a bracket too.
    let (_, rest) = text.rsplit_once(") ").ok_or("no name")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let field = |n: usize| -> Outcome<u32> { Ok(fields.get(n).ok_or("too few fields")?.parse()?) };
    let per_second = sysconf(SysconfVar::CLK_TCK)?.ok_or("no clock tick")? as f64;
    let seconds = |first: usize| -> Outcome<f64> { Ok(f64::from(field(first)? + field(first + 1)?) / per_second) };
    Ok(Stat { parent: field(1)?, own: seconds(11)?, ended: seconds(13)? })
}
