//! What of a result is told: the lines that tell something, for what recurs in most results of its tool tells nothing.

mod escapes;
mod page;
mod stack;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use self::escapes::without_escapes;
use self::page::{are_of_page, is_mostly_link, opening};
use self::stack::StackLines;
use super::arguments::fields;
use super::code_outline::CodeOutline;
use super::ending::{code_of_json, exit_code, exit_line, is_element};
use super::quote::{
    FENCE, GAP, counted, density, names, one_gap, prefix, says, shape, shortened, size, suffix, whole_words_before,
    whole_words_behind, words,
};
use super::values::{self, JsonText, ValueWords};
use super::words::hashed;
use crate::model::message::{ToolCall, ToolResult};
use crate::model::user_text::replies::{Reply, replies};

pub(super) use page::names_page;

/// What a harness puts behind the results of several tools: bytes of its first line and of all of it at least, as a shorter end
/// may say how each call ended; behind how many different lines it then stands; lines of an end that are looked at, and how
/// many in all.
const SHARED_LINE: usize = 16;
const SHARED_END: usize = 120;
const LEAST_SHARED: usize = 3;
const LONGEST_END: usize = 60;
const MOST_SHARED: usize = 20_000;
/// Results of one tool that are compared with one another: the newest.
const COMPARED: usize = 64;
/// Tools whose results are compared.
const MOST_TOOLS: usize = 256;
/// Lines of one result that are looked at: the first ones, and the last ones.
const FIRST: usize = 400;
const LAST: usize = 100;
/// Characters of one result that are looked at, at either end.
const REACH: usize = 120_000;
/// The most that is told of one line, in quarter tokens.
const LINE: usize = 240;
/// Bytes of an argument that is known again in a line, and how many of them.
const SHORTEST_ECHO: usize = 5;
const MOST_ECHOES: usize = 4;
/// Bytes of an argument that is left out where a usual line repeats it.
const LEAST_ECHO: usize = 24;
/// Lines of a result that stand in the arguments are left out where there are so many; shorter ones say too little.
const LEAST_GIVEN: usize = 3;
const SHORTEST_GIVEN: usize = 4;
/// A result of so few lines is told with the beginning of the first, in quarter tokens.
const FEW: usize = 6;
const OPENING: usize = 100;
/// The most that a tool says of what it left out, in quarter tokens, and what stands before it.
const NOTICE: usize = 160;
const WITH_NOTICE: &str = ", with ";
/// Lines that a tool puts around those of a file of which it says which ones it shows.
const AROUND_LINES: usize = 6;
/// A line is among the last with fewer than so many behind it.
const AMONG_LAST: usize = 4;
/// How many lines of one shape are told.
const ALIKE: usize = 3;
/// Lines of the header that a harness puts before a program's output, at most.
const HEADER_LINES: usize = 8;
/// Bytes of a question; an answer may repeat what is shorter, as it does an option.
const SHORTEST_QUESTION: usize = 24;
/// Parts of the names of tools that ask the user.
const ASKING: [&str; 2] = ["ask", "question"];
/// The number of a line, as tools that read files print it.
static LINE_NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*\d+\s*[→|:\t]\s*").ok());
/// What differs from result to result of one tool.
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[0-9a-f]{6,}|\d+(?:\.\d+)?").ok());

/// A label and a time, and nothing else: when a tool did something, not what.
static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^[[:alpha:]][^:=]{0,40}[:=]\s*["']?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?:[:.,]\d+)*\s*(?:Z|[+-]\d\d:?\d\d|[A-Z]{3,4})?["']?$"#).ok()
});

/// What the results of each tool have in common.
#[derive(Debug, Default)]
pub(super) struct ResultShapes<'a> {
    tools: HashMap<&'a str, ToolShapes>,
    /// Ends of results, by the hash of their first line and of the form of their last one.
    ends: HashMap<u64, SharedEnd<'a>>,
}

/// Where an end of results stands. Tools that show one file show its lines behind the same line; what a harness puts behind
/// results follows whatever they are.
#[derive(Debug, Default)]
struct SharedEnd<'a> {
    /// The lines before it, by their hash, up to [`LEAST_SHARED`].
    before: Vec<u64>,
    /// Up to two tools.
    tools: Vec<&'a str>,
}

#[derive(Debug, Default)]
struct ToolShapes {
    results: usize,
    /// In how many results a line of this shape stands.
    lines: HashMap<String, usize>,
}

/// A result to be told of.
#[derive(Clone, Copy)]
pub(super) struct ToldResult<'a> {
    pub tool: &'a str,
    /// The call's arguments as one text: their echo tells nothing.
    pub arguments: &'a str,
    pub text: &'a str,
    /// Quarter tokens.
    pub room: usize,
    /// The same where the result is JSON of short values: what a database holds of an order stands in no file.
    pub room_of_data: usize,
    /// Of one that is too long, and of which nothing was spoken of, the number of its lines is enough.
    pub may_be_counted: bool,
    /// The call failed: why is what its result says last.
    pub failed: bool,
}

/// What a result says, without what its tool puts around it.
struct ReadText<'t> {
    lines: &'t [&'t str],
    text: &'t str,
    /// The lines with their indentation.
    indented: &'t [&'t str],
    /// Where it is JSON.
    json: Option<JsonText>,
    failed: bool,
    /// A part of it is a change as version control writes it.
    is_change: bool,
}

