//! Leaving a branch: which of its entries a branch summary tells.

use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::message::Role;

/// An entry that is a summary already is taken along while less than this part of the budget is used.
const SQUEEZE_BELOW: f64 = 0.9;

/// The entries that are left when a leaf moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBranch {
    /// The deepest entry on both paths, as an index into either; `None` where they share none.
    pub ancestor: Option<usize>,
    /// Indexes into the old path, oldest first. Compactions do not end it.
    pub entries: Vec<usize>,
}

/// Entries that a branch summary is made of, as indexes into the entries given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPlan {
    /// Messages to summarise, oldest first; a compaction stands for its summary. An empty summary says nothing.
    pub messages: Vec<usize>,
    /// Messages whose file operations count: `messages` and the one that broke the budget.
    pub visited: Vec<usize>,
    /// Earlier branch summaries, whose file lists are passed on unless a hook made them.
    pub summaries: Vec<usize>,
    /// Estimate of `messages`.
    pub tokens: u64,
}

/// Compares two paths, each from its root.
pub fn left_branch(old_path: &[EntryMeta], target_path: &[EntryMeta]) -> LeftBranch {
    let shared = old_path.iter().zip(target_path).take_while(|(old, target)| old.id == target.id).count();
    LeftBranch { ancestor: shared.checked_sub(1), entries: (shared..old_path.len()).collect() }
}

/// Takes messages from the newest on while they fit into `budget` (tokens; 0 is no limit). Tool results are left
/// out: the calls tell what was done.
pub fn plan_summary(entries: &[EntryMeta], budget: u64) -> BranchPlan {
    let mut plan = BranchPlan { messages: Vec::new(), visited: Vec::new(), summaries: Vec::new(), tokens: 0 };
    plan.summaries = (0..entries.len()).filter(|index| is_kind(entries, *index, EntryType::BranchSummary)).collect();
    for (index, head) in entries.iter().enumerate().rev().filter(|(_, head)| tells(head)) {
        plan.visited.push(index);
        let tokens = told_tokens(head);
        if budget == 0 || plan.tokens + tokens <= budget {
            plan.messages.push(index);
            plan.tokens += tokens;
            continue;
        }
        if is_summary(head) && (plan.tokens as f64) < budget as f64 * SQUEEZE_BELOW {
            plan.messages.push(index);
            plan.tokens += tokens;
        }
        break;
    }
    plan.messages.reverse();
    plan.visited.reverse();
    plan
}

fn tells(head: &EntryMeta) -> bool {
    let says_more = head.role != Some(Role::Tool) && (head.shape.results.is_empty() || head.shape.mixed);
    is_summary(head) || (head.is_visible() && says_more)
}

/// Without the results that stand in the same message.
fn told_tokens(head: &EntryMeta) -> u64 {
    let results: u64 = head.shape.results.iter().map(|result| u64::from(result.tokens)).sum();
    u64::from(head.tokens).saturating_sub(results)
}

fn is_summary(head: &EntryMeta) -> bool {
    matches!(head.kind, EntryType::Compaction | EntryType::BranchSummary)
}

fn is_kind(entries: &[EntryMeta], index: usize, kind: EntryType) -> bool {
    entries.get(index).is_some_and(|head| head.kind == kind)
}

#[cfg(test)]
mod tests;
