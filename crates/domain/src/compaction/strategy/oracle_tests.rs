//! What praisonaiagents 1.7.17 keeps and drops: in cases worked out by its rules, and on recorded transcripts.
//!
//! Contexts that the original rebuilds are compared message by message. Passes that it does not carry out (below its
//! limit, or held by its guard) are no matter of a strategy and left out. Four rules of ours differ:
//! - the newest unit stays where the original is left with instructions alone: an open call must find its result, and the
//!   newest message decides what to do next;
//! - answers next to each other, which are items of one, stay or go together;
//! - `smart` scores messages, where the original does the same as `sliding`;
//! - `prune` lets repeated results point to the newest, besides shortening long ones, and keeps as much of a long one as
//!   the limit allows, where the original keeps three fifths: a result just over the limit would not get smaller and stays.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use serde_json::Value;
use uuid::Uuid;

use super::smart::Clues;
use super::*;
use crate::compaction::cut::cut_by_messages;
use crate::compaction::prepare::tests::settings;
use crate::compaction::prune::{PruneItem, Pruner};
use crate::context::ties::ties;
use crate::context::{elision, placeholder};
use crate::data::Source;
use crate::format::openai_chat;
use crate::model::compaction::{Elision, ElisionKind};
use crate::model::message::Message;
use crate::model::open_calls::OpenCalls;
use crate::model::shape::{Shape, apply_shape};
use crate::settings::{Estimator, Settings};
use crate::tokens::count_message;

/// One call of the original: what it got, what it made of it.
struct Pass {
    strategy: String,
    preserve_recent: u32,
    target: u64,
    before: Vec<Value>,
    after: Vec<Value>,
    heads: Vec<EntryMeta>,
    messages: Vec<Message>,
}

impl Pass {
    fn new(case: &Value, before: &Value, out: &Value) -> Pass {
        let config = &case["config"];
        let before = before.as_array().unwrap().clone();
        let (heads, messages) = read(&before);
        Pass {
            strategy: case["strategy"].as_str().unwrap().to_owned(),
            preserve_recent: u32::try_from(config["preserve_recent"].as_u64().unwrap()).unwrap(),
            target: config["target_tokens"].as_u64().unwrap(),
            before,
            after: out["messages"].as_array().unwrap().clone(),
            heads,
            messages,
        }
    }

    fn settings(&self) -> Settings {
        Settings { estimator: Estimator::Praison, preserve_recent: self.preserve_recent, ..settings(0) }
    }

    fn items(&self) -> Vec<ShownMessage> {
        let item = |(index, head): (usize, &EntryMeta)| ShownMessage { index, tokens: u64::from(head.tokens) };
        self.heads.iter().enumerate().map(item).collect()
    }

    fn plan(&self, strategy: Strategy) -> Result<Plan, Reason> {
        let clues: HashMap<usize, Clues> =
            self.messages.iter().enumerate().map(|(at, message)| (at, Clues::of(message, None))).collect();
        let choice = Choice {
            path: &self.heads,
            newest: None,
            items: &self.items(),
            settings: &self.settings(),
            room: RoomForKept { target: self.target, limit: u64::MAX },
            clues: &clues,
        };
        select(strategy, &choice)
    }

    /// The messages at these places as the original writes them: instructions first.
    fn shown(&self, places: impl Iterator<Item = usize>) -> Vec<Value> {
        let (system, others): (Vec<usize>, Vec<usize>) = places.partition(|at| self.heads[*at].is_instruction());
        system.iter().chain(&others).map(|at| self.before[*at].clone()).collect()
    }

    fn kept(&self, plan: Result<Plan, Reason>) -> Vec<usize> {
        match plan {
            Ok(plan) => plan.anchors.iter().chain(&plan.kept).copied().collect(),
            Err(reason) => {
                assert_eq!(reason, Reason::NothingToCompact);
                (0..self.heads.len()).collect()
            }
        }
    }

