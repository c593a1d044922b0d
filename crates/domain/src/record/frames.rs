//! What a program puts around the user's messages.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::quote::{FENCE, GAP};

/// The fewest messages of the user's that may have a frame in common.
const FRAMED: usize = 5;
/// The least length of a line that counts as one of a frame: short answers are alike without one.
const FRAME_LINE: usize = 16;

/// The fewest messages that have a block of data under the same heading, and how many blocks are looked at in one.
const HEADED: usize = 3;
const MOST_BLOCKS: usize = 8;
/// What opens a block of data.
const DATA: &str = "```json";
/// The most that is told of a value that differs from message to message, in bytes.
const LONGEST_NAME: usize = 40;

/// A block of JSON in a message, with the line that heads it.
struct HeadedBlock {
    heading: String,
    json: Value,
    /// Where it stands in the message, with its heading.
    place: Range<usize>,
}

/// The blocks of data in a message, each with the line before it.
fn headed_blocks(text: &str) -> Vec<HeadedBlock> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(DATA).map(|at| from + at).filter(|_| found.len() < MOST_BLOCKS) {
        let inside = at + DATA.len();
        let Some(end) = text[inside..].find(FENCE).map(|end| inside + end) else { break };
        let before = text[from..at].trim_end();
        let heading = before.rsplit('\n').next().unwrap_or_default();
        let start = from + before.len() - heading.len();
        from = end + FENCE.len();
        if let Ok(json) = serde_json::from_str(&text[inside..end])
            && heading.trim_end().ends_with([':', '：'])
        {
            found.push(HeadedBlock { heading: heading.trim().to_owned(), json, place: start..from });
        }
    }
    found
}

/// The short texts of a value that name something: no numbers, no times.
fn names_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let is_name =
                !text.is_empty() && text.len() <= LONGEST_NAME && digits * 3 <= text.len() && !text.contains('\n');
            if is_name { vec![text] } else { Vec::new() }
        }
        Value::Object(fields) => fields.values().flat_map(names_of).collect(),
        Value::Array(list) => list.iter().take(MOST_BLOCKS).flat_map(names_of).collect(),
        _ => Vec::new(),
    }
}

/// Tells of data that a gateway puts before the user's messages, each time under the same heading, only the names that differ
/// from message to message: who wrote it.
pub(super) fn drop_data(messages: &mut [&mut String]) {
    let read: Vec<Vec<HeadedBlock>> = messages.iter().map(|text| headed_blocks(text)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for blocks in &read {
        let headings: HashSet<&str> = blocks.iter().map(|block| block.heading.as_str()).collect();
        headings.into_iter().for_each(|heading| *counts.entry(heading).or_default() += 1);
        let all: HashSet<&str> = blocks.iter().flat_map(|block| names_of(&block.json)).collect();
        all.into_iter().for_each(|name| *names.entry(name).or_default() += 1);
    }
    let most = counts.values().copied().max().unwrap_or_default();
    if most < HEADED {
        return;
    }
    let is_frames = |block: &&HeadedBlock| {
        block.json.is_object() && counts.get(block.heading.as_str()).is_some_and(|count| *count >= HEADED)
    };
    for (text, blocks) in messages.iter_mut().zip(&read) {
        let blocks: Vec<&HeadedBlock> = blocks.iter().filter(is_frames).collect();
        if blocks.is_empty() {
            continue;
        }
        let mut told: Vec<&str> = Vec::new();
        for name in blocks.iter().copied().flat_map(|block| names_of(&block.json)) {
            let differs = names.get(name).is_some_and(|count| *count < most);
            let is_told = told.iter().any(|before| before.contains(name) || name.contains(before));
            if differs && !is_told {
                told.push(name);
            }
        }
        let mut left = if told.is_empty() { String::new() } else { format!("[{}] ", told.join(", ")) };
        let mut at = 0;
        for block in &blocks {
            left.push_str(text[at..block.place.start].trim_start());
            at = block.place.end;
        }
        left.push_str(text[at..].trim_start());
        if left.lines().any(|line| line.chars().any(char::is_alphabetic)) {
            **text = left.trim().to_owned();
        }
    }
}

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

    /// Who wrote is told, and not the gateway's numbers and times.
    #[test]
    fn of_data_before_each_message_the_writer_is_told() {
        let message = |sender: &str, n: usize, said: &str| {
            format!(
                "Conversation info:\n```json\n{{\n \"message_id\": \"14857079506676{n}\",\n \"sender\": \"{sender}\",\n \
                 \"space\": \"#family\",\n \"timestamp\": \"Tue 2026-03-24 0{n}:32\"\n}}\n```\n\n{said}"
            )
        };
        let said =
            ["Remind us at nine.", "Add the show on Saturday.", "Not on Friday.", "Look at {\n```json\n[1]\n```"];
        let senders = ["Ann", "Bob", "Ann", "Ann"];
        let mut texts: Vec<String> = (0..4).map(|n| message(senders[n], n, said[n])).collect();
        drop_data(&mut texts.iter_mut().collect::<Vec<_>>());
        assert_eq!(texts[..3], ["[Ann] Remind us at nine.", "[Bob] Add the show on Saturday.", "[Ann] Not on Friday."]);
        assert!(texts[3].ends_with("```json\n[1]\n```"), "what the user pastes stays: {}", texts[3]);
        let mut one = [message("Ann", 1, "Hello.")];
        drop_data(&mut one.iter_mut().collect::<Vec<_>>());
        assert!(one[0].contains("message_id"));
    }
}
