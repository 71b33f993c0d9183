//! A library with the interface of `include/sealstone_module.h`, loaded for the life of the
//! process.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *The library* stays loaded, and so does its table, whose functions have the types that the
//!   header gives them and may be called by many threads at once.
//! - *A keyed object* is made by `aead_new` or `blocks_new` and freed once, by its one owner.
//! - *Lengths* that are passed are those of the slices beside them.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::{MaybeUninit, offset_of};
use std::ptr::{self, NonNull};

use libloading::Library;
use sealstone_cipher::module::SHA256_BYTES;

use crate::error::ModuleError;

/// Version of the interface: `SEALSTONE_MODULE_INTERFACE`.
const INTERFACE: u32 = 1;
/// Length of a tag of CMAC and of a block in CBC and counter mode, in bytes.
pub(crate) const BLOCK_BYTES: usize = 16;
/// Longest text that a table may have, in bytes.
const TEXT_BYTES_MAX: usize = 1000;

/// `sealstone_keyed`, which is the shim's own.
#[repr(C)]
struct RawKeyed {
    _opaque: [u8; 0],
}

/// `sealstone_blocks`, which is the shim's own.
#[repr(C)]
struct RawBlocks {
    _opaque: [u8; 0],
}

/// `sealstone_hmac`, which is the shim's own.
#[repr(C)]
struct RawMac {
    _opaque: [u8; 0],
}

type Seal = unsafe extern "C" fn(
    *mut RawKeyed,
    *const u8,
    *const u8,
    usize,
    *mut u8,
    usize,
    *mut u8,
) -> c_int;
type Open = unsafe extern "C" fn(
    *mut RawKeyed,
    *const u8,
    *const u8,
    usize,
    *mut u8,
    usize,
    *const u8,
) -> c_int;
type HmacNew = unsafe extern "C" fn(*const u8, usize, *mut *mut RawMac) -> c_int;
type HmacUpdate = unsafe extern "C" fn(*mut RawMac, *const u8, usize) -> c_int;
type HmacFinish = unsafe extern "C" fn(*mut RawMac, *mut u8) -> c_int;
type Hkdf = unsafe extern "C" fn(*const u8, usize, *const u8, usize, *mut u8, usize) -> c_int;

type Cmac =
    unsafe extern "C" fn(*const c_char, *const u8, usize, *const u8, usize, *mut u8) -> c_int;

type BlocksNew =
    unsafe extern "C" fn(*const c_char, *const u8, usize, *mut *mut RawBlocks) -> c_int;
type Through = unsafe extern "C" fn(*mut RawBlocks, *const u8, *mut u8, usize) -> c_int;

/// `sealstone_module`.
#[repr(C)]
struct RawModule {
    interface: u32,
    bytes: u32,
    name: *const c_char,
    version: *const c_char,
    certificate: *const c_char,
    self_test: Option<unsafe extern "C" fn() -> c_int>,
    aead_new:
        Option<unsafe extern "C" fn(*const c_char, *const u8, usize, *mut *mut RawKeyed) -> c_int>,
    aead_seal: Option<Seal>,
    aead_open: Option<Open>,
    aead_free: Option<unsafe extern "C" fn(*mut RawKeyed)>,
    hmac_sha256_new: Option<HmacNew>,
    hmac_sha256_update: Option<HmacUpdate>,
    hmac_sha256_finish: Option<HmacFinish>,
    hmac_sha256_free: Option<unsafe extern "C" fn(*mut RawMac)>,
    hkdf_sha256: Option<Hkdf>,
    random: Option<unsafe extern "C" fn(*mut u8, usize) -> c_int>,
    cmac: Option<Cmac>,
    // from here on absent in the tables of earlier headers
    blocks_new: Option<BlocksNew>,
    cbc_encrypt: Option<Through>,
    cbc_decrypt: Option<Through>,
    ctr: Option<Through>,
    blocks_free: Option<unsafe extern "C" fn(*mut RawBlocks)>,
}

/// Lengths of tables that are known, in bytes: of this header, and of that before it.
const TABLE_BYTES: [usize; 2] = [size_of::<RawModule>(), offset_of!(RawModule, blocks_new)];

/// Answer of a function that did not do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The module does not have it.
    Unsupported,
    /// A tag was wrong.
    Tag,
    /// Anything else.
    Failed,
}

fn answer(code: c_int) -> Result<(), Refused> {
    match code {
        0 => Ok(()),
        1 => Err(Refused::Unsupported),
        2 => Err(Refused::Tag),
        _ => Err(Refused::Failed),
    }
}

