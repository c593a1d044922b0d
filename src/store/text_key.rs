//! Keys of free text.

use uuid::Uuid;

/// A key of fixed size for free text that is looked up: PostgreSQL limits what an index row may hold.
pub fn text_key(text: &str) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    Uuid::from_bytes(bytes)
}