    fn has_no_orphan(&self, kept: &[usize]) -> bool {
        let kept: BTreeSet<usize> = kept.iter().copied().collect();
        let heads: Vec<&EntryMeta> = self.heads.iter().collect();
        ties(&heads).iter().all(|tie| kept.contains(&tie.first) == kept.contains(&tie.last))
    }
}

fn read(items: &[Value]) -> (Vec<EntryMeta>, Vec<Message>) {
    let (mut heads, mut messages, mut open) = (Vec::new(), Vec::new(), OpenCalls::default());
    for (index, raw) in items.iter().enumerate() {
        let item = openai_chat::read(raw).unwrap();
        let counted = count_message(Estimator::Praison, item.message.as_ref().unwrap());
        let seq = i64::try_from(index).unwrap();
        let shape = Shape::of(&item, seq, &open, &counted.results);
        open.apply(seq, &shape);
        let mut message = item.message.unwrap();
        apply_shape(&mut message, &shape);
        heads.push(EntryMeta {
            id: Uuid::from_u128(index as u128 + 1),
            seq,
            depth: seq,
            kind: EntryType::Message,
            role: Some(message.role),
            tokens: counted.total,
            path_tokens: 0,
            usage: None,
            shape,
        });
        messages.push(message);
    }
    (heads, messages)
}

/// All passes that the original carried out, with their case, and how many cases there are.
fn passes(source: Source) -> (usize, Vec<(usize, Pass)>) {
    let file = source.reader("oracle/praison/strategies.ndjson");
    let (mut cases, mut passes) = (0, Vec::new());
    for line in file.lines().map_while(Result::ok) {
        let row: Value = serde_json::from_str(&line).unwrap();
        let (case, out) = (&row["case"], row["out"].as_array().unwrap());
        for (before, out) in case["passes"].as_array().unwrap().iter().zip(out) {
            let done = out["needs"] == true && out["result"]["was_skipped_due_to_low_savings"] == false;
            if done {
                passes.push((cases, Pass::new(case, before, out)));
            }
        }
        cases += 1;
    }
    (cases, passes)
}

