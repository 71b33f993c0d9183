#![forbid(unsafe_code)]
//! The binary `sealstone`: passes its arguments to the library of this crate and exits with its
//! exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    sealstone_cli::run(std::env::args_os())
}
