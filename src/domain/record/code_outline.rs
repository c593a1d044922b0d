//! The form of a program's text: which of its lines open a block, and which ones only begin the file. A block's first line names
//! what is in it.

use super::quote::size;

/// A shorter text shows no form.
const LEAST_LINES: usize = 6;
/// Of a hundred lines, how many are indented at least, and how many do nothing but close a block.
const INDENTED: usize = 30;
const CLOSING: usize = 5;
/// Blocks whose first line ends with a colon behind brackets, as they are written where nothing closes them.
const LEAST_COLONS: usize = 2;
/// Quarter tokens of a line that may be nothing but a closing mark or tag.
const LONGEST_CLOSING: usize = 16;

/// What lines of a program are to each other.
#[derive(Debug)]
pub(super) struct CodeOutline {
    /// For each line that opens a block, how many blocks it stands in.
    depths: Vec<Option<usize>>,
    /// So many of the first lines begin with the same word: they say what the file makes use of.
    leading: usize,
}

impl CodeOutline {
    /// Reads lines with their indentation, none of them empty. `None`: they are no program's.
    pub fn of(lines: &[&str]) -> Option<CodeOutline> {
        if lines.len() < LEAST_LINES {
            return None;
        }
        let indents: Vec<usize> = lines.iter().map(|line| line.len() - line.trim_start().len()).collect();
        let least = indents.iter().copied().min().unwrap_or_default();
        let indented = indents.iter().filter(|indent| **indent > least).count();
        let closing = lines.iter().filter(|line| closes(line)).count();
        let opens = |at: usize| indents.get(at + 1).is_some_and(|next| *next > indents[at]) && !closes(lines[at]);
        let by_colon = |at: usize| {
            let line = lines[at].trim_end();
            line.ends_with(':') && line.contains('(')
        };
        let colons = (0..lines.len()).filter(|at| opens(*at) && by_colon(*at)).count();
        let is_code = closing * 100 >= lines.len() * CLOSING || colons >= LEAST_COLONS;
        if indented * 100 < lines.len() * INDENTED || !is_code {
            return None;
        }
        let mut around: Vec<usize> = Vec::new();
        let depth = |at: usize| {
            while around.last().is_some_and(|outer| *outer >= indents[at]) {
                around.pop();
            }
            around.push(indents[at]);
            let names_block = opens(at) && names(lines[at], around.len() - 1);
            // What is still to be done counts more than what is there.
            if is_open_point(lines[at]) { Some(0) } else { names_block.then(|| around.len() - 1) }
        };
        let depths = (0..lines.len()).map(depth).collect();
        Some(CodeOutline { leading: leading(lines, &indents), depths })
    }

    /// In how many blocks the block stands that this line opens and names. `None`: it does not.
    pub fn opens(&self, line: usize) -> Option<usize> {
        self.depths.get(line).copied().flatten().filter(|_| !self.only_begins(line))
    }

    /// Returns true for a line at the beginning of the file that begins as its first one does, as imports do.
    pub fn only_begins(&self, line: usize) -> bool {
        line < self.leading
    }
}

/// Words with which editors find what is left to do.
const OPEN_POINTS: [&str; 3] = ["TODO", "FIXME", "XXX"];

fn is_open_point(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|word| OPEN_POINTS.contains(&word))
}

/// Returns true if the first line of a block says more than that one begins: within another block in two words at least.
fn names(line: &str, depth: usize) -> bool {
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= 2).count();
    words > usize::from(depth > 0)
}

/// How many lines at the beginning begin with the same word. One may open a block only where the line that closes it goes on,
/// as that of a list of names to import does: else it is what the file is about.
fn leading(lines: &[&str], indents: &[usize]) -> usize {
    let first = |at: usize| lines.get(at).and_then(|line| line.split_whitespace().next());
    let (mut at, mut same) = (0, 0);
    while at < lines.len() && first(at) == first(0) {
        let next = (at + 1..lines.len()).find(|next| indents[*next] <= indents[at]).unwrap_or(lines.len());
        if next > at + 1
            && lines.get(next).is_none_or(|line| closes(line) || !line.trim_start().starts_with(['}', ')']))
        {
            break;
        }
        same += 1;
        at = if next > at + 1 { next + 1 } else { next };
    }
    if same > 1 { at } else { 0 }
}

/// Returns true for a line that does nothing but close what another one has opened.
fn closes(line: &str) -> bool {
    let line = line.trim();
    let is_tag = line.starts_with("</") && line.ends_with('>');
    let is_mark = !line.is_empty() && line.chars().all(|c| matches!(c, '}' | ')' | ']' | ';' | ',' | '>' | '/'));
    is_mark || line == "end" || is_tag && size(line) <= LONGEST_CLOSING
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.trim().is_empty()).collect()
    }

    fn opening(text: &str) -> Vec<&str> {
        let lines = lines(text);
        let outline = CodeOutline::of(&lines).unwrap();
        (0..lines.len()).filter(|at| outline.opens(*at) == Some(0)).map(|at| lines[at].trim()).collect()
    }

    #[test]
    fn blocks_are_known_by_their_form_in_any_language() {
        let typescript = "import a from 'a';\nimport {\n  b,\n} from 'b';\n\nexport function Card({ id }: Props) {\n  return (\n    <div>\n      {id}\n    </div>\n  );\n}\nconst limit = 3;\n";
        assert_eq!(opening(typescript), ["export function Card({ id }: Props) {"]);
        let python = "import os\nimport sys\n\nclass Pool(Base):\n    def take(self, n):\n        return n\n\ndef main(argv):\n    return Pool().take(1)\n";
        assert_eq!(opening(python), ["class Pool(Base):", "def main(argv):"]);
        let ruby = "require 'a'\nrequire 'b'\nmodule Shop\n  def self.open\n    1\n  end\nend\n";
        assert_eq!(opening(ruby), ["module Shop"]);
        let rust = "use std::fmt;\nuse std::io;\npub fn read(path: &str) -> io::Result<()> {\n    let a = 1;\n    Ok(())\n}\nmod tests {\n    fn one() {}\n}\n";
        assert_eq!(opening(rust), ["pub fn read(path: &str) -> io::Result<()> {", "mod tests {"]);
    }

    #[test]
    fn what_is_left_to_do_is_no_detail() {
        let stub = "import re\nimport os\n\ndef check(page):\n    issues = []\n    # TODO: the crawler does not tell them yet\n    return issues\n\ndef main():\n    return check(1)\n";
        assert_eq!(opening(stub), ["def check(page):", "# TODO: the crawler does not tell them yet", "def main():"]);
    }

    #[test]
    fn other_texts_have_no_blocks() {
        let status = "On branch main\nChanges not staged for commit:\n  modified: a.rs\n  modified: b.rs\nUntracked files:\n  c.rs\n  d.rs\n";
        let log = "12:00 start\n12:01 step one\n12:02 step two\n12:03 step three\n12:04 done\n12:05 end of log\n";
        let yaml = "data:\n- name: a\n  kind: TEXT\n- name: b\n  kind: DATE\n- name: c\n  kind: DATE\n";
        for text in [status, log, yaml, "one\ntwo"] {
            assert!(CodeOutline::of(&lines(text)).is_none(), "{text}");
        }
    }
}
