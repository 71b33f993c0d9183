//! The boundary to WiredTiger: its structures as far as we touch them, declared by hand, the function that it calls to
//! load us, and the callbacks of an encryptor. The only file of this crate with `unsafe`.
//!
//! Not here: what the callbacks do (`encryptor`), and which places in WiredTiger's table are the right ones (`series`).
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Table.* `WT_CONNECTION` begins with a table of function pointers, the same for every connection of a process. Two of
//!   them are read and called, at places that `series` proved.
//! - *Owner.* An [`Object`] is made by [`Box::into_raw`], and taken back by `terminate`, which WiredTiger calls once for
//!   each that it was given, when no other call is under way; or by us, if WiredTiger did not take it.
//! - *Bytes.* WiredTiger gives a source of `src_len` readable and a destination of `dst_len` writable bytes, apart from
//!   each other, for the time of the call, where the lengths are ones that it can mean: see `check_lengths`. The
//!   destination may be uninitialised: it is written before it is read.
//! - *Headers.* The source is in one buffer with what WiredTiger has before it: a header (of a page, of a journal record, or
//!   none), and in `decrypt` the length of 4 bytes. In `decrypt` its value less `src_len` is the length of both, since
//!   `src_len` was made of it; and a journal record is in the buffer as far as its own length says, since WiredTiger made
//!   its checksum over all of it. In `encrypt` no value says it; allocations of so many bytes begin at multiples of 16, so
//!   the remainder does, and bytes before the source are read only where it says that they are there.
//! - *Threads.* WiredTiger calls one encryptor from many threads at once: all that they share is [`Sync`].
//! - *Panics.* None leaves a callback: each becomes an error that is told.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::Arc;

use sealstone_seal::engine_page::{EnginePageError, HEADER_BYTES, OVERHEAD_BYTES, PlaceKind, inspect};

use crate::NAME;
use crate::encryptor::{Encryptor, ExtensionError};
use crate::header::{
    Bound, EXPANSION_BYTES, LENGTH_BYTES, PAGE_BYTES, RECORD_BYTES, Skip, TEXT_BYTES, check_fill, check_page,
    check_record,
};
use crate::image::Image;
use crate::series::{self, Series, Symbols, Version};
use crate::settings::Settings;

/// What a failed call returns: the system's "invalid argument", which WiredTiger passes on.
const FAILED: c_int = libc::EINVAL;

/// What a block that cannot be opened returns: WiredTiger's own `WT_ERROR`.
const UNREADABLE: c_int = -31802;

type Session = c_void;
type Connection = c_void;
type ConfigArg = c_void;

/// `WT_CONFIG_ITEM`: a value found in a configuration.
#[repr(C)]
struct ConfigItem {
    text: *const c_char,
    bytes: usize,
    number: i64,
    kind: c_int,
}

type Printf = unsafe extern "C" fn(*mut ExtensionApi, *mut Session, *const c_char, ...) -> c_int;

/// `WT_EXTENSION_API` up to the last function that we call; append-only by WiredTiger's own promise.
#[repr(C)]
struct ExtensionApi {
    connection: *mut Connection,
    err_printf: Printf,
    msg_printf: Printf,
    /// `strerror` to `collate`.
    uncalled: [*const c_void; 6],
    config_get: unsafe extern "C" fn(*mut Self, *mut Session, *mut ConfigArg, *const c_char, *mut ConfigItem) -> c_int,
    /// `config_get_string` to `unpack_uint`.
    uncalled_too: [*const c_void; 22],
    version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char,
}

type Crypt = unsafe extern "C" fn(*mut Iface, *mut Session, *mut u8, usize, *mut u8, usize, *mut usize) -> c_int;

/// `WT_ENCRYPTOR`.
#[repr(C)]
struct Iface {
    encrypt: Crypt,
    decrypt: Crypt,
    sizing: unsafe extern "C" fn(*mut Self, *mut Session, *mut usize) -> c_int,
    customize: unsafe extern "C" fn(*mut Self, *mut Session, *mut ConfigArg, *mut *mut Self) -> c_int,
    terminate: unsafe extern "C" fn(*mut Self, *mut Session) -> c_int,
}

