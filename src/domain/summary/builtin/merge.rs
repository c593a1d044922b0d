//! Joining an earlier summary with what is new.

use std::collections::{HashMap, HashSet};

use super::super::identifiers;
use super::super::ledger::{failed_step, without_count};
use super::super::text::{sentences, words};
use super::facts::{Facts, FileWork, SAID, is_correction, is_of_system, is_outdated, is_settled_by, joined, signature};

mod reading;

use reading::{MAX_ITEMS, read};

/// Open items of the earlier summary that are kept beside new ones.
const KEEP_OPEN: usize = 4;
/// Goals kept, beside older ones that correct others.
const MAX_GOALS: usize = 16;
/// Weight of an identifier that the previous summary told of.
const TOLD_BEFORE: u32 = 24;

/// The new facts with those of the previous summary before them. What the new ones show as finished is no longer
/// open: it moves to what is done.
pub fn with_previous(new: Facts, previous: Option<&str>) -> Facts {
    let Some(previous) = previous.filter(|text| !text.trim().is_empty()) else { return distinct(new) };
    let mut old = read(previous);
    let news = NewFacts::of(&new);
    old.blocked.retain(|item| !news.mended(item));
    let deeds: Vec<String> = new.done.iter().cloned().chain(new.files.iter().map(FileWork::told)).collect();
    old.context.retain(|item| !is_outdated(item, &deeds));
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
    let weights = with_told(new.weights, &old);
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
        weights,
        planned: new.planned,
        heard: new.heard,
    })
}

/// The weights of the new span, with those of what was told before it.
fn with_told(mut weights: HashMap<String, u32>, old: &Facts) -> HashMap<String, u32> {
    for item in [&old.goal, &old.decisions, &old.context].into_iter().flatten() {
        for identifier in identifiers::extract(item) {
            weights.entry(identifier).or_insert(TOLD_BEFORE);
        }
    }
    weights
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
        self.stems.iter().any(|done| says(done, &wanted))
    }

    /// Returns true if the step that failed in this item has worked since.
    fn mended(&self, item: &str) -> bool {
        failed_step(item).is_some_and(|step| self.worked.contains(&signature(without_count(step).0)))
    }
}

/// The beginnings of the longer words: forms of a word share them.
fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    words(text).filter(|word| word.chars().count() > 3).map(|word| word.chars().take(5).collect())
}

fn join(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    first.into_iter().chain(second).collect()
}

/// Items are the same when they say the same in the same first words, or tell of the same step.
fn key(item: &str) -> String {
    let step = item.split_once(" → ").map(|(step, _)| without_count(step).0);
    let said = step.unwrap_or(item);
    letters(said).take(120).collect()
}

fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Each item once. Of an action that is told twice the later telling counts, with how often in all.
fn distinct(mut facts: Facts) -> Facts {
    facts.files = joined(std::mem::take(&mut facts.files));
    facts.done = counted(std::mem::take(&mut facts.done));
    facts.rules = holding(std::mem::take(&mut facts.rules), &facts.goal);
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
    let is_rule =
        |item: &str| rules.contains(&key(item)) || sentences(item).iter().all(|one| rules.contains(&key(one)));
    facts.goal.retain(|item| Some(key(item)) == task || !is_rule(item));
    facts.goal = fewer(std::mem::take(&mut facts.goal));
    let (done, open) = (keys(&facts.done), keys(&facts.in_progress));
    facts.next.retain(|item| !done.contains(&key(item)) && !open.contains(&key(item)));
    facts.in_progress.retain(|item| !done.contains(&key(item)));
    facts.results.retain(|item| !done.contains(&key(item)));
    facts.decisions.retain(|item| !done.contains(&key(item)) && !open.contains(&key(item)));
    let told: HashSet<String> =
        [&facts.goal, &facts.rules, &facts.decisions, &facts.next].iter().flat_map(|list| keys(list)).collect();
    let said = |item: &str| item.strip_prefix(SAID).unwrap_or(item).to_owned();
    facts.context.retain(|item| {
        let said = said(item);
        !told.contains(&key(&said)) && !is_rule(&said) && !done.contains(&key(item))
    });
    without_parts(&mut facts);
    facts.decisions = newer_of_alike(std::mem::take(&mut facts.decisions));
    facts
}

/// The items but for those that a newer one says again, in most of their words and with all that they name.
fn newer_of_alike(items: Vec<String>) -> Vec<String> {
    let mut newer: Vec<(HashSet<String>, String)> = Vec::new();
    for item in items.into_iter().rev() {
        let own: HashSet<String> = stems(&item).collect();
        let named = identifiers::extract(&item);
        let names = |text: &str| named.iter().all(|one| identifiers::stands_in(text, one));
        if !newer.iter().any(|(stems, text)| says(stems, &own) && names(text)) {
            newer.push((own, item));
        }
    }
    newer.into_iter().rev().map(|(_, item)| item).collect()
}

/// Returns true if most of the wanted words, three of four, are among these.
fn says(stems: &HashSet<String>, wanted: &HashSet<String>) -> bool {
    wanted.len() > 2 && wanted.iter().filter(|stem| stems.contains(*stem)).count() * 4 >= wanted.len() * 3
}

/// Leaves out of the context what another item says within more.
fn without_parts(facts: &mut Facts) {
    let lists = [&facts.decisions, &facts.done, &facts.context];
    let all: Vec<String> = lists.into_iter().flatten().map(|item| letters(item).collect()).collect();
    let all = all.join("\n");
    facts.context.retain(|item| all.matches(letters(item).collect::<String>().as_str()).take(2).count() < 2);
}

/// The rules that no later one, and no correction, took the place of.
fn holding(rules: Vec<String>, goals: &[String]) -> Vec<String> {
    let (mut told, said): (Vec<String>, Vec<String>) = rules.into_iter().partition(|rule| is_of_system(rule));
    let corrections: Vec<String> = goals.iter().filter(|goal| is_correction(goal)).cloned().collect();
    told.extend(identifiers::holding(said, corrections));
    told
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
