//! Turns of a program that measures.

use std::path::Path;

use anyhow::Result;

/// One turn of a program.
pub(crate) trait Benchmark {
    /// Runs it on files in `dir`, and returns what it did.
    fn run(&self, dir: &Path) -> Result<Turn>;
}

/// Work that a program did in its turn.
pub(crate) struct Turn {
    /// Amounts a second, by name.
    pub(crate) figures: Vec<(String, f64)>,
    /// Bytes that it read or wrote, where it reports them, and the name of their number by the CPU
    /// time of the process that serves the place.
    pub(crate) bytes: Option<(String, f64)>,
}

impl Turn {
    /// A turn of which only figures are known.
    pub(crate) fn of(figures: Vec<(String, f64)>) -> Self {
        Self { figures, bytes: None }
    }
}
