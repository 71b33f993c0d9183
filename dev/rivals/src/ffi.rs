//! libgcrypt, loaded at run time if this machine has it (none of its headers is needed to build,
//! and none of it is linked), and OpenSSL's HMAC that keeps its key, which the crate `openssl` does
//! not have: the one file here with `unsafe`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::LazyLock;

use openssl::hash::MessageDigest;

/// Name of the library for the dynamic linker: the interface of 1.6 to 1.11.
const NAME: &CStr = c"libgcrypt.so.20";

/// `GCRYCTL_INITIALIZATION_FINISHED` of gcrypt.h.
const INITIALIZATION_FINISHED: c_int = 38;
/// `GCRYCTL_RESET` of gcrypt.h.
const RESET: c_int = 4;

type Handle = *mut c_void;

/// The functions used, with the types in libgcrypt's reference manual.
struct Functions {
    version: String,
    open: unsafe extern "C" fn(*mut Handle, c_int, c_int, c_uint) -> c_uint,
    close: unsafe extern "C" fn(Handle),
    set_key: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    set_counter: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    set_nonce: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    encrypt: unsafe extern "C" fn(Handle, *mut c_void, usize, *const c_void, usize) -> c_uint,
    tag: unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_uint,
    mac_open: unsafe extern "C" fn(*mut Handle, c_int, c_uint, *mut c_void) -> c_uint,
    mac_close: unsafe extern "C" fn(Handle),
    mac_set_key: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    mac_control: unsafe extern "C" fn(Handle, c_int, *mut c_void, usize) -> c_uint,
    mac_write: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint,
    mac_read: unsafe extern "C" fn(Handle, *mut c_void, *mut usize) -> c_uint,
}

static FUNCTIONS: LazyLock<Option<Functions>> = LazyLock::new(load);

/// Opens the library, checks that it is there as a whole, and ends its set-up.
fn load() -> Option<Functions> {
    // SAFETY: the name ends with NUL; loading runs the constructors of a library of the system.
    let library = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    let find = |name: &CStr| {
        // SAFETY: `library` was opened above and is never closed; the name ends with NUL.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    macro_rules! function {
        ($name:literal as $type:ty) => {{
            let found = find($name)?;
            // SAFETY: the function of this name has this type in every libgcrypt of this interface.
            unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
        }};
    }
    let check_version =
        function!(c"gcry_check_version" as unsafe extern "C" fn(*const c_char) -> *const c_char);
    let control = function!(c"gcry_control" as unsafe extern "C" fn(c_int, ...) -> c_uint);
    // SAFETY: NULL requests the version; the result is static text, and the first call initialises
    // the library.
    let version = unsafe { check_version(null()) };
    // SAFETY: this command takes an integer that it does not look at.
    let failed = unsafe { control(INITIALIZATION_FINISHED, 0 as c_int) };
    if version.is_null() || failed != 0 {
        return None;
    }
    // SAFETY: static text that ends with NUL.
    let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
    Some(Functions {
        version,
        open: function!(
            c"gcry_cipher_open"
                as unsafe extern "C" fn(*mut Handle, c_int, c_int, c_uint) -> c_uint
        ),
        close: function!(c"gcry_cipher_close" as unsafe extern "C" fn(Handle)),
        set_key: function!(
            c"gcry_cipher_setkey" as unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint
        ),
        set_counter: function!(
            c"gcry_cipher_setctr" as unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint
        ),
        set_nonce: function!(
            c"gcry_cipher_setiv" as unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint
        ),
        encrypt: function!(
            c"gcry_cipher_encrypt"
                as unsafe extern "C" fn(Handle, *mut c_void, usize, *const c_void, usize) -> c_uint
        ),
        tag: function!(
            c"gcry_cipher_gettag" as unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_uint
        ),
        mac_open: function!(
            c"gcry_mac_open"
                as unsafe extern "C" fn(*mut Handle, c_int, c_uint, *mut c_void) -> c_uint
        ),
        mac_close: function!(c"gcry_mac_close" as unsafe extern "C" fn(Handle)),
        mac_set_key: function!(
            c"gcry_mac_setkey" as unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint
        ),
        mac_control: function!(
            c"gcry_mac_ctl" as unsafe extern "C" fn(Handle, c_int, *mut c_void, usize) -> c_uint
        ),
        mac_write: function!(
            c"gcry_mac_write" as unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint
        ),
        mac_read: function!(
            c"gcry_mac_read" as unsafe extern "C" fn(Handle, *mut c_void, *mut usize) -> c_uint
        ),
    })
}

/// Returns the library's version, where it is installed.
pub(crate) fn version() -> Option<&'static str> {
    FUNCTIONS.as_ref().map(|functions| functions.version.as_str())
}

/// A cipher of the library in one mode, one owner, one thread.
pub(crate) struct Cipher {
    functions: &'static Functions,
    handle: Handle,
}

impl Cipher {
    /// Number `algorithm` in mode `mode`, both as gcrypt.h has them; nothing where the library does
    /// not have it.
    pub(crate) fn open(algorithm: c_int, mode: c_int) -> Option<Self> {
        let functions = FUNCTIONS.as_ref()?;
        let mut handle = null_mut();
        // SAFETY: the place for the handle outlives the call; unknown numbers are an error.
        let failed = unsafe { (functions.open)(&mut handle, algorithm, mode, 0) };
        (failed == 0 && !handle.is_null()).then_some(Self { functions, handle })
    }

    /// Sets a key; whether it was taken.
    pub(crate) fn set_key(&mut self, key: &[u8]) -> bool {
        // SAFETY: the handle is open until drop; the library reads as many bytes as the slice has.
        unsafe { (self.functions.set_key)(self.handle, key.as_ptr().cast(), key.len()) == 0 }
    }