/// What WiredTiger holds of us. The table comes first, so that a pointer to it is a pointer to this.
#[repr(C)]
struct Object {
    iface: Iface,
    log: Log,
    encryptor: Arc<Encryptor>,
}

impl Object {
    fn new(log: Log, encryptor: Arc<Encryptor>) -> Box<Self> {
        Box::new(Self { iface: Iface { encrypt, decrypt, sizing, customize, terminate }, log, encryptor })
    }
}

/// Where messages go: WiredTiger's own streams, which a server writes to its log; nowhere without one.
#[derive(Clone, Copy)]
struct Log(*mut ExtensionApi);

impl Log {
    /// `session` may be null.
    fn error(self, session: *mut Session, error: &ExtensionError) {
        self.print(session, &error.to_string(), true);
    }

    fn print(self, session: *mut Session, text: &str, error: bool) {
        // one line of a log
        let Ok(text) = CString::new(format!("{NAME}: {}", text.replace('\n', "; "))) else { return };
        if self.0.is_null() {
            return;
        }
        // SAFETY: the pointer is the connection's own table (rule "table"), which outlives every encryptor. The format
        // takes one string, which lives through the call. WiredTiger allows null for the session.
        unsafe {
            let print = if error { (*self.0).err_printf } else { (*self.0).msg_printf };
            print(self.0, session, c"%s".as_ptr(), text.as_ptr());
        }
    }
}

fn panicked(place: &'static str, panic: &(dyn Any + Send)) -> ExtensionError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let found = text.or_else(|| panic.downcast_ref::<String>().cloned());
    ExtensionError::Panic { place, found: found.unwrap_or_else(|| "a panic".into()) }
}

/// Runs `call`; tells what went wrong and returns `code` then.
fn guarded(
    log: Log,
    session: *mut Session,
    place: &'static str,
    code: c_int,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(panicked(place, &*panic))) {
        Ok(()) => 0,
        Err(error) => {
            // a panic here, such as one for want of memory, must not leave either
            let _ = catch_unwind(AssertUnwindSafe(|| log.error(session, &error)));
            code
        }
    }
}

/// Most bytes in one call: WiredTiger counts them, with its headers, in 32 bits.
const BYTES_MAX: usize = u32::MAX as usize - PAGE_BYTES - LENGTH_BYTES - EXPANSION_BYTES;

/// Looks at what WiredTiger passes before anything is done with it. A length that it reads from a file is in no way
/// authenticated: one that is too small for the headers becomes, less their length, one near 2^64.
///
/// # Errors
/// [`ExtensionError::Lengths`]: nothing was read or written.
fn check_lengths(object: &Object, call: &'static str, bytes: Bytes) -> Result<(), ExtensionError> {
    let Bytes { src, src_len, dst, dst_len, result_len } = bytes;
    let least = if call == "encrypt" { src_len.saturating_add(OVERHEAD_BYTES) } else { 0 };
    let null = src.is_null() || dst.is_null() || result_len.is_null();
    if null || src_len > BYTES_MAX || dst_len > BYTES_MAX + EXPANSION_BYTES || dst_len < least {
        let key = object.encryptor.pages().key().clone();
        return Err(ExtensionError::Lengths { call, src_len, dst_len, key });
    }
    Ok(())
}

/// What WiredTiger passes to be sealed or opened.
#[derive(Clone, Copy)]
struct Bytes {
    src: *mut u8,
    src_len: usize,
    dst: *mut u8,
    dst_len: usize,
    result_len: *mut usize,
}

