//! What of a call's arguments is told: paths always, an edit by what it changed, a file by its names.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::code_outline::{CodeOutline, indent};
use super::effect::command_of;
use super::quote::{GAP, PassageRoom, density, one_gap, passage, sentences, shortened, size};
use super::tasks::is_side_list;
use super::values::{self, ValueWords};
use super::words::hashed;
use crate::model::code_block::CHANGE;
use crate::model::message::ToolCall;

/// Calls of one tool that are compared with one another.
pub(super) const COMPARED: usize = 256;
/// Lines of one argument that are looked at.
const MOST_LINES: usize = 2_000;
/// Blocks of one argument that are told.
const MOST_EDITS: usize = 6;
/// Files of one patch that are named, and lines of a command before it.
const MOST_PATCHED: usize = 12;
const OPENING_LINES: usize = 4;
/// Fewer names do not stand for a program.
const LEAST_NAMES: usize = 2;
/// Of so many lines a single one may say what they are.
const FEW: usize = 6;
/// The least that is told of what an edit puts in, in quarter tokens.
const LEAST_CAME: usize = 60;
/// Bytes that a line which came has in common with one that went, for that part not to be told, and lines that are compared.
const LEAST_COMMON: usize = 40;
const MOST_COMPARED: usize = 40;
/// A field that every call has, of so many tools and calls at least, says nothing of what a call does: a harness shows it to
/// its user.
const LEAST_TOOLS: usize = 3;
const LEAST_CALLS: usize = 8;
/// Openings of the names that tools give to a text that they replace, and to the one that they put in its place.
const REPLACED: [&str; 5] = ["old", "search", "find", "before", "original"];
const REPLACING: [&str; 4] = ["new", "replac", "after", "updated"];

/// Which arguments the calls of each tool have in common.
#[derive(Debug, Default)]
pub(super) struct ArgumentShapes<'a> {
    tools: HashMap<&'a str, CommonArguments<'a>>,
    /// In how many of all calls that were learnt a field of this name stands.
    names: HashMap<&'a str, usize>,
    calls: usize,
}

#[derive(Debug, Default)]
struct CommonArguments<'a> {
    calls: usize,
    /// In how many calls this argument has this value (its digest), and the oldest of them: the newest are learnt first.
    values: HashMap<(&'a str, u64), (usize, &'a str)>,
}

/// The arguments of a call as texts, in their order. Free text has an empty name.
pub(super) fn fields(call: &ToolCall) -> Vec<(&str, Cow<'_, str>)> {
    match &call.arguments {
        Value::Object(fields) => {
            let is_encoded = is_encoded_twice(fields);
            let text = |value| decoded(value).filter(|_| is_encoded).map_or_else(|| text(value), Cow::Owned);
            fields.iter().map(|(name, value)| (name.as_str(), text(value))).collect()
        }
        Value::Null => Vec::new(),
        other => vec![("", text(other))],
    }
}

/// Returns true if all texts of several are JSON texts themselves: a harness has written its arguments as JSON twice.
fn is_encoded_twice(fields: &serde_json::Map<String, Value>) -> bool {
    let mut texts = fields.values().filter(|value| value.is_string()).peekable();
    texts.peek().is_some() && fields.len() > 1 && texts.all(|text| decoded(text).is_some())
}

fn decoded(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| text.starts_with('"'))?;
    serde_json::from_str(text).ok()
}

/// The same as one text, a line or more each.
pub(super) fn arguments_text(call: &ToolCall) -> String {
    fields(call).into_iter().map(|(_, value)| value.into_owned()).collect::<Vec<_>>().join("\n")
}

fn text(value: &Value) -> Cow<'_, str> {
    if let Some(edits) = listed_edits(value) {
        return Cow::Owned(edits);
    }
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(parts) if parts.iter().all(Value::is_string) => {
            Cow::Owned(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        other => Cow::Owned(values::told(other)),
    }
}

/// Returns true if an argument names a file: by its name, or by the form of its value.
pub(super) fn is_path(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let named = ["path", "file", "dir", "folder"].iter().any(|part| name.contains(part));
    // A folder's name may have spaces, where a path begins as one and nothing else does.
    let is_whole = named && value.starts_with(['/', '~']) && !value.contains(['\n', '\t']) && !value.contains(" /");
    let is_word = (named || value.contains('/')) && !value.contains(char::is_whitespace);
    (is_whole || is_word) && !value.is_empty() && value.len() < 400
}

/// Returns true if the last part of a path has no ending.
fn is_folder(path: &str) -> bool {
    let path = path.trim_end_matches(['/', '\\']);
    path.contains(['/', '\\']) && path.rsplit(['/', '\\']).next().is_some_and(|last| !last.contains('.'))
}

