//! Block devices as engines for comparisons: a separate file for every variant, a device that the
//! user names, or a target started on this machine for every variant.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_servers::{Tgt, TgtOptions, start_tgt, tgt_version};
use sealstone_store::{
    Device, DeviceAccess, DeviceBuffer, DeviceRequest, Engine, EngineFacts, OpenStore, StoreError,
    StoreOptions, Variant,
};
use sealstone_wire::iscsi::{Address, IscsiDevice, Options};

use super::error::BlockError;
use super::file::FileDevice;
use super::upkeep::DeviceUpkeep;

/// The file of a variant in its directory.
const DISK: &str = "disk.img";

/// Number of bytes of a user's device that are examined before it is overwritten.
const LOOKED_BYTES: u64 = 1 << 20;

/// Facts about devices, which have no version.
pub(super) fn facts(name: &str, build: &str, settings: &[(&str, String)]) -> EngineFacts {
    EngineFacts {
        name: name.into(),
        build: build.into(),
        settings: settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        ..EngineFacts::default()
    }
}

/// Makes a file of `bytes` zeros at `path`, which take no room until they are written.
fn make(path: &Path, bytes: u64) -> Result<(), BlockError> {
    let made = File::create_new(path).and_then(|file| file.set_len(bytes));
    made.map_err(|error| BlockError::Open {
        path: path.to_owned(),
        found: error.to_string(),
        step: "check that the directory exists and is writable",
    })
}

/// A file for every variant.
#[derive(Debug)]
pub(super) struct FileEngine {
    bytes: u64,
    is_direct: Mutex<Option<bool>>,
}

impl FileEngine {
    pub(super) fn new(bytes: u64) -> Self {
        Self { bytes, is_direct: Mutex::default() }
    }
}

impl Engine for FileEngine {
    fn facts(&self) -> EngineFacts {
        let cache = match *self.is_direct.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(true) => "passed by (O_DIRECT)",
            _ => "in use: this file system has no O_DIRECT",
        };
        facts("block", "a file for each variant", &[("page cache", cache.into())])
    }

    fn open(&self, _: &Variant, dir: &Path, _: &StoreOptions) -> Result<OpenStore, StoreError> {
        let path = dir.join(DISK);
        make(&path, self.bytes)?;
        let device = FileDevice::open(&path)?;
        *self.is_direct.lock().unwrap_or_else(PoisonError::into_inner) = Some(device.is_direct());
        let upkeep = DeviceUpkeep::of(device.capacity_bytes());
        Ok(OpenStore::device(Box::new(device), None, upkeep))
    }
}

/// Device that the user named.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Path(PathBuf),
    Iscsi(Address),
}

/// A device that the user named, for one variant.
#[derive(Debug)]
pub(super) struct UserEngine {
    named: Named,
    bytes: u64,
    erase: bool,
    used: Arc<AtomicBool>,
}

impl UserEngine {
    pub(super) fn new(named: Named, bytes: u64, erase: bool) -> Self {
        Self { named, bytes, erase, used: Arc::default() }
    }

    fn device(&self) -> Result<(Box<dyn Device>, Running), StoreError> {
        let mut running = Running { used: Arc::clone(&self.used), made: None };
        let device: Box<dyn Device> = match &self.named {
            Named::Iscsi(address) => Box::new(IscsiDevice::open(address, &Options::default())?),
            Named::Path(path) => {
                if !path.exists() {
                    make(path, self.bytes)?;
                    running.made = Some(path.clone());
                }
                Box::new(FileDevice::open(path)?)
            }
        };
        Ok((device, running))
    }
}

impl Engine for UserEngine {
    fn facts(&self) -> EngineFacts {
        let device = match &self.named {
            Named::Path(path) => path.display().to_string(),
            Named::Iscsi(address) => address.to_string(),
        };
        facts("block", "the user's own", &[("device", device)])
    }

    fn open(&self, variant: &Variant, _: &Path, _: &StoreOptions) -> Result<OpenStore, StoreError> {
        if self.used.swap(true, Ordering::Relaxed) {
            let place = self.facts().settings.remove("device").unwrap_or_default();
            return Err(BlockError::OneDevice { place, variant: variant.label.clone() }.into());
        }
        let (device, running) = self.device()?;
        if !self.erase {
            check_empty(&*device)?;
        }
        let upkeep =
            DeviceUpkeep::of(device.capacity_bytes()).with_servers(Vec::new(), Box::new(running));
        Ok(OpenStore::device(device, None, upkeep))
    }
}

/// A user's device in use.
#[derive(Debug)]
struct Running {
    used: Arc<AtomicBool>,
    /// The file, if it was not there before.
    made: Option<PathBuf>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            // one that somebody else has removed is gone as well
            let _ = fs::remove_file(path);
        }
        self.used.store(false, Ordering::Relaxed);
    }
}

/// Refuses a device with data at its begin, where file systems, partitions and volumes have their
/// signatures.
fn check_empty(device: &dyn Device) -> Result<(), StoreError> {
    let looked_bytes = LOOKED_BYTES.min(device.capacity_bytes());
    let length = looked_bytes - looked_bytes % u64::from(device.sector_bytes());
    if length == 0 {
        return Ok(());
    }
    let mut queue = device.queue(1)?;
    let buffer = DeviceBuffer::zeroed(length as usize);
    queue.submit(DeviceRequest { access: DeviceAccess::Read, offset: 0, tag: 0, buffer })?;
    match queue.complete()?.buffer.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(BlockError::NotEmpty { place: device.place().into(), looked_bytes }.into()),
    }
}

/// A target for every variant.
#[derive(Debug)]
pub(super) struct TargetEngine {
    options: TgtOptions,
}

impl TargetEngine {
    pub(super) fn new(options: TgtOptions) -> Self {
        Self { options }
    }
}

impl Engine for TargetEngine {
    fn facts(&self) -> EngineFacts {
        let servers = "on this machine, a target with a file for each variant, all at once";
        let settings =
            [("servers", servers.into()), ("initiator", "libiscsi in this process".into())];
        let version = tgt_version(self.options.program.as_deref()).unwrap_or_default();
        EngineFacts { version, ..facts("tgt", "server", &settings) }
    }

    fn open(&self, _: &Variant, dir: &Path, _: &StoreOptions) -> Result<OpenStore, StoreError> {
        let mut target = start_tgt(dir, self.options.clone()).map_err(StoreError::engine)?;
        let address: Address = target.uri().parse().map_err(StoreError::engine)?;
        let device = IscsiDevice::open(&address, &Options::default())?;
        let pids = target.pid().and_then(|pid| u32::try_from(pid).ok()).into_iter().collect();
        let upkeep = DeviceUpkeep::of(device.capacity_bytes())
            .with_servers(pids, Box::new(Target(Mutex::new(target))));
        Ok(OpenStore::device(Box::new(device), None, upkeep))
    }
}

/// A target that ends with its device, in good order: its disk is as it was written.
struct Target(Mutex<Tgt>);

impl Drop for Target {
    fn drop(&mut self) {
        // a target that cannot be stopped is killed when dropped
        let _ = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).stop();
    }
}
