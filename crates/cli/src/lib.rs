#![forbid(unsafe_code)]
//! The command line: parses, calls the libraries, prints. Data goes to stdout, talk to stderr.
//!
//! Not here: how anything is done. Ciphers, keys, seals, the engine, measurement and the report are
//! libraries, and a user of those libraries can do all that this binary does.

#[cfg(any(feature = "volume", feature = "wire"))]
mod age;
mod anchor;
mod audit;
mod audit_log;
#[cfg(any(feature = "volume", feature = "wire"))]
mod background;
mod bytes;
mod ciphers;
mod compare;
mod confirm;
mod count;
#[cfg(feature = "gpu")]
mod devices;
mod directory_kind;
mod end_request;
mod field;
mod flags;
mod free_name;
mod host;
mod interrupt;
mod key_source;
mod keys;
#[cfg(feature = "lab")]
mod lab;
mod listing;
mod manual;
mod message;
mod own_workloads;
mod path;
mod places;
mod progress;
mod records;
mod report;
mod reseal;
mod rest;
mod retirement;
mod sealed_server;
mod secret_words;
mod settings;
mod shell;
mod speed;
mod standing;
mod status;
mod stores;
mod suggest;
mod table;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod table_server;
mod terminal;
mod unseal;
#[cfg(feature = "volume")]
mod volume;
#[cfg(feature = "wire")]
mod wire;
mod workloads;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use sealstone_message::SettingName;
use sealstone_rocksdb::library;

use crate::flags::{Command, Sealstone};
use crate::message::Answer;

/// The definition of every command and flag, from which help, completions and manual pages are
/// made.
pub fn definition() -> clap::Command {
    flags::definition()
}

/// Runs the command line `arguments` (the program's name first) and returns the exit code: 0 done,
/// 1 a negative answer (damage found), 2 an error, 3 no answer either way, 130 ended by Ctrl-C
/// before it was done.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    secret_words::remember(&arguments);
    SettingName::write_as_flags();
    match shell::complete(&arguments) {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => return message::exit_code(Err(error)),
    }
    let engine = format!("RocksDB {}, {}", library::version(), library::build());
    let versioned = definition().version(format!("{} ({engine})", env!("CARGO_PKG_VERSION")));
    let parsed = versioned
        .try_get_matches_from(&arguments)
        .and_then(|found| Sealstone::from_arg_matches(&found));
    let outcome = match parsed {
        Ok(parsed) => operate(parsed),
        Err(error) => message::usage(&suggest::suggesting(error, definition(), &arguments)),
    };
    message::exit_code(outcome)
}

/// Runs a command, and writes it to the audit log if there is one.
fn operate(Sealstone { command, audit_log }: Sealstone) -> anyhow::Result<Answer> {
    audit_log::begin(audit_log.as_deref(), &command)?;
    let outcome = dispatch(command);
    match (audit_log::end(message::result(&outcome)), outcome) {
        (Ok(()), outcome) => outcome,
        (Err(unwritten), Ok(_)) => Err(unwritten),
        // both are said, the reason for the failure last
        (Err(unwritten), Err(error)) => Err(error.context(format!("{unwritten:#}"))),
    }
}

fn dispatch(command: Command) -> anyhow::Result<Answer> {
    match command {
        Command::Compare(flags) => compare::run(&flags),
        Command::Report(flags) => report::run(&flags),
        Command::Ciphers(flags) => ciphers::run(&flags),
        Command::Workloads(flags) => workloads::run(&flags),
        Command::Keys(command) => keys::run(&command),
        Command::Audit(flags) => audit::run(&flags),
        Command::Status(flags) => status::run(&flags),
        Command::Rest(command) => rest::run(&command),
        Command::Field(command) => field::run(&command),
        Command::SealedServer(command) => sealed_server::run(&command),
        #[cfg(feature = "lab")]
        Command::Lab(command) => lab::run(&command),
        #[cfg(feature = "wire")]
        Command::Wire(command) => wire::run(&command),
        #[cfg(feature = "volume")]
        Command::Volume(command) => volume::run(&command),
        Command::Completions(flags) => shell::completions(&flags),
        Command::Man(flags) => shell::manual(&flags),
    }
}
