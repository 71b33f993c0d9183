//! State of a volume as it is found when it is opened.

use std::sync::Arc;

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::volume::{Places, Root, VolumeError, VolumeKeys};
use sealstone_seal::{HEADER_BYTES, SealedFile};

use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::marks::Marks;
use crate::names;
use crate::pages::Pages;
use crate::recovery::{Recovered, recover};
use crate::roots::Roots;
use crate::sizes::Sizes;

/// A volume as it was found, not opened for writing yet.
pub(crate) struct Found {
    pub(crate) data: Arc<dyn DiskFile>,
    pub(crate) marks: Marks,
    pub(crate) roots: Roots,
    pub(crate) pages: Pages,
    pub(crate) keys: VolumeKeys,
    pub(crate) root: Root,
    pub(crate) recovered: Recovered,
}

/// Opens a file that every volume has.
///
/// # Errors
/// [`Failure::NoVolume`]; of the disk.
pub(crate) fn open(
    disk: &dyn Disk,
    name: &'static str,
    cached: bool,
) -> Result<Arc<dyn DiskFile>, Failure> {
    disk.open(name, cached).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::NoVolume { name },
        _ => Failure::of("open", name)(error),
    })
}

impl Found {
    /// Reads what is there: header, newest root, marks and log.
    ///
    /// # Errors
    /// See [`crate::Volume::attach`].
    pub(crate) fn read(
        disk: &dyn Disk,
        keys: &dyn KeySource,
        backend: Backend,
        sizes: Sizes,
    ) -> Result<Self, Failure> {
        let open = |name, cached| open(disk, name, cached);
        let header = open(names::HEADER, true)?;
        let mut stored = [0; HEADER_BYTES];
        header.read(0, &mut stored).map_err(Failure::of("read", names::HEADER))?;
        let file = SealedFile::open(keys, backend, &stored)?;
        let roots = Roots { files: [open(names::MAPS[0], true)?, open(names::MAPS[1], true)?] };
        let root = roots.read(&file)?;
        let marks = Marks::new(Arc::clone(&header), roots.files.clone());
        let keys = VolumeKeys::new(file, root.salts.clone())?;
        let mark = marks.read(&keys)?.ok_or_else(|| VolumeError::Root {
            found: "no mark says how much of the log was synced".into(),
        })?;
        let data = open(names::DATA, false)?;
        let recovered = recover(disk, &*data, &keys, &root, mark)?;
        let places = Places::new(keys.block_bytes());
        let pages = Pages::new(Arc::clone(&data), places, sizes.pages);
        Ok(Self { data, marks, roots, pages, keys, root, recovered })
    }
}
