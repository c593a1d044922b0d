//! How a context grew and shrank: its size at places of its path, from running totals alone.

use crate::settings::Estimator;
use crate::tokens::accounting::{Account, Base, Snapshot, UsageMark};

/// A place on a path from which the context rests on a compaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    pub depth: i64,
    pub base: Base,
}

/// The path's totals at a place, and what a provider reported there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub depth: i64,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
    pub usage: Option<i64>,
}

/// A part of a path of which one place is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub from: i64,
    pub to: i64,
    /// Its very last place: what comes behind it is a compaction, or nothing.
    pub to_the_end: bool,
}

/// The base that a compaction left, by the snapshot that was taken of it.
pub fn base_of(snapshot: &Snapshot, path_tokens: i64, path_result_tokens: i64) -> Base {
    let ratio = if snapshot.calibration > 0.0 { snapshot.calibration } else { 1.0 };
    let estimate = |tokens: u64| (tokens as f64 / ratio).round() as i64;
    let parts = &snapshot.breakdown;
    Base {
        path_tokens,
        path_result_tokens,
        summary: estimate(parts.summary),
        messages: estimate(parts.messages),
        tool_results: estimate(parts.tool_results),
        ..Base::default()
    }
}

/// Walks along a path: the account at each place, as far as it is known now.
pub struct Walk<'a> {
    /// The account at the leaf: system prompt, tools and calibration are taken from it.
    leaf: &'a Account,
    bends: &'a [Bend],
    /// The newest report, and under how many bends it came.
    reported: Option<(usize, UsageMark)>,
    /// What the context would be at the place before if nothing had ever been compacted, and that place's total.
    uncompacted: Option<(u64, i64)>,
}

impl<'a> Walk<'a> {
    /// `bends` ascend.
    pub fn new(leaf: &'a Account, bends: &'a [Bend]) -> Walk<'a> {
        Walk { leaf, bends, reported: None, uncompacted: None }
    }

    /// The account at a place; places ascend. What was reported before a compaction is stale behind it.
    pub fn at(&mut self, place: Totals) -> Account {
        let under = self.bends.partition_point(|bend| bend.depth <= place.depth);
        let base = under.checked_sub(1).and_then(|last| self.bends.get(last)).map(|bend| bend.base);
        let mut account = Account {
            system: self.leaf.system,
            tools: self.leaf.tools,
            path_tokens: place.path_tokens,
            path_result_tokens: place.path_result_tokens,
            base: base.unwrap_or_default(),
            calibration: self.leaf.calibration,
            unposted: self.leaf.unposted,
            ..Account::default()
        };
        if let Some(tokens) = place.usage.filter(|_| place.path_tokens > self.leaf.disbelieved_to) {
            self.reported = Some((under, UsageMark::whole(tokens, account.messages_counted())));
        }
        account.usage = self.reported.filter(|(bends, _)| *bends == under).map(|(_, mark)| mark);
        account
    }

    /// The size that the context at a place would have if nothing had ever been compacted; `tokens` is the size that it
    /// has. Places ascend, and so do these sizes: what was reported of a context that a compaction had made smaller, or
    /// that was never ours, does not move them but by being larger.
    pub fn uncompacted(&mut self, account: &Account, tokens: u64, estimator: Estimator) -> u64 {
        let estimate = |path_tokens: i64| {
            Account { path_tokens, base: Base::default(), usage: None, ..account.clone() }.tokens(estimator).0
        };
        let whole = estimate(account.path_tokens);
        let before = self.uncompacted.map_or(0, |(size, _)| size);
        let size = match self.uncompacted {
            _ if account.base == Base::default() => before,
            Some((size, path_tokens)) => size + whole.saturating_sub(estimate(path_tokens)),
            None => whole,
        };
        let size = size.max(tokens);
        self.uncompacted = Some((size, account.path_tokens));
        size
    }
}

/// Of `bends`, the places of those that shed most, ascending; `most` of them.
pub fn sharpest(bends: &[Bend], leaf: &Account, most: usize) -> Vec<i64> {
    let shed = |(place, bend): (usize, &Bend)| {
        let before = place.checked_sub(1).and_then(|last| bends.get(last)).map(|bend| bend.base).unwrap_or_default();
        let size = |base: Base| {
            let (path_tokens, path_result_tokens) = (bend.base.path_tokens, bend.base.path_result_tokens);
            Account { path_tokens, path_result_tokens, base, ..leaf.clone() }.estimated()
        };
        (size(before) - size(bend.base), bend.depth)
    };
    let mut by_shed: Vec<(i64, i64)> = bends.iter().enumerate().map(shed).collect();
    by_shed.sort_unstable_by(|a, b| b.cmp(a));
    let mut depths: Vec<i64> = by_shed.into_iter().take(most).map(|(_, depth)| depth).collect();
    depths.sort_unstable();
    depths
}

/// Cuts a path that ends at the depth `leaf` into at most `most` buckets, none of which goes over one of the `cuts`; the
/// longer a stretch between two cuts, the more it has. Each cut is a bucket of its own.
pub fn buckets(leaf: i64, cuts: &[i64], most: usize) -> Vec<Bucket> {
    let mut stretches: Vec<(i64, i64)> = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for cut in cuts.iter().copied().chain([leaf + 1]) {
        stretches.push((from, cut - 1));
        from = cut + 1;
    }
    let length = |(from, to): &(i64, i64)| (to - from + 1).max(0);
    let all: i64 = stretches.iter().map(length).sum::<i64>().max(1);
    let spare = most.saturating_sub(cuts.len() + stretches.len());
    let mut buckets = Vec::with_capacity(most);
    for (place, stretch) in stretches.iter().enumerate() {
        let entries = length(stretch);
        let share = (spare as i64).saturating_mul(entries) / all + 1;
        let parts = share.min(entries);
        for part in 0..parts {
            let (from, to) = (stretch.0 + entries * part / parts, stretch.0 + entries * (part + 1) / parts - 1);
            buckets.push(Bucket { from, to, to_the_end: part + 1 == parts });
        }
        buckets.extend(cuts.get(place).map(|cut| Bucket { from: *cut, to: *cut, to_the_end: true }));
    }
    buckets
}

#[cfg(test)]
mod tests;
