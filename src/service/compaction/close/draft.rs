//! Which chapters of a call can be written, and the view that they make.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::domain::chapter::{Chapter, Closing, Form, Refusal, Slugs, TaskRange, check, close};
use crate::domain::compaction::prepare::verbatim;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::fold::Fold;
use crate::domain::redaction::Redaction;
use crate::domain::tokens;
use crate::service::compaction::close::{ChapterRefused, NewChapter};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::path::view::PathSlice;

/// A chapter of up to this size is shown shorter where it would be larger than what it closes.
const FEW_TOKENS: u64 = 80;

/// A chapter that will be written. Where its own entry will be is not known yet.
pub(super) struct ChapterDraft {
    pub chapter: Chapter,
    /// Places of the path that it hides.
    pub hidden: Vec<usize>,
}

/// The chapters of a call that can be written, in path order, and those that cannot.
pub(super) fn drafts(
    folded: &PathSlice,
    head: &Head,
    asked: &[NewChapter],
    mut slugs: Slugs,
) -> Result<(Vec<ChapterDraft>, Vec<ChapterRefused>)> {
    let tasks = folded.tasks(&head.state);
    let ranges: Vec<TaskRange> = asked.iter().map(|asked| TaskRange { start: asked.start, end: asked.end }).collect();
    let answers = check(&ranges, &tasks, &folded.heads).map_err(|overlap| {
        let detail = format!("shares a task with /chapters/{}; nothing was closed", overlap.0);
        ServiceError::invalid(format!("/chapters/{}", overlap.1), detail)
    })?;
    let sizes = Sizes::of(folded);
    let keep = verbatim(&folded.heads, folded.compaction(), &head.settings);
    let mut closings: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.and_then(|range| close(&tasks, range, &folded.heads, &keep, folded.folds())))
        .zip(asked.iter().enumerate())
        .collect();
    // Of two that would have the same slug, the earlier one on the path has it bare.
    closings.sort_by_key(|(closing, _)| closing.as_ref().map_or(i64::MAX, |closing| closing.from));
    let (mut drafts, mut refused) = (Vec::new(), Vec::new());
    for (closing, (index, asked)) in closings {
        match closing.and_then(|closing| draft(closing, asked, &mut slugs, &sizes, head)) {
            Ok(draft) => drafts.push(draft),
            Err(reason) => refused.push(ChapterRefused {
                index,
                start: asked.start,
                end: asked.end,
                name: asked.name.clone(),
                reason,
                detail: reason.detail(),
            }),
        }
    }
    refused.sort_by_key(|refused| refused.index);
    Ok((drafts, refused))
}

fn draft(
    closing: Closing,
    asked: &NewChapter,
    slugs: &mut Slugs,
    sizes: &Sizes<'_>,
    head: &Head,
) -> std::result::Result<ChapterDraft, Refusal> {
    let tokens_before = closing.hidden.iter().map(|index| sizes.of_entry(*index)).sum();
    let number = |number: i64| u32::try_from(number).unwrap_or(0);
    let Closing { hidden, from, to, place, verbatim, chapters } = closing;
    let fold = Fold { chapter: Uuid::nil(), depth: 0, from, to, place, verbatim };
    let redaction = Redaction::of(&head.settings.redact);
    let name = redaction.redact(&asked.name, None);
    let mut chapter = Chapter {
        slug: slugs.take(&name),
        name: name.into_owned(),
        message: redaction.redact(&asked.message, None).into_owned(),
        start: number(asked.start),
        end: number(asked.end),
        tokens_before,
        tokens_after: 0,
        form: Form::Full,
        fold,
        chapters,
    };
    for form in [Form::Full, Form::Name, Form::Path] {
        chapter.form = form;
        chapter.tokens_after = u64::from(tokens::count_message(head.settings.estimator, &chapter.shown()).total);
        if chapter.tokens_after <= tokens_before {
            return Ok(ChapterDraft { chapter, hidden });
        }
        // What the agent wanted to remember is not dropped for the sake of small tasks.
        if chapter.tokens_after > FEW_TOKENS {
            break;
        }
    }
    Err(Refusal::WouldGrow)
}

/// How large the entries of a view are, as they are shown.
struct Sizes<'a> {
    heads: &'a [EntryMeta],
    freed: HashMap<Uuid, i64>,
}

impl Sizes<'_> {
    fn of(folded: &PathSlice) -> Sizes<'_> {
        let mut freed: HashMap<Uuid, i64> = HashMap::new();
        for elision in folded.record().iter().flat_map(|record| &record.elisions) {
            *freed.entry(elision.entry_id).or_default() += elision.freed();
        }
        Sizes { heads: &folded.heads, freed }
    }

    fn of_entry(&self, index: usize) -> u64 {
        let Some(head) = self.heads.get(index) else { return 0 };
        let freed = self.freed.get(&head.id).copied().unwrap_or(0);
        u64::try_from(i64::from(head.tokens) - freed).unwrap_or(0)
    }
}

/// The view with these chapters closed: all else is as the newest compaction says.
pub(super) fn record(folded: &PathSlice, removed: &[usize], closed: Vec<Chapter>) -> CompactionRecord {
    let mut record = folded.record().cloned().unwrap_or_default();
    let gone: HashSet<Uuid> = removed.iter().filter_map(|index| folded.heads.get(*index)).map(|head| head.id).collect();
    record.elisions.retain(|elision| !gone.contains(&elision.entry_id));
    record.chapters.retain(|fold| !gone.contains(&fold.chapter));
    record.chapters.extend(closed.into_iter().map(|chapter| chapter.fold));
    record.chapters.sort_by_key(|fold| fold.from);
    record.first_kept_entry_id = first_kept(folded, &record.chapters);
    (record.reverts, record.carries, record.closes) = (None, None, true);
    record
}

/// Returns the id of the entry that the view's tail begins with, or of the chapter that has taken its place.
fn first_kept(folded: &PathSlice, chapters: &[Fold]) -> String {
    let tail = match &folded.newest {
        Some(newest) => newest.first_kept_depth.unwrap_or(newest.depth + 1),
        None => 0,
    };
    let first = folded.heads.iter().find(|head| head.depth >= tail);
    let chapter = first.and_then(|first| chapters.iter().find(|fold| fold.hides(first.depth)));
    chapter.map(|fold| fold.chapter).or(first.map(|first| first.id)).map(|id| id.to_string()).unwrap_or_default()
}
