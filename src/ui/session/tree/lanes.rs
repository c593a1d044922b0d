//! Where the parts of a tree are drawn: each branch a lane, what happens on them in columns from left to right, the
//! entries in between told by their number. Bounded, however large the tree is.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::service::sessions::outline::{Outline, OutlineBranch, OutlineMark};
use crate::ui::visible::line;

/// Branches and marks that are drawn: the newest, and those that lead to the leaf.
const MOST_LANES: usize = 16;
const MOST_MARKS: usize = 120;

/// What is drawn.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    pub lanes: Vec<Lane>,
    pub nodes: Vec<Node>,
    pub columns: usize,
    /// Lane and column.
    pub leaf: Option<(usize, usize)>,
    /// Branches and marks that are not drawn.
    pub left_out: usize,
}

/// A branch.
#[derive(Debug, PartialEq, Eq)]
pub struct Lane {
    pub lane: usize,
    /// Columns of its beginning and its end.
    pub first: usize,
    pub last: usize,
    /// Lane and column where it goes on from.
    pub parent: Option<(usize, usize)>,
    pub runs: Vec<Run>,
    pub tip: Uuid,
}

/// Entries between two columns.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub from: usize,
    pub to: usize,
    /// The depth that they come after.
    pub after: i64,
    pub entries: i64,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Compaction,
    Chapter,
    Summary,
    Label,
    /// The last entry of a branch.
    Tip,
}

/// An entry that is drawn.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    pub lane: usize,
    pub column: usize,
    pub sign: Sign,
    pub entry: Uuid,
    pub title: String,
}

/// What a mark is, in a word.
pub fn told(mark: &OutlineMark) -> &'static str {
    match sign(mark) {
        Sign::Compaction => "Compaction",
        Sign::Chapter => "Chapter",
        Sign::Summary => "Branch summary",
        Sign::Label | Sign::Tip => "Label",
    }
}

fn sign(mark: &OutlineMark) -> Sign {
    match mark.kind.as_str() {
        "compaction" => Sign::Compaction,
        "chapter" => Sign::Chapter,
        "branch_summary" => Sign::Summary,
        _ => Sign::Label,
    }
}

/// Draws a tree.
pub fn draw(outline: &Outline) -> Drawing {
    let branches = chosen(outline);
    let lanes: BTreeMap<i32, usize> = branches.iter().enumerate().map(|(lane, one)| (one.branch, lane)).collect();
    let on_lane: Vec<&OutlineMark> = outline.marks.iter().filter(|mark| lanes.contains_key(&mark.branch)).collect();
    let marks = on_lane.get(on_lane.len().saturating_sub(MOST_MARKS)..).unwrap_or_default();
    let places = places(outline, &branches, marks);
    let all: BTreeSet<i64> = places.values().flatten().copied().collect();
    let columns: BTreeMap<i64, usize> = all.into_iter().enumerate().map(|(column, depth)| (depth, column)).collect();
    let column = |depth: i64| columns.get(&depth).copied().unwrap_or(0);
    let lane = |(place, branch): (usize, &&OutlineBranch)| {
        let own: Vec<i64> = places.get(&branch.branch).into_iter().flatten().copied().collect();
        let runs = own.windows(2).filter_map(|pair| match pair {
            [after, next] if next - after > 1 => {
                Some(Run { from: column(*after), to: column(*next), after: *after, entries: next - after - 1 })
            }
            _ => None,
        });
        let parent = branch.parent.and_then(|parent| Some((*lanes.get(&parent)?, column(branch.from - 1))));
        let (first, last) = (column(branch.from), column(branch.to));
        Lane { lane: place, first, last, parent, runs: runs.collect(), tip: branch.tip }
    };
    let node = |mark: &&OutlineMark| {
        let label = mark.label.as_deref().map(|label| format!(": {}", line(label, 80))).unwrap_or_default();
        let title = format!("{} at entry {}{label}", told(mark), mark.depth + 1);
        let lane = lanes.get(&mark.branch).copied().unwrap_or(0);
        Node { lane, column: column(mark.depth), sign: sign(mark), entry: mark.entry_id, title }
    };
    let tip = |(lane, branch): (usize, &&OutlineBranch)| {
        let title = format!("Last entry of branch {}: {}", branch.branch, branch.to + 1);
        Node { lane, column: column(branch.to), sign: Sign::Tip, entry: branch.tip, title }
    };
    let marked: BTreeSet<Uuid> = marks.iter().map(|mark| mark.entry_id).collect();
    let tips = branches.iter().enumerate().filter(|(_, branch)| !marked.contains(&branch.tip)).map(tip);
    Drawing {
        nodes: marks.iter().map(node).chain(tips).collect(),
        lanes: branches.iter().enumerate().map(lane).collect(),
        columns: columns.len(),
        leaf: outline.leaf.and_then(|(at, depth)| Some((*lanes.get(&at)?, column(depth)))),
        left_out: outline.branches.len() - branches.len() + outline.marks.len() - marks.len(),
    }
}

