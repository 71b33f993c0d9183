//! Arguments under which the servers of a comparison encrypt their files: by our plug-in, or by the
//! one that the server brings itself.

use std::path::PathBuf;

use sealstone_mariadb::file_key_management;
use sealstone_store::kind::Request;
use sealstone_store::{RestSeal, ServerEncryption, StoreError, Variant};
use tempfile::TempDir;

use super::at_rest::{AT_REST, MariaDbAtRest};
use crate::run_key::{self, RunSealing};

/// Name of the file with the keys of the server's own plug-in.
const SERVER_KEYS: &str = "server.keys";

const ABOUT: &str = "MariaDB's own encryption (file_key_management), AES with keys of 256 bits, \
                     which leaves a change unnoticed";

/// The server's own encryption in counter mode.
pub(super) const AES_CTR: ServerEncryption = ServerEncryption { name: "AES_CTR", about: ABOUT };
/// The same in CBC.
pub(super) const AES_CBC: ServerEncryption = ServerEncryption { name: "AES_CBC", about: ABOUT };

/// Keys and settings of one comparison, which end with it.
pub(super) struct RestArguments {
    /// Settings of our plug-in, but for the cipher.
    sealing: Option<RunSealing>,
    /// Directory with the keys of the server's own.
    server_keys: Option<TempDir>,
}

impl RestArguments {
    /// Returns what the variants of `request` need.
    ///
    /// # Errors
    /// No plug-in; a key that cannot be had or made.
    pub(super) fn new(request: &Request) -> Result<Self, StoreError> {
        let sealing =
            request.own_seal.then(|| run_key::for_server(&AT_REST, request)).transpose()?;
        let server_keys = request.server_rest.then(|| -> Result<TempDir, StoreError> {
            let dir = tempfile::tempdir().map_err(StoreError::engine)?;
            file_key_management::write_keys(&dir.path().join(SERVER_KEYS))
                .map_err(StoreError::engine)?;
            Ok(dir)
        });
        Ok(Self { sealing, server_keys: server_keys.transpose()? })
    }

    /// Returns the note for the user about the key.
    pub(super) fn note(&self) -> Option<String> {
        self.sealing.as_ref()?.note.clone()
    }

    /// Returns the arguments of the server of `variant`; none if its files stay in the clear.
    ///
    /// # Errors
    /// A value that the server's notation cannot hold.
    pub(super) fn of(&self, variant: &Variant) -> Result<Vec<String>, StoreError> {
        let lacks = || StoreError::engine(format!("{}: no key was made for it", variant.label));
        if let Some(RestSeal::Server(encryption)) = variant.rest {
            let keys: PathBuf =
                self.server_keys.as_ref().ok_or_else(lacks)?.path().join(SERVER_KEYS);
            return Ok(file_key_management::arguments(&keys, encryption.name));
        }
        let Some(choice) = variant.own_rest() else { return Ok(Vec::new()) };
        let RunSealing { sealing, .. } = self.sealing.as_ref().ok_or_else(lacks)?;
        MariaDbAtRest::arguments(&sealing.with(&choice)).map_err(StoreError::engine)
    }
}