impl<'a> ResultShapes<'a> {
    /// Learns from a result of a call with these arguments. Of each tool the first [`COMPARED`] count that are shown to it.
    pub fn learn(&mut self, tool: &'a str, arguments: &str, text: &str) {
        if self.tools.len() >= MOST_TOOLS && !self.tools.contains_key(tool) {
            return;
        }
        let shapes = self.tools.entry(tool).or_default();
        if shapes.results >= COMPARED {
            return;
        }
        shapes.results += 1;
        let text = readable(text);
        let lines: Vec<&str> = looked_at(&text).collect();
        let templates: HashSet<String> = lines.iter().map(|line| template(&without_echo(line, arguments))).collect();
        for line in templates {
            *shapes.lines.entry(line).or_default() += 1;
        }
        self.learn_ends(tool, &lines);
    }

    fn learn_ends(&mut self, tool: &'a str, lines: &[&str]) {
        let end = &lines[lines.len().saturating_sub(LONGEST_END + 1)..];
        let Some(last) = end.last() else { return };
        for pair in end.windows(2).filter(|pair| pair[1].trim().len() >= SHARED_LINE) {
            let key = end_key(pair[1], last);
            if self.ends.len() >= MOST_SHARED && !self.ends.contains_key(&key) {
                continue;
            }
            let end = self.ends.entry(key).or_default();
            let before = hashed(pair[0].trim());
            if end.before.len() < LEAST_SHARED && !end.before.contains(&before) {
                end.before.push(before);
            }
            if end.tools.len() < 2 && !end.tools.contains(&tool) {
                end.tools.push(tool);
            }
        }
    }

    /// Returns true if a line of this shape stands in nearly all results of the tool: it is a wrapper's.
    fn stands_in_all(&self, result: &ToldResult<'_>, line: &str) -> bool {
        self.share(result.tool, &template(&without_echo(line, result.arguments))) >= 80
    }

