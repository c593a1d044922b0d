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
}

impl Table {
    /// A name that begins with `>` stands to the right, one with `~` shrinks where the terminal is narrow.
    pub fn new(names: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: name.trim_start_matches(['>', '~']).to_owned(),
            is_right: name.starts_with('>'),
            shrinks: name.starts_with('~'),
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
        let widths = self.widths(columns.unwrap_or(usize::MAX));
        let head: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let lines = std::iter::once(&head).chain(&self.rows).map(|cells| {
            let cell = |((cell, column), width): ((&String, &Column), &usize)| {
                padded(&cut(cell, *width), *width, column.is_right)
            };
            let cells: Vec<String> = cells.iter().zip(&self.columns).zip(&widths).map(cell).collect();
            let line = cells.join(GAP);
            cut(line.trim_end(), columns.unwrap_or(usize::MAX)) + "\n"
        });
        lines.collect()
    }

    fn widths(&self, columns: usize) -> Vec<usize> {
        let widest = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
        let own = |(at, column): (usize, &Column)| widest(at).unwrap_or(0).max(width(&column.name));
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(own).collect();
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
        for (width, _) in widths.iter_mut().zip(&self.columns).rev().filter(|(_, column)| column.shrinks) {
            let less = over.min(width.saturating_sub(LEAST));
            *width -= less;
            over -= less;
        }
        widths
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
}
