//! The prompts. All of them are rendered here and nowhere else; their words stand in files under `prompts/`.

use super::super::settings::Template;
use super::transcript::{neutralise, without_tags};
use super::{SummaryPart, SummaryTask};
use crate::record::quote::{self, shortened};
use crate::record::{RecordSource, ShownSpan};
use crate::settings::Estimator;
use crate::tokens::count_text;

/// Names the words of the prompts: changed whenever one of the files is.
pub const PROMPT_VERSION: &str = "2026-11-26.3";

/// Prompt that a model is sent for one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub system: String,
    pub user: String,
}

const SYSTEM: &str = include_str!("../../../../prompts/system.md");
const MATERIAL: &str = include_str!("../../../../prompts/material.md");
const BACKGROUND: &str = include_str!("../../../../prompts/background.md");
const PREVIOUS: &str = include_str!("../../../../prompts/previous.md");
const EVIDENCE: &str = include_str!("../../../../prompts/evidence.md");
const CHECKPOINT: &str = include_str!("../../../../prompts/checkpoint.md");
const SIX_SECTION: &str = include_str!("../../../../prompts/six_section.md");
const CONTINUITY: &str = include_str!("../../../../prompts/continuity.md");
const PROSE: &str = include_str!("../../../../prompts/prose.md");
const BRANCH: &str = include_str!("../../../../prompts/branch.md");
/// All words of ours that a model is sent.
pub(super) const OURS: [&str; 10] =
    [SYSTEM, MATERIAL, BACKGROUND, PREVIOUS, EVIDENCE, CHECKPOINT, SIX_SECTION, CONTINUITY, PROSE, BRANCH];

/// An earlier summary has at most one part in so many of the room.
const PREVIOUS_SHARE: u64 = 4;
/// The beginning of the system prompt has at most one part in so many of the room, and no more than so many tokens.
const BACKGROUND_SHARE: u64 = 16;
const MOST_BACKGROUND: u64 = 2_000;
/// Tokens of tags and blank lines around the material.
const AROUND: u64 = 60;

/// The prompt of a task: what it is about in the room that the task has, and the request behind it.
pub fn render(task: &SummaryTask) -> Prompt {
    let request = request(task);
    let room = task.room.saturating_sub(frame_tokens(&request));
    let background = task.background.as_deref().map(|system| without_tags(&beginning(system, room)));
    let previous = previous(task).map(|previous| neutralise(&within(previous, room / PREVIOUS_SHARE)));
    let taken: u64 = [&background, &previous].into_iter().flatten().map(|text| tokens(text)).sum();
    let material = material(task, room.saturating_sub(taken));
    let mut user = String::new();
    // Oldest first.
    let conversation = Some(without_tags(&material.record));
    let parts = [("system-prompt", background), ("previous-summary", previous), ("conversation", conversation)];
    let tail = (!material.tail.is_empty()).then(|| without_tags(&material.tail));
    for (tag, text) in parts.into_iter().chain([("still-in-context", tail)]) {
        if let Some(text) = text {
            user.push_str(&format!("<{tag}>\n{text}\n</{tag}>\n\n"));
        }
    }
    user.push_str(&request);
    Prompt { system: SYSTEM.trim().to_owned(), user }
}

/// Counts the tokens that a prompt takes beside what it is about.
pub fn frame_tokens(request: &str) -> u64 {
    tokens(SYSTEM) + tokens(request) + AROUND
}

/// Counts the tokens of a task's prompt, on the safe side: an upstream counts with a tokenizer of its own.
pub fn prompt_tokens(task: &SummaryTask) -> u64 {
    let prompt = render(task);
    tokens(&prompt.system) + tokens(&prompt.user)
}

fn tokens(text: &str) -> u64 {
    count_text(Estimator::O200k, text).max(count_text(Estimator::Pi, text)).into()
}

/// What the notes are about, in at most `room` tokens.
fn material(task: &SummaryTask, room: u64) -> ShownSpan {
    let source = match &task.source {
        Some(source) => source.clone(),
        None => RecordSource::of(task.messages.iter().cloned()).into(),
    };
    let shown = source.shown(room, task.newer_from, Estimator::O200k);
    match &task.shown {
        Some(text) => ShownSpan { record: within(text, room.saturating_sub(tokens(&shown.tail))), ..shown },
        None => shown,
    }
}

/// What a task is about in brief and with its numbers, for a model that has read it.
pub fn numbered(task: &SummaryTask) -> String {
    without_tags(&material(task, task.room).record)
}

/// The text, or its beginning and its end.
fn within(text: &str, room: u64) -> String {
    shorter(text, room, |quarters| shortened(text, quarters / 2, quarters / 2))
}

