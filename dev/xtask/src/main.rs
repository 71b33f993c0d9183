#![forbid(unsafe_code)]
//! Chores of this repository: `tidy` checks the house rules, `check` also formatting and lints, and
//! builds; `test` then runs every test and counts them, or runs and counts those of the programs
//! that it is given alone; `licences` collects those of what a release has linked in, and `sbom`
//! completes a list of its parts.

mod circles;
mod citation;
mod dependencies;
mod embedder;
mod files;
mod licences;
mod messages;
mod module_code;
mod module_graph;
mod openers;
mod packages;
mod paths;
mod programs;
mod sbom;
mod source;
mod suite;
mod tally;
mod tidy;
mod tokens;
mod unused;
mod versions;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(),
        ["check"] => suite::check(),
        ["test", names @ ..] => suite::run(names),
        ["licences", artefact, file, given @ ..] => licences::run(artefact, file, given),
        ["sbom", file, others @ ..] => sbom::run(file, others),
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy|check|test [PROGRAM]...");
            eprintln!(
                "       cargo run -p xtask -- licences tarball|deb|wheel FILE [NAME=FILE]..."
            );
            eprintln!("       cargo run -p xtask -- sbom FILE [NAME=VERSION]...");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}
