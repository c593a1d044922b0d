//! The lines of a text, and what stands for them.

/// Stands for a text: equal where the texts say the same, white space at the ends of lines and blank lines aside.
pub type TextKey = [u8; 32];

pub fn text_key(text: &str) -> TextKey {
    let mut hasher = blake3::Hasher::new();
    for line in lines(text) {
        hasher.update(line.as_bytes());
        hasher.update(b"\n");
    }
    *hasher.finalize().as_bytes()
}

/// The lines of a text that say something.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_end).filter(|line| !line.is_empty())
}
