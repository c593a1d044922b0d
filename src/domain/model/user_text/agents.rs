//! Another agent's words in the user's role: elements that name their sender, and messages with a name.

use serde_json::Value;

use super::super::message::{Block, Message, Role};

/// Words in the name of an attribute that says who speaks.
const SENDERS: [&str; 7] = ["agent", "author", "from", "sender", "speaker", "subagent", "teammate"];
/// Senders whose words are the user's.
const USERS: [&str; 2] = ["user", "human"];
/// Most characters of a sender's name.
pub const NAME_CHARS: usize = 64;
/// Elements that harnesses put around what another agent says, which name it inside if they do.
const NOTICES: [&str; 2] = ["subagent_notification", "task-notification"];
const NOTICE_ID: [&str; 2] = ["<task-id>", "</task-id>"];
/// The element around the words of an agent that is known by the message's name.
const ELEMENT: &str = "agent-message";

/// What other agents say in a text that is nothing but their elements, each behind its sender's name.
pub fn words(text: &str) -> Option<String> {
    let mut rest = text.trim();
    let mut told = Vec::new();
    while !rest.is_empty() {
        let element = Element::at(rest)?;
        told.push(format!("{}: {}", element.sender, element.inside.trim()));
        rest = element.behind.trim_start();
    }
    (!told.is_empty()).then(|| told.join("\n"))
}

struct Element<'t> {
    sender: String,
    inside: &'t str,
    behind: &'t str,
}

impl<'t> Element<'t> {
    /// The element that a text begins with, where an attribute of it names another agent.
    fn at(text: &'t str) -> Option<Element<'t>> {
        let tag = text.strip_prefix('<')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
        let (name, mut rest) = tag.split_at(tag.find(|c: char| !is_name(c)).filter(|end| *end > 0)?);
        let mut sender = None;
        loop {
            rest = rest.trim_start();
            if let Some(open) = rest.strip_prefix('>') {
                let close = format!("</{name}>");
                let end = open.find(&close)?;
                let behind = open.get(end + close.len()..)?;
                let inside = open.get(..end)?;
                return Some(Element { sender: sender.or_else(|| sender_inside(name, inside))?, inside, behind });
            }
            let (key, given) = rest.split_at(rest.find(|c: char| !is_name(c)).filter(|end| *end > 0)?);
            let quoted = given.trim_start().strip_prefix('=')?.trim_start();
            let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, behind) = quoted.get(1..)?.split_once(quote)?;
            rest = behind;
            if sender.is_none() && names_sender(key) {
                sender = Some(value.trim().chars().take(NAME_CHARS).collect::<String>());
                sender.as_ref().filter(|sender| !sender.is_empty() && !is_user(sender))?;
            }
        }
    }
}

/// Who speaks in a notice of a harness's: by a field or an element in it, else by the notice's name.
fn sender_inside(name: &str, inside: &str) -> Option<String> {
    let notice = NOTICES.iter().find(|notice| **notice == name)?;
    let fields = serde_json::from_str::<serde_json::Map<String, Value>>(inside.trim()).unwrap_or_default();
    let by_field = fields.iter().find_map(|(key, value)| value.as_str().filter(|_| names_sender(key)));
    let by_element = || Some(inside.split_once(NOTICE_ID[0])?.1.split_once(NOTICE_ID[1])?.0);
    let sender = by_field.or_else(by_element).map(name_of).filter(|sender| !sender.is_empty());
    Some(sender.unwrap_or_else(|| (*notice).to_owned()))
}

fn names_sender(key: &str) -> bool {
    key.split(['-', '_', ':']).any(|word| SENDERS.iter().any(|sender| word.eq_ignore_ascii_case(sender)))
}

fn is_user(sender: &str) -> bool {
    USERS.iter().any(|user| sender.eq_ignore_ascii_case(user))
}

/// A name as it is kept: on one line, and not without end.
pub fn name_of(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_CHARS).collect()
}

/// The message with its speaker's name before its words, for formats without a field for it. `None`: it says them so
/// already, or has none.
pub fn named(message: &Message) -> Option<Message> {
    let name = message.name().filter(|_| message.role == Role::User).map(name_of)?;
    let mut named = message.clone();
    let text = named.content.iter_mut().find_map(|block| match block {
        Block::Text { text, .. } if !text.trim().is_empty() => Some(text),
        _ => None,
    })?;
    let says_it = text.starts_with(&format!("{name}: ")) || text.starts_with(&format!("<{ELEMENT} "));
    if says_it {
        return None;
    }
    *text = format!("{name}: {}", text.trim_start_matches(['\r', '\n']));
    Some(named)
}

/// The message with its speaker's name before its words, and as another agent's where the name is one of `agents`.
pub fn attributed(mut message: Message, agents: &[String]) -> Message {
    let Some(name) = message.name().filter(|_| message.role == Role::User) else { return message };
    let name = name_of(name);
    let is_agent = agents.contains(&name);
    let mut is_told = false;
    for block in &mut message.content {
        let Block::Text { text, .. } = block else { continue };
        if is_agent {
            let sender = name.replace(['"', '<', '>'], "'");
            *text = format!("<{ELEMENT} agent=\"{sender}\">{text}</{ELEMENT}>");
        } else if !is_told {
            *text = format!("{name}: {text}");
        }
        is_told = true;
    }
    message
}
