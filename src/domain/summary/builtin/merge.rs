//! Reading an earlier summary back and joining it with what is new.

use std::collections::{HashMap, HashSet};

use super::super::focus::MARK;
use super::super::framing::without_split;
use super::super::sections::{SectionTopic, slot_of_heading, slot_of_paragraph};
use super::super::text::{sentences, whole, words};
use super::facts::{Facts, FileWork, ITEM_CHARS, SAID, is_correction, is_settled_by, joined, signature};
use super::labels::{GAP, Label, SAME, is_outdated};

/// Open items of the earlier summary that are kept beside new ones.
const KEEP_OPEN: usize = 4;
/// Paragraphs without a known heading that are kept.
const KEEP_LOOSE: usize = 12;
const MAX_ITEMS: usize = 120;
const MAX_NAMED: usize = 300;
/// Goals kept, beside older ones that correct others.
const MAX_GOALS: usize = 12;
/// Longer items are read back in the pieces that they were made of.
const LONGEST_ITEM: usize = 2 * ITEM_CHARS;

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
            !done && !is_settled_by(&new.worked, item)
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
        // Whoever was asked has answered, or asked something else.
        questions: if new.heard { new.questions } else { join(old.questions, new.questions) },
        goal: join(old.goal, new.goal),
        rules: join(old.rules, new.rules),
        done: join(join(old.done, finished), new.done),
        files: old.files.into_iter().chain(new.files).collect(),
        decisions: join(old.decisions, new.decisions),
        context: join(old.context, new.context),
        results: join(old.results, new.results),
        named: join(new.named, old.named),
        worked: new.worked,
        weights: new.weights,
        planned: new.planned,
        heard: new.heard,
    })
}

/// Facts of the new span that tell what became of older ones.
struct NewFacts {
    done: HashSet<String>,
    stems: Vec<HashSet<String>>,
    worked: HashSet<String>,
}

impl NewFacts {
    fn of(new: &Facts) -> NewFacts {
        NewFacts {
            done: new.done.iter().map(|item| key(item)).collect(),
            stems: new.done.iter().map(|item| stems(item).collect()).collect(),
            worked: new.worked.iter().cloned().collect(),
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
        wanted.len() > 2 && self.stems.iter().any(|done| common(&done))
    }

    /// Returns true if the step that failed in this item has worked since.
    fn mended(&self, item: &str) -> bool {
        let step = item.split_once(" failed: ").map(|(step, _)| step).or_else(|| item.strip_suffix(" failed"));
        step.is_some_and(|step| self.worked.contains(&signature(without_count(step).0)))
    }
}

/// What was tried, and how often: `bash: make (×3, 1 failed before)`.
fn without_count(step: &str) -> (&str, u32) {
    let Some((what, count)) = step.rsplit_once(" (×") else { return (step, 1) };
    let digits = count.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().map_or((step, 1), |times| (what, times))
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
                slot = Some(prose);
                take_long(&mut facts, slot, rest);
            } else if line.trim_start_matches('#').starts_with(' ') && line.starts_with('#') {
                slot = Some(match slot_of_heading(line) {
                    // One template has subsections under "Progress", another what was done.
                    Some(SectionTopic::Group) => SectionTopic::Done,
                    known => known.unwrap_or(SectionTopic::Group),
                });
            } else {
                take_long(&mut facts, slot, line);
            }
        }
    }
    facts
}

/// Takes a line. One that is longer than any item of ours is a paragraph of somebody else's.
fn take_long(facts: &mut Facts, slot: Option<SectionTopic>, line: &str) {
    if line.chars().count() <= LONGEST_ITEM || Label::read(line).is_some_and(|(label, _)| label == Label::Named) {
        return take(facts, slot, line);
    }
    for piece in line.split("; ").flat_map(sentences) {
        take(facts, slot, &piece);
    }
}

fn take(facts: &mut Facts, slot: Option<SectionTopic>, line: &str) {
    let item = strip_bullet(line);
    let none = ["(none)", "none", "(none).", "none."].iter().any(|none| item.eq_ignore_ascii_case(none));
    if none || item.starts_with(GAP) || item == SAME || is_outdated(item) {
        return;
    }
    let Some((label, item)) = Label::read(item) else { return take_plain(facts, slot, item) };
    match label {
        Label::Decided => add(&mut facts.decisions, item),
        Label::Obstacle => add(&mut facts.blocked, item),
        Label::Rule => add(&mut facts.rules, item),
        Label::UnderWay if is_outdated(item) => {}
        Label::UnderWay => add(&mut facts.in_progress, item),
        Label::Question => add(&mut facts.questions, item),
        Label::Named => facts.named.extend(item.split(", ").take(MAX_NAMED).map(str::to_owned)),
    }
}

