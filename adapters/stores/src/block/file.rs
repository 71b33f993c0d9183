//! A file or a disk of this machine as a block device: past the page cache where the system allows
//! it (`O_DIRECT`), with a thread for each request that is under way.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::fcntl::OFlag;
use sealstone_store::{
    Device, DeviceAccess, DeviceQueue, DeviceRequest, StoreError, check_device_request,
};

use super::error::BlockError;

/// Size of a request that every disk and every file can take; disks with larger sectors refuse
/// shorter requests themselves.
const SECTOR_BYTES: u32 = 512;

/// A file or a disk that is open.
#[derive(Debug)]
pub struct FileDevice {
    place: String,
    file: Arc<File>,
    capacity_bytes: u64,
    is_direct: bool,
    /// Threads that wait for work.
    idle: Arc<Mutex<Vec<Workers>>>,
}

impl FileDevice {
    /// Opens the file or the disk `path`. A disk that is mounted, or otherwise in use, is refused.
    ///
    /// # Errors
    /// [`BlockError::Open`].
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        let failed = |found: String, step| BlockError::Open { path: path.to_owned(), found, step };
        let facts =
            std::fs::metadata(path).map_err(|error| failed(error.to_string(), "check the path"))?;
        let is_disk = facts.file_type().is_block_device();
        if !is_disk && !facts.is_file() {
            return Err(failed("it is neither a file nor a disk".into(), "name one of these"));
        }
        // on a disk: nobody else may have it, a mounted file system included
        let exclusive = if is_disk { OFlag::O_EXCL.bits() } else { 0 };
        let opened = |flags| {
            OpenOptions::new().read(true).write(true).custom_flags(exclusive | flags).open(path)
        };
        let (opened, is_direct) = match opened(OFlag::O_DIRECT.bits()) {
            // a file system without it
            Err(error) if error.kind() == ErrorKind::InvalidInput => (opened(0), false),
            other => (other, true),
        };
        let mut file = opened.map_err(|error| match error.kind() {
            ErrorKind::ResourceBusy => {
                failed(error.to_string(), "it is mounted or in use: choose another disk")
            }
            ErrorKind::ReadOnlyFilesystem => {
                failed(error.to_string(), "it is read-only: choose another one")
            }
            _ => failed(error.to_string(), "check that it may be read and written"),
        })?;
        let capacity = file.seek(SeekFrom::End(0));
        let capacity_bytes =
            capacity.map_err(|error| failed(error.to_string(), "check that it is a disk"))?;
        let (place, file) = (path.display().to_string(), Arc::new(file));
        Ok(Self { place, file, capacity_bytes, is_direct, idle: Arc::default() })
    }

    /// Returns whether requests go past the page cache.
    #[must_use]
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }
}

impl Device for FileDevice {
    fn place(&self) -> &str {
        &self.place
    }

    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError> {
        let idle = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.iter().position(|workers| workers.threads == depth).map(|at| idle.swap_remove(at))
        };
        let workers = idle
            .map_or_else(|| Workers::start(&self.file, depth), Ok)
            .map_err(StoreError::engine)?;
        Ok(Box::new(Queue {
            place: self.place.clone(),
            capacity_bytes: self.capacity_bytes,
            file: Arc::clone(&self.file),
            idle: Arc::clone(&self.idle),
            workers: Some(workers),
            under_way: 0,
        }))
    }
}

/// A request that is done.
type Finished = (DeviceRequest, io::Result<()>);

/// Threads that do requests, and end when nobody can hand them any.
#[derive(Debug)]
struct Workers {
    threads: usize,
    work: Sender<DeviceRequest>,
    finished: Receiver<Finished>,
}

impl Workers {
    fn start(file: &Arc<File>, threads: usize) -> io::Result<Self> {
        let (work, waiting) = channel::<DeviceRequest>();
        let (done, finished) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..threads {
            let (file, waiting, done) = (Arc::clone(file), Arc::clone(&waiting), done.clone());
            let run = move || {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(mut request) = next else { break };
                    let outcome = perform(&file, &mut request);
                    if done.send((request, outcome)).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new().name(format!("device {number}")).spawn(run)?;
        }
        Ok(Self { threads, work, finished })
    }
}

fn perform(file: &File, request: &mut DeviceRequest) -> io::Result<()> {
    match request.access {
        DeviceAccess::Read => file.read_exact_at(&mut request.buffer, request.offset),
        DeviceAccess::Write => file.write_all_at(&request.buffer, request.offset),
    }
}

struct Queue {
    place: String,
    capacity_bytes: u64,
    file: Arc<File>,
    idle: Arc<Mutex<Vec<Workers>>>,
    /// None only while it is dropped.
    workers: Option<Workers>,
    under_way: usize,
}

impl Queue {
    fn workers(&self) -> &Workers {
        self.workers.as_ref().expect("it is there until the queue is dropped")
    }

    fn finished(&mut self) -> Result<Finished, StoreError> {
        if self.under_way == 0 {
            return Err(StoreError::engine("no request is under way"));
        }
        let finished = self.workers().finished.recv();
        self.under_way -= 1;
        finished.map_err(|_| StoreError::engine("the threads that work on the device have ended"))
    }
}

impl DeviceQueue for Queue {
    fn submit(&mut self, request: DeviceRequest) -> Result<(), StoreError> {
        check_device_request(&request, &self.place, self.capacity_bytes, SECTOR_BYTES)?;
        let threads = self.workers().threads;
        if self.under_way == threads {
            return Err(StoreError::engine(format!("the queue holds {threads} requests already")));
        }
        let handed = self.workers().work.send(request);
        handed.map_err(|_| StoreError::engine("the threads that work on the device have ended"))?;
        self.under_way += 1;
        Ok(())
    }

    fn complete(&mut self) -> Result<DeviceRequest, StoreError> {
        let (request, outcome) = self.finished()?;
        let Err(found) = outcome else { return Ok(request) };
        let step = match found.kind() {
            ErrorKind::StorageFull => "free some room, or use fewer bytes",
            ErrorKind::InvalidInput => "it may have larger sectors: try blocks of 4 KiB or more",
            ErrorKind::UnexpectedEof => "it has become shorter: see who changes it",
            _ => "look at the log of the kernel",
        };
        let (word, length, offset) = (request.access.word(), request.buffer.len(), request.offset);
        Err(BlockError::Request { word, length, offset, place: self.place.clone(), found, step }
            .into())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.file
            .sync_data()
            .map_err(|error| StoreError::engine(format!("cannot flush {}: {error}", self.place)))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        while self.under_way > 0 && self.finished().is_ok() {}
        if let (Some(workers), 0) = (self.workers.take(), self.under_way) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(workers);
        }
    }
}
