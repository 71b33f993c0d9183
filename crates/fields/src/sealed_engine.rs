//! An engine around another engine, whose stores seal columns if the variant requires it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sealstone_store::{Engine, EngineFacts, OpenStore, StoreError, StoreOptions, Variant};

use crate::layer::FieldLayer;
use crate::sealed_store::Sealed;

/// Opens stores of the engine below, with the columns sealed that its layer names, for variants
/// that seal fields.
pub struct SealedEngine {
    inner: Box<dyn Engine>,
    layer: FieldLayer,
    /// The sealed columns of each data set so far, in words.
    columns: Mutex<Vec<String>>,
}

impl SealedEngine {
    /// Returns `inner`, with `layer` in front of its stores.
    #[must_use]
    pub fn new(inner: Box<dyn Engine>, layer: FieldLayer) -> Self {
        Self { inner, layer, columns: Mutex::default() }
    }
}

impl Engine for SealedEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.inner.facts();
        let columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner).join("; ");
        if !columns.is_empty() {
            facts.settings.insert("sealed columns".into(), columns);
        }
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        // of the baseline, too: a policy that does not fit is reported before any store is filled
        let words = self.layer.check(&options.tables)?;
        let Some(choice) = variant.field else { return self.inner.open(variant, dir, options) };
        let sealed = self.layer.tables(&options.tables, &choice)?;
        let mut below = options.clone();
        for table in &mut below.tables {
            if let Some(sealed) = sealed.iter().find(|sealed| sealed.stored().id == table.id) {
                *table = sealed.stored().clone();
            }
        }
        let store =
            self.inner.open(variant, dir, &below)?.within(|inner| Sealed::new(inner, sealed));
        let mut known = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&words) {
            known.push(words);
        }
        drop(known);
        Ok(store)
    }
}