fn take_plain(facts: &mut Facts, slot: Option<SectionTopic>, item: &str) {
    if let Some(work) = FileWork::read(item)
        && facts.files.len() < 4 * MAX_ITEMS
    {
        return facts.files.push(work);
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
        Some(SectionTopic::Results) => &mut facts.results,
        // The focus block is carried by its own code.
        Some(SectionTopic::Group) if item.starts_with(MARK) => return,
        Some(SectionTopic::Files | SectionTopic::Context) => &mut facts.context,
        Some(SectionTopic::Group) | None if facts.context.len() >= KEEP_LOOSE => return,
        Some(SectionTopic::Group) | None => &mut facts.context,
    };
    add(list, item);
}

fn add(list: &mut Vec<String>, item: &str) {
    // A clipped line may end in half an identifier.
    let cut = item.ends_with('…') && !item.contains(' ');
    if !cut && item.chars().any(char::is_alphanumeric) && list.len() < MAX_ITEMS {
        list.extend(whole(item, LONGEST_ITEM));
    }
}

fn strip_bullet(line: &str) -> &str {
    let line = line.strip_prefix(['-', '*']).filter(|rest| rest.starts_with(' ')).unwrap_or(line).trim_start();
    let line = ["[x] ", "[X] ", "[ ] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    match line.split_once(". ") {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    }
}

/// Items are the same when they say the same in the same first words, or tell of the same step.
fn key(item: &str) -> String {
    let step = item.split_once(" → ").map(|(step, _)| without_count(step).0);
    let said = step.unwrap_or(item);
    said.chars().filter(|c| c.is_alphanumeric()).take(120).flat_map(char::to_lowercase).collect()
}

/// Each item once. Of an action that is told twice the later telling counts, with how often in all.
fn distinct(mut facts: Facts) -> Facts {
    facts.files = joined(std::mem::take(&mut facts.files));
    facts.done = counted(std::mem::take(&mut facts.done));
    let keep_first = |list: &mut Vec<String>| {
        let mut seen = HashSet::new();
        list.retain(|item| seen.insert(key(item)));
    };
    [&mut facts.goal, &mut facts.rules, &mut facts.decisions, &mut facts.context].into_iter().for_each(keep_first);
    for list in [&mut facts.in_progress, &mut facts.blocked, &mut facts.next, &mut facts.results, &mut facts.questions]
    {
        list.reverse();
        keep_first(list);
        list.reverse();
    }
    let keys = |list: &[String]| list.iter().map(|item| key(item)).collect::<HashSet<String>>();
    // A rule that was asked for later is no goal of its own; the task is one, whatever it says.
    let (task, rules) = (facts.goal.first().map(|item| key(item)), keys(&facts.rules));
    facts.rules.retain(|item| Some(key(item)) != task);
    facts.goal.retain(|item| Some(key(item)) == task || !rules.contains(&key(item)));
    facts.goal = fewer(std::mem::take(&mut facts.goal));
    let (done, open) = (keys(&facts.done), keys(&facts.in_progress));
    facts.next.retain(|item| !done.contains(&key(item)) && !open.contains(&key(item)));
    facts.in_progress.retain(|item| !done.contains(&key(item)));
    facts.results.retain(|item| !done.contains(&key(item)));
    facts.decisions.retain(|item| !done.contains(&key(item)) && !open.contains(&key(item)));
    let told: HashSet<String> =
        [&facts.goal, &facts.rules, &facts.decisions, &facts.next].iter().flat_map(|list| keys(list)).collect();
    let said = |item: &String| key(item.strip_prefix(SAID).unwrap_or(item));
    facts.context.retain(|item| !told.contains(&said(item)) && !done.contains(&key(item)));
    facts
}

/// The task, its corrections and the newest requests. Older requests were met long ago: what was done tells of them.
fn fewer(goals: Vec<String>) -> Vec<String> {
    let surplus = goals.len().saturating_sub(MAX_GOALS);
    let mut left_out = 0;
    let mut kept = Vec::new();
    for (at, goal) in goals.into_iter().enumerate() {
        let old = at > 0 && left_out < surplus && !is_correction(&goal);
        left_out += usize::from(old);
        kept.extend((!old).then_some(goal));
    }
    if kept.len() > 2 * MAX_GOALS {
        let surplus = kept.len() - 2 * MAX_GOALS;
        kept.drain(1..=surplus);
    }
    kept
}

/// The steps told once each, where they stand last, the counts added up.
fn counted(list: Vec<String>) -> Vec<String> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Option<String>> = Vec::new();
    for item in list {
        let earlier = places.insert(key(&item), kept.len()).and_then(|at| kept.get_mut(at)?.take());
        kept.push(Some(match earlier {
            Some(earlier) => added(&earlier, item),
            None => item,
        }));
    }
    kept.into_iter().flatten().collect()
}

fn added(earlier: &str, item: String) -> String {
    let (Some((before, _)), Some((step, says))) = (earlier.split_once(" → "), item.split_once(" → ")) else {
        return item;
    };
    let (what, times) = without_count(step);
    let all = times.saturating_add(without_count(before).1);
    format!("{what} (×{all}) → {says}")
}
