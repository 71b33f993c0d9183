//! The structures of MariaDB's interface for plug-ins that we fill in.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr;

/// Kind of a plug-in that encrypts.
const ENCRYPTION_PLUGIN: c_int = 9;
/// License that the server shows: "BSD" is the nearest of those that it accepts.
const LICENSE: c_int = 2;
/// Ripeness that a server of a stable release requires at least: "gamma".
const MATURITY: c_uint = 4;
const VERSION: c_uint = 0x0001;

/// Version of the interface for encryption.
pub(super) const ENCRYPTION_INTERFACE_VERSION: c_int = 0x0300;

/// `st_mariadb_encryption`.
#[repr(C)]
pub(super) struct Encryption {
    pub(super) interface_version: c_int,
    pub(super) get_latest_key_version: extern "C" fn(c_uint) -> c_uint,
    pub(super) get_key: unsafe extern "C" fn(c_uint, c_uint, *mut c_uchar, *mut c_uint) -> c_uint,
    pub(super) ctx_size: extern "C" fn(c_uint, c_uint) -> c_uint,
    pub(super) ctx_init: unsafe extern "C" fn(
        *mut c_void,
        *const c_uchar,
        c_uint,
        *const c_uchar,
        c_uint,
        c_int,
        c_uint,
        c_uint,
    ) -> c_int,
    pub(super) ctx_update: unsafe extern "C" fn(
        *mut c_void,
        *const c_uchar,
        c_uint,
        *mut c_uchar,
        *mut c_uint,
    ) -> c_int,
    pub(super) ctx_finish: unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_uint) -> c_int,
    pub(super) encrypted_length: extern "C" fn(c_uint, c_uint, c_uint) -> c_uint,
}

/// `st_maria_plugin`.
#[repr(C)]
pub(crate) struct PluginDeclaration {
    kind: c_int,
    info: *const Encryption,
    name: *const c_char,
    author: *const c_char,
    description: *const c_char,
    license: c_int,
    init: Option<extern "C" fn(*mut c_void) -> c_int>,
    deinit: Option<extern "C" fn(*mut c_void) -> c_int>,
    version: c_uint,
    status_variables: *const c_void,
    system_variables: *const SystemVariables,
    version_text: *const c_char,
    maturity: c_uint,
}

/// Pointers to variables, which a null ends.
#[repr(transparent)]
pub(super) struct SystemVariables(pub(super) [*const c_void; 8]);

// SAFETY: all that they point to is constant and lives as long as the process; the server's own
// writes go to the values of variables, which are atomic.
unsafe impl Sync for PluginDeclaration {}
// SAFETY: as above.
unsafe impl Sync for SystemVariables {}

impl PluginDeclaration {
    /// End of an array of declarations.
    pub(super) const END: Self = Self {
        kind: 0,
        info: ptr::null(),
        name: ptr::null(),
        author: ptr::null(),
        description: ptr::null(),
        license: 0,
        init: None,
        deinit: None,
        version: 0,
        status_variables: ptr::null(),
        system_variables: ptr::null(),
        version_text: ptr::null(),
        maturity: 0,
    };

    pub(super) const fn new(
        encryption: &'static Encryption,
        init: extern "C" fn(*mut c_void) -> c_int,
        deinit: extern "C" fn(*mut c_void) -> c_int,
        variables: &'static SystemVariables,
    ) -> Self {
        Self {
            kind: ENCRYPTION_PLUGIN,
            info: encryption,
            name: c"sealstone".as_ptr(),
            author: c"Sealstone".as_ptr(),
            description: c"Encrypts files with the cipher and the key of your choice".as_ptr(),
            license: LICENSE,
            init: Some(init),
            deinit: Some(deinit),
            version: VERSION,
            status_variables: ptr::null(),
            system_variables: variables,
            version_text: concat_version().as_ptr(),
            maturity: MATURITY,
        }
    }
}

/// Returns the version of this program.
const fn concat_version() -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    }
}
