//! What fills a context: the tokens of its view by category and by tool, and its largest entries.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use strum::VariantArray as _;
use utoipa::ToSchema;
use uuid::Uuid;

use super::view::{ViewItem, item_tokens};
use crate::model::compaction::{ElidedPart, Elision};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::message::Role;

/// Most tools that are told apart, those with the most tokens.
const MOST_TOOLS: usize = 100;
/// Most characters of a tool's name.
const NAME_CHARS: usize = 256;

/// Part of a context. `system` and `tools` travel beside the messages; `unposted` is what the provider counts besides and
/// the client never posts; `instructions` are system messages among them;
/// an answer's words, thinking and calls are `assistant`; a message that holds results alone is `tool_results`, its frame
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    System,
    Tools,
    Unposted,
    Summary,
    Chapters,
    BranchSummaries,
    Instructions,
    User,
    Assistant,
    ToolResults,
    Other,
}

/// A context's tokens, taken apart. Shares are percent of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// Every category; together they are the context's tokens.
    pub categories: Vec<CategoryPart>,
    /// The tools by the tokens of their results, 100 at most.
    pub tools: Vec<ToolPart>,
    pub largest: Vec<LargeEntry>,
    /// Entries shown, the summary's among them.
    pub entries: u64,
    /// What tool results and arguments that are shown shorter would take besides.
    pub elided_tokens: u64,
}

/// A category of a context.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CategoryPart {
    pub category: Category,
    pub tokens: u64,
    pub share_pct: f64,
}

/// A tool in a context: how often it is called there, and what its results take.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ToolPart {
    /// Null: of results whose call the context does not show.
    pub name: Option<String>,
    pub calls: u64,
    pub results: u64,
    pub tokens: u64,
    pub share_pct: f64,
}

/// One of the largest entries of a context; of a compaction, its summary.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LargeEntry {
    pub entry_id: Uuid,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    /// The tool that it calls, or whose result it holds; the first of several.
    pub tool_name: Option<String>,
    pub tokens: u64,
    pub share_pct: f64,
    /// It is shown shorter than it is.
    pub elided: bool,
}

/// What is to be taken apart: a view, what travels beside it, and the size that the whole is known to have.
#[derive(Debug, Clone, Copy)]
pub struct Whole<'a> {
    pub heads: &'a [EntryMeta],
    pub view: &'a [ViewItem],
    /// Estimates of system prompt and tools.
    pub system: u32,
    pub tools: u32,
    /// What the parts are brought to scale for: the snapshot's tokens, and those of them that are no part's.
    pub tokens: u64,
    pub unposted: u64,
}

/// Takes a context apart; `largest` entries are named.
pub fn take_apart(whole: Whole<'_>, largest: usize) -> Parts {
    let mut tally = Tally::default();
    tally.add(Category::System, u64::from(whole.system));
    tally.add(Category::Tools, u64::from(whole.tools));
    for item in whole.view {
        tally.take(whole.heads, item);
    }
    let scale = Scale::of_whole(&whole);
    Parts {
        categories: categories(&tally.by_category, scale),
        tools: tools(&tally.by_tool, scale),
        largest: entries(whole, &tally, scale, largest),
        entries: whole.view.len() as u64,
        elided_tokens: scale.of(tally.elided),
    }
}

/// From estimates to the tokens that the whole is known to have.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    estimated: u64,
    /// Without what was never posted.
    tokens: u64,
    unposted: u64,
}

impl Scale {
    /// That of all parts.
    pub fn of_whole(whole: &Whole<'_>) -> Scale {
        let messages: u64 = whole.view.iter().map(|item| item_tokens(whole.heads, item)).sum();
        let unposted = whole.unposted.min(whole.tokens);
        let estimated = messages + u64::from(whole.system) + u64::from(whole.tools);
        Scale { estimated, tokens: whole.tokens - unposted, unposted }
    }

    /// What the part with this estimate takes of the whole.
    pub fn of(self, estimate: u64) -> u64 {
        match self.estimated {
            0 => 0,
            all => (u128::from(estimate) * u128::from(self.tokens) / u128::from(all)) as u64,
        }
    }

    fn share(self, estimate: u64) -> f64 {
        let all = (self.tokens + self.unposted).max(1) as f64;
        match self.estimated {
            0 => 0.0,
            counted => estimate as f64 / counted as f64 * (self.tokens as f64 / all) * 100.0,
        }
    }

    fn unposted(self) -> CategoryPart {
        let all = (self.tokens + self.unposted).max(1) as f64;
        let share_pct = self.unposted as f64 / all * 100.0;
        CategoryPart { category: Category::Unposted, tokens: self.unposted, share_pct }
    }
}

#[derive(Default)]
struct ToolTally {
    calls: u64,
    results: u64,
    tokens: u64,
}

/// Estimates as they are added up, by the names and ids of a view's entries.
#[derive(Default)]
struct Tally<'a> {
    by_category: BTreeMap<Category, u64>,
    by_tool: HashMap<Option<&'a str>, ToolTally>,
    /// The tool behind the newest call with an id.
    called: HashMap<&'a str, &'a str>,
    elided: u64,
    /// For each step of the view, its tool.
    tool_of: Vec<Option<&'a str>>,
}

impl<'a> Tally<'a> {
    fn add(&mut self, category: Category, tokens: u64) {
        *self.by_category.entry(category).or_default() += tokens;
    }

