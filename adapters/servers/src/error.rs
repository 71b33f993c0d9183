//! Reasons why a lab is not in the requested state, worded for the person who reads them.

use std::path::{Path, PathBuf};

use sealstone_message::{SettingName, Unknown};

/// Reason why a lab is not in the requested state. No message holds a password or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No program to start.
    #[error("no {what} found: looked {looked}\n{step}")]
    NoProgram {
        /// Name of the program, such as `mongod`.
        what: &'static str,
        /// Places where it was searched for.
        looked: String,
        /// Advice on how to name or install one.
        step: &'static str,
    },
    /// No kind of server has that name.
    #[error(transparent)]
    UnknownServer(#[from] Unknown),
    /// A setting that the server cannot take.
    #[error(
        "cannot start {server} with {} {value}: {step}\nsee: sealstone lab up {server} --help",
        SettingName(setting)
    )]
    Setting {
        /// Name of the server.
        server: &'static str,
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// Advice on what would be accepted.
        step: &'static str,
    },
    /// An operation on a file or a process failed.
    #[error("cannot {attempt} {}: {source}\n{step}", path.display())]
    Io {
        /// Operation that was attempted, such as `create directory`.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
        /// Advice on what to do next.
        step: &'static str,
    },
    /// A file of the lab that cannot be read as one.
    #[error("cannot read {}: {found}\n\
             stop what runs in this directory by hand, and choose another one", path.display())]
    BadState {
        /// The file.
        path: PathBuf,
        /// Problem found in it.
        found: String,
    },
    /// The server ended, or did not answer, when it was started.
    #[error("cannot start {server} in {}: {found}\n{}its log is {}",
        dir.display(), lines(said), log.display())]
    Start {
        /// Name of the server: `mongod`, `the key server`.
        server: &'static str,
        /// Directory of the server.
        dir: PathBuf,
        /// Description of how it ended.
        found: String,
        /// Messages from the server, most important first.
        said: Vec<String>,
        /// Its log.
        log: PathBuf,
    },
    /// The server did not end.
    #[error("{server} (process {pid}) in {} did not stop within {limit_s} s\nlook at {}",
        dir.display(), log.display())]
    Stop {
        /// Name of the server: `mongod`, `the key server`.
        server: &'static str,
        /// The process.
        pid: i32,
        /// Directory of the server.
        dir: PathBuf,
        /// Time spent waiting for it, in seconds.
        limit_s: u64,
        /// Its log.
        log: PathBuf,
    },
    /// A command to a server failed.
    #[error("cannot {attempt} on 127.0.0.1:{port}: {found}\nlook at {}", log.display())]
    Command {
        /// Operation that was attempted.
        attempt: &'static str,
        /// Port of the server.
        port: u16,
        /// Problem that was found.
        found: String,
        /// Log of the server.
        log: PathBuf,
    },
    /// A replica set did not reach the requested state in time.
    #[error(
        "the replica set in {} did not {attempt} within {limit_s} s: {found}\n\
         look at the logs in the members' directories",
        dir.display()
    )]
    NotInTime {
        /// Change that was waited for.
        attempt: &'static str,
        /// Directory of the lab.
        dir: PathBuf,
        /// Time spent waiting for it, in seconds.
        limit_s: u64,
        /// State at the end.
        found: String,
    },
    /// A cluster did not reach the requested state in time.
    #[error(
        "the nodes of the cluster in {} did not {attempt} within {limit_s} s\nlook at the logs in \
         their directories",
        dir.display()
    )]
    ClusterNotInTime {
        /// Change that was waited for.
        attempt: &'static str,
        /// Directory of the servers.
        dir: PathBuf,
        /// Time spent waiting for it, in seconds.
        limit_s: u64,
    },
    /// A member ended while the replica set was waited for.
    #[error(
        "member 127.0.0.1:{port} of the replica set in {} ended\n{}its log is {}",
        dir.display(), lines(said),
        log.display()
    )]
    MemberEnded {
        /// Port of the member.
        port: u16,
        /// Directory of the lab.
        dir: PathBuf,
        /// Messages from the server, most important first.
        said: Vec<String>,
        /// Its log.
        log: PathBuf,
    },
    /// Another process works on the same directory.
    #[error("the lab in {} is in use by another process\n\
             wait until it has ended, or choose another directory", dir.display())]
    InUse {
        /// Directory of the lab.
        dir: PathBuf,
    },
    /// The lab runs already.
    #[error("a lab is already running in {}: {pids}\n\
             stop it with: sealstone lab down {}", dir.display(), dir.display())]
    Running {
        /// Directory of the lab.
        dir: PathBuf,
        /// Its processes.
        pids: String,
    },
    /// A lab that has ended was to be started again in another way.
    #[error(
        "the lab in {} is started again as it was, and takes no settings\n\
         leave the flags out, or choose another directory",
        dir.display()
    )]
    AsItWas {
        /// Directory of the lab.
        dir: PathBuf,
    },
    /// The volume of a lab could not be made, mounted or unmounted.
    #[error("cannot {action} the volume of the lab in {}: {said}", dir.display())]
    Volume {
        /// Action of `sealstone volume` that failed.
        action: String,
        /// Directory of the lab.
        dir: PathBuf,
        /// Its message.
        said: String,
    },
    /// A server is to join others on a volume that is not mounted.
    #[error("the volume of the lab in {} is not mounted\nstart what is there first: \
             sealstone lab up --dir {}", dir.display(), dir.display())]
    VolumeDown {
        /// Directory of the lab.
        dir: PathBuf,
    },
    /// A directory with something else in it.
    #[error("{} is not empty and is not a lab\nchoose a new or empty directory", dir.display())]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// A directory without a lab.
    #[error("no lab in {}\nstart one with: sealstone lab up {server} --dir {}",
        dir.display(), dir.display())]
    NoLab {
        /// The directory.
        dir: PathBuf,
        /// Name of the server that could be started there.
        server: &'static str,
    },
    /// As many members as no replica set has.
    #[error(
        "a lab of {nodes} members is not possible\nchoose 1 to {max}: a replica set has no more \
         voting members"
    )]
    Members {
        /// The requested members.
        nodes: usize,
        /// Most that are possible.
        max: usize,
    },
    /// A cache that the server does not take.
    #[error("a cache of {cache_gb} GB is not possible\nchoose {min_gb} to {max_gb}")]
    Cache {
        /// The requested cache, in gigabytes.
        cache_gb: f64,
        /// The least.
        min_gb: f64,
        /// The most.
        max_gb: f64,
    },
}

fn lines(said: &[String]) -> String {
    said.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the processes `pids` in words.
pub(crate) fn processes(pids: &[i32]) -> String {
    pids.iter().map(|pid| format!("process {pid}")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn io(attempt: &'static str, path: &Path, source: std::io::Error) -> LabError {
    let step = "check that the directory exists and is writable";
    LabError::Io { attempt, path: path.to_owned(), source, step }
}
