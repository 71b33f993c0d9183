//! SSDB: starting, awaiting and ending a server. No package has it, so the program is the user's
//! own.

mod log;
mod row;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use sealstone_file::output::{self, Access};
use serde::{Deserialize, Serialize};

use crate::error::io;
use crate::instance::{Instance, ServerKind};
use crate::{LabError, Place, Program, directory};

pub use row::{SERVER, SsdbServer};

/// Program ssdb-server, and how it is found.
pub static PROGRAM: Program = Program {
    what: "ssdb-server",
    flag: "ssdb-server",
    variable: "SEALSTONE_SSDB_SERVER",
    places: &[Place::SearchPath("ssdb-server")],
    works: Path::is_file,
    install: "no package has it: build it from its source, and name it with --ssdb-server or in \
              SEALSTONE_SSDB_SERVER",
};

/// Settings file in the directory of a server, written at each start.
const SETTINGS: &str = "ssdb.conf";
/// The default size of its cache: SSDB's own, in bytes.
const CACHE_BYTES: u64 = 500 << 20;

/// Options with which a server is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SsdbOptions {
    /// The program; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// Size of its cache in bytes; it counts in whole MiB.
    pub cache_bytes: u64,
    /// True if it compresses its tables (Snappy).
    pub compresses: bool,
    /// Time that it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for SsdbOptions {
    fn default() -> Self {
        Self { program: None, cache_bytes: CACHE_BYTES, compresses: true, start_limit_s: 60 }
    }
}

/// An ssdb-server on 127.0.0.1. It ends with the value.
pub type Ssdb = Instance<Kind>;

/// Differences between ssdb-server and other servers.
#[derive(Debug)]
pub struct Kind;

impl ServerKind for Kind {
    type Options = SsdbOptions;
    const NAME: &'static str = "ssdb-server";
    const RECORD: &'static str = "ssdb.toml";
    const LOG: &'static str = "ssdb.log";
    const OUTPUT: &'static str = "ssdb.out";
    const STOP: &'static [Signal] = &[Signal::SIGTERM];
    const STOP_LIMIT: Duration = Duration::from_secs(60);
    const UNABLE: &'static str = "give an ssdb-server that this machine can run";

    fn prepare(dir: &Path) -> Result<(), LabError> {
        directory::make(&Self::data_dir(dir), directory::USUAL)
    }

    fn command(dir: &Path, port: u16, options: &SsdbOptions) -> Result<Command, LabError> {
        let mut command = Command::new(PROGRAM.find(options.program.as_deref())?);
        let settings = Self::mark(dir);
        output::replace(&settings, Access::Private, text(port, options).as_bytes())
            .map_err(|error| io("write", &settings, error))?;
        command.arg(settings);
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        dir.join(SETTINGS)
    }

    fn start_limit(options: &SsdbOptions) -> Duration {
        Duration::from_secs(options.start_limit_s)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log::is_ready(log)
    }

    fn is_port_taken(log: &str, _output: &str) -> bool {
        log::is_port_taken(log)
    }

    fn has_run(dir: &Path) -> bool {
        Self::data_dir(dir).join("data").exists()
    }

    fn said(log: &str, output: &str) -> Vec<String> {
        log::matters(log, output)
    }
}

/// Returns its settings: those of the file that comes with SSDB, but for its directory, its port,
/// its cache and the level of its log. Paths are relative to the file with them, so that no name of
/// a directory has to be quoted. There is no file with its process number: one that is left behind
/// by a killed server would keep the next from starting.
fn text(port: u16, options: &SsdbOptions) -> String {
    let cache_mib = (options.cache_bytes >> 20).max(1);
    let compression = if options.compresses { "yes" } else { "no" };
    format!(
        "work_dir = data\n\
         server:\n\tip: 127.0.0.1\n\tport: {port}\n\
         replication:\n\tbinlog: yes\n\
         logger:\n\tlevel: info\n\toutput: {}\n\
         leveldb:\n\tcache_size: {cache_mib}\n\twrite_buffer_size: 64\n\
         \tcompaction_speed: 1000\n\tcompression: {compression}\n",
        Kind::LOG
    )
}

/// Starts a server in `dir` and waits until it answers.
///
/// # Errors
/// As [`Instance::start`].
pub fn start(dir: &Path, options: SsdbOptions) -> Result<Ssdb, LabError> {
    Instance::start(dir, options)
}

impl Ssdb {
    /// Address for a client.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("ssdb://{}", self.address())
    }
}
