//! How what is sent to a hook is signed: HMAC-SHA256 as the Standard Webhooks specification has it, so that its published
//! libraries can check it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const ID_HEADER: &str = "webhook-id";
/// Seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// Prefix of a secret in base64.
const PREFIX: &str = "whsec_";

/// A secret's text, of its bytes.
pub fn secret_text(key: &[u8]) -> String {
    format!("{PREFIX}{}", STANDARD.encode(key))
}

/// The bytes of a secret: base64 behind `whsec_`, any other text as it stands. `None`: no base64, or nothing.
pub fn key(secret: &str) -> Option<Vec<u8>> {
    let key = match secret.strip_prefix(PREFIX) {
        Some(encoded) => STANDARD.decode(encoded).ok()?,
        None => secret.as_bytes().to_vec(),
    };
    (!key.is_empty()).then_some(key)
}

/// The signature header of a message: `v1,` and the base64 of the HMAC of `id.timestamp.body`.
pub fn sign(key: &[u8], id: &str, timestamp: i64, body: &str) -> Option<String> {
    // A key of any length will do.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    for part in [id, ".", &timestamp.to_string(), ".", body] {
        mac.update(part.as_bytes());
    }
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn signs_as_the_specification_does() {
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn reads_secrets() {
        assert_eq!(key(&secret_text(&[0, 255, 7])), Some(vec![0, 255, 7]));
        assert_eq!(key("a passphrase"), Some(b"a passphrase".to_vec()));
        assert_eq!(key("whsec_***"), None);
        assert_eq!(key("whsec_"), None);
        assert_eq!(key(""), None);
    }
}
