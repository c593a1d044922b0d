//! The cookie of somebody who has logged in. It names a key by its id and never holds it; what is signed is the tenant,
//! the key's id, the end, and the login's own id, by which it can be ended before.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::service::core::clock;
use crate::service::core::tenant::Tenant;

pub const NAME: &str = "contextd_ui";
/// How long a login holds.
pub const HOURS: i64 = 12;

const SIGNED: usize = 56;
const WHOLE: usize = SIGNED + 32;

/// What cookies and forms are signed with.
pub struct Secret([u8; 32]);

impl From<[u8; 32]> for Secret {
    fn from(bytes: [u8; 32]) -> Secret {
        Secret(bytes)
    }
}

/// Somebody who has logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    pub tenant: Tenant,
    pub key_id: Uuid,
    pub ends_at: DateTime<Utc>,
    /// Of this login alone.
    pub id: Uuid,
}

impl Login {
    pub fn now(tenant: Tenant, key_id: Uuid, now: DateTime<Utc>) -> Login {
        Login { tenant, key_id, ends_at: now + TimeDelta::hours(HOURS), id: clock::new_id() }
    }

    fn bytes(&self) -> [u8; SIGNED] {
        let mut bytes = [0; SIGNED];
        bytes[..16].copy_from_slice(self.tenant.0.as_bytes());
        bytes[16..32].copy_from_slice(self.key_id.as_bytes());
        bytes[32..40].copy_from_slice(&self.ends_at.timestamp().to_be_bytes());
        bytes[40..].copy_from_slice(self.id.as_bytes());
        bytes
    }
}

impl Secret {
    /// Of a text of any length.
    pub fn of(text: &str) -> Secret {
        Secret(Sha256::digest(text.as_bytes()).into())
    }

    fn mac(&self, purpose: &str, message: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(purpose.as_bytes());
        mac.update(message);
        Some(mac)
    }

    /// The value of a cookie.
    pub fn seal(&self, login: &Login) -> Option<String> {
        let mut whole = login.bytes().to_vec();
        whole.extend(self.mac("login:", &whole)?.finalize().into_bytes());
        Some(URL_SAFE_NO_PAD.encode(whole))
    }

    /// The login of a cookie; `None` for one that is forged, cut off or over.
    pub fn open(&self, value: &str, now: DateTime<Utc>) -> Option<Login> {
        // Decoding is bounded before it begins.
        let whole = URL_SAFE_NO_PAD.decode(value.get(..value.len()).filter(|value| value.len() <= 2 * WHOLE)?).ok()?;
        let (signed, tag) = (whole.get(..SIGNED)?, whole.get(SIGNED..)?);
        self.mac("login:", signed)?.verify_slice(tag).ok()?;
        let (tenant, rest) = signed.split_at(16);
        let (key_id, rest) = rest.split_at(16);
        let (ends_at, id) = rest.split_at(8);
        let ends_at = DateTime::from_timestamp(i64::from_be_bytes(ends_at.try_into().ok()?), 0)?;
        let (tenant, key_id) = (Tenant(Uuid::from_slice(tenant).ok()?), Uuid::from_slice(key_id).ok()?);
        let id = Uuid::from_slice(id).ok()?;
        (now < ends_at).then_some(Login { tenant, key_id, ends_at, id })
    }

    /// The token that a form of this login bears. `cookie` is empty where no key is needed.
    pub fn form_token(&self, cookie: &str) -> String {
        let tag = self.mac("form:", cookie.as_bytes()).map(|mac| mac.finalize().into_bytes());
        tag.map_or_else(String::new, |tag| URL_SAFE_NO_PAD.encode(tag))
    }

    /// Tells if it is the token of this login's forms.
    pub fn is_form_token(&self, cookie: &str, token: &str) -> bool {
        let tag = URL_SAFE_NO_PAD.decode(token).ok();
        let checked = tag.and_then(|tag| self.mac("form:", cookie.as_bytes())?.verify_slice(&tag).ok());
        checked.is_some()
    }
}

/// The value of our cookie among all that a request bears.
pub fn value_of(header: &str) -> Option<&str> {
    header.split(';').find_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> (Secret, Login, DateTime<Utc>) {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let login = Login::now(Tenant(Uuid::from_u128(7)), Uuid::from_u128(9), now);
        (Secret::of("a secret"), login, now)
    }

    #[test]
    fn a_cookie_opens_until_its_end() {
        let (secret, login, now) = login();
        let value = secret.seal(&login).unwrap();
        assert_eq!(secret.open(&value, now), Some(login));
        assert_eq!(secret.open(&value, now + TimeDelta::hours(HOURS)), None);
        assert_eq!(Secret::of("another").open(&value, now), None);
    }

    #[test]
    fn what_was_changed_or_cut_off_does_not_open() {
        let (secret, login, now) = login();
        let value = secret.seal(&login).unwrap();
        for end in 0..value.len() {
            assert_eq!(secret.open(&value[..end], now), None, "{end}");
        }
        for at in 0..value.len() {
            let mut changed = value.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(secret.open(&String::from_utf8(changed).unwrap(), now), None, "{at}");
        }
        for odd in ["", "=", "é", &"A".repeat(100_000), &format!("{value}A")] {
            assert_eq!(secret.open(odd, now), None);
        }
    }

    #[test]
    fn a_forms_token_is_its_logins() {
        let (secret, login, _) = login();
        let value = secret.seal(&login).unwrap();
        let token = secret.form_token(&value);
        assert!(secret.is_form_token(&value, &token) && secret.is_form_token("", &secret.form_token("")));
        assert!(!secret.is_form_token("", &token) && !secret.is_form_token(&value, ""));
        assert!(!secret.is_form_token(&value, &value), "a cookie is no token");
    }

    #[test]
    fn finds_the_cookie_among_others() {
        assert_eq!(value_of("a=b; contextd_ui=x; c=d"), Some("x"));
        assert_eq!(value_of("contextd_ui2=x; other=contextd_ui=y"), None);
        assert_eq!(value_of("contextd_ui"), None);
    }
}
