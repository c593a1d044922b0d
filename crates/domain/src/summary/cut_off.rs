//! An answer that the output limit has cut off, taken up to its last whole line.

use super::SummaryTask;
use crate::record::evidence::sections::{self, SectionTopic};
use crate::settings::Template;

/// What models put around a whole answer; a cut one has the beginning alone.
const WRAPPERS: [&str; 3] = ["<summary>", "<context-summary>", "<notes>"];

/// Returns the whole lines of an answer that was cut off, without a heading or a bullet that has no words, and with
/// its fences closed. `None` where they tell too little: they must reach what was done, or, where no headings were
/// asked for, half of the words.
pub fn whole_lines(text: &str, task: &SummaryTask) -> Option<String> {
    let text = unwrapped(text);
    let mut lines: Vec<&str> = text.get(..=text.rfind('\n')?)?.lines().collect();
    while lines.last().is_some_and(|line| is_bare(line)) || lines.last().is_some_and(|line| opens_fence(&lines, line)) {
        lines.pop();
    }
    if fences(&lines) % 2 == 1 {
        lines.push("```");
    }
    let whole = lines.join("\n");
    is_enough(&whole, task).then_some(whole)
}

fn unwrapped(text: &str) -> &str {
    let text = WRAPPERS.iter().find_map(|wrapper| text.strip_prefix(wrapper)).unwrap_or(text).trim_start();
    // A fence around the whole, which a summary does not begin with otherwise.
    match text.strip_prefix("```").and_then(|rest| rest.split_once('\n')) {
        Some((_, inside)) if fences(&inside.lines().collect::<Vec<_>>()).is_multiple_of(2) => inside,
        _ => text,
    }
}

/// A line after which something must follow: none, a heading, a bullet without words.
fn is_bare(line: &str) -> bool {
    let words = line.trim().strip_prefix("- [x]").unwrap_or(line);
    let is_empty = words.chars().all(|c| !c.is_alphanumeric() || c.is_ascii_digit() && words.trim_end().ends_with('.'));
    is_heading(line) || is_empty && !is_fence(line)
}

fn opens_fence(lines: &[&str], last: &str) -> bool {
    is_fence(last) && fences(lines) % 2 == 1
}

fn fences(lines: &[&str]) -> usize {
    lines.iter().filter(|line| is_fence(line)).count()
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#')
}

fn is_enough(text: &str, task: &SummaryTask) -> bool {
    let sections = task.sections();
    if sections.is_empty() || task.template == Template::Prose {
        return text.split_whitespace().count() * 2 >= task.words() as usize;
    }
    let reaches = |topic: SectionTopic| {
        !matches!(topic, SectionTopic::Topic | SectionTopic::Goal | SectionTopic::Rules | SectionTopic::Group)
    };
    // The last heading has words under it.
    text.lines().filter_map(|line| sections::opened(line, sections)).any(|(topic, _)| reaches(topic))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{task, user};
    use super::*;

    const WHOLE: &str =
        "## Goal\n- Ship it\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n### Done\n- [x] Parser moved";

    fn checkpoint() -> SummaryTask {
        task(vec![user("hi")])
    }

    #[test]
    fn ends_with_a_line_that_can_be_the_last() {
        for tail in [
            "\n- [x] Tests gre",
            "\n\n### In Prog",
            "\n\n### In Progress\n",
            "\n\n### In Progress\n- ",
            "\n\n### In Progress\n- [ ]\n",
            "\n\n### In Progress\n- [x]\n",
            "\n\n## Next Steps\n1.\n",
            "\n```",
            "\n```sh\n",
            "\n\n---\n",
        ] {
            let cut = whole_lines(&format!("{WHOLE}{tail}"), &checkpoint());
            assert_eq!(cut.as_deref(), Some(WHOLE), "{tail:?}");
        }
        let fenced = whole_lines(&format!("{WHOLE}\n```sh\ncargo test\ncargo cl"), &checkpoint());
        assert_eq!(fenced.as_deref(), Some(format!("{WHOLE}\n```sh\ncargo test\n```").as_str()));
    }

    #[test]
    fn the_wrapping_comes_off() {
        for head in ["<summary>\n", "```markdown\n", "<summary>\n```\n"] {
            let cut = whole_lines(&format!("{head}{WHOLE}\n- [x] Tests gre"), &checkpoint());
            assert_eq!(cut.as_deref(), Some(WHOLE), "{head:?}");
        }
    }

    #[test]
    fn the_task_alone_is_too_little() {
        for text in [
            "",
            "## Goal",
            "## Goal\n- Ship it",
            "## Goal\n- Ship it\n\n## Constraints & Preferences\n- none\n\n## Pro",
        ] {
            assert_eq!(whole_lines(text, &checkpoint()), None, "{text}");
        }
    }

    #[test]
    fn free_text_must_have_half_of_its_words() {
        let prose = SummaryTask { template: Template::Prose, max_output_tokens: 100, ..checkpoint() };
        let said = |words: usize| format!("{}\nand more", "word ".repeat(words).trim_end());
        assert_eq!(prose.words(), 60);
        assert_eq!(whole_lines(&said(29), &prose), None);
        assert_eq!(whole_lines(&said(30), &prose), Some("word ".repeat(30).trim_end().to_owned()));
    }
}
