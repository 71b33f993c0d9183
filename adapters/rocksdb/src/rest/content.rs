//! The whole content of one sealed file, read directly from the disk and passed on piece by piece.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::frame::FrameReader;
use sealstone_seal::paged::{Pages, Shape};
use sealstone_seal::{Layout, SealError, SealedFile, is_sealed};

use super::check::Check;
use super::files_on_disk::{CHUNK_BYTES, read_start};
use super::report::{Finding, Progress, Verification};
use crate::catalogue::View;
use crate::file_keys::{self, Header};
use crate::manifest::ManifestError;
use crate::place;

/// Reason why the content of a file could not be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The file does not exist.
    Missing,
    /// It holds nothing, not even a header.
    Empty,
    /// The seal does not open, or the file cannot be read.
    Failed(String),
    /// It contains records that only a newer RocksDB writes.
    Newer(String),
}

/// Advice for when a file of the live set is not there as it should be.
pub(super) const NEXT: &str = "restore the store from a backup";

impl Unread {
    /// Describes the problem with a file that could not be read. `role`: the purpose of the file.
    pub(super) fn explain(self, role: &str) -> String {
        match self {
            Self::Missing => format!("missing: {role}\n{NEXT}"),
            Self::Empty => format!("empty: {role}\n{NEXT}"),
            Self::Failed(why) | Self::Newer(why) => why,
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Failed(format!("cannot be read: {error}")),
        }
    }
}

impl From<ManifestError> for Unread {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Newer { .. } => Self::Newer(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<SealError> for Unread {
    fn from(error: SealError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Reads sealed files with one set of keys.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'a> {
    pub(crate) keys: &'a dyn KeySource,
    pub(crate) backend: Backend,
    /// True if unsealed files are read unchanged.
    pub(crate) reads_plain: bool,
}

impl Contents<'_> {
    /// Hands the content of the file at `path` to `piece`, in order, up to its last whole page or
    /// frame.
    pub(super) fn each(
        &self,
        path: &Path,
        piece: &mut dyn FnMut(&[u8]) -> Result<(), Unread>,
    ) -> Result<(), Unread> {
        let file = place::open(path)?;
        let stored_bytes = file.metadata()?.len();
        if stored_bytes == 0 {
            return Err(Unread::Empty);
        }
        let mut read = |into: &mut [u8]| read_start(&file, into);
        let header = Header::read(&mut read)?;
        if self.reads_plain && !is_sealed(header.stored()) {
            return plain(&file, piece);
        }
        let sealed = file_keys::open(self.keys, self.backend, header, read)??;
        match sealed.info().layout {
            Layout::Paged { .. } => pages(&file, &sealed, stored_bytes, piece),
            Layout::Frames => frames(&file, &sealed, piece),
            layout @ Layout::Volume { .. } => {
                let (found, want) = (layout.name(), Layout::Paged { page_bytes: 0 }.name());
                Err(SealError::WrongLayout { found, want }.into())
            }
        }
    }

    /// Returns all of the content of a small file, of which no more than `bytes_max` bytes are
    /// accepted.
    pub(super) fn small(&self, path: &Path, bytes_max: usize) -> Result<Vec<u8>, Unread> {
        let mut content = Vec::new();
        self.each(path, &mut |piece| {
            content.extend_from_slice(piece);
            match content.len() > bytes_max {
                true => Err(Unread::Failed(format!("holds more than {bytes_max} bytes"))),
                false => Ok(()),
            }
        })?;
        Ok(content)
    }

    /// Returns the faults of the seal of file `name` below `root`; none for a file that is gone.
    pub(super) fn check(&self, root: &Path, name: &str) -> Vec<Finding> {
        let Self { keys, backend, .. } = *self;
        let mut report = Verification::default();
        let mut progress = |_: Progress<'_>| ();
        let (path, mut view) = (root.join(name), View::new(keys, backend));
        let (view, progress) = (&mut view, &mut progress);
        let mut check = Check {
            name,
            path: &path,
            keys,
            backend,
            view,
            report: &mut report,
            progress,
            total_bytes: 0,
        };
        match place::open(&path).and_then(|file| check.file(&file)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => check.fail(None, None, format!("cannot be read: {error}")),
        }
        report.failures
    }

    /// Returns the length of the content in bytes.
    pub(super) fn bytes(&self, path: &Path) -> Result<u64, Unread> {
        let mut bytes = 0;
        self.each(path, &mut |piece| {
            bytes += piece.len() as u64;
            Ok(())
        })?;
        Ok(bytes)
    }
}

fn plain(file: &File, piece: &mut dyn FnMut(&[u8]) -> Result<(), Unread>) -> Result<(), Unread> {
    let mut read = vec![0; CHUNK_BYTES];
    let mut offset = 0;
    loop {
        let got = file.read_at(&mut read, offset)?;
        if got == 0 {
            return Ok(());
        }
        piece(&read[..got])?;
        offset += got as u64;
    }
}

fn pages(
    file: &File,
    sealed: &SealedFile,
    stored_bytes: u64,
    piece: &mut dyn FnMut(&[u8]) -> Result<(), Unread>,
) -> Result<(), Unread> {
    let shape = Shape::of(sealed, stored_bytes)?;
    let last = shape.last_page();
    let mut stored = vec![0; last.bytes];
    file.read_exact_at(&mut stored, last.offset)?;
    let (pages, _) = Pages::open(sealed, stored_bytes, &mut stored)?;
    for page in 0..shape.pages() {
        let place = shape.page(page);
        stored.resize(place.bytes, 0);
        file.read_exact_at(&mut stored, place.offset)?;
        let data_bytes = pages.open_stored(page, &mut stored)?;
        piece(&stored[..data_bytes])?;
    }
    Ok(())
}

fn frames(
    file: &File,
    sealed: &SealedFile,
    piece: &mut dyn FnMut(&[u8]) -> Result<(), Unread>,
) -> Result<(), Unread> {
    let mut reader = FrameReader::new(sealed, 0)?;
    let mut stored = vec![0; CHUNK_BYTES];
    loop {
        while let Some(frame) = reader.next_frame()? {
            piece(frame.data)?;
        }
        let got = file.read_at(&mut stored, reader.next_offset())?;
        if got == 0 {
            break;
        }
        reader.push(&stored[..got]);
    }
    // a torn end is what a writer that was stopped leaves, or one that is writing now
    reader.end()?;
    Ok(())
}
