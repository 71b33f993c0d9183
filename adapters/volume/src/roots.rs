//! Roots on the disk: two files, written in turn.

use std::sync::Arc;

use sealstone_seal::SealedFile;
use sealstone_seal::volume::{ROOT_AT, Root, RootHead, VolumeError};

use crate::disk::DiskFile;
use crate::error::Failure;
use crate::names;

/// The files of the roots.
pub(crate) struct Roots {
    pub(crate) files: [Arc<dyn DiskFile>; 2],
}

impl Roots {
    /// Returns the newest root that is whole.
    ///
    /// # Errors
    /// [`VolumeError::Root`] if neither is; what is wrong with the first one is reported.
    pub(crate) fn read(&self, file: &SealedFile) -> Result<Root, Failure> {
        let mut failed = None;
        let mut newest: Option<Root> = None;
        for (map, name) in self.files.iter().zip(names::MAPS) {
            match read(&**map, name, file) {
                Ok(root) => {
                    let newer =
                        newest.as_ref().is_none_or(|so_far| root.generation > so_far.generation);
                    newest = if newer { Some(root) } else { newest };
                }
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        match (newest, failed) {
            (Some(root), _) => Ok(root),
            (None, Some(failure)) => Err(failure),
            (None, None) => unreachable!("there are two files"),
        }
    }

    /// Brings the root of `generation` that was read to stable storage, before the other one is
    /// written over. If its sync failed when it was made, a system may have it in memory and have
    /// forgotten that it is not on the disk, so it is written again, as it is.
    ///
    /// # Errors
    /// Of the disk; the other root is as it was.
    pub(crate) fn settle(&self, generation: u64) -> Result<(), Failure> {
        let index = (generation % 2) as usize;
        let (map, name) = (&self.files[index], names::MAPS[index]);
        let mut head = [0; RootHead::BYTES];
        map.read(0, &mut head).map_err(Failure::of("read", name))?;
        let mut sealed = vec![0; RootHead::read(&head)?.sealed_bytes];
        map.read(ROOT_AT, &mut sealed).map_err(Failure::of("read", name))?;
        map.write(ROOT_AT, &[&sealed]).map_err(Failure::of("write", name))?;
        map.write(0, &[&head]).map_err(Failure::of("write", name))?;
        map.sync().map_err(Failure::of("sync", name))
    }

    /// Brings `root` to stable storage, in the place of the one before the last.
    ///
    /// # Errors
    /// Of the disk; the last root is as it was.
    pub(crate) fn write(&self, file: &SealedFile, root: &Root) -> Result<(), Failure> {
        let (head, sealed) = root.seal(file)?;
        let index = (root.generation % 2) as usize;
        let (map, name) = (&self.files[index], names::MAPS[index]);
        map.write(ROOT_AT, &[&sealed]).map_err(Failure::of("write", name))?;
        map.write(0, &[&head]).map_err(Failure::of("write", name))?;
        map.sync().map_err(Failure::of("sync", name))
    }
}

fn read(map: &dyn DiskFile, name: &str, file: &SealedFile) -> Result<Root, Failure> {
    let short = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            VolumeError::Root { found: format!("{name} is cut short") }.into()
        }
        _ => Failure::of("read", name)(error),
    };
    let mut head = [0; RootHead::BYTES];
    map.read(0, &mut head).map_err(short)?;
    let head = RootHead::read(&head)?;
    let mut sealed = vec![0; head.sealed_bytes];
    map.read(ROOT_AT, &mut sealed).map_err(short)?;
    Ok(Root::open(file, &head, sealed)?)
}
