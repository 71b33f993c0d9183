//! Sealed environments, which RocksDB uses instead of the operating system's files.

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, Cipher};
use sealstone_keys::KeySource;

use crate::ffi::{Abilities, Backups, Base, Cache, Code, Db, Env, Error};
use crate::file_system::SealedFiles;
use crate::place::not_text;
use crate::sealing_options::Sealing;

/// Options for opening a database.
#[derive(Clone, Debug)]
pub struct DbOptions {
    /// RocksDB's own options text, such as `create_if_missing=true;write_buffer_size=1048576`.
    pub text: String,
    /// Size of the block cache in bytes; absent: RocksDB's default.
    pub cache_bytes: Option<u64>,
    /// True if transactions can be made.
    pub transactions: bool,
    /// True if reads compare RocksDB's own checksum of each block, which is one more pass over it.
    /// In a sealed file what is read is authenticated already.
    pub block_checksums: bool,
}

impl Default for DbOptions {
    /// Creates missing databases, and otherwise keeps RocksDB's own defaults: damage in the synced
    /// part of a log stops the opening in every recovery mode.
    fn default() -> Self {
        Self {
            text: "create_if_missing=true".into(),
            cache_bytes: None,
            transactions: false,
            block_checksums: true,
        }
    }
}

/// An environment in which every file is stored sealed: encrypted, authenticated, bound to its
/// place.
///
/// ```
/// use std::sync::Arc;
/// use sealstone_rocksdb::{DbOptions, SealedEnv};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let keys = sealstone_keys::KeyFile::create(dir.path().join("key"), "example")?;
/// let cipher = sealstone_cipher::cipher("aes-256")?;
/// let env = SealedEnv::new(Arc::new(keys), cipher, sealstone_cipher::Backend::auto());
/// let db = env.open(&dir.path().join("db"), &DbOptions::default())?;
/// db.put(b"17", b"seventeen", false)?;
/// assert_eq!(db.get(b"17")?.as_deref(), Some(&b"seventeen"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SealedEnv(Arc<Env>);

impl SealedEnv {
    /// Makes an environment on the operating system's files.
    ///
    /// - `keys`: its current key wraps the key of every new file; requested again for every file
    ///   that is opened
    /// - `cipher`: seals new files
    /// - `backend`: instruction set to use
    pub fn new(keys: Arc<dyn KeySource>, cipher: &'static Cipher, backend: Backend) -> Self {
        Self::with(Sealing::new(keys, cipher, backend))
    }

    /// As [`SealedEnv::new`], with every choice open.
    pub fn with(sealing: Sealing) -> Self {
        Self::on(Base::Files, sealing, false)
    }

    /// Makes an environment on the operating system's files, for the time of a conversion: unsealed
    /// files are read unchanged. New files are sealed, and [`Reseal`](crate::reseal::Reseal)
    /// rewrites the others; once it finds none left, plain files are refused again. Until then,
    /// anyone who can write in the directory can make the database read what they like.
    pub fn converting(sealing: Sealing) -> Self {
        Self::on(Base::Files, sealing, true)
    }

    /// Makes an environment on the operating system's files, for reading only: every change of a
    /// file is refused. For [`SealedEnv::open_for_reading`].
    pub(crate) fn reading(sealing: Sealing) -> Self {
        let files = SealedFiles::new(sealing);
        files.set_read_only();
        Self(Arc::new(Env::new(Base::Files, true, Some(files))))
    }

    /// Makes an environment on files in memory, gone with the environment: for tests.
    pub fn in_memory(sealing: Sealing) -> Self {
        Self::on(Base::Memory, sealing, false)
    }

    fn on(base: Base, sealing: Sealing, reads_plain: bool) -> Self {
        let files = SealedFiles::new(sealing);
        files.set_reads_plain(reads_plain);
        Self(Arc::new(Env::new(base, true, Some(files))))
    }

    /// Opens the database in directory `path`.
    ///
    /// # Errors
    /// No key, another key, damage, files in the clear, a directory in use; the message names the
    /// file. Unknown options of RocksDB.
    pub fn open(&self, path: &Path, options: &DbOptions) -> Result<Db, Error> {
        as_text(path)?;
        open(&self.0, path, options)
    }

