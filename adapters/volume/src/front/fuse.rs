//! Files in user space: a directory with a regular file whose content is a device. The kernel's
//! loop device makes a block device of it. Two more files are for the operator: one shows the
//! state, one takes commands.
//!
//! Direct I/O is answered to every opening, so that the kernel keeps no second copy of what the
//! file system above caches already, and writes of several threads go side by side.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags,
    ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    SessionACL, TimeOrNow, WriteFlags,
};

use crate::Device;

/// Name of the file with the device in its directory.
pub const FILE_NAME: &str = "volume";

/// Name of the file that shows the state.
pub const STATUS_NAME: &str = "status";

/// Name of the file that takes commands, one in each write.
pub const CONTROL_NAME: &str = "control";

/// Longest request, in bytes.
const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Requests that wait in the kernel at once.
const WAITING_MAX: u16 = 64;
/// Time that the kernel may keep a name.
const TTL: Duration = Duration::from_secs(3600);
const FILE: INodeNo = INodeNo(2);
const STATUS: INodeNo = INodeNo(3);
const CONTROL: INodeNo = INodeNo(4);

/// Every file, with its number.
const FILES: [(INodeNo, &str); 3] =
    [(FILE, FILE_NAME), (STATUS, STATUS_NAME), (CONTROL, CONTROL_NAME)];

/// A device under a directory, until this is dropped.
#[derive(Debug)]
pub struct Mounted(BackgroundSession);

impl Mounted {
    /// Takes the directory away again, and waits until nobody is served any more.
    ///
    /// # Errors
    /// The file is still open, or a thread failed.
    pub fn unmount(self) -> io::Result<()> {
        self.0.umount_and_join()
    }

    /// Waits until somebody takes the directory away.
    ///
    /// # Errors
    /// A thread failed.
    pub fn wait(self) -> io::Result<()> {
        self.0.join()
    }
}

/// Shows `device` as the only file, [`FILE_NAME`], of the directory `at`.
///
/// # Errors
/// Of the kernel, or of `fusermount3` where the caller is not root.
pub fn mount(device: Arc<dyn Device>, at: &Path, threads: usize) -> io::Result<Mounted> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("sealstone".into()),
        MountOption::Subtype("sealstone".into()),
        MountOption::NoExec,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::DefaultPermissions,
    ];
    config.acl = SessionACL::Owner;
    config.n_threads = Some(threads);
    config.clone_fd = true;
    let (opened, states) = (AtomicU64::new(0), Mutex::default());
    let served = Served { device, since: SystemTime::now(), opened, states };
    fuser::spawn_mount(served, at, &config).map(Mounted)
}

struct Served {
    device: Arc<dyn Device>,
    since: SystemTime,
    /// Number of openings so far.
    opened: AtomicU64,
    /// The state as each opening has begun to read it: what goes on reading a newer one, which may
    /// be longer, would get parts of both.
    states: Mutex<HashMap<u64, String>>,
}

impl Served {
    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match number {
            INodeNo::ROOT => (FileType::Directory, 0o500, 2, 0),
            FILE => (FileType::RegularFile, 0o600, 1, self.device.size_bytes()),
            STATUS => (FileType::RegularFile, 0o400, 1, 0),
            CONTROL => (FileType::RegularFile, 0o200, 1, 0),
            _ => return None,
        };
        Some(FileAttr {
            ino: number,
            size,
            blocks: size / 512,
            atime: self.since,
            mtime: self.since,
            ctime: self.since,
            crtime: self.since,
            kind,
            perm,
            nlink,
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
            rdev: 0,
            blksize: self.device.block_bytes(),
            flags: 0,
        })
    }

    fn states(&self) -> MutexGuard<'_, HashMap<u64, String>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes from `offset` on that the device has of the `bytes` asked for.
    fn within(&self, offset: u64, bytes: u64) -> u64 {
        bytes.min(self.device.size_bytes().saturating_sub(offset))
    }
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // what an older kernel does not know, it does without
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        let _ = config.set_max_background(WAITING_MAX);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = FILES.iter().find(|(_, known)| parent == INodeNo::ROOT && name == *known);
        match found.and_then(|(number, _)| self.attributes(*number)) {
            // the name stays, the device may grow
            Some(file) => reply.entry_with_ttls(&Duration::ZERO, &TTL, &file, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            // the device may grow
            Some(attributes) => reply.attr(&Duration::ZERO, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if number != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let directories = [".", ".."].map(|name| (INodeNo::ROOT, FileType::Directory, name));
        let files = FILES.map(|(number, name)| (number, FileType::RegularFile, name));
        let entries = directories.into_iter().chain(files);
        for (index, (number, kind, name)) in entries.enumerate().skip(offset as usize) {
            if reply.add(number, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if number != INodeNo::ROOT {
            let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
            reply.opened(FileHandle(self.opened.fetch_add(1, Ordering::Relaxed)), flags);
        } else {
            reply.error(Errno::EISDIR);
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if number != FILE {
            if offset == 0 {
                let state = self.device.status();
                self.states().insert(handle.0, state);
            }
            let states = self.states();
            let state = states.get(&handle.0).map_or("", |state| state);
            let rest = state.as_bytes().get(offset as usize..).unwrap_or_default();
            return reply.data(&rest[..rest.len().min(bytes as usize)]);
        }
        let mut out = vec![0; self.within(offset, bytes.into()) as usize];
        match self.device.read(offset, &mut out) {
            Ok(()) => reply.data(&out),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if number != FILE {
            return match self.device.command(&String::from_utf8_lossy(data)) {
                Ok(()) => reply.written(data.len() as u32),
                Err(error) => reply.error(error.into()),
            };
        }
        if self.within(offset, data.len() as u64) < data.len() as u64 {
            return reply.error(Errno::ENOSPC);
        }
        match self.device.write(offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error.into()),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // nothing of it can be changed; a shell truncates what it writes to
        self.getattr(request, number, handle, reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.states().remove(&handle.0);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // every closing of a descriptor, which promises nothing
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.device.flush() {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // the loop device discards, and writes zeros, by one of these two
        let zeros = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & zeros == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match self.device.discard(offset, self.within(offset, bytes)) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }
}