    /// A result without what a harness puts behind those of several tools.
    fn without_shared_end<'t>(&self, text: &'t str) -> &'t str {
        let text = text.trim_end();
        let last = text.lines().next_back().unwrap_or_default();
        let is_shared = |line: &str| {
            let end = self.ends.get(&end_key(line, last)).filter(|_| line.len() >= SHARED_LINE);
            end.is_some_and(|end| end.before.len() >= LEAST_SHARED && end.tools.len() > 1)
        };
        let (mut own, mut at) = (text.len(), text.len());
        for line in text.split_inclusive('\n').rev().take(LONGEST_END) {
            at -= line.len();
            if text.len() - at >= SHARED_END && is_shared(line.trim()) {
                own = at;
            }
        }
        // A result that is nothing else is the tool's.
        if text[..own].trim().is_empty() { text } else { text[..own].trim_end() }
    }

    /// Returns true if a line of this shape stands in most results of the tool; one that names an argument need not stand in
    /// so many. One that names something else, as hits of a search do, has to stand in nearly all.
    fn recurs(&self, result: &ToldResult<'_>, line: &str) -> bool {
        let bare = without_echo(line, result.arguments);
        let shape = template(&bare);
        let share = self.share(result.tool, &shape);
        let is_echo = bare.len() != line.len();
        let names_more = names(&shape).next().is_some();
        if is_echo { share > 30 } else { share > 50 && (!names_more || share >= 80) }
    }

    /// In how many of a hundred results a line of this shape stands: of a few results, and of a few lines, that says nothing.
    fn share(&self, tool: &str, shape: &str) -> usize {
        let Some(shapes) = self.tools.get(tool).filter(|shapes| shapes.results >= 4) else { return 0 };
        let standing = shapes.lines.get(shape).copied().unwrap_or_default();
        if standing < 3 { 0 } else { standing * 100 / shapes.results }
    }

    /// A result without what its tool puts before and behind every one: a few lines with a label or in brackets. Other lines
    /// that recur are the files', as a licence is.
    pub fn without_wrapper<'t>(&self, tool: &str, text: &'t str) -> &'t str {
        let is_wrapper = |line: &str| {
            let line = line.trim();
            let is_mark = line.is_empty() || tells_of_run(line);
            is_mark || (is_framed(line) || is_labelled(line)) && self.share(tool, &template(line)) >= 80
        };
        let mut rest = behind_header(text);
        for _ in 0..HEADER_LINES {
            let Some((_, behind)) = rest.split_once('\n').filter(|(first, _)| is_wrapper(first)) else { break };
            rest = behind;
        }
        for _ in 0..HEADER_LINES {
            let Some((before, _)) = rest.rsplit_once('\n').filter(|(_, last)| is_wrapper(last)) else { break };
            rest = before;
        }
        rest
    }

    /// What a result says, in at most so much room. `later` says whether a word was spoken of or used afterwards.
    pub fn told(&self, result: &ToldResult<'_>, later: impl Fn(&str) -> bool) -> String {
        let own = behind_echo(within_element(self.without_shared_end(result.text)), result.arguments);
        let result = &ToldResult { text: own, ..*result };
        // What JSON says stands in its values, and a line of them is no wrapper's however it begins.
        let json =
            JsonText::of(result.text).map(|json| json.with_lines(|line| !is_tag(line) && self.tells(result, line)));
        let json = json.map(|json| if result.failed { json } else { json.without_envelope(result.room) });
        let text = match &json {
            Some(json) => json.around(&values::told(&json.value)),
            None => values::without_json(result.text),
        };
        let text = within_reach(text);
        let text = without_what_was_given(&text, result.arguments);
        let code = exit_code(&text).or_else(|| code_of_json(result.text)).filter(|code| *code != 0);
        let head = code.map(|code| format!("exit {code}: ")).unwrap_or_default();
        let text = behind_header(&text);
        let indented: Vec<&str> = looked_at_as_it_is(text).collect();
        let all: Vec<&str> = indented.iter().map(|line| line.trim()).collect();
        let body = if json.is_some() { 0..all.len() } else { self.body(result, &all) };
        let lines = &all[body.clone()];
        if lines.is_empty() {
            let is_bare = |line: &&str| exit_line(line).is_some() || is_tag(line) || line.starts_with(FENCE);
            let is_mark = |line: &str| is_bare(&line) || is_clock(line) && !is_one_line(text);
            let tells = |line: &&&str| !is_mark(line) && (says(line) || is_one_line(text));
            // What a tool says first is what it did; behind that it says what to do with it.
            let is_label = |line: &&&str| line.ends_with(':') && !line.contains(' ');
            let first = all.iter().filter(tells).find(|line| !is_label(line)).or(all.iter().find(tells));
            let usual = first.map(|first| usual(first, result.arguments));
            let nothing = if all.iter().all(is_bare) { "no output" } else { GAP };
            return format!("{head}{}", usual.unwrap_or_else(|| nothing.to_owned()));
        }
        // What says the same each time is no loss; whatever else goes is marked.
        let is_loss =
            |line: &&str| !tells_of_run(line) && !line.starts_with(FENCE) && !self.stands_in_all(result, line);
        let before = if all[..body.start].iter().any(is_loss) { "[…] " } else { "" };
        let behind = if all[body.end..].iter().any(is_loss) { " […]" } else { "" };
        let failed = result.failed || code.is_some();
        let is_change = all.iter().any(|line| line.starts_with(HUNK));
        let read = ReadText { lines, indented: &indented[body], text, json, failed, is_change };
        let told = self.told_lines(result, read, later);
        one_gap(format!("{head}{before}{told}{behind}"))
    }

    fn told_lines(&self, result: &ToldResult<'_>, read: ReadText<'_>, later: impl Fn(&str) -> bool) -> String {
        let ReadText { lines, indented, text, json, failed, is_change } = read;
        let is_json = json.is_some();
        // Of an object's values and a table's rows each tells something by itself.
        let whole: usize = lines.iter().map(|line| size(line) + 1).sum();
        let data = json.filter(|json| whole > result.room && json.is_data());
        let is_short = data.as_ref().is_some_and(|json| values::holds_short_values(&json.value));
        let room = if is_short { result.room.max(result.room_of_data) } else { result.room };
        if let [line] = lines
            && is_one_line(text)
            && line.ends_with(')')
            && without_echo(line, result.arguments).len() != line.len()
        {
            return usual(line, result.arguments);
        }
        if whole <= room {
            return lines.join("\n");
        }
        // Among the numbered lines of a file all else is a wrapper's, or the half of a line that a harness has cut.
        let of_file = if is_json { Vec::new() } else { lines_with_numbers(lines) };
        let (numbered, numbered_indented): (Vec<&str>, Vec<&str>) =
            of_file.iter().map(|at| (lines[*at], indented[*at])).unzip();
        let (lines, indented) =
            if of_file.is_empty() { (lines, indented) } else { (numbered.as_slice(), numbered_indented.as_slice()) };
        let is_data = data.is_some();
        let given = |text: &str| result.arguments.lines().any(|line| line.trim() == text);
        let words = ValueWords { heard: &later, given: &given };
        if let Some(json) = data.filter(|_| !failed)
            && let Some(told) = values::within(&json.value, room, &words)
        {
            return json.around(&told);
        }
        // Of a page's lines those that are hardly more than links lead elsewhere.
        let (links, prose): (Vec<&str>, Vec<&str>) = lines.iter().copied().partition(|line| is_mostly_link(line));
        let is_page = names_page(result.arguments) || !is_data && are_of_page(&links, &prose);
        let (lines, stack, blocks) = if is_page && !prose.is_empty() {
            (prose.as_slice(), StackLines::default(), None)
        } else {
            let stack = StackLines::of(indented);
            let is_program = !failed && stack.reasons.is_empty();
            (lines, stack, if is_program { blocks_of_file(indented) } else { None })
        };
        let mut ranked = RankedLines::of(lines, blocks.as_ref(), &stack, &later);
        ranked.may_sum_up &= !is_json;
        if is_change {
            ranked.pass_over_replaced(lines);
        }
        if failed {
            ranked.favour_the_end(lines);
        }
        if lines.len() > FEW && !is_data {
            ranked.pass_over(|at| self.recurs(result, lines[at]));
        }
        if !ranked.heard && !failed && lines.len() > 3 && !is_data && stack.reasons.is_empty() {
            if let Some(told) = is_page.then(|| opening(lines, result.room)).flatten() {
                return told;
            }
            let text = self.without_wrapper(result.tool, text);
            let is_said = |line: &&str| !line.is_empty() && *line != GAP;
            let all: Vec<&str> = text.lines().map(str::trim).filter(is_said).collect();
            // The name of a text within JSON is no line of it, nor is the mark for what is left out around it.
            let is_name = |line: &str| line == GAP || is_json && line.ends_with(':') && !line.contains(' ');
            let count = lines_of_file(text).saturating_sub(text.lines().filter(|line| is_name(line.trim())).count());
            if result.may_be_counted {
                return lines_shown(count, text);
            }
            let at_last = lines.iter().rposition(|line| *line != GAP).unwrap_or_default();
            let (last, others) = (lines[at_last], &lines[..at_last]);
            // A last line that looks like the others is one more of them, and sums up nothing; an element is a harness's.
            if is_element(last) || is_name(last) || others.iter().any(|line| form(line) == form(last)) {
                return lines_shown(count, text);
            }
            let which = match all.iter().rev().position(|line| *line == last) {
                Some(0) => "the last",
                Some(behind) if behind < AMONG_LAST => "among the last",
                _ => "one of them",
            };
            return format!("{}, {which}: {}", counted(count, "line"), shortened(last, 80, 0));
        }
        ranked.told(lines, room, failed, later)
    }

    /// The lines between what a wrapper puts before and behind them: what recurs from result to result, and echoes of the
    /// arguments.
    fn body(&self, result: &ToldResult<'_>, all: &[&str]) -> std::ops::Range<usize> {
        let tells = |line: &&str| self.tells(result, line);
        let Some(start) = all.iter().position(tells) else { return 0..0 };
        let end = all.iter().rposition(tells).map_or(all.len(), |last| last + 1);
        start..end
    }

    /// Returns true if a line is neither a wrapper's nor an echo of the arguments.
    fn tells(&self, result: &ToldResult<'_>, line: &str) -> bool {
        let core = without_number(line).trim();
        let behind_label = core.split_once(": ").map(|(_, rest)| rest).filter(|rest| !rest.is_empty());
        // A program that prints a part of what it was given has found something.
        let is_part = |line: &str, part: &str| {
            line.trim() == part || line.split_once(": ").is_some_and(|(_, rest)| rest.trim() == part)
        };
        let is_given = |part: &str| result.arguments.lines().any(|line| is_part(line, part));
        let echo = core.len() > 8 && (is_given(core) || behind_label.is_some_and(is_given));
        let is_one_line = is_one_line(result.text);
        exit_line(line).is_none()
            && !core.starts_with(FENCE)
            && (is_one_line || says(core) && !is_clock(core))
            && !echo
            && !self.recurs(result, line)
    }
}

