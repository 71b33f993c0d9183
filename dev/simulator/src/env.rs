//! Environments of RocksDB on files that are kept in Rust, sealed or not, and the databases in
//! them.

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::Cipher;
use sealstone_rocksdb::testing::ForeignEnv;
use sealstone_rocksdb::{Error, Sealing};

use crate::base_files::BaseFiles;
use crate::ffi::base::env_on;
pub use crate::ffi::families::{FamilyDb, FamilyWrite};

/// An environment on files that are kept in Rust.
#[derive(Clone, Debug)]
pub struct SimulatedEnv(ForeignEnv);

impl SimulatedEnv {
    /// Makes an environment on `files`, sealed where `sealing` is given.
    pub fn new(files: Arc<dyn BaseFiles>, sealing: Option<Sealing>) -> Self {
        Self(env_on(files, sealing))
    }

    /// Opens the database in `path` with RocksDB's options text and the column families `default`
    /// and `families`; with `transactions`, transactions can be prepared.
    ///
    /// # Errors
    /// As [`sealstone_rocksdb::SealedEnv::open`].
    pub fn open(
        &self,
        path: &Path,
        options: &str,
        families: &[&str],
        transactions: bool,
    ) -> Result<FamilyDb, Error> {
        FamilyDb::open(self.0.clone(), path, options, families, transactions)
    }

    /// Sets `cipher` for new files from now on; without a seal nothing happens.
    pub fn set_cipher(&self, cipher: &'static Cipher) {
        self.0.set_cipher(cipher);
    }
}
