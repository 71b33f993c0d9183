#![forbid(unsafe_code)]
//! The binary `sealstone`: hands its arguments to the library of this crate and ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    sealstone_cli::run(std::env::args_os())
}
