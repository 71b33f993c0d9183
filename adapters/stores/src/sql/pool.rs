//! The connections of a store: as many as there are threads that use it at once, each taken for one
//! operation.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections that no thread uses now.
#[derive(Debug)]
pub(super) struct Pool<L> {
    idle: Mutex<Vec<L>>,
}

impl<L> Pool<L> {
    pub(super) fn new() -> Self {
        Self { idle: Mutex::new(Vec::new()) }
    }

    /// Returns the connection that was used last; `None` if all are in use.
    pub(super) fn take(&self) -> Option<L> {
        self.locked().pop()
    }

    /// Gives `link` back.
    pub(super) fn keep(&self, link: L) {
        self.locked().push(link);
    }

    /// Forgets all: the server that they led to has gone.
    pub(super) fn forget(&self) {
        let gone = std::mem::take(&mut *self.locked());
        drop(gone);
    }

    fn locked(&self) -> MutexGuard<'_, Vec<L>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
