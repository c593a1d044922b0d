//! Replies of programs in the user's role, where an agent has no tools: it writes a command as a block of code, and what the
//! command printed comes as the next message. No single message says who wrote it, but the conversation does: replies to
//! commands have one form, again and again.

use std::collections::{HashMap, HashSet};

use super::entry::EntryMeta;
use super::message::Role;

/// Form of a text that ends at the prompt of a shell.
const PROMPT: u32 = 1;
/// A prompt is no longer than this, in characters.
const MOST_PROMPT: usize = 80;
/// So many replies of one form to commands show that a program answers, where they are half of all replies.
const LEAST_REPLIES: usize = 3;
/// Most elements of a text that are looked at.
const MOST_ELEMENTS: usize = 64;

/// The form of a text as a program writes it: it ends at a prompt, or holds nothing but elements. 0: neither.
pub fn reply_form(text: &str) -> u32 {
    let text = text.trim();
    if ends_at_prompt(text) { PROMPT } else { first_element(text).map_or(0, digest) }
}

fn ends_at_prompt(text: &str) -> bool {
    text.rsplit_once('\n').is_some_and(|(_, last)| {
        let is_short = last.chars().count() <= MOST_PROMPT;
        is_short && !last.starts_with('<') && last.trim_end().ends_with(['$', '#', '%', '>'])
    })
}

/// The name of the first element of a text in which nothing stands outside of elements.
fn first_element(text: &str) -> Option<&str> {
    let (mut rest, mut first) = (text, None);
    for _ in 0..MOST_ELEMENTS {
        let name: &str = rest.strip_prefix('<')?.split(['>', ' ', '\n', '/']).next().filter(|name| !name.is_empty())?;
        let close = format!("</{name}>");
        let end = rest.find(&close)? + close.len();
        first = first.or(Some(name));
        rest = rest[end..].trim_start();
        if rest.is_empty() {
            return first;
        }
    }
    None
}

fn digest(name: &str) -> u32 {
    let [a, b, c, d, ..] = *blake3::hash(name.as_bytes()).as_bytes();
    u32::from_be_bytes([a, b, c, d]).max(PROMPT + 1)
}

/// Behind what a user's message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// The beginning of the conversation.
    Nothing,
    /// An answer of the agent's with a command, or one without.
    Answer { is_command: bool },
    /// Something that was not read.
    Unknown,
}

