//! Places of files that are measured.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use sealstone_turns::program::{output, run};

/// Size of every device, in bytes.
const DEVICE_BYTES: u64 = 4 << 30;

/// Kind of a place.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Plain,
    Loop,
    Control,
    Sealed { cipher: String },
    Gocryptfs,
}

impl Kind {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Plain => "plain".into(),
            Self::Loop => "loop".into(),
            Self::Control => "control".into(),
            Self::Sealed { cipher } => cipher.clone(),
            Self::Gocryptfs => "gocryptfs".into(),
        }
    }
}

/// Returns every kind, in the order of the tables: gocryptfs last, the controls first.
pub(crate) fn kinds(ciphers: &[String]) -> Vec<Kind> {
    let sealed = ciphers.iter().map(|cipher| Kind::Sealed { cipher: cipher.clone() });
    let controls = [Kind::Plain, Kind::Loop, Kind::Control];
    controls.into_iter().chain(sealed).chain([Kind::Gocryptfs]).collect()
}

/// A directory of one of the kinds, which goes with this value.
pub(crate) struct Place {
    kind: Kind,
    dir: PathBuf,
    files: PathBuf,
    program: PathBuf,
    device: Option<String>,
    process: Option<Child>,
}

impl Place {
    /// Makes it in a directory of its own in `scratch`; `program` is `sealstone`.
    pub(crate) fn make(kind: Kind, scratch: &Path, program: &Path) -> Result<Self> {
        let (dir, program) = (scratch.join(kind.name()), program.to_owned());
        let files = dir.join("files");
        let mut place = Self { kind, dir, files, program, device: None, process: None };
        fs::create_dir(&place.dir)?;
        open_to_all(&place.dir)?;
        fs::create_dir(place.files())?;
        place.mount().with_context(|| format!("make {}", place.name()))?;
        open_to_all(place.files())?;
        Ok(place)
    }

    fn mount(&mut self) -> Result<()> {
        let files = self.files_text();
        match &self.kind {
            Kind::Plain => Ok(()),
            Kind::Loop => {
                let file = self.dir.join("file");
                fs::File::create_new(&file)?.set_len(DEVICE_BYTES)?;
                self.mount_device(&file)
            }
            Kind::Control => {
                let shown = self.dir.join("shown");
                fs::create_dir(&shown)?;
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("serve-plain").arg(self.dir.join("file"));
                command.arg(DEVICE_BYTES.to_string()).arg(&shown);
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                let process = self.process.insert(command.spawn()?);
                let mut said = String::new();
                let hear = process.stdout.take().expect("piped");
                BufReader::new(hear).read_line(&mut said)?;
                if said.trim() != "ready" {
                    bail!("the process that serves it ended");
                }
                self.mount_device(&shown.join("volume"))
            }
            Kind::Sealed { cipher } => {
                let size = DEVICE_BYTES.to_string();
                self.sealstone(&["keys", "new", "k.key"])?;
                let create = ["volume", "create", "vol", "--key", "k.key", "--size", &size];
                self.sealstone(&[&create[..], &["--cipher", cipher]].concat())?;
                let mount = ["volume", "mount", "vol", &files, "--key", "k.key"];
                let here = ["--mkfs", "ext4", "--runtime-dir", "run"];
                self.sealstone(&[&mount[..], &here].concat()).map(drop)
            }
            Kind::Gocryptfs => {
                let (passphrase, sealed) = (self.dir.join("passphrase"), self.dir.join("sealed"));
                fs::write(&passphrase, "measured")?;
                fs::create_dir(&sealed)?;
                let gocryptfs = || {
                    let mut command = Command::new("gocryptfs");
                    command.arg("-q").arg("-passfile").arg(&passphrase);
                    command
                };
                output(gocryptfs().args(["-init", "-scryptn", "10"]).arg(&sealed))?;
                output(gocryptfs().arg("-allow_other").arg(&sealed).arg(&files)).map(drop)
            }
        }
    }

