//! Sealing and opening.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use uuid::Uuid;

use super::fitted::{MOST_BYTES, fitted, portable};
use super::{HandleFault, SealingKey};
use crate::model::compaction::CompactionRecord;

const PREFIX: &str = "ctxd1.";
const NONCE_BYTES: usize = 12;
/// The longest handle: text that does not deflate grows by little.
const MOST_CHARS: usize = (MOST_BYTES + 1_024) / 3 * 4;

/// Parts of a handle's text.
struct Parts<'h> {
    /// All before what is sealed.
    head: &'h str,
    key: u32,
    sealed: &'h str,
}

/// Seals what of a record outlives its session; what is beyond [`MOST_BYTES`] is left out. A key may never see a nonce
/// twice. `None`: the cipher refused, which it has no reason to.
pub fn seal(record: &CompactionRecord, tenant: Uuid, key: &SealingKey, nonce: [u8; NONCE_BYTES]) -> Option<String> {
    let head = format!("{PREFIX}{}.", key.id);
    let mut sealed = deflated(fitted(portable(record), MOST_BYTES).as_bytes())?;
    let (cipher, bound) = (cipher(key)?, Aad::from(bound(&head, tenant)));
    cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut sealed).ok()?;
    Some(head + &URL_SAFE_NO_PAD.encode([&nonce[..], &sealed[..]].concat()))
}

/// The number of the key that a handle was sealed with.
///
/// # Errors
/// `Malformed`.
pub fn key_of(handle: &str) -> Result<u32, HandleFault> {
    Ok(parts(handle)?.key)
}

/// Opens a handle with the tenant's key of its number.
///
/// # Errors
/// What is wrong with it.
pub fn open(handle: &str, tenant: Uuid, keys: &[SealingKey]) -> Result<CompactionRecord, HandleFault> {
    let Parts { head, key, sealed } = parts(handle)?;
    let key = keys.iter().find(|known| known.id == key).ok_or(HandleFault::UnknownKey)?;
    let mut bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| HandleFault::Malformed)?;
    let (nonce, sealed) = bytes.split_first_chunk_mut::<NONCE_BYTES>().ok_or(HandleFault::Malformed)?;
    let (cipher, bound) = (cipher(key).ok_or(HandleFault::Refused)?, Aad::from(bound(head, tenant)));
    let opened = cipher.open_in_place(Nonce::assume_unique_for_key(*nonce), bound, sealed);
    let text = inflated(opened.map_err(|_| HandleFault::Refused)?).ok_or(HandleFault::Unreadable)?;
    serde_json::from_slice(&text).map(|record| portable(&record)).map_err(|_| HandleFault::Unreadable)
}

fn parts(handle: &str) -> Result<Parts<'_>, HandleFault> {
    let short = Some(handle).filter(|handle| handle.len() <= MOST_CHARS);
    let (key, sealed) =
        short.and_then(|handle| handle.strip_prefix(PREFIX)?.split_once('.')).ok_or(HandleFault::Malformed)?;
    let key = key.parse().map_err(|_| HandleFault::Malformed)?;
    let head = handle.strip_suffix(sealed).ok_or(HandleFault::Malformed)?;
    Ok(Parts { head, key, sealed })
}

fn cipher(key: &SealingKey) -> Option<LessSafeKey> {
    Some(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key.secret).ok()?))
}

/// The bytes that a handle is bound to.
fn bound(head: &str, tenant: Uuid) -> Vec<u8> {
    [head.as_bytes(), tenant.as_bytes()].concat()
}

fn deflated(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).ok()?;
    encoder.finish().ok()
}

fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let most = MOST_BYTES as u64 + 1;
    DeflateDecoder::new(bytes).take(most).read_to_end(&mut text).ok()?;
    (text.len() <= MOST_BYTES).then_some(text)
}