/// The branches that lead to the leaf, then the newest; in order.
fn chosen(outline: &Outline) -> Vec<&OutlineBranch> {
    let by_number: BTreeMap<i32, &OutlineBranch> = outline.branches.iter().map(|one| (one.branch, one)).collect();
    let mut kept = BTreeSet::new();
    let mut at = outline.leaf.map(|(branch, _)| branch);
    while let Some(branch) = at.and_then(|at| by_number.get(&at)).filter(|_| kept.len() < MOST_LANES) {
        at = if kept.insert(branch.branch) { branch.parent } else { None };
    }
    for branch in outline.branches.iter().rev() {
        if kept.len() < MOST_LANES {
            kept.insert(branch.branch);
        }
    }
    kept.iter().filter_map(|branch| by_number.get(branch).copied()).collect()
}

/// The depths of each branch that have a column: its ends, what stands out, where others begin, the leaf.
fn places(outline: &Outline, branches: &[&OutlineBranch], marks: &[&OutlineMark]) -> BTreeMap<i32, BTreeSet<i64>> {
    let mut places: BTreeMap<i32, BTreeSet<i64>> = BTreeMap::new();
    let mut add = |branch: i32, depth: i64| places.entry(branch).or_default().insert(depth);
    for branch in branches {
        add(branch.branch, branch.from);
        add(branch.branch, branch.to);
        // A branch may go on from an entry that its parent has from another one: then it has no place there.
        let parent = branches.iter().find(|one| Some(one.branch) == branch.parent);
        if let Some(parent) = parent.filter(|parent| (parent.from..=parent.to).contains(&(branch.from - 1))) {
            add(parent.branch, branch.from - 1);
        }
    }
    for mark in marks {
        add(mark.branch, mark.depth);
    }
    if let Some((branch, depth)) = outline.leaf.filter(|(at, _)| branches.iter().any(|one| one.branch == *at)) {
        add(branch, depth);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(branch: i32, parent: Option<i32>, from: i64, to: i64) -> OutlineBranch {
        OutlineBranch { branch, parent, from, to, tip: Uuid::from_u128(branch as u128) }
    }

    fn mark(branch: i32, depth: i64) -> OutlineMark {
        let entry_id = Uuid::from_u128(1_000 + depth as u128);
        OutlineMark { branch, depth, entry_id, kind: "compaction".to_owned(), label: None }
    }

    #[test]
    fn a_branch_goes_on_from_its_parents_lane() {
        let branches = vec![branch(0, None, 0, 99), branch(1, Some(0), 40, 60)];
        let drawing = draw(&Outline { leaf: Some((1, 60)), branches, marks: vec![mark(0, 70)] });
        // Columns: 0, 39, 40, 60, 70, 99.
        assert_eq!(drawing.columns, 6);
        assert_eq!((drawing.lanes[1].parent, drawing.lanes[1].first, drawing.lanes[1].last), (Some((0, 1)), 2, 3));
        assert_eq!(drawing.leaf, Some((1, 3)));
        let runs: Vec<i64> = drawing.lanes[0].runs.iter().map(|run| run.entries).collect();
        assert_eq!(runs, [38, 30, 28], "entries between 0, 39, 70 and 99");
        let signs: Vec<Sign> = drawing.nodes.iter().map(|node| node.sign).collect();
        assert_eq!(signs, [Sign::Compaction, Sign::Tip, Sign::Tip]);
    }

    #[test]
    fn a_large_tree_is_drawn_in_part_and_says_so() {
        let mut branches: Vec<OutlineBranch> = vec![branch(0, None, 0, 1_000_000)];
        branches.extend((1..200).map(|n| branch(n, Some(n - 1), i64::from(n) * 10, i64::from(n) * 10 + 500)));
        let marks = (0..400).map(|n| mark(0, n * 7)).collect();
        let drawing = draw(&Outline { leaf: Some((0, 5)), branches, marks });
        assert_eq!(drawing.lanes.len(), MOST_LANES);
        assert!(drawing.nodes.len() <= MOST_LANES + MOST_MARKS && drawing.columns < 200, "{}", drawing.columns);
        assert_eq!(drawing.left_out, 200 - MOST_LANES + 400 - MOST_MARKS);
        assert!(drawing.leaf.is_some());
    }

    #[test]
    fn nothing_and_one_entry_are_drawn() {
        assert_eq!(draw(&Outline { leaf: None, branches: vec![], marks: vec![] }), Drawing::default());
        let one = draw(&Outline { leaf: Some((0, 0)), branches: vec![branch(0, None, 0, 0)], marks: vec![] });
        assert_eq!((one.columns, one.nodes.len(), one.leaf), (1, 1, Some((0, 0))));
    }
}
