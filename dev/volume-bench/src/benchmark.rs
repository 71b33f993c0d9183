//! Turns of a program that measures.

use std::path::Path;

use anyhow::Result;

/// One turn of a program.
pub(crate) trait Benchmark {
    /// Runs it on files in `dir`, and returns what it did a second, by name.
    fn run(&self, dir: &Path) -> Result<Vec<(String, f64)>>;
}
