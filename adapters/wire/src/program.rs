//! Programs that set up networks: `ip` and `tc`.

use std::process::Command;

use crate::error::WireError;

const INSTALL: &str = "if it is missing, install Debian's package iproute2; otherwise see what is \
                       there: ip address show";

/// Runs `program` with `arguments` in the network namespace of the calling thread.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<(), WireError> {
    output(program, arguments).map(drop)
}

/// Runs the program likewise, and returns its output.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String, WireError> {
    let failed = |found: String| {
        let command = format!("{program} {}", arguments.join(" "));
        WireError::Command { command, found, next: INSTALL }
    };
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))),
    }
}
