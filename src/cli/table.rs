//! Tables for people: columns aligned, and cut where the terminal ends.

use super::text::{cut, padded, visible, width};

const GAP: &str = "  ";
/// A column that shrinks keeps so many columns of the terminal.
const LEAST: usize = 6;

/// Rows under a head.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Debug)]
struct Column {
    name: String,
    is_right: bool,
    shrinks: bool,
    may_go: bool,
}

impl Table {
    /// Marks before a name: `>` stands to the right; where the terminal is narrow, `~` shrinks and `?` goes, the last first.
    pub fn new(names: &[&str]) -> Table {
        let column = |name: &&str| {
            let own = name.trim_start_matches(['>', '~', '?']);
            let has = |mark: char| name.chars().take(name.len() - own.len()).any(|char| char == mark);
            Column { name: own.to_owned(), is_right: has('>'), shrinks: has('~'), may_go: has('?') }
        };
        Table { columns: names.iter().map(column).collect(), rows: Vec::new() }
    }

    /// One cell for each column; they may hold anything.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.columns.len());
        self.rows.push(cells.iter().map(|cell| visible(cell)).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, each with its end; none is wider than `columns`, where that is known.
    pub fn lines(&self, columns: Option<usize>) -> String {
        let columns = columns.unwrap_or(usize::MAX);
        let widths = self.widths(columns);
        let head: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let lines = std::iter::once(&head).chain(&self.rows).map(|cells| {
            let cell = |((cell, column), width): ((&String, &Column), &Option<usize>)| {
                width.map(|width| padded(&cut(cell, width), width, column.is_right))
            };
            let cells: Vec<String> = cells.iter().zip(&self.columns).zip(&widths).filter_map(cell).collect();
            let line = cells.join(GAP);
            cut(line.trim_end(), columns) + "\n"
        });
        lines.collect()
    }

    /// How wide each column is shown, if it is.
    fn widths(&self, columns: usize) -> Vec<Option<usize>> {
        let widest = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
        let own = |(at, column): (usize, &Column)| Some(widest(at).unwrap_or(0).max(width(&column.name)));
        let mut widths: Vec<Option<usize>> = self.columns.iter().enumerate().map(own).collect();
        while self.least(&widths) > columns
            && let Some(at) = (0..widths.len()).rev().find(|at| self.may_go(*at, &widths))
            && let Some(width) = widths.get_mut(at)
        {
            *width = None;
        }
        let all = widths.iter().flatten().map(|width| width + GAP.len()).sum::<usize>().saturating_sub(GAP.len());
        let mut over = all.saturating_sub(columns);
        for (width, _) in widths.iter_mut().zip(&self.columns).rev().filter(|(_, column)| column.shrinks) {
            if let Some(width) = width {
                let less = over.min(width.saturating_sub(LEAST));
                *width -= less;
                over -= less;
            }
        }
        widths
    }

    /// How narrow a line of these columns can be made.
    fn least(&self, widths: &[Option<usize>]) -> usize {
        let least = |(width, column): (&Option<usize>, &Column)| {
            width.map(|width| if column.shrinks { width.min(LEAST) } else { width } + GAP.len())
        };
        widths.iter().zip(&self.columns).filter_map(least).sum::<usize>().saturating_sub(GAP.len())
    }

    fn may_go(&self, at: usize, widths: &[Option<usize>]) -> bool {
        widths.get(at).is_some_and(Option::is_some) && self.columns.get(at).is_some_and(|column| column.may_go)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_cut() {
        let mut table = Table::new(&["ID", ">TOKENS", "~TITLE"]);
        table.row(["a".to_owned(), "7".to_owned(), "\x1b[31mA long title that goes on".to_owned()]);
        table.row(["日本".to_owned(), "123,456".to_owned(), String::new()]);
        assert_eq!(
            table.lines(None),
            "ID     TOKENS  TITLE\na           7  ␛[31mA long title that goes on\n日本  123,456\n"
        );
        assert_eq!(table.lines(Some(24)), "ID     TOKENS  TITLE\na           7  ␛[31mA l…\n日本  123,456\n");
        assert!(table.lines(Some(5)).lines().all(|line| width(line) <= 5));
    }

    #[test]
    fn a_narrow_terminal_loses_whole_columns_and_not_the_names() {
        let mut table = Table::new(&["ID", "?>TOKENS", "?AGE", "~TITLE"]);
        table.row(["abcdefgh".to_owned(), "123,456".to_owned(), "5 s".to_owned(), "A long title".to_owned()]);
        let row = |columns: usize| table.lines(Some(columns)).lines().nth(1).unwrap().to_owned();
        assert_eq!(row(40), "abcdefgh  123,456  5 s  A long title");
        assert_eq!(row(30), "abcdefgh  123,456  5 s  A lon…");
        assert_eq!(row(29), "abcdefgh  123,456  A long ti…");
        assert_eq!(row(20), "abcdefgh  A long ti…");
        assert_eq!(row(9), "abcdefgh…");
    }
}
