//! Chunks of work through a device: several lanes, each a thread with a queue, device memory and page-locked memory of
//! its own, take one chunk after the other, so that copying in, computing and copying out overlap.
//!
//! Not here: what a chunk is (`ctr`, `ff1`), and how devices are reached (`runtime`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::runtime::{Fault, HostMemory, Keyed, Lane, Runtime};

/// The lanes of one key.
pub(crate) struct Lanes {
    runtime: Arc<dyn Runtime>,
    keyed: Arc<dyn Keyed>,
    count: usize,
    lane_bytes: usize,
    /// Lanes that no call uses now.
    idle: Mutex<Vec<Worker>>,
}

/// A lane, and the memory from which and to which it copies; none where the data is page-locked itself.
pub(crate) struct Worker {
    pub(crate) lane: Box<dyn Lane>,
    staging: Option<Box<dyn HostMemory>>,
    runtime: Arc<dyn Runtime>,
    lane_bytes: usize,
}

impl Worker {
    /// The lane and its page-locked memory, which is as large as that on the device.
    pub(crate) fn staged(&mut self) -> Result<(&mut dyn Lane, &mut [u8]), Fault> {
        let staging = match &mut self.staging {
            Some(staging) => staging,
            none => none.insert(self.runtime.page_locked(self.lane_bytes)?),
        };
        Ok((&mut *self.lane, staging.bytes_mut()))
    }
}

impl Lanes {
    /// `count` lanes at most, each with `lane_bytes` of the device's memory. They are made when they are needed.
    pub(crate) fn new(runtime: Arc<dyn Runtime>, keyed: Arc<dyn Keyed>, count: usize, lane_bytes: usize) -> Self {
        Self { runtime, keyed, count: count.max(1), lane_bytes, idle: Mutex::default() }
    }

    /// Name of the device.
    pub(crate) fn device(&self) -> &str {
        &self.runtime.facts().name
    }

    pub(crate) fn keyed(&self) -> &dyn Keyed {
        &*self.keyed
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn lane_bytes(&self) -> usize {
        self.lane_bytes
    }

    /// Does `work` for every one of `chunks`, in as many threads as there are lanes. After a fault no further chunk is
    /// begun.
    pub(crate) fn each<C: Send>(
        &self,
        chunks: Vec<C>,
        work: impl Fn(&mut Worker, C) -> Result<(), Fault> + Sync,
    ) -> Result<(), Fault> {
        let lanes = self.count.min(chunks.len());
        let (chunks, failed) = (Mutex::new(chunks.into_iter()), Mutex::new(None));
        let run = || {
            let mut worker = None;
            loop {
                let Some(chunk) = (if lock(&failed).is_some() { None } else { lock(&chunks).next() }) else { break };
                let result = match &mut worker {
                    Some(worker) => work(worker, chunk),
                    None => self.worker().and_then(|new| work(worker.insert(new), chunk)),
                };
                if let Err(fault) = result {
                    lock(&failed).get_or_insert(fault);
                    // It is of no use any more.
                    worker = None;
                }
            }
            lock(&self.idle).extend(worker);
        };
        if lanes <= 1 {
            run();
        } else {
            std::thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(run))));
        }
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// A lane that is idle, or a new one.
    fn worker(&self) -> Result<Worker, Fault> {
        let idle = lock(&self.idle).pop();
        let new = || {
            let lane = self.keyed.lane(self.lane_bytes)?;
            Ok(Worker { lane, staging: None, runtime: self.runtime.clone(), lane_bytes: self.lane_bytes })
        };
        idle.map_or_else(new, Ok)
    }
}

/// What a lock holds; nothing that is locked here is ever half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
