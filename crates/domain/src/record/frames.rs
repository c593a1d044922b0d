//! What a program puts around the user's messages.

use std::collections::{HashMap, HashSet};

use super::quote::GAP;

/// The fewest messages of the user's that may have a frame in common.
const FRAMED: usize = 5;
/// The least length of a line that counts as one of a frame: short answers are alike without one.
const FRAME_LINE: usize = 16;

/// Takes away the lines that a program puts around most of the user's messages.
pub(super) fn drop_frames(mut messages: Vec<&mut String>) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for text in &messages {
        let said: HashSet<&str> = text.lines().map(str::trim).filter(|line| line.len() >= FRAME_LINE).collect();
        for line in said.into_iter().take(200) {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
    }
    let all = messages.len();
    if all < FRAMED {
        return;
    }
    let frame = |line: &str| counts.get(line.trim()).is_some_and(|count| *count >= 4 && *count * 2 >= all);
    for text in &mut messages {
        let mut kept: Vec<&str> = Vec::new();
        for line in text.lines() {
            // What goes from between other lines is marked; what stands around them all is the frame.
            match (frame(line), kept.iter().rfind(|line| !line.trim().is_empty())) {
                (false, _) => kept.push(line),
                (true, Some(last)) if *last != GAP => kept.push(GAP),
                (true, _) => {}
            }
        }
        while kept.last().is_some_and(|line| *line == GAP || line.trim().is_empty()) {
            kept.pop();
        }
        if kept.iter().any(|line| !line.trim().is_empty()) {
            **text = kept.join("\n").trim().to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_goes_and_what_goes_from_between_is_marked() {
        let frame = "Please answer in the form that was agreed.";
        let mut texts: Vec<String> = (0..6).map(|n| format!("{frame}\nWish {n}\n{frame}")).collect();
        texts.push(format!("> Committing a.tsx\n{frame}\n> Commit 22432"));
        drop_frames(texts.iter_mut().collect());
        assert_eq!(texts[0], "Wish 0");
        assert_eq!(texts[6], "> Committing a.tsx\n[…]\n> Commit 22432");
    }
}
