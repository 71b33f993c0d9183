//! Programs that are run to their end.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a program, and returns what it prints.
///
/// # Errors
/// It does not start, or fails; then with what it said.
pub fn output(command: &mut Command) -> Result<String> {
    let words = format!("{command:?}");
    let output = command.output().with_context(|| format!("run {words}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let failed = String::from_utf8_lossy(&output.stderr);
        bail!("{words}: {}\n{said}{failed}", output.status);
    }
    Ok(said)
}

/// Runs a program with arguments, and returns what it prints.
///
/// # Errors
/// As [`output`].
pub fn run(program: &str, arguments: &[&str]) -> Result<String> {
    output(Command::new(program).args(arguments))
}

/// Returns the number in `text` that follows the last `before`.
///
/// # Errors
/// There is none.
pub fn number_after(text: &str, before: &str) -> Result<f64> {
    let (_, rest) = text.rsplit_once(before).with_context(|| format!("no {before:?} in {text}"))?;
    let digits = rest.trim_start();
    let end = digits.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(digits.len());
    digits[..end].parse().with_context(|| format!("no number after {before:?} in {text}"))
}
