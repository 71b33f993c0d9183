//! libiscsi, loaded when it is first needed: one session with a target, requests that own their
//! memory while they are under way. Declared by hand from the documented interface (soname 7),
//! since the library's headers are under the LGPL.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *The library* stays loaded as long as the process lives, and its functions have the types
//!   given to them here.
//! - *A context* is made, used and destroyed by the one [`Session`] that owns it, never by two
//!   threads at once.
//! - *A request* that was handed over is boxed: neither it nor the bytes of its buffer move until
//!   its callback, which libiscsi calls exactly once, takes the box back.
//! - *Text* that libiscsi returns ends with a zero and is copied before anything else is called.

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_short, c_uchar, c_void};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libloading::Library;
use sealstone_store::{DeviceAccess, DeviceRequest};

/// The library's file: Debian's package libiscsi7.
const SONAME: &str = "libiscsi.so.7";

/// `ISCSI_SESSION_NORMAL`.
const SESSION_NORMAL: c_int = 2;
/// `ISCSI_HEADER_DIGEST_NONE`.
const DIGEST_NONE: c_int = 0;
/// `SCSI_STATUS_GOOD`.
const STATUS_GOOD: c_int = 0;
/// `SCSI_STATUS_CHECK_CONDITION`.
const STATUS_CHECK_CONDITION: c_int = 2;
/// `SCSI_STATUS_CANCELLED`: the session has ended before the request.
const STATUS_CANCELLED: c_int = 0x0f00_0000;
/// `SCSI_STATUS_TIMEOUT`.
const STATUS_TIMEOUT: c_int = 0x0f00_0002;
/// `SCSI_RESIDUAL_NO_RESIDUAL`: as many bytes as requested.
const RESIDUAL_NONE: c_int = 0;

/// `struct iscsi_context`, which is opaque.
#[repr(C)]
struct RawContext {
    _opaque: [u8; 0],
}

/// The begin of `struct scsi_task`; the library alone makes them.
#[repr(C)]
struct RawTask {
    status: c_int,
    cdb_size: c_int,
    xfer_dir: c_int,
    expxferlen: c_int,
    cdb: [c_uchar; 16],
    residual_status: c_int,
    residual: usize,
    sense: RawSense,
}

/// The begin of `struct scsi_sense`.
#[repr(C)]
struct RawSense {
    error_type: c_uchar,
    key: c_int,
    ascq: c_int,
}

/// The begin of `struct scsi_readcapacity16`.
#[repr(C)]
struct RawCapacity {
    /// Number of the last sector.
    returned_lba: u64,
    block_length: u32,
}

/// `struct scsi_iovec`, that of POSIX.
#[repr(C)]
struct RawVector {
    base: *mut c_void,
    length: usize,
}

/// `iscsi_command_cb`.
type Callback = unsafe extern "C" fn(*mut RawContext, c_int, *mut c_void, *mut c_void);

type OfContext = unsafe extern "C" fn(*mut RawContext) -> c_int;
type SetText = unsafe extern "C" fn(*mut RawContext, *const c_char) -> c_int;
type SetNumber = unsafe extern "C" fn(*mut RawContext, c_int) -> c_int;
type Read16 = unsafe extern "C" fn(
    *mut RawContext,
    c_int,
    u64,
    u32,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    Callback,
    *mut c_void,
    *mut RawVector,
    c_int,
) -> *mut RawTask;
type Write16 = unsafe extern "C" fn(
    *mut RawContext,
    c_int,
    u64,
    *mut c_uchar,
    u32,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    Callback,
    *mut c_void,
) -> *mut RawTask;

