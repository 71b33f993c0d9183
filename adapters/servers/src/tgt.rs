//! tgt, an iSCSI target in user space: starting, awaiting and ending a target with a single unit, a
//! file. It is set up through tgtadm over its own socket, so that several run side by side.

mod log;
mod row;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::error::io;
use crate::instance::{Instance, ServerKind};
use crate::{LabError, Place, Program};

pub use row::{SERVER, TgtServer};

/// Program tgtd, and how it is found; tgtadm is beside it.
pub static PROGRAM: Program = Program {
    what: "tgtd",
    flag: "tgtd",
    variable: "SEALSTONE_TGTD",
    places: &[Place::SearchPath("tgtd"), Place::At("/usr/sbin/tgtd")],
    works: Path::is_file,
    install: "install it with: make setup-iscsi; or name one with --tgtd or in SEALSTONE_TGTD",
};

/// The default name of the target.
const TARGET: &str = "iqn.2026-11.dev.sealstone:disk";
/// Number of its unit; 0 is the controller.
const LUN: u32 = 1;
/// The socket for tgtadm within the directory of a server: by its whole path it could be too long
/// for a socket.
const CONTROL: &str = "control";
/// The default size of the unit, in bytes.
const BYTES: u64 = 1 << 30;
/// The file of the unit within the directory of a server.
const DISK: &str = "disk.img";

/// Options with which a target is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TgtOptions {
    /// The program; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// The address that it listens on.
    pub address: String,
    /// Its port; without it one that the system chooses, kept from then on.
    pub port: Option<u16>,
    /// Name of the target.
    pub target: String,
    /// Size of its unit in bytes, a file that is made where it is missing.
    pub bytes: u64,
    /// The file of the unit; without it one in the server's directory.
    pub disk: Option<PathBuf>,
    /// True if it refuses to be written.
    pub read_only: bool,
    /// The initiators that may log in, by their address; `ALL` for all.
    pub allow: String,
    /// Time that it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for TgtOptions {
    fn default() -> Self {
        Self {
            program: None,
            address: "127.0.0.1".into(),
            port: None,
            target: TARGET.into(),
            bytes: BYTES,
            disk: None,
            read_only: false,
            allow: "ALL".into(),
            start_limit_s: 20,
        }
    }
}

/// A target. It ends with the value.
pub type Tgt = Instance<Kind>;

/// Differences between tgtd and other servers.
#[derive(Debug)]
pub struct Kind;

impl ServerKind for Kind {
    type Options = TgtOptions;
    const NAME: &'static str = "tgtd";
    const RECORD: &'static str = "tgt.toml";
    // it logs to where it prints
    const LOG: &'static str = "tgt.log";
    const OUTPUT: &'static str = "tgt.log";
    // it ends when its system is deleted, and ignores polite signals as long as it has a target
    const STOP: &'static [Signal] = &[Signal::SIGKILL];
    const STOP_LIMIT: Duration = Duration::from_secs(10);
    const UNABLE: &'static str = "give a tgtd that this machine can run";
    const STAYS_WITHOUT_PORT: bool = true;

    fn command(dir: &Path, port: u16, options: &TgtOptions) -> Result<Command, LabError> {
        let mut command = Command::new(PROGRAM.find(options.program.as_deref())?);
        command.env("TGT_IPC_SOCKET", CONTROL).args(["-f", "-C", "0"]);
        command.arg("--iscsi").arg(format!("portal={}:{port}", options.address));
        // its directory among the arguments: by it the process is recognised
        command.arg("--pid-file").arg(Self::mark(dir));
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        dir.join("tgt.pid")
    }

    fn data_dir(dir: &Path) -> PathBuf {
        dir.join(DISK)
    }

    fn fixed_port(options: &TgtOptions) -> Option<u16> {
        options.port
    }

    fn start_limit(options: &TgtOptions) -> Duration {
        Duration::from_secs(options.start_limit_s)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log::is_ready(log)
    }

    fn is_port_taken(log: &str, _output: &str) -> bool {
        log::is_port_taken(log)
    }

    fn said(log: &str, _output: &str) -> Vec<String> {
        log::matters(log)
    }

