//! Counts of things that a machine holds, such as threads, from the command line.

use sealstone_bench::words::parse_count;

/// Reads a count of things that a machine holds.
///
/// # Errors
/// As [`parse_count`]; a number that is too large.
pub(crate) fn parse_small(text: &str) -> Result<usize, String> {
    usize::try_from(parse_count(text)?).map_err(|_| "expected a smaller number".to_string())
}
