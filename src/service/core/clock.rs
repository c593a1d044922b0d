//! The only place that reads the clock and draws ids.

use chrono::{DateTime, SubsecRound, Utc};
use uuid::{Builder, Uuid};

/// Now, cut to the microseconds that PostgreSQL keeps.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// A new time-ordered id.
#[expect(clippy::disallowed_methods, reason = "this is where ids are made")]
pub fn new_id() -> Uuid {
    Uuid::now_v7()
}

/// 64 hex digits from the system's generator.
pub fn secret() -> String {
    let bytes: [u8; 32] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key from the system's generator.
pub fn random_key() -> [u8; 32] {
    rand::random()
}

/// A nonce from the system's generator.
pub fn nonce() -> [u8; 12] {
    rand::random()
}

/// An entry's id: a UUIDv7 whose last 32 bits are the entry's `seq`, so that an id is found through the primary
/// key and needs no index of its own.
pub fn entry_id(at: DateTime<Utc>, seq: i64) -> Uuid {
    let millis = u64::try_from(at.timestamp_millis()).unwrap_or(0);
    let mut bytes: [u8; 10] = rand::random();
    bytes[6..].copy_from_slice(&(seq as u32).to_be_bytes());
    Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

/// The `seq` that [`entry_id`] put into an id. Any other id gives a number that leads to no entry of that id.
pub fn seq_of(id: Uuid) -> i64 {
    let bytes = id.as_bytes();
    i64::from(u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_id_is_a_version_7_uuid_that_carries_its_seq() {
        for seq in [0, 1, 77, 1 << 20, i64::from(u32::MAX)] {
            let id = entry_id(now(), seq);
            assert_eq!(id.get_version_num(), 7);
            assert_eq!(seq_of(id), seq);
        }
        assert_ne!(entry_id(now(), 5), entry_id(now(), 5));
    }
}
