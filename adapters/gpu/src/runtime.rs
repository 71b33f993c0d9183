//! Requirements on an interface to devices: a few calls that return when the device is done.
//!
//! Overlap of copying and computing comes from several lanes, each in its own thread.
//!
//! Every call waits until it is done, which keeps the borrows of the drivers' wrappers honest.
//! Round keys are expanded on the CPU (`ciphers`), since `sealstone_cipher` exposes none, and are
//! kept in the device's constant memory: in CUDA in a symbol of a module that is loaded once for
//! each key. Where OpenCL's device is a CPU, kernels keep their loops, since without them its
//! compiler takes a minute.

use std::sync::Arc;

use crate::ff1_shape::Shape;
use crate::kernel::Mode;

/// Known facts about a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceFacts {
    /// The name in flags and errors, such as `cuda:0`.
    pub name: String,
    /// Product name given by its maker.
    pub product: String,
    /// Driver, or platform, and version.
    pub driver: String,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// Multiprocessors, or compute units.
    pub units: u32,
}

/// Error reported by a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No memory of this size.
    Memory { bytes: u64 },
    /// A kernel was refused.
    Compile { log: String },
    /// Any other failure, with the operation.
    Lost { doing: &'static str, reason: String },
}

/// Argument that a kernel gets after the memory of its lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument<'a> {
    Word(u32),
    Word64(u64),
    Shape(&'a Shape),
}

/// One run of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    /// Threads that have something to do; more may run.
    pub(crate) threads: u32,
    /// Bytes of the lane's memory that they touch, from its beginning on.
    pub(crate) bytes: usize,
    /// As many, and of the types, as the kernel has.
    pub(crate) arguments: &'a [Argument<'a>],
}

/// A device that was opened.
pub(crate) trait Runtime: Send + Sync {
    fn facts(&self) -> &DeviceFacts;
    /// Compiles `source`, which has the kernel for `mode`.
    fn compile(&self, source: &str, mode: Mode) -> Result<Arc<dyn Compiled>, Fault>;
    /// Returns memory of this machine that the device reads and writes directly, zeroed.
    fn page_locked(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Fault>;
}

/// A compiled kernel.
pub(crate) trait Compiled: Send + Sync {
    /// Returns the kernel with `keys` in the device's memory, where they are zeroed on drop.
    fn keyed(&self, keys: &[u32]) -> Result<Arc<dyn Keyed>, Fault>;
}

/// A kernel with its round keys.
pub(crate) trait Keyed: Send + Sync {
    /// Returns a separate queue with `bytes` of the device's memory, zeroed on drop.
    fn lane(&self, bytes: usize) -> Result<Box<dyn Lane>, Fault>;
}

/// A queue and memory of the device. Every call returns when it is done.
pub(crate) trait Lane: Send {
    /// Copies `from` to the device, from byte `at` of its memory on.
    ///
    /// # Panics
    /// If it does not fit there; so do the others.
    fn upload(&mut self, at: usize, from: &[u8]) -> Result<(), Fault>;
    /// Runs the kernel; the memory it touches must fit there, too.
    fn run(&mut self, launch: &Launch) -> Result<(), Fault>;
    /// Copies from the device, from byte `at` of its memory on.
    fn download(&mut self, at: usize, into: &mut [u8]) -> Result<(), Fault>;
}

/// Memory of this machine, zeroed on drop.
pub(crate) trait HostMemory: Send {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}