/// A result without the block before it in which a harness shows its user what was run: the arguments, and nothing else.
fn behind_echo<'t>(text: &'t str, arguments: &str) -> &'t str {
    let behind = || {
        let (_, inside) = text.trim_start().strip_prefix(FENCE)?.split_once('\n')?;
        let (echo, rest) = inside.split_once(FENCE).filter(|(echo, _)| echo.ends_with('\n'))?;
        let run = arguments.trim().strip_suffix(echo.trim()).filter(|_| !echo.trim().is_empty())?;
        (run.is_empty() || run.ends_with(": ") && !run.contains('\n')).then_some(rest)
    };
    behind().unwrap_or(text)
}

/// An end of results is known again by its first line and the form of its last one.
fn end_key(first: &str, last: &str) -> u64 {
    hashed(&format!("{}\n{}", first.trim(), template(last.trim())))
}

/// Returns true for a line that says how a program ended, or when it ran, and nothing else.
fn tells_of_run(line: &str) -> bool {
    exit_line(line).is_some() || is_clock(line)
}

fn is_clock(line: &str) -> bool {
    CLOCK.as_ref().is_some_and(|clock| clock.is_match(line.trim()))
}

/// Returns true if a text is a line by itself, as an empty list is: that tells something whatever it is.
fn is_one_line(text: &str) -> bool {
    text.trim().lines().nth(1).is_none()
}

/// What an element holds that a tool puts around its whole result, unless that holds others.
fn within_element(text: &str) -> &str {
    let inside = || {
        let (first, rest) = text.trim().split_once('\n')?;
        let (inside, last) = rest.rsplit_once('\n')?;
        let name = first.trim().strip_prefix('<')?.strip_suffix('>')?;
        let closes = last.trim().strip_prefix("</")?.strip_suffix('>')? == name;
        let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let holds_others = inside.lines().any(|line| line.trim_start().starts_with('<'));
        (closes && is_name && !holds_others).then_some(inside)
    };
    inside().unwrap_or(text)
}

/// Returns true if a line is nothing but the beginning or the end of an element, or both.
fn is_tag(line: &str) -> bool {
    let name = line.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| name.split("></").all(|name| !name.contains(['<', '>', ' '])))
}

/// JSON by its values, and of a very long text the beginning and the end.
fn readable(text: &str) -> String {
    within_reach(values::readable(text))
}

fn within_reach(text: String) -> String {
    if text.len() <= 2 * REACH {
        return text;
    }
    format!("{}\n{GAP}\n{}", prefix(&text, REACH), suffix(&text, REACH))
}

/// A result without the lines that stand in the arguments word for word, where there are several: a tool shows what it has
/// written. Where they are most of it, what stands between them is what they were written into.
fn without_what_was_given<'t>(text: &'t str, arguments: &str) -> Cow<'t, str> {
    let given: HashSet<&str> = arguments.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_GIVEN).collect();
    let lines: Vec<&str> = text.lines().collect();
    let is_given = |line: &str| {
        let bare = without_number(line).trim();
        let bare = bare.strip_prefix(['+', '-']).unwrap_or(bare).trim();
        given.contains(bare) || given.contains(line.trim())
    };
    let places: Vec<usize> = (0..lines.len()).filter(|at| is_given(lines[*at])).collect();
    // Of a change that the call has told, what it made of the file is told there, and what stands around it is the file's.
    if let Some(start) = lines.iter().position(|line| line.starts_with(HUNK))
        && places.iter().any(|at| lines[*at].starts_with('+'))
    {
        let is_of_change = |line: &&&str| line.is_empty() || line.starts_with(['+', '-', ' ', '\\', '@']);
        let end = start + lines[start..].iter().take_while(is_of_change).count();
        let came = (start..end).filter(|at| lines[*at].starts_with('+') && places.binary_search(at).is_err());
        let came: Vec<&str> = came.map(|at| lines[at]).collect();
        // Marks around the change, and the names of its files, are the tool's.
        let is_around = |line: &&str| is_framed(line) || is_replaced(line);
        let before = lines[..start].iter().rposition(|line| !is_around(line)).map_or(0, |last| last + 1);
        let behind = end + lines[end..].iter().take_while(|line| is_around(line)).count();
        let left = [&lines[..before], &[GAP], &came, &[GAP], &lines[behind..]];
        return Cow::Owned(left.concat().join("\n"));
    }
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Cow::Borrowed(text) };
    if places.len() < LEAST_GIVEN {
        return Cow::Borrowed(text);
    }
    let all = places.len() * 2 >= last + 1 - first;
    let goes = |at: usize| if all { (*first..=*last).contains(&at) } else { places.binary_search(&at).is_ok() };
    // Of a change of which the call says what came, the result has left what went: that is the file no more.
    let is_change = lines.iter().any(|line| line.starts_with(HUNK));
    let mut left: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let stays = !goes(at) && (!is_change || !is_replaced(line));
        if stays {
            left.push(line);
        } else if left.last() != Some(&GAP) {
            left.push(GAP);
        }
    }
    Cow::Owned(left.join("\n"))
}

