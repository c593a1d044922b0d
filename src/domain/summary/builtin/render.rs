//! Writing facts under the headings of a template, as many as there is room for, the likeliest to be needed first.

use super::super::super::settings::Template;
use super::super::sections::{self, Section, SectionTopic};
use super::super::text::{quarters, whole};
use super::super::{SummaryPart, SummaryTask};
use super::labels::{GAP, Label, SAME};
use super::need::{Line, Ranked};

/// Stands under a heading without items.
const NOTHING: &str = "(none)";
/// Room of the line that stands for items left out.
const GAP_QUARTERS: usize = 20;
/// Room that takes one from a line's need.
const ROOM_OF_NEED: usize = 4;
/// Part of the room that headings may take where all are written: one in three.
const LEAN: usize = 3;
/// Words of a heading and of a line for items left out.
const HEADING_WORDS: usize = 6;

/// Room in quarter tokens and in words.
#[derive(Debug, Clone, Copy)]
pub struct SummaryRoom {
    pub quarters: usize,
    pub words: usize,
}

impl SummaryRoom {
    /// Takes what a line needs. `false`: there is no room for it.
    fn take(&mut self, text: &str, beside: usize) -> bool {
        let (size, words) = (quarters(text) + beside, text.split_whitespace().count());
        let fits = size <= self.quarters && words <= self.words;
        if fits {
            self.quarters -= size;
            self.words -= words;
        }
        fits
    }
}

/// A section and its lines; which of them are written is marked.
struct Filled {
    section: Section,
    lines: Vec<(Line, bool)>,
}

/// The summary of the facts within the room. Where the headings would take most of it, only those with something under
/// them are written.
pub fn render(task: &SummaryTask, facts: &Ranked, mut room: SummaryRoom) -> String {
    let sections = sections::of(task);
    let has = |slot| sections.iter().any(|section| section.slot == slot);
    let prose = task.template == Template::Prose && task.part != SummaryPart::TurnPrefix;
    let mut filled: Vec<Filled> = sections
        .iter()
        .map(|section| {
            let lines = fill(section.slot, facts, &has).into_iter().map(|line| (line, false)).collect();
            Filled { section: *section, lines }
        })
        .collect();
    let headings: usize = filled.iter().map(heading_size).sum();
    let lean = prose || headings * LEAN > room.quarters;
    if !lean {
        room.quarters -= headings;
    }
    room.words = room.words.saturating_sub(filled.len() * HEADING_WORDS);
    choose(&mut filled, room, lean);
    let written = filled.iter().filter(|one| !lean || one.lines.iter().any(|(_, chosen)| *chosen));
    let written: Vec<String> = written.map(|one| if prose { paragraph(one) } else { list(one, lean) }).collect();
    written.join("\n\n")
}

/// Returns the room that a section takes without its lines.
fn heading_size(filled: &Filled) -> usize {
    quarters(filled.section.heading) + NOTHING.len() + 4
}

/// Marks the lines that are written: those with the greatest need, as long as there is room.
fn choose(filled: &mut [Filled], mut room: SummaryRoom, lean: bool) {
    let all: usize = filled.iter().flat_map(|one| &one.lines).map(|(line, _)| quarters(&line.text) + 8).sum();
    let gaps = if all > room.quarters && !lean { filled.len() * GAP_QUARTERS } else { 0 };
    let mut order: Vec<(usize, usize, u32)> = Vec::new();
    for (at, one) in filled.iter().enumerate() {
        order.extend(one.lines.iter().enumerate().map(|(place, (line, _))| (at, place, worth(line))));
    }
    order.sort_by_key(|(at, place, need)| (std::cmp::Reverse(*need), *at, std::cmp::Reverse(*place)));
    room.quarters = room.quarters.saturating_sub(gaps);
    for (rank, (at, place, _)) in order.into_iter().enumerate() {
        let Some(one) = filled.get_mut(at) else { continue };
        let opened = !lean || one.lines.iter().any(|(_, chosen)| *chosen);
        let beside = 8 + if opened { 0 } else { heading_size(one) };
        let Some((line, chosen)) = one.lines.get_mut(place) else { continue };
        *chosen = room.take(&line.text, beside);
        // The task has to be told, as much of it as there is room for.
        if !*chosen
            && rank == 0
            && let Some(text) =
                shortened(&line.text, room.quarters.saturating_sub(beside)).filter(|text| room.take(text, beside))
        {
            line.text = text;
            *chosen = true;
        }
    }
}

/// Need of a line for its room: of two that are needed as much, the shorter.
fn worth(line: &Line) -> u32 {
    line.need.saturating_sub(u32::try_from(quarters(&line.text) / ROOM_OF_NEED).unwrap_or(u32::MAX))
}