    /// Sets the first counter block; whether it was taken.
    pub(crate) fn set_counter(&mut self, counter: &[u8]) -> bool {
        // SAFETY: as in `set_key`.
        unsafe {
            (self.functions.set_counter)(self.handle, counter.as_ptr().cast(), counter.len()) == 0
        }
    }

    /// Sets the nonce; whether it was taken.
    pub(crate) fn set_nonce(&mut self, nonce: &[u8]) -> bool {
        // SAFETY: as in `set_key`.
        unsafe { (self.functions.set_nonce)(self.handle, nonce.as_ptr().cast(), nonce.len()) == 0 }
    }

    /// Encrypts `data` in place; whether it was.
    pub(crate) fn encrypt(&mut self, data: &mut [u8]) -> bool {
        // SAFETY: no input means in place; the library writes as many bytes as the slice has.
        unsafe {
            (self.functions.encrypt)(self.handle, data.as_mut_ptr().cast(), data.len(), null(), 0)
                == 0
        }
    }

    /// Fills `tag`; whether there was one of this length.
    pub(crate) fn tag(&mut self, tag: &mut [u8]) -> bool {
        // SAFETY: the library writes as many bytes as the slice has.
        unsafe { (self.functions.tag)(self.handle, tag.as_mut_ptr().cast(), tag.len()) == 0 }
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: opened in `open`, closed here alone.
        unsafe { (self.functions.close)(self.handle) }
    }
}

/// A MAC of libgcrypt, one owner, one thread.
pub(crate) struct Mac {
    functions: &'static Functions,
    handle: Handle,
}

impl Mac {
    /// Number `algorithm`, as gcrypt.h has it; nothing where the library does not have it.
    pub(crate) fn open(algorithm: c_int) -> Option<Self> {
        let functions = FUNCTIONS.as_ref()?;
        let mut handle = null_mut();
        // SAFETY: the place for the handle outlives the call; unknown numbers are an error; there
        // is no context.
        let failed = unsafe { (functions.mac_open)(&mut handle, algorithm, 0, null_mut()) };
        (failed == 0 && !handle.is_null()).then_some(Self { functions, handle })
    }

    /// Sets a key; whether it was taken.
    pub(crate) fn set_key(&mut self, key: &[u8]) -> bool {
        // SAFETY: the handle is open until drop; the library reads as many bytes as the slice has.
        unsafe { (self.functions.mac_set_key)(self.handle, key.as_ptr().cast(), key.len()) == 0 }
    }

    /// Begins another message under the same key; whether it could.
    pub(crate) fn begin(&mut self) -> bool {
        // SAFETY: this command takes no buffer.
        unsafe { (self.functions.mac_control)(self.handle, RESET, null_mut(), 0) == 0 }
    }

    /// Takes a piece of the message; whether it did.
    pub(crate) fn write(&mut self, message: &[u8]) -> bool {
        // SAFETY: as in `set_key`.
        unsafe {
            (self.functions.mac_write)(self.handle, message.as_ptr().cast(), message.len()) == 0
        }
    }

    /// Fills `tag` with the beginning of the tag; whether there was one that long.
    pub(crate) fn read(&mut self, tag: &mut [u8]) -> bool {
        let mut bytes = tag.len();
        // SAFETY: the library writes at most as many bytes as the slice has, and how many.
        let failed =
            unsafe { (self.functions.mac_read)(self.handle, tag.as_mut_ptr().cast(), &mut bytes) };
        failed == 0 && bytes == tag.len()
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: opened in `open`, closed here alone.
        unsafe { (self.functions.mac_close)(self.handle) }
    }
}

/// OpenSSL's HMAC under one key, one owner, one thread.
pub(crate) struct OpensslHmac {
    context: *mut openssl_sys::HMAC_CTX,
}

impl OpensslHmac {
    /// Sets `key`; nothing where OpenSSL does not take it.
    pub(crate) fn new(digest: MessageDigest, key: &[u8]) -> Option<Self> {
        // SAFETY: takes nothing; its result is owned by the returned value from here on.
        let context = unsafe { openssl_sys::HMAC_CTX_new() };
        if context.is_null() {
            return None;
        }
        let keyed = Self { context };
        let key_bytes = c_int::try_from(key.len()).ok()?;
        // SAFETY: the context lives until drop; the library reads as many bytes as the slice has;
        // digests are static.
        let done = unsafe {
            openssl_sys::HMAC_Init_ex(
                context,
                key.as_ptr().cast(),
                key_bytes,
                digest.as_ptr(),
                null_mut(),
            )
        };
        (done == 1).then_some(keyed)
    }

    /// Returns the whole tag over `message`, and zeros.
    pub(crate) fn whole(&mut self, message: &[u8]) -> [u8; 64] {
        let (mut tag, mut bytes) = ([0; 64], 0);
        // SAFETY: without a key and a digest it begins again with those it has; the library reads
        // as many bytes as the slice has, and writes at most 64, the longest digest that there is.
        let done = unsafe {
            openssl_sys::HMAC_Init_ex(self.context, null(), 0, null(), null_mut())
                & openssl_sys::HMAC_Update(self.context, message.as_ptr(), message.len())
                & openssl_sys::HMAC_Final(self.context, tag.as_mut_ptr(), &mut bytes)
        };
        assert_eq!(done, 1, "a message of any length");
        tag
    }
}

impl Drop for OpensslHmac {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed here alone.
        unsafe { openssl_sys::HMAC_CTX_free(self.context) }
    }
}
