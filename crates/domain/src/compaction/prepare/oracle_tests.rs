//! pi 0.87.1's answers: its own on generated sessions and on a recorded one, and those that its rules give on ours.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use chrono::DateTime;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Plan, prepare};
use crate::compaction::cut::cut_point;
use crate::context::view::{NewestCompaction, ViewItem, item_tokens, plan_view};
use crate::data::Source;
use crate::format::pi;
use crate::model::compaction::{CompactionRecord, FileLists};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::item::Item;
use crate::model::json::{mend_surrogates, parse_lenient};
use crate::model::message::{Role, Stop};
use crate::model::shape::{CallRef, ResultRef, Shape, ShapeKind};
use crate::settings::{Estimator, FileKind, FileTool};
use crate::summary::branch::{left_branch, plan_summary};
use crate::summary::files::{FileOps, FileTable, OpenFile};
use crate::tokens::{count_item, count_text};

/// One entry of a session with all that the answers are compared by.
#[derive(Clone)]
struct Node {
    raw: Value,
    item: Item,
    link: crate::format::link::Link,
    head: EntryMeta,
}

/// The entries of a file without its header, as a tree of one session.
fn load(items: &[Value], texts: &[&str]) -> Vec<Node> {
    let links = pi::link(items).unwrap();
    let nodes = items.iter().zip(texts).zip(links).enumerate().filter(|(_, ((raw, _), _))| raw["type"] != "session");
    nodes.map(|(index, ((raw, text), link))| node(index, raw, text, link)).collect()
}

fn node(index: usize, raw: &Value, text: &str, link: crate::format::link::Link) -> Node {
    let item = pi::read(raw).unwrap();
    let count = |message| count_item(Estimator::Pi, Format::Pi, text, message);
    let counted = item.message.as_ref().map(count).unwrap_or_default();
    let tokens = match pi::compaction_record(raw) {
        Some(record) => count_text(Estimator::Pi, &record.summary.unwrap_or_default()),
        None => counted.total,
    };
    let usable = !matches!(item.stop, Some(Stop::Aborted | Stop::Error));
    let usage = item.usage.map(|usage| u32::try_from(usage.context_tokens()).unwrap());
    let mut shape = Shape::default();
    if let Some(message) = &item.message {
        let call = |call: &crate::model::message::ToolCall| CallRef {
            id: call.id.clone(),
            name: call.name.clone(),
            kind: ShapeKind::Function,
        };
        shape.calls = message.tool_calls().map(call).collect();
        shape.results = message
            .tool_results()
            .zip(&counted.results)
            .map(|(result, tokens)| ResultRef {
                call_id: result.tool_call_id.clone(),
                tokens: *tokens,
                end: Default::default(),
                kind: ShapeKind::Function,
            })
            .collect();
    }
    let head = EntryMeta {
        id: Uuid::from_u128(index as u128 + 1),
        seq: index as i64,
        depth: 0,
        kind: item.kind,
        role: item.message.as_ref().map(|message| message.role),
        tokens,
        path_tokens: 0,
        usage: usage.filter(|usage| usable && *usage > 0),
        shape,
    };
    Node { raw: raw.clone(), item, link, head }
}

/// From the root to the entry of this id; to the last entry without one.
fn path_to(nodes: &[Node], id: Option<&str>) -> Vec<Node> {
    let by_id: HashMap<&str, &Node> =
        nodes.iter().map(|node| (node.link.source_id.as_deref().unwrap(), node)).collect();
    let mut next = match id {
        Some(id) => by_id.get(id).copied(),
        None => nodes.last(),
    };
    let mut path = Vec::new();
    while let Some(node) = next {
        path.push(node.clone());
        next = node.link.parent.as_ref().and_then(Option::as_deref).and_then(|parent| by_id.get(parent).copied());
    }
    path.reverse();
    path
}

fn heads(path: &[Node]) -> Vec<EntryMeta> {
    path.iter().map(|node| node.head.clone()).collect()
}

