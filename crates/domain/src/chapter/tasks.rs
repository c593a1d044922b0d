//! Tasks: the numbered parts of what the model sees, and which of them may be closed.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::context::ties::{open_from, ties};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::fold::ShownFold;
use crate::model::message::Role;

/// Whether a task may be closed: what is done may, and chapters may be folded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Done,
    InProgress,
    /// A call in it has no result yet.
    OpenCall,
    /// A closed chapter.
    Chapter,
}

/// One numbered task: its number is its place among the spans, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpan {
    /// Indexes into the folded path.
    pub entries: Range<usize>,
    /// Depths, inclusive.
    pub from: i64,
    pub to: i64,
    /// The entry that shows the number; `None` where the task's first message is in a summary.
    pub mark: Option<usize>,
    pub chapter: Option<Uuid>,
    pub state: TaskState,
}

/// View, its path folded, that the spans of the tasks are told from.
#[derive(Debug, Clone, Copy)]
pub struct FoldedView<'a> {
    /// The folded path.
    pub heads: &'a [EntryMeta],
    /// Where it begins to be shown whole; anchors before that belong to no task.
    pub from: usize,
    /// True: what comes before is in a summary, so the first entries may go on with a task that began there.
    pub is_cut: bool,
    pub folds: &'a [ShownFold],
}

/// The tasks of a view in order. `open` are the sequence numbers of entries with a call that waits; `closed` says that
/// the last turn has ended.
pub fn spans(shown: FoldedView<'_>, open: &HashSet<i64>, closed: bool) -> Vec<TaskSpan> {
    let mut spans: Vec<TaskSpan> = Vec::new();
    let mut folds = shown.folds.iter().map(|shown| &shown.fold).peekable();
    for (index, head) in shown.heads.iter().enumerate().skip(shown.from).filter(|(_, head)| head.is_visible()) {
        while folds.next_if(|fold| fold.to < head.depth).is_some() {}
        let fold = folds.peek().filter(|fold| fold.spans(head.depth));
        let chapter = fold.map(|fold| fold.chapter);
        let last = spans.last_mut();
        let begins = match (chapter, &last) {
            (Some(chapter), last) => last.as_ref().is_none_or(|last| last.chapter != Some(chapter)),
            (None, _) if starts_task(head) => true,
            (None, _) if head.is_instruction() => false,
            (None, Some(last)) => last.chapter.is_some(),
            (None, None) => shown.is_cut,
        };
        if begins {
            let (from, to) = fold.map_or((head.depth, head.depth), |fold| (fold.from, fold.to));
            let mark = starts_task(head).then_some(index).filter(|_| chapter.is_none());
            let entries = index..index + 1;
            spans.push(TaskSpan { entries, from, to, mark, chapter, state: TaskState::Done });
        }
        let Some(last) = spans.last_mut() else { continue };
        last.entries.end = index + 1;
        last.to = last.to.max(head.depth);
        if head.kind == EntryType::Chapter {
            (last.mark, last.state) = (Some(index), TaskState::Chapter);
        }
        if open.contains(&head.seq) {
            last.state = TaskState::OpenCall;
        }
    }
    settle(&mut spans, closed);
    spans
}

/// Lets each task reach up to the next, so that what stands between them and is not shown belongs to one; and marks the
/// last one where it goes on.
fn settle(spans: &mut [TaskSpan], closed: bool) {
    for place in 1..spans.len() {
        let next = spans[place].from;
        let before = &mut spans[place - 1];
        if before.chapter.is_none() {
            before.to = before.to.max(next - 1);
        }
    }
    if let Some(last) = spans.last_mut().filter(|last| last.state == TaskState::Done && !closed) {
        last.state = TaskState::InProgress;
    }
}

/// Returns true if a task begins here: with a user's message, whatever the kind of session. Tool results and the
/// prompt that asks for chapters begin none.
pub fn starts_task(head: &EntryMeta) -> bool {
    head.kind == EntryType::Message
        && head.role == Some(Role::User)
        && head.shape.results.is_empty()
        && !head.shape.chapter_task
}

