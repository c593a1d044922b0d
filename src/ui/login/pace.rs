//! How fast wrong keys may be tried: from each address, and for each tenant that they name, whatever addresses they come
//! from. No key can be guessed: this keeps the database from being asked. What one address does shuts nobody out elsewhere,
//! for a tenant bears as many wrong keys as twenty addresses may send; and who has logged in to it from an address lately
//! still can while more than that try keys of it.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

/// Wrong keys at once from an address, and how long each of them counts.
const AT_ONCE: u32 = 20;
const EACH: Duration = Duration::from_millis(500);
/// Addresses whose wrong keys a tenant bears.
const WIDER: u32 = 20;
/// Addresses and tenants that are remembered, the last ones to come.
const MOST: u64 = 10_000;
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// How long who has logged in is known by the address.
const KNOWN_FOR: Duration = Duration::from_secs(12 * 3_600);

/// Whom the wrong keys of late are counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Party {
    Address(IpAddr),
    Tenant(Uuid),
}

impl Party {
    /// How long a wrong key counts.
    fn each(self) -> Duration {
        match self {
            Party::Address(_) => EACH,
            Party::Tenant(_) => EACH / WIDER,
        }
    }
}

/// A key that is tried: where it comes from, and the tenant that it names.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    address: IpAddr,
    tenant: Option<Uuid>,
}

impl Attempt {
    pub fn new(address: IpAddr, tenant: Option<Uuid>) -> Attempt {
        Attempt { address: network(address), tenant }
    }

    /// Whom it counts for.
    fn parties(self) -> impl Iterator<Item = Party> {
        [Some(Party::Address(self.address)), self.tenant.map(Party::Tenant)].into_iter().flatten()
    }
}

/// The network that one customer has of a provider: anybody has 2^64 addresses of the newer kind.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address @ IpAddr::V4(_) => address,
    }
}

/// Until when the wrong keys of late are counted.
#[derive(Debug)]
pub struct Pace {
    until: moka::sync::Cache<Party, Arc<Mutex<Option<Instant>>>>,
    known: moka::sync::Cache<(IpAddr, Uuid), ()>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            until: moka::sync::Cache::builder().max_capacity(MOST).time_to_idle(REMEMBERED_FOR).build(),
            known: moka::sync::Cache::builder().max_capacity(MOST).time_to_live(KNOWN_FOR).build(),
        }
    }
}

impl Pace {
    /// Lets another key be tried. It counts as a wrong one until it is known to be good, so that many that are tried at
    /// once count too.
    ///
    /// # Errors
    /// How long to wait before the next one.
    pub fn admit(&self, attempt: Attempt) -> Result<(), Duration> {
        let now = Instant::now();
        if let Some(wait) = self.wait_at(attempt, now) {
            return Err(wait);
        }
        self.failed_at(attempt, now);
        Ok(())
    }

    /// Nobody could tell what the key is: it counts no more.
    pub fn untold(&self, attempt: Attempt) {
        for (party, until) in attempt.parties().filter_map(|party| Some((party, self.until.get(&party)?))) {
            let mut until = until.lock().unwrap_or_else(PoisonError::into_inner);
            *until = until.and_then(|until| until.checked_sub(party.each()));
        }
    }

    /// The key was a good one.
    pub fn succeeded(&self, attempt: Attempt) {
        self.untold(attempt);
        if let Some(tenant) = attempt.tenant {
            self.known.insert((attempt.address, tenant), ());
        }
    }

    fn wait_at(&self, attempt: Attempt, now: Instant) -> Option<Duration> {
        let is_known = attempt.tenant.is_some_and(|tenant| self.known.contains_key(&(attempt.address, tenant)));
        let counts = |party: &Party| !is_known || matches!(party, Party::Address(_));
        let wait = |party: Party| {
            let until = (*self.until.get(&party)?.lock().unwrap_or_else(PoisonError::into_inner))?;
            (until.saturating_duration_since(now) + party.each()).checked_sub(EACH * AT_ONCE)
        };
        attempt.parties().filter(counts).filter_map(wait).filter(|wait| !wait.is_zero()).max()
    }