    /// Opens the existing database in directory `path` with the options and all the column families
    /// that it was last opened with, which RocksDB keeps next to the data. For tools that did not
    /// write the database.
    ///
    /// # Errors
    /// As [`SealedEnv::open`]; also options that only the program that wrote them can make, such as
    /// a merge operator.
    pub fn open_stored(&self, path: &Path) -> Result<Db, Error> {
        as_text(path)?;
        let converting = self.0.sealed_files().is_some_and(|files| files.reads_plain());
        Db::open_stored(Arc::clone(&self.0), path, !converting)
    }

    /// Opens the existing database in directory `path` without writing anything; reads are of the
    /// last of `families`.
    ///
    /// Takes no lock: another process may be writing the database. Its files must be the files in
    /// its catalogue, and it must not be older than the anchor's record, as in [`SealedEnv::open`].
    ///
    /// # Errors
    /// As [`SealedEnv::open`].
    pub fn open_for_reading(&self, path: &Path, families: &[&str]) -> Result<Db, Error> {
        as_text(path)?;
        Db::open_for_reading(Arc::clone(&self.0), path, families)
    }

    /// Opens or begins a directory of backups, sealed as the database is.
    ///
    /// # Errors
    /// As [`SealedEnv::open`].
    pub fn backups(&self, path: &Path) -> Result<Backups, Error> {
        as_text(path)?;
        Backups::open(Arc::clone(&self.0), path)
    }

    /// Returns the counts of reads and writes below the seal so far.
    pub fn io(&self) -> crate::IoCounts {
        self.0.io()
    }

    /// Returns an environment for users of `rocksdb/c.h`, on the operating system's files: a
    /// `rocksdb_env_t*`, which its owner ends with `rocksdb_env_destroy` once every database in it
    /// is closed. It keeps what it needs, and counts nothing.
    ///
    /// # Panics
    /// If there is no memory.
    #[cfg(feature = "plugin")]
    #[must_use]
    pub fn for_c(sealing: Sealing) -> std::ptr::NonNull<std::ffi::c_void> {
        Env::new(Base::Files, false, Some(SealedFiles::new(sealing))).into_c()
    }

    /// Returns the environment for the crate `rocksdb`, for `rocksdb::Options::set_env`. It keeps
    /// what it needs.
    ///
    /// # Panics
    /// If a clone of this environment, or a database opened with it, still lives.
    #[cfg(feature = "rust-rocksdb")]
    pub fn into_rust_rocksdb(self) -> rocksdb::Env {
        let env = Arc::try_unwrap(self.0).expect("the environment has one owner");
        env.into_rust_rocksdb()
    }
}

/// An environment that seals nothing and counts reads and writes: the baseline for a sealed
/// database.
#[derive(Clone, Debug)]
pub struct PlainEnv(Arc<Env>);

impl PlainEnv {
    /// Makes an environment on the operating system's files.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Env::new(Base::Files, true, None)))
    }

    /// Opens the database in directory `path`.
    ///
    /// # Errors
    /// A directory in use, sealed files, damage; the message names the file. Unknown options of
    /// RocksDB.
    pub fn open(&self, path: &Path, options: &DbOptions) -> Result<Db, Error> {
        open(&self.0, path, options)
    }

    /// Opens the existing database in directory `path` as [`SealedEnv::open_stored`] does.
    ///
    /// # Errors
    /// As [`PlainEnv::open`].
    pub fn open_stored(&self, path: &Path) -> Result<Db, Error> {
        Db::open_stored(Arc::clone(&self.0), path, true)
    }

    /// Opens the existing database in directory `path` as [`SealedEnv::open_for_reading`] does.
    pub(crate) fn open_for_reading(&self, path: &Path, families: &[&str]) -> Result<Db, Error> {
        Db::open_for_reading(Arc::clone(&self.0), path, families)
    }
}

impl Default for PlainEnv {
    fn default() -> Self {
        Self::new()
    }
}

/// Refuses a path that no catalogue could record.
fn as_text(path: &Path) -> Result<(), Error> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(Error { code: Code::InvalidArgument, text: not_text(&path.to_string_lossy()) }),
    }
}

fn open(env: &Arc<Env>, path: &Path, options: &DbOptions) -> Result<Db, Error> {
    let cache = options.cache_bytes.map(|bytes| Arc::new(Cache::new(bytes)));
    let DbOptions { text, transactions, block_checksums, .. } = options;
    let abilities = Abilities { transactions: *transactions, block_checksums: *block_checksums };
    Db::open(Arc::clone(env), path, text, cache, abilities)
}
