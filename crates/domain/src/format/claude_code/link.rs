//! Where each line of a Claude Code file hangs.
//!
//! Claude Code hangs the result of each of several parallel calls under the line of that call, so that all but the last
//! are on no path. Here an answer and its results are one run: they hang one under the other, in the order of the
//! file, and so does what follows.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::format::link::{Link, LinkError, named_parent, twice};

/// The fields that name a parent; the second is a boundary's, which hangs under nothing.
const PARENTS: [&str; 2] = ["parentUuid", "logicalParentUuid"];

/// Links a batch.
///
/// # Errors
/// Two lines of one id.
pub fn link(lines: &[Value]) -> Result<Vec<Link>, LinkError> {
    let mut linker = Linker {
        // The file of a subagent is all aside, and yet its conversation.
        is_subagents: lines.iter().filter(|line| id(line).is_some()).all(is_sidechain),
        ..Linker::default()
    };
    let mut links = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        if let Some(id) = id(line).filter(|id| !linker.seen.insert((*id).to_owned())) {
            return Err(twice(index, "uuid", id));
        }
        links.push(linker.place(line));
    }
    Ok(links)
}

#[derive(Default)]
struct Linker {
    is_subagents: bool,
    seen: HashSet<String>,
    /// The run that a line belongs to.
    runs: HashMap<String, usize>,
    /// The run of each answer.
    answers: HashMap<String, usize>,
    /// The last line of each run.
    ends: Vec<String>,
    /// The last line with an id that was not aside.
    last: Option<String>,
    /// Lines of subagents.
    asides: HashSet<String>,
    /// What the boundary that just passed keeps.
    kept: Option<String>,
}

impl Linker {
    fn place(&mut self, line: &Value) -> Link {
        let Some(id) = id(line).map(str::to_owned) else { return Link::default() };
        let odd = || PARENTS.iter().find_map(|field| named_parent(line.get(*field)?));
        let named = names(line).1.map(str::to_owned).or_else(odd);
        let mut link = Link { source_id: Some(id.clone()), ..Link::default() };
        if !self.is_subagents && is_sidechain(line) {
            (link.is_aside, link.parent) = (true, Some(named));
            self.asides.insert(id);
            return link;
        }
        // A compaction goes on with the conversation before it, whatever it names.
        let continues = is_boundary(line) && named.as_ref().is_none_or(|named| self.asides.contains(named));
        let named = named.filter(|_| !continues);
        let run = named.as_ref().and_then(|parent| self.runs.get(parent)).copied();
        let target = run.and_then(|run| self.ends.get(run).cloned()).or(named);
        // Behind the last line there may be some without ids.
        let follows = target.is_some() && target == self.last;
        let says = target.is_some() || line.get("parentUuid").is_some();
        link.parent = (says && !follows && !continues).then_some(target);
        self.join(line, &id, run);
        self.compaction(line, &mut link);
        self.last = Some(id);
        link
    }

    /// Takes a line into the run of its parent where it belongs there, or begins one.
    fn join(&mut self, line: &Value, id: &str, run: Option<usize>) {
        let run = match text(line, "type") {
            Some("assistant") => {
                let answer = line.pointer("/message/id").and_then(Value::as_str);
                let known = answer.and_then(|answer| self.answers.get(answer)).copied();
                known.filter(|known| Some(*known) == run).unwrap_or_else(|| {
                    self.ends.push(id.to_owned());
                    let new = self.ends.len() - 1;
                    self.answers.extend(answer.map(|answer| (answer.to_owned(), new)));
                    new
                })
            }
            Some("user") if !holds_result(line) => return,
            _ => match run {
                Some(run) => run,
                None => return,
            },
        };
        self.runs.insert(id.to_owned(), run);
        if let Some(end) = self.ends.get_mut(run) {
            id.clone_into(end);
        }
    }

    fn compaction(&mut self, line: &Value, link: &mut Link) {
        if is_boundary(line) {
            let kept = line.pointer("/compactMetadata/preservedSegment/headUuid").and_then(Value::as_str);
            self.kept = kept.filter(|kept| self.seen.contains(*kept)).map(str::to_owned);
        } else if line.get("isCompactSummary") == Some(&Value::Bool(true)) {
            link.first_kept = self.kept.take();
        }
    }
}

fn text<'v>(line: &'v Value, name: &str) -> Option<&'v str> {
    line.get(name).and_then(Value::as_str)
}

/// The id of a line, and the parent that it names.
pub fn names(line: &Value) -> (Option<&str>, Option<&str>) {
    (id(line), PARENTS.iter().find_map(|field| text(line, field)))
}

fn is_boundary(line: &Value) -> bool {
    text(line, "subtype") == Some("compact_boundary")
}

fn id(line: &Value) -> Option<&str> {
    text(line, "uuid").filter(|id| !id.is_empty())
}

fn is_sidechain(line: &Value) -> bool {
    line.get("isSidechain") == Some(&Value::Bool(true))
}

fn holds_result(line: &Value) -> bool {
    let blocks = line.pointer("/message/content").and_then(Value::as_array);
    blocks.into_iter().flatten().any(|block| block["type"] == "tool_result")
}