/// The functions that are used.
pub(crate) struct Functions {
    create_context: unsafe extern "C" fn(*const c_char) -> *mut RawContext,
    destroy_context: OfContext,
    set_targetname: SetText,
    set_session_type: SetNumber,
    set_header_digest: SetNumber,
    set_noautoreconnect: unsafe extern "C" fn(*mut RawContext, c_int),
    set_timeout: SetNumber,
    set_initiator_username_pwd:
        unsafe extern "C" fn(*mut RawContext, *const c_char, *const c_char) -> c_int,
    full_connect_sync: unsafe extern "C" fn(*mut RawContext, *const c_char, c_int) -> c_int,
    readcapacity16_sync: unsafe extern "C" fn(*mut RawContext, c_int) -> *mut RawTask,
    synchronizecache16_sync:
        unsafe extern "C" fn(*mut RawContext, c_int, u64, u32, c_int, c_int) -> *mut RawTask,
    read16_iov_task: Read16,
    write16_task: Write16,
    get_fd: OfContext,
    which_events: OfContext,
    service: SetNumber,
    get_error: unsafe extern "C" fn(*mut RawContext) -> *const c_char,
    logout_sync: OfContext,
    free_task: unsafe extern "C" fn(*mut RawTask),
    unmarshall: unsafe extern "C" fn(*mut RawTask) -> *mut c_void,
}

/// Loads the library, once for the process. The reason why it cannot be, in the words of the
/// dynamic linker.
pub(crate) fn functions() -> Result<&'static Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    LOADED.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Functions, String> {
    // SAFETY: the initialisers of this library, by its soname, do nothing but set up its own state.
    let library = unsafe { Library::new(SONAME) }.map_err(|error| error.to_string())?;
    // the library stays loaded: its functions are used as long as the process lives
    let library: &'static Library = Box::leak(Box::new(library));
    macro_rules! function {
        ($name:literal) => {{
            // SAFETY: the type is that of the function's declaration in version 7 of the interface,
            // as of the field.
            let symbol = unsafe { library.get($name.as_bytes()) };
            *symbol.map_err(|error| error.to_string())?
        }};
    }
    Ok(Functions {
        create_context: function!("iscsi_create_context"),
        destroy_context: function!("iscsi_destroy_context"),
        set_targetname: function!("iscsi_set_targetname"),
        set_session_type: function!("iscsi_set_session_type"),
        set_header_digest: function!("iscsi_set_header_digest"),
        set_noautoreconnect: function!("iscsi_set_noautoreconnect"),
        set_timeout: function!("iscsi_set_timeout"),
        set_initiator_username_pwd: function!("iscsi_set_initiator_username_pwd"),
        full_connect_sync: function!("iscsi_full_connect_sync"),
        readcapacity16_sync: function!("iscsi_readcapacity16_sync"),
        synchronizecache16_sync: function!("iscsi_synchronizecache16_sync"),
        read16_iov_task: function!("iscsi_read16_iov_task"),
        write16_task: function!("iscsi_write16_task"),
        get_fd: function!("iscsi_get_fd"),
        which_events: function!("iscsi_which_events"),
        service: function!("iscsi_service"),
        get_error: function!("iscsi_get_error"),
        logout_sync: function!("iscsi_logout_sync"),
        free_task: function!("scsi_free_scsi_task"),
        unmarshall: function!("scsi_datain_unmarshall"),
    })
}

/// Failure of a request or a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The target refused it, with the key and the code of its sense data.
    Sense { key: i32, code: i32, said: String },
    /// The session has ended.
    Gone(String),
    /// No answer in time.
    Timeout,
    /// Fewer or more bytes than requested.
    Residual,
    /// Anything else, in the words of libiscsi.
    Other(String),
}

/// A request that is done, with what became of it.
pub(crate) type Finished = (DeviceRequest, Result<(), Fault>);

/// Parameters of a login.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Login<'a> {
    pub(crate) initiator: &'a str,
    pub(crate) portal: &'a str,
    pub(crate) target: &'a str,
    pub(crate) lun: u16,
    pub(crate) user: Option<(&'a str, &'a str)>,
    pub(crate) timeout_s: u32,
}