/// Begins a part of a change as version control writes it.
const HUNK: &str = "@@ ";

/// Returns true for a line of a change that says what went, and for those that name its files.
fn is_replaced(line: &str) -> bool {
    line.starts_with('-') || line.starts_with("+++")
}

fn without_number(line: &str) -> &str {
    LINE_NUMBER.as_ref().and_then(|number| number.find(line)).map_or(line, |found| &line[found.end()..])
}

/// Lines of a file that go on in their numbers, at least, and by how much the next number is greater: empty lines are not there.
const LEAST_NUMBERED: usize = 5;
const NEXT_NUMBER: u64 = 4;

/// The places of a file's lines where most of these are some that a tool has numbered; none else. Times and hits of a search
/// begin with numbers too, but do not go on in them.
fn lines_with_numbers(lines: &[&str]) -> Vec<usize> {
    let number = |line: &str| {
        let digits = line.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse::<u64>().ok().filter(|_| is_numbered(line))
    };
    let numbered: Vec<(usize, u64)> =
        lines.iter().enumerate().filter_map(|(at, line)| number(line).map(|number| (at, number))).collect();
    let goes_on = |pair: &&[(usize, u64)]| pair[0].1 < pair[1].1 && pair[1].1 - pair[0].1 <= NEXT_NUMBER;
    let on = numbered.windows(2).filter(goes_on).count();
    let are_of_file =
        numbered.len() >= LEAST_NUMBERED && numbered.len() * 3 >= lines.len() * 2 && on * 5 >= (numbered.len() - 1) * 4;
    if are_of_file { numbered.into_iter().map(|(at, _)| at).collect() } else { Vec::new() }
}

/// The form of the program whose lines these are, be they numbered.
fn blocks_of_file(lines: &[&str]) -> Option<CodeOutline> {
    let numbered = lines.iter().filter(|line| is_numbered(line)).count() * 2 > lines.len();
    let bare = |line: &&'_ str| -> String {
        let number = LINE_NUMBER.as_ref().filter(|_| numbered).and_then(|number| number.find(line));
        let Some(number) = number else { return (*line).to_owned() };
        // What stands behind the sign is the file's own, its indentation with it.
        line[number.as_str().trim_end().len()..].to_owned()
    };
    let lines: Vec<String> = lines.iter().map(bare).collect();
    CodeOutline::of(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The lines that say something, of many the first and the last ones.
fn looked_at(text: &str) -> impl Iterator<Item = &str> {
    looked_at_as_it_is(text).map(str::trim)
}

/// The same with their indentation. An empty line of a file whose lines are numbered is empty too.
fn looked_at_as_it_is(text: &str) -> impl Iterator<Item = &str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.iter().filter(|line| is_numbered(line)).count() * 2 > lines.len() {
        lines.retain(|line| !without_number(line).trim().is_empty() && line.trim().parse::<u64>().is_err());
    }
    let from = lines.len().saturating_sub(LAST).max(FIRST);
    lines.into_iter().enumerate().filter(move |(at, _)| *at < FIRST || *at >= from).map(|(_, line)| line)
}

/// A text behind the header in which a harness says how a program ended: lines with a label, the exit code among them, and a
/// label by itself.
pub(super) fn behind_header(text: &str) -> &str {
    let (mut rest, mut ended) = (text, false);
    for _ in 0..HEADER_LINES {
        let Some((line, behind)) = rest.split_once('\n') else { return text };
        let line = line.trim();
        ended |= exit_line(line).is_some();
        if ended && line.ends_with(':') && !line.contains(' ') {
            return behind;
        }
        if exit_line(line).is_none() && !is_labelled(line) {
            return text;
        }
        rest = behind;
    }
    text
}

/// Returns true for a value behind a short label.
fn is_labelled(line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(label, _)| label.len() <= 40 && label.starts_with(char::is_alphabetic) && says(label))
}

fn is_framed(line: &str) -> bool {
    line.starts_with(['[', '(', '<']) && line.ends_with([']', ')', '>'])
}

/// A line with a mark in place of each argument that it repeats.
fn without_echo<'l>(line: &'l str, arguments: &str) -> Cow<'l, str> {
    let echoed = arguments.lines().filter(|value| value.len() >= SHORTEST_ECHO && line.contains(*value));
    echoed.take(MOST_ECHOES).fold(Cow::Borrowed(line), |line, value| Cow::Owned(line.replace(value, "#")))
}

/// A line that most results of a tool have, without what the call says itself.
fn usual(line: &str, arguments: &str) -> String {
    let echo = arguments.lines().map(str::trim).filter(|value| value.len() >= LEAST_ECHO && line.contains(*value));
    let told = echo.take(MOST_ECHOES).fold(line.to_owned(), |line, value| line.replace(value, GAP));
    // What it says in brackets behind that is for whoever reads it at once.
    match told.rsplit_once(" (").filter(|(before, behind)| !before.is_empty() && behind.ends_with(')')) {
        Some((before, _)) => one_gap(format!("{} {GAP}", shortened(before, 80, 0))),
        None => shortened(&told, 80, 0),
    }
}

