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
        let indents: Vec<usize> = lines.iter().map(|line| indent(line)).collect();
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

    /// The names of a program's blocks, in their order: of the outer ones, and of those within where there are hardly any outer
    /// ones. What is still to be done is told by its line.
    pub fn names<'a>(&self, lines: &[&'a str]) -> Vec<&'a str> {
        let outer = (0..lines.len()).filter(|at| self.opens(*at) == Some(0)).count();
        let most = usize::from(outer < FEW_BLOCKS);
        let mut names: Vec<&str> = Vec::new();
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| self.opens(*at).is_some_and(|depth| depth <= most))
        {
            let opens = lines.get(at + 1).is_some_and(|next| indent(next) > indent(line));
            let name = if opens { name_of(line.trim()) } else { Some(line.trim()) };
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names
    }

    /// Returns true for a line at the beginning of the file that begins as its first one does, as imports do.
    pub fn only_begins(&self, line: usize) -> bool {
        line < self.leading
    }
}

/// Fewer outer blocks than this do not say what a file holds.
const FEW_BLOCKS: usize = 3;
/// Words of a line that is a name as it stands.
const MOST_WORDS: usize = 5;

pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name that a block's first line gives it: what stands directly before its brackets, or before the sign that gives it its
/// value, or all of a line that has neither.
fn name_of(line: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ':' | '#');
    let is_name = |name: &&str| name.chars().filter(|c| c.is_alphabetic()).count() > 2;
    if line.starts_with(['}', ')', ']']) {
        return None;
    }
    let before = |end: usize| {
        let text = line.get(..end).unwrap_or_default();
        text.get(text.trim_end_matches(is_part).len()..)
    };
    let bracket = line.find('(');
    let value =
        line.find('=').filter(|at| !line[*at..].starts_with("==") && bracket.is_none_or(|bracket| *at < bracket));
    if let Some(at) = value {
        let named = line[..at].split(':').next().unwrap_or_default().trim_end();
        return before(named.len()).filter(is_name);
    }
    if let Some(at) = bracket {
        let direct = before(at).filter(is_name);
        // What a method belongs to may stand in brackets before its name.
        let behind = || {
            let next = at + line.get(at..)?.find(") ")? + 2;
            let end = next + line.get(next..)?.find('(')?;
            line.get(next..end).filter(|name| name.chars().all(is_part)).filter(is_name)
        };
        return direct.or_else(behind);
    }
    let plain = line.trim_end_matches(['{', ':', '[', ' ']);
    let is_short = plain.split_whitespace().count() <= MOST_WORDS && plain.ends_with(|c: char| is_part(c) || c == '>');
    Some(plain).filter(|_| is_short).filter(is_name)
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

/// Lines before the ones with which a file begins to say what it makes use of: what it belongs to, and a mark of its kind.
const BEFORE_LEADING: usize = 2;

/// How many lines at the beginning only say what the file makes use of: those that begin with the same word, and the one or two
/// before them. One may open a block only where the line that closes it goes on, as that of a list of names to import does: else
/// it is what the file is about.
fn leading(lines: &[&str], indents: &[usize]) -> usize {
    let is_outermost = |start: &usize| indents[*start] == indents[0];
    let mut starts = (0..=BEFORE_LEADING).take_while(is_outermost);
    starts.find_map(|start| run_of_one_word(lines, indents, start)).unwrap_or(0)
}

/// Where the lines end that begin with the same word as this one. `None`: it is the only one.
fn run_of_one_word(lines: &[&str], indents: &[usize], start: usize) -> Option<usize> {
    let first = |at: usize| lines.get(at).and_then(|line| line.split_whitespace().next());
    let (mut at, mut same) = (start, 0);
    while at < lines.len() && first(at) == first(start) {
        let next = (at + 1..lines.len()).find(|next| indents[*next] <= indents[at]).unwrap_or(lines.len());
        if next > at + 1
            && lines.get(next).is_none_or(|line| closes(line) || !line.trim_start().starts_with(['}', ')']))
        {
            break;
        }
        same += 1;
        at = if next > at + 1 { next + 1 } else { next };
    }
    (same > 1).then_some(at)
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
    fn blocks_are_named_in_any_language() {
        let named = |text: &str| {
            let lines = lines(text);
            CodeOutline::of(&lines).unwrap().names(&lines).join(", ")
        };
        let python = "import os\nimport sys\n\nTABLE = {\n    1: 2,\n}\n\nclass Pool(Base):\n    def take(self, n):\n        return n\n\ndef main(argv):\n    return Pool().take(1)\n\nif __name__ == \"__main__\":\n    main([])\n";
        assert_eq!(named(python), "TABLE, Pool, main");
        let typescript = "import a from 'a';\nimport b from 'b';\n\nexport const Card = ({ id }: Props) => {\n  useEffect(() => {\n    a(id);\n  }, []);\n  if (id) {\n    b();\n  }\n};\nexport interface Props {\n  id: string;\n}\n";
        assert_eq!(named(typescript), "Card, export interface Props");
        let go = "package a\n\nimport \"b\"\n\nfunc (r *Repo) Save(ctx context.Context) error {\n\tr.lock()\n\treturn nil\n}\n\nfunc New() *Repo {\n\tlog()\n\treturn &Repo{}\n}\n\ntype Repo struct {\n\tdb int\n}\n";
        assert_eq!(named(go), "Save, New, type Repo struct");
        let java = "package a;\n\npublic class Shop extends Base {\n    private int a;\n    public int open(String name) {\n        return 1;\n    }\n    void close() {\n        a = 2;\n    }\n}\n";
        assert_eq!(named(java), "public class Shop extends Base, open, close");
        let entity = "package a.b;\n\nimport lombok.Data;\nimport java.time.LocalTime;\n\n@Data\npublic class Note {\n    private String text;\n    private LocalTime at;\n    private Kind kind;\n}\nenum Kind {\n    ONE,\n    TWO,\n}\n";
        assert_eq!(named(entity), "public class Note, enum Kind");
        let stub = "import re\nimport os\n\ndef check(page):\n    issues = []\n    # TODO: the crawler is missing\n    return issues\n\ndef main():\n    return check(1)\n";
        assert_eq!(named(stub), "check, # TODO: the crawler is missing, main");
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
