//! Stores on a sealed volume: an engine around any other one, whose stores then keep all of their
//! files on a file system on a volume. Not here: volumes (`adapters/volume`), and which variants
//! have one (`sealstone-bench`).
//!
//! A process of its own serves each volume, as it does outside of a comparison, so that its CPU
//! time is known and counts as the store's.

mod at_rest;
mod directory;
mod error;
mod program;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sealstone_store::kind::{Request, StoreKind};
use sealstone_store::{
    Counters, Engine, EngineFacts, OpenStore, RestSeal, StoreError, StoreOptions, Upkeep, Variant,
};
use sealstone_volume::attachment;

pub(crate) use self::at_rest::AT_REST;
use self::directory::VolumeDirectory;
use self::error::VolumeError;
use self::program::VolumeProgram;
use crate::run_key::{ProgramKey, for_program};

/// Opens stores of the engine below on a volume each, for variants whose files that seals.
pub(crate) struct VolumeEngine {
    inner: Box<dyn Engine>,
    program: VolumeProgram,
    key: ProgramKey,
    keep: bool,
}

impl VolumeEngine {
    /// Returns `inner` with the volumes of `request`, and a note for the user about their key.
    ///
    /// # Errors
    /// This machine cannot have volumes; servers of the user's own; a key that cannot be had.
    pub(crate) fn new(
        kind: &StoreKind,
        inner: Box<dyn Engine>,
        request: &Request,
    ) -> Result<(Self, Option<String>), StoreError> {
        if let Some(flag) = kind.shared_by.filter(|flag| request.setting(flag).is_some()) {
            return Err(VolumeError::OwnServers { flag }.into());
        }
        let program = VolumeProgram::find()?;
        if let Some(lack) = attachment::lack() {
            return Err(VolumeError::Unable { lack }.into());
        }
        let (key, note) = for_program(request)?;
        Ok((Self { inner, program, key, keep: request.keep.is_some() }, note))
    }
}

impl Engine for VolumeEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.inner.facts();
        facts.settings.insert(
            "sealed volume".into(),
            "ext4 on a loop device with direct I/O on a file that sealstone serves (FUSE), blocks \
             of 4 KiB; a store without one is on the file system below; sizes are those of the \
             files on it"
                .into(),
        );
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let Some(RestSeal::Volume(choice)) = variant.rest else {
            return self.inner.open(variant, dir, options);
        };
        let volume = VolumeDirectory::make(dir, &choice, &self.program, &self.key, self.keep)?;
        let below = Variant { rest: None, ..variant.clone() };
        let store = self.inner.open(&below, volume.files(), options)?;
        Ok(store.with_upkeep(|inner| Arc::new(OnVolume { inner, volume })))
    }
}

/// Upkeep of a store on a volume.
struct OnVolume {
    inner: Arc<dyn Upkeep>,
    /// Dropped after the store.
    volume: VolumeDirectory,
}

impl Upkeep for OnVolume {
    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn disk_bytes(&self) -> Result<u64, StoreError> {
        self.inner.disk_bytes()
    }

    fn quiesce(&self) -> Result<(), StoreError> {
        self.inner.quiesce()?;
        // its log is put in place now, not while another store is measured
        Ok(self.volume.settle()?)
    }

    fn merge_layers(&self) -> Result<(), StoreError> {
        self.inner.merge_layers()
    }

    fn drop_caches(&self) -> Result<(), StoreError> {
        self.inner.drop_caches()
    }

    fn lead_in(&self) -> Duration {
        self.inner.lead_in()
    }

    fn servers(&self) -> Vec<u32> {
        let mut servers = self.inner.servers();
        servers.push(self.volume.process());
        servers
    }
}
