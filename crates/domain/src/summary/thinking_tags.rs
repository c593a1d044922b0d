//! Thinking that a server leaves in the text of an answer: it comes before the answer, and is taken off.

/// What opens and closes thinking in the templates of open models.
const MARKS: [(&str, &str); 11] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<analysis>", "</analysis>"),
    ("<reflection>", "</reflection>"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
];
/// How thinking opens that has no mark.
const PLAIN: [&str; 4] =
    ["thinking process:", "thought process:", "here's a thinking process", "here is a thinking process"];

/// Channels of the harmony format: the answer stands in the last one called `final`.
const CHANNEL: &str = "<|channel|>";
const FINAL: [&str; 2] = ["<|channel|>final<|message|>", "<|channel|>final <|constrain|>"];
const MESSAGE: &str = "<|message|>";
const ENDS: [&str; 3] = ["<|return|>", "<|end|>", "<|im_end|>"];
/// The same where the server has taken the marks out and left the names.
const BARE: (&str, &str) = ("analysis", "assistantfinal");

/// Returns the answer alone, empty where the text is nothing but thinking.
pub fn without_thinking(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = after_thought(text) {
        text = rest.trim();
    }
    text
}

/// What follows the thinking at the head of a text; `None` where there is none.
fn after_thought(text: &str) -> Option<&str> {
    after_marked(text).or_else(|| after_channels(text)).or_else(|| after_lone_close(text)).or_else(|| after_plain(text))
}

/// Thinking that never ends has no answer behind it.
fn after_marked(text: &str) -> Option<&str> {
    let (open, close) = MARKS.iter().find(|(open, _)| starts_with(text, open))?;
    let thought = text.get(open.len()..)?;
    Some(find(thought, close).and_then(|at| thought.get(at + close.len()..)).unwrap_or_default())
}

fn after_channels(text: &str) -> Option<&str> {
    if let (Some(thought), false) = (text.strip_prefix(BARE.0), text.contains(CHANNEL)) {
        return thought.rfind(BARE.1).and_then(|at| thought.get(at + BARE.1.len()..));
    }
    let text = text.strip_prefix("<|start|>assistant").unwrap_or(text);
    let ahead = text.strip_prefix(CHANNEL)?;
    let last = FINAL.iter().filter_map(|mark| text.rfind(mark)).max();
    let said = match last {
        Some(at) => text.get(at + CHANNEL.len()..).unwrap_or_default(),
        None if ahead.starts_with("final") => ahead,
        None => return Some(""),
    };
    let said = said.split_once(MESSAGE).map_or("", |(_, said)| said).trim_end();
    Some(ENDS.iter().find_map(|end| said.strip_suffix(end)).unwrap_or(said))
}

/// Some servers send the end of the thinking alone, for its beginning stands in their prompt. A summary, which opens
/// with a heading, may speak of such a mark.
fn after_lone_close(text: &str) -> Option<&str> {
    if text.starts_with('#') {
        return None;
    }
    let ends = |close: &'static str| {
        let places = text.rmatch_indices(close).filter(|(at, _)| !text[..*at].ends_with(['`', '"', '\'']));
        places.map(|(at, close)| &text[at + close.len()..]).find(|rest| is_new_beginning(rest))
    };
    MARKS.iter().filter_map(|(_, close)| ends(close)).min_by_key(|rest| rest.len())
}

/// Nothing more, or a line of its own, or a heading right behind the mark.
fn is_new_beginning(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['\n', '\r', '#'])
}

/// Thinking in plain words ends where the answer's first heading stands for the last time: it is drafted before.
fn after_plain(text: &str) -> Option<&str> {
    let opening = text.trim_start_matches(['#', '*', ' ']);
    PLAIN.iter().find(|plain| starts_with(opening, plain))?;
    let (mut first, mut last, mut at) = (None, text.len(), 0);
    for line in text.split_inclusive('\n') {
        let heading = line.trim_end();
        if at > 0 && heading.starts_with('#') && *first.get_or_insert(heading) == heading {
            last = at;
        }
        at += line.len();
    }
    text.get(last..)
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Where `mark` stands first, in whatever case.
fn find(text: &str, mark: &str) -> Option<usize> {
    text.as_bytes().windows(mark.len()).position(|window| window.eq_ignore_ascii_case(mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "## Goal\n- Ship it";

    #[test]
    fn thinking_comes_off_however_it_is_marked() {
        for thinking in [
            "<think>Hm.</think>",
            "\n<THINK>\nHm.\n</Think>\n\n",
            "<thinking>Hm.</thinking>\n",
            "<analysis>\n1. Read it.\n</analysis>\n",
            "<reasoning>Hm.</reasoning>",
            "[THINK]Hm.[/THINK]",
            "◁think▷Hm.◁/think▷",
            "<seed:think>Hm.</seed:think>",
            "<think>One.</think>\n<think>Two.</think>\n<reasoning>Three.</reasoning>\n",
            "<think>An inner <think>block</think> of thinking.\n</think>\n",
            "Okay, the user wants notes.\n\nI will write `</think>` nowhere.\n</think>\n\n",
            "The user wants notes.</think>",
            "Hm.\n[/THINK]\n",
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
            "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>So.<|end|><|start|>assistant<|channel|>final<|message|>",
            "analysisWe need notes. The user wants them.assistantfinal",
            "Thinking Process:\n\n1. **Analyze:** notes are wanted.\n2. Draft:\n## Goal\n- a draft\n\nGood.\n\n",
            "**Thinking Process:**\n\n1. Notes.\n</think>\n\n",
        ] {
            assert_eq!(without_thinking(&format!("{thinking}{ANSWER}")), ANSWER, "{thinking}");
        }
        let ended = format!("<|channel|>final<|message|>{ANSWER}<|return|>");
        assert_eq!(without_thinking(&ended), ANSWER);
    }

    #[test]
    fn thinking_alone_is_no_answer() {
        for text in [
            "<think>Hm",
            "<think>Hm.</think>",
            "  <thinking>Hm.\n\n## Goal\n- a draft",
            "The user wants notes.\n</think>",
            "[THINK]Hm",
            "<|channel|>analysis<|message|>We need",
            "Thinking Process:\n\n1. **Analyze the request:**",
        ] {
            assert_eq!(without_thinking(text), "", "{text}");
        }
    }

    #[test]
    fn a_summary_may_speak_of_thinking() {
        for text in [
            "## Goal\n- Strip <think> from answers.\n\n## Critical Context\n- servers end with </think>\n\n## Next Steps\n1. Go on",
            "Use <think> tags",
            "The parser drops what stands before </think> and `</thinking>`.\nIt works.",
            "Analysis of the crash: analysis.rs:7 panics.",
            "analysis of the crash is done; the assistant finalised it.",
            "Thinking about the process: done.",
            "",
        ] {
            assert_eq!(without_thinking(text), text);
        }
    }

    #[test]
    fn a_long_text_of_marks_takes_no_long_time() {
        for mark in
            ["<think>", "</think>", "<think></think>", "<think></think>\n", "<|channel|>", "Thinking Process:\n## A\n"]
        {
            let text = mark.repeat((4 << 20) / mark.len());
            assert!(without_thinking(&text).len() < text.len());
        }
    }
}
