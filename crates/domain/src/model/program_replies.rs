//! Replies of programs in the user's role, where an agent has no tools: it writes a command as a block of code, and what the
//! command printed comes as the next message. No single message says who wrote it, but the conversation does: replies to
//! commands have one form, again and again.

use std::collections::{HashMap, HashSet};

use super::code_block::last_block;
use super::message::{Message, Role};
use super::user_text::{is_by_harness, marks_users_words};
use super::written_call::{behind_label, json_at_end};

/// Form of a text that ends at the prompt of a shell.
const PROMPT: u32 = 1;
/// No form: a harness marks words of the user's in it, whatever it answers.
const USERS: u32 = 2;
/// Set in the form of a text that begins with a label: a user may write so too.
const LABELLED: u32 = 1 << 31;
/// A prompt is no longer than this, in characters.
const MOST_PROMPT: usize = 80;
/// So many replies of one form to commands show that a program answers, where they are half of all replies.
const LEAST_REPLIES: usize = 3;
/// Most elements of a text that are looked at.
const MOST_ELEMENTS: usize = 64;

/// The form of a text as a program writes it: it ends at a prompt, holds nothing but elements, or begins with a label.
/// 0: none of them.
fn reply_form(text: &str) -> u32 {
    let text = text.trim();
    if ends_at_prompt(text) {
        return PROMPT;
    }
    let by_label = || behind_label(text).map_or(0, |(label, _)| digest(label) | LABELLED);
    first_element(text).map_or_else(by_label, |name| (digest(name) & !LABELLED).max(USERS + 1))
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

/// A short digest of a text, which is none of the other forms.
pub(super) fn digest(text: &str) -> u32 {
    let [a, b, c, d, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    u32::from_be_bytes([a, b, c, d]).max(USERS + 1)
}

/// Returns whether a message holds a block of code, and in the user's role, the form in which a program may have written it.
pub fn signs_of(message: &Message) -> (bool, u32) {
    let text = message.plain_text();
    let form = match message.role {
        Role::User if marks_users_words(message) => USERS,
        Role::User => reply_form(&text),
        _ => 0,
    };
    let is_call = || message.role == Role::Assistant && json_at_end(&text).is_some();
    (last_block(&text).is_some() || is_call(), form)
}

/// What is seen of a message of the agent's or in the user's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeenMessage {
    pub is_answer: bool,
    pub calls_tools: bool,
    pub holds_block: bool,
    pub reply_form: u32,
    pub by_harness: bool,
    /// The message before it was not read.
    pub is_behind_gap: bool,
}

impl SeenMessage {
    /// `None`: of another role.
    pub fn of(message: &Message) -> Option<SeenMessage> {
        let is_answer = match message.role {
            Role::Assistant => true,
            Role::User => false,
            _ => return None,
        };
        let (holds_block, reply_form) = signs_of(message);
        Some(SeenMessage {
            is_answer,
            calls_tools: message.tool_calls().next().is_some(),
            holds_block,
            reply_form,
            by_harness: is_by_harness(message),
            is_behind_gap: false,
        })
    }
}

/// Behind what a message in the user's role stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// The beginning of the conversation.
    Nothing,
    /// An answer of the agent's with a command, or one without.
    Answer { is_command: bool },
    /// Something that was not read.
    Unknown,
}