    fn take(&mut self, heads: &'a [EntryMeta], item: &ViewItem) {
        let tokens = item_tokens(heads, item);
        let (index, elisions) = match item {
            ViewItem::Summary { .. } => {
                self.tool_of.push(None);
                return self.add(Category::Summary, tokens);
            }
            ViewItem::Entry { index, elisions } => (*index, elisions),
        };
        let Some(head) = heads.get(index) else { return self.tool_of.push(None) };
        self.elided += elisions.iter().map(saved).sum::<u64>();
        let results = self.take_tools(head, elisions).min(tokens);
        self.add(Category::ToolResults, results);
        self.add(category_of(head), tokens - results);
    }

    /// Takes an entry's calls and results; gives the tokens of the results as they are shown.
    fn take_tools(&mut self, head: &'a EntryMeta, elisions: &[Elision]) -> u64 {
        let mut first = None;
        for call in &head.shape.calls {
            first = first.or(Some(call.name.as_str()));
            self.called.insert(&call.id, &call.name);
            self.by_tool.entry(Some(&call.name)).or_default().calls += 1;
        }
        let mut all = 0;
        for result in &head.shape.results {
            let name = self.called.get(result.call_id.as_str()).copied();
            first = first.or(name);
            let shorter = |one: &&Elision| one.part == ElidedPart::Result && one.tool_call_id == result.call_id;
            let freed: u64 = elisions.iter().filter(shorter).map(saved).sum();
            let shown = u64::from(result.tokens).saturating_sub(freed);
            let tool = self.by_tool.entry(name).or_default();
            tool.results += 1;
            tool.tokens += shown;
            all += shown;
        }
        self.tool_of.push(first);
        all
    }
}

fn saved(elision: &Elision) -> u64 {
    u64::from(elision.tokens_before.saturating_sub(elision.tokens_after))
}

/// The category of what an entry holds besides tool results.
fn category_of(head: &EntryMeta) -> Category {
    match (head.kind, head.role) {
        (EntryType::Chapter, _) => Category::Chapters,
        (EntryType::BranchSummary, _) | (_, Some(Role::BranchSummary)) => Category::BranchSummaries,
        (_, Some(Role::CompactionSummary)) => Category::Summary,
        _ if !head.shape.results.is_empty() && !head.shape.mixed => Category::ToolResults,
        (_, Some(Role::System | Role::Developer)) => Category::Instructions,
        (_, Some(Role::User)) => Category::User,
        (_, Some(Role::Assistant)) => Category::Assistant,
        (_, Some(Role::Tool)) => Category::ToolResults,
        _ => Category::Other,
    }
}

/// All categories. What rounding leaves goes to the largest.
fn categories(by_category: &BTreeMap<Category, u64>, scale: Scale) -> Vec<CategoryPart> {
    let estimate = |category: &Category| by_category.get(category).copied().unwrap_or(0);
    let part = |category: &Category| {
        if *category == Category::Unposted {
            return scale.unposted();
        }
        let estimate = estimate(category);
        CategoryPart { category: *category, tokens: scale.of(estimate), share_pct: scale.share(estimate) }
    };
    let mut parts: Vec<CategoryPart> = Category::VARIANTS.iter().map(part).collect();
    let told: u64 = parts.iter().map(|part| part.tokens).sum();
    let counted = parts.iter_mut().filter(|part| part.category != Category::Unposted);
    if let Some(most) = counted.max_by_key(|part| part.tokens).filter(|_| scale.estimated > 0) {
        most.tokens += (scale.tokens + scale.unposted).saturating_sub(told);
    }
    parts
}

fn tools(by_tool: &HashMap<Option<&str>, ToolTally>, scale: Scale) -> Vec<ToolPart> {
    let mut tools: Vec<(&Option<&str>, &ToolTally)> = by_tool.iter().collect();
    tools.sort_by(|(a_name, a), (b_name, b)| (b.tokens, b.calls, a_name).cmp(&(a.tokens, a.calls, b_name)));
    let part = |(name, tally): (&Option<&str>, &ToolTally)| ToolPart {
        name: name.map(shown_name),
        calls: tally.calls,
        results: tally.results,
        tokens: scale.of(tally.tokens),
        share_pct: scale.share(tally.tokens),
    };
    tools.into_iter().take(MOST_TOOLS).map(part).collect()
}

fn entries(whole: Whole<'_>, tally: &Tally<'_>, scale: Scale, most: usize) -> Vec<LargeEntry> {
    let sized = whole.view.iter().enumerate().map(|(place, item)| (item_tokens(whole.heads, item), place));
    let mut sized: Vec<(u64, usize)> = sized.collect();
    sized.sort_by(|(a, a_place), (b, b_place)| b.cmp(a).then(a_place.cmp(b_place)));
    let entry = |(tokens, place): (u64, usize)| {
        let (index, elided) = match whole.view.get(place)? {
            ViewItem::Summary { compaction } => (*compaction, false),
            ViewItem::Entry { index, elisions } => (*index, !elisions.is_empty()),
        };
        let head = whole.heads.get(index)?;
        Some(LargeEntry {
            entry_id: head.id,
            kind: head.kind.into_str(),
            role: head.role.map(|role| role.into_str()),
            tool_name: tally.tool_of.get(place).copied().flatten().map(shown_name),
            tokens: scale.of(tokens),
            share_pct: scale.share(tokens),
            elided,
        })
    };
    sized.into_iter().take(most).filter_map(entry).collect()
}

fn shown_name(name: &str) -> String {
    name.chars().take(NAME_CHARS).collect()
}

#[cfg(test)]
mod tests;
