//! A block of code in a text: agents without tools write their command as one.

/// The words around the last closed block between fences, and what stands in it. A block without a command is none.
pub fn last_block(text: &str) -> Option<(String, String)> {
    let fences: Vec<usize> = text.match_indices("```").map(|(at, _)| at).filter(|at| opens_line(text, *at)).collect();
    let [.., open, close] = fences.as_slice() else { return None };
    if !fences.len().is_multiple_of(2) {
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

    #[test]
    fn the_last_closed_block_is_the_command() {
        let two = "First:\n```\nls\n```\nI look.\n\n```bash\ngrep -n lock src/a.rs\n```\nThen I tell.";
        let (words, command) = last_block(two).unwrap();
        assert_eq!(command, "grep -n lock src/a.rs");
        assert!(words.starts_with("First:") && words.ends_with("I look.\n\nThen I tell."), "{words}");
        for none in ["No block.", "```\nno end", "```\n\n```", "Say `ls` now."] {
            assert_eq!(last_block(none), None, "{none}");
        }
    }
}
