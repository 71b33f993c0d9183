//! Files under an environment that are kept in Rust, in POSIX terms. Not here: environments on them
//! (`env`), files that do so (`files`).

/// Reason for which the files refuse an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Refusal {
    /// `ENOENT`.
    NotFound = 1,
    /// `EEXIST`, `ENOTEMPTY`.
    Exists = 2,
    /// `EIO`.
    Io = 3,
    /// `ENOSPC`.
    NoSpace = 4,
    /// Somebody else holds the lock.
    Busy = 5,
    /// Something that these files cannot do, or a handle that is not open.
    NotSupported = 6,
}

/// Mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It must be there.
    Read,
    /// It is made, or emptied.
    Create,
    /// It is made, or continued at its end.
    Append,
    /// It must be there; reads and writes anywhere.
    Update,
}

/// Object that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// True if it is a directory.
    pub is_directory: bool,
    /// Number of its names.
    pub links: u64,
}

/// The files under an environment, in POSIX terms: an open file stays readable after it was removed
/// or renamed, renaming replaces. Each method answers one call of RocksDB and may be called from
/// many threads at once. Paths are as RocksDB passes them; each method may return any [`Refusal`].
#[allow(clippy::missing_errors_doc)]
pub trait BaseFiles: Send + Sync {
    /// Opens a file and returns a handle.
    fn open(&self, path: &str, how: How) -> Result<u64, Refusal>;
    /// Gives a handle up.
    fn close(&self, handle: u64);
    /// Reads from `offset` on and returns how many bytes; fewer than `into` has room for only at
    /// the end of the file.
    fn read(&self, handle: u64, offset: u64, into: &mut [u8]) -> Result<usize, Refusal>;
    /// Writes at the end.
    fn append(&self, handle: u64, data: &[u8]) -> Result<(), Refusal>;
    /// Writes at `offset`.
    fn write(&self, handle: u64, offset: u64, data: &[u8]) -> Result<(), Refusal>;
    /// Cuts or lengthens the file to `bytes`.
    fn truncate(&self, handle: u64, bytes: u64) -> Result<(), Refusal>;
    /// Brings content and length to stable storage.
    fn sync(&self, handle: u64) -> Result<(), Refusal>;
    /// Returns the length of an open file, in bytes.
    fn handle_size(&self, handle: u64) -> Result<u64, Refusal>;
    /// Returns the length of a file, in bytes.
    fn size(&self, path: &str) -> Result<u64, Refusal>;
    /// Returns the object that `path` refers to.
    fn look(&self, path: &str) -> Result<Found, Refusal>;
    /// Returns whether two names refer to the same file.
    fn same(&self, one: &str, other: &str) -> Result<bool, Refusal>;
    /// Returns the names in a directory.
    fn list(&self, path: &str) -> Result<Vec<String>, Refusal>;
    /// Removes a name of a file.
    fn remove(&self, path: &str) -> Result<(), Refusal>;
    /// Renames a file or directory; a file in the way is replaced.
    fn rename(&self, from: &str, to: &str) -> Result<(), Refusal>;
    /// Gives a file another name.
    fn link(&self, from: &str, to: &str) -> Result<(), Refusal>;
    /// Makes a directory.
    fn make_directory(&self, path: &str) -> Result<(), Refusal>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &str) -> Result<(), Refusal>;
    /// Brings the entries of a directory to stable storage.
    fn sync_directory(&self, path: &str) -> Result<(), Refusal>;
    /// Takes the lock called `path`, and makes a file of that name.
    fn lock(&self, path: &str) -> Result<(), Refusal>;
    /// Gives a lock up.
    fn unlock(&self, path: &str);
}