    fn set_up(dir: &Path, port: u16, options: &TgtOptions) -> Result<(), LabError> {
        let disk = disk(dir, options);
        make(&disk, options.bytes)?;
        let ask =
            |attempt, arguments: &[&str]| tgtadm(dir, port, options, attempt, arguments).map(drop);
        let target = [
            "--lld",
            "iscsi",
            "--op",
            "new",
            "--mode",
            "target",
            "--tid",
            "1",
            "-T",
            &options.target,
        ];
        ask("make a target", &target)?;
        let (lun, path) = (LUN.to_string(), disk.to_string_lossy());
        let unit = ["--lld", "iscsi", "--mode", "logicalunit", "--tid", "1", "--lun", &lun];
        ask(
            "give the target its unit",
            &[&unit[..], &["--op", "new", "--bstype", "rdwr", "-b", &path]].concat(),
        )?;
        if options.read_only {
            ask(
                "make the unit read-only",
                &[&unit[..], &["--op", "update", "--params", "readonly=1"]].concat(),
            )?;
        }
        let bind = [
            "--lld",
            "iscsi",
            "--op",
            "bind",
            "--mode",
            "target",
            "--tid",
            "1",
            "-I",
            &options.allow,
        ];
        ask("let initiators in", &bind)
    }

    fn farewell(dir: &Path, port: u16, options: &TgtOptions) -> bool {
        // a process that does not listen is killed
        let target =
            ["--lld", "iscsi", "--op", "delete", "--force", "--mode", "target", "--tid", "1"];
        let _ = tgtadm(dir, port, options, "delete the target", &target);
        tgtadm(dir, port, options, "end it", &["--op", "delete", "--mode", "system"]).is_ok()
    }
}

/// Returns the file of the unit.
fn disk(dir: &Path, options: &TgtOptions) -> PathBuf {
    options.disk.clone().unwrap_or_else(|| Kind::data_dir(dir))
}

/// Makes the file `disk` of `bytes` bytes where there is none; it takes no room until it is
/// written.
fn make(disk: &Path, bytes: u64) -> Result<(), LabError> {
    if disk.exists() {
        return Ok(());
    }
    let made = OpenOptions::new().write(true).create_new(true).open(disk);
    made.and_then(|file| file.set_len(bytes)).map_err(|error| io("create", disk, error))
}

/// Runs tgtadm on the target in `dir`. Returns what it printed.
fn tgtadm(
    dir: &Path,
    port: u16,
    options: &TgtOptions,
    attempt: &'static str,
    arguments: &[&str],
) -> Result<String, LabError> {
    let beside = PROGRAM.find(options.program.as_deref())?.with_file_name("tgtadm");
    let mut command = Command::new(&beside);
    command.env("TGT_IPC_SOCKET", CONTROL).current_dir(dir).stdin(Stdio::null());
    let said = command
        .args(["-C", "0"])
        .args(arguments)
        .output()
        .map_err(|error| io("start", &beside, error))?;
    if said.status.success() {
        return Ok(String::from_utf8_lossy(&said.stdout).into_owned());
    }
    let found = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    Err(LabError::Command { attempt, port, found, log: dir.join(Kind::LOG) })
}

/// Returns the version of the tgtd that [`PROGRAM`] finds, or of the program at `program`; none if
/// it does not report it.
#[must_use]
pub fn version(program: Option<&Path>) -> Option<String> {
    let said = Command::new(PROGRAM.find(program).ok()?)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let words = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let is_version = words.starts_with(|first: char| first.is_ascii_digit())
        && !words.contains(char::is_whitespace);
    (said.status.success() && is_version).then_some(words)
}

/// Starts a target in `dir` and waits until it answers.
///
/// # Errors
/// As [`Instance::start`].
pub fn start(dir: &Path, options: TgtOptions) -> Result<Tgt, LabError> {
    Instance::start(dir, options)
}

impl Tgt {
    /// Address for an initiator: `iscsi://HOST:PORT/TARGET/LUN`.
    #[must_use]
    pub fn uri(&self) -> String {
        let TgtOptions { address, target, .. } = self.options();
        format!("iscsi://{address}:{}/{target}/{LUN}", self.port())
    }

    /// Returns the file of its unit.
    #[must_use]
    pub fn disk(&self) -> PathBuf {
        disk(self.dir(), self.options())
    }

    /// Runs `tgtadm` with `arguments` on it. Returns what it printed.
    ///
    /// # Errors
    /// [`LabError::Command`], with its output.
    pub fn tgtadm(&self, arguments: &[&str]) -> Result<String, LabError> {
        tgtadm(self.dir(), self.port(), self.options(), "do what tgtadm was told", arguments)
    }
}
