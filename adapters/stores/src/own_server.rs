//! A single server that is started for one store and ends with it. Not here: groups of servers
//! (`lab_server`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use sealstone_servers::{Running, Single, SingleKind, forget_pages, process_family};
use sealstone_store::StoreError;

use crate::lab_server::LabServer;
use crate::lent::Lent;

/// The server of one store, which ends with it.
#[derive(Debug)]
pub(crate) struct Owned<K: SingleKind> {
    server: Mutex<LabServer<Single<K>>>,
}

impl<K: SingleKind> Owned<K> {
    /// Makes it. `keep`: whether its data are kept.
    pub(crate) fn new(server: Single<K>, keep: bool) -> Self {
        Self { server: Mutex::new(LabServer::new(server, keep)) }
    }

    fn server(&self) -> MutexGuard<'_, LabServer<Single<K>>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: SingleKind> Lent for Owned<K>
where
    Single<K>: Send,
{
    fn pids(&self) -> Vec<u32> {
        // connections and background work can be processes of their own
        let family = self.server().running.server().pid().map(process_family).unwrap_or_default();
        family.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    fn restart(&self) -> Result<bool, StoreError> {
        let server = &mut self.server().running;
        Running::stop(server).map_err(StoreError::engine)?;
        forget_pages(&K::data_dir(server.server().dir())).map_err(StoreError::engine)?;
        server.start_again().map_err(StoreError::engine)?;
        Ok(true)
    }
}