fn newest(path: &[Node]) -> Option<(usize, CompactionRecord, Option<usize>)> {
    let index = path.iter().rposition(|node| node.head.kind == EntryType::Compaction)?;
    let mut record = pi::compaction_record(&path[index].raw)?;
    if let Some(kept) = &path[index].link.first_kept {
        record.first_kept_entry_id.clone_from(kept);
    }
    let kept = Some(record.first_kept_entry_id.as_str());
    let first_kept = path[..index].iter().position(|node| node.link.source_id.as_deref() == kept);
    Some((index, record, first_kept))
}

fn millis(node: &Node) -> i64 {
    let own = node.raw.get("message").and_then(|message| message["timestamp"].as_i64());
    own.unwrap_or_else(|| {
        DateTime::parse_from_rfc3339(node.raw["timestamp"].as_str().unwrap()).unwrap().timestamp_millis()
    })
}

fn tag(node: &Node) -> String {
    let role = match node.item.message.as_ref().map(|message| message.role) {
        Some(Role::User) => "user",
        Some(Role::Assistant) => "assistant",
        Some(Role::Tool) => "toolResult",
        Some(Role::BashExecution) => "bashExecution",
        Some(Role::Custom) => "custom",
        Some(Role::BranchSummary) => "branchSummary",
        None if node.head.kind == EntryType::BranchSummary => "branchSummary",
        None if node.head.kind == EntryType::Compaction => "compactionSummary",
        other => panic!("no message of {other:?}"),
    };
    format!("{role}@{}", millis(node))
}

fn tags(path: &[Node], indexes: &[usize]) -> Value {
    indexes.iter().map(|index| tag(&path[*index])).collect()
}

fn pi_file_tools() -> BTreeMap<String, FileTool> {
    let tools = [("read", FileKind::Read), ("write", FileKind::Write), ("edit", FileKind::Edit)];
    tools.into_iter().map(|(name, kind)| (name.to_owned(), FileTool { kind, path: "path".to_owned() })).collect()
}

fn files(path: &[Node], indexes: &[usize], mut ops: FileOps) -> Value {
    let messages = indexes.iter().filter_map(|index| path[*index].item.message.as_ref());
    let tools = pi_file_tools();
    let (table, mut open_file) = (FileTable::new(&tools), OpenFile::default());
    messages.for_each(|message| ops.note(message, table, &mut open_file));
    let FileLists { read_files, modified_files } = ops.lists();
    json!({"readFiles": read_files, "modifiedFiles": modified_files})
}

/// How large a context is, in tokens.
#[derive(Default)]
struct ContextTokens {
    /// `usage + trailing`.
    tokens: u64,
    /// Tokens that the provider reported with the newest answer that can be trusted; 0 without one.
    usage: u64,
    /// The estimate of everything after that answer, or of everything.
    trailing: u64,
    /// Index of that answer, into the view.
    last_usage: Option<usize>,
}

/// The size of a view: the newest reported usage plus the estimates of what follows it, or all estimates.
/// Usage of entries before `trusted_from` (an index into the path) is of another context and is not used: pass the
/// place after the newest compaction, which itself makes every older figure wrong.
fn context_tokens(path: &[EntryMeta], view: &[ViewItem], trusted_from: usize) -> ContextTokens {
    let mut size = ContextTokens::default();
    for (place, item) in view.iter().enumerate().rev() {
        if let ViewItem::Entry { index, .. } = item
            && *index >= trusted_from
            && let Some(usage) = path.get(*index).and_then(|head| head.usage)
        {
            size.usage = u64::from(usage);
            size.last_usage = Some(place);
            break;
        }
        size.trailing += item_tokens(path, item);
    }
    size.tokens = size.usage + size.trailing;
    size
}

fn plan_of(path: &[Node], keep: u32) -> Option<(Plan, Value)> {
    let heads = heads(path);
    let found = newest(path);
    let newest = found.as_ref().map(|(index, record, first_kept)| NewestCompaction {
        index: *index,
        record,
        first_kept: *first_kept,
    });
    let settings = super::tests::settings(keep);
    let plan = prepare(&heads, newest, &settings).ok()?;
    let view = plan_view(&heads, newest);
    let before = context_tokens(&heads, &view, newest.map_or(0, |newest| newest.index + 1)).tokens;
    let mut ops = FileOps::default();
    if let Some(newest) = newest.filter(|newest| !newest.record.from_hook) {
        ops.seed(&newest.record.details);
    }
    let summarised: Vec<usize> = plan.history.iter().chain(&plan.turn_prefix).copied().collect();
    let answer = json!({
        "firstKeptEntryId": path[plan.first_kept].link.source_id,
        "isSplitTurn": plan.is_split_turn,
        "tokensBefore": before,
        "previousSummary": newest.and_then(|newest| newest.record.summary.clone()),
        "summarize": tags(path, &plan.history),
        "prefix": tags(path, &plan.turn_prefix),
        "files": files(path, &summarised, ops),
    });
    Some((plan, answer))
}

