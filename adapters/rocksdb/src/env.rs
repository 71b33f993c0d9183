//! Sealed environments: what RocksDB is given instead of the operating system's files. Not here: which settings the
//! measured engine uses (`engine`).

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry::Cipher;
use sealstone_keys::KeySource;

use crate::anchor::Anchor;
use crate::ffi::{Backups, Base, Cache, Db, Env, Error};
use crate::file_system::SealedFiles;
use crate::meter::CipherMeter;

/// Bytes of data in a page of a table file when nothing speaks for another length: 4096. A block of a table begins and
/// ends anywhere, so reading one opens its own length and about a page more; short pages keep that small. Scans gain
/// next to nothing from longer ones, since they read many pages at once.
pub const PAGE_BYTES: u32 = 4096;

/// How new files are sealed. Existing files are read as their own headers say.
#[derive(Clone)]
pub struct Sealing {
    /// Where keys come from.
    pub keys: Arc<dyn KeySource>,
    /// Cipher of new files.
    pub cipher: &'static Cipher,
    /// Instruction set to use.
    pub backend: Backend,
    /// Bytes of data in a page of a table file: a power of two from 4096 to 65536.
    pub page_bytes: u32,
    /// What remembers outside the store how new it was, so that an older copy of all its files is an error. An environment
    /// with an anchor is for one store.
    pub anchor: Option<Arc<dyn Anchor>>,
}

impl Sealing {
    /// With pages of [`PAGE_BYTES`], and no anchor.
    pub fn new(keys: Arc<dyn KeySource>, cipher: &'static Cipher, backend: Backend) -> Self {
        Self { keys, cipher, backend, page_bytes: PAGE_BYTES, anchor: None }
    }
}

/// An environment with its counters, sealed or not.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) env: Arc<Env>,
    pub(crate) meter: Arc<CipherMeter>,
}

impl Environment {
    /// On `base`, counting, and sealed where `sealing` is given.
    pub(crate) fn new(base: Base, sealing: Option<Sealing>) -> Self {
        Self::reading(base, sealing, false)
    }

    /// As [`Environment::new`]; with `plain`, files that are not sealed are read as they are.
    fn reading(base: Base, sealing: Option<Sealing>, plain: bool) -> Self {
        let meter = Arc::new(CipherMeter::default());
        let files = sealing.map(|sealing| {
            let Sealing { keys, cipher, backend, page_bytes, anchor } = sealing;
            let files = SealedFiles::new(keys, cipher, backend, page_bytes, anchor, Arc::clone(&meter));
            files.set_reads_plain(plain);
            files
        });
        Self { env: Arc::new(Env::new(base, true, files)), meter }
    }

    /// Opens a database in it.
    pub(crate) fn open(&self, path: &Path, options: &DbOptions) -> Result<Db, Error> {
        let cache = options.cache_bytes.map(|bytes| Arc::new(Cache::new(bytes)));
        Db::open(Arc::clone(&self.env), path, &options.text, cache, options.transactions)
    }
}

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct DbOptions {
    /// RocksDB's own options text, such as `create_if_missing=true;write_buffer_size=1048576`.
    pub text: String,
    /// Size of the block cache in bytes; absent: RocksDB's default.
    pub cache_bytes: Option<u64>,
    /// Whether transactions can be made.
    pub transactions: bool,
}

impl Default for DbOptions {
    /// Creates what is missing, and keeps to RocksDB's own defaults otherwise: damage in what was synced of a log stops the
    /// opening in every recovery mode.
    fn default() -> Self {
        Self { text: "create_if_missing=true".into(), cache_bytes: None, transactions: false }
    }
}

/// An environment in which every file is stored sealed: encrypted, authenticated, bound to its place.
///
/// ```
/// use std::sync::Arc;
/// use sealstone_rocksdb::{DbOptions, SealedEnv};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let keys = sealstone_keys::file::KeyFile::create(dir.path().join("key"), "example")?;
/// let env = SealedEnv::new(Arc::new(keys), sealstone_cipher::registry::cipher("aes-256")?, sealstone_cipher::backend::Backend::auto());
/// let db = env.open(&dir.path().join("db"), &DbOptions::default())?;
/// db.put(b"17", b"seventeen", false)?;
/// assert_eq!(db.get(b"17")?.as_deref(), Some(&b"seventeen"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SealedEnv(Environment);

impl SealedEnv {
    /// On the operating system's files.
    ///
    /// - `keys`: its current key wraps the key of every new file; asked again for every file that is opened
    /// - `cipher`: seals new files
    /// - `backend`: instruction set to use
    pub fn new(keys: Arc<dyn KeySource>, cipher: &'static Cipher, backend: Backend) -> Self {
        Self::with(Sealing::new(keys, cipher, backend))
    }

    /// As [`SealedEnv::new`], with every choice open.
    pub fn with(sealing: Sealing) -> Self {
        Self(Environment::new(Base::Files, Some(sealing)))
    }

    /// On the operating system's files, for the time of a conversion: files that are not sealed are read as they are.
    /// New files are sealed, and [`Reseal`](crate::reseal::Reseal) rewrites the others; once it finds none left, plain
    /// files are refused again. Until then whoever can write in the directory can make the database read what they like.
    pub fn converting(sealing: Sealing) -> Self {
        Self(Environment::reading(Base::Files, Some(sealing), true))
    }

    /// On files in memory, gone with the environment: for tests.
    pub fn in_memory(sealing: Sealing) -> Self {
        Self(Environment::new(Base::Memory, Some(sealing)))
    }

    /// Opens the database in directory `path`.
    ///
    /// # Errors
    /// No key, another key, damage, files in the clear, a directory in use; the message names the file. Options that
    /// RocksDB does not know.
    pub fn open(&self, path: &Path, options: &DbOptions) -> Result<Db, Error> {
        self.0.open(path, options)
    }

    /// Opens the existing database in directory `path` with the options and all the column families that it was last
    /// opened with, which RocksDB keeps beside the data. For tools that did not write the database.
    ///
    /// # Errors
    /// As [`SealedEnv::open`]; also options that only the program that wrote them can make, such as a merge operator.
    pub fn open_stored(&self, path: &Path) -> Result<Db, Error> {
        let converting = self.0.env.sealed_files().is_some_and(|files| files.reads_plain());
        Db::open_stored(Arc::clone(&self.0.env), path, !converting)
    }

    /// Opens or begins a directory of backups, sealed as the database is.
    ///
    /// # Errors
    /// As [`SealedEnv::open`].
    pub fn backups(&self, path: &Path) -> Result<Backups, Error> {
        Backups::open(Arc::clone(&self.0.env), path)
    }

    /// What was read and written below the seal so far.
    pub fn io(&self) -> crate::IoCounts {
        self.0.env.io()
    }

    /// The environment for the crate `rocksdb`, for `rocksdb::Options::set_env`. It keeps what it needs.
    ///
    /// # Panics
    /// If a clone of this environment, or a database opened with it, still lives.
    #[cfg(feature = "rust-rocksdb")]
    pub fn into_rust_rocksdb(self) -> rocksdb::Env {
        let env = Arc::try_unwrap(self.0.env).expect("the environment has one owner");
        env.into_rust_rocksdb()
    }
}
