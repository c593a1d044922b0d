//! A block of code in a text: agents without tools write their command as one.

/// Begins a part of a text that says what to put in place of what.
pub const CHANGE: &str = "<<<<<<<";

/// The words around the last closed block between fences, and what stands in it. A block without a command is none, nor is
/// one that holds a file or a change of one.
pub fn last_block(text: &str) -> Option<(String, String)> {
    let fences: Vec<usize> = text.match_indices("```").map(|(at, _)| at).filter(|at| opens_line(text, *at)).collect();
    let [.., open, close] = fences.as_slice() else { return None };
    if !fences.len().is_multiple_of(2) {
        return None;
    }
    let inner = text[open + 3..*close].split_once('\n').map(|(_, inner)| inner.trim())?;
    if names_file(text[..*open].trim_end().lines().next_back().unwrap_or_default()) || inner.contains(CHANGE) {
        return None;
    }
    let behind = text[close + 3..].trim();
    let words = [text[..*open].trim(), behind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    (!inner.is_empty()).then(|| (words.join("\n\n"), inner.to_owned()))
}

/// Returns true for a line that is a path and nothing else: what stands in the block below it is that file.
fn names_file(line: &str) -> bool {
    let name = line.trim().trim_matches(['`', '*', '"']);
    let is_word = !name.is_empty() && !name.contains(char::is_whitespace) && !name.ends_with([':', '.']);
    is_word && name.contains('.') && name.contains(char::is_alphabetic)
}

fn opens_line(text: &str, at: usize) -> bool {
    text[..at].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_closed_block_is_the_command() {
        let two = "First:\n```\nls\n```\nI look.\n\n```bash\ngrep -n lock src/a.rs\n```\nThen I tell.";
        let (words, command) = last_block(two).unwrap();
        assert_eq!(command, "grep -n lock src/a.rs");
        assert!(words.starts_with("First:") && words.ends_with("I look.\n\nThen I tell."), "{words}");
        for none in [
            "I change it.\n\nsc/src/Supply.sol\n```solidity\ncontract A {}\n```",
            "```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```",
            "No block.",
            "```\nno end",
            "```\n\n```",
            "Say `ls` now.",
        ] {
            assert_eq!(last_block(none), None, "{none}");
        }
    }
}