unsafe extern "C" fn encrypt(
    iface: *mut Iface,
    session: *mut Session,
    src: *mut u8,
    src_len: usize,
    dst: *mut u8,
    dst_len: usize,
    result_len: *mut usize,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` or `customize` gave it (rule "owner").
    let object = unsafe { &*iface.cast::<Object>() };
    guarded(object.log, session, "encrypt", FAILED, || {
        check_lengths(object, "encrypt", Bytes { src, src_len, dst, dst_len, result_len })?;
        // SAFETY: rules "bytes" and "headers"; the length was checked.
        let bound = unsafe { bound_of_new(src, src_len, dst) };
        let padding_bytes = bound.padding_bytes(src_len, dst_len);
        let bytes = src_len + OVERHEAD_BYTES + padding_bytes;
        // SAFETY: rule "bytes": the source has src_len bytes, the destination at least `bytes`, all of which are written
        // here before the slice is made; the two do not overlap.
        let block = unsafe {
            ptr::write_bytes(dst, 0, HEADER_BYTES);
            ptr::copy_nonoverlapping(src, dst.add(HEADER_BYTES), src_len);
            ptr::write_bytes(dst.add(HEADER_BYTES + src_len), 0, bytes - HEADER_BYTES - src_len);
            slice::from_raw_parts_mut(dst, bytes)
        };
        object.encryptor.pages().seal_in_place(block, padding_bytes, bound.place())?;
        // SAFETY: WiredTiger passes a place for the length.
        unsafe { *result_len = bytes };
        Ok(())
    })
}

/// The header before what is to be sealed.
///
/// # Safety
/// As WiredTiger calls `encrypt`; `src_len` was checked.
unsafe fn bound_of_new(src: *const u8, src_len: usize, dst: *const u8) -> Bound {
    // SAFETY: rule "bytes": so many bytes are there.
    let beginning = unsafe { slice::from_raw_parts(src, src_len.min(TEXT_BYTES)) };
    match Skip::of_new(src.addr(), dst.addr(), beginning) {
        // SAFETY: rule "headers".
        Skip::Page => Bound::new_page(unsafe { &*src.sub(PAGE_BYTES).cast() }, src_len),
        // SAFETY: rule "headers".
        Skip::Record => Bound::new_record(unsafe { &*src.sub(RECORD_BYTES).cast() }),
        Skip::Text => Bound::TEXT,
        Skip::Unknown => Bound::UNKNOWN,
    }
}

unsafe extern "C" fn decrypt(
    iface: *mut Iface,
    session: *mut Session,
    src: *mut u8,
    src_len: usize,
    dst: *mut u8,
    dst_len: usize,
    result_len: *mut usize,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` or `customize` gave it (rule "owner").
    let object = unsafe { &*iface.cast::<Object>() };
    guarded(object.log, session, "decrypt", UNREADABLE, || {
        check_lengths(object, "decrypt", Bytes { src, src_len, dst, dst_len, result_len })?;
        // SAFETY: rule "bytes"; the length was checked.
        let block = unsafe { slice::from_raw_parts(src.cast_const(), src_len) };
        let info = inspect(block)?;
        let ciphertext = info.ciphertext(src_len)?;
        let bytes = ciphertext.len();
        if dst_len < bytes {
            return Err(EnginePageError::Buffer { found: dst_len, wanted: bytes }.into());
        }
        let bound = match info.kind {
            PlaceKind::Unknown => Bound::UNKNOWN,
            // SAFETY: rules "bytes" and "headers".
            _ => unsafe { bound_of_stored(object, src, src_len) }?,
        };
        let page: &mut [u8] = if bytes == 0 {
            &mut []
        } else {
            // SAFETY: rule "bytes": the ciphertext is in the block, the destination has at least `bytes`, all of which are
            // written here before the slice is made; the two do not overlap.
            unsafe {
                ptr::copy_nonoverlapping(src.add(ciphertext.start), dst, bytes);
                slice::from_raw_parts_mut(dst, bytes)
            }
        };
        object.encryptor.pages().open_inspected(block, &info, page, bound.place())?;
        // SAFETY: WiredTiger passes a place for the length.
        unsafe { *result_len = bytes };
        Ok(())
    })
}