#[test]
fn keeps_and_drops_what_the_rules_say() {
    assert_eq!(compare(Source::Own), 33);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn keeps_and_drops_what_the_original_does() {
    assert_eq!(compare(Source::Shared), 72);
}

/// How many cases there are that the original carries out.
fn compare(source: Source) -> usize {
    let (cases, passes) = passes(source);
    let mut seen = BTreeSet::new();
    let mut newest_kept = 0;
    for (case, pass) in &passes {
        let done = match pass.strategy.as_str() {
            "truncate" => newest_kept_or_equal(*case, pass, Strategy::Truncate),
            "sliding" => newest_kept_or_equal(*case, pass, Strategy::Sliding),
            "smart" => scores(*case, pass),
            "prune" => prunes(*case, pass),
            _ => keeps_the_same_tail(*case, pass),
        };
        newest_kept += usize::from(done);
        seen.insert(*case);
    }
    println!("{} of {cases} cases, {} passes, {newest_kept} with the newest unit kept", seen.len(), passes.len());
    seen.len()
}

/// Equal, or the original has nothing left but instructions. Returns whether it is the latter.
fn newest_kept_or_equal(case: usize, pass: &Pass, strategy: Strategy) -> bool {
    let kept = pass.kept(pass.plan(strategy));
    assert!(pass.has_no_orphan(&kept), "case {case}");
    let shown = pass.shown(kept.iter().copied());
    if shown == pass.after {
        return false;
    }
    assert!(pass.after.iter().all(|message| message["role"] == "system"), "case {case}: {strategy:?}");
    let units = Units::of(&pass.heads, &pass.items(), &BTreeSet::new(), u64::MAX);
    let newest = units.all.last().unwrap().items.clone();
    let instructions = (0..newest.start).filter(|at| pass.heads[*at].is_instruction());
    assert_eq!(kept, instructions.chain(newest).collect::<Vec<_>>(), "case {case}: {strategy:?}");
    true
}

/// The target holds wherever more than what has to stay is kept, and the newest unit is there.
fn scores(case: usize, pass: &Pass) -> bool {
    let kept = pass.kept(pass.plan(Strategy::Smart));
    assert!(pass.has_no_orphan(&kept), "case {case}");
    let required: BTreeSet<usize> = (0..pass.heads.len()).filter(|at| pass.heads[*at].is_instruction()).collect();
    let units = Units::of(&pass.heads, &pass.items(), &required, u64::MAX);
    let tokens: u64 = kept.iter().map(|at| u64::from(pass.heads[*at].tokens)).sum();
    assert!(tokens <= pass.target || tokens == units.fixed_tokens(), "case {case}: {tokens}");
    assert!(kept.contains(&(pass.heads.len() - 1)), "case {case}");
    false
}

/// A summary of ours with a tail counted in messages keeps what the original's summaries keep.
fn keeps_the_same_tail(case: usize, pass: &Pass) -> bool {
    let heads: Vec<&EntryMeta> = pass.heads.iter().filter(|head| !head.is_instruction()).collect();
    let cut = cut_by_messages(&heads, pass.preserve_recent, u64::MAX).map_or(0, |cut| cut.first_kept);
    let own_summary = |message: &&Value| message["role"] != "system" || pass.before.contains(message);
    let theirs: Vec<Value> = pass.after.iter().filter(own_summary).cloned().collect();
    let tail = heads[cut..].iter().map(|head| usize::try_from(head.seq).unwrap());
    let system = (0..pass.heads.len()).filter(|at| pass.heads[*at].is_instruction());
    let ours = pass.shown(system.chain(tail));
    if pass.preserve_recent == 0 && theirs.iter().all(|message| message["role"] == "system") {
        let system = theirs.len();
        assert_eq!(
            (&ours[..system], cut),
            (&theirs[..], cut_by_messages(&heads, 1, u64::MAX).unwrap().first_kept),
            "case {case}"
        );
        return true;
    }
    assert_eq!(ours, theirs, "case {case}");
    false
}

/// Checks that what the original shortens is shortened, and nothing else but repeated results.
fn prunes(case: usize, pass: &Pass) -> bool {
    let changed: BTreeSet<Uuid> =
        (0..pass.heads.len()).filter(|at| pass.before[*at] != pass.after[*at]).map(|at| pass.heads[at].id).collect();
    let elisions = elisions(pass);
    let shortened: BTreeSet<Uuid> = elisions.iter().map(|elision| elision.entry_id).collect();
    for at in (0..pass.heads.len()).filter(|at| changed.contains(&pass.heads[*at].id)) {
        let stays = !shortened.contains(&pass.heads[at].id);
        assert!(!stays || !gets_smaller(pass, at), "case {case}: {at}");
    }
    for elision in elisions.iter().filter(|elision| !changed.contains(&elision.entry_id)) {
        assert_eq!(elision.kind, ElisionKind::Duplicate, "case {case}");
    }
    false
}

/// Returns true if head, tail and marker of ours are less than the result.
fn gets_smaller(pass: &Pass, at: usize) -> bool {
    let result = &pass.heads[at].shape.results[0];
    let text = pass.messages[at].tool_results().next().unwrap().plain_text();
    let shown = placeholder::truncated(&result.call_id, &text, 334, 166).unwrap();
    elision::result_tokens(Estimator::Praison, &result.call_id, &shown) < result.tokens
}

fn elisions(pass: &Pass) -> Vec<Elision> {
    let tail = tail_start(&pass.heads, &pass.items(), &pass.settings());
    let texts: Vec<(usize, String)> = pass
        .messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| message.tool_results().map(move |result| (at, result.plain_text())))
        .collect();
    let mut pruner = Pruner::new(&pass.settings());
    for (at, text) in &texts {
        pruner.add(&PruneItem {
            entry_id: pass.heads[*at].id,
            call_id: &pass.heads[*at].shape.results[0].call_id,
            name: "",
            text,
            tokens: pass.heads[*at].shape.results[0].tokens,
            already_elided: false,
            in_tail: *at >= tail,
            ambiguous: false,
        });
    }
    pruner.plan()
}
