//! A directory of a real file system as a disk. Whatever is there under a name is opened without
//! waiting and looked at: only a regular file with one name is written on.

use std::any::Any;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::uio::pwritev;
use sealstone_file::Kind;

use crate::disk::{Disk, DiskFile};

/// The directory of a volume.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    writes: bool,
}

impl Directory {
    /// Returns the directory at `path`. Looks at nothing yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), writes: true }
    }

    /// Returns the directory at `path`, whose files are opened for reading alone: it may be a
    /// backup on a disk that takes no writes.
    #[must_use]
    pub fn read_only(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), writes: false }
    }

    fn open_regular(&self, name: &str, cached: bool) -> io::Result<File> {
        if let Some((directory, _)) = name.split_once('/') {
            self.check_directory(directory)?;
        }
        open_regular(&self.path.join(name), name, (self.writes, cached))
    }

    /// Refuses anything but a directory in the place of one, a link to one included.
    fn check_directory(&self, name: &str) -> io::Result<()> {
        let found = Kind::of(fs::symlink_metadata(self.path.join(name))?.file_type());
        if found == Kind::Directory {
            return Ok(());
        }
        let text = format!("{name} is {found}, where a directory belongs");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }
}

fn options(writes: bool, cached: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    let direct = if cached { 0 } else { libc::O_DIRECT };
    // a FIFO in the place of a file must not make the opener wait
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC | direct;
    options.read(true).write(writes).mode(0o600).custom_flags(flags);
    options
}

/// Opens what is at `path` if it is a regular file with one name. A file system without direct I/O
/// is used through the page cache.
fn open_regular(path: &Path, name: &str, (writes, cached): (bool, bool)) -> io::Result<File> {
    let file = match options(writes, cached).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(not_a_file(name, Kind::Link));
        }
        Err(error) if error.raw_os_error() == Some(libc::EISDIR) => {
            return Err(not_a_file(name, Kind::Directory));
        }
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !cached => {
            return open_regular(path, name, (writes, true));
        }
        opened => opened?,
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(not_a_file(name, Kind::of(found.file_type())));
    }
    if writes && found.nlink() != 1 {
        let text = "a file with another name elsewhere, which would be written on too";
        return Err(not_a_file(name, text));
    }
    Ok(file)
}

impl Disk for Directory {
    fn open(&self, name: &str, cached: bool) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(self.open_regular(name, cached)?)))
    }

    fn create(&self, name: &str, cached: bool) -> io::Result<Arc<dyn DiskFile>> {
        let file = options(true, cached).create_new(true).open(self.path.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Any + Send + Sync>> {
        let file = self.open_regular(name, true)?;
        let locked = if self.writes { file.try_lock() } else { file.try_lock_shared() };
        locked.map_err(io::Error::from)?;
        Ok(Box::new(file))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        if !directory.is_empty() {
            self.check_directory(directory)?;
        }
        fs::read_dir(self.path.join(directory))?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn make_directory(&self, name: &str) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().mode(0o700).create(self.path.join(name))
    }

    fn sync_directory(&self, directory: &str) -> io::Result<()> {
        File::open(self.path.join(directory))?.sync_all()
    }
}

fn not_a_file(name: &str, found: impl Display) -> io::Error {
    let text = format!("{name} is {found}, where a regular file belongs");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn write(&self, mut offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut slices = &mut slices[..];
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match pwritev(self.0.as_fd(), slices, offset as i64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut slices, written);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()> {
        match fallocate(self.0.as_fd(), FallocateFlags::empty(), offset as i64, bytes as i64) {
            // a file system that cannot reserve reports that when it is written to
            Err(Errno::EOPNOTSUPP) => Ok(()),
            result => Ok(result?),
        }
    }

    fn punch(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let mode = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        match fallocate(self.0.as_fd(), mode, offset as i64, bytes as i64) {
            // then the space stays taken
            Err(Errno::EOPNOTSUPP) => Ok(()),
            result => Ok(result?),
        }
    }
}