/// The header before a block, with what WiredTiger sets later checked.
///
/// # Safety
/// As WiredTiger calls `decrypt`; `src_len` was checked.
unsafe fn bound_of_stored(object: &Object, src: *const u8, src_len: usize) -> Result<Bound, ExtensionError> {
    let changed = |kind, found| {
        let key = object.encryptor.pages().key().clone();
        ExtensionError::Header { kind, found, bytes: src_len, key }
    };
    // SAFETY: rule "headers": the length is always there, WiredTiger has just read it.
    let told = u32::from_le_bytes(unsafe { *src.sub(LENGTH_BYTES).cast() });
    match Skip::of_stored(told, src_len) {
        Skip::Page => {
            // SAFETY: rule "headers".
            let header = unsafe { &*src.sub(LENGTH_BYTES + PAGE_BYTES).cast() };
            check_page(header, src_len).map_err(|found| changed("page", found))?;
            Ok(Bound::page(header))
        }
        Skip::Record => {
            // SAFETY: rule "headers".
            let header = unsafe { &*src.sub(LENGTH_BYTES + RECORD_BYTES).cast() };
            if let Some(fill) = check_record(header, src_len).map_err(|found| changed("journal record", found))? {
                // SAFETY: rule "headers": the whole record, as long as its header says, is in the buffer.
                let fill = unsafe { slice::from_raw_parts(src.add(src_len), fill) };
                check_fill(fill).map_err(|found| changed("journal record", found))?;
            }
            Ok(Bound::record(header))
        }
        Skip::Text => Ok(Bound::TEXT),
        Skip::Unknown => Ok(Bound::UNKNOWN),
    }
}

unsafe extern "C" fn sizing(iface: *mut Iface, session: *mut Session, expansion: *mut usize) -> c_int {
    // SAFETY: WiredTiger passes what `init` or `customize` gave it (rule "owner").
    let object = unsafe { &*iface.cast::<Object>() };
    guarded(object.log, session, "sizing", FAILED, || {
        // SAFETY: WiredTiger passes a place for the constant.
        unsafe { *expansion = object.encryptor.expansion_bytes() };
        Ok(())
    })
}

/// Called once for each key id, with a lock of the whole connection held: it asks nobody.
unsafe extern "C" fn customize(
    iface: *mut Iface,
    session: *mut Session,
    config: *mut ConfigArg,
    custom: *mut *mut Iface,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let object = unsafe { &*iface.cast::<Object>() };
    guarded(object.log, session, "customize", FAILED, || {
        let value = |name: &CStr| -> Option<String> {
            let mut item = ConfigItem { text: ptr::null(), bytes: 0, number: 0, kind: 0 };
            // SAFETY: the table is the connection's own, the configuration and the session are WiredTiger's of this call,
            // name and item live through it. On success the item is a text of so many bytes in the configuration.
            let found = unsafe {
                let api = object.log.0;
                let code = ((*api).config_get)(api, session, config, name.as_ptr(), &mut item);
                if code != 0 || item.text.is_null() {
                    return None;
                }
                slice::from_raw_parts(item.text.cast::<u8>(), item.bytes)
            };
            Some(String::from_utf8_lossy(found).into_owned()).filter(|text| !text.is_empty())
        };
        if value(c"secretkey").is_some() {
            return Err(ExtensionError::SecretKey);
        }
        object.encryptor.check_key_id(&value(c"keyid").unwrap_or_default())?;
        let own = Object::new(object.log, object.encryptor.clone());
        // SAFETY: WiredTiger passes a place for the encryptor, and terminates it later (rule "owner").
        unsafe { *custom = Box::into_raw(own).cast() };
        Ok(())
    })
}

unsafe extern "C" fn terminate(iface: *mut Iface, session: *mut Session) -> c_int {
    // SAFETY: WiredTiger calls this once for each object that it was given, after every other call (rule "owner").
    let object = unsafe { Box::from_raw(iface.cast::<Object>()) };
    guarded(object.log, session, "terminate", FAILED, || {
        drop(object);
        Ok(())
    })
}

