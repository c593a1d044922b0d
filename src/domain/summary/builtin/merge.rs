//! Reading an earlier summary back and joining it with what is new.

use std::collections::HashSet;

use super::super::focus::MARK;
use super::super::framing::without_split;
use super::super::sections::{SectionTopic, slot_of_heading, slot_of_paragraph};
use super::super::text::{clip, words};
use super::facts::{ANSWER, AWAIT, Facts, ITEM_CHARS, NO_RESULT, RESOLVE, UNANSWERED, signature};
use super::labels::{GAP, LOOKUPS, Label, SAME};

/// Open items of the earlier summary that are kept beside new ones.
const KEEP_OPEN: usize = 4;
/// Paragraphs without a known heading that are kept.
const KEEP_LOOSE: usize = 12;
const MAX_ITEMS: usize = 120;

/// The new facts with those of the previous summary before them. What the new ones show as finished is no longer
/// open: it moves to what is done.
pub fn with_previous(new: Facts, previous: Option<&str>) -> Facts {
    let Some(previous) = previous.filter(|text| !text.trim().is_empty()) else { return distinct(new) };
    let mut old = read(previous);
    let news = NewFacts::of(&new);
    old.blocked.retain(|item| !news.mended(item));
    let mut finished = Vec::new();
    for list in [&mut old.in_progress, &mut old.next] {
        list.retain(|item| {
            let done = news.finished(item);
            if done && !news.done.contains(&key(item)) {
                finished.push(item.clone());
            }
            !(done || news.settled(item))
        });
    }
    let open = |old: Vec<String>, new: Vec<String>| {
        let keep = if new.is_empty() { MAX_ITEMS } else { KEEP_OPEN };
        let skip = old.len().saturating_sub(keep);
        old.into_iter().skip(skip).chain(new).collect::<Vec<_>>()
    };
    distinct(Facts {
        // The agent's newest list of work replaces what earlier ones left open.
        in_progress: if new.planned { new.in_progress } else { open(old.in_progress, new.in_progress) },
        next: if new.planned && !new.next.is_empty() { new.next } else { open(old.next, new.next) },
        blocked: open(old.blocked, new.blocked),
        questions: if new.goal.is_empty() { join(old.questions, new.questions) } else { new.questions },
        goal: join(old.goal, new.goal),
        rules: join(old.rules, new.rules),
        done: join(join(old.done, finished), new.done),
        decisions: join(old.decisions, new.decisions),
        // The newest references stand first in their lists.
        files: join(new.files, old.files),
        mentions: join(new.mentions, old.mentions),
        context: join(old.context, new.context),
        results: join(old.results, new.results),
        lookups: old.lookups.saturating_add(new.lookups),
        worked: new.worked,
        planned: new.planned,
    })
}

/// Facts of the new span that tell what became of older ones.
struct NewFacts {
    done: HashSet<String>,
    stems: Vec<HashSet<String>>,
    worked: HashSet<String>,
    went_on: bool,
}

impl NewFacts {
    fn of(new: &Facts) -> NewFacts {
        NewFacts {
            done: new.done.iter().map(|item| key(item)).collect(),
            stems: new.done.iter().map(|item| stems(item).collect()).collect(),
            worked: new.worked.iter().cloned().collect(),
            went_on: *new != Facts::default(),
        }
    }

    /// Returns true if something done now is this item, word for word or in most of its words.
    fn finished(&self, item: &str) -> bool {
        if self.done.contains(&key(item)) {
            return true;
        }
        let wanted: HashSet<String> = stems(item).collect();
        let common =
            |done: &&HashSet<String>| wanted.iter().filter(|stem| done.contains(*stem)).count() * 4 >= wanted.len() * 3;
        wanted.len() > 2 && !item.starts_with(UNANSWERED) && self.stems.iter().any(|done| common(&done))
    }

    /// How the last span ended is settled by what came after it.
    fn settled(&self, item: &str) -> bool {
        self.went_on && (item.starts_with(UNANSWERED) || item.ends_with(NO_RESULT))
    }

    /// Returns true if the step that failed in this item has worked since.
    fn mended(&self, item: &str) -> bool {
        item.split_once(" failed: ").is_some_and(|(step, _)| {
            let step = step.rsplit_once(" (×").map_or(step, |(step, _)| step);
            self.worked.contains(&signature(step))
        })
    }
}

/// The beginnings of the longer words: forms of a word share them.
fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    words(text).filter(|word| word.chars().count() > 3).map(|word| word.chars().take(5).collect())
}

fn join(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    first.into_iter().chain(second).collect()
}

/// The items of a summary by section, from whatever template; a split turn's part goes to the same sections.
fn read(summary: &str) -> Facts {
    let (history, turn) = without_split(summary);
    let mut facts = Facts::default();
    for part in [Some(history), turn].into_iter().flatten() {
        let mut slot = None;
        for line in part.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "---") {
            if let Some((prose, rest)) = slot_of_paragraph(line) {
                let items = rest.trim_end_matches('.').split("; ");
                items.for_each(|item| take(&mut facts, Some(prose), item));
            } else if line.starts_with('#') {
                slot = Some(slot_of_heading(line).unwrap_or(SectionTopic::Group));
            } else {
                take(&mut facts, slot, line);
            }
        }
    }
    facts
}