/// A line without what differs from result to result.
fn template(line: &str) -> String {
    let line = prefix(line.trim(), 160);
    let shape =
        VARIABLE.as_ref().map_or_else(|| line.to_owned(), |variable| variable.replace_all(line, "#").into_owned());
    prefix(&shape, 80).to_owned()
}

/// What a line looks like: its words, numbers and paths without what they say, and its signs. Several in a row are one.
fn form(line: &str) -> String {
    let mut form: Vec<String> = Vec::new();
    for word in prefix(line, LINE).split_whitespace() {
        let kind = match word.contains(['/', '\\']) {
            true => "p".to_owned(),
            false => kind_of(word),
        };
        if form.last() != Some(&kind) {
            form.push(kind);
        }
    }
    form.join(" ")
}

/// A word with one sign for each run of letters, of digits, and of both.
fn kind_of(word: &str) -> String {
    let mut kind = String::new();
    for sign in word.chars() {
        let (letter, digit) = (sign.is_alphabetic(), sign.is_numeric());
        match kind.chars().last() {
            Some('a') if digit => kind.replace_range(kind.len() - 1.., "x"),
            Some('0') if letter => kind.replace_range(kind.len() - 1.., "x"),
            Some('x') if letter || digit => {}
            last => {
                let sign = if letter {
                    'a'
                } else if digit {
                    '0'
                } else {
                    sign
                };
                if last != Some(sign) {
                    kind.push(sign);
                }
            }
        }
    }
    kind
}

/// Lines of a file, with their numbers, that stand among lines without: a program quotes them to say what it means.
struct Quotes {
    any: bool,
}

impl Quotes {
    fn of(lines: &[&str]) -> Quotes {
        let numbered = lines.iter().filter(|line| is_numbered(line)).count();
        Quotes { any: numbered > 0 && lines.len() - numbered > 2 }
    }

    /// Returns true for such a line, and for one in the margin beside them.
    fn holds(&self, line: &str) -> bool {
        self.any && (is_numbered(line) || line.starts_with('|'))
    }
}

fn is_numbered(line: &str) -> bool {
    LINE_NUMBER.as_ref().is_some_and(|number| number.is_match(line))
}

/// A search lists so many hits at least, each on one of so many lines at most.
const LEAST_HITS: usize = 3;
const LINES_OF_HIT: usize = 12;
/// What such a line is worth beside what was spoken of.
const HIT: f64 = 0.8;

/// So many lines that begin alike are of one kind.
const MANY: usize = 5;
/// Of a result of what failed: what its last line is worth more than its first, and what a line of what passed is worth.
const END: f64 = 0.6;
const PASSED: f64 = -1.0;

/// The first word of a line that has others.
fn opening_word(line: &str) -> Option<&str> {
    line.split_once(char::is_whitespace).map(|(first, _)| first).filter(|first| says(first))
}

/// What a line begins with where that is no word: a tick, or a word in brackets.
fn sign(line: &str) -> Option<&str> {
    let first = line.split_whitespace().next()?;
    let is_sign = !first.starts_with(char::is_alphanumeric) && !first.ends_with(char::is_alphanumeric);
    is_sign.then_some(first)
}

/// Returns true for a line of a list that leads somewhere: a hit of a search.
fn is_hit(line: &str) -> bool {
    let bare = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | '-' | '*' | '#' | ' '));
    let is_entry = bare.len() < line.len() || line.starts_with('[');
    is_entry && (bare.contains("](") || bare.contains("://"))
}

/// Lines of one result, with what each is worth.
struct RankedLines {
    shapes: Vec<String>,
    scores: Vec<f64>,
    /// Something of them was spoken of or used afterwards.
    heard: bool,
    is_code: bool,
    are_hits: bool,
    /// The last one may say what all the others come to.
    may_sum_up: bool,
}

/// What a line is worth that opens a block which stands in none, and in one.
const OPENS_BLOCK: [f64; 2] = [1.2, 0.6];
/// What another line of a program has to be spoken of to be worth anything: a single word of it stands everywhere.
const LINE_OF_BLOCK: f64 = 0.6;
/// What a line is worth that says what a change took away.
const REPLACED: f64 = -2.0;
/// What a line is worth that says why a program failed, and what a place says less of it.
const REASON: f64 = 2.0;
const PLACE: f64 = 0.8;