/// Loads the extension: WiredTiger calls it by this name.
///
/// A connection may be opened several times in one process, so nothing is kept but what the connection holds.
///
/// # Safety
/// Called by WiredTiger alone, with its connection and its configuration.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn wiredtiger_extension_init(
    connection: *mut Connection,
    config: *mut ConfigArg,
) -> c_int {
    let mut log = Log(ptr::null_mut());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as the caller promises.
        let settings = unsafe { settings(config) };
        let named = settings.as_ref().ok().and_then(|settings| settings.series.as_deref());
        // SAFETY: as the caller promises. Where program and symbols agree on a series, its log serves for whatever is
        // wrong with the settings.
        let table = unsafe { Table::find(connection, None) };
        if let Ok(table) = &table {
            log = table.log()?;
        }
        let table = match table {
            Ok(table) => series::choose(table.found, named).map(|_| table)?,
            // SAFETY: as the caller promises.
            Err(_) if named.is_some() => unsafe { Table::find(connection, named) }?,
            Err(error) => return Err(error),
        };
        log = table.log()?;
        let encryptor = Arc::new(Encryptor::open(&settings?)?);
        log.print(ptr::null_mut(), &encryptor.greeting(), false);
        if let Some(warning) = encryptor.warning() {
            log.print(ptr::null_mut(), &warning, false);
        }
        table.add(Object::new(log, encryptor))
    }));
    let error = match outcome.unwrap_or_else(|panic| Err(panicked("init", &*panic))) {
        Ok(()) => return 0,
        Err(error) => error,
    };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if log.0.is_null() {
            // without a place in WiredTiger that may be called there is only this; servers keep it, too
            eprintln!("{NAME}: {}", error.to_string().replace('\n', "; "));
        } else {
            log.error(ptr::null_mut(), &error);
        }
    }));
    FAILED
}

/// The settings in `config`, which is an array of texts that a null ends; the extension's own is the first.
///
/// # Safety
/// `config` is what WiredTiger passes to an extension.
unsafe fn settings(config: *mut ConfigArg) -> Result<Settings, ExtensionError> {
    let text = if config.is_null() {
        None
    } else {
        // SAFETY: as above: an array of texts.
        let first = unsafe { *config.cast::<*const c_char>() };
        // SAFETY: each text ends with a zero byte and lives through the call.
        (!first.is_null()).then(|| unsafe { CStr::from_ptr(first) })
    };
    Ok(Settings::parse(&text.unwrap_or_default().to_string_lossy())?)
}

/// The table of a connection whose series is sure.
struct Table {
    connection: *mut Connection,
    series: &'static Series,
    found: Option<Version>,
}

impl Table {
    /// # Safety
    /// `connection` is WiredTiger's.
    unsafe fn find(connection: *mut Connection, named: Option<&str>) -> Result<Self, ExtensionError> {
        // SAFETY: the table has more than 21 places in every series (rule "table"), so these two are always readable.
        let place = |at: usize| unsafe { *connection.cast::<*const c_void>().add(at - 1) };
        let any = Image::at(place(1) as u64);
        let found = running_version().or_else(|| any.as_ref().and_then(Image::version));
        let series = series::choose(found, named)?;
        let addresses = [place(series.add_encryptor) as u64, place(series.get_extension_api) as u64];
        let symbols = match any.and_then(|image| image.symbols(addresses)) {
            Some([add_encryptor, get_extension_api]) => Symbols::Named { add_encryptor, get_extension_api },
            None => Symbols::None,
        };
        series.prove(&symbols, found, named.is_some())?;
        Ok(Self { connection, series, found })
    }

    /// WiredTiger's functions for extensions, once they say that they are of the version that was found.
    fn log(&self) -> Result<Log, ExtensionError> {
        type Get = unsafe extern "C" fn(*mut Connection) -> *mut ExtensionApi;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the place was proved to hold this function (rule "table"). It returns the connection's own table of
        // functions, whose version function writes three numbers.
        let api = unsafe {
            let get = *self.connection.cast::<Get>().add(self.series.get_extension_api - 1);
            let api = get(self.connection);
            if api.is_null() || (*api).connection != self.connection {
                return Err(ExtensionError::Refused { attempted: "give its functions for extensions", code: 0 });
            }
            ((*api).version)(&mut major, &mut minor, &mut patch);
            api
        };
        let told = Version { major: major as u32, minor: minor as u32, patch: patch as u32 };
        match self.found {
            Some(found) if found != told => Err(ExtensionError::OtherVersion { told, found }),
            _ => {
                series::choose(Some(told), Some(self.series.name))?;
                Ok(Log(api))
            }
        }
    }

