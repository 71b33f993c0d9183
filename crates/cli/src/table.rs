//! Text tables: columns as wide as their widest cell, the last wrapped at the width of the
//! terminal. Widths are a terminal's: a syllable of Hangul takes two columns.

use unicode_width::UnicodeWidthStr;

use sealstone_message::printable;

use crate::terminal::Style;

const GAP: &str = "  ";

/// A table under construction.
#[derive(Debug)]
pub(crate) struct Table {
    /// Heading, and whether the column's cells are aligned to the right (numbers).
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns an empty table; a heading that begins with `>` is aligned to the right, as are its
    /// cells.
    pub(crate) fn new(headings: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let column = |heading: &str| match heading.strip_prefix('>') {
            Some(heading) => (heading.to_string(), true),
            None => (heading.to_string(), false),
        };
        Self {
            columns: headings.into_iter().map(|heading| column(heading.as_ref())).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: one cell a column. Characters of a cell with a special meaning for a terminal
    /// are escaped, so that its width is the visible width.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<String> =
            cells.into_iter().map(|cell| printable(&cell.into()).into_owned()).collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// Returns the text, each line ended by a newline and none longer than `style` has columns,
    /// unless the columns before the last fill it already.
    pub(crate) fn render(&self, style: Style) -> String {
        let last = self.columns.len() - 1;
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].width());
            cells.chain([self.columns[column].0.width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..=last).map(width).collect();
        let before: usize = widths[..last].iter().map(|width| width + GAP.len()).sum();
        widths[last] = widths[last].min(style.columns().saturating_sub(before).max(8));
        let headings = self.columns.iter().map(|(heading, _)| heading.clone()).collect::<Vec<_>>();
        let mut text = String::new();
        for line in self.lines(&headings, &widths) {
            text.push_str(&style.strong(&line));
            text.push('\n');
        }
        for row in &self.rows {
            for line in self.lines(row, &widths) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }

    fn lines(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let last = widths.len() - 1;
        let wrapped = wrap(&cells[last], widths[last]);
        let mut lines = Vec::with_capacity(wrapped.len());
        for (index, end) in wrapped.iter().enumerate() {
            let mut line = String::new();
            for column in 0..last {
                let cell = if index == 0 { cells[column].as_str() } else { "" };
                let width = widths[column];
                line.push_str(&padded(cell, width, self.columns[column].1));
                line.push_str(GAP);
            }
            let width = widths[last];
            line.push_str(&if self.columns[last].1 {
                padded(end, width, true)
            } else {
                end.clone()
            });
            lines.push(line.trim_end().to_string());
        }
        lines
    }
}

/// Returns `cell` with spaces up to `width` columns of the terminal, before it where it is aligned
/// to the right.
fn padded(cell: &str, width: usize, to_the_right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(cell.width()));
    if to_the_right { spaces + cell } else { format!("{cell}{spaces}") }
}

/// Breaks `text` between words into lines of at most `width` columns; a longer word has a line to
/// itself. At least one line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        let used = line.width();
        if used > 0 && used + 1 + word.width() > width {
            lines.push(word.to_string());
        } else {
            if used > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_wraps() {
        let mut table = Table::new(["NAME", ">SIZE", "REMARK"]);
        table.row(["a", "1", &"word ".repeat(20)]);
        table.row(["longer", "100", "short"]);
        let text = table.render(Style::plain(80));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "NAME    SIZE  REMARK");
        assert!(lines[1].starts_with("a          1  word word"));
        assert!(lines[2].starts_with("              word"));
        assert_eq!(*lines.last().unwrap(), "longer   100  short");
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        let wide = table.render(Style::plain(150));
        assert_eq!(wide.lines().count(), 3, "a wide terminal needs no second line: {wide}");
        assert!(table.render(Style::plain(50)).lines().all(|line| line.chars().count() <= 50));
    }

    #[test]
    fn hangul_takes_two_columns_a_syllable() {
        let mut table = Table::new(["COLUMN", ">FIT", "METHOD"]);
        table.row(["이름", "2", "ff1:hangul"]);
        table.row(["주민등록번호", "10", "ff1:rrn"]);
        table.row(["phone", "3", "ff1:phone"]);
        let text = table.render(Style::plain(80));
        // where each column begins, as a terminal shows it
        let starts = |line: &str, cell: &str| line[..line.find(cell).unwrap()].width();
        let found: Vec<usize> = text.lines().skip(1).map(|line| starts(line, "ff1:")).collect();
        assert_eq!(found, [19, 19, 19], "{text}");
        assert_eq!(starts(text.lines().next().unwrap(), "METHOD"), 19, "{text}");
        let narrow = wrap("가나다 라마바 사아자", 13);
        assert_eq!(narrow, ["가나다 라마바", "사아자"]);
    }

    #[test]
    fn wrapping_loses_no_word() {
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable x", 3), ["unbreakable", "x"]);
    }
}