impl RankedLines {
    fn of(
        lines: &[&str],
        blocks: Option<&CodeOutline>,
        stack: &StackLines,
        later: impl Fn(&str) -> bool,
    ) -> RankedLines {
        let hits = lines.iter().filter(|line| is_hit(line)).count();
        let are_hits = hits >= LEAST_HITS && hits * LINES_OF_HIT >= lines.len();
        let shapes: Vec<String> = lines.iter().map(|line| shape(line)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for shape in &shapes {
            *counts.entry(shape).or_default() += 1;
        }
        // Lines that begin with the same word are alike too, whatever names follow.
        let mut openings: HashMap<&str, usize> = HashMap::new();
        lines.iter().filter_map(|line| opening_word(line)).for_each(|word| *openings.entry(word).or_default() += 1);
        let mut heard = false;
        let score = |(at, line): (usize, &&str)| {
            let said: HashSet<&str> = words(prefix(line, 400)).collect();
            let spoken = said.iter().filter(|word| later(word)).count();
            heard |= spoken > 0;
            let alike = counts.get(shapes[at].as_str()).copied().unwrap_or(1);
            let opened = opening_word(line).and_then(|word| openings.get(word)).filter(|count| **count >= MANY);
            let rare = 1.2 / opened.map_or(alike, |opened| alike.max(*opened)) as f64;
            let edge = if at == 0 || at + 1 == lines.len() { 0.4 } else { 0.0 };
            let named = 0.1 * (density(prefix(line, 300)) as f64).sqrt();
            let spoken = spoken as f64 / ((2 + said.len()) as f64).sqrt();
            match blocks {
                Some(blocks) if blocks.only_begins(at) => -1.0,
                // Every line of a program is unlike the others: what a block is called tells what it holds.
                Some(blocks) => {
                    let named = blocks.opens(at).and_then(|depth| OPENS_BLOCK.get(depth)).copied();
                    named.map_or_else(|| spoken - LINE_OF_BLOCK, |named| spoken + named)
                }
                // Of a search, what it found and where; a line of what is there stands without its beginning.
                None if are_hits && !is_hit(line) && spoken == 0.0 => -1.0,
                None if are_hits => spoken + if is_hit(line) { HIT } else { 0.0 },
                None if stack.reasons.contains(&at) => spoken + REASON,
                None if stack.places.contains(&at) => (spoken + rare + named - PLACE).max(0.0),
                None => spoken + rare + named + edge,
            }
        };
        let mut scores: Vec<f64> = lines.iter().enumerate().map(score).collect();
        // The names of a table's columns say nothing without one of its rows.
        if let [head, first, ..] = lines
            && head.contains(values::COLUMN)
            && head.matches(values::COLUMN).count() == first.matches(values::COLUMN).count()
        {
            let best = scores[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            scores[0] = scores[0].min(best - f64::EPSILON.sqrt());
        }
        let may_sum_up = lines.len().checked_sub(1).is_none_or(|last| !stack.places.contains(&last));
        RankedLines { shapes, scores, heard, is_code: blocks.is_some(), are_hits, may_sum_up }
    }

    /// Of a change what came is the file now: what went is told only where there is nothing else.
    fn pass_over_replaced(&mut self, lines: &[&str]) {
        let replaced = self.scores.iter_mut().zip(lines).filter(|(_, line)| is_replaced(line));
        replaced.for_each(|(score, _)| *score = REPLACED);
    }

    /// Of what failed, the end says why. Where lines begin with several signs, as ticks and crosses, those with the most
    /// frequent one are what passed, and are told only where there is nothing else.
    fn favour_the_end(&mut self, lines: &[&str]) {
        let mut signs: HashMap<&str, usize> = HashMap::new();
        lines.iter().filter_map(|line| sign(line)).for_each(|sign| *signs.entry(sign).or_default() += 1);
        let most = signs.iter().max_by_key(|(sign, count)| (**count, **sign)).filter(|(_, count)| **count >= MANY);
        let passed = most.map(|(sign, _)| *sign).filter(|_| signs.len() > 1);
        for (at, (score, line)) in self.scores.iter_mut().zip(lines).enumerate() {
            let has_passed = passed.is_some() && sign(line) == passed;
            *score = if has_passed { PASSED } else { *score + END * (at + 1) as f64 / lines.len() as f64 };
        }
    }

    /// Tells these lines only where there is nothing else: they stand in most results of the tool.
    fn pass_over(&mut self, recurs: impl Fn(usize) -> bool) {
        for (at, score) in self.scores.iter_mut().enumerate() {
            *score = if recurs(at) { score.min(-1.0) } else { *score };
        }
        let last = self.scores.len().checked_sub(1);
        self.may_sum_up &= last.is_none_or(|last| !recurs(last));
    }

    /// The best lines in their order, with the gaps marked; of what failed the last one in any case, and one that looks like
    /// no other: it sums them up.
    fn told(&self, lines: &[&str], room: usize, failed: bool, later: impl Fn(&str) -> bool) -> String {
        // What a program says of the lines that it quotes stands for them.
        let quotes = Quotes::of(lines);
        let mut order: Vec<usize> =
            (0..lines.len()).filter(|at| !quotes.holds(lines[*at]) && lines[*at] != GAP).collect();
        order.sort_by(|one, other| self.scores[*other].total_cmp(&self.scores[*one]).then(one.cmp(other)));
        if order.iter().any(|at| self.scores[*at] > 0.0) {
            order.retain(|at| self.scores[*at] >= 0.0);
        }
        let (mut kept, mut used, mut alike) = (HashSet::new(), 0, HashMap::new());
        // Of a few lines the first says what the others are, be it with its beginning.
        if (2..=FEW).contains(&lines.len()) && self.scores[0] > REPLACED {
            order.retain(|at| *at > 0);
            order.insert(0, 0);
        }
        let (last, others) = lines.split_last().map_or(("", &lines[..0]), |(last, others)| (*last, others));
        let sums_up = !self.is_code && says(last) && others.iter().all(|line| form(line) != form(last));
        if (failed || sums_up) && self.may_sum_up && lines.len() > FEW {
            order.retain(|at| at + 1 < lines.len());
            order.insert(0, lines.len() - 1);
        }
        for at in order {
            let cost = size(lines[at]).min(if at == 0 && lines.len() <= FEW { OPENING } else { LINE });
            let same: &mut usize = alike.entry(self.shapes[at].as_str()).or_default();
            if *same >= ALIKE && !self.are_hits || !kept.is_empty() && used + cost > room {
                continue;
            }
            *same += 1;
            kept.insert(at);
            used += cost;
            if used * 10 >= room * 9 {
                break;
            }
        }
        joined(lines, &kept, LINE.min(room.max(60)), later)
    }
}

fn joined(lines: &[&str], kept: &HashSet<usize>, longest: usize, later: impl Fn(&str) -> bool) -> String {
    let mut told = String::new();
    let mut next = 0;
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| kept.contains(at)) {
        match (told.is_empty(), at > next) {
            (true, true) => told.push_str("[…] "),
            // Lines that were not neighbours never read as one.
            (false, true) => told.push_str(" […]\n"),
            (false, false) => told.push('\n'),
            (true, false) => {}
        }
        let is_opening = at == 0 && lines.len() > 1 && lines.len() <= FEW && size(line) > OPENING;
        told.push_str(&match is_opening {
            true => shortened(line, OPENING, 0),
            false => around_what_was_heard(line, longest, &later),
        });
        next = at + 1;
    }
    if next < lines.len() {
        told.push_str(" […]");
    }
    one_gap(told)
}

/// A long line by the part that was spoken of later.
fn around_what_was_heard(line: &str, longest: usize, later: impl Fn(&str) -> bool) -> String {
    if size(line) <= longest {
        return line.to_owned();
    }
    let base = line.as_ptr() as usize;
    let heard = words(line).find(|word| later(word)).map_or(0, |word| word.as_ptr() as usize - base);
    let reach = suffix(&line[..heard], 60);
    let start = if reach.len() < heard { whole_words_behind(reach) } else { reach };
    let from = heard - start.len();
    let part = prefix(&line[from..], longest);
    let ends = from + part.len() < line.len();
    let part = if ends { whole_words_before(part) } else { part };
    let (before, behind) = (if from > 0 { "[…] " } else { "" }, if ends { " […]" } else { "" });
    format!("{before}{}{behind}", part.trim())
}

/// How many lines the file has that a result shows: where lines are numbered, what is not is a wrapper's.
pub(super) fn lines_of_file(text: &str) -> usize {
    let all = text.lines().count();
    let numbered = text.lines().filter(|line| is_numbered(line)).count();
    if numbered * 2 > all { numbered } else { all }
}

/// Writes how many lines there are, with the line at the beginning that says which of how many these are, or the one in brackets
/// at the end that names a greater number: a tool says so that it has shown a part.
pub(super) fn lines_shown(lines: usize, text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if let Some(told) = lines_of_part(first).filter(|told| (*told..=*told + AROUND_LINES).contains(&lines)) {
        return format!("{}{WITH_NOTICE}{first}", counted(told, "line"));
    }
    let text = text.trim_end();
    let last = text.lines().next_back().unwrap_or_default();
    if !is_framed(last.trim()) || size(last.trim()) > NOTICE {
        return counted(lines, "line");
    }
    let file = lines.min(lines_of_file(text[..text.len() - last.len()].trim_end()));
    let numbers: Vec<usize> =
        last.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<usize>().ok()).collect();
    match numbers.iter().max() {
        Some(number) if *number > file => format!("{}{WITH_NOTICE}{}", counted(file, "line"), last.trim()),
        // It says how many lines there are.
        Some(number) if *number == file => counted(file, "line"),
        _ => counted(lines, "line"),
    }
}

