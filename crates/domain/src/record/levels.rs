//! How much is told of each stretch: the newest most, every request with its outcome first.

use std::collections::{HashMap, HashSet};

use super::arguments::COMPARED;
use super::quote::size;
use super::span::{Line, Span};
use super::told::{
    BRIEF, LEAST, Level, OUTCOME, Stretch, Teller, USER, WORKED_ON, commands_counted, not_told, users_words,
};
use super::words;

/// Lines of one stretch at most.
const STRETCH: usize = 12;
/// Part of the room that the user's words may take: a third.
const USER_SHARE: usize = 3;
/// What those of the newest turns may have of it, as one part in so many.
const NEWEST_SHARE: usize = 2;
/// Shares of what is left, in hundredths, by level: the newest stretches have the best one, as far as its share reaches.
const SHARES: [usize; 5] = [30, 28, 20, 12, 10];
/// Quarter tokens of the line that names what is left out, about.
const COUNTED: usize = 45;
/// Quarter tokens of what the user said in a word or two, and part of the room for such words in what is left out.
const BRIEF_WORDS: usize = 48;
const BRIEF_SHARE: usize = 12;
/// Requests of so many of the newest turns are told before any that is older.
pub(super) const NEWEST_TURNS: usize = 3;
/// Part of the room that calls may take whose effect lasts, at every level: a quarter.
const LASTING_SHARE: usize = 4;
/// So many of them are looked at.
const MOST_LASTING: usize = 400;
/// A tool with more calls than this, and than a third of all, does the routine.
const ROUTINE: usize = 8;
/// How much less than others a turn is worth that begins with words which the user's messages repeat.
const OVERTAKEN: usize = 4;
/// So many of the newest stretches are told in some detail before older ones are told at all: the agent works on them. So
/// much of the room is held back for it, in hundredths, before outcomes of old are shortened, and before requests are left
/// out.
const DETAILED: usize = 2;
const SOME_DETAIL: Level = 1;
const BEFORE_SHORTENING: usize = 40;
const BEFORE_LEAVING_OUT: usize = 10;
/// The best level of stretches before the running turn.
const OLDER: Level = 1;

/// The stretches of a span: a part of one turn each.
pub(super) fn stretches(span: &Span<'_>) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut start = 0;
    let mut close = |start: usize, end: usize| {
        let mut from = start;
        while from < end {
            let to = (from + STRETCH).min(end);
            found.push(Stretch { lines: from..to, closes: to == end });
            from = to;
        }
    };
    for (at, line) in span.lines.iter().enumerate() {
        if matches!(line, Line::User { .. } | Line::Command { .. }) && at > start {
            close(start, at);
            start = at;
        }
    }
    close(start, span.lines.len());
    found
}

/// The level of the user's words of each line: whole where they are short, the newest first, in a part of the room. The
/// newest requests have more of it.
pub(super) fn user_levels(span: &Span<'_>, room: usize) -> Vec<usize> {
    let mut levels = vec![USER.len() - 1; span.lines.len()];
    let (mut pool, mut newest, mut requests) = (room / USER_SHARE, room / NEWEST_SHARE, 0);
    for (at, line) in span.lines.iter().enumerate().rev() {
        let Line::User { text, runs: false, .. } = line else { continue };
        let elsewhere = |part: &str| span.repeated.stands_elsewhere(at, part);
        let cost = |level: usize| size(&users_words(text, USER[level].0, USER[level].1, elsewhere));
        if span.repeated.is_hardly_own(at) {
            pool = pool.saturating_sub(cost(USER.len() - 1));
            continue;
        }
        requests += 1;
        let left = if requests <= NEWEST_TURNS { pool.max(newest) } else { pool };
        let level = (1..USER.len()).find(|level| cost(*level) <= left).unwrap_or(USER.len() - 1);
        (pool, newest) = (pool.saturating_sub(cost(level)), newest.saturating_sub(cost(level)));
        levels[at] = level;
    }
    levels
}

/// Lines that hold the newest call of a tool.
pub(super) fn newest_calls(span: &Span<'_>) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let newest = |(at, line): (usize, &Line<'_>)| match line {
        Line::Call(call) => seen.insert(call.call.name.clone()).then_some(at),
        _ => None,
    };
    span.lines.iter().enumerate().rev().filter_map(newest).collect()
}

