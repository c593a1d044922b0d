//! The message that asks an agent to fold its tasks, told from others.

/// How the prompt begins. A message that begins so is no task of its own when it comes back with the transcript.
pub(crate) const OPENING: &str = "[chapter task]";

/// Returns true if a user's message is the prompt that asks for chapters.
pub fn asks_for_chapters(text: &str) -> bool {
    text.trim_start().starts_with(OPENING)
}
