//! The sealed volume of a lab, on which its servers keep everything that they write. `sealstone
//! volume` makes, mounts and unmounts it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::error::io;
use crate::program::{Place, Program};
use crate::server::{MemberStatus, Running, Server, Settings, Standing};
use crate::{LabError, directory, state};

/// Name of the kind of a volume.
const NAME: &str = "volume";
/// File in the directory of a lab that records its volume.
const RECORD: &str = "lab.volume.toml";
/// Directory of the volume, in that of the lab.
const SEALED: &str = "lab.volume";
/// Directory at which it is mounted.
const MOUNTED: &str = "lab.files";
/// Directory of the servers on it; the file system has one of its own beside it.
const SERVERS: &str = "servers";

/// The program that mounts it.
static PROGRAM: Program = Program {
    what: "sealstone",
    flag: "sealstone",
    variable: "SEALSTONE_PROGRAM",
    places: &[Place::SearchPath("sealstone")],
    works: Path::is_file,
    install: "name one in SEALSTONE_PROGRAM",
};

/// The volume as a kind of server, which no command starts alone: it belongs to others.
///
/// Its settings: `sealstone`, the program; `key`; `size`, in bytes; and where they are wanted
/// `cipher`, `accel`, `module`, `passphrase-file`. Paths are absolute.
pub static VOLUME: Server = Server {
    name: NAME,
    about: "a sealed volume, on which other servers keep their files",
    options: &[],
    program: &PROGRAM,
    fits_a_volume: false,
    check: |_, _| Ok(()),
    start: |dir, settings| Ok(Box::new(LabVolume::make(dir, settings)?)),
    open: |dir| Ok(LabVolume::open(dir)?.map(|volume| Box::new(volume) as Box<dyn Running>)),
};

/// Facts about the volume that the next process needs.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    program: PathBuf,
    key: String,
    accel: Option<String>,
    #[serde(default)]
    module: Option<String>,
    passphrase_file: Option<String>,
    /// Kinds of servers on it.
    servers: Vec<String>,
}

/// The volume of a lab. It is unmounted with the value, unless it is left running.
#[derive(Debug)]
struct LabVolume {
    dir: PathBuf,
    record: Record,
    is_left: bool,
}

impl LabVolume {
    /// Makes a volume in the lab's directory `dir`, with a file system, and mounts it.
    fn make(dir: &Path, settings: &Settings) -> Result<Self, LabError> {
        state::check_free(dir)?;
        let text = |name| settings.get(name).map(str::to_owned);
        let record = Record {
            program: PROGRAM.find(settings.path("sealstone"))?,
            key: text("key").unwrap_or_default(),
            accel: text("accel"),
            module: text("module"),
            passphrase_file: text("passphrase-file"),
            servers: Vec::new(),
        };
        let dir = directory::made(dir, directory::USUAL)?;
        let volume = Self { dir, record, is_left: false };
        let mut create = vec![OsString::from("create"), volume.sealed().into()];
        for (flag, value) in [("--size", text("size")), ("--cipher", text("cipher"))] {
            create.extend(value.into_iter().flat_map(|value| [flag.into(), value.into()]));
        }
        create.extend(volume.key_flags());
        volume.sealstone(&create)?;
        volume.save()?;
        volume.mount(&["--mkfs", "ext4"])?;
        directory::make(&volume.servers(), directory::PASSABLE)?;
        Ok(volume)
    }

    /// Takes over the volume of the lab in `dir`, mounted or not, if it has one.
    fn open(dir: &Path) -> Result<Option<Self>, LabError> {
        let Some(record) = state::read(&dir.join(RECORD))? else { return Ok(None) };
        let dir = directory::real(dir)?;
        Ok(Some(Self { dir, record, is_left: false }))
    }

    fn sealed(&self) -> PathBuf {
        self.dir.join(SEALED)
    }

    fn mounted(&self) -> PathBuf {
        self.dir.join(MOUNTED)
    }

    fn servers(&self) -> PathBuf {
        servers_of(&self.dir)
    }

    fn save(&self) -> Result<(), LabError> {
        state::write(&self.dir.join(RECORD), &self.record)
    }

    fn key_flags(&self) -> Vec<OsString> {
        let mut flags = vec!["--key".into(), self.record.key.clone().into()];
        if let Some(file) = &self.record.passphrase_file {
            flags.extend(["--passphrase-file".into(), file.into()]);
        }
        if let Some(module) = &self.record.module {
            flags.extend(["--module".into(), module.into()]);
        }
        flags
    }