/// The places of the messages that a program sent in the user's role. None where the agent calls tools: their results have a
/// role of their own.
pub fn among(messages: &[(usize, SeenMessage)]) -> HashSet<usize> {
    if messages.iter().any(|(_, message)| message.calls_tools) {
        return HashSet::new();
    }
    let mut behind = Behind::Nothing;
    let mut said: Vec<(usize, SeenMessage, Behind)> = Vec::new();
    for (place, message) in messages.iter().copied() {
        if message.is_behind_gap {
            behind = Behind::Unknown;
        }
        match message.is_answer {
            true => behind = Behind::Answer { is_command: message.holds_block },
            false => said.push((place, message, behind)),
        }
    }
    let to_commands = || said.iter().filter(|(_, _, behind)| *behind == Behind::Answer { is_command: true });
    let mut forms: HashMap<u32, usize> = HashMap::new();
    for form in to_commands().map(|(_, message, _)| message.reply_form).filter(|form| !matches!(*form, 0 | USERS)) {
        *forms.entry(form).or_default() += 1;
    }
    let form = forms.into_iter().max_by_key(|(form, count)| (*count, *form)).map(|(form, _)| form);
    let has_form = |message: &SeenMessage| message.by_harness || Some(message.reply_form) == form;
    let count = to_commands().filter(|(_, message, _)| has_form(message)).count();
    if count < LEAST_REPLIES || 2 * count < to_commands().count() {
        return HashSet::new();
    }
    // Who calls by text asks the user by a call too: then what has the label is a program's, and nothing else.
    let has_label = form.is_some_and(|form| form & LABELLED != 0);
    let is_reply = |(_, message, behind): &(usize, SeenMessage, Behind)| match behind {
        _ if message.reply_form == USERS => false,
        _ if has_label => *behind != Behind::Nothing && has_form(message),
        Behind::Nothing => false,
        Behind::Answer { is_command: true } => true,
        // Who asks for a command shows the form of one.
        Behind::Answer { is_command: false } => has_form(message) || message.holds_block,
        Behind::Unknown => has_form(message),
    };
    said.iter().filter(|one| is_reply(one)).map(|(place, _, _)| *place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_harness_marks_as_the_users_is_no_reply() {
        let message = |role, text: &str| Message::text(role, text);
        let mut path = Vec::new();
        for n in 0..4 {
            path.push(message(Role::Assistant, &format!("```sh\nmake step-{n}\n```")));
            path.push(message(Role::User, "<output>\nok\n</output>"));
        }
        path.push(message(Role::Assistant, "Fertig:\n```sh\nmake all\n```"));
        let marked = "New instructions:\n<user_message>\nDer Bau bricht ab.\n</user_message>\n";
        path.push(message(Role::User, &format!("{marked}<environment_details>x</environment_details>")));
        let seen: Vec<(usize, SeenMessage)> =
            path.iter().enumerate().filter_map(|(at, message)| Some((at, SeenMessage::of(message)?))).collect();
        let found = among(&seen);
        assert!(found.contains(&7) && !found.contains(&9), "{found:?}");
    }

    #[test]
    fn what_has_a_label_behind_calls_in_json_is_a_programs_and_the_rest_is_the_users() {
        let call = |name: &str| {
            Message::text(Role::Assistant, format!("Action:\n{{\"name\": \"{name}\", \"arguments\": {{}}}}"))
        };
        let user = |text: &str| Message::text(Role::User, text);
        let path = [
            user("Return: the bottle, please."),
            call("find_user"),
            user("API output: mia_9"),
            call("think"),
            user("API output: "),
            call("respond"),
            user("The second one. And hurry."),
            call("get_order"),
            user("API output: {\"items\": []}"),
        ];
        let seen: Vec<(usize, SeenMessage)> =
            path.iter().enumerate().filter_map(|(at, message)| Some((at, SeenMessage::of(message)?))).collect();
        let mut found: Vec<usize> = among(&seen).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [2, 4, 8]);
    }

    #[test]
    fn forms_are_told_by_structure() {
        assert_eq!(reply_form("a\nroot@box:/src# "), PROMPT);
        assert_eq!(reply_form("<out>a < b</out>\n<code>1</code>"), digest("out") & !LABELLED);
        assert_eq!(reply_form("API output: 7"), digest("API output") | LABELLED);
        for none in ["", "bash-$", "costs 5 $", "see <b>this</b>", "<open", "<a>1</a> and then", "x\n<p>1</p>"] {
            assert_eq!(reply_form(none), 0, "{none}");
        }
    }
}
