//! Keys, settings and files for reading and changing the catalogues of an environment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use sealstone_anchor::Anchor;
use sealstone_cipher::{Backend, Cipher, Provider};
use sealstone_keys::KeySource;

use super::raw::RawFiles;

/// Keys, cipher and settings for sealing a catalogue.
pub(crate) struct Sealer {
    pub(crate) keys: Arc<dyn KeySource>,
    /// Cipher of new files.
    pub(crate) cipher: RwLock<&'static Cipher>,
    pub(crate) backend: Backend,
    /// True if unsealed files are read unchanged.
    pub(crate) reads_plain: AtomicBool,
    /// True if nothing may be written.
    pub(crate) read_only: AtomicBool,
    /// Anchor that remembers how new a store is, if the user has set it up.
    pub(crate) anchor: Option<Arc<dyn Anchor>>,
}

impl Sealer {
    /// Returns who computes with the keys.
    pub(super) fn provider(&self) -> Provider {
        self.keys.provider(self.backend)
    }
}

/// Keys, settings and files for reading a catalogue.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) keys: &'a dyn KeySource,
    pub(super) backend: Backend,
    /// True if unsealed files are accepted unchanged.
    pub(super) reads_plain: bool,
    pub(super) files: &'a dyn RawFiles,
}

/// Sealer and files for changing a catalogue.
#[derive(Clone, Copy)]
pub(super) struct Changing<'a> {
    pub(super) sealer: &'a Sealer,
    pub(super) files: &'a dyn RawFiles,
}

impl<'a> Changing<'a> {
    pub(super) fn reading(self) -> Reading<'a> {
        let Sealer { keys, backend, reads_plain, .. } = self.sealer;
        let reads_plain = reads_plain.load(Ordering::Acquire);
        Reading { keys: &**keys, backend: *backend, reads_plain, files: self.files }
    }
}
