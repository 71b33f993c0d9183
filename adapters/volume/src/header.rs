//! The header of a volume that may be in use: what it shows without any key, and putting it under a
//! newer version of its key.

use std::path::Path;

use sealstone_cipher::Backend;
use sealstone_keys::{KeyRef, KeySource};
use sealstone_seal::{HEADER_BYTES, HeaderInfo, Layout, SealError, inspect, keys_named, rewrap};

use crate::directory::Directory;
use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::log::segments;
use crate::names;
use crate::segment::Segment;
use crate::state_on_disk::open;

/// Reads the header of the volume in `dir`, without any key: it may not be genuine.
///
/// # Errors
/// [`Failure::NoVolume`]; what is wrong with the header.
pub fn header(dir: &Path) -> Result<HeaderInfo, Failure> {
    let (_, stored) = read(&Directory::read_only(dir))?;
    let info = inspect(&stored)?;
    if !matches!(info.layout, Layout::Volume { .. }) {
        let (found, want) = (info.layout.name(), Layout::Volume { block_bytes: 0 });
        return Err(SealError::WrongLayout { found, want: want.name() }.into());
    }
    Ok(info)
}

/// Returns every key that a copy of the header of the volume in `dir` names: two after a rotation
/// that was killed. The answer is of what is on disk.
///
/// # Errors
/// As [`header`], and a disk that cannot be synced.
pub fn keys_of(dir: &Path) -> Result<Vec<KeyRef>, Failure> {
    header(dir)?;
    let (file, stored) = read(&Directory::read_only(dir))?;
    file.sync().map_err(Failure::of("sync", names::HEADER))?;
    Ok(keys_named(&stored)?)
}

/// Returns the failure that an opening of the volume in `dir` would have while another process has
/// it; none if nobody has.
#[must_use]
pub fn in_use(dir: &Path) -> Option<Failure> {
    match Directory::new(dir).lock(names::HEADER) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Some(Failure::InUse),
        _ => None,
    }
}

/// Returns what is wrong with the names in the volume in `dir`, if anything is: a file that is
/// missing, or something else in its place. Reads no content.
#[must_use]
pub fn misplaced(dir: &Path) -> Option<Failure> {
    let disk = Directory::read_only(dir);
    let whole = [names::HEADER, names::MAPS[0], names::MAPS[1], names::DATA];
    let opened = whole.into_iter().try_for_each(|name| open(&disk, name, true).map(|_| ()));
    let log =
        || segments(&disk)?.into_iter().try_for_each(|name| Segment::open(&disk, name).map(|_| ()));
    opened.and_then(|()| log()).err()
}

fn read(disk: &dyn Disk) -> Result<(std::sync::Arc<dyn DiskFile>, [u8; HEADER_BYTES]), Failure> {
    let file = open(disk, names::HEADER, true)?;
    let mut stored = [0; HEADER_BYTES];
    file.read(0, &mut stored).map_err(Failure::of("read", names::HEADER))?;
    Ok((file, stored))
}

/// Puts the header of the volume in `dir` under the current version of its key; the volume may be
/// in use, and its data stays as it is. Returns the new key, or none if it was the current one
/// already.
///
/// # Errors
/// Of the keys, and of the disk: then one copy of the header is whole, as it was or as it will be.
pub fn rotate(dir: &Path, keys: &dyn KeySource) -> Result<Option<KeyRef>, Failure> {
    let disk = Directory::new(dir);
    let (file, stored) = read(&disk)?;
    let (key, secret) = keys.current()?;
    let Some(rewrapped) = rewrap(keys, (&key, &secret), Backend::auto(), &stored)? else {
        return Ok(None);
    };
    for offset in rewrapped.offsets {
        file.write(offset, &[rewrapped.bytes()]).map_err(Failure::of("write", names::HEADER))?;
        file.sync().map_err(Failure::of("sync", names::HEADER))?;
    }
    Ok(Some(key))
}