/// A module behind the interface.
pub(crate) struct Shim {
    table: RawModule,
    aead: Option<AeadCalls>,
    blocks: Option<BlocksCalls>,
    hmac: Option<MacCalls>,
}

// SAFETY: the table is constant, and its functions may be called by many threads at once.
unsafe impl Send for Shim {}
// SAFETY: as above.
unsafe impl Sync for Shim {}

/// The functions for a keyed cipher, all of them.
#[derive(Clone, Copy)]
struct AeadCalls {
    new: unsafe extern "C" fn(*const c_char, *const u8, usize, *mut *mut RawKeyed) -> c_int,
    seal: Seal,
    open: Open,
    free: unsafe extern "C" fn(*mut RawKeyed),
}

/// The functions for a block cipher, all that must be there.
#[derive(Clone, Copy)]
struct BlocksCalls {
    new: BlocksNew,
    encrypt: Through,
    decrypt: Through,
    free: unsafe extern "C" fn(*mut RawBlocks),
}

/// The functions for a MAC, all of them.
#[derive(Clone, Copy)]
struct MacCalls {
    new: HmacNew,
    update: HmacUpdate,
    finish: HmacFinish,
    free: unsafe extern "C" fn(*mut RawMac),
}

impl Shim {
    /// Loads the library at `file`, without a test of it.
    pub(crate) fn load(file: &str) -> Result<Self, ModuleError> {
        let failed = |found: String| ModuleError::Load {
            module: file.to_owned(),
            file: file.to_owned(),
            found,
        };
        let broken =
            |found: &str| ModuleError::Interface { module: file.to_owned(), found: found.into() };
        // SAFETY: who names a library as a module has its code run; there is no other way to it.
        let library = unsafe { Library::new(file) }.map_err(|error| failed(error.to_string()))?;
        // it stays loaded: its functions are used as long as the process lives
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the type is that of the header; the table it returns is as long as its second
        // field states, and its first is the version of the interface in every version.
        let table = unsafe {
            let function = library
                .get::<unsafe extern "C" fn() -> *const RawModule>(b"sealstone_module_table\0")
                .map_err(|_| broken("no function sealstone_module_table"))?;
            let table = function();
            if table.is_null() {
                return Err(failed("it returned no table of its functions".into()));
            }
            let [interface, bytes] = table.cast::<[u32; 2]>().read();
            if interface != INTERFACE {
                let found =
                    format!("version {interface} of the interface, and {INTERFACE} is known");
                return Err(broken(&found));
            }
            let bytes = bytes as usize;
            if !TABLE_BYTES.contains(&bytes) {
                return Err(broken(&format!("a table of {bytes} bytes")));
            }
            // what an earlier table does not have is null, as every absent function
            let mut copy = MaybeUninit::<RawModule>::zeroed();
            ptr::copy_nonoverlapping(table.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), bytes);
            copy.assume_init()
        };
        let partial = |what: &str| broken(&format!("some functions for {what}, and not all"));
        let aead = match (table.aead_new, table.aead_seal, table.aead_open, table.aead_free) {
            (Some(new), Some(seal), Some(open), Some(free)) => {
                Some(AeadCalls { new, seal, open, free })
            }
            (None, None, None, None) => None,
            _ => return Err(partial("a keyed cipher")),
        };
        let blocks =
            match (table.blocks_new, table.cbc_encrypt, table.cbc_decrypt, table.blocks_free) {
                (Some(new), Some(encrypt), Some(decrypt), Some(free)) => {
                    Some(BlocksCalls { new, encrypt, decrypt, free })
                }
                (None, None, None, None) => None,
                _ => return Err(partial("CBC")),
            };
        let hmac = match (
            table.hmac_sha256_new,
            table.hmac_sha256_update,
            table.hmac_sha256_finish,
            table.hmac_sha256_free,
        ) {
            (Some(new), Some(update), Some(finish), Some(free)) => {
                Some(MacCalls { new, update, finish, free })
            }
            (None, None, None, None) => None,
            _ => return Err(partial("a MAC")),
        };
        Ok(Self { table, aead, blocks, hmac })
    }

    /// Returns name, version and certificate, as the table has them.
    pub(crate) fn texts(&self) -> [Option<String>; 3] {
        [self.table.name, self.table.version, self.table.certificate].map(|text| {
            if text.is_null() {
                return None;
            }
            // SAFETY: a text of the table ends with a zero and lives as long as the library.
            let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
            Some(text.chars().take(TEXT_BYTES_MAX).collect())
        })
    }

    /// Runs the module's self test.
    pub(crate) fn self_test(&self) -> Result<(), Refused> {
        let test = self.table.self_test.ok_or(Refused::Unsupported)?;
        // SAFETY: the function is the table's.
        answer(unsafe { test() })
    }

    /// Sets `key` of the cipher called `cipher`.
    pub(crate) fn aead(&self, cipher: &str, key: &[u8]) -> Result<Keyed, Refused> {
        let calls = self.aead.ok_or(Refused::Unsupported)?;
        let cipher = CString::new(cipher).map_err(|_| Refused::Unsupported)?;
        let mut keyed = ptr::null_mut();
        // SAFETY: name and key live during the call, the key with its length.
        answer(unsafe { (calls.new)(cipher.as_ptr(), key.as_ptr(), key.len(), &raw mut keyed) })?;
        let keyed = NonNull::new(keyed).ok_or(Refused::Failed)?;
        Ok(Keyed { calls, keyed })
    }

    /// Returns whether there is a counter mode.
    pub(crate) fn has_ctr(&self) -> bool {
        self.table.ctr.is_some()
    }

    /// Sets `key` of the cipher called `cipher` for CBC and counter mode.
    pub(crate) fn blocks(&self, cipher: &str, key: &[u8]) -> Result<KeyedBlocks, Refused> {
        let calls = self.blocks.ok_or(Refused::Unsupported)?;
        let cipher = CString::new(cipher).map_err(|_| Refused::Unsupported)?;
        let mut keyed = ptr::null_mut();
        // SAFETY: name and key live during the call, the key with its length.
        answer(unsafe { (calls.new)(cipher.as_ptr(), key.as_ptr(), key.len(), &raw mut keyed) })?;
        let keyed = NonNull::new(keyed).ok_or(Refused::Failed)?;
        Ok(KeyedBlocks { calls, ctr: self.table.ctr, keyed })
    }

    /// Begins an HMAC-SHA-256 under `key`.
    pub(crate) fn hmac_sha256(&self, key: &[u8]) -> Result<KeyedMac, Refused> {
        let calls = self.hmac.ok_or(Refused::Unsupported)?;
        let mut mac = ptr::null_mut();
        // SAFETY: the key lives during the call, with its length.
        answer(unsafe { (calls.new)(key.as_ptr(), key.len(), &raw mut mac) })?;
        let mac = NonNull::new(mac).ok_or(Refused::Failed)?;
        Ok(KeyedMac { calls, mac })
    }

    /// Derives `out` with HKDF-SHA-256 without salt.
    pub(crate) fn hkdf_sha256(
        &self,
        secret: &[u8],
        info: &[u8],
        out: &mut [u8],
    ) -> Result<(), Refused> {
        let function = self.table.hkdf_sha256.ok_or(Refused::Unsupported)?;
        let (secret_bytes, info_bytes, out_bytes) = (secret.len(), info.len(), out.len());
        // SAFETY: secret, info and `out` live during the call, with their lengths.
        answer(unsafe {
            let out = out.as_mut_ptr();
            function(secret.as_ptr(), secret_bytes, info.as_ptr(), info_bytes, out, out_bytes)
        })
    }

    /// Fills `out` from the module's generator.
    pub(crate) fn random(&self, out: &mut [u8]) -> Result<(), Refused> {
        let function = self.table.random.ok_or(Refused::Unsupported)?;
        // SAFETY: `out` lives during the call, with its length.
        answer(unsafe { function(out.as_mut_ptr(), out.len()) })
    }
}

