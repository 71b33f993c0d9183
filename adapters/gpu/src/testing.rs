//! For tests: a device that fails on command, and NVIDIA's compiler for kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::device::Device;
use crate::kernel::Mode;
use crate::runtime::{Compiled, DeviceFacts, Fault, HostMemory, Keyed, Lane, Launch, Runtime};

/// Kind of failure.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// Every kernel has this behind its source.
    Source(&'static str),
    /// The device is lost at this run of a kernel, counted from 0, and from there on.
    Run(usize),
    /// The device is lost at this copy back, counted from 0, half of which arrives, and from there
    /// on.
    Download(usize),
}

/// Returns `device`, which fails according to `failure`. Everything else is done by the real
/// device.
#[must_use]
pub fn failing(device: &Device, failure: Failure) -> Device {
    let counts = Arc::new(Counts::default());
    Device::over(Arc::new(Failing { inner: device.runtime.clone(), failure, counts }))
}

/// Returns the machine code of `source` for `architecture`, such as `sm_90`, or the compiler's
/// message.
///
/// # Errors
/// The compiler's log, or that there is no compiler.
#[cfg(feature = "cuda")]
pub fn compile_for(architecture: &str, source: &str) -> Result<Vec<u8>, String> {
    crate::ffi::cuda::compile_for(architecture, source)
}

#[derive(Default)]
struct Counts {
    runs: AtomicUsize,
    downloads: AtomicUsize,
}

/// Wrapper around each part of a device.
struct Failing<T: ?Sized> {
    inner: Arc<T>,
    failure: Failure,
    counts: Arc<Counts>,
}

impl<T: ?Sized> Failing<T> {
    fn around<U: ?Sized>(&self, inner: Arc<U>) -> Arc<Failing<U>> {
        Arc::new(Failing { inner, failure: self.failure, counts: self.counts.clone() })
    }
}

impl Runtime for Failing<dyn Runtime> {
    fn facts(&self) -> &DeviceFacts {
        self.inner.facts()
    }

    fn compile(&self, source: &str, mode: Mode) -> Result<Arc<dyn Compiled>, Fault> {
        let compiled = match self.failure {
            Failure::Source(more) => self.inner.compile(&format!("{source}{more}"), mode),
            _ => self.inner.compile(source, mode),
        };
        Ok(self.around(compiled?))
    }

    fn page_locked(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Fault> {
        self.inner.page_locked(bytes)
    }
}

impl Compiled for Failing<dyn Compiled> {
    fn keyed(&self, keys: &[u32]) -> Result<Arc<dyn Keyed>, Fault> {
        Ok(self.around(self.inner.keyed(keys)?))
    }
}

impl Keyed for Failing<dyn Keyed> {
    fn lane(&self, bytes: usize) -> Result<Box<dyn Lane>, Fault> {
        let inner = self.inner.lane(bytes)?;
        Ok(Box::new(FailingLane { inner, failure: self.failure, counts: self.counts.clone() }))
    }
}

struct FailingLane {
    inner: Box<dyn Lane>,
    failure: Failure,
    counts: Arc<Counts>,
}

fn gone(doing: &'static str) -> Fault {
    Fault::Lost { doing, reason: "the device was taken away".into() }
}

impl Lane for FailingLane {
    fn upload(&mut self, at: usize, from: &[u8]) -> Result<(), Fault> {
        self.inner.upload(at, from)
    }

    fn run(&mut self, launch: &Launch) -> Result<(), Fault> {
        let run = self.counts.runs.fetch_add(1, Relaxed);
        match self.failure {
            Failure::Run(last) if run >= last => Err(gone("encrypting")),
            _ => self.inner.run(launch),
        }
    }

    fn download(&mut self, at: usize, into: &mut [u8]) -> Result<(), Fault> {
        let download = self.counts.downloads.fetch_add(1, Relaxed);
        match self.failure {
            Failure::Download(last) if download >= last => {
                let half = into.len() / 2;
                self.inner.download(at, &mut into[..half])?;
                Err(gone("copying data from it"))
            }
            _ => self.inner.download(at, into),
        }
    }
}