    /// Makes a file system as a volume gets one, and mounts it.
    fn mount_device(&mut self, file: &Path) -> Result<()> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--direct-io=on", "--sector-size", "4096"]).arg(file);
        let device = output(&mut losetup)?.trim().to_owned();
        self.device = Some(device.clone());
        run("mkfs.ext4", &["-q", "-E", "nodiscard,assume_storage_prezeroed=1", &device])?;
        run("mount", &[&device, &self.files_text()]).map(drop)
    }

    pub(crate) fn name(&self) -> String {
        self.kind.name()
    }

    /// Returns the directory of all that belongs to this place, outside its file system.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the directory in which files are measured.
    pub(crate) fn files(&self) -> &Path {
        &self.files
    }

    fn files_text(&self) -> String {
        self.files().to_string_lossy().into_owned()
    }

    /// Returns the CPU time, in seconds, that the process has taken which serves this place; None
    /// where the kernel alone does.
    pub(crate) fn serving_s(&self) -> Result<Option<f64>> {
        let process = match &self.kind {
            Kind::Plain | Kind::Loop => return Ok(None),
            Kind::Control => self.process.as_ref().map(|process| u64::from(process.id())),
            Kind::Sealed { .. } => {
                let status = ["volume", "status", "vol", "--json", "--runtime-dir", "run"];
                let said: Value = serde_json::from_str(&self.sealstone(&status)?)?;
                said["served"]["process"].as_u64()
            }
            // it went to the background, and named its passphrase's file
            Kind::Gocryptfs => {
                let passphrase = self.dir.join("passphrase");
                let is_it = |command: Vec<u8>| {
                    let mut words = command.split(|byte| *byte == 0);
                    words.any(|word| word == passphrase.as_os_str().as_bytes())
                };
                let processes = fs::read_dir("/proc")?.filter_map(Result::ok);
                let mut found = processes
                    .filter(|process| fs::read(process.path().join("cmdline")).is_ok_and(is_it));
                found.find_map(|process| process.file_name().to_str()?.parse().ok())
            }
        };
        let process = process.with_context(|| format!("no process serves {}", self.name()))?;
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let ticks = |at: usize| -> Option<f64> {
            let (_, fields) = stat.rsplit_once(") ")?;
            fields.split(' ').nth(at)?.parse().ok()
        };
        // fields 14 and 15, of which two are before the name's end; USER_HZ is 100
        let ticks = ticks(11).zip(ticks(12)).context("not what proc(5) says")?;
        Ok(Some((ticks.0 + ticks.1) / 100.0))
    }

    /// Writes all that is to be written, and puts the log of a volume in place.
    pub(crate) fn settle(&self) -> Result<()> {
        run("sync", &["-f", &self.files_text()])?;
        if matches!(self.kind, Kind::Sealed { .. }) {
            let freeze = ["volume", "freeze", "vol", "--runtime-dir", "run"];
            self.sealstone(&freeze)?;
            self.sealstone(&[&freeze[..], &["--thaw"]].concat())?;
        }
        Ok(())
    }

    /// Unmounts what is mounted here; the process of a volume ends with that.
    pub(crate) fn unmount(&self) -> Result<()> {
        let files = self.files_text();
        match &self.kind {
            Kind::Sealed { .. } => {
                self.sealstone(&["volume", "unmount", &files, "--runtime-dir", "run"]).map(drop)
            }
            _ => run("umount", &[&files]).map(drop),
        }
    }

    /// Mounts again what `unmount` unmounted.
    pub(crate) fn mount_again(&self) -> Result<()> {
        let files = self.files_text();
        match (&self.kind, &self.device) {
            (Kind::Sealed { .. }, _) => {
                let mount = ["volume", "mount", "vol", &files, "--key", "k.key"];
                self.sealstone(&[&mount[..], &["--runtime-dir", "run"]].concat()).map(drop)
            }
            (_, Some(device)) => run("mount", &[device, &files]).map(drop),
            _ => bail!("{} has no device", self.name()),
        }
    }

    /// Has every block of a volume that is not mounted verified, if it is one, and returns whether.
    pub(crate) fn verify(&self) -> Result<bool> {
        let is_volume = matches!(self.kind, Kind::Sealed { .. });
        if is_volume {
            self.sealstone(&["volume", "verify", "vol", "--key", "k.key"])?;
        }
        Ok(is_volume)
    }

    /// Has the file system checked, which is not mounted.
    pub(crate) fn check_file_system(&self) -> Result<()> {
        let check = |device: &str| run("e2fsck", &["-fn", device]).map(drop);
        match (&self.kind, &self.device) {
            (Kind::Sealed { .. }, _) => {
                let here = ["--runtime-dir", "run"];
                let attach = ["volume", "attach", "vol", "--key", "k.key"];
                let device = self.sealstone(&[&attach[..], &here].concat())?;
                let checked = check(device.trim());
                self.sealstone(&[&["volume", "detach", "vol"][..], &here].concat())?;
                checked
            }
            (_, Some(device)) => check(device),
            _ => bail!("{} has no device", self.name()),
        }
    }

    /// Runs the program in the place's directory, and returns what it prints.
    fn sealstone(&self, arguments: &[&str]) -> Result<String> {
        output(Command::new(&self.program).args(arguments).current_dir(&self.dir))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // as much of it as is possible, since the directory could not be removed otherwise
        if !matches!(self.kind, Kind::Plain) {
            let _ = self.unmount();
        }
        if let Some(device) = &self.device {
            let _ = run("losetup", &["--detach", device]);
        }
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

/// Lets the users of servers into `dir`.
pub(crate) fn open_to_all(dir: &Path) -> Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(0o755)).context(dir.display().to_string())
}