    fn failed_at(&self, attempt: Attempt, now: Instant) {
        for party in attempt.parties() {
            let until = self.until.get_with(party, Arc::default);
            let mut until = until.lock().unwrap_or_else(PoisonError::into_inner);
            *until = Some(until.unwrap_or(now).max(now) + party.each());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(address: &str, tenant: u128) -> Attempt {
        Attempt::new(address.parse().unwrap(), (tenant > 0).then(|| Uuid::from_u128(tenant)))
    }

    fn admits(pace: &Pace, attempt: Attempt, now: Instant) -> bool {
        pace.wait_at(attempt, now).is_none()
    }

    /// Tries as many as there may be.
    fn tire(pace: &Pace, attempt: Attempt, now: Instant) {
        for _ in 0..AT_ONCE {
            assert!(admits(pace, attempt, now));
            pace.failed_at(attempt, now);
        }
        assert!(!admits(pace, attempt, now));
    }

    /// As many addresses as a tenant bears, and no more.
    fn tire_tenant(pace: &Pace, tenant: u128, now: Instant) {
        for host in 0..WIDER {
            tire(pace, from(&format!("198.51.100.{host}"), tenant), now);
        }
    }

    #[test]
    fn wrong_keys_are_bounded_and_forgotten() {
        let (pace, now, attempt) = (Pace::default(), Instant::now(), from("192.0.2.1", 0));
        tire(&pace, attempt, now);
        let wait = pace.wait_at(attempt, now).unwrap();
        assert!(!wait.is_zero() && wait <= EACH && admits(&pace, attempt, now + wait), "{wait:?} is told truly");
        assert!(admits(&pace, attempt, now + EACH * 2));
    }

    #[test]
    fn what_one_does_shuts_nobody_else_out() {
        let (pace, now) = (Pace::default(), Instant::now());
        tire(&pace, from("192.0.2.1", 1), now);
        assert!(!admits(&pace, from("192.0.2.1", 2), now), "that address has to wait");
        assert!(admits(&pace, from("192.0.2.2", 1), now), "but not those who name that tenant elsewhere");
        assert!(admits(&pace, from("192.0.2.2", 2), now) && admits(&pace, from("192.0.2.2", 0), now));
        tire(&pace, from("2001:db8::1", 0), now);
        assert!(!admits(&pace, from("2001:db8::ffff:1", 0), now), "one customer has them all");
        assert!(admits(&pace, from("2001:db8:0:1::1", 0), now));
        assert!(!admits(&pace, from("::ffff:192.0.2.1", 0), now), "the same address, written otherwise");
    }

    #[test]
    fn many_addresses_together_are_bounded_for_each_tenant() {
        let (pace, now) = (Pace::default(), Instant::now());
        tire_tenant(&pace, 1, now);
        let newcomer = from("192.0.2.2", 1);
        let wait = pace.wait_at(newcomer, now).unwrap();
        assert!(admits(&pace, newcomer, now + wait) && wait <= EACH / WIDER, "{wait:?}");
        assert!(admits(&pace, from("192.0.2.2", 2), now) && admits(&pace, from("192.0.2.2", 0), now));
        assert!(admits(&pace, newcomer, now + EACH * AT_ONCE), "what is over is forgotten");
    }

    #[test]
    fn who_was_here_before_is_not_shut_out_by_others() {
        let (pace, now) = (Pace::default(), Instant::now());
        pace.succeeded(from("192.0.2.9", 1));
        tire_tenant(&pace, 1, now);
        assert!(admits(&pace, from("192.0.2.9", 1), now) && !admits(&pace, from("192.0.2.8", 1), now));
        tire(&pace, from("192.0.2.9", 2), now);
        assert!(!admits(&pace, from("192.0.2.9", 1), now), "but by what comes from there");
    }

    #[test]
    fn the_table_is_bounded() {
        let (pace, now) = (Pace::default(), Instant::now());
        for n in 0..30_000_u32 {
            pace.failed_at(Attempt::new(IpAddr::from(n.to_be_bytes()), Some(Uuid::from_u128(n.into()))), now);
        }
        pace.until.run_pending_tasks();
        assert!(pace.until.entry_count() <= MOST);
    }
}