    /// Hands `object` over to WiredTiger.
    fn add(&self, object: Box<Object>) -> Result<(), ExtensionError> {
        type Add = unsafe extern "C" fn(*mut Connection, *const c_char, *mut Iface, *const c_char) -> c_int;
        let name = CString::new(NAME).expect("a name without a zero byte");
        let object = Box::into_raw(object);
        // SAFETY: the place was proved to hold this function (rule "table"). The object lives until it is terminated
        // (rule "owner"); where WiredTiger does not take it, it is ours again.
        unsafe {
            let add = *self.connection.cast::<Add>().add(self.series.add_encryptor - 1);
            let code = add(self.connection, name.as_ptr(), object.cast(), ptr::null());
            if code != 0 {
                drop(Box::from_raw(object));
                return Err(ExtensionError::Refused { attempted: "take the encryptor", code });
            }
        }
        Ok(())
    }
}

/// The version that WiredTiger's own function tells, where the program shows that function to libraries.
fn running_version() -> Option<Version> {
    type Tell = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: a look-up by name; a function of this name is WiredTiger's, and writes three numbers.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"wiredtiger_version".as_ptr());
        if found.is_null() {
            return None;
        }
        let tell = std::mem::transmute::<*mut c_void, Tell>(found);
        tell(&mut major, &mut minor, &mut patch);
    }
    Some(Version { major: major as u32, minor: minor as u32, patch: patch as u32 })
}

/// An encryptor called as WiredTiger calls it, through the table of functions: for tests and measurements.
pub struct Callbacks(*mut Object);

// SAFETY: the object is Sync (rule "threads"), and this owns it.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

impl Callbacks {
    /// Without a connection: messages go nowhere.
    #[must_use]
    pub fn new(encryptor: Encryptor) -> Self {
        Self(Box::into_raw(Object::new(Log(ptr::null_mut()), Arc::new(encryptor))))
    }

    /// What `sizing` tells: how much longer a block is, in bytes.
    ///
    /// # Errors
    /// What the callback returns.
    pub fn expansion_bytes(&self) -> Result<usize, i32> {
        let mut expansion = 0;
        // SAFETY: the object is ours and whole.
        let code = unsafe { ((*self.0).iface.sizing)(self.0.cast(), ptr::null_mut(), &mut expansion) };
        if code == 0 { Ok(expansion) } else { Err(code) }
    }

    /// Seals `item` but for its first `skip` bytes, which are a header, into `stored`, as WiredTiger does: header, length,
    /// block. Returns how many bytes that are.
    ///
    /// # Errors
    /// What the callback returns.
    ///
    /// # Panics
    /// If `stored` is shorter than header, length, content and expansion, or a buffer does not begin at a multiple of 16,
    /// as allocated ones do.
    pub fn encrypt(&self, item: &[u8], skip: usize, stored: &mut [u8]) -> Result<usize, i32> {
        let dst_len = item.len() - skip + EXPANSION_BYTES;
        let start = skip + LENGTH_BYTES;
        assert!(stored.len() >= start + dst_len, "{} bytes for {}", stored.len(), start + dst_len);
        let aligned = |buffer: &[u8]| buffer.as_ptr().addr().is_multiple_of(16);
        assert!(aligned(item) && aligned(stored), "a buffer that is not aligned");
        let bytes = Bytes {
            src: item[skip..].as_ptr().cast_mut(),
            src_len: item.len() - skip,
            dst: stored[start..].as_mut_ptr(),
            dst_len,
            result_len: &mut 0,
        };
        // SAFETY: the object is ours and whole; both buffers are as WiredTiger's are.
        let block_bytes = unsafe { self.crypt((*self.0).iface.encrypt, bytes) }?;
        stored[..skip].copy_from_slice(&item[..skip]);
        let told = u32::try_from(start + block_bytes).expect("the callback checks the length");
        stored[skip..start].copy_from_slice(&told.to_le_bytes());
        Ok(start + block_bytes)
    }

