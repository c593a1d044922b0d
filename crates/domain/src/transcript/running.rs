//! Running requests that contexts show behind their summary, as clients post them back.

use std::collections::BTreeSet;

use super::{Said, text_key};
use crate::model::message::{Block, Message, Role};
use crate::model::running;

/// What is said without these running requests, be they a message, a block or a part of a text. `None`: nothing else.
pub fn without_running(said: Said, requests: &BTreeSet<String>) -> Option<Said> {
    match said {
        Said::Message(message) if message.role == Role::User && holds_one(&message) => {
            let content: Vec<Block> = message.content.into_iter().filter_map(|block| rest(block, requests)).collect();
            (!content.is_empty()).then(|| Said::Message(Message { content, ..message }))
        }
        other => Some(other),
    }
}

fn holds_one(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, Block::Text { text, .. } if running::may_hold(text)))
}

fn rest(block: Block, requests: &BTreeSet<String>) -> Option<Block> {
    let Block::Text { text, opaque } = block else { return Some(block) };
    if !running::may_hold(&text) {
        return Some(Block::Text { text, opaque });
    }
    let key = text_key(&text);
    if requests.iter().any(|request| text_key(request) == key) {
        return None;
    }
    for request in requests {
        if let Some((before, behind)) = text.split_once(request.trim_end()) {
            let parts = [before.trim_end(), behind.trim_start()];
            let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
            return (!text.is_empty()).then_some(Block::Text { text, opaque });
        }
    }
    Some(Block::Text { text, opaque })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::running::RunningRequest;

    #[test]
    fn what_equals_one_is_ours_and_all_else_is_speech() {
        let copy = RunningRequest::copy(Uuid::nil(), "Use port 80.", 100).text;
        let requests = BTreeSet::from([copy.clone()]);
        let user = |texts: &[&str]| {
            let blocks = texts.iter().map(|text| Block::text(*text)).collect();
            Said::Message(Message::new(Role::User, blocks))
        };
        let rest = |texts: &[&str]| without_running(user(texts), &requests);
        assert_eq!(rest(&[&copy]), None);
        assert_eq!(rest(&[&format!("{copy}\n")]), None);
        assert_eq!(rest(&[&copy, "And now?"]), Some(user(&["And now?"])));
        assert_eq!(rest(&[&format!("{copy}\n\nAnd now?")]), Some(user(&["And now?"])));
        let other = copy.replace("80", "81");
        assert_eq!(rest(&[&other]), Some(user(&[&other])));
        assert_eq!(rest(&["Use port 80."]), Some(user(&["Use port 80."])));
    }
}
