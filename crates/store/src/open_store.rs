//! Open stores as engines hand them out: operations, upkeep, and the layers around them.

use std::sync::Arc;

use crate::device::Device;
use crate::{Counters, Store, Target, Upkeep};

/// A layer around a store that counts its own work.
pub trait Meter: Send + Sync {
    /// Returns the counts of the layer alone.
    fn counters(&self) -> Counters;
}

/// An open store: it ends when this is dropped.
pub struct OpenStore {
    content: Content,
    layers: Vec<Arc<dyn Meter>>,
    /// Dropped after the content, so that it may hold what serves it.
    upkeep: Arc<dyn Upkeep>,
}

enum Content {
    Records(Arc<dyn Store>),
    Device { device: Box<dyn Device>, stream: Option<Box<dyn Device>> },
}

impl OpenStore {
    /// Returns a store of records that cares for itself.
    #[must_use]
    pub fn records(store: impl Store + Upkeep + 'static) -> Self {
        Self::from(Arc::new(store))
    }

    /// Returns a block device, the sink at the other end of the link to it if there is one (see
    /// [`Target::Device`]), and its upkeep, which is dropped after the device.
    #[must_use]
    pub fn device(
        device: Box<dyn Device>,
        stream: Option<Box<dyn Device>>,
        upkeep: impl Upkeep + 'static,
    ) -> Self {
        Self {
            content: Content::Device { device, stream },
            layers: Vec::new(),
            upkeep: Arc::new(upkeep),
        }
    }

    /// Returns the store with a layer around its records, which `wrap` makes. A block device has
    /// none, and stays unchanged.
    #[must_use]
    pub fn within<S: Store + Meter + 'static>(
        mut self,
        wrap: impl FnOnce(Arc<dyn Store>) -> S,
    ) -> Self {
        if let Content::Records(inner) = self.content {
            let layer = Arc::new(wrap(inner));
            self.content = Content::Records(layer.clone());
            self.layers.push(layer);
        }
        self
    }

    /// Returns the store with the upkeep that `wrap` makes of its own. It is dropped after the
    /// store, so that it may hold what the store's files are on.
    #[must_use]
    pub fn with_upkeep(mut self, wrap: impl FnOnce(Arc<dyn Upkeep>) -> Arc<dyn Upkeep>) -> Self {
        self.upkeep = wrap(self.upkeep);
        self
    }

    /// Returns what operations go to.
    #[must_use]
    pub fn target(&self) -> Target<'_> {
        match &self.content {
            Content::Records(store) => Target::Records(&**store),
            Content::Device { device, stream } => {
                Target::Device { device: &**device, stream: stream.as_deref() }
            }
        }
    }

    /// Returns the care for the store.
    #[must_use]
    pub fn upkeep(&self) -> &dyn Upkeep {
        &*self.upkeep
    }

    /// Returns the counts of the store and of the layers around it so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.layers.iter().fold(self.upkeep.counters(), |sum, layer| sum + layer.counters())
    }
}

impl<S: Store + Upkeep + 'static> From<Arc<S>> for OpenStore {
    fn from(store: Arc<S>) -> Self {
        Self { content: Content::Records(store.clone()), layers: Vec::new(), upkeep: store }
    }
}
