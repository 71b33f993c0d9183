//! Chunks of work through a device: several lanes, each a thread with its own queue, device memory
//! and page-locked memory, take one chunk after the other, so that copying in, computing and
//! copying out overlap.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::runtime::{Fault, HostMemory, Keyed, Lane, Runtime};

/// The lanes of one key.
pub(crate) struct Lanes {
    runtime: Arc<dyn Runtime>,
    keyed: Arc<dyn Keyed>,
    count: usize,
    lane_bytes: usize,
    /// Lanes that nobody uses now.
    idle: Mutex<Vec<Worker>>,
    /// Number of lanes in use: several calls at a time use no more than a single call, since each
    /// lane takes memory.
    busy: Mutex<usize>,
    /// Notified when a lane becomes idle.
    returned: Condvar,
}

/// The permission to use one lane.
struct Turn<'a>(&'a Lanes);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.busy) -= 1;
        self.0.returned.notify_one();
    }
}

/// A lane, and the memory from which and to which it copies; none where the data is page-locked
/// itself.
pub(crate) struct Worker {
    pub(crate) lane: Box<dyn Lane>,
    staging: Option<Box<dyn HostMemory>>,
    runtime: Arc<dyn Runtime>,
    lane_bytes: usize,
}

impl Worker {
    /// Returns the lane and its page-locked memory, which is as large as that on the device.
    pub(crate) fn staged(&mut self) -> Result<(&mut dyn Lane, &mut [u8]), Fault> {
        let staging = match &mut self.staging {
            Some(staging) => staging,
            none => none.insert(self.runtime.page_locked(self.lane_bytes)?),
        };
        Ok((&mut *self.lane, staging.bytes_mut()))
    }
}

impl Lanes {
    /// Returns `count` lanes at most, each with `lane_bytes` of the device's memory. They are made
    /// when they are needed.
    pub(crate) fn new(
        runtime: Arc<dyn Runtime>,
        keyed: Arc<dyn Keyed>,
        count: usize,
        lane_bytes: usize,
    ) -> Self {
        let (idle, busy, returned) = (Mutex::default(), Mutex::default(), Condvar::new());
        Self { runtime, keyed, count: count.max(1), lane_bytes, idle, busy, returned }
    }

    /// Returns the name of the device.
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

    /// Does `work` for every one of `chunks`, in as many threads as there are lanes. After a fault
    /// no further chunk is begun.
    pub(crate) fn each<C: Send>(
        &self,
        chunks: Vec<C>,
        work: impl Fn(&mut Worker, C) -> Result<(), Fault> + Sync,
    ) -> Result<(), Fault> {
        let lanes = self.count.min(chunks.len());
        let (chunks, failed) = (Mutex::new(chunks.into_iter()), Mutex::new(None));
        let run = || {
            let mut held: Option<(Worker, Turn<'_>)> = None;
            loop {
                let Some(chunk) =
                    (if lock(&failed).is_some() { None } else { lock(&chunks).next() })
                else {
                    break;
                };
                let result = match &mut held {
                    Some((worker, _)) => work(worker, chunk),
                    None => self.worker().and_then(|new| work(&mut held.insert(new).0, chunk)),
                };
                if let Err(fault) = result {
                    lock(&failed).get_or_insert(fault);
                    // It is of no use any more.
                    held = None;
                }
            }
            if let Some((worker, _turn)) = held {
                lock(&self.idle).push(worker);
            }
        };
        if lanes <= 1 {
            run();
        } else {
            std::thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(run))));
        }
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Returns a lane that is idle, or a new one, once fewer than all are in use. Who has one needs
    /// no other to finish.
    fn worker(&self) -> Result<(Worker, Turn<'_>), Fault> {
        let busy = self.returned.wait_while(lock(&self.busy), |busy| *busy >= self.count);
        *busy.unwrap_or_else(PoisonError::into_inner) += 1;
        let turn = Turn(self);
        let idle = lock(&self.idle).pop();
        let new = || {
            let lane = self.keyed.lane(self.lane_bytes)?;
            Ok(Worker {
                lane,
                staging: None,
                runtime: self.runtime.clone(),
                lane_bytes: self.lane_bytes,
            })
        };
        Ok((idle.map_or_else(new, Ok)?, turn))
    }
}

/// Returns the guard of a lock, even if it is poisoned; nothing that is locked here is ever half
/// changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::kernel::Mode;
    use crate::runtime::{Compiled, DeviceFacts, Launch};

    /// A device without memory, whose lanes are counted.
    #[derive(Default)]
    struct Counted {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    struct CountedLane(Arc<Counted>);

    struct Nothing;

    impl Runtime for Nothing {
        fn facts(&self) -> &DeviceFacts {
            unreachable!("lanes do not ask for it")
        }

        fn compile(&self, _source: &str, _mode: Mode) -> Result<Arc<dyn Compiled>, Fault> {
            unreachable!("lanes do not ask for it")
        }

        fn page_locked(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Fault> {
            Err(Fault::Memory { bytes: bytes as u64 })
        }
    }

    impl Keyed for Arc<Counted> {
        fn lane(&self, bytes: usize) -> Result<Box<dyn Lane>, Fault> {
            if bytes == 0 {
                return Err(Fault::Memory { bytes: 0 });
            }
            self.most.fetch_max(self.now.fetch_add(1, Relaxed) + 1, Relaxed);
            Ok(Box::new(CountedLane(self.clone())))
        }
    }

    impl Drop for CountedLane {
        fn drop(&mut self) {
            self.0.now.fetch_sub(1, Relaxed);
        }
    }

    impl Lane for CountedLane {
        fn upload(&mut self, _at: usize, _from: &[u8]) -> Result<(), Fault> {
            thread::sleep(Duration::from_millis(1));
            Ok(())
        }

        fn run(&mut self, _launch: &Launch) -> Result<(), Fault> {
            Err(Fault::Lost { doing: "running", reason: "a test".into() })
        }

        fn download(&mut self, _at: usize, _into: &mut [u8]) -> Result<(), Fault> {
            Ok(())
        }
    }

    fn lanes(bytes: usize) -> (Arc<Counted>, Lanes) {
        let counted = Arc::new(Counted::default());
        (counted.clone(), Lanes::new(Arc::new(Nothing), Arc::new(counted), 3, bytes))
    }

    #[test]
    fn many_threads_share_the_lanes_that_there_are() {
        let (counted, lanes) = lanes(1);
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let work = |worker: &mut Worker, chunk: usize| {
                        worker.lane.upload(chunk, &[])?;
                        done.fetch_add(1, Relaxed);
                        Ok(())
                    };
                    lanes.each((0..6).collect(), work).unwrap();
                });
            }
        });
        assert_eq!(done.into_inner(), 48);
        assert_eq!((counted.most.load(Relaxed), counted.now.load(Relaxed)), (3, 3));
        drop(lanes);
        assert_eq!(counted.now.load(Relaxed), 0);
    }

    #[test]
    fn lanes_that_are_lost_or_cannot_be_had_keep_nobody_waiting() {
        for bytes in [0, 1] {
            let (counted, lanes) = lanes(bytes);
            thread::scope(|scope| {
                for _ in 0..8 {
                    let launch = Launch { threads: 0, bytes: 0, arguments: &[] };
                    let work = move |worker: &mut Worker, _: usize| worker.lane.run(&launch);
                    let lanes = &lanes;
                    scope.spawn(move || lanes.each((0..6).collect(), work).unwrap_err());
                }
            });
            assert_eq!(counted.now.load(Relaxed), 0, "lanes that failed are gone");
        }
    }
}
