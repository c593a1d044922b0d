//! The text format of a scrape, for what the recorder does not write.

use crate::families::Kind;

/// The two lines that a family begins with.
pub fn head(page: &mut String, name: &str, kind: Kind, help: &str) {
    page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.into_str()));
}

/// A label's value.
pub fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_neither_its_quotes_nor_its_line() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
