//! The server's variables that hold our settings: `sealstone_key` and so on, read once when the
//! plug-in starts.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::api::SystemVariables;
use crate::error::PluginError;
use crate::settings::{REFRESH_SECONDS, Settings, Texts};

/// Kinds of variables, and that they are not set while the server runs.
const TEXT: c_int = 0x0005;
const NUMBER: c_int = 0x0002 | UNSIGNED;
const UNSIGNED: c_int = 0x0080;
const READ_ONLY: c_int = 0x0200;

/// Longest time between two looks for newer keys, in seconds: a day.
const REFRESH_SECONDS_MAX: c_uint = 86_400;

/// A variable that is a text (`MYSQL_SYSVAR_STR`).
#[repr(C)]
struct Text {
    flags: c_int,
    name: *const c_char,
    comment: *const c_char,
    /// Functions of the server's own, which it puts there.
    check: AtomicPtr<c_void>,
    update: AtomicPtr<c_void>,
    value: *mut *mut c_char,
    default: *const c_char,
}

/// A variable that is a number (`MYSQL_SYSVAR_UINT`).
#[repr(C)]
struct Number {
    flags: c_int,
    name: *const c_char,
    comment: *const c_char,
    /// Functions of the server's own, which it puts there.
    check: AtomicPtr<c_void>,
    update: AtomicPtr<c_void>,
    value: *mut c_uint,
    default: c_uint,
    least: c_uint,
    most: c_uint,
    step: c_uint,
}

// SAFETY: the server writes to the values and to the functions before it starts the plug-in, and
// they are atomic; all else is constant.
unsafe impl Sync for Text {}
// SAFETY: as above.
unsafe impl Sync for Number {}

impl Text {
    const fn new(
        value: &'static AtomicPtr<c_char>,
        name: &'static CStr,
        comment: &'static CStr,
    ) -> Self {
        Self {
            flags: TEXT | READ_ONLY,
            name: name.as_ptr(),
            comment: comment.as_ptr(),
            check: AtomicPtr::new(ptr::null_mut()),
            update: AtomicPtr::new(ptr::null_mut()),
            value: value.as_ptr(),
            default: c"".as_ptr(),
        }
    }
}

static KEY_VALUE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static CIPHER_VALUE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static ACCEL_VALUE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static MODULE_VALUE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static PAGES_VALUE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static PASSPHRASE_FILE_VALUE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static REFRESH_VALUE: AtomicU32 = AtomicU32::new(REFRESH_SECONDS);

static KEY: Text = Text::new(
    &KEY_VALUE,
    c"key",
    c"Key source: absolute path of a key file, kmip://HOST/KEY, or kmip:/absolute/FILE.toml",
);
static CIPHER: Text =
    Text::new(&CIPHER_VALUE, c"cipher", c"Cipher of what is written, such as aria-256");
static ACCEL: Text = Text::new(
    &ACCEL_VALUE,
    c"accel",
    c"CPU instructions to use, such as portable; empty for the fastest",
);
static MODULE: Text = Text::new(
    &MODULE_VALUE,
    c"module",
    c"Cryptographic module that computes: openssl:PROVIDER or the absolute path of a library",
);
static PAGES: Text = Text::new(
    &PAGES_VALUE,
    c"pages",
    c"Mode of the pages that are written: hctr2, or cbc-cs1 as in a module; empty for that of who \
      computes",
);
static PASSPHRASE_FILE: Text = Text::new(
    &PASSPHRASE_FILE_VALUE,
    c"passphrase_file",
    c"Absolute path of the file with the passphrase of the key file",
);
static REFRESH: Number = Number {
    flags: NUMBER | READ_ONLY,
    name: c"refresh_seconds".as_ptr(),
    comment: c"Time between two looks for newer versions of the key".as_ptr(),
    check: AtomicPtr::new(ptr::null_mut()),
    update: AtomicPtr::new(ptr::null_mut()),
    value: REFRESH_VALUE.as_ptr(),
    default: REFRESH_SECONDS,
    least: 1,
    most: REFRESH_SECONDS_MAX,
    step: 1,
};

/// All variables, as the server reads them.
pub(super) static ALL: SystemVariables = SystemVariables([
    (&raw const KEY).cast(),
    (&raw const CIPHER).cast(),
    (&raw const ACCEL).cast(),
    (&raw const MODULE).cast(),
    (&raw const PAGES).cast(),
    (&raw const PASSPHRASE_FILE).cast(),
    (&raw const REFRESH).cast(),
    ptr::null(),
]);

/// Returns the settings that the server has put into the variables.
///
/// # Errors
/// As [`Settings::new`].
pub(super) fn settings() -> Result<Settings, PluginError> {
    let [key, cipher, accel] = [&KEY_VALUE, &CIPHER_VALUE, &ACCEL_VALUE].map(text);
    let [module, pages, passphrase_file] =
        [&MODULE_VALUE, &PAGES_VALUE, &PASSPHRASE_FILE_VALUE].map(text);
    let texts = Texts {
        key: &key,
        cipher: &cipher,
        accel: &accel,
        module: &module,
        pages: &pages,
        passphrase_file: &passphrase_file,
    };
    Settings::new(texts, REFRESH_VALUE.load(Ordering::Relaxed))
}

fn text(value: &AtomicPtr<c_char>) -> String {
    let start = value.load(Ordering::Relaxed);
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the server keeps a text with a zero byte at its end there, and variables that are
    // only read keep their value.
    unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned()
}