/// The places of a path's messages that a program sent in the user's role. None where the agent calls tools: their results
/// have a role of their own.
pub fn places(path: &[EntryMeta]) -> HashSet<usize> {
    if path.iter().any(|head| !head.shape.calls.is_empty()) {
        return HashSet::new();
    }
    let mut behind = if path.first().is_some_and(|first| first.depth == 0) { Behind::Nothing } else { Behind::Unknown };
    let mut depth = None;
    let mut said: Vec<(usize, Behind)> = Vec::new();
    for (place, head) in path.iter().enumerate() {
        if depth.is_some_and(|depth: i64| head.depth > depth + 1) {
            behind = Behind::Unknown;
        }
        depth = Some(head.depth);
        match head.role.filter(|_| head.is_visible()) {
            Some(Role::Assistant) => behind = Behind::Answer { is_command: head.shape.holds_block },
            Some(Role::User) => said.push((place, behind)),
            _ => {}
        }
    }
    let shape = |place: usize| path.get(place).map(|head| &head.shape);
    let replies: Vec<usize> = said
        .iter()
        .filter(|(_, behind)| *behind == Behind::Answer { is_command: true })
        .map(|(place, _)| *place)
        .collect();
    let mut forms: HashMap<u32, usize> = HashMap::new();
    for form in replies.iter().filter_map(|place| shape(*place)).map(|shape| shape.reply_form).filter(|form| *form != 0)
    {
        *forms.entry(form).or_default() += 1;
    }
    let form = forms.into_iter().max_by_key(|(form, count)| (*count, *form)).map(|(form, _)| form);
    let has_form = |place: usize| shape(place).is_some_and(|shape| shape.by_harness || Some(shape.reply_form) == form);
    let count = replies.iter().filter(|place| has_form(**place)).count();
    if count < LEAST_REPLIES || 2 * count < replies.len() {
        return HashSet::new();
    }
    let is_reply = |(place, behind): &(usize, Behind)| match behind {
        Behind::Nothing => false,
        Behind::Answer { is_command: true } => true,
        // Who asks for a command shows the form of one.
        Behind::Answer { is_command: false } => {
            has_form(*place) || shape(*place).is_some_and(|shape| shape.holds_block)
        }
        Behind::Unknown => has_form(*place),
    };
    said.into_iter().filter(is_reply).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::format;
    use crate::domain::model::entry_type::EntryType;
    use crate::domain::model::format::Format;
    use crate::domain::model::open_calls::OpenCalls;
    use crate::domain::model::shape::Shape;

    /// A path of messages, the agent's with `A:` before them.
    fn path_of(texts: &[&str]) -> Vec<EntryMeta> {
        let head = |(seq, text): (i64, &&str)| {
            let said = text.strip_prefix("A:");
            let (role, name) = if said.is_some() { (Role::Assistant, "assistant") } else { (Role::User, "user") };
            let item = serde_json::json!({"role": name, "content": said.unwrap_or(text)}).to_string();
            let item = format::read(Format::OpenaiChat, &item).unwrap();
            EntryMeta {
                id: uuid::Uuid::nil(),
                seq,
                depth: seq,
                kind: EntryType::Message,
                role: Some(role),
                tokens: 1,
                path_tokens: 1,
                usage: None,
                shape: Shape::of(&item, seq, &OpenCalls::default(), &[]),
            }
        };
        (0..).zip(texts).map(head).collect()
    }

    fn found(texts: &[&str]) -> Vec<usize> {
        let mut places: Vec<usize> = places(&path_of(texts)).into_iter().collect();
        places.sort_unstable();
        places
    }

    const ACT: &str = "A:I look.\n```bash\nls\n```";

    #[test]
    fn programs_answer_in_one_form_and_people_do_not() {
        let prompt = "a.rs\nb.rs\n(Current directory: /src)\nbash-$";
        let complaint = "Your answer has no command. Write one:\n```\ncommand\n```";
        let shell = ["Fix it.", ACT, prompt, ACT, prompt, "A:I wonder.", complaint, ACT, "no such file", ACT, prompt];
        assert_eq!(found(&shell), [2, 4, 6, 8, 10]);
        let elements = "<code>0</code>\n<printed>\na.rs\n</printed>";
        let printed = ["Fix it.", ACT, elements, ACT, elements, ACT, elements, "A:It is done.", "Now the tests, too."];
        assert_eq!(found(&printed), [2, 4, 6], "what a person says behind the last answer is theirs");
        let people = ["Write it.", ACT, "Now in Rust.", ACT, "支付也要。", ACT, "And the tests > 3", ACT, "Danke."];
        assert_eq!(found(&people), [0; 0]);
        let wrapped =
            ["<ask>One</ask> please", ACT, "<ask>Two</ask> please", ACT, "<ask>Three</ask> now", ACT, "<ask>4</ask> x"];
        assert_eq!(found(&wrapped), [0; 0], "words stand outside of the elements");
    }

    #[test]
    fn a_reply_whose_command_was_not_read_is_known_by_its_form() {
        let prompt = "done\n$";
        let mut path = path_of(&[prompt, ACT, prompt, ACT, prompt, ACT, prompt, ACT]);
        path.iter_mut().for_each(|head| head.depth += 40);
        assert!(places(&path).contains(&0));
        path[0].shape.reply_form = 0;
        assert!(!places(&path).contains(&0), "it may be the task");
    }

    #[test]
    fn forms_are_told_by_structure() {
        assert_eq!(reply_form("a\nroot@box:/src# "), PROMPT);
        assert_eq!(reply_form("<out>a < b</out>\n<code>1</code>"), digest("out"));
        for none in ["", "bash-$", "costs 5 $", "see <b>this</b>", "<open", "<a>1</a> and then", "x\n<p>1</p>"] {
            assert_eq!(reply_form(none), 0, "{none}");
        }
    }
}
