//! Writing facts under the headings of a template.

use super::super::super::settings::Template;
use super::super::sections::{self, Section, SectionTopic};
use super::super::text::clip;
use super::super::{SummaryPart, SummaryTask};
use super::facts::Facts;
use super::labels::{GAP, LOOKUPS, Label, SAME};

/// A rule's label and all of its words.
const RULE_WIDTH: usize = 310;

/// The summary with at most `items` items to a section, each of at most `width` characters.
pub fn render(task: &SummaryTask, facts: &Facts, items: usize, width: usize) -> String {
    let sections = sections::of(task);
    let has = |slot| sections.iter().any(|section| section.slot == slot);
    let prose = task.template == Template::Prose && task.part != SummaryPart::TurnPrefix;
    let rendered: Vec<String> = sections
        .iter()
        .filter_map(|section| {
            let groups = fill(section.slot, facts, &has).into_iter();
            let lines: Vec<String> = groups.flat_map(|group| shorten(&group, section.slot, items, width)).collect();
            if prose { paragraph(section, &lines) } else { Some(list(section, &lines)) }
        })
        .collect();
    rendered.join("\n\n")
}

/// A section's items in groups that are shortened each by itself. What a template has no section for goes where a
/// reader would look for it, labelled, so that it can be read back.
fn fill(slot: SectionTopic, facts: &Facts, has: &dyn Fn(SectionTopic) -> bool) -> Vec<Vec<String>> {
    let ruled = has(SectionTopic::Rules) || has(SectionTopic::Preferences);
    match slot {
        SectionTopic::Topic => vec![facts.goal.iter().take(1).cloned().collect()],
        // The topic has said the first request already; the goal is what came after.
        SectionTopic::Goal if has(SectionTopic::Topic) && facts.goal.len() == 1 => vec![vec![SAME.to_owned()]],
        SectionTopic::Goal if has(SectionTopic::Topic) => vec![facts.goal.iter().skip(1).cloned().collect()],
        SectionTopic::Goal => vec![facts.goal.clone()],
        SectionTopic::Rules | SectionTopic::Preferences => vec![facts.rules.clone()],
        SectionTopic::Done if has(SectionTopic::Decisions) => vec![facts.done.clone(), lookups(facts)],
        SectionTopic::Done => vec![facts.done.clone(), lookups(facts), labelled(Label::Decided, &facts.decisions)],
        SectionTopic::InProgress if has(SectionTopic::Blocked) => vec![facts.in_progress.clone()],
        SectionTopic::InProgress => vec![facts.in_progress.clone(), labelled(Label::Obstacle, &facts.blocked)],
        SectionTopic::Blocked => vec![facts.blocked.clone()],
        SectionTopic::Decisions => vec![facts.decisions.clone()],
        SectionTopic::Questions => vec![facts.questions.clone()],
        SectionTopic::Next => {
            let rules = if ruled { Vec::new() } else { labelled(Label::Rule, &facts.rules) };
            let open =
                if has(SectionTopic::InProgress) { Vec::new() } else { labelled(Label::UnderWay, &facts.in_progress) };
            vec![rules, open, facts.next.clone()]
        }
        SectionTopic::Files => vec![facts.context.clone(), files(facts), mentions(facts)],
        SectionTopic::Context => context(facts, has),
        SectionTopic::Results => {
            vec![facts.results.iter().filter(|result| !facts.done.contains(result)).cloned().collect()]
        }
        SectionTopic::Group => Vec::new(),
    }
}

fn context(facts: &Facts, has: &dyn Fn(SectionTopic) -> bool) -> Vec<Vec<String>> {
    let mut groups = Vec::new();
    let missing = |slots: &[SectionTopic]| !slots.iter().any(|&slot| has(slot));
    if missing(&[SectionTopic::Rules, SectionTopic::Preferences, SectionTopic::Next]) {
        groups.push(labelled(Label::Rule, &facts.rules));
    }
    if missing(&[SectionTopic::Blocked, SectionTopic::InProgress]) {
        groups.push(labelled(Label::Obstacle, &facts.blocked));
    }
    if missing(&[SectionTopic::InProgress, SectionTopic::Next]) {
        groups.push(labelled(Label::UnderWay, &facts.in_progress));
    }
    if missing(&[SectionTopic::Questions]) {
        groups.push(labelled(Label::Question, &facts.questions));
    }
    groups.push(facts.context.clone());
    groups.push(mentions(facts));
    if missing(&[SectionTopic::Files]) {
        groups.push(files(facts));
    }
    groups
}

fn lookups(facts: &Facts) -> Vec<String> {
    (facts.lookups > 0).then(|| format!("{LOOKUPS}{}", facts.lookups)).into_iter().collect()
}

fn mentions(facts: &Facts) -> Vec<String> {
    rows(Label::Mentioned, &facts.mentions, 8)
}

fn files(facts: &Facts) -> Vec<String> {
    rows(Label::Files, &facts.files, 3)
}

/// Short items, several to a line. How many there are was settled before: none is dropped or clipped.
fn rows(label: Label, list: &[String], width: usize) -> Vec<String> {
    list.chunks(width).map(|row| format!("{}{}", label.as_str(), row.join(", "))).collect()
}

fn labelled(label: Label, list: &[String]) -> Vec<String> {
    list.iter().map(|item| format!("{}{item}", label.as_str())).collect()
}

/// The first item and the newest ones, with a line for what lies between. Rules keep their words, and are dropped
/// last; references come as they are.
fn shorten(lines: &[String], slot: SectionTopic, items: usize, width: usize) -> Vec<String> {
    let rule = |line: &String| {
        matches!(slot, SectionTopic::Rules | SectionTopic::Preferences) || line.starts_with(Label::Rule.as_str())
    };
    if lines.iter().any(|line| [Label::Files, Label::Mentioned].iter().any(|label| line.starts_with(label.as_str()))) {
        return lines.to_vec();
    }
    let rules = lines.first().is_some_and(rule);
    let items = if rules { items * 3 } else { items };
    let width = match slot {
        _ if rules && items > 20 => RULE_WIDTH,
        SectionTopic::Goal | SectionTopic::Topic => width * 2,
        _ if rules => width * 2,
        _ => width,
    };
    let surplus = lines.len().saturating_sub(items);
    let clipped = |lines: &[String]| lines.iter().map(|line| clip(line, width)).collect::<Vec<_>>();
    if surplus == 0 {
        return clipped(lines);
    }
    let (first, rest) = lines.split_at(1);
    let newest = rest.get(surplus..).unwrap_or_default();
    [clipped(first), vec![format!("{GAP}{surplus} earlier items left out)")], clipped(newest)].concat()
}

fn list(section: &Section, lines: &[String]) -> String {
    if section.slot == SectionTopic::Group {
        return section.heading.to_owned();
    }
    if lines.is_empty() {
        return format!("{}\n(none)", section.heading);
    }
    let numbered = section.bullet.starts_with("1.");
    let lines = lines.iter().enumerate().map(|(at, line)| match (numbered, line.starts_with(GAP)) {
        (true, false) => format!("{}. {line}", at + 1),
        (false, true) | (true, true) => format!("- {line}"),
        (false, false) => format!("{}{line}", section.bullet),
    });
    format!("{}\n{}", section.heading, lines.collect::<Vec<_>>().join("\n"))
}

fn paragraph(section: &Section, lines: &[String]) -> Option<String> {
    let items: Vec<String> = lines.iter().map(|line| line.trim_end_matches('.').replace("; ", ", ")).collect();
    (!items.is_empty()).then(|| format!("{} {}.", section.heading, items.join("; ")))
}