fn take(facts: &mut Facts, slot: Option<SectionTopic>, line: &str) {
    let item = strip_bullet(line);
    if item.starts_with(GAP) || item == SAME || item.eq_ignore_ascii_case("(none)") || item.eq_ignore_ascii_case("none")
    {
        return;
    }
    if let Some(count) = item.strip_prefix(LOOKUPS) {
        let count = count.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        facts.lookups = facts.lookups.saturating_add(count);
        return;
    }
    let Some((label, item)) = Label::read(item) else { return take_plain(facts, slot, item) };
    match label {
        Label::Decided => add(&mut facts.decisions, item),
        Label::Obstacle => add(&mut facts.blocked, item),
        Label::Rule => add(&mut facts.rules, item),
        Label::UnderWay => add(&mut facts.in_progress, item),
        Label::Question => add(&mut facts.questions, item),
        Label::Files => item.split(", ").for_each(|file| add(&mut facts.files, file)),
        Label::Mentioned => item.split(", ").for_each(|one| add(&mut facts.mentions, one)),
    }
}

fn take_plain(facts: &mut Facts, slot: Option<SectionTopic>, item: &str) {
    if slot == Some(SectionTopic::Next) && [ANSWER, AWAIT, RESOLVE].iter().any(|derived| item.starts_with(derived)) {
        return;
    }
    let list = match slot {
        Some(SectionTopic::Topic | SectionTopic::Goal) => &mut facts.goal,
        Some(SectionTopic::Rules | SectionTopic::Preferences) => &mut facts.rules,
        Some(SectionTopic::Done) => &mut facts.done,
        Some(SectionTopic::InProgress) => &mut facts.in_progress,
        Some(SectionTopic::Blocked) => &mut facts.blocked,
        Some(SectionTopic::Decisions) => &mut facts.decisions,
        Some(SectionTopic::Questions) => &mut facts.questions,
        Some(SectionTopic::Next) => &mut facts.next,
        Some(SectionTopic::Files) => &mut facts.files,
        Some(SectionTopic::Results) => &mut facts.results,
        // The focus block is carried by its own code.
        Some(SectionTopic::Group) if item.starts_with(MARK) => return,
        Some(SectionTopic::Context | SectionTopic::Group) | None if facts.context.len() >= KEEP_LOOSE => return,
        Some(SectionTopic::Context | SectionTopic::Group) | None => &mut facts.context,
    };
    add(list, item);
}

fn add(list: &mut Vec<String>, item: &str) {
    // A clipped line may end in half an identifier.
    let whole = !item.ends_with('…') || item.contains(' ');
    if whole && item.chars().any(char::is_alphanumeric) && list.len() < MAX_ITEMS {
        list.push(clip(item, ITEM_CHARS));
    }
}

fn strip_bullet(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '*']).trim_start();
    let line = ["[x] ", "[X] ", "[ ] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    match line.split_once(". ") {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    }
}

/// Items are the same when they say the same in the same first words.
fn key(item: &str) -> String {
    let plain = item.strip_prefix(UNANSWERED).unwrap_or(item);
    plain.chars().filter(|c| c.is_alphanumeric()).take(80).flat_map(char::to_lowercase).collect()
}

fn distinct(mut facts: Facts) -> Facts {
    let keep_first = |list: &mut Vec<String>| {
        let mut seen = HashSet::new();
        list.retain(|item| seen.insert(key(item)));
    };
    let mut seen = HashSet::new();
    facts.files.retain(|file| seen.insert(file.clone()));
    facts.mentions.retain(|one| seen.insert(one.clone()));
    // Of an action that is told twice the later telling counts.
    let keep_last = |list: &mut Vec<String>| {
        list.reverse();
        keep_first(list);
        list.reverse();
    };
    [&mut facts.goal, &mut facts.rules, &mut facts.decisions, &mut facts.context].into_iter().for_each(keep_first);
    [&mut facts.done, &mut facts.in_progress, &mut facts.blocked, &mut facts.next, &mut facts.results]
        .into_iter()
        .for_each(keep_last);
    let rules: HashSet<String> = facts.rules.iter().map(|item| key(item)).collect();
    let goals = facts.goal.iter().filter(|item| !rules.contains(&key(item))).count();
    if goals > 0 {
        facts.goal.retain(|item| !rules.contains(&key(item)));
    } else {
        let goals: HashSet<String> = facts.goal.iter().map(|item| key(item)).collect();
        facts.rules.retain(|item| !goals.contains(&key(item)));
    }
    let done: HashSet<String> = facts.done.iter().map(|item| key(item)).collect();
    facts.next.retain(|item| !done.contains(&key(item)));
    let open: HashSet<String> = facts.in_progress.iter().map(|item| key(item)).collect();
    facts.next.retain(|item| !open.contains(&key(item)));
    facts.in_progress.retain(|item| !done.contains(&key(item)));
    facts.decisions.retain(|item| !done.contains(&key(item)) && !open.contains(&key(item)));
    facts
}
