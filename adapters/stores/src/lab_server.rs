//! Servers that a comparison starts for one store, and that end with it.

use sealstone_servers::Running;

/// The server of one store, or all of its servers.
#[derive(Debug)]
pub(crate) struct LabServer<R: Running> {
    pub(crate) running: R,
    keep: bool,
}

impl<R: Running> LabServer<R> {
    /// Makes it. `keep`: whether its data are kept.
    pub(crate) fn new(running: R, keep: bool) -> Self {
        Self { running, keep }
    }
}

impl<R: Running> Drop for LabServer<R> {
    fn drop(&mut self) {
        // a server removed at once needs no clean shutdown; a server that cannot be stopped is
        // killed when dropped
        if self.keep {
            let _ = self.running.stop();
        }
    }
}
