//! What the streams of this process can show: whether they are terminals, how wide, and whether colour is welcome.

use std::io::IsTerminal;

/// Whether and how text may be marked up on one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

/// Style of stdout.
pub(crate) fn stdout() -> Style {
    Style { colour: welcome(std::io::stdout().is_terminal()) }
}

/// Style of stderr.
pub(crate) fn stderr() -> Style {
    Style { colour: welcome(std::io::stderr().is_terminal()) }
}

/// Colour is for terminals that can, of users who did not object (no-color.org).
fn welcome(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

impl Style {
    /// Whether colour may be used.
    pub(crate) fn colour(self) -> bool {
        self.colour
    }

    /// `text` in bold.
    pub(crate) fn strong(self, text: &str) -> String {
        if self.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }
}