/// The text, or its beginning, in the share that a system prompt has.
fn beginning(text: &str, room: u64) -> String {
    shorter(text, (room / BACKGROUND_SHARE).min(MOST_BACKGROUND), |quarters| shortened(text, quarters, 0))
}

/// The text, or what `cut` leaves of it in about so many quarter tokens, in at most `room` tokens.
fn shorter(text: &str, room: u64, cut: impl Fn(usize) -> String) -> String {
    let mut quarters = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX);
    let mut told = text.to_owned();
    while tokens(&told) > room && quarters > 0 {
        told = cut(quarters);
        quarters = quarters * 4 / 5;
    }
    told
}

/// Writes the request of a task, without the conversation and the earlier summary that it is about.
pub fn request(task: &SummaryTask) -> String {
    let mut text = match &task.prompt {
        Some(own) => own.trim().to_owned(),
        None => {
            let update = previous(task).map(|_| PREVIOUS.trim());
            let material = (task.part != SummaryPart::Branch).then_some(MATERIAL.trim());
            let background = task.background.as_ref().map(|_| BACKGROUND.trim());
            let parts = [Some(shape(task).trim()), material, background, update];
            let parts = parts.into_iter().flatten().chain([EVIDENCE.trim()]);
            parts.collect::<Vec<_>>().join("\n\n")
        }
    };
    for paragraph in [focus(task), instructions(task), correction(task), Some(length(task))].into_iter().flatten() {
        text.push_str(&format!("\n\n{paragraph}"));
    }
    text
}

/// The headings that the answer must have, each with what belongs there.
fn shape(task: &SummaryTask) -> &'static str {
    match (task.part, task.template) {
        (SummaryPart::Branch, _) => BRANCH,
        (_, Template::Checkpoint) => CHECKPOINT,
        (_, Template::SixSection) => SIX_SECTION,
        (_, Template::Continuity) => CONTINUITY,
        (_, Template::Prose) => PROSE,
    }
}

/// Returns true if a text is, in place of a summary, a prompt of ours or a conversation as we show it. A summary may
/// quote a line of either.
pub fn is_echo(text: &str) -> bool {
    let text = text.trim_start();
    if ["<system-prompt>", "<conversation>", "<previous-summary>"].iter().any(|tag| text.starts_with(tag))
        || speaks(text)
    {
        return true;
    }
    let (mut spoken, mut lines) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        lines += 1;
        spoken += usize::from(speaks(line));
    }
    spoken > 2 && spoken * 4 >= lines || OURS.iter().any(|ours| quotes(text, ours))
}

/// Returns true if a line begins as those of a conversation do that a model is shown: by us, or by others.
fn speaks(line: &str) -> bool {
    const SPEAKERS: [&str; 8] = [
        "[User]: ",
        "[Assistant]: ",
        "[Assistant thinking]: ",
        "[Assistant tool calls]: ",
        "[Tool result]",
        "[System instruction]: ",
        "Agent: ",
        "Harness: ",
    ];
    let numbered = line.strip_prefix('u').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    SPEAKERS.iter().any(|speaker| line.starts_with(speaker)) || numbered.is_some_and(|rest| rest.starts_with(" User: "))
}

/// Returns true if the text holds at least two sentences of a file of ours.
fn quotes(text: &str, ours: &str) -> bool {
    let told = quote::sentences(ours).into_iter().filter(|sentence| sentence.len() > 40 && text.contains(*sentence));
    told.take(2).count() > 1
}

fn previous(task: &SummaryTask) -> Option<&str> {
    task.previous.as_deref().map(str::trim).filter(|previous| !previous.is_empty())
}

fn focus(task: &SummaryTask) -> Option<String> {
    let topic = task.focus_topic.as_deref().map(str::trim).filter(|topic| !topic.is_empty())?;
    Some(format!(
        "Focus: {topic}\nTreat everything about this topic in full detail and quote the decisive passages word for \
         word, each marked *FOCUS*; be shorter about the rest."
    ))
}

fn instructions(task: &SummaryTask) -> Option<String> {
    let text = task.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
    Some(format!("Additional instructions for these notes: {text}"))
}

fn correction(task: &SummaryTask) -> Option<String> {
    let fault = &task.correction.as_ref()?.fault;
    Some(format!("An earlier answer to this was refused: {fault}. Write the notes anew and whole, without that fault."))
}

fn length(task: &SummaryTask) -> String {
    format!("Stay under {} words.", task.words())
}

/// Returns the size of a prompt, four characters a token, for a forecast.
pub fn estimate(task: &SummaryTask) -> u64 {
    let prompt = render(task);
    [prompt.system, prompt.user].iter().map(|part| quote::size(part).div_ceil(4) as u64).sum()
}

#[cfg(test)]
mod tests;