fn cut_answer(path: &[Node], keep: u32) -> Value {
    let heads = heads(path);
    let cut = cut_point(&heads.iter().collect::<Vec<_>>(), keep, u64::MAX);
    let turn_start = cut.and_then(|cut| cut.turn_start).map_or(json!(-1), |start| json!(start));
    json!({
        "firstKeptEntryIndex": cut.map_or(0, |cut| cut.first_kept),
        "turnStartIndex": turn_start,
        "isSplitTurn": turn_start.is_u64(),
    })
}

fn context_answer(path: &[Node]) -> Value {
    let heads = heads(path);
    let found = newest(path);
    let newest = found.as_ref().map(|(index, record, first_kept)| NewestCompaction {
        index: *index,
        record,
        first_kept: *first_kept,
    });
    let view = plan_view(&heads, newest);
    let estimate = context_tokens(&heads, &view, 0);
    let shown: Vec<usize> = view
        .iter()
        .map(|item| match item {
            ViewItem::Summary { compaction } => *compaction,
            ViewItem::Entry { index, .. } => *index,
        })
        .collect();
    json!({
        "messages": tags(path, &shown),
        "est": {"tokens": estimate.tokens, "usageTokens": estimate.usage, "trailingTokens": estimate.trailing,
            "lastUsageIndex": estimate.last_usage},
        "perMessage": view.iter().map(|item| item_tokens(&heads, item)).collect::<Vec<_>>(),
    })
}

fn branch_answer(nodes: &[Node], expected: &Value) -> Value {
    let old = path_to(nodes, None);
    let target = path_to(nodes, expected["target"].as_str());
    let left_branch = left_branch(&heads(&old), &heads(&target));
    let left: Vec<Node> = left_branch.entries.iter().map(|index| old[*index].clone()).collect();
    let budget = expected["budget"].as_u64().unwrap();
    let plan = plan_summary(&heads(&left), budget);
    let mut ops = FileOps::default();
    for index in &plan.summaries {
        if !pi::from_hook(&left[*index].raw) {
            ops.seed(&pi::file_lists(&left[*index].raw));
        }
    }
    json!({
        "target": expected["target"],
        "ancestor": left_branch.ancestor.map(|index| old[index].link.source_id.clone()),
        "entries": left.len(),
        "budget": budget,
        "messages": tags(&left, &plan.messages),
        "totalTokens": plan.tokens,
        "files": files(&left, &plan.visited, ops),
    })
}

/// The session of a file's text.
fn session(text: &str) -> Vec<Node> {
    let texts: Vec<&str> = text.lines().collect();
    let items: Vec<Value> = texts.iter().map(|line| parse_lenient(line).unwrap()).collect();
    load(&items, &texts)
}

fn generated_sessions() -> HashMap<String, Vec<Node>> {
    let bytes = Source::Shared.reader("oracle/pi/sessions.tar");
    let mut sessions = HashMap::new();
    for entry in tar::Archive::new(bytes).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().file_name().map(|name| name.to_string_lossy().into_owned());
        let mut text = String::new();
        if entry.header().entry_type().is_file() && entry.read_to_string(&mut text).is_ok() {
            sessions.insert(name.unwrap(), session(&text));
        }
    }
    sessions
}

fn own_sessions() -> HashMap<String, Vec<Node>> {
    let files = std::fs::read_dir(Source::Own.path("oracle/pi/sessions")).unwrap().map(|file| file.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), session(&std::fs::read_to_string(&path).unwrap()))).collect()
}

/// What of pi's answer the service has an answer to.
fn told(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(fields) = answer.as_object_mut() {
        fields.retain(|name, _| !name.starts_with("ser") && !["thinkingLevel", "model"].contains(&name.as_str()));
    }
    answer
}