/// A session with a target, logged in to one of its units.
pub(crate) struct Session {
    functions: &'static Functions,
    context: NonNull<RawContext>,
    lun: c_int,
    sector_bytes: u32,
    finished: Arc<Mutex<VecDeque<Finished>>>,
    under_way: usize,
}

// SAFETY: a context has no tie to the thread that made it, and methods that use it take
// `&mut self`.
unsafe impl Send for Session {}

/// A request while libiscsi has it.
struct Pending {
    functions: &'static Functions,
    request: DeviceRequest,
    vector: RawVector,
    finished: Arc<Mutex<VecDeque<Finished>>>,
}

impl Session {
    /// Connects and logs in.
    pub(crate) fn open(functions: &'static Functions, login: &Login<'_>) -> Result<Self, Fault> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| Fault::Other("a zero byte in the address".into()))
        };
        let (initiator, portal, target) =
            (text(login.initiator)?, text(login.portal)?, text(login.target)?);
        // SAFETY: the text lives during the call; the library copies it.
        let context = unsafe { (functions.create_context)(initiator.as_ptr()) };
        let context =
            NonNull::new(context).ok_or_else(|| Fault::Other("no memory for a session".into()))?;
        let finished = Arc::default();
        let lun = c_int::from(login.lun);
        let session = Self { functions, context, lun, sector_bytes: 512, finished, under_way: 0 };
        let raw = context.as_ptr();
        // SAFETY: the context is that of this session; texts live during the calls, and are copied.
        let all_set = unsafe {
            (functions.set_noautoreconnect)(raw, 1);
            [
                (functions.set_targetname)(raw, target.as_ptr()),
                (functions.set_session_type)(raw, SESSION_NORMAL),
                (functions.set_header_digest)(raw, DIGEST_NONE),
                (functions.set_timeout)(
                    raw,
                    c_int::try_from(login.timeout_s).unwrap_or(c_int::MAX),
                ),
            ]
        };
        if all_set != [0; 4] {
            return Err(Fault::Other(session.said()));
        }
        if let Some((user, password)) = login.user {
            let (user, password) = (text(user)?, text(password)?);
            // SAFETY: as above.
            if unsafe {
                (functions.set_initiator_username_pwd)(raw, user.as_ptr(), password.as_ptr())
            } != 0
            {
                return Err(Fault::Other(session.said()));
            }
        }
        // SAFETY: as above.
        match unsafe { (functions.full_connect_sync)(raw, portal.as_ptr(), lun) } {
            0 => Ok(session),
            _ => Err(Fault::Other(session.said())),
        }
    }

    /// Returns the size of the unit, and bytes of its sectors. Requests are counted in these from
    /// then on.
    pub(crate) fn capacity(&mut self) -> Result<(u64, u32), Fault> {
        // SAFETY: the context is that of this session, and no request is under way.
        let task = unsafe { (self.functions.readcapacity16_sync)(self.context.as_ptr(), self.lun) };
        let task = self.done(task)?;
        // SAFETY: the task was answered; the result is null or belongs to it, which lives until it
        // is freed.
        let capacity = unsafe {
            (self.functions.unmarshall)(task.task.as_ptr()).cast::<RawCapacity>().as_ref()
        };
        let found = capacity.map(|capacity| (capacity.returned_lba, capacity.block_length));
        drop(task);
        match found {
            Some((last, sector_bytes)) if sector_bytes > 0 => {
                self.sector_bytes = sector_bytes;
                Ok(((last.saturating_add(1)).saturating_mul(sector_bytes.into()), sector_bytes))
            }
            _ => Err(Fault::Other("the target does not say how large it is".into())),
        }
    }

    /// Waits until written data is on the medium.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        // SAFETY: the context is that of this session, and no request is under way.
        let task = unsafe {
            (self.functions.synchronizecache16_sync)(self.context.as_ptr(), self.lun, 0, 0, 0, 0)
        };
        self.done(task).map(drop)
    }

    /// Hands a request over. Its offset and length are multiples of the sector.
    pub(crate) fn submit(&mut self, request: DeviceRequest) -> Result<(), Fault> {
        let sector_bytes = self.sector_bytes;
        let sector = request.offset / u64::from(sector_bytes);
        let access = request.access;
        let length = u32::try_from(request.buffer.len())
            .map_err(|_| Fault::Other("a request over 4 GiB".into()))?;
        let vector = RawVector { base: ptr::null_mut(), length: length as usize };
        let finished = Arc::clone(&self.finished);
        let pending = Box::into_raw(Box::new(Pending {
            functions: self.functions,
            request,
            vector,
            finished,
        }));
        let (context, size) = (self.context.as_ptr(), sector_bytes as c_int);
        // SAFETY: the box was just made, and nobody else has it. Its buffer's bytes and its vector
        // stay where they are until `done` takes the box back, and are used by the library alone
        // until then.
        let task = unsafe {
            let bytes = (*pending).request.buffer.as_mut_ptr();
            (*pending).vector.base = bytes.cast();
            match access {
                DeviceAccess::Read => (self.functions.read16_iov_task)(
                    context,
                    self.lun,
                    sector,
                    length,
                    size,
                    0,
                    0,
                    0,
                    0,
                    0,
                    done,
                    pending.cast(),
                    &raw mut (*pending).vector,
                    1,
                ),
                DeviceAccess::Write => (self.functions.write16_task)(
                    context,
                    self.lun,
                    sector,
                    bytes,
                    length,
                    size,
                    0,
                    0,
                    0,
                    0,
                    0,
                    done,
                    pending.cast(),
                ),
            }
        };
        if task.is_null() {
            // SAFETY: without a task the library has not kept the pointer and calls nobody, so the
            // box is ours again.
            drop(unsafe { Box::from_raw(pending) });
            return Err(Fault::Gone(self.said()));
        }
        self.under_way += 1;
        Ok(())
    }

    /// Requests that were handed over and not returned by [`Session::complete`].
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Waits up to `wait_ms` for a request to be done; none if none was.
    pub(crate) fn complete(&mut self, wait_ms: c_int) -> Result<Option<Finished>, Fault> {
        if let Some(finished) = self.taken() {
            return Ok(Some(finished));
        }
        // SAFETY: the context is that of this session.
        let (fd, events) = unsafe {
            (
                (self.functions.get_fd)(self.context.as_ptr()),
                (self.functions.which_events)(self.context.as_ptr()),
            )
        };
        let mut polled = libc::pollfd { fd, events: events as c_short, revents: 0 };
        // SAFETY: one structure, which lives during the call.
        let ready = unsafe { libc::poll(&raw mut polled, 1, wait_ms) };
        let happened = if ready > 0 { c_int::from(polled.revents) } else { 0 };
        // SAFETY: the context is that of this session. Callbacks that this runs own what they are
        // given.
        let served = unsafe { (self.functions.service)(self.context.as_ptr(), happened) };
        match self.taken() {
            Some(finished) => Ok(Some(finished)),
            None if served < 0 => Err(Fault::Gone(self.said())),
            None => Ok(None),
        }
    }

    fn taken(&mut self) -> Option<Finished> {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        self.under_way -= 1;
        Some(finished)
    }

    /// Logs out of the target.
    pub(crate) fn log_out(&mut self) {
        // SAFETY: the context is that of this session. A target that is gone is no reason to stay.
        let _ = unsafe { (self.functions.logout_sync)(self.context.as_ptr()) };
    }

    /// Returns the library's last message.
    fn said(&self) -> String {
        // SAFETY: the context is that of this session.
        unsafe { said(self.functions, self.context.as_ptr()) }
    }

    /// Returns the outcome of a request of one of the functions that wait.
    fn done(&self, task: *mut RawTask) -> Result<Task, Fault> {
        let task = NonNull::new(task).ok_or_else(|| Fault::Gone(self.said()))?;
        let task = Task { functions: self.functions, task };
        // SAFETY: the library returned the task, which lives until it is freed.
        let (status, sense) = unsafe { ((*task.task.as_ptr()).status, sense(task.task.as_ptr())) };
        match status {
            STATUS_GOOD => Ok(task),
            _ => Err(fault(status, sense, self.said())),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: nobody else has the context. Requests that are still under way come back by their
        // callbacks.
        let _ = unsafe { (self.functions.destroy_context)(self.context.as_ptr()) };
    }
}

