//! A directory on a sealed volume of its own, for the files of one store.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sealstone_store::Choice;
use sealstone_volume::attachment::{self, Attached, Attachment};
use sealstone_volume::{Directory, Failure, Order, Volume, header};

use super::error::VolumeError;
use super::program::VolumeProgram;
use crate::run_key::ProgramKey;

/// Length of a block, in bytes.
const BLOCK_BYTES: u32 = 4096;
/// The largest device that is made: more than any comparison needs, and quick to make.
const DEVICE_BYTES_MAX: u64 = 1 << 40;
/// Time in which a process serves its volume.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Time in which the last user of a file system lets go of it.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(10);
/// Time that a process may take to put everything in place.
const END_LIMIT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// Names in the directory of the store.
const SEALED: &str = "volume";
const SHOWN: &str = "shown";
const MOUNTED: &str = "mounted";
const LOG: &str = "volume.log";
/// Directory of the store's files on the mounted file system, which has one of its own beside it.
const FILES: &str = "store";

/// Returns what keeps this machine from having volumes, in words; none if nothing does.
pub(super) fn lack() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("losetup and mount take root".into());
    }
    let lacks = |path: &&str| !Path::new(path).exists();
    let missing = ["/dev/fuse", "/dev/loop-control"].into_iter().find(lacks)?;
    Some(format!("{missing} is missing"))
}

/// A mounted volume, which ends with this value.
pub(super) struct VolumeDirectory {
    dir: PathBuf,
    files: PathBuf,
    attachment: Attachment,
    child: Child,
    keep: bool,
}

impl VolumeDirectory {
    /// Makes a volume in `dir`, and mounts a new file system on it.
    ///
    /// - `keep`: the volume is whole when this ends; otherwise it is worth nothing
    ///
    /// # Errors
    /// Whatever keeps this machine from it; nothing is mounted then.
    pub(super) fn make(
        dir: &Path,
        choice: &Choice,
        program: &VolumeProgram,
        key: &ProgramKey,
        keep: bool,
    ) -> Result<Self, VolumeError> {
        let failed = |source| VolumeError::Volume { dir: dir.to_owned(), source };
        let [sealed, shown, mounted] = [SEALED, SHOWN, MOUNTED].map(|name| dir.join(name));
        for made in [&sealed, &shown, &mounted] {
            make_directory(made, 0o711)?;
        }
        let bytes = device_bytes(dir)?;
        let disk = Directory::new(&sealed);
        Volume::create(&disk, &*key.source, choice.cipher, (BLOCK_BYTES, bytes)).map_err(failed)?;
        let info = header(&sealed).map_err(failed)?;
        let absolute = std::path::absolute(&shown);
        let absolute =
            absolute.map_err(|source| VolumeError::Directory { dir: shown.clone(), source })?;
        let attachment = Attachment::of(&absolute, &info.file_id);
        let child = start(dir, (&sealed, &absolute), choice, program, key)?;
        // from here on it takes down what is there if anything fails
        let mut made =
            Self { files: mounted.join(FILES), dir: dir.to_owned(), attachment, child, keep };
        let device = made.device()?;
        let attachment = &made.attachment;
        attachment
            .make_file_system("ext4", &device)
            .and_then(|()| attachment::mount(&device, &mounted))
            // it goes with the file system, even if this process is killed
            .and_then(|()| attachment.release_devices())
            .map_err(failed)?;
        make_directory(&made.files, 0o711)?;
        Ok(made)
    }

    /// Waits until the volume is served, and returns its block device.
    fn device(&mut self) -> Result<String, VolumeError> {
        let begin = Instant::now();
        loop {
            let failed = |source| VolumeError::Volume { dir: self.dir.clone(), source };
            if matches!(self.attachment.state(), Ok(Attached::Served(_)))
                && let Some(device) = self.attachment.devices().map_err(failed)?.pop()
            {
                return Ok(device);
            }
            let said = || fs::read_to_string(self.dir.join(LOG)).unwrap_or_default();
            if let Ok(Some(status)) = self.child.try_wait() {
                let said = format!("{status}\n{}", said().trim());
                return Err(VolumeError::Ended { dir: self.dir.clone(), said });
            }
            if begin.elapsed() > START_LIMIT {
                let (dir, limit) = (self.dir.clone(), START_LIMIT);
                return Err(VolumeError::Late { dir, limit, said: said().trim().into() });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the directory for the files of the store.
    pub(super) fn files(&self) -> &Path {
        &self.files
    }

    /// Returns the process that serves it.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Puts the log in place.
    ///
    /// # Errors
    /// The process that serves it refused, or is gone.
    pub(super) fn settle(&self) -> Result<(), VolumeError> {
        let failed = |source| VolumeError::Volume { dir: self.dir.clone(), source };
        self.attachment.order(Order::Checkpoint).map_err(failed)
    }

    /// Takes everything away.
    fn end(&mut self) -> Result<(), Failure> {
        let begin = Instant::now();
        for at in self.attachment.mounts()? {
            // servers that were killed hold their files a moment longer
            while let Err(failure) = attachment::unmount(&at) {
                if begin.elapsed() > UNMOUNT_LIMIT {
                    attachment::unmount_lazily(&at)?;
                    return Err(failure);
                }
                std::thread::sleep(LOOK);
            }
        }
        if !self.keep {
            // nobody wants what it would put in place
            let _ = self.child.kill();
        }
        self.attachment.detach()?;
        // a kept store is its volume, and a place to mount it at
        let _ = fs::remove_dir(self.dir.join(SHOWN));
        Ok(())
    }
}

impl Drop for VolumeDirectory {
    fn drop(&mut self) {
        // what is in its way keeps the directory from being removed, which is reported
        let _ = self.end();
        drop(self.child.stdin.take());
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > END_LIMIT {
                let _ = self.child.kill();
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn make_directory(dir: &Path, mode: u32) -> Result<(), VolumeError> {
    let made = DirBuilder::new().recursive(true).mode(mode).create(dir);
    made.map_err(|source| VolumeError::Directory { dir: dir.to_owned(), source })
}

/// Returns the size of a device for `dir`: nearly all that is free there.
fn device_bytes(dir: &Path) -> Result<u64, VolumeError> {
    let free = nix::sys::statvfs::statvfs(dir)
        .map_err(|error| VolumeError::Directory { dir: dir.to_owned(), source: error.into() })?;
    let bytes = free.blocks_available() as u64 * free.fragment_size() as u64;
    let whole = bytes / 10 * 9 / (1 << 20) * (1 << 20);
    Ok(whole.clamp(1 << 26, DEVICE_BYTES_MAX))
}

/// Starts the process that serves the volume in `sealed` below `shown`.
fn start(
    dir: &Path,
    (sealed, shown): (&Path, &Path),
    choice: &Choice,
    program: &VolumeProgram,
    key: &ProgramKey,
) -> Result<Child, VolumeError> {
    let failed = |source| VolumeError::Directory { dir: dir.join(LOG), source };
    let log = File::create_new(dir.join(LOG)).map_err(failed)?;
    let mut command = Command::new(program.path());
    command.args(["volume", "attach"]).arg(sealed).arg("--key").arg(&key.named);
    if let Some(file) = &key.passphrase_file {
        command.arg("--passphrase-file").arg(file);
    }
    command.args(["--accel", choice.backend.name(), "--foreground", "--until-input-ends"]);
    command.arg("--runtime-dir").arg(shown);
    // an interrupt is for the comparison, which ends it when its store is gone
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
    command.spawn().map_err(failed)
}
