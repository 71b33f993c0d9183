//! Disks: what a volume requires of the place that its files are in. A directory of a real file
//! system is one ([`crate::Directory`]), and so is a simulated disk that loses what was not synced.

use std::any::Any;
use std::io;
use std::sync::Arc;

/// A directory with the files of one volume. Names may have one `/`, for the directory of the log.
pub trait Disk: Send + Sync + 'static {
    /// Opens a regular file for reading and writing.
    ///
    /// - `cached`: through the page cache; else offsets, lengths and memory are aligned to 4096
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` for anything but a regular file with one name.
    fn open(&self, name: &str, cached: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes an empty file.
    ///
    /// # Errors
    /// `AlreadyExists` for any name that is taken.
    fn create(&self, name: &str, cached: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Keeps every other process from locking a file until the returned value is dropped.
    ///
    /// # Errors
    /// `NotFound`; `WouldBlock` if another process has it locked.
    fn lock(&self, name: &str) -> io::Result<Box<dyn Any + Send + Sync>>;

    /// Removes a file.
    ///
    /// # Errors
    /// Of the file system.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives a file another name, in the same directory; there is no file of that name.
    ///
    /// # Errors
    /// Of the file system.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Returns the names in a directory: `""` for that of the volume.
    ///
    /// # Errors
    /// Of the file system.
    fn list(&self, directory: &str) -> io::Result<Vec<String>>;

    /// Makes a directory.
    ///
    /// # Errors
    /// Of the file system.
    fn make_directory(&self, name: &str) -> io::Result<()>;

    /// Brings the names in a directory to stable storage.
    ///
    /// # Errors
    /// Of the file system.
    fn sync_directory(&self, directory: &str) -> io::Result<()>;
}

/// An open file of a disk.
pub trait DiskFile: Send + Sync {
    /// Reads the bytes at `offset` into all of `out`; bytes never written within the length are
    /// zeros.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes `parts` one after the other at `offset`.
    ///
    /// # Errors
    /// Any of the bytes may be written then, and others not.
    fn write(&self, offset: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Brings the content to stable storage.
    ///
    /// # Errors
    /// Writes since the last sync are then lost, or not, and no later sync will tell.
    fn sync(&self) -> io::Result<()>;

    /// Returns the length, in bytes.
    ///
    /// # Errors
    /// Of the file system.
    fn bytes(&self) -> io::Result<u64>;

    /// Sets the length; what is added is zeros and takes no space.
    ///
    /// # Errors
    /// Of the file system.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;

    /// Makes sure that a later write within the range does not fail for want of space.
    ///
    /// # Errors
    /// `StorageFull`; nothing changed then.
    fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()>;

    /// Returns the space of a range whose content is not needed any more.
    ///
    /// # Errors
    /// Of the file system.
    fn punch(&self, offset: u64, bytes: u64) -> io::Result<()>;
}
