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
        let (name, rest) = name_at(text.strip_prefix('<')?)?;
        let (sender, rest) = attributes(rest)?;
        let (inside, behind) = match rest.strip_prefix('>') {
            Some(open) => up_to_end(open, name)?,
            None => ("", rest.strip_prefix("/>")?),
        };
        Some(Element { sender: sender.or_else(|| sender_inside(name, inside))?, inside, behind })
    }
}

/// The name that a text begins with, and what is behind it.
fn name_at(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let end = text.find(|c: char| !is_name(c)).filter(|end| *end > 0)?;
    Some(text.split_at(end))
}

/// The agent that the attributes of a tag name, and the tag's end with all behind it. `None`: this is no tag, or the user
/// is named.
fn attributes(mut rest: &str) -> Option<(Option<String>, &str)> {
    let mut sender = None;
    loop {
        rest = rest.trim_start();
        if rest.starts_with('>') || rest.starts_with("/>") {
            return Some((sender, rest));
        }
        let (key, behind) = name_at(rest)?;
        rest = behind;
        // An attribute may have no value.
        let Some(given) = behind.trim_start().strip_prefix('=') else { continue };
        let (value, behind) = value_at(given.trim_start())?;
        rest = behind;
        if sender.is_none() && names_sender(key) {
            sender = Some(value.trim().chars().take(NAME_CHARS).collect::<String>());
            sender.as_ref().filter(|sender| !sender.is_empty() && !is_user(sender))?;
        }
    }
}

/// The value of an attribute, with quotes around it or without, and what is behind it.
fn value_at(text: &str) -> Option<(&str, &str)> {
    match text.chars().next()? {
        quote @ ('"' | '\'') => text.get(1..)?.split_once(quote),
        _ => Some(text.split_at(text.find(|c: char| c.is_whitespace() || c == '>')?)),
    }
}

/// What stands in an element that was just opened, and what is behind it. Elements of its own name inside, as a message has
/// them that is passed on, end before it does; where not all of them end, it ends with the last end that there is.
fn up_to_end<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let (mut depth, mut at, mut last) = (1_usize, 0, None);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + found;
        at = start + 1;
        let tag = text.get(at..)?;
        let (is_end, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let Some((_, rest)) = name_at(tag).filter(|(known, _)| *known == name) else { continue };
        let Some(end) = rest.find('>') else { break };
        let behind = rest.get(end + 1..)?;
        at = text.len() - behind.len();
        if is_end {
            depth -= 1;
            last = Some((text.get(..start)?, behind));
        } else if !rest.get(..end)?.ends_with('/') {
            depth += 1;
        }
        if depth == 0 {
            break;
        }
    }
    last
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
    words_of(key).any(|word| SENDERS.iter().any(|sender| word.eq_ignore_ascii_case(sender)))
}

/// The words of a name: `agent_id`, `agent-id`, `x:agent.id` and `agentId` have the same.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(['-', '_', ':', '.']).flat_map(|part| {
        let humps = part.char_indices().zip(part.chars().skip(1));
        let mut begins: Vec<usize> = humps
            .filter(|((_, before), letter)| before.is_lowercase() && letter.is_uppercase())
            .map(|((at, before), _)| at + before.len_utf8())
            .collect();
        begins.insert(0, 0);
        let ends: Vec<usize> = begins.iter().skip(1).copied().chain([part.len()]).collect();
        begins.into_iter().zip(ends).filter_map(move |(from, to)| part.get(from..to)).collect::<Vec<_>>()
    })
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