impl Shim {
    /// Computes the CMAC of `message` under `key` with the cipher called `cipher`.
    pub(crate) fn cmac(
        &self,
        cipher: &CStr,
        key: &[u8],
        message: &[u8],
        tag: &mut [u8; BLOCK_BYTES],
    ) -> Result<(), Refused> {
        let function = self.table.cmac.ok_or(Refused::Unsupported)?;
        // SAFETY: name, key, message and tag live during the call, with their lengths.
        answer(unsafe {
            let (key, key_bytes) = (key.as_ptr(), key.len());
            let (message, message_bytes) = (message.as_ptr(), message.len());
            let tag = tag.as_mut_ptr();
            function(cipher.as_ptr(), key, key_bytes, message, message_bytes, tag)
        })
    }
}

/// A cipher with its key set.
pub(crate) struct Keyed {
    calls: AeadCalls,
    keyed: NonNull<RawKeyed>,
}

// SAFETY: keyed objects have no tie to a thread and may be used by many at once.
unsafe impl Send for Keyed {}
// SAFETY: as above.
unsafe impl Sync for Keyed {}

impl Drop for Keyed {
    fn drop(&mut self) {
        // SAFETY: `aead_new` made it, and it is freed once.
        unsafe { (self.calls.free)(self.keyed.as_ptr()) }
    }
}

