//! Where a program failed, as its runtime prints it: a row of places in files, with what went wrong before it or behind it.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::super::code_outline::indent;
use super::super::quote::says;

/// A place in a file: its name with an ending, and the number of a line.
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"[^\s:]\.[A-Za-z]\w{0,7}["'`]?(?::|\(|, line |:line | on line )\d+"#).ok());
/// Fewer places are no row.
const LEAST_PLACES: usize = 2;
/// Lines of a file that may stand below a place.
const MOST_LINES: usize = 6;

/// The rows of places of one result.
#[derive(Debug, Default)]
pub(super) struct StackLines {
    /// Places, and what stands below them of their files.
    pub places: HashSet<usize>,
    /// Lines right before or behind such a row, which say what went wrong.
    pub reasons: HashSet<usize>,
}

impl StackLines {
    /// Finds the rows among lines with their indentation. A search prints places too, but nothing of theirs stands further
    /// in than what stands around them.
    pub fn of(lines: &[&str]) -> StackLines {
        let mut found = StackLines::default();
        let mut at = 0;
        while at < lines.len() {
            let row = is_place(lines[at]).then(|| row(lines, at)).flatten();
            let Some(end) = row else {
                at += 1;
                continue;
            };
            let before = at.checked_sub(1).filter(|before| tells_reason(lines[*before], lines[at]));
            let behind = Some(end).filter(|end| lines.get(*end).is_some_and(|line| tells_reason(line, lines[at])));
            found.reasons.extend(before.into_iter().chain(behind));
            found.places.extend(at..end);
            at = end;
        }
        found
    }
}

fn is_place(line: &str) -> bool {
    PLACE.as_ref().is_some_and(|place| place.is_match(line))
}

/// What stands above the row only announces it where it ends with a colon.
fn tells_reason(line: &str, place: &str) -> bool {
    says(line) && !line.trim_end().ends_with(':') && indent(line) <= indent(place)
}

/// The end of the row of places that begins here; `None` where it is none.
fn row(lines: &[&str], from: usize) -> Option<usize> {
    let margin = indent(lines[from]);
    let (mut at, mut places, mut has_depth) = (from, 0, from > 0 && indent(lines[from - 1]) < margin);
    while at < lines.len() && is_place(lines[at]) && indent(lines[at]) == margin {
        places += 1;
        at += 1;
        let below = lines[at..].iter().take(MOST_LINES).take_while(|line| indent(line) > margin || !says(line)).count();
        has_depth |= below > 0;
        at += below;
    }
    (places >= LEAST_PLACES && has_depth).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(text: &str) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let mut found: Vec<usize> = StackLines::of(&lines).reasons.into_iter().collect();
        found.sort_unstable();
        found.into_iter().map(|at| lines[at].trim().to_owned()).collect()
    }

    #[test]
    fn what_went_wrong_stands_beside_the_places() {
        let python = "Traceback (most recent call last):\n  File \"/a/app.py\", line 9, in <module>\n    main()\n  File \"/a/db.py\", line 41, in main\n    raise KeyError(key)\n    ^^^^^^^^\nKeyError: 'kunde'\nFertig.";
        assert_eq!(reasons(python), ["KeyError: 'kunde'"]);
        let pytest = "E   collected\n/usr/lib/python3/importlib/__init__.py:90: in import_module\n    return x\ntests/test_app.py:9: in <module>\n    from app import Domain\nE   ModuleNotFoundError: No module named 'app'";
        assert!(reasons(pytest).contains(&"E   ModuleNotFoundError: No module named 'app'".to_owned()));
        let node = "TypeError: Cannot read properties of undefined\n    at run (/srv/a.js:10:5)\n    at main (/srv/b.js:4:1)\nNode.js v22.1.0";
        assert_eq!(reasons(node)[0], "TypeError: Cannot read properties of undefined");
        let java = "Exception in thread \"main\" java.lang.IllegalStateException: leer\n\tat a.B.c(B.java:12)\n\tat a.D.main(D.java:3)";
        assert_eq!(reasons(java), ["Exception in thread \"main\" java.lang.IllegalStateException: leer"]);
    }

    #[test]
    fn hits_of_a_search_are_no_row_of_places() {
        assert!(
            reasons("Found 3\nsrc/a.rs:10: let a = 1;\nsrc/a.rs:12: let b = 2;\nsrc/b.rs:3: let c;\nDone").is_empty()
        );
    }
}
