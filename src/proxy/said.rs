//! What one message says, as a digest: conversations that begin with other documents are told apart by it.

use serde_json::Value;

use crate::domain::model::message::{Block, Media, Message, Role};
use crate::domain::transcript::{TextKey, text_key};

/// What marks a parameter of an address that is signed anew each time.
const SIGNATURES: [&str; 2] = ["signature", "sig"];

/// Returns true if the message says anything: thinking alone does not.
pub fn says(message: &Message) -> bool {
    !message.plain_text().trim().is_empty() || shown(message).next().is_some()
}

/// Stands for a text of the message's and what it shows beside it.
pub fn key(message: &Message, text: &str) -> TextKey {
    let key = text_key(text);
    let mut shown = shown(message).peekable();
    if shown.peek().is_none() {
        return key;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key);
    shown.for_each(|block| digest(block, &mut hasher));
    *hasher.finalize().as_bytes()
}

/// What others than the model show: images, documents, and blocks that this service can't read.
fn shown(message: &Message) -> impl Iterator<Item = &Block> {
    let is_shown = |block: &&Block| match block {
        Block::Raw(_) => message.role == Role::User,
        block => block.is_media(),
    };
    message.content.iter().filter(is_shown)
}

fn digest(block: &Block, hasher: &mut blake3::Hasher) {
    match block {
        Block::Image { source } | Block::Document { source } => _ = hasher.update(medium(source)),
        Block::Raw(raw) => {
            // A mark of the cache's moves from message to message.
            let fields = raw.value.as_object().into_iter().flatten().filter(|(name, _)| *name != "cache_control");
            fields.for_each(|(name, value)| _ = hasher.update(name.as_bytes()).update(text_of(value).as_bytes()));
        }
        _ => {}
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn medium(source: &Media) -> &[u8] {
    let Media { data, url, text, file_id, .. } = source;
    let bytes = data.as_deref().or(text.as_deref()).or(file_id.as_deref()).or_else(|| url.as_deref().map(address));
    bytes.unwrap_or_default().as_bytes()
}

/// An address without what is signed anew each time.
fn address(url: &str) -> &str {
    let Some((path, query)) = url.split_once('?') else { return url };
    let names = || query.split('&').filter_map(|pair| pair.split('=').next()).flat_map(|name| name.rsplit('-').next());
    let is_signed = names().any(|name| SIGNATURES.iter().any(|signature| name.eq_ignore_ascii_case(signature)));
    if is_signed { path } else { url }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(url: &str) -> Message {
        let source = Media { url: Some(url.to_owned()), ..Media::default() };
        Message::new(Role::User, vec![Block::Image { source }, Block::text("What is it?")])
    }

    fn key_of(message: &Message) -> TextKey {
        key(message, &message.plain_text())
    }

    #[test]
    fn what_is_shown_is_said() {
        assert_eq!(key_of(&Message::text(Role::User, "What?")), text_key("What?"), "as ever where nothing is shown");
        assert_ne!(key_of(&image("https://a.b/1")), key_of(&image("https://a.b/2")));
        assert_ne!(key_of(&image("https://a.b/c?id=1")), key_of(&image("https://a.b/c?id=2")));
        let signed = |by: &str| key_of(&image(&format!("https://a.b/c?X-Amz-Date={by}&X-Amz-Signature={by}")));
        assert_eq!(signed("1"), signed("2"));
    }
}