impl<'a> ArgumentShapes<'a> {
    pub fn learn(&mut self, call: &'a ToolCall) {
        let common = self.tools.entry(call.name.as_str()).or_default();
        if common.calls >= COMPARED {
            return;
        }
        common.calls += 1;
        self.calls += 1;
        for (name, value) in fields(call) {
            *self.names.entry(name).or_default() += 1;
            let same = common.values.entry((name, hashed(&value))).or_default();
            *same = (same.0 + 1, &call.id);
        }
    }

    /// Returns how many calls of a tool there are, up to [`COMPARED`].
    pub fn calls(&self, tool: &str) -> usize {
        self.tools.get(tool).map_or(0, |common| common.calls)
    }

    /// Returns true if calls of all tools have a field of this name.
    fn is_universal(&self, name: &str) -> bool {
        self.tools.len() >= LEAST_TOOLS && self.calls >= LEAST_CALLS && self.names.get(name) == Some(&self.calls)
    }

    /// The oldest of the calls of the tool that have this value here, where most of them do.
    fn oldest_of_usual(&self, tool: &str, name: &str, value: &str) -> Option<&'a str> {
        let common = self.tools.get(tool).filter(|common| common.calls >= 4)?;
        let (same, oldest) = common.values.get(&(name, hashed(value))).copied()?;
        (same * 10 > common.calls * 6).then_some(oldest)
    }

    /// The arguments in about so many quarter tokens.
    pub fn told(&self, call: &ToolCall, room: usize) -> String {
        let mut all = fields(call);
        // The list stands behind the conversation.
        all.retain(|(name, _)| !is_side_list(call, name));
        if all.iter().any(|(name, _)| !self.is_universal(name)) {
            all.retain(|(name, value)| !self.is_universal(name) || is_path(name, value));
        }
        let unusual = |(name, value): &&(&str, Cow<'_, str>)| {
            let usual = self.oldest_of_usual(&call.name, name, value).filter(|_| all.len() > 1);
            // The folder that all work is done in is named once.
            let is_named = is_folder(value) && usual.is_some_and(|oldest| oldest != call.id);
            usual.is_none() || is_id(value) || is_path(name, value) && !is_named
        };
        let mut told: Vec<&(&str, Cow<'_, str>)> = all.iter().filter(unusual).collect();
        if told.is_empty() {
            told = all.iter().collect();
        }
        if let Some(edit) = edit(&told, room) {
            return edit;
        }
        keep_command(call, &mut told, room);
        let whole: usize = told.iter().map(|(_, value)| size(value)).sum::<usize>().max(1);
        let first_text = told.iter().position(|(_, value)| !is_bare(value));
        // What is run and written nowhere can't be looked up by a name.
        let writes_file = told.iter().any(|(name, value)| is_path(name, value) && !is_folder(value));
        let each = |(at, (name, value)): (usize, &&(&str, Cow<'_, str>))| {
            let share = if told.len() == 1 { room } else { (room * size(value) / whole).max(50) };
            let names = if writes_file && size(value) > share { block_names(value, share) } else { None };
            let value = match names {
                Some(names) => names,
                None if is_path(name, value) => value.to_string(),
                None => argument(value, share, told.len() > 1),
            };
            let names_itself = name.is_empty() || told.len() == 1 || first_text == Some(at) || is_path(name, &value);
            if names_itself { value } else { format!("{name} {value}") }
        };
        one_gap(told.iter().enumerate().map(each).collect::<Vec<_>>().join(", "))
    }
}

/// Leaves of a call that runs a command only that, where it is and the switches, as far as the command fits: in other words
/// than its own, the agent says the same again.
fn keep_command(call: &ToolCall, told: &mut Vec<&(&str, Cow<'_, str>)>, room: usize) {
    let is_line = |command: &String| command.contains(' ') && size(command) <= room;
    let Some(command) = command_of(&call.arguments).filter(is_line) else { return };
    let is_switch = |value: &str| matches!(value, "true" | "false");
    told.retain(|(name, value)| **value == command || is_path(name, value) || is_id(value) || is_switch(value));
}

/// Returns true for what may name a record: one word of letters and digits.
fn is_id(value: &str) -> bool {
    let has = |kind: fn(char) -> bool| value.chars().any(kind);
    has(char::is_alphabetic) && has(char::is_numeric) && !has(char::is_whitespace) && value.len() <= 64
}

/// Returns true for a number or a word of JSON, which says little without its name.
fn is_bare(value: &str) -> bool {
    value.parse::<f64>().is_ok() || matches!(value, "true" | "false" | "null")
}

fn argument(value: &str, room: usize, among_others: bool) -> String {
    if size(value) <= room && !value.starts_with(CHANGE) {
        return shortened(value, room, 0);
    }
    if let Some(told) = replacements(value, room).or_else(|| patch(value, room)) {
        return told;
    }
    // What a tool takes as JSON in a text.
    let words = ValueWords { heard: &|_| false, given: &|_| false };
    if let Some(told) = values::parsed(value).and_then(|json| values::within(&json, room, &words)) {
        return told;
    }
    if among_others && value.contains('\n') {
        outline(value, room)
    } else if sentences(value).len() > 1 && !value.contains('\n') {
        // Prose: two halves of different sentences would make a third one.
        passage(value, PassageRoom::of(room, room), |_| false)
    } else {
        let command = in_any_folder(value);
        with_alternative(with_address(shortened(&command, room * 3 / 5, room * 2 / 5), &command), &command)
    }
}

/// What changes the folder in a shell.
const FOLDER_COMMANDS: [&str; 4] = ["cd", "chdir", "pushd", "set-location"];

/// A command that does not fit, without the folder that it is run in: what is run says more.
fn in_any_folder(command: &str) -> Cow<'_, str> {
    let first = command.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if !FOLDER_COMMANDS.contains(&first.as_str()) {
        return Cow::Borrowed(command);
    }
    let ends = ["&&", ";", "\n"].into_iter().filter_map(|end| command.find(end).map(|at| at + end.len())).min();
    match ends.map(|end| command[end..].trim()).filter(|rest| !rest.is_empty()) {
        Some(rest) => Cow::Owned(format!("{GAP} {rest}")),
        None => Cow::Borrowed(command),
    }
}

/// The most of an address that is told where the rest of a command is not, in quarter tokens.
const LONGEST_ADDRESS: usize = 120;

/// What is told of a command, with the first address of it where that would be lost: nothing else leads there again.
fn with_address(told: String, command: &str) -> String {
    let is_around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '<' | '>');
    let mut addresses = command.split(is_around).filter(|word| word.contains("://") && size(word) <= LONGEST_ADDRESS);
    match addresses.next().filter(|address| !told.contains(address)) {
        Some(address) => told.replacen(GAP, &format!("{GAP} {address} {GAP}"), 1),
        None => told,
    }
}