/// The lines with calls and commands that are told at every level: of those whose effect lasts the ones by rare tools first,
/// then the newest, in a part of the room.
pub(super) fn lasting_lines(teller: &Teller<'_, '_>, room: usize) -> HashSet<usize> {
    let span = teller.span;
    let commands = span.lines.iter().filter(|line| matches!(line, Line::Block(_))).count();
    let alike = |at: usize| match &span.lines[at] {
        Line::Call(line) => span.arguments.calls(&line.call.name),
        _ => commands,
    };
    let mut lines = span.lasting.clone();
    lines.sort_by_key(|at| (alike(*at), std::cmp::Reverse(*at)));
    let mut left = room / LASTING_SHARE;
    let mut told = HashSet::new();
    for at in lines.into_iter().take(MOST_LASTING) {
        let cost = teller.cost_of_lasting(at);
        if cost <= left {
            left -= cost;
            told.insert(at);
        }
    }
    told
}

/// The words that are told of each stretch, as hashes.
#[derive(Debug, Default)]
struct ToldWords {
    by_stretch: Vec<HashSet<u64>>,
    /// In how many stretches a word stands.
    stretches: HashMap<u64, usize>,
}

/// The stretches told within a room of quarter tokens.
pub(super) struct Telling<'t, 's, 'a> {
    teller: &'t Teller<'s, 'a>,
    stretches: &'t [Stretch],
    /// `None`: left out, and counted.
    levels: Vec<Option<Level>>,
    /// Lines of the user's in what is left out that are told in place of a mark.
    brief: HashSet<usize>,
    told: HashMap<(usize, Level), String>,
    spent: usize,
    /// All calls of the span.
    calls: usize,
}