    /// Opens what [`Callbacks::encrypt`] made, as WiredTiger does, which takes the length in `stored` for what it says as
    /// long as it is none beyond the end. Returns the length of header and content in `item`.
    ///
    /// # Errors
    /// What the callback returns; -1 where WiredTiger itself would refuse.
    ///
    /// # Panics
    /// If `item` is shorter than `stored`.
    pub fn decrypt(&self, stored: &[u8], skip: usize, item: &mut [u8]) -> Result<usize, i32> {
        assert!(item.len() >= stored.len(), "{} bytes for {}", item.len(), stored.len());
        let start = skip + LENGTH_BYTES;
        let told = stored[skip..].first_chunk().map(|told| u32::from_le_bytes(*told) as usize);
        let told = told.filter(|told| *told <= stored.len()).ok_or(-1)?;
        let src_len = told.wrapping_sub(start);
        let (src, dst) = (stored[start..].as_ptr().cast_mut(), item[skip..].as_mut_ptr());
        let bytes = Bytes { src, src_len, dst, dst_len: src_len, result_len: &mut 0 };
        // SAFETY: the object is ours and whole; both buffers are as WiredTiger's are, the length as well, right or wrong.
        let page_bytes = unsafe { self.crypt((*self.0).iface.decrypt, bytes) }?;
        item[..skip].copy_from_slice(&stored[..skip]);
        Ok(skip + page_bytes)
    }