impl Keyed {
    /// Encrypts `data` in place and returns its tag.
    pub(crate) fn seal(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
    ) -> Result<[u8; 16], Refused> {
        let mut tag = [0; 16];
        let (bytes, data_bytes) = (associated.len(), data.len());
        // SAFETY: all slices live during the call, with their lengths.
        answer(unsafe {
            let (keyed, data) = (self.keyed.as_ptr(), data.as_mut_ptr());
            let (nonce, associated) = (nonce.as_ptr(), associated.as_ptr());
            (self.calls.seal)(keyed, nonce, associated, bytes, data, data_bytes, tag.as_mut_ptr())
        })?;
        Ok(tag)
    }

    /// Decrypts `data` in place; its content is of no use after an error.
    pub(crate) fn open(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Refused> {
        let (bytes, data_bytes) = (associated.len(), data.len());
        // SAFETY: all slices live during the call, with their lengths.
        answer(unsafe {
            let (keyed, data) = (self.keyed.as_ptr(), data.as_mut_ptr());
            let (nonce, associated) = (nonce.as_ptr(), associated.as_ptr());
            (self.calls.open)(keyed, nonce, associated, bytes, data, data_bytes, tag.as_ptr())
        })
    }
}

/// A block cipher with its key set.
pub(crate) struct KeyedBlocks {
    calls: BlocksCalls,
    ctr: Option<Through>,
    keyed: NonNull<RawBlocks>,
}

// SAFETY: keyed objects have no tie to a thread and may be used by many at once.
unsafe impl Send for KeyedBlocks {}
// SAFETY: as above.
unsafe impl Sync for KeyedBlocks {}

impl Drop for KeyedBlocks {
    fn drop(&mut self) {
        // SAFETY: `blocks_new` made it, and it is freed once.
        unsafe { (self.calls.free)(self.keyed.as_ptr()) }
    }
}

impl KeyedBlocks {
    /// Encrypts `data`, whole blocks, in CBC in place.
    pub(crate) fn encrypt(&self, iv: &[u8; BLOCK_BYTES], data: &mut [u8]) -> Result<(), Refused> {
        self.through(self.calls.encrypt, iv, data)
    }

    /// Decrypts `data`, whole blocks, in CBC in place.
    pub(crate) fn decrypt(&self, iv: &[u8; BLOCK_BYTES], data: &mut [u8]) -> Result<(), Refused> {
        self.through(self.calls.decrypt, iv, data)
    }

    /// XORs `data`, of any length, with the key stream in counter mode.
    pub(crate) fn count(
        &self,
        counter: &[u8; BLOCK_BYTES],
        data: &mut [u8],
    ) -> Result<(), Refused> {
        self.through(self.ctr.ok_or(Refused::Unsupported)?, counter, data)
    }

    fn through(
        &self,
        function: Through,
        first: &[u8; BLOCK_BYTES],
        data: &mut [u8],
    ) -> Result<(), Refused> {
        let (keyed, bytes) = (self.keyed.as_ptr(), data.len());
        // SAFETY: block and data live during the call, the data with its length.
        answer(unsafe { function(keyed, first.as_ptr(), data.as_mut_ptr(), bytes) })
    }
}

/// An HMAC that is being computed.
pub(crate) struct KeyedMac {
    calls: MacCalls,
    mac: NonNull<RawMac>,
}

// SAFETY: a MAC has no tie to the thread that began it, and its methods take `&mut self`.
unsafe impl Send for KeyedMac {}

impl Drop for KeyedMac {
    fn drop(&mut self) {
        // SAFETY: `hmac_sha256_new` made it, and it is freed once.
        unsafe { (self.calls.free)(self.mac.as_ptr()) }
    }
}

impl KeyedMac {
    /// Adds the next piece of the message.
    pub(crate) fn update(&mut self, piece: &[u8]) -> Result<(), Refused> {
        // SAFETY: the piece lives during the call, with its length.
        answer(unsafe { (self.calls.update)(self.mac.as_ptr(), piece.as_ptr(), piece.len()) })
    }

    /// Writes the tag.
    pub(crate) fn finish(&mut self, tag: &mut [u8; SHA256_BYTES]) -> Result<(), Refused> {
        // SAFETY: the tag has the length that the interface writes.
        answer(unsafe { (self.calls.finish)(self.mac.as_ptr(), tag.as_mut_ptr()) })
    }
}
