//! The state of a catalogue in memory: as read, with the changes since.

use std::collections::BTreeMap;

use sealstone_anchor::Mark;
use sealstone_cipher::Provider;
use sealstone_seal::catalogue::{Catalogue, Entry, FileId, State};

use super::refusal::{Refusal, refuse};

/// A catalogue, and how much of each file was synced.
pub(super) struct Known {
    pub(super) catalogue: Catalogue,
    /// Number of changes that its generation has had.
    pub(super) changes: u64,
    /// Synced length of each file, in stored bytes.
    pub(super) synced: BTreeMap<FileId, u64>,
}

impl Known {
    /// Makes an empty catalogue of a new store, for `directory`; `provider` draws the store's id.
    pub(super) fn new(directory: &str, provider: Provider) -> Result<Self, Refusal> {
        let catalogue = Catalogue::new(provider).or_else(|error| refuse(directory, error))?;
        Ok(Self { catalogue, changes: 0, synced: BTreeMap::new() })
    }

    /// Returns the mark of how new it is.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            store: self.catalogue.store,
            generation: self.catalogue.generation,
            changes: self.changes,
        }
    }
}

/// Returns whether a file of this name is only ever renamed, and so of no use after a crash.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.ends_with(".dbtmp") || name == "CURRENT.tmp"
}

/// Returns the entry of the file `file_id`, made where it is.
pub(super) fn live(file_id: FileId) -> Entry {
    Entry { file_id, adopted: false, slot: None, synced_bytes: 0, state: State::Live }
}