/// A task of a function that waits, which is freed with the value.
struct Task {
    functions: &'static Functions,
    task: NonNull<RawTask>,
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: the task belongs to the caller of the function that returned it, and is not used
        // after this.
        unsafe { (self.functions.free_task)(self.task.as_ptr()) }
    }
}

/// Returns the library's last message in `context`.
///
/// # Safety
/// `context` is alive.
unsafe fn said(functions: &Functions, context: *mut RawContext) -> String {
    // SAFETY: as the caller promises.
    let text = unsafe { (functions.get_error)(context) };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: it ends with a zero, and is copied here.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().trim().to_owned()
}

/// Returns the key and code of the sense data of `task`.
///
/// # Safety
/// `task` is alive.
unsafe fn sense(task: *const RawTask) -> (i32, i32) {
    // SAFETY: as the caller promises; the structure begins as the library's does.
    unsafe { ((*task).sense.key, (*task).sense.ascq) }
}

fn fault(status: c_int, (key, code): (i32, i32), said: String) -> Fault {
    match status {
        STATUS_CHECK_CONDITION => Fault::Sense { key, code, said },
        STATUS_CANCELLED => Fault::Gone("the session has ended".into()),
        STATUS_TIMEOUT => Fault::Timeout,
        _ => Fault::Other(said),
    }
}