/// Why a chapter is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// `start` is not below 1, `end` not before `start`, and both are numbers of the index.
    OutOfRange,
    InProgress,
    OpenCall,
    /// A call in the range is answered outside of it, or the other way round.
    PartedCall,
    /// All that it closes has to stay as it is.
    NothingToClose,
    /// The chapter would be larger than what it hides.
    WouldGrow,
}

impl Refusal {
    /// For people.
    pub fn detail(self) -> &'static str {
        match self {
            Refusal::OutOfRange => "start and end must be task numbers of the index, start not after end",
            Refusal::InProgress => "a task of the range is still in progress",
            Refusal::OpenCall => "a tool call in the range has no result yet",
            Refusal::PartedCall => "a tool call in the range has its result outside of it, or the other way round",
            Refusal::NothingToClose => "all messages of the range are pinned or have to stay for another reason",
            Refusal::WouldGrow => "the chapter would be larger than what it closes",
        }
    }
}

/// Task numbers, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRange {
    pub start: i64,
    pub end: i64,
}

/// Two ranges of one call that share a task: places in the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap(pub usize, pub usize);

/// For each asked range the places of its spans, or why it is refused.
///
/// # Errors
/// Two ranges that could be closed overlap: then nothing is.
pub fn check(
    asked: &[TaskRange],
    spans: &[TaskSpan],
    heads: &[EntryMeta],
) -> Result<Vec<Result<Range<usize>, Refusal>>, Overlap> {
    let parted = parted(spans, heads);
    let answers: Vec<_> = asked.iter().map(|asked| check_one(*asked, spans, &parted)).collect();
    let mut good: Vec<(usize, &Range<usize>)> =
        answers.iter().enumerate().filter_map(|(at, answer)| answer.as_ref().ok().map(|range| (at, range))).collect();
    good.sort_by_key(|(_, range)| range.start);
    for pair in good.windows(2) {
        if let [(one, before), (other, after)] = pair
            && after.start < before.end
        {
            return Err(Overlap(*one.min(other), *one.max(other)));
        }
    }
    Ok(answers)
}

fn check_one(asked: TaskRange, spans: &[TaskSpan], parted: &[(usize, usize)]) -> Result<Range<usize>, Refusal> {
    let place = |number: i64| usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let (Some(start), Some(last)) = (place(asked.start), place(asked.end)) else { return Err(Refusal::OutOfRange) };
    let Some(closed) = spans.get(start..=last).filter(|closed| !closed.is_empty()) else {
        return Err(Refusal::OutOfRange);
    };
    for span in closed {
        match span.state {
            TaskState::InProgress => return Err(Refusal::InProgress),
            TaskState::OpenCall => return Err(Refusal::OpenCall),
            TaskState::Done | TaskState::Chapter => {}
        }
    }
    let range = start..last + 1;
    let parts = |(one, other): &(usize, usize)| range.contains(one) != range.contains(other);
    if parted.iter().any(parts) { Err(Refusal::PartedCall) } else { Ok(range) }
}

/// What is tied together and not of one task, as pairs: the places of their spans (`usize::MAX`: of none).
fn parted(spans: &[TaskSpan], heads: &[EntryMeta]) -> Vec<(usize, usize)> {
    let mut span_of = vec![usize::MAX; heads.len()];
    for (place, span) in spans.iter().enumerate() {
        if let Some(entries) = span_of.get_mut(span.entries.clone()) {
            entries.fill(place);
        }
    }
    let of = |index: usize| span_of.get(index).copied().unwrap_or(usize::MAX);
    let entries: Vec<&EntryMeta> = heads.iter().collect();
    let mut parted: Vec<(usize, usize)> = ties(&entries).into_iter().map(|tie| (of(tie.first), of(tie.last))).collect();
    let open = open_from(&entries, u64::MAX).map(|open| (of(open), of(entries.len().saturating_sub(1))));
    parted.extend(open);
    parted.retain(|(call, result)| call != result);
    parted.sort_unstable();
    parted.dedup();
    parted
}

/// A text as a title: one line of at most `most` characters, the sign of a cut among them.
pub fn title(text: &str, most: usize) -> String {
    let mut chars = text.split_whitespace().flat_map(|word| std::iter::once(' ').chain(word.chars())).skip(1);
    let mut title: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        title.pop();
        title.push('…');
    }
    title
}