/// A text that takes no more than this many quarter tokens, as far as one of its sentences or clauses ends there.
fn shortened(text: &str, room: usize) -> Option<String> {
    whole(text, room * text.chars().count() / quarters(text).max(1))
}

/// A section's lines. What a template has no section for goes where a reader would look for it, labelled, so that it can be
/// read back.
fn fill(slot: SectionTopic, facts: &Ranked, has: &dyn Fn(SectionTopic) -> bool) -> Vec<Line> {
    let missing = |slots: &[SectionTopic]| !slots.iter().any(|&slot| has(slot));
    let unless = |slots: &[SectionTopic], lines: Vec<Line>| if missing(slots) { lines } else { Vec::new() };
    let questions = || labelled(Label::Question, &facts.questions);
    match slot {
        SectionTopic::Topic => facts.goal.iter().take(1).cloned().collect(),
        // The topic has said the first request already; the goal is what came after.
        SectionTopic::Goal if has(SectionTopic::Topic) && facts.goal.len() == 1 => {
            vec![Line { text: SAME.to_owned(), need: 1500 }]
        }
        SectionTopic::Goal if has(SectionTopic::Topic) => facts.goal.iter().skip(1).cloned().collect(),
        SectionTopic::Goal => facts.goal.clone(),
        SectionTopic::Rules | SectionTopic::Preferences => facts.rules.clone(),
        SectionTopic::Done => [
            facts.done.clone(),
            unless(&[SectionTopic::Files], facts.files.clone()),
            unless(&[SectionTopic::Decisions], labelled(Label::Decided, &facts.decisions)),
        ]
        .concat(),
        SectionTopic::InProgress => {
            [facts.in_progress.clone(), unless(&[SectionTopic::Blocked], labelled(Label::Obstacle, &facts.blocked))]
                .concat()
        }
        SectionTopic::Blocked => facts.blocked.clone(),
        SectionTopic::Decisions => facts.decisions.clone(),
        SectionTopic::Questions => questions(),
        SectionTopic::Next => [
            unless(&[SectionTopic::Rules, SectionTopic::Preferences], labelled(Label::Rule, &facts.rules)),
            unless(&[SectionTopic::InProgress], labelled(Label::UnderWay, &facts.in_progress)),
            facts.next.clone(),
        ]
        .concat(),
        SectionTopic::Files => [facts.files.clone(), facts.context.clone()].concat(),
        SectionTopic::Context => [
            unless(
                &[SectionTopic::Rules, SectionTopic::Preferences, SectionTopic::Next],
                labelled(Label::Rule, &facts.rules),
            ),
            unless(&[SectionTopic::Blocked, SectionTopic::InProgress], labelled(Label::Obstacle, &facts.blocked)),
            unless(&[SectionTopic::InProgress, SectionTopic::Next], labelled(Label::UnderWay, &facts.in_progress)),
            unless(&[SectionTopic::Questions], questions()),
            facts.context.clone(),
        ]
        .concat(),
        SectionTopic::Results => facts.results.clone(),
        SectionTopic::Group => Vec::new(),
    }
}

fn labelled(label: Label, list: &[Line]) -> Vec<Line> {
    list.iter().map(|line| Line { text: format!("{}{}", label.as_str(), line.text), need: line.need }).collect()
}

impl Filled {
    /// The lines that are written, with one for those that are not.
    fn written(&self) -> (Vec<&str>, Option<String>) {
        let chosen: Vec<&str> =
            self.lines.iter().filter(|(_, chosen)| *chosen).map(|(line, _)| line.text.as_str()).collect();
        let left_out = self.lines.len() - chosen.len();
        (chosen, (left_out > 0).then(|| format!("{GAP}{left_out} more)")))
    }
}

fn list(filled: &Filled, lean: bool) -> String {
    let Section { slot, heading, bullet, .. } = filled.section;
    if slot == SectionTopic::Group {
        return heading.to_owned();
    }
    if filled.lines.is_empty() {
        return format!("{heading}\n{NOTHING}");
    }
    let (chosen, gap) = filled.written();
    let numbered = bullet.starts_with("1.");
    let lines = chosen.iter().enumerate().map(|(at, line)| match numbered {
        true => format!("{}. {line}", at + 1),
        false => format!("{bullet}{line}"),
    });
    let gap = gap.filter(|_| !lean).map(|gap| format!("- {gap}"));
    let lines: Vec<String> = lines.chain(gap).collect();
    format!("{heading}\n{}", lines.join("\n"))
}

/// A paragraph, one item on each of its lines: no item is cut at a mark of its own when it is read back.
fn paragraph(filled: &Filled) -> String {
    format!("{} {}", filled.section.heading, filled.written().0.join("\n"))
}