impl<'t, 's, 'a> Telling<'t, 's, 'a> {
    pub fn within(teller: &'t Teller<'s, 'a>, stretches: &'t [Stretch], room: usize) -> Telling<'t, 's, 'a> {
        let levels = vec![Some(BRIEF); stretches.len()];
        let calls = teller.span.lines.iter().filter(|line| matches!(line, Line::Call(_))).count();
        let mut telling =
            Telling { teller, stretches, levels, brief: HashSet::new(), told: HashMap::new(), spent: 0, calls };
        telling.spent = (0..stretches.len()).map(|at| telling.cost(at, BRIEF)).sum();
        let detail = telling.detail_of_newest();
        telling.shorten(room - detail.min(room * BEFORE_SHORTENING / 100));
        let by_worth = telling.leave_out(room - detail.min(room * BEFORE_LEAVING_OUT / 100));
        if telling.levels.iter().any(Option::is_none) {
            // Before anything is told in full, what was left out comes back.
            telling.tell_newest(room);
            telling.tell_brief_words(room);
            telling.take_back(&by_worth, room.saturating_sub(COUNTED));
        }
        telling.tell_outcomes(room * 3 / 4);
        telling.tell_more(room);
        telling
    }

    fn at(&mut self, stretch: usize, level: Level) -> &str {
        let (teller, stretches) = (self.teller, self.stretches);
        self.told.entry((stretch, level)).or_insert_with(|| teller.told(&stretches[stretch], level))
    }

    fn cost(&mut self, stretch: usize, level: Level) -> usize {
        size(self.at(stretch, level))
    }

    fn set(&mut self, at: usize, level: Option<Level>) {
        let before = self.levels[at].map_or(0, |level| self.cost(at, level));
        self.spent = self.spent - before + level.map_or(0, |level| self.cost(at, level));
        self.levels[at] = level;
    }

    /// What the newest stretches need for some detail of their own.
    fn detail_of_newest(&mut self) -> usize {
        let newest = self.stretches.len().saturating_sub(DETAILED)..self.stretches.len();
        newest.map(|at| self.cost(at, SOME_DETAIL).saturating_sub(self.cost(at, BRIEF))).sum()
    }

    /// Tells the newest stretches in some detail.
    fn tell_newest(&mut self, room: usize) {
        for at in (self.stretches.len().saturating_sub(DETAILED)..self.stretches.len()).rev() {
            let level = (SOME_DETAIL..BRIEF).find(|level| {
                let current = self.levels[at].map_or(0, |current| self.cost(at, current));
                self.spent - current + self.cost(at, *level) <= room
            });
            if let Some(level) = level {
                self.set(at, Some(level));
            }
        }
    }

    /// The user's words are worth more than what was said of them: before any go, the oldest outcomes are cut.
    fn shorten(&mut self, room: usize) {
        for at in 0..self.stretches.len() {
            if self.spent <= room {
                break;
            }
            self.set(at, Some(LEAST));
        }
    }

    /// Where even the shortest does not fit, what lies between the beginning and the newest is counted: first those turns
    /// that say the least that no other says, of those the oldest.
    /// Returns all stretches but the first by their worth; none where nothing has to go.
    fn leave_out(&mut self, room: usize) -> Vec<usize> {
        if self.spent <= room {
            return Vec::new();
        }
        let room = room.saturating_sub(COUNTED);
        let newest = self.newest_turns();
        let last = self.stretches.len().saturating_sub(1);
        let by_worth = self.by_worth();
        let older = by_worth.iter().copied().filter(|at| *at < newest);
        for at in older.chain(newest.max(1)..last) {
            if self.spent <= room {
                break;
            }
            self.set(at, None);
        }
        by_worth
    }

    /// Stretches behind the first by what they tell that others do not, the least first; of equals the oldest first.
    fn by_worth(&mut self) -> Vec<usize> {
        let told = self.told_words();
        let mut order: Vec<(usize, usize)> = (1..self.stretches.len()).map(|at| (self.worth(at, &told), at)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// What a stretch tells that others do not, for a thousand quarter tokens that it takes at least: a word counts by how few
    /// of them say it. What was done for good goes last.
    fn worth(&mut self, at: usize, told: &ToldWords) -> usize {
        if self.stretches[at].lines.clone().any(|at| self.teller.lasting.contains(&at) && !self.is_routine(at)) {
            return usize::MAX;
        }
        let span = self.teller.span;
        let first = self.stretches[at].lines.start;
        // Nothing else tells of what was before.
        if self.stretches[at].lines.clone().any(|at| matches!(&span.lines[at], Line::Notes { .. })) {
            return usize::MAX;
        }
        // Where it goes, nothing tells what the earlier ones say.
        if matches!(&span.lines[first], Line::User { number, .. } if span.repeated.is_named(*number)) {
            return usize::MAX;
        }
        let rarity = |word: &u64| 1_000 / told.stretches.get(word).copied().unwrap_or(1).max(1);
        let worth: usize = told.by_stretch.get(at).map_or(0, |words| words.iter().map(rarity).sum());
        // What a program writes in the user's role again and again goes before what the user asked.
        let share = if span.repeated.is_overtaken(first) { OVERTAKEN } else { 1 };
        worth * 1_000 / self.cost(at, LEAST).max(1) / share
    }

    /// Returns true if a line holds a call by the tool that does most of the work here: what an unknown tool does a hundred
    /// times is seldom what must not be forgotten.
    fn is_routine(&self, at: usize) -> bool {
        let span = self.teller.span;
        let line = match &span.lines[at] {
            Line::Call(line) => line,
            // All work is done by such commands.
            line => return matches!(line, Line::Block(_)),
        };
        let calls = span.arguments.calls(&line.call.name);
        calls > ROUTINE && calls * 3 > self.calls.min(COMPARED)
    }

    /// The words that are told of each stretch where it is told in brief: what the user asked, and what came of it.
    fn told_words(&mut self) -> ToldWords {
        let mut told = ToldWords::default();
        for at in 0..self.stretches.len() {
            let mut said = HashSet::new();
            words::each(self.at(at, BRIEF), &mut |word| {
                // Numbers of calls and of messages stand in every one.
                if word.is_pair || word.text.chars().any(char::is_alphabetic) || word.text.len() >= words::LEAST {
                    said.insert(word.hash());
                }
            });
            said.iter().for_each(|word| *told.stretches.entry(*word).or_default() += 1);
            told.by_stretch.push(said);
        }
        told
    }

    /// A word of the user's in what is left out takes hardly more than the mark for it, and may be a consent: the newest of
    /// them are told, in a part of the room.
    fn tell_brief_words(&mut self, room: usize) {
        let mut left = (room / BRIEF_SHARE).min(room.saturating_sub(self.spent));
        let span = self.teller.span;
        for at in (0..self.stretches.len()).rev().filter(|at| self.levels[*at].is_none()) {
            for line in self.stretches[at].lines.clone().rev() {
                let Line::User { number, text, runs: false } = &span.lines[line] else { continue };
                if size(text) > BRIEF_WORDS || span.repeated.last_of(line).is_some() {
                    continue;
                }
                let cost = size(&self.teller.user_line(line, *number, text));
                if cost > left {
                    return;
                }
                left -= cost;
                self.spent += cost;
                self.brief.insert(line);
            }
        }
    }

    /// Where more detail did not need what was held back for it, what says most of what was left out is told after all.
    fn take_back(&mut self, by_worth: &[usize], room: usize) {
        for at in by_worth.iter().rev().copied() {
            if self.levels[at].is_none() && self.spent + self.cost(at, LEAST) <= room {
                self.set(at, Some(LEAST));
            }
        }
    }

    /// No request without its outcome, the newest first.
    fn tell_outcomes(&mut self, room: usize) {
        for at in (0..self.stretches.len()).rev() {
            let Some(current) = self.levels[at] else { continue };
            if self.spent - self.cost(at, current) + self.cost(at, OUTCOME) > room {
                break;
            }
            self.set(at, Some(OUTCOME));
        }
    }

    /// What is left of the room goes to the newest stretches first, each level with a share.
    fn tell_more(&mut self, room: usize) {
        let running = self.running_turn();
        let rest = room.saturating_sub(self.spent);
        let (mut spare, mut next) = (0, self.stretches.len());
        for (level, share) in SHARES.iter().enumerate() {
            let mut budget = rest * share / 100 + spare;
            while next > 0 {
                let at = next - 1;
                let Some(current) = self.levels[at] else {
                    next -= 1;
                    continue;
                };
                let level = if at + 2 >= running { level } else { level.max(OLDER) };
                if level >= current {
                    next -= 1;
                    continue;
                }
                let more = self.cost(at, level).saturating_sub(self.cost(at, current));
                if more > budget {
                    break;
                }
                budget -= more;
                self.spent += more;
                self.levels[at] = Some(level);
                next -= 1;
            }
            spare = budget;
        }
        self.spread(room);
    }

    /// What the shares have left over goes to the newest stretches that can be told better: never less than fits.
    fn spread(&mut self, room: usize) {
        for at in (0..self.stretches.len()).rev() {
            let Some(current) = self.levels[at] else { continue };
            for level in 0..current {
                let spent = self.spent + self.cost(at, level).saturating_sub(self.cost(at, current));
                if spent <= room {
                    self.spent = spent;
                    self.levels[at] = Some(level);
                    break;
                }
            }
        }
    }

    /// The stretch with which the newest turn begins.
    fn running_turn(&self) -> usize {
        self.last_turns(1)
    }

    /// The stretch with which the newest turns begin whose requests stay whatever they say.
    fn newest_turns(&self) -> usize {
        self.last_turns(NEWEST_TURNS)
    }

    /// The stretch with which the last so many turns begin.
    fn last_turns(&self, turns: usize) -> usize {
        let line = self.teller.span.last_turns(turns);
        self.stretches.iter().position(|stretch| stretch.lines.contains(&line)).unwrap_or(0)
    }

    /// The text; what is left out is named in its place.
    pub fn text(mut self) -> String {
        let mut text = String::new();
        let mut gone = LeftOut::default();
        for at in 0..self.stretches.len() {
            match self.levels[at] {
                None => {
                    for place in self.stretches[at].lines.clone() {
                        match &self.teller.span.lines[place] {
                            Line::User { number, text: said, .. } if self.brief.contains(&place) => {
                                text.push_str(&std::mem::take(&mut gone).told_if_any());
                                text.push_str(&self.teller.user_line(place, *number, said));
                            }
                            line => gone.add(line),
                        }
                    }
                    if self.levels.get(at + 1).copied().flatten().is_some() {
                        text.push_str(&std::mem::take(&mut gone).told());
                    }
                }
                Some(level) => text.push_str(self.at(at, level)),
            }
        }
        join_counts(&text)
    }
}

/// What is left out in one place: the first and the last of the user's messages and of the calls, by their numbers.
#[derive(Debug, Default)]
struct LeftOut {
    said: Option<(u32, u32)>,
    called: Option<(u32, u32)>,
}

impl LeftOut {
    fn add(&mut self, line: &Line<'_>) {
        let (place, number) = match line {
            Line::User { number, .. } => (&mut self.said, *number),
            Line::Call(call) if call.number > 0 => (&mut self.called, call.number),
            _ => return,
        };
        *place = Some((place.map_or(number, |(first, _)| first), number));
    }

    fn told_if_any(&self) -> String {
        if self.said.is_none() && self.called.is_none() { String::new() } else { self.told() }
    }

    fn told(&self) -> String {
        let range = |sign: char, (first, last): (u32, u32)| match first == last {
            true => format!("{sign}{first}"),
            false => format!("{sign}{first}-{sign}{last}"),
        };
        let said = self.said.map(|said| range('u', said));
        let called = self.called.map(|called| range('#', called));
        let names: Vec<String> = said.into_iter().chain(called).collect();
        match names.is_empty() {
            true => "[…]\n".to_owned(),
            false => format!("[… {}]\n", names.join(", ")),
        }
    }
}

/// Calls that are counted in one place.
#[derive(Debug, Clone, Copy)]
struct CountedCalls<'t> {
    calls: u32,
    first: u32,
    last: u32,
    /// The files that they worked on.
    files: &'t str,
}

