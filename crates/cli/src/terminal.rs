//! Abilities of the streams of this process: whether they are terminals, their width, and their use
//! of colour.

use std::io::IsTerminal;

use terminal_size::{Width, terminal_size_of};

/// Columns of a line where no terminal reports them, in a pipe or a file: the same everywhere.
const PIPED: usize = 80;

/// Columns that a line has at least, and at most.
const COLUMNS: std::ops::RangeInclusive<usize> = 40..=200;

/// Markup that is allowed for text on one stream, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
    columns: usize,
}

/// Returns the style of stdout.
pub(crate) fn stdout() -> Style {
    let stream = std::io::stdout();
    let columns = terminal_size_of(&stream).map(|(Width(columns), _)| usize::from(columns));
    Style { colour: welcome(stream.is_terminal()), columns: columns.map_or(PIPED, within) }
}

/// Returns the style of a file.
pub(crate) fn file() -> Style {
    Style { colour: false, columns: PIPED }
}

/// Returns `columns` as text can use them; a terminal that reports 0 has no value.
fn within(columns: usize) -> usize {
    if columns == 0 { PIPED } else { columns.clamp(*COLUMNS.start(), *COLUMNS.end()) }
}

/// Returns the style of stderr.
pub(crate) fn stderr() -> Style {
    Style { colour: welcome(std::io::stderr().is_terminal()), columns: PIPED }
}

/// Returns whether to use colour: on terminals that support it, unless the user objects
/// (no-color.org).
fn welcome(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

impl Style {
    /// Returns whether colour may be used.
    pub(crate) fn colour(self) -> bool {
        self.colour
    }

    /// Returns the columns of a line: the terminal's, or 80.
    pub(crate) fn columns(self) -> usize {
        self.columns
    }

    /// Without colour, in lines of `columns`.
    #[cfg(test)]
    pub(crate) fn plain(columns: usize) -> Self {
        Self { colour: false, columns: within(columns) }
    }

    /// Returns `text` in bold.
    pub(crate) fn strong(self, text: &str) -> String {
        if self.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }
}
