//! The request that the agent is working on, where its own message is no longer shown: a copy of it stands behind the
//! summary, with a line that says what it is.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::message::{Message, Role};

/// Opens both lines.
const MARK: &str = "[running request]";
/// Before the copy of a request. What it says stays true when newer messages follow, and when it was carried out.
const COPY: &str = "[running request] The user's newest message before those below, which go on from it. It stands here in place \
                    of where it was said, and was not sent again; whether it was carried out, what follows tells:";
/// The same in contexts of earlier versions.
const FORMER_COPIES: [&str; 2] = [
    "[running request] The user's message that the next steps go on with. It stands here in place of where it was said, and was \
     not sent again:",
    "[running request] What follows is the user's message that the next steps go on with, once more; it is no new request:",
];
/// Where the first message of the conversation is the request, and stands.
const STILL: &str = "[running request] The messages below go on from the user's request at the beginning of this conversation. This \
                     line is no new request; whether that one was carried out, what follows tells.";
const FORMER_STILL: &str = "[running request] The next steps go on with the user's request at the beginning of this conversation. \
                            This line is no new request.";
/// Between head and tail of one that is too long to stand whole.
const CUT: &str = "[… {} characters left out …]";

/// Named in the record of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRequest {
    /// The entry in which it was asked.
    pub entry_id: Uuid,
    /// What the context shows behind the summary.
    pub text: String,
    pub tokens: u32,
}

impl RunningRequest {
    /// A copy of what was asked, by head and tail where it is longer than `max_chars`.
    pub fn copy(entry_id: Uuid, said: &str, max_chars: usize) -> RunningRequest {
        let text = format!("{COPY}\n\n{}", head_and_tail(said.trim(), max_chars));
        RunningRequest { entry_id, text, tokens: 0 }
    }

    /// One that stands as the first message.
    pub fn still(entry_id: Uuid) -> RunningRequest {
        RunningRequest { entry_id, text: STILL.to_owned(), tokens: 0 }
    }

    /// The message that shows it.
    pub fn message(&self) -> Message {
        Message::text(Role::User, self.text.as_str())
    }
}

/// What a text that may be such a message says: of a copy, the request. `None`: it is nothing but our line.
pub fn asked(text: &str) -> Option<&str> {
    let begun = text.trim_start();
    if !begun.starts_with(MARK) {
        return Some(text);
    }
    let mut copies = [COPY].into_iter().chain(FORMER_COPIES);
    match copies.find_map(|copy| begun.strip_prefix(copy)) {
        Some(said) => Some(said),
        None if [STILL, FORMER_STILL].contains(&begun.trim_end()) => None,
        None => Some(text),
    }
}

/// Returns true if a text may hold such a message.
pub fn may_hold(text: &str) -> bool {
    text.contains(MARK)
}

fn head_and_tail(text: &str, max_chars: usize) -> String {
    let length = text.chars().count();
    if length <= max_chars {
        return text.to_owned();
    }
    let (head, tail) = (max_chars - max_chars / 3, max_chars / 3);
    let offset = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let mark = CUT.replace("{}", &(length - head - tail).to_string());
    format!("{}\n{mark}\n{}", &text[..offset(head)], &text[offset(length - tail)..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_says_what_was_asked() {
        let copy = RunningRequest::copy(Uuid::nil(), " Use port 5177.\n", 100);
        assert_eq!(asked(&copy.text).map(str::trim), Some("Use port 5177."));
        for former in FORMER_COPIES {
            assert_eq!(asked(&format!("{former}\n\nUse port 80.")).map(str::trim), Some("Use port 80."));
        }
        assert_eq!(asked(FORMER_STILL), None);
        assert_eq!(asked(&RunningRequest::still(Uuid::nil()).text), None);
        assert_eq!(asked("[running request] of mine"), Some("[running request] of mine"));
    }

    #[test]
    fn long_ones_stand_by_head_and_tail() {
        let said: String = ('ä'..='ź').collect();
        let copy = RunningRequest::copy(Uuid::nil(), &said, 30).text;
        assert!(copy.contains(&format!("[… {} characters left out …]", said.chars().count() - 30)), "{copy}");
        assert!(copy.ends_with(&said.chars().skip(said.chars().count() - 10).collect::<String>()));
    }
}
