//! Real servers on this machine, for tests and experiments: single ones, replica sets and a key server beside them, each
//! in a directory of its own, listening on 127.0.0.1 alone, on ports that the system chose.
//!
//! What runs where stands in the directory, so that one process may start a lab and another end it. A signal is sent
//! to a process only after its command line has named the directory.
//!
//! Not here: servers that others run, which are reached by their address ([`MongoDb`](super::MongoDb)).

mod admin;
pub mod certificates;
mod key_server;
mod log;
mod mongod;
mod process;
mod program;
mod replica_set;
mod state;

use std::net::TcpListener;
use std::path::{Path, PathBuf};

pub use key_server::{KeyServer, KeyServerStatus};
pub use mongod::{Mongod, MongodOptions};
pub use program::{cache_directory, find_mongod, find_pykmip};
pub use replica_set::{MemberStatus, ReplicaSet};

/// Why a lab is not as it was wanted. No message holds a password or a key.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No mongod to start.
    #[error(
        "no mongod found: looked in {looked}\n\
         name one with --mongod or in SEALSTONE_MONGOD, or install one for tests with: sh dev/setup.sh mongod"
    )]
    NoProgram {
        /// Where it was looked for.
        looked: String,
    },
    /// No key server to start.
    #[error(
        "no key server (PyKMIP) found: looked in {looked}\n\
         install it with: sh dev/setup.sh kmip; or name a key on a server of your own with --key kmip:..."
    )]
    NoKeyServer {
        /// Where it was looked for.
        looked: String,
    },
    /// A file or a process did not do what was wanted.
    #[error("cannot {attempt} {}: {source}\n{step}", path.display())]
    Io {
        /// What was attempted, such as `create directory`.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// What to do next.
        step: &'static str,
    },
    /// A file of the lab that cannot be read as one.
    #[error("cannot read {}: {found}\nend what runs in this directory by hand, and take another one", path.display())]
    BadState {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// The server ended, or did not answer, when it was started.
    #[error("cannot start {server} in {}: {found}\n{}its log is {}", dir.display(), lines(said), log.display())]
    Start {
        /// What it is: `mongod`, `the key server`.
        server: &'static str,
        /// Directory of the server.
        dir: PathBuf,
        /// How it ended.
        found: String,
        /// What it said, most important first.
        said: Vec<String>,
        /// Its log.
        log: PathBuf,
    },
    /// The server did not end.
    #[error("{server} (process {pid}) in {} did not end within {limit_s} s\nlook at {}", dir.display(), log.display())]
    Stop {
        /// What it is: `mongod`, `the key server`.
        server: &'static str,
        /// The process.
        pid: i32,
        /// Directory of the server.
        dir: PathBuf,
        /// How long it was waited for, in seconds.
        limit_s: u64,
        /// Its log.
        log: PathBuf,
    },
    /// A command to a server failed.
    #[error("cannot {attempt} on 127.0.0.1:{port}: {found}\nlook at {}", log.display())]
    Command {
        /// What was attempted.
        attempt: &'static str,
        /// Port of the server.
        port: u16,
        /// What was found.
        found: String,
        /// Log of the server.
        log: PathBuf,
    },
    /// A replica set did not get where it was wanted in time.
    #[error("the replica set in {} did not {attempt} within {limit_s} s: {found}\nlook at the logs in the members' directories", dir.display())]
    NotInTime {
        /// What was waited for.
        attempt: &'static str,
        /// Directory of the lab.
        dir: PathBuf,
        /// How long it was waited for, in seconds.
        limit_s: u64,
        /// How it stood at the end.
        found: String,
    },
    /// A member ended while the replica set was waited for.
    #[error("member 127.0.0.1:{port} of the replica set in {} ended\n{}its log is {}", dir.display(), lines(said), log.display())]
    MemberEnded {
        /// Port of the member.
        port: u16,
        /// Directory of the lab.
        dir: PathBuf,
        /// What it said, most important first.
        said: Vec<String>,
        /// Its log.
        log: PathBuf,
    },
    /// Another process works on the same directory.
    #[error("the lab in {} is in use by another process\nwait until that has ended, or take another directory", dir.display())]
    InUse {
        /// Directory of the lab.
        dir: PathBuf,
    },
    /// The lab runs already.
    #[error("a lab runs in {} already: {pids}\nend it with: sealstone mongo lab down {}", dir.display(), dir.display())]
    Running {
        /// Directory of the lab.
        dir: PathBuf,
        /// Its processes.
        pids: String,
    },
    /// A directory with something else in it.
    #[error("{} is not empty and no lab\ntake a new or an empty directory", dir.display())]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// A directory without a lab.
    #[error("no lab in {}\nstart one with: sealstone mongo lab up --dir {}", dir.display(), dir.display())]
    NoLab {
        /// The directory.
        dir: PathBuf,
    },
    /// As many members as no replica set has.
    #[error("a lab of {nodes} members is not possible\ntake 1 to {max}: a replica set has no more voting members", max = replica_set::MEMBERS_MAX)]
    Members {
        /// Members wanted.
        nodes: usize,
    },
}

fn lines(said: &[String]) -> String {
    said.iter().map(|line| format!("{line}\n")).collect()
}

/// A port on 127.0.0.1 that nobody has now.
fn free_port() -> Result<u16, LabError> {
    let chosen = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    chosen.map(|address| address.port()).map_err(|error| io("find a free port on", Path::new("127.0.0.1"), error))
}

fn io(attempt: &'static str, path: &Path, source: std::io::Error) -> LabError {
    let step = "see that the directory exists and may be written";
    LabError::Io { attempt, path: path.to_owned(), source, step }
}