/// What a shell runs only where what stands before it failed.
const ALTERNATIVE: &str = "||";

/// What is told of a command, with the sign that its end is run only where the beginning failed: without it the end would read as
/// what was run.
fn with_alternative(told: String, command: &str) -> String {
    if told.contains(ALTERNATIVE) || !command.contains(ALTERNATIVE) || !told.contains(GAP) {
        return told;
    }
    let (before, end) = told.rsplit_once(GAP).unwrap_or_default();
    format!("{before}{GAP} {ALTERNATIVE} {GAP}{end}")
}

/// Returns true if an argument's name begins with one of these, in letters of either size.
fn opens_with(name: &str, openings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    openings.iter().any(|opening| name.starts_with(opening))
}

/// An edit by what it changed.
fn edit(told: &[&(&str, Cow<'_, str>)], room: usize) -> Option<String> {
    let named = |openings: &[&str]| told.iter().position(|(name, value)| !is_bare(value) && opens_with(name, openings));
    let new = named(&REPLACING)?;
    let old = named(&REPLACED).or_else(|| {
        let texts = told.iter().enumerate().filter(|(at, (name, value))| *at != new && !is_path(name, value));
        let resembles = |(at, (_, value)): (usize, &&(&str, Cow<'_, str>))| {
            let (before, behind) = common_ends(value, &told[new].1);
            ((before + behind) * 2 >= value.len().min(told[new].1.len())).then_some(at)
        };
        texts.filter(|(_, (_, value))| !is_bare(value) && value.len() >= LEAST_COMMON).find_map(resembles)
    })?;
    let (gone, came) = changed(&told[old].1, &told[new].1);
    let others = told.iter().enumerate().filter(|(at, (_, value))| *at != old && *at != new && !is_bare(value));
    let edit = others.map(|(_, (_, value))| shortened(value, 100, 0)).collect::<Vec<_>>().join(", ");
    Some(format!("{edit}{}", replacement(&gone, &came, room)))
}

/// A list of edits, each with a text and what is put in its place, as blocks of the two: they are told as edits then.
fn listed_edits(value: &Value) -> Option<String> {
    let edits = value.as_array().filter(|edits| !edits.is_empty())?;
    let block = |edit: &Value| {
        let fields = edit.as_object()?;
        let named = |openings: &[&str]| {
            fields.iter().find_map(|(name, value)| value.as_str().filter(|_| opens_with(name, openings)))
        };
        let (old, new) = (named(&REPLACED)?, named(&REPLACING)?);
        Some(format!("{CHANGE} SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"))
    };
    edits.iter().map(block).collect::<Option<Vec<_>>>().map(|blocks| blocks.join("\n"))
}

/// What came, and in place of what.
fn replacement(gone: &str, came: &str, room: usize) -> String {
    let (mut edit, mut is_whole) = (String::new(), true);
    if !came.is_empty() {
        let told = if came.contains('\n') { outline(came, room) } else { shortened(came, room, 0) };
        // What came is the file now: some of it says more than that there was something.
        let told = if told == GAP { shortened(&came.replace('\n', " ⏎ "), room.max(LEAST_CAME), 0) } else { told };
        is_whole = !told.contains(GAP) || came.contains(GAP);
        edit.push_str(&format!(": + {told}"));
    }
    // Beside a part of what came, what went would read as what stands there.
    if !gone.is_empty() && room >= 60 && is_whole {
        edit.push_str(&format!(" (in place of {})", shortened(&gone.replace('\n', " ⏎ "), (room / 4).max(30), 0)));
    }
    edit
}

/// The first of a text's blocks that say what is looked for and what is put in its place, as versions that differ are written:
/// `<<<<<<<`, `=======`, `>>>>>>>`, or `------- SEARCH`, `=======`, `+++++++ REPLACE`. Each is told as an edit.
fn replacements(value: &str, room: usize) -> Option<String> {
    let (mut edits, mut old, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let mut side = None;
    for line in value.lines().take(MOST_LINES) {
        match (side, line.get(..CHANGE.len())) {
            (_, Some(CHANGE)) => (side, old, new) = (Some(Side::Old), Vec::new(), Vec::new()),
            // The same in signs that stand in no conflict, with a word behind them.
            (None, Some("-------")) if !line.trim_end_matches('-').is_empty() => {
                (side, old, new) = (Some(Side::Old), Vec::new(), Vec::new());
            }
            (Some(Side::Old), Some("=======")) => side = Some(Side::New),
            (Some(Side::New), Some(">>>>>>>" | "+++++++")) => {
                edits.push(changed(&old.join("\n"), &new.join("\n")));
                side = None;
            }
            // Above such a line stands where the block is, not what it replaces.
            (Some(Side::Old), Some("-------")) if line.trim_end_matches('-').is_empty() => old.clear(),
            (Some(Side::Old), _) => old.push(line),
            (Some(Side::New), _) => new.push(line),
            (None, _) => {}
        }
    }
    let more = if edits.len() > MOST_EDITS { format!("; {GAP}") } else { String::new() };
    let each = room / edits.len().clamp(1, MOST_EDITS);
    let told: Vec<String> = edits.iter().take(MOST_EDITS).map(|(gone, came)| replacement(gone, came, each)).collect();
    let told: Vec<&str> =
        told.iter().map(|edit| edit.trim_start_matches([':', ' '])).filter(|edit| !edit.is_empty()).collect();
    (!told.is_empty()).then(|| format!("{}{more}", told.join("; ")))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
}

/// With how many bytes two texts begin alike, and with how many they end alike.
fn common_ends(one: &str, other: &str) -> (usize, usize) {
    let before = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one.as_bytes()[before..], &other.as_bytes()[before..]);
    (before, one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count())
}

/// A line that came without what a line that went says too: the beginning or the end that they have in common, or all of it.
fn without_old<'l>(line: &'l str, gone: &[&str]) -> Cow<'l, str> {
    if line.len() < LEAST_COMMON {
        return Cow::Borrowed(line);
    }
    let bare = line.trim();
    if let Some(old) = gone.iter().map(|old| old.trim()).find(|old| old.len() >= LEAST_COMMON && bare.contains(*old)) {
        return Cow::Owned(bare.replacen(old, GAP, 1));
    }
    let ends = gone.iter().map(|old| common_ends(bare, old.trim()));
    let Some((before, behind)) = ends.max_by_key(|(before, behind)| before + behind) else {
        return Cow::Borrowed(line);
    };
    if before + behind < LEAST_COMMON || (before + behind) * 2 < bare.len() {
        return Cow::Borrowed(line);
    }
    // Whole words.
    let (from, to) = (bare.floor_char_boundary(before), bare.ceil_char_boundary(bare.len() - behind));
    let from = bare[..from].rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let to = bare[to..].find(char::is_whitespace).map_or(bare.len(), |at| to + at);
    let before = if from > 0 { format!("{GAP} ") } else { String::new() };
    let end = if to < bare.len() { format!(" {GAP}") } else { String::new() };
    Cow::Owned(format!("{before}{}{end}", &bare[from..to]))
}

/// What the one text has and the other has not, line by line, with a mark between lines that were not neighbours. Where the
/// lines of both are the same, all that lies between those with which both begin and end.
fn changed(old: &str, new: &str) -> (String, String) {
    let only = |text: &str, other: &str| {
        let known: HashSet<&str> = other.lines().map(str::trim).collect();
        let mut told: Vec<&str> = Vec::new();
        let mut next = 0;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !known.contains(line.trim())) {
            if at > next && !told.is_empty() {
                told.push(GAP);
            }
            told.push(line);
            next = at + 1;
        }
        told.join("\n").trim().to_owned()
    };
    let (gone, came) = (only(old, new), only(new, old));
    if !gone.is_empty() || !came.is_empty() {
        let went: Vec<&str> = gone.lines().take(MOST_COMPARED).collect();
        let told = |(at, line)| if at < MOST_COMPARED { without_old(line, &went) } else { Cow::Borrowed(line) };
        let came = came.lines().enumerate().map(told).collect::<Vec<_>>().join("\n");
        return (gone, came);
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let behind =
        old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(|(one, other)| one == other).count();
    let middle = |lines: &[&str]| lines[before..lines.len() - behind].join("\n").trim().to_owned();
    (middle(&old), middle(&new))
}

/// A patch by its files and the lines that it adds.
fn patch(value: &str, room: usize) -> Option<String> {
    let opens = ["***", "---", "+++", "diff"].iter().any(|opening| value.trim_start().starts_with(opening))
        || value.lines().take(OPENING_LINES).any(|line| line.starts_with("*** Begin Patch"));
    let is_file = |line: &&str| line.starts_with("***") || line.starts_with("+++");
    let lines: Vec<&str> =
        value.lines().take(MOST_LINES).filter(|line| line.len() > 2 && line.starts_with(['+', '*'])).collect();
    if !opens || lines.len() <= 3 {
        return None;
    }
    // What only opens and closes the patch names none.
    let names_file = |line: &&str| is_file(line) && line.contains(['/', '.', ':']);
    let mut files: Vec<&str> = lines.iter().copied().filter(names_file).take(MOST_PATCHED + 1).collect();
    if files.len() > MOST_PATCHED {
        files[MOST_PATCHED] = GAP;
    }
    let added: Vec<&str> = lines.iter().filter(|line| !is_file(line)).filter_map(|line| line.get(1..)).collect();
    Some(format!("{} {}", files.join(" "), outline(&added.join("\n"), room)))
}

/// A program by what its first line says of it and by the names of its blocks, as far as there is room. `None`: it is no program,
/// or has hardly any names.
fn block_names(text: &str, room: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(MOST_LINES).filter(|line| !line.trim().is_empty()).collect();
    let code = CodeOutline::of(&lines)?;
    let names = code.names(&lines);
    if names.len() < LEAST_NAMES {
        return None;
    }
    // A remark begins with a sign of its own.
    let is_remark = |line: &&&str| {
        let line = line.trim();
        !line.starts_with(char::is_alphanumeric)
            && line.split_whitespace().count() >= 3
            && !line.contains(['{', ';', '='])
    };
    let first = lines.first().filter(is_remark);
    let mut told = first.map_or_else(String::new, |line| format!("{} ⏎ ", shortened(line, 80, 0)));
    told.push_str(GAP);
    let mut left = room.saturating_sub(size(&told));
    for (at, name) in names.iter().enumerate() {
        let name = shortened(name, 100, 0);
        if at > 0 && size(&name) + 1 > left {
            break;
        }
        left = left.saturating_sub(size(&name) + 1);
        told.push_str(if at > 0 { ", " } else { " " });
        told.push_str(&name);
    }
    told.push(' ');
    told.push_str(GAP);
    Some(told)
}

/// Of code the lines that open its blocks, of other texts those that are indented least and name something, in order.
pub(super) fn outline(text: &str, room: usize) -> String {
    let lines: Vec<&str> = text.lines().take(MOST_LINES).filter(|line| !line.trim().is_empty()).collect();
    let whole: usize = lines.iter().map(|line| size(line.trim()) + 3).sum();
    if whole <= room && lines.len() < MOST_LINES {
        return lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ⏎ ");
    }
    let says = |at: &usize| lines[*at].chars().filter(|letter| letter.is_alphanumeric()).count() >= 3;
    let code = CodeOutline::of(&lines);
    let only_begins = |at: usize| code.as_ref().is_some_and(|code| code.only_begins(at));
    let opens = |at: usize| code.as_ref().and_then(|code| code.opens(at)).unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..lines.len()).filter(says).collect();
    if order.iter().any(|at| !only_begins(*at)) {
        order.retain(|at| !only_begins(*at));
    }
    order.sort_by_cached_key(|at| (opens(*at), indent(lines[*at]), std::cmp::Reverse(density(lines[*at]).min(3)), *at));
    let (mut kept, mut used) = (Vec::new(), 0);
    for at in order {
        let cost = size(lines[at].trim()).min(120) + 3;
        if !kept.is_empty() && used + cost > room {
            break;
        }
        kept.push(at);
        used += cost;
    }
    // One line of many, that opens nothing, says nothing of them.
    if let [only] = kept.as_slice()
        && lines.len() > FEW
        && opens(*only) == usize::MAX
    {
        return GAP.to_owned();
    }
    kept.sort_unstable();
    let mut parts = Vec::new();
    let mut next = 0;
    for at in kept {
        if at > next {
            parts.push(GAP.to_owned());
        }
        parts.push(shortened(lines[at], 120, 0));
        next = at + 1;
    }
    let more = if next < lines.len() { format!(" {GAP}") } else { String::new() };
    format!("{}{more}", parts.join(" ⏎ "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            arguments,
            arguments_text: None,
            kind: Default::default(),
            opaque: None,
        }
    }

    #[test]
    fn an_edit_is_told_by_what_changed() {
        let edit = call(
            "str_replace",
            json!({"path": "src/a.rs", "old_string": "fn a() {\n  one();\n}", "new_string": "fn a() {\n  two(5177);\n}"}),
        );
        assert_eq!(ArgumentShapes::default().told(&edit, 200), "src/a.rs: + two(5177); (in place of one();)");
    }

    /// Whatever a tool calls the text that it replaces.
    #[test]
    fn a_text_beside_what_replaces_it_is_the_old_one() {
        let old = "import { AuditTable } from '@/components/AuditTable';";
        let new = format!("{old}\nimport {{ errorText }} from '@/lib/errors';");
        let edit = call(
            "replace_file_content",
            json!({"TargetContent": old, "ReplacementContent": new, "TargetFile": "/src/page.tsx"}),
        );
        let told = ArgumentShapes::default().told(&edit, 400);
        assert_eq!(told, "/src/page.tsx: + import { errorText } from '@/lib/errors';");
    }

    #[test]
    fn of_a_line_that_was_changed_only_what_is_new_is_told() {
        let old = "**Monorepo**. The bot lives in `services/bot/` inside this repository and shares its types.";
        let new = format!("SUPERSEDED by ADR-022.\n~~{old}~~");
        let edit = call("Edit", json!({"file_path": "adr.md", "old_string": old, "new_string": new}));
        let told = ArgumentShapes::default().told(&edit, 60);
        assert!(told.contains("SUPERSEDED by ADR-022.") && !told.contains("lives in"), "{told}");
        let line = "For fees of long range, the bridge is what the operating model was inspired by, unless it changes";
        let edit = call(
            "Edit",
            json!({"file_path": "map.md", "old_string": format!("- {line} now."), "new_string": format!("- {line} in autumn.")}),
        );
        let told = ArgumentShapes::default().told(&edit, 200);
        assert!(told.starts_with("map.md: + […] in autumn."), "{told}");
    }

    #[test]
    fn blocks_of_what_is_looked_for_are_told_as_edits() {
        let block = |old: &str, new: &str| {
            let same = "let unchanged = true;\n".repeat(20);
            format!("<<<<<<< SEARCH\n:start_line:3\n-------\n{same}{old}\n=======\n{same}{new}\n>>>>>>> REPLACE\n")
        };
        let diff = block("port = 80", "port = 5177") + &block("host = a", "host = b");
        let edit = call("apply_diff", json!({"path": "src/a.rs", "diff": diff}));
        let told = ArgumentShapes::default().told(&edit, 300);
        assert!(told.starts_with("src/a.rs, ") && told.contains("port = 5177") && told.contains("; "), "{told}");
        assert!(!told.contains("<<<<<<<") && !told.contains("======="), "{told}");
    }

    #[test]
    fn what_both_sides_of_an_edit_have_is_not_told_as_new() {
        let (old, new) = ("a = 1\nkept();\nb = 1\nend();", "port();\na = 1\nkept();\nb = 2\nend();");
        assert_eq!(changed(old, new), ("b = 1".to_owned(), "port();\n[…]\nb = 2".to_owned()));
        assert_eq!(changed("x\ny\nx", "x\nx\ny"), ("y\nx".to_owned(), "x\ny".to_owned()), "the order alone");
        let roo = "<<<<<<< SEARCH\n:start_line:1\n-------\nimport a\nuse(a)\n=======\nimport a\nimport b\nuse(a)\nuse(b)\n>>>>>>> REPLACE";
        let told = replacements(roo, 300).unwrap();
        assert!(told.contains("import b") && told.contains("use(b)") && !told.contains("import a"), "{told}");
    }

    #[test]
    fn what_all_calls_have_in_common_is_dropped_and_a_file_never_is() {
        let calls: Vec<ToolCall> = (0..5)
            .map(|n| {
                let arguments =
                    json!({"command": format!("run {n}"), "timeout": 1000, "cwd": "/src/app", "path": "/src/a.rs"});
                ToolCall { id: format!("c{n}"), ..call("bash", arguments) }
            })
            .collect();
        let mut shapes = ArgumentShapes::default();
        calls.iter().rev().for_each(|call| shapes.learn(call));
        assert_eq!(shapes.told(&calls[0], 200), "run 0, /src/app, /src/a.rs");
        assert_eq!(shapes.told(&calls[4], 200), "run 4, /src/a.rs", "the folder was named");
        assert_eq!(ArgumentShapes::default().told(&calls[0], 200), "run 0, /src/app, /src/a.rs");
    }

    /// A harness has its models say with each call what its user is shown of it.
    #[test]
    fn a_field_of_all_tools_is_not_told() {
        let made = |n: usize, tool: &str, own: &str| ToolCall {
            id: format!("c{n}"),
            ..call(
                tool,
                json!({own: format!("was {n} sagt"), "toolSummary": format!("Schaue nach {n}"), "path": format!("/a/{n}.rs")}),
            )
        };
        let tools = [("lies", "zeile"), ("suche", "muster"), ("baue", "ziel")];
        let calls: Vec<ToolCall> = (0..9).map(|n| made(n, tools[n % 3].0, tools[n % 3].1)).collect();
        let mut shapes = ArgumentShapes::default();
        calls.iter().rev().for_each(|call| shapes.learn(call));
        assert_eq!(shapes.told(&calls[4], 300), "was 4 sagt, /a/4.rs");
        assert!(ArgumentShapes::default().told(&calls[4], 300).contains("Schaue nach 4"));
    }

    /// What went, beside a part of what came, would read as what stands there.
    #[test]
    fn of_a_long_edit_only_what_came_is_told() {
        let new: String = (0..40).map(|n| format!("wert {n} ist neu und lang genug für eine Zeile\n")).collect();
        let edit = call("edit", json!({"path": "a.md", "old_string": "der alte Preis war 12", "new_string": new}));
        let told = ArgumentShapes::default().told(&edit, 120);
        assert!(told.contains("ist neu") && !told.contains("alte Preis"), "{told}");
    }

    #[test]
    fn a_patch_in_a_command_is_told_by_its_files() {
        let part = |n: usize| {
            format!("*** Update File: src/teil_{n}.ts\n@@\n-const alt = {n};\n+export const neu_{n} = {n};\n")
        };
        let patch: String = (0..8).map(part).collect();
        let command = format!("apply_patch <<'EOF'\n*** Begin Patch\n{patch}*** End Patch\nEOF");
        let told = ArgumentShapes::default().told(&call("shell", json!({"command": command})), 120);
        assert!((0..8).all(|n| told.contains(&format!("src/teil_{n}.ts"))), "{told}");
    }

    #[test]
    fn arguments_that_are_json_twice_are_read_twice() {
        let twice = call("view", json!({"AbsolutePath": "\"c:\\\\Users\\\\ana\\\\a.py\"", "Why": "\"zum Lesen\""}));
        assert_eq!(ArgumentShapes::default().told(&twice, 200), "c:\\Users\\ana\\a.py, Why zum Lesen");
        let once = call("grep", json!({"pattern": "\"port\"", "path": "a.py"}));
        assert!(ArgumentShapes::default().told(&once, 200).contains("\"port\""));
    }

    #[test]
    fn of_a_long_command_what_is_run_stays() {
        let folder = format!("C:\\Users\\Ana\\{}site", "projects\\".repeat(30));
        for change in ["cd", "Set-Location", "pushd"] {
            for parted in [" && ", "; "] {
                let command =
                    format!("{change} \"{folder}\"{parted}npx --yes electron-pdf index.html out.pdf 2>&1 | head -5");
                let told = ArgumentShapes::default().told(&call("exec", json!({"command": command})), 110);
                assert!(told.contains("npx --yes electron-pdf"), "{told}");
            }
        }
        let only = format!("cd {}", "very/long/".repeat(30));
        let told = ArgumentShapes::default().told(&call("exec", json!({"command": only})), 110);
        assert!(told.starts_with("cd ") && told.contains("very/long"), "{told}");
    }

    #[test]
    fn a_command_for_where_another_fails_is_told_as_such() {
        let command = format!(
            "gateway lookup {}2>/dev/null || echo \"Looking at the calendar...\"",
            "--very-long-switch ".repeat(20)
        );
        let told = ArgumentShapes::default().told(&call("exec", json!({"command": command})), 90);
        assert!(told.starts_with("gateway lookup") && told.contains("[…] || […]"), "{told}");
        let both = format!("make {}&& make install", "--very-long-switch ".repeat(20));
        assert!(!ArgumentShapes::default().told(&call("exec", json!({"command": both})), 90).contains("||"));
    }

    #[test]
    fn edits_in_a_list_are_told_by_what_came() {
        let same = "unchanged();\n".repeat(30);
        for (old, new) in [("oldText", "newText"), ("old_string", "new_string"), ("search", "replace")] {
            let edits = json!([
                {old: format!("{same}port(80);\n"), new: format!("{same}port(8443);\n")},
                {old: "host('a');", new: "host('b');"},
            ]);
            let told = ArgumentShapes::default().told(&call("multiedit", json!({"path": "a.ts", "edits": edits})), 200);
            assert!(told.contains("+ port(8443);") && told.contains("+ host('b');"), "{told}");
            assert!(!told.contains("unchanged"), "{told}");
        }
    }

    #[test]
    fn an_amount_stands_with_its_name() {
        let refund = call("refund", json!({"order": "A-17", "amount": 1500}));
        assert_eq!(ArgumentShapes::default().told(&refund, 200), "A-17, amount 1500");
    }

    #[test]
    fn a_written_file_is_told_by_its_names() {
        let body: String = (0..40).map(|n| format!("pub fn step_{n}() {{\n    let inner = {n};\n}}\n")).collect();
        let told =
            ArgumentShapes::default().told(&call("write", json!({"file_path": "src/b.rs", "content": body})), 200);
        assert!(told.starts_with("src/b.rs, content […] step_0, step_1, ") && told.ends_with(GAP), "{told}");
        assert!(!told.contains("let inner"), "{told}");
    }

    #[test]
    fn where_a_block_stands_is_not_what_it_replaces() {
        let block = |old: &str, new: &str| {
            format!("<<<<<<< SEARCH\n:start_line:7\n-------\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n")
        };
        let diff = block("let port = 8080;", "let port = 8443;") + &"context\n".repeat(60);
        let told = ArgumentShapes::default().told(&call("apply_diff", json!({"path": "a.rs", "diff": diff})), 120);
        assert!(told.contains("+ let port = 8443; (in place of let port = 8080;)"), "{told}");
        assert!(!told.contains("start_line"), "{told}");
    }

    #[test]
    fn blocks_in_other_signs_are_told_as_edits_too() {
        let same = "unchanged();\n".repeat(30);
        let diff = format!("------- SEARCH\n{same}port(80);\n=======\n{same}port(8443);\n+++++++ REPLACE\n");
        let told = ArgumentShapes::default().told(&call("replace_in_file", json!({"path": "a.ts", "diff": diff})), 120);
        assert!(told.contains("+ port(8443); (in place of port(80);)") && !told.contains("SEARCH"), "{told}");
    }

    #[test]
    fn a_patch_is_told_by_its_files() {
        let lines: String = (0..40).map(|n| format!("+export const value_{n} = {n};\n")).collect();
        let patch = format!("*** Begin Patch\n*** Update File: src/a.ts\n@@\n{lines}*** End Patch");
        let told = ArgumentShapes::default().told(&call("apply_patch", json!({"input": patch})), 120);
        assert!(told.starts_with("*** Update File: src/a.ts ") && !told.contains("Begin Patch"), "{told}");
    }

    #[test]
    fn a_path_with_spaces_is_whole() {
        let path = format!("/Users/ana/Cloud Drive/{}/Mi unidad/Briefing.pdf", "folder/".repeat(12));
        let told = ArgumentShapes::default().told(&call("Read", json!({"file_path": path})), 40);
        assert_eq!(told, path);
        assert!(
            !is_path("file_text", "a / b") && !is_path("files", "/a.rs /b.rs") && !is_path("note", "/fix it, please")
        );
    }

    #[test]
    fn a_long_command_keeps_its_address() {
        let command = format!(
            "cd /tmp && curl -sL -o paper.pdf 'https://nhenze.net/uploads/Offset.pdf' && {}",
            "ls -la paper.pdf; ".repeat(30)
        );
        let told = ArgumentShapes::default().told(&call("bash", json!({"command": command})), 60);
        assert!(told.contains("https://nhenze.net/uploads/Offset.pdf […]"), "{told}");
    }

    #[test]
    fn a_long_command_keeps_head_and_tail() {
        let command = format!("start {} end.sh", "--flag value ".repeat(60));
        let told = ArgumentShapes::default().told(&call("bash", json!({"command": command})), 100);
        assert!(told.starts_with("start --flag") && told.ends_with("end.sh") && told.contains(GAP), "{told}");
    }
}