/// Our answers to what a line of golden ones asks.
fn answers(nodes: &[Node], golden: &Value) -> Value {
    let keep = u32::try_from(golden["keep"].as_u64().unwrap()).unwrap();
    let path = path_to(nodes, None);
    let mut ours = json!({
        "session": golden["session"],
        "keep": keep,
        "prepare": plan_of(&path, keep).map_or(Value::Null, |(_, answer)| answer),
        "cut": cut_answer(&path, keep),
    });
    if golden.get("context").is_some() {
        ours["context"] = context_answer(&path);
    }
    if let Some(asked) = golden.get("branch") {
        ours["branch"] = branch_answer(nodes, asked);
    }
    ours
}

/// Compares all answers, and counts them by what they are of.
fn compare(sessions: &HashMap<String, Vec<Node>>, golden: &str) -> BTreeMap<&'static str, u32> {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for line in mend_surrogates(golden).lines() {
        let mut golden: Value = serde_json::from_str(line).unwrap();
        for part in ["prepare", "context"] {
            if let Some(answer) = golden.get_mut(part) {
                *answer = told(answer);
            }
        }
        let ours = answers(&sessions[golden["session"].as_str().unwrap()], &golden);
        for part in ["prepare", "cut", "context", "branch"].into_iter().filter(|part| golden.get(part).is_some()) {
            let count = counts.entry(part).or_default();
            count.1 += 1;
            if golden[part] == ours[part] {
                count.0 += 1;
            } else if count.1 - count.0 <= 3 {
                let (name, keep) = (&golden["session"], &golden["keep"]);
                println!("{part} of {name}, keep {keep}:\n  pi:   {}\n  ours: {}", golden[part], ours[part]);
            }
        }
    }
    assert!(counts.values().all(|(matched, all)| matched == all), "matched of all: {counts:?}");
    counts.into_iter().map(|(part, (_, all))| (part, all)).collect()
}

#[test]
fn our_own_golden_answers_hold() {
    let counts = compare(&own_sessions(), &Source::Own.text("oracle/pi/golden.ndjson"));
    assert_eq!(counts, BTreeMap::from([("prepare", 85), ("cut", 85), ("context", 18), ("branch", 18)]));
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn the_golden_answers_are_ours_too() {
    let counts = compare(&generated_sessions(), &Source::Shared.text("oracle/pi/golden-0.87.1.ndjson"));
    assert_eq!(counts, BTreeMap::from([("prepare", 1500), ("cut", 1500), ("context", 300), ("branch", 1405)]));
}

#[test]
fn a_session_of_version_1_is_planned_as_pi_does() {
    let path = path_to(&session(&Source::Own.text("oracle/pi/version-1.jsonl")), None);
    let (plan, answer) = plan_of(&path, 0).unwrap();
    assert_eq!((plan.first_kept, plan.is_split_turn), (8, true));
    assert_eq!(answer["tokensBefore"], 169);
    assert_eq!((plan.history.len(), plan.turn_prefix.len()), (2, 2));
    assert_eq!(answer["files"], json!({"readFiles": [], "modifiedFiles": ["two.md"]}));
    assert_eq!(context_answer(&path)["messages"].as_array().unwrap().len(), 6);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn a_recorded_session_of_version_1_is_planned_as_pi_does() {
    let line = Source::Shared.text("corpus/pi-mono.jsonl");
    let session = line.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let session = session.into_iter().find(|session| session["session_id"] == "large-session").unwrap();
    let items = session["messages"].as_array().unwrap();
    let texts: Vec<String> = items.iter().map(Value::to_string).collect();
    let path = path_to(&load(items, &texts.iter().map(String::as_str).collect::<Vec<_>>()), None);
    let (plan, answer) = plan_of(&path, 20_000).unwrap();
    assert_eq!((plan.first_kept, plan.is_split_turn), (837, true));
    assert_eq!(answer["tokensBefore"], 177_657);
    assert_eq!((plan.history.len(), plan.turn_prefix.len()), (730, 3));
    let count = |list: &str| answer["files"][list].as_array().unwrap().len();
    assert_eq!((count("readFiles"), count("modifiedFiles")), (7, 20));
    assert_eq!(context_answer(&path)["messages"].as_array().unwrap().len(), 914);
}
