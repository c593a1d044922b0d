//! What the user's messages ask for: the task and its corrections, apart from answers and remarks.

use super::super::super::text::{brief, one_line, sentences, whole};
mod cues;

pub use cues::{denies, is_correction, is_nod};

/// Characters kept of a task, and of what was asked later.
const TASK_CHARS: usize = 500;
const LATER_CHARS: usize = 260;
const ANSWER_CHARS: usize = 240;
/// Sentences that may ask for something: what comes later explains it.
const OPENING: usize = 6;

/// Bytes of a text that is no message any more.
const LONG: usize = 1_000;

/// Opens an item that tells what the user said without asking for anything.
pub const SAID: &str = "The user said: ";

/// Kind of a message of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The task, or a change of it.
    Goal(String),
    /// What the user told: an answer, a choice, an observation.
    Told(String),
    /// Nothing that outlives its answer.
    Nothing,
}

/// Sorts a message. `is_task`: nothing was asked before. `answers`: it follows a question.
pub fn sort(text: &str, is_task: bool, answers: bool) -> Asked {
    let text = without_example(text).replace("<command-args>", " ").replace("</command-args>", " ");
    let text = text.trim();
    let opening: Vec<String> = sentences(text).into_iter().take(OPENING).collect();
    let words = text.split_whitespace().take(60).collect::<Vec<_>>().join(" ");
    if cues::is_nod(&words) || !is_task && cues::is_command(text) {
        return Asked::Nothing;
    }
    if is_task {
        return request(text, TASK_CHARS).map_or(Asked::Nothing, Asked::Goal);
    }
    let routine = cues::is_routine(&words);
    let asks = opening.iter().any(|sentence| cues::is_request(sentence) && !cues::is_routine(sentence));
    let only_asks = opening.iter().all(|sentence| sentence.ends_with(['?', '？']));
    let foreign = !words.is_ascii() && words.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count() > 5;
    let goal = || request(text, LATER_CHARS).map_or(Asked::Nothing, Asked::Goal);
    match () {
        () if routine => Asked::Nothing,
        () if cues::is_correction(&words) && !only_asks => goal(),
        () if asks || foreign && !answers && !only_asks => goal(),
        () if only_asks => Asked::Nothing,
        () => told(text),
    }
}

fn told(text: &str) -> Asked {
    let said: Vec<String> = sentences(text).into_iter().filter(|one| !cues::is_nod(one) && !is_thanks(one)).collect();
    let said = joined(&said);
    match whole(&said, ANSWER_CHARS).filter(|text| text.split_whitespace().count() > 2 || !text.is_ascii()) {
        Some(text) => Asked::Told(format!("{SAID}{text}{}", gap(&text, &said))),
        None => Asked::Nothing,
    }
}

/// Stands behind what ends before its sentence does.
fn gap(text: &str, said: &str) -> &'static str {
    let ended = text.len() == said.len() || text.ends_with(['.', '!', '?', '。', '！', '？']);
    if ended { "" } else { " …" }
}

fn is_thanks(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["thank", "great", "perfect", "excellent", "you're right", "好的", "谢谢"]
        .iter()
        .any(|word| lower.starts_with(word))
        && lower.len() < 60
}

/// Sentences on one line; what ends without a mark, as headings and items do, gets one.
fn joined(sentences: &[String]) -> String {
    let mut text = String::new();
    for (at, sentence) in sentences.iter().enumerate() {
        text.push_str(sentence);
        let ends = sentence
            .ends_with(|c: char| c.is_ascii_punctuation() && c != '`' && c != ')' || "。！？：；，、".contains(c));
        if at + 1 < sentences.len() {
            text.push_str(if ends { " " } else { "; " });
        }
    }
    text
}

/// The user's request from the first sentences of a message, uncut as far as sentences end; of a document its title.
fn request(text: &str, width: usize) -> Option<String> {
    if let Some(title) = title(text) {
        return Some(brief(title, width));
    }
    let said = sentences(text).into_iter().filter(|sentence| !cues::is_nod(sentence)).take(12);
    let said = joined(&said.collect::<Vec<_>>());
    let said = if said.is_empty() { brief(text, width) } else { said };
    let text = whole(&said, width).unwrap_or_else(|| brief(&said, width));
    text.chars().any(char::is_alphanumeric).then(|| one_line(&text))
}

/// The title of a document with sections, as the text of a command is.
fn title(text: &str) -> Option<&str> {
    let first = text.lines().next().filter(|line| line.starts_with("# "))?;
    let headings = text.lines().filter(|line| line.starts_with("## ")).take(3).count();
    let title = first.trim_start_matches('#').trim();
    (text.len() > LONG && headings > 2 && title.chars().any(char::is_alphabetic)).then_some(title)
}

/// The message without the worked example that some harnesses put before the task.
fn without_example(text: &str) -> &str {
    const ENDS: [&str; 4] =
        ["NEW TASK DESCRIPTION", "--- END OF EXAMPLE ---", "--- END OF DEMONSTRATION ---", "END OF EXAMPLE"];
    const OPENINGS: [&str; 3] = ["Here is a demonstration", "Here's a demonstration", "Here's a running example"];
    let text = text.trim_start();
    if !OPENINGS.iter().any(|opening| text.starts_with(opening)) {
        return text;
    }
    let rest = ENDS.iter().find_map(|end| Some(text.rsplit_once(end)?.1));
    rest.unwrap_or_default().trim_start_matches(['-', '=', ':', ' ', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_requests_from_answers_and_remarks() {
        let later = |text: &str| sort(text, false, false);
        for text in [
            "Rename the flag to --dry.",
            "Now do part 3, see ABC-3.",
            "Actually use u64 instead of u32.",
            "请更新文档。",
        ] {
            assert!(matches!(later(text), Asked::Goal(_)), "{text}");
        }
        for text in [
            "which commit?",
            "thanks, great!",
            "commit and push",
            "yes please",
            "run it again",
            "No, that's all for now.",
            "/undo",
            "/clear\n\n/add src/main.rs",
            "Hey",
        ] {
            assert_eq!(later(text), Asked::Nothing, "{text}");
        }
        assert_eq!(
            sort("Sure, my user ID is mia_li_3668.", false, true),
            Asked::Told(format!("{SAID}Sure, my user ID is mia_li_3668."))
        );
        assert!(matches!(sort("why is it broken?", true, false), Asked::Goal(_)));
    }

    #[test]
    fn a_document_is_told_by_its_title() {
        let section =
            |at: usize| format!("\n## Part {at}\n- Check the branch first, then the tests, then the rest of it.\n");
        let text = format!("# Review Command\n{}", (0..20).map(section).collect::<String>());
        assert_eq!(sort(&text, false, false), Asked::Goal("Review Command".into()));
        let short = "# Fix it\n## Where\nPlease fix the parser of src/lex.rs.";
        assert_eq!(sort(short, false, false), Asked::Goal("Please fix the parser of src/lex.rs.".into()));
    }

    #[test]
    fn the_task_comes_after_the_example() {
        let text = "Here's a running example of how to do it.\n--- START OF EXAMPLE ---\nUSER: Make a list.\n--- END OF EXAMPLE ---\n--------- NEW TASK DESCRIPTION: ---------\nCreate hello.py.";
        assert_eq!(sort(text, true, false), Asked::Goal("Create hello.py.".into()));
        assert_eq!(sort("Here is a demonstration of how to do it. DEMONSTRATION: x", true, false), Asked::Nothing);
    }
}
