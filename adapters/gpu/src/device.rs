//! Devices by name, and the kernels compiled for each.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_cipher::ff1::Domain;
use sealstone_cipher::{Backend, Cipher};

use crate::ctr::{DeviceCtr, PageLocked, Settings};
use crate::error::{Error, Left};
use crate::ff1::{DeviceFf1, Ff1Settings};
use crate::ffi;
use crate::kernels::{self, Kernel, Mode};
use crate::runtime::{Compiled, DeviceFacts, Fault, Keyed, Runtime};

/// A way to reach devices.
struct Api {
    /// Word that the names of its devices begin with.
    word: &'static str,
    /// Function that lists the devices, or explains in a sentence why there are none.
    list: fn() -> Result<Vec<DeviceFacts>, String>,
    open: fn(usize, DeviceFacts) -> Result<Arc<dyn Runtime>, Fault>,
}

/// The table of ways, in the order in which to show them.
const APIS: &[Api] = &[
    #[cfg(feature = "cuda")]
    Api { word: "cuda", list: ffi::cuda::list, open: ffi::cuda::open },
    #[cfg(feature = "opencl")]
    Api { word: "opencl", list: ffi::opencl::list, open: ffi::opencl::open },
];

/// Returns the devices of this machine, and for each interface that found none, a sentence with the
/// reason.
#[must_use]
pub fn devices() -> (Vec<DeviceFacts>, Vec<String>) {
    let (mut found, mut none) = (Vec::new(), Vec::new());
    for api in APIS {
        match (api.list)() {
            Ok(devices) => found.extend(devices),
            Err(why) => none.push(format!("{}: {why}", api.word)),
        }
    }
    (found, none)
}

/// Compiled kernels, by cipher and mode.
type Kernels = BTreeMap<(&'static str, Mode), Arc<dyn Compiled>>;

/// A device that was opened. Kernels are compiled once for each cipher and mode, which takes
/// seconds.
pub struct Device {
    pub(crate) runtime: Arc<dyn Runtime>,
    compiled: Mutex<Kernels>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("facts", self.facts()).finish_non_exhaustive()
    }
}

impl Device {
    /// Opens the device called `name`, such as `cuda:0` or `opencl:0`.
    ///
    /// # Errors
    /// `Error::NoDevice` where there is none, in one sentence why; `Error::Lost` and
    /// `Error::OutOfMemory` where its driver refuses it.
    pub fn open(name: &str) -> Result<Self, Error> {
        let no_device = |why: String| Error::NoDevice { name: name.to_owned(), why };
        let (word, number) = name.split_once(':').unwrap_or((name, "0"));
        let known =
            || APIS.iter().map(|api| format!("{}:0", api.word)).collect::<Vec<_>>().join(", ");
        let api = APIS.iter().find(|api| api.word == word);
        let api =
            api.ok_or_else(|| no_device(format!("devices have names such as {}", known())))?;
        let number = number
            .parse::<usize>()
            .map_err(|_| no_device(format!("{number:?} is not a number")))?;
        let found = (api.list)().map_err(no_device)?;
        let count = found.len();
        let facts = found.into_iter().nth(number);
        let facts =
            facts.ok_or_else(|| no_device(format!("{word} has {count} here, counted from 0")))?;
        let device = facts.name.clone();
        let runtime =
            (api.open)(number, facts).map_err(|fault| Error::of(&device, fault, Left::NoData))?;
        Ok(Self::over(runtime))
    }

    pub(crate) fn over(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, compiled: Mutex::default() }
    }

    /// Returns the known facts about the device.
    #[must_use]
    pub fn facts(&self) -> &DeviceFacts {
        self.runtime.facts()
    }

    /// Sets `key` (`cipher.key_bytes` long) for counter mode on this device.
    ///
    /// # Errors
    /// `Error::NoKernel`, `Error::Cipher` for a key of another length, `Error::Compile`,
    /// `Error::OutOfMemory`, `Error::Lost`.
    pub fn ctr(
        &self,
        cipher: &'static Cipher,
        key: &[u8],
        settings: Settings,
    ) -> Result<DeviceCtr, Error> {
        let kernel = kernels::kernel(cipher)?;
        // Checks the key, and undoes on the CPU what a device that fails has done.
        let cpu = sealstone_cipher::ctr(cipher, key, Backend::auto())?;
        let keyed = self.keyed(kernel, Mode::Ctr, key)?;
        Ok(DeviceCtr::new(self.runtime.clone(), keyed, cpu, settings))
    }

    /// Sets `key` (`cipher.key_bytes` long) for FF1 on this device, over numerals 0 to `radix` - 1,
    /// with the smallest domain that `domain` allows; as `sealstone_cipher::ff1::ff1` does on the
    /// CPU.
    ///
    /// # Errors
    /// `Error::NoKernel`, `Error::Ff1` for a key of another length or a radix out of range,
    /// `Error::Compile`, `Error::OutOfMemory`, `Error::Lost`.
    pub fn ff1(
        &self,
        cipher: &'static Cipher,
        key: &[u8],
        radix: u32,
        domain: Domain,
        settings: Ff1Settings,
    ) -> Result<DeviceFf1, Error> {
        let kernel = kernels::kernel(cipher)?;
        // Checks key and radix, computes work that does not suit a device, and undoes the work of a
        // failed device.
        let cpu = sealstone_cipher::ff1::ff1(cipher, key, Backend::auto(), radix, domain)?;
        let keyed = self.keyed(kernel, Mode::Ff1, key)?;
        Ok(DeviceFf1::new(self.runtime.clone(), keyed, cpu, settings))
    }

    fn keyed(
        &self,
        kernel: &'static Kernel,
        mode: Mode,
        key: &[u8],
    ) -> Result<Arc<dyn Keyed>, Error> {
        let keyed = self.compiled(kernel, mode)?.keyed(&(kernel.keys)(key));
        keyed.map_err(|fault| Error::of(&self.facts().name, fault, Left::NoData))
    }

    fn compiled(&self, kernel: &'static Kernel, mode: Mode) -> Result<Arc<dyn Compiled>, Error> {
        // Nothing panics while it is held; a map is whole in any case.
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = all.get(&(kernel.cipher, mode)) {
            return Ok(compiled.clone());
        }
        let device = &self.facts().name;
        let compiled =
            self.runtime.compile(&kernel.source(mode), mode).map_err(|fault| match fault {
                Fault::Compile { log } => {
                    Error::Compile { device: device.clone(), cipher: kernel.cipher, log }
                }
                fault => Error::of(device, fault, Left::NoData),
            })?;
        all.insert((kernel.cipher, mode), compiled.clone());
        Ok(compiled)
    }

    /// Returns memory of `bytes` zeros that the device reads and writes directly; for
    /// [`DeviceCtr::apply_page_locked`].
    ///
    /// # Errors
    /// `Error::OutOfMemory`, `Error::Lost`.
    pub fn page_locked(&self, bytes: usize) -> Result<PageLocked, Error> {
        let memory = self.runtime.page_locked(bytes);
        memory
            .map(PageLocked::new)
            .map_err(|fault| Error::of(&self.facts().name, fault, Left::NoData))
    }
}
