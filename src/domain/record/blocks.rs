//! Agents that act in their words: a block of code in a message is the command, and what it printed comes in the user's
//! role.

use super::span::Line;

/// A command that the agent wrote as a block, and what a program answered to it.
#[derive(Debug)]
pub(super) struct AnsweredBlock {
    pub command: String,
    pub output: String,
}

/// Takes the last block of an agent's message together with the output right behind it.
pub(super) fn with_outputs<'a>(lines: Vec<Line<'a>>) -> Vec<Line<'a>> {
    let mut joined: Vec<Line<'a>> = Vec::with_capacity(lines.len());
    for line in lines {
        let Line::Harness { text: output } = line else {
            joined.push(line);
            continue;
        };
        let block = match joined.last() {
            Some(Line::Agent { text }) => last_block(text),
            _ => None,
        };
        let Some((words, command)) = block else {
            joined.push(Line::Harness { text: output });
            continue;
        };
        joined.pop();
        if !words.trim().is_empty() {
            joined.push(Line::Agent { text: words });
        }
        joined.push(Line::Block(AnsweredBlock { command, output }));
    }
    joined
}

/// The words around the last closed block between fences, and what stands in it. A block without a command is none.
fn last_block(text: &str) -> Option<(String, String)> {
    let fences: Vec<usize> = text.match_indices("```").map(|(at, _)| at).filter(|at| opens_line(text, *at)).collect();
    let [.., open, close] = fences.as_slice() else { return None };
    if fences.len() % 2 != 0 {
        return None;
    }
    let inner = text[open + 3..*close].split_once('\n').map(|(_, inner)| inner.trim())?;
    let behind = text[close + 3..].trim();
    let words = [text[..*open].trim(), behind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    (!inner.is_empty()).then(|| (words.join("\n\n"), inner.to_owned()))
}

fn opens_line(text: &str, at: usize) -> bool {
    text[..at].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> Line<'static> {
        Line::Agent { text: text.to_owned() }
    }

    fn output(text: &str) -> Line<'static> {
        Line::Harness { text: text.to_owned() }
    }

    #[test]
    fn a_block_and_its_output_are_one() {
        let said = "I look.\n\n```bash\ngrep -n lock src/a.rs\n```";
        let lines = with_outputs(vec![agent(said), output("12: lock"), agent("No block."), output("?")]);
        assert!(matches!(&lines[0], Line::Agent { text } if text == "I look."), "{lines:?}");
        let Line::Block(block) = &lines[1] else { panic!("{lines:?}") };
        assert_eq!((block.command.as_str(), block.output.as_str()), ("grep -n lock src/a.rs", "12: lock"));
        assert!(matches!(&lines[3], Line::Harness { text } if text == "?"), "{lines:?}");
        let open = with_outputs(vec![agent("```\nno end"), output("x")]);
        assert!(matches!(&open[1], Line::Harness { .. }), "{open:?}");
    }
}