/// Counts of calls or of commands that follow each other, added up.
fn join_counts(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut calls: Vec<CountedCalls<'_>> = Vec::new();
    let mut commands = 0;
    for line in text.lines() {
        let (counted, ran) = (counted_calls(line), counted_commands(line));
        if counted.is_none() {
            joined.push_str(&all_counted(&std::mem::take(&mut calls)));
        }
        if ran.is_none() && commands > 0 {
            joined.push_str(&commands_counted(std::mem::take(&mut commands)));
            joined.push('\n');
        }
        match (counted, ran) {
            (Some(counted), _) => calls.push(counted),
            (None, Some(ran)) => commands += ran,
            (None, None) => {
                joined.push_str(line);
                joined.push('\n');
            }
        }
    }
    joined.push_str(&all_counted(&calls));
    if commands > 0 {
        joined.push_str(&commands_counted(commands));
        joined.push('\n');
    }
    joined
}

/// The line for counts that follow each other.
fn all_counted(counts: &[CountedCalls<'_>]) -> String {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return String::new() };
    let files: Vec<&str> = counts.iter().map(|counted| counted.files).filter(|files| !files.is_empty()).collect();
    not_told(counts.iter().map(|counted| counted.calls).sum(), first.first, last.last, &files.join(", "))
}

/// What a line of [`not_told`] says.
fn counted_calls(line: &str) -> Option<CountedCalls<'_>> {
    let inner = line.strip_prefix("  (")?.strip_suffix(')')?;
    let (count, numbers) = inner.split_once(" call")?;
    let (_, numbers) = numbers.split_once('#')?;
    let (numbers, files) = numbers.split_once(", ").unwrap_or((numbers, ""));
    let (first, last) = numbers.split_once("-#").unwrap_or((numbers, numbers));
    let files = files.strip_prefix(WORKED_ON).unwrap_or(files);
    Some(CountedCalls { calls: count.parse().ok()?, first: first.parse().ok()?, last: last.parse().ok()?, files })
}

/// What a line of [`commands_counted`] says.
fn counted_commands(line: &str) -> Option<usize> {
    let inner = line.strip_prefix("  (")?.strip_suffix(" in the agent's messages)")?;
    inner.split_once(" command")?.0.parse().ok()
}