/// How many lines a notice says that it shows: those from one to another, of no fewer.
fn lines_of_part(notice: &str) -> Option<usize> {
    if size(notice) > NOTICE {
        return None;
    }
    let numbers = notice.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<usize>().ok());
    let numbers: Vec<usize> = numbers.collect();
    match *numbers.as_slice() {
        [from, to, all] if 0 < from && from < to && to <= all => Some(to - from + 1),
        _ => None,
    }
}

/// Returns true if nothing is told of a result but how many lines it has.
pub(super) fn is_line_count(told: &str) -> bool {
    let count = told.split_once(WITH_NOTICE).map_or(told, |(count, _)| count);
    count.strip_suffix(" lines").is_some_and(|count| count.parse::<usize>().is_ok())
}

/// What a harness puts behind a tool's result.
const REMINDER: &str = "<system-reminder>";
const REMINDER_END: &str = "</system-reminder>";

/// The text of a result without the harness's reminders behind it, with a mark for each picture.
pub(super) fn shown(result: &ToolResult) -> String {
    let media = result.content.iter().filter(|block| block.is_media()).count();
    let mut text = without_escapes(result.plain_text());
    while let Some(end) = text.trim_end().strip_suffix(REMINDER_END) {
        let Some(begin) = end.rfind(REMINDER) else { break };
        text.truncate(begin);
        text.truncate(text.trim_end().len());
    }
    for _ in 0..media.min(8) {
        text.push_str(if text.is_empty() { "[image]" } else { "\n[image]" });
    }
    text
}

/// What the user said where a result of this tool stands: why the call was refused, or the answer to a question.
pub(super) fn users_reply(call: &ToolCall, result: &ToolResult) -> Option<String> {
    let told = |reply: Reply| match reply.question {
        Some(question) => format!("{question} {}", reply.said),
        None => reply.said,
    };
    let said: Vec<String> = replies(&call.name, result).into_iter().map(told).collect();
    if !said.is_empty() {
        return Some(said.join("\n"));
    }
    // What repeats the question is the tool's; the answer is still to come. Where the call carries no question, what of the
    // result is the user's does not show.
    let asks = asks_user(&call.name) && fields(call).iter().any(|(_, value)| says(value));
    asks.then(|| shown(result)).filter(|said| !repeats_question(call, said))
}

/// Returns true if a text holds the longest of the call's texts word for word.
fn repeats_question(call: &ToolCall, said: &str) -> bool {
    let question = fields(call).into_iter().map(|(_, value)| value).max_by_key(|value| value.len());
    question.is_some_and(|question| question.len() >= SHORTEST_QUESTION && said.contains(question.trim()))
}

fn asks_user(tool: &str) -> bool {
    let name = tool.to_ascii_lowercase();
    name.split(['_', '-', '.']).any(|part| ASKING.contains(&part)) || name.starts_with("askuser")
}

#[cfg(test)]
mod tests;
