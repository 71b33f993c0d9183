//! A directory on a sealed volume of its own, for the files of one store.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sealstone_keys::InModule;
use sealstone_store::Choice;
use sealstone_volume::{Directory, Order, Serving, ServingProcess, Volume};

use super::error::VolumeError;
use super::program::VolumeProgram;
use crate::run_key::ProgramKey;

/// Length of a block, in bytes.
const BLOCK_BYTES: u32 = 4096;
/// The largest device that is made: more than any comparison needs, and quick to make.
const DEVICE_BYTES_MAX: u64 = 1 << 40;

/// Names in the directory of the store.
const SEALED: &str = "volume";
const SHOWN: &str = "shown";
const MOUNTED: &str = "mounted";
const LOG: &str = "volume.log";
/// Directory of the store's files on the mounted file system, which has one of its own beside it.
const FILES: &str = "store";

/// A mounted volume, which ends with this value.
pub(super) struct VolumeDirectory {
    dir: PathBuf,
    files: PathBuf,
    process: ServingProcess,
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
        let keys = InModule::used_by(key.source.clone(), choice.provider);
        Volume::create(&disk, &*keys, choice.cipher, (BLOCK_BYTES, bytes)).map_err(failed)?;
        let absolute = std::path::absolute(&shown);
        let absolute =
            absolute.map_err(|source| VolumeError::Directory { dir: shown.clone(), source })?;
        let serving = Serving {
            program: program.path(),
            dir: &sealed,
            key: OsStr::new(&key.named),
            passphrase_file: key.passphrase_file.as_deref(),
            module: choice.module(),
            accel: choice.backend().name(),
            runtime_dir: &absolute,
            log: &dir.join(LOG),
        };
        let process = serving.start().map_err(failed)?;
        let made = Self { files: mounted.join(FILES), dir: dir.to_owned(), process, keep };
        made.process
            .attachment()
            .make_file_system("ext4", made.process.device())
            .and_then(|()| made.process.mount(&mounted, &[]))
            .map_err(failed)?;
        make_directory(&made.files, 0o711)?;
        Ok(made)
    }

    /// Returns the directory for the files of the store.
    pub(super) fn files(&self) -> &Path {
        &self.files
    }

    /// Returns the process that serves it.
    pub(super) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Puts the log in place.
    ///
    /// # Errors
    /// The process that serves it refused, or is gone.
    pub(super) fn settle(&self) -> Result<(), VolumeError> {
        let failed = |source| VolumeError::Volume { dir: self.dir.clone(), source };
        self.process.attachment().order(Order::Checkpoint).map_err(failed)
    }
}

impl Drop for VolumeDirectory {
    fn drop(&mut self) {
        if !self.keep {
            self.process.abandon();
        }
        let _ = self.process.take_away();
        // a kept store is its volume, and a place to mount it at
        let _ = fs::remove_dir(self.dir.join(SHOWN));
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