    fn mount(&self, more: &[&str]) -> Result<(), LabError> {
        let mounted = self.mounted();
        directory::make(&mounted, directory::PASSABLE)?;
        let mut mount = vec!["mount".into(), self.sealed().into(), mounted.into()];
        mount.extend(self.key_flags());
        mount.extend(more.iter().map(OsString::from));
        let accel = self.record.accel.iter();
        mount.extend(accel.flat_map(|accel| ["--accel".into(), accel.into()]));
        self.sealstone(&mount).map(drop)
    }

    /// Returns the process that serves it, and whether it is mounted; a file system whose process
    /// is gone is.
    fn found(&self) -> (Option<i32>, bool) {
        let status = self.sealstone(&["status".into(), self.sealed().into(), "--json".into()]);
        let status = status.ok().and_then(|text| serde_json::from_str(&text).ok());
        let status: serde_json::Value = status.unwrap_or_default();
        let process = status["served"]["process"].as_i64().and_then(|id| i32::try_from(id).ok());
        let mounted = self.mounted();
        let is_ours =
            |at: &serde_json::Value| at.as_str().is_some_and(|at| mounted == Path::new(at));
        (process, status["mounts"].as_array().is_some_and(|all| all.iter().any(is_ours)))
    }

    fn unmount(&self) -> Result<(), LabError> {
        self.sealstone(&["unmount".into(), self.mounted().into()]).map(drop)
    }

    /// Runs `sealstone volume` with `arguments`, and returns what it printed.
    fn sealstone(&self, arguments: &[OsString]) -> Result<String, LabError> {
        let program = &self.record.program;
        let mut command = Command::new(program);
        command.arg("volume").args(arguments);
        let output = command.output().map_err(|error| io("start", program, error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().strip_prefix("sealstone: ").unwrap_or(said.trim());
        Err(LabError::Volume {
            action: arguments[0].to_string_lossy().into_owned(),
            dir: self.dir.clone(),
            said: said.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
        })
    }
}

impl Running for LabVolume {
    fn pids(&mut self) -> Vec<i32> {
        self.found().0.into_iter().collect()
    }

    fn start_again(&mut self) -> Result<(), LabError> {
        match self.found() {
            (Some(_), true) => return Ok(()),
            // the process that served it was killed, and the file system has no device any more
            (None, true) => self.unmount()?,
            (_, false) => {}
        }
        self.mount(&[])
    }

    fn stop(&mut self) -> Result<(), LabError> {
        match self.found() {
            (_, true) => self.unmount(),
            (Some(_), false) => self.sealstone(&["detach".into(), self.sealed().into()]).map(drop),
            (None, false) => Ok(()),
        }
    }

    fn standing(&mut self) -> Standing {
        let (pid, is_mounted) = self.found();
        let serves = pid.is_some() && is_mounted;
        let uri = self.mounted().display().to_string();
        let state = if serves { "up" } else { "down" };
        let member = MemberStatus {
            address: uri.clone(),
            pid,
            state: state.into(),
            serves,
            data_dir: self.sealed(),
        };
        Standing { server: NAME, uri, members: vec![member] }
    }

    fn leave_running(mut self: Box<Self>) {
        self.is_left = true;
    }
}

impl Drop for LabVolume {
    fn drop(&mut self) {
        if !self.is_left {
            // the next command reports what is in its way
            let _ = self.stop();
        }
    }
}

/// Returns the directory for the servers on the volume of the lab in `dir`: it is there while the
/// volume is mounted. None for a lab without a volume.
pub(crate) fn servers_directory(dir: &Path) -> Option<PathBuf> {
    dir.join(RECORD).exists().then(|| servers_of(dir))
}

fn servers_of(dir: &Path) -> PathBuf {
    dir.join(MOUNTED).join(SERVERS)
}

/// Records that servers of the kind `server` are on the volume of the lab in `dir`.
///
/// # Errors
/// [`LabError::Io`], [`LabError::BadState`].
pub(crate) fn add(dir: &Path, server: &str) -> Result<(), LabError> {
    let path = dir.join(RECORD);
    let Some(mut record) = state::read::<Record>(&path)? else { return Ok(()) };
    if !record.servers.iter().any(|held| held == server) {
        record.servers.push(server.to_owned());
        state::write(&path, &record)?;
    }
    Ok(())
}

/// Returns the kinds of servers that are on the volume of the lab in `dir`, mounted or not.
pub(crate) fn kinds(dir: &Path) -> Vec<String> {
    let record = state::read::<Record>(&dir.join(RECORD)).ok().flatten();
    record.map(|record| record.servers).unwrap_or_default()
}
