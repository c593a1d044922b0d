//! Replies of harnesses whose tools answer in the user's role: a text that begins with `[read_file for 'a.ts'] Result:` is
//! what that call returned, and what the user said stands in elements of its own.

/// Ends the head of a result.
const HEAD_END: &str = "] Result:";
/// A head is no longer than this, in bytes: it may quote a whole command.
const MOST_HEAD: usize = 4_096;
/// The element in which these harnesses tell of the editor with every message.
const SURROUNDINGS: &str = "<environment_details>";
/// Elements around the user's own words in such messages. What stands beside them is the harness's.
const WRAPS: [&str; 4] = ["task", "feedback", "answer", "user_message"];
/// Most elements that are looked for in a text.
const MOST_WRAPS: usize = 16;

/// The result of a call that a text tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextResult<'t> {
    /// The name of the tool.
    pub tool: &'t str,
    /// What it returned. Empty: that is the next text of the message.
    pub text: &'t str,
}

impl<'t> TextResult<'t> {
    /// `None`: the text does not begin with the head of a result.
    pub fn of(text: &'t str) -> Option<TextResult<'t>> {
        let inside = text.trim_start().strip_prefix('[')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let tool = inside.get(..inside.find(|c| !is_name(c))?).filter(|tool| !tool.is_empty())?;
        let end = inside.find(HEAD_END).filter(|end| *end <= MOST_HEAD)?;
        inside.get(tool.len()..)?.starts_with([' ', ']']).then_some(())?;
        Some(TextResult { tool, text: inside.get(end + HEAD_END.len()..)?.trim() })
    }
}

/// Returns true if a harness writes messages like the one with these texts around the user's words.
pub fn is_frame<'t>(mut texts: impl Iterator<Item = &'t str>) -> bool {
    texts.any(|text| TextResult::of(text).is_some() || text.contains(SURROUNDINGS))
}

/// The user's words in a text of such a message, and the text without them. `None`: no element says which these are.
pub fn users_part(text: &str) -> Option<(String, String)> {
    let (mut said, mut rest, mut from) = (Vec::new(), String::new(), 0);
    for _ in 0..MOST_WRAPS {
        let Some((start, inside, end)) = first_wrap(text, from) else { break };
        rest.push_str(text.get(from..start)?);
        said.push(inside.trim());
        from = end;
    }
    rest.push_str(text.get(from..)?);
    (!said.is_empty()).then(|| (said.join("\n"), rest.trim().to_owned()))
}

/// The first element around words of the user's from here on, where it begins a line: where it begins, what it holds, where
/// it ends.
fn first_wrap(text: &str, from: usize) -> Option<(usize, &str, usize)> {
    let rest = text.get(from..)?;
    let wrap = |name: &&str| {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let begins_line =
            |at: &usize| rest[..*at].trim_end_matches([' ', '\t']).is_empty() || rest[..*at].ends_with('\n');
        let start = rest.match_indices(&open).map(|(at, _)| at).find(begins_line)?;
        let inside = rest.get(start + open.len()..)?;
        let length = inside.find(&close)?;
        let end = from + start + open.len() + length + close.len();
        Some((from + start, inside.get(..length)?, end))
    };
    WRAPS.iter().filter_map(wrap).min_by_key(|(start, ..)| *start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_names_the_call_that_a_text_is_the_result_of() {
        for (text, tool, result) in [
            ("[read_file for 'src/a.ts'] Result:\n1 | x", "read_file", "1 | x"),
            ("[subagents] Result:\nSucceeded: 4", "subagents", "Succeeded: 4"),
            ("[new_task in code mode: 'Prüfe [alles]'] Result:", "new_task", ""),
            ("[execute_command for 'a\nb'] Result: ok", "execute_command", "ok"),
        ] {
            assert_eq!(TextResult::of(text), Some(TextResult { tool, text: result }), "{text}");
        }
        for none in
            ["[x]", "Result: [read] Result:", "[ERROR] You did not use a tool", "[the file] is it?", "[] Result:", ""]
        {
            assert_eq!(TextResult::of(none), None, "{none}");
        }
    }

    #[test]
    fn elements_hold_the_users_words() {
        let part = |text| users_part(text).map(|(said, rest)| format!("{said}|{rest}"));
        let feedback = "The user has provided feedback:\n<feedback>\nNimm Port 80.\n</feedback>";
        assert_eq!(part(feedback).as_deref(), Some("Nimm Port 80.|The user has provided feedback:"));
        assert_eq!(part("<task>\nA\n</task>\n<answer>B</answer>").as_deref(), Some("A\nB|"));
        for none in ["Use <answer>x</answer> tags.", "<task>open", "1 | <div>\n<feedbacks>x</feedbacks>"] {
            assert_eq!(part(none), None, "{none}");
        }
    }
}