    /// # Safety
    /// `call` is a callback of the object, `bytes` what WiredTiger passes.
    unsafe fn crypt(&self, call: Crypt, bytes: Bytes) -> Result<usize, i32> {
        let Bytes { src, src_len, dst, dst_len, result_len } = bytes;
        // SAFETY: as the caller promises; the source is only read.
        unsafe {
            let code = call(self.0.cast(), ptr::null_mut(), src, src_len, dst, dst_len, result_len);
            if code == 0 { Ok(*result_len) } else { Err(code) }
        }
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        // SAFETY: once, at the end (rule "owner").
        unsafe { ((*self.0).iface.terminate)(self.0.cast(), ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let log = Log(ptr::null_mut());
        assert_eq!(guarded(log, ptr::null_mut(), "test", UNREADABLE, || panic!("on purpose")), UNREADABLE);
        assert_eq!(guarded(log, ptr::null_mut(), "test", FAILED, || Ok(())), 0);
        let told = panicked("encrypt", &String::from("out of range"));
        assert_eq!(
            told.to_string(),
            "sealstone failed within encrypt: out of range\nthis is a bug in sealstone; please report it"
        );
    }

    fn callbacks(dir: &std::path::Path) -> Callbacks {
        let key = dir.join("orders.key");
        sealstone_keys::file::KeyFile::create(&key, "orders").unwrap();
        let settings = Settings::parse(&format!("key=\"{}\",cipher=aes-256", key.display())).unwrap();
        Callbacks::new(Encryptor::open(&settings).unwrap())
    }

    /// Lengths that WiredTiger cannot mean, and null: nothing is read, nothing is written.
    #[test]
    fn impossible_lengths_are_refused_before_anything_else() {
        let dir = tempfile::tempdir().unwrap();
        let callbacks = callbacks(dir.path());
        let (src, mut dst, mut result) = ([0xEE_u8; 64], [0xEE_u8; 64], 7_usize);
        let (from, to, result_len) = (src.as_ptr().cast_mut(), dst.as_mut_ptr(), &raw mut result);
        let huge = [usize::MAX, usize::MAX - 43, usize::MAX / 2, usize::MAX / 2 + 1, 1 << 40, u32::MAX as usize + 1];
        let bytes = |src, src_len, dst, dst_len, result_len| Bytes { src, src_len, dst, dst_len, result_len };
        let none = ptr::null_mut;
        let mut cases: Vec<Bytes> = huge.iter().map(|huge| bytes(from, *huge, to, *huge, result_len)).collect();
        cases.extend(huge.iter().map(|huge| bytes(from, *huge, to, 64, result_len)));
        cases.extend(huge.iter().map(|huge| bytes(from, 1, to, *huge, result_len)));
        cases.extend([bytes(none(), 0, to, 64, result_len), bytes(from, 0, none(), 64, result_len)]);
        cases.push(bytes(from, 0, to, 64, ptr::null_mut()));
        for case in cases {
            // SAFETY: the object is ours and whole. What the pointers lead to is not what the lengths say: that is what is
            // tested, and where it is refused nothing is read.
            let (sealed, opened) = unsafe {
                let iface = &(*callbacks.0).iface;
                (callbacks.crypt(iface.encrypt, case), callbacks.crypt(iface.decrypt, case))
            };
            assert_eq!((sealed, opened), (Err(FAILED), Err(UNREADABLE)), "{} {}", case.src_len, case.dst_len);
        }
        // too short for a header and a tag
        for src_len in 0..64 {
            // SAFETY: as above.
            let opened = unsafe {
                let case = bytes(from, src_len, to, src_len, result_len);
                callbacks.crypt((*callbacks.0).iface.decrypt, case)
            };
            assert_eq!(opened, Err(UNREADABLE), "{src_len}");
        }
        assert_eq!((dst, result), ([0xEE; 64], 7));
        let error = check_lengths(
            // SAFETY: the object is ours and whole.
            unsafe { &*callbacks.0 },
            "decrypt",
            bytes(from, usize::MAX - 3, to, usize::MAX - 3, result_len),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "WiredTiger asks to decrypt 18446744073709551612 bytes into a buffer of 18446744073709551612 under key orders \
             version 1: a length in a file was changed, or memory is damaged\n\
             nothing was read or written; restore the file from a backup, or resync this member"
        );
    }

    /// A forked child has the salt and the counter of its parent: it seals nothing, and opens nothing.
    #[test]
    fn a_forked_child_uses_no_nonce() {
        let dir = tempfile::tempdir().unwrap();
        let callbacks = callbacks(dir.path());
        let item = vec![0x81; RECORD_BYTES + 100];
        let mut stored = vec![0; item.len() + LENGTH_BYTES + EXPANSION_BYTES];
        let mut opened = stored.clone();
        callbacks.encrypt(&item, RECORD_BYTES, &mut stored).unwrap();
        // SAFETY: the child calls nothing but the callbacks, which take no lock that another thread might hold, and ends
        // without running what the test program does at its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let decrypted = callbacks.decrypt(&stored, RECORD_BYTES, &mut opened);
            let encrypted = callbacks.encrypt(&item, RECORD_BYTES, &mut stored);
            let refused = encrypted == Err(FAILED) && decrypted == Err(UNREADABLE);
            // SAFETY: ends the child.
            unsafe { libc::_exit(if refused { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child of this test.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child went on: {status:#x}");
        callbacks.encrypt(&item, RECORD_BYTES, &mut stored).unwrap();
    }

    /// The places that WiredTiger's own header gives, counted in pointers.
    #[test]
    fn structures_are_laid_out_as_wiredtigers() {
        let pointer = size_of::<*const c_void>();
        assert_eq!(offset_of!(ExtensionApi, err_printf), pointer);
        assert_eq!(offset_of!(ExtensionApi, config_get), 9 * pointer);
        assert_eq!(offset_of!(ExtensionApi, version), 32 * pointer);
        assert_eq!(size_of::<Iface>(), 5 * pointer);
        assert_eq!(offset_of!(Object, iface), 0);
        assert_eq!((offset_of!(ConfigItem, bytes), offset_of!(ConfigItem, number)), (pointer, 2 * pointer));
    }
}
