//! A sealed volume as a device: what fails is reported to the operator, and to the kernel as a
//! number.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::error::Failure;
use crate::volume::Volume;

/// Callback that receives every failure.
pub type Report = dyn Fn(&Failure) + Send + Sync;

/// A volume whose failures are reported.
pub struct Served {
    volume: Arc<Volume>,
    dir: String,
    report: Box<Report>,
    failures: AtomicU64,
    last_failure: Mutex<Option<(String, Instant)>>,
}

/// State of a volume that is attached.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct AttachedStatus {
    /// Process that serves it.
    pub process: u32,
    /// Directory of the volume.
    pub dir: String,
    /// Size of the device, in bytes.
    pub size_bytes: u64,
    /// Number of the root.
    pub generation: u64,
    /// Bytes in the log that are not in place.
    pub log_bytes: u64,
    /// Number of writes since it was made; 0: it is as new.
    pub frames: u64,
    /// Number of blocks sealed since it was attached.
    #[serde(default)]
    pub blocks_sealed: u64,
    /// Number of blocks authenticated and opened since then.
    #[serde(default)]
    pub blocks_opened: u64,
    /// Number of failures since then.
    #[serde(default)]
    pub failures: u64,
    /// Number of the root that the anchor has, if there is an anchor.
    pub anchored_generation: Option<u64>,
    /// The last failure, if there was one.
    pub last_failure: Option<String>,
    /// Whole seconds since then.
    pub last_failure_s: Option<u64>,
}

/// A command to a volume that is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Put the log in place.
    Checkpoint,
    /// Make the device larger.
    Grow {
        /// Its new size, in bytes.
        bytes: u64,
    },
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Checkpoint => f.write_str("checkpoint"),
            Self::Grow { bytes } => write!(f, "grow {bytes}"),
        }
    }
}

impl std::str::FromStr for Order {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.trim_end().split_once(' ') {
            None if text.trim_end() == "checkpoint" => Ok(Self::Checkpoint),
            Some(("grow", bytes)) => Ok(Self::Grow { bytes: bytes.parse().map_err(|_| ())? }),
            _ => Err(()),
        }
    }
}

impl Served {
    /// Returns `volume` as a device.
    ///
    /// - `dir`: its directory, for its state
    /// - `report`: gets every failure, since the kernel is told a number alone
    #[must_use]
    pub fn new(volume: Arc<Volume>, dir: &Path, report: Box<Report>) -> Self {
        let dir = dir.display().to_string();
        Self { volume, dir, report, failures: AtomicU64::new(0), last_failure: Mutex::default() }
    }

    /// Reports a failure, and keeps it for the state: also of what goes on beside the device, its
    /// [`Upkeep`](crate::Upkeep).
    pub fn note(&self, failure: &Failure) {
        (self.report)(failure);
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((failure.to_string(), Instant::now()));
    }

    fn told(&self, result: Result<(), Failure>) -> io::Result<()> {
        result.map_err(|failure| {
            self.note(&failure);
            io::Error::from_raw_os_error(failure.errno())
        })
    }
}

impl Device for Served {
    fn size_bytes(&self) -> u64 {
        self.volume.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.volume.block_bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.told(self.volume.read(offset, out))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.told(self.volume.write(offset, data))
    }

    fn flush(&self) -> io::Result<()> {
        self.told(self.volume.flush())
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.told(self.volume.discard(offset, bytes))
    }

    fn status(&self) -> String {
        let last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (last_failure, begin) = last.unzip();
        let (blocks_sealed, blocks_opened) = self.volume.counted_blocks();
        let status = AttachedStatus {
            process: std::process::id(),
            dir: self.dir.clone(),
            size_bytes: self.volume.size_bytes(),
            generation: self.volume.generation(),
            log_bytes: self.volume.log_bytes(),
            frames: self.volume.frames(),
            blocks_sealed,
            blocks_opened,
            failures: self.failures.load(Ordering::Relaxed),
            anchored_generation: self.volume.anchored_generation(),
            last_failure,
            last_failure_s: begin.map(|begin| begin.elapsed().as_secs()),
        };
        serde_json::to_string(&status).expect("numbers and text")
    }

    fn command(&self, text: &str) -> io::Result<()> {
        match text.parse() {
            Ok(Order::Checkpoint) => {
                let flushed = self.volume.flush();
                self.told(flushed.and_then(|()| self.volume.checkpoint()))
            }
            Ok(Order::Grow { bytes }) => self.told(self.volume.grow(bytes)),
            Err(()) => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealstone_cipher::{Backend, cipher};
    use sealstone_keys::EphemeralKey;

    use super::*;
    use crate::directory::Directory;
    use crate::sizes::Sizes;

    #[test]
    fn the_last_failure_has_an_age_and_the_first_one_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, keys) = (Directory::new(dir.path()), EphemeralKey::new().unwrap());
        Volume::create(&disk, &keys, cipher("aes-256").unwrap(), (4096, 1 << 20)).unwrap();
        let settings = (Backend::auto(), Sizes::default());
        let volume = Volume::attach(Arc::new(disk), &keys, None, settings).unwrap();
        let served = Served::new(Arc::new(volume), dir.path(), Box::new(|_| ()));
        let last = || {
            let status: AttachedStatus = serde_json::from_str(&served.status()).unwrap();
            (status.failures, status.last_failure, status.last_failure_s)
        };
        assert_eq!(last(), (0, None, None));
        served.note(&Failure::InUse);
        // as if it had been a minute and a half ago
        let mut kept = served.last_failure.lock().unwrap();
        let (_, begin) = kept.as_mut().unwrap();
        *begin = begin.checked_sub(Duration::from_secs(90)).unwrap();
        drop(kept);
        let (failures, text, age_s) = last();
        assert_eq!((failures, text), (1, Some(Failure::InUse.to_string())));
        assert!((90..120).contains(&age_s.unwrap()), "{age_s:?}");
        // what fails later has an age of its own
        assert!(served.read(1 << 20, &mut [0; 4096]).is_err());
        let (failures, text, age_s) = last();
        assert!(failures == 2 && age_s.unwrap() < 30, "{failures} failures, {age_s:?}");
        assert!(text.unwrap().contains("the device has 1048576"));
    }
}