/// Takes a request back from the library.
///
/// # Safety
/// Called by libiscsi alone: `context` is alive, `command` is the request's task or null, and
/// `private` the box that was handed over with it, of which this is the only call.
unsafe extern "C" fn done(
    context: *mut RawContext,
    status: c_int,
    command: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: the pointer is that of `Session::submit`, and comes back once.
    let pending = unsafe { Box::from_raw(private.cast::<Pending>()) };
    let Pending { functions, request, finished, .. } = *pending;
    let task = command.cast::<RawTask>();
    let mut outcome = Ok(());
    if status != STATUS_GOOD {
        // SAFETY: the context is alive, and so is the task, if there is one.
        let (found, said) = unsafe {
            (if task.is_null() { (0, 0) } else { sense(task) }, said(functions, context))
        };
        outcome = Err(fault(status, found, said));
    }
    if !task.is_null() {
        // SAFETY: the task is alive until it is freed here, as the library allows in a callback.
        unsafe {
            if outcome.is_ok() && (*task).residual_status != RESIDUAL_NONE {
                outcome = Err(Fault::Residual);
            }
            (functions.free_task)(task);
        }
    }
    finished.lock().unwrap_or_else(PoisonError::into_inner).push_back((request, outcome));
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn structures_are_laid_out_as_the_library_has_them() {
        // from offsetof() over the headers of libiscsi 1.19 on 64-bit machines
        assert_eq!((offset_of!(RawTask, status), offset_of!(RawTask, residual_status)), (0, 32));
        assert_eq!((offset_of!(RawTask, residual), offset_of!(RawTask, sense)), (40, 48));
        assert_eq!((offset_of!(RawSense, key), offset_of!(RawSense, ascq)), (4, 8));
        assert_eq!(
            (offset_of!(RawCapacity, returned_lba), offset_of!(RawCapacity, block_length)),
            (0, 8)
        );
        assert_eq!(size_of::<RawVector>(), 16);
    }
}
