//! Databases on files that a test keeps (feature `simulator`): the trait of such files, and environments on them,
//! sealed or not. Not part of the shipped library. Not here: a file system that loses things (`dev/simulator`).

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::registry::Cipher;

pub use crate::base_files::{BaseFiles, Found, How, Refusal};
pub use crate::ffi::families::{FamilyDb, FamilyWrite};
use crate::ffi::{Env, Error};
use crate::file_system::SealedFiles;
use crate::sealing::Sealing;

/// An environment on such files.
#[derive(Clone, Debug)]
pub struct SimulatedEnv(Arc<Env>);

impl SimulatedEnv {
    /// On `files`, sealed where `sealing` is given.
    pub fn new(files: Arc<dyn BaseFiles>, sealing: Option<Sealing>) -> Self {
        Self(Arc::new(Env::on(files, sealing.map(SealedFiles::new))))
    }

    /// Opens the database in `path` with RocksDB's options text and the column families `default` and `families`;
    /// with `transactions`, transactions can be prepared.
    ///
    /// # Errors
    /// As [`crate::SealedEnv::open`].
    pub fn open(&self, path: &Path, options: &str, families: &[&str], transactions: bool) -> Result<FamilyDb, Error> {
        FamilyDb::open(Arc::clone(&self.0), path, options, families, transactions)
    }

    /// From now on new files get `cipher`; without a seal nothing happens.
    pub fn set_cipher(&self, cipher: &'static Cipher) {
        if let Some(files) = self.0.sealed_files() {
            files.set_cipher(cipher);
        }
    }
}
