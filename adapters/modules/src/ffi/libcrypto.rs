//! libcrypto of OpenSSL 3, loaded when the first of its providers is: a library context with one
//! provider, and what is fetched from it. Declared by hand from OpenSSL's manual (soname 3), so
//! that a program with this crate starts where there is no OpenSSL, and takes the one that the
//! user's configuration is for.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *The library* stays loaded as long as the process lives, and its functions have the types
//!   given to them here.
//! - *The library context* and the provider are never freed; both may be used by many threads at
//!   once (openssl-threads(7)).
//! - *An algorithm* that was fetched is freed once, by its owner; a context that was made of it
//!   holds its own reference.
//! - *A cipher context* is made, used and freed by one owner, by one thread at a time.
//! - *Lengths* that are passed are those of the slices beside them, in pieces that fit `int`.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_ulong, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::ModuleError;

/// The library's file: OpenSSL 3 of every distribution.
const SONAME: &str = "libcrypto.so.3";

/// `OSSL_PARAM_UNSIGNED_INTEGER`.
const UNSIGNED_INTEGER: c_uint = 2;
/// `OSSL_PARAM_UTF8_STRING`.
const UTF8_STRING: c_uint = 4;
/// `OSSL_PARAM_OCTET_STRING`.
const OCTET_STRING: c_uint = 5;
/// `OSSL_PARAM_UTF8_PTR`.
const UTF8_PTR: c_uint = 6;
/// `OSSL_PARAM_UNMODIFIED`.
const UNMODIFIED: usize = usize::MAX;
/// `EVP_CTRL_AEAD_GET_TAG`.
const GET_TAG: c_int = 0x10;
/// `EVP_CTRL_AEAD_SET_TAG`.
const SET_TAG: c_int = 0x11;
/// Longest piece of a message in one call, in bytes: below `INT_MAX`, in whole blocks.
const PIECE_BYTES: usize = 1 << 30;
/// Strength of random bytes that is asked for, in bits.
const STRENGTH_BITS: c_uint = 256;

macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            struct $name {
                _opaque: [u8; 0],
            }
        )*
    };
}

opaque! {
    RawLibrary RawProvider
    RawCipher RawCipherContext
    RawMac RawMacContext
    RawKdf RawKdfContext
}

/// `OSSL_PARAM`.
#[repr(C)]
struct RawParameter {
    key: *const c_char,
    data_type: c_uint,
    data: *mut c_void,
    data_size: usize,
    return_size: usize,
}

impl RawParameter {
    fn new(key: &'static CStr, data_type: c_uint, data: *const c_void, data_size: usize) -> Self {
        let data = data.cast_mut();
        Self { key: key.as_ptr(), data_type, data, data_size, return_size: UNMODIFIED }
    }

    fn text(key: &'static CStr, text: &CStr) -> Self {
        Self::new(key, UTF8_STRING, text.as_ptr().cast(), text.count_bytes())
    }

    fn bytes(key: &'static CStr, bytes: &[u8]) -> Self {
        Self::new(key, OCTET_STRING, bytes.as_ptr().cast(), bytes.len())
    }

    fn number(key: &'static CStr, number: &c_uint) -> Self {
        let place = ptr::from_ref(number).cast();
        Self::new(key, UNSIGNED_INTEGER, place, size_of::<c_uint>())
    }

    /// Returns what ends a list.
    fn end() -> Self {
        let key = ptr::null();
        Self { key, data_type: 0, data: ptr::null_mut(), data_size: 0, return_size: 0 }
    }
}

macro_rules! functions {
    ($($field:ident: $symbol:literal fn($($argument:ty),*) $(-> $result:ty)?,)*) => {
        /// The functions that are used.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        fn functions_of(library: &'static Library) -> Result<Functions, String> {
            Ok(Functions {
                $($field: {
                    // SAFETY: the type is that of the function's declaration in OpenSSL 3.0, as of
                    // the field.
                    let symbol = unsafe { library.get(concat!($symbol, "\0").as_bytes()) };
                    *symbol.map_err(|error| error.to_string())?
                },)*
            })
        }
    };
}

functions! {
    library_new: "OSSL_LIB_CTX_new" fn() -> *mut RawLibrary,
    library_free: "OSSL_LIB_CTX_free" fn(*mut RawLibrary),
    load_config: "OSSL_LIB_CTX_load_config" fn(*mut RawLibrary, *const c_char) -> c_int,
    provider_load: "OSSL_PROVIDER_load" fn(*mut RawLibrary, *const c_char) -> *mut RawProvider,
    provider_self_test: "OSSL_PROVIDER_self_test" fn(*const RawProvider) -> c_int,
    provider_params: "OSSL_PROVIDER_get_params" fn(*const RawProvider, *mut RawParameter) -> c_int,
    set_default_properties:
        "EVP_set_default_properties" fn(*mut RawLibrary, *const c_char) -> c_int,
    cipher_fetch:
        "EVP_CIPHER_fetch" fn(*mut RawLibrary, *const c_char, *const c_char) -> *mut RawCipher,
    cipher_free: "EVP_CIPHER_free" fn(*mut RawCipher),
    cipher_key_bytes: "EVP_CIPHER_get_key_length" fn(*const RawCipher) -> c_int,
    cipher_nonce_bytes: "EVP_CIPHER_get_iv_length" fn(*const RawCipher) -> c_int,
    context_new: "EVP_CIPHER_CTX_new" fn() -> *mut RawCipherContext,
    context_free: "EVP_CIPHER_CTX_free" fn(*mut RawCipherContext),
    init: "EVP_CipherInit_ex2" fn(
        *mut RawCipherContext, *const RawCipher, *const c_uchar, *const c_uchar, c_int,
        *const RawParameter
    ) -> c_int,
    update: "EVP_CipherUpdate" fn(
        *mut RawCipherContext, *mut c_uchar, *mut c_int, *const c_uchar, c_int
    ) -> c_int,
    finish: "EVP_CipherFinal_ex" fn(*mut RawCipherContext, *mut c_uchar, *mut c_int) -> c_int,
    control: "EVP_CIPHER_CTX_ctrl" fn(*mut RawCipherContext, c_int, c_int, *mut c_void) -> c_int,
    mac_fetch: "EVP_MAC_fetch" fn(*mut RawLibrary, *const c_char, *const c_char) -> *mut RawMac,
    mac_free: "EVP_MAC_free" fn(*mut RawMac),
    mac_context: "EVP_MAC_CTX_new" fn(*mut RawMac) -> *mut RawMacContext,
    mac_context_free: "EVP_MAC_CTX_free" fn(*mut RawMacContext),
    mac_init:
        "EVP_MAC_init" fn(*mut RawMacContext, *const c_uchar, usize, *const RawParameter) -> c_int,
    mac_update: "EVP_MAC_update" fn(*mut RawMacContext, *const c_uchar, usize) -> c_int,
    mac_final: "EVP_MAC_final" fn(*mut RawMacContext, *mut c_uchar, *mut usize, usize) -> c_int,
    kdf_fetch: "EVP_KDF_fetch" fn(*mut RawLibrary, *const c_char, *const c_char) -> *mut RawKdf,
    kdf_free: "EVP_KDF_free" fn(*mut RawKdf),
    kdf_context: "EVP_KDF_CTX_new" fn(*mut RawKdf) -> *mut RawKdfContext,
    kdf_context_free: "EVP_KDF_CTX_free" fn(*mut RawKdfContext),
    kdf_derive:
        "EVP_KDF_derive" fn(*mut RawKdfContext, *mut c_uchar, usize, *const RawParameter) -> c_int,
    random: "RAND_priv_bytes_ex" fn(*mut RawLibrary, *mut c_uchar, usize, c_uint) -> c_int,
    last_error: "ERR_peek_last_error" fn() -> c_ulong,
    clear_errors: "ERR_clear_error" fn(),
    error_text: "ERR_error_string_n" fn(c_ulong, *mut c_char, usize),
}

/// Loads the library, once for the process. The reason why it cannot be, in the words of the
/// dynamic linker.
fn functions() -> Result<&'static Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    let load = || {
        // SAFETY: the initialisers of this library, by its soname, set up its own state alone.
        let library = unsafe { Library::new(SONAME) }.map_err(|error| error.to_string())?;
        // it stays loaded: its functions are used as long as the process lives
        functions_of(Box::leak(Box::new(library)))
    };
    LOADED.get_or_init(load).as_ref().map_err(Clone::clone)
}

impl Functions {
    /// Returns what the library last reported in this thread, and forgets it.
    fn reported(&self) -> String {
        let mut text = [0; 256];
        // SAFETY: the text has room for as many bytes as it is said to have, and is ended by a
        // zero within them (ERR_error_string_n(3)).
        unsafe {
            let error = (self.last_error)();
            (self.error_text)(error, text.as_mut_ptr().cast(), text.len());
            (self.clear_errors)();
        }
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        text.to_string_lossy().into_owned()
    }

    /// Forgets what was reported.
    fn failed(&self) -> Failed {
        self.reported();
        Failed::Call
    }
}

/// Reason why a call of libcrypto returned nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// A tag was wrong.
    Tag,
    /// Anything else.
    Call,
}

/// One provider in a library context of its own, with the user's configuration. Never freed.
pub(crate) struct Provider {
    functions: &'static Functions,
    library: NonNull<RawLibrary>,
    provider: NonNull<RawProvider>,
    /// Property query by which everything is fetched.
    query: CString,
    mac: NonNull<RawMac>,
    /// None where the provider has no CMAC.
    cmac: Option<NonNull<RawMac>>,
    kdf: NonNull<RawKdf>,
}

// SAFETY: library contexts, providers and fetched algorithms may be used by many threads at once.
unsafe impl Send for Provider {}
// SAFETY: as above.
unsafe impl Sync for Provider {}

impl Provider {
    /// Loads the user's configuration, and the provider `name`, which it may be about.
    pub(crate) fn load(name: &str) -> Result<Self, ModuleError> {
        let functions = functions().map_err(|found| ModuleError::Load {
            module: format!("openssl:{name}"),
            file: SONAME.into(),
            found,
        })?;
        let failed = |found| ModuleError::Provider { provider: name.into(), found };
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        if !plain {
            return Err(failed("a name has letters, digits, - _ and . alone".into()));
        }
        let text = CString::new(name).map_err(|_| failed("a zero byte in the name".into()))?;
        let fips = if name == "fips" { ",fips=yes" } else { "" };
        let query = CString::new(format!("provider={name}{fips}")).expect("no zero byte");
        // SAFETY: texts live during the calls; a context that was made is freed once, where
        // nothing of it is kept.
        unsafe {
            let library = (functions.library_new)();
            let library = NonNull::new(library).ok_or_else(|| failed(functions.reported()))?;
            let raw = library.as_ptr();
            let refused = |found: Option<&str>| {
                let found = found.map_or_else(|| functions.reported(), str::to_owned);
                (functions.library_free)(raw);
                failed(found)
            };
            // a configuration is needed by providers that have one, and missing it is no error
            (functions.load_config)(raw, ptr::null());
            (functions.clear_errors)();
            let Some(provider) = NonNull::new((functions.provider_load)(raw, text.as_ptr())) else {
                return Err(refused(None));
            };
            // what is fetched within: the digest of a MAC, and what seeds random bytes
            if (functions.set_default_properties)(raw, query.as_ptr()) != 1 {
                return Err(refused(None));
            }
            let mac = (functions.mac_fetch)(raw, c"HMAC".as_ptr(), query.as_ptr());
            let kdf = (functions.kdf_fetch)(raw, c"HKDF".as_ptr(), query.as_ptr());
            let (Some(mac), Some(kdf)) = (NonNull::new(mac), NonNull::new(kdf)) else {
                (functions.mac_free)(mac);
                (functions.kdf_free)(kdf);
                return Err(refused(Some("it has no HMAC or no HKDF")));
            };
            let cmac = (functions.mac_fetch)(raw, c"CMAC".as_ptr(), query.as_ptr());
            (functions.clear_errors)();
            let cmac = NonNull::new(cmac);
            Ok(Self { functions, library, provider, query, mac, cmac, kdf })
        }
    }

    /// Runs the provider's self tests again.
    pub(crate) fn self_test(&self) -> Result<(), String> {
        // SAFETY: the provider is loaded.
        match unsafe { (self.functions.provider_self_test)(self.provider.as_ptr()) } {
            1 => Ok(()),
            _ => Err(self.functions.reported()),
        }
    }

    /// Returns the version that the provider states, `unknown` if it states none.
    pub(crate) fn version(&self) -> String {
        let mut version: *const c_char = ptr::null();
        let place = (&raw mut version).cast();
        let mut list = [RawParameter::new(c"version", UTF8_PTR, place, 0), RawParameter::end()];
        // SAFETY: the provider sets the pointer to a text that lives as long as it does, or leaves
        // it; the list ends as it must.
        let text = unsafe {
            let asked = (self.functions.provider_params)(self.provider.as_ptr(), list.as_mut_ptr());
            if asked == 1 && !version.is_null() {
                CStr::from_ptr(version).to_string_lossy().into_owned()
            } else {
                String::new()
            }
        };
        if text.is_empty() { "unknown".into() } else { text }
    }

    /// Returns the cipher with the name `name`, such as `ARIA-256-GCM`, if the provider has it.
    pub(crate) fn cipher(&self, name: &str) -> Option<Algorithm> {
        let name = CString::new(name).ok()?;
        let functions = self.functions;
        // SAFETY: texts live during the call.
        let fetched = unsafe {
            let (library, query) = (self.library.as_ptr(), self.query.as_ptr());
            (functions.cipher_fetch)(library, name.as_ptr(), query)
        };
        let Some(cipher) = NonNull::new(fetched) else {
            self.functions.reported();
            return None;
        };
        // SAFETY: the algorithm was fetched above.
        let lengths = unsafe {
            let raw = cipher.as_ptr();
            [(functions.cipher_key_bytes)(raw), (functions.cipher_nonce_bytes)(raw)]
        };
        let [key_bytes, nonce_bytes] = lengths.map(|length| usize::try_from(length).unwrap_or(0));
        Some(Algorithm { functions, cipher, key_bytes, nonce_bytes })
    }

    /// Begins an HMAC-SHA-256 under `key`.
    pub(crate) fn hmac_sha256(&self, key: &[u8]) -> Result<KeyedMac, Failed> {
        self.begin_mac(self.mac, RawParameter::text(c"digest", c"SHA2-256"), key)
    }

    /// Returns whether the provider has CMAC at all.
    pub(crate) fn has_cmac(&self) -> bool {
        self.cmac.is_some()
    }

    /// Begins a CMAC under `key` with the cipher of that name, such as `ARIA-256-CBC`.
    pub(crate) fn cmac(&self, cipher: &CStr, key: &[u8]) -> Result<KeyedMac, Failed> {
        let mac = self.cmac.ok_or(Failed::Call)?;
        self.begin_mac(mac, RawParameter::text(c"cipher", cipher), key)
    }

    fn begin_mac(
        &self,
        mac: NonNull<RawMac>,
        with: RawParameter,
        key: &[u8],
    ) -> Result<KeyedMac, Failed> {
        let functions = self.functions;
        let list = [with, RawParameter::text(c"properties", &self.query), RawParameter::end()];
        // SAFETY: the algorithm was fetched.
        let context = unsafe { (functions.mac_context)(mac.as_ptr()) };
        let context = NonNull::new(context).ok_or(Failed::Call)?;
        let mac = KeyedMac { functions, context };
        // SAFETY: the context is this one's; key and list live during the call, the key with its
        // length.
        let begun = unsafe {
            (functions.mac_init)(context.as_ptr(), key.as_ptr(), key.len(), list.as_ptr())
        };
        if begun == 1 { Ok(mac) } else { self.failed(&mut []) }
    }

    /// Derives `out` with HKDF-SHA-256 without salt.
    pub(crate) fn hkdf_sha256(
        &self,
        secret: &[u8],
        info: &[u8],
        out: &mut [u8],
    ) -> Result<(), Failed> {
        let functions = self.functions;
        let list = [
            RawParameter::text(c"digest", c"SHA2-256"),
            RawParameter::text(c"properties", &self.query),
            RawParameter::bytes(c"key", secret),
            RawParameter::bytes(c"info", info),
            RawParameter::end(),
        ];
        // SAFETY: the context is made, used and freed here; what the list refers to and `out` live
        // during the calls, with their lengths.
        let done = unsafe {
            let context = (functions.kdf_context)(self.kdf.as_ptr());
            if context.is_null() {
                return Err(Failed::Call);
            }
            let derived =
                (functions.kdf_derive)(context, out.as_mut_ptr(), out.len(), list.as_ptr());
            (functions.kdf_context_free)(context);
            derived == 1
        };
        if done { Ok(()) } else { self.failed(out) }
    }

    /// Fills `out` from the generator of the library context, which is the provider's.
    pub(crate) fn random(&self, out: &mut [u8]) -> Result<(), Failed> {
        let (raw, bytes) = (self.library.as_ptr(), out.len());
        // SAFETY: `out` lives during the call and has as many bytes.
        match unsafe { (self.functions.random)(raw, out.as_mut_ptr(), bytes, STRENGTH_BITS) } {
            1 => Ok(()),
            _ => self.failed(out),
        }
    }

    /// Forgets what was reported, and leaves nothing in `out`.
    fn failed<T>(&self, out: &mut [u8]) -> Result<T, Failed> {
        out.fill(0);
        Err(self.functions.failed())
    }
}

/// An HMAC that is being computed. The library zeroes its key when it is freed.
pub(crate) struct KeyedMac {
    functions: &'static Functions,
    context: NonNull<RawMacContext>,
}

// SAFETY: a context has no tie to the thread that made it, and its methods take `&mut self`.
unsafe impl Send for KeyedMac {}

impl Drop for KeyedMac {
    fn drop(&mut self) {
        // SAFETY: it was made by `begin_mac`, and is freed once.
        unsafe { (self.functions.mac_context_free)(self.context.as_ptr()) }
    }
}

impl KeyedMac {
    /// Adds the next piece of the message.
    pub(crate) fn update(&mut self, piece: &[u8]) -> Result<(), Failed> {
        let raw = self.context.as_ptr();
        // SAFETY: the piece lives during the call, with its length.
        let done = unsafe { (self.functions.mac_update)(raw, piece.as_ptr(), piece.len()) };
        if done == 1 { Ok(()) } else { Err(self.functions.failed()) }
    }

    /// Writes the tag, which is to be as long as `tag`; zeros after an error.
    pub(crate) fn finish(&mut self, tag: &mut [u8]) -> Result<(), Failed> {
        let (raw, mut written) = (self.context.as_ptr(), 0);
        // SAFETY: the tag has room for as many bytes as it is said to have.
        let done = unsafe {
            (self.functions.mac_final)(raw, tag.as_mut_ptr(), &raw mut written, tag.len())
        };
        if done == 1 && written == tag.len() {
            return Ok(());
        }
        tag.fill(0);
        Err(self.functions.failed())
    }
}

/// A cipher in a mode, fetched from a provider.
pub(crate) struct Algorithm {
    functions: &'static Functions,
    cipher: NonNull<RawCipher>,
    key_bytes: usize,
    nonce_bytes: usize,
}

// SAFETY: fetched algorithms may be used by many threads at once.
unsafe impl Send for Algorithm {}
// SAFETY: as above.
unsafe impl Sync for Algorithm {}

impl Drop for Algorithm {
    fn drop(&mut self) {
        // SAFETY: it was fetched, and is freed once.
        unsafe { (self.functions.cipher_free)(self.cipher.as_ptr()) }
    }
}

/// Direction in which a context works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Encrypts.
    Encrypt,
    /// Decrypts.
    Decrypt,
}

/// A cipher with its key set. The library zeroes its key when it is freed.
pub(crate) struct Keyed {
    functions: &'static Functions,
    context: NonNull<RawCipherContext>,
    nonce_bytes: usize,
}

// SAFETY: a context has no tie to the thread that made it, and its methods take `&mut self`.
unsafe impl Send for Keyed {}

impl Drop for Keyed {
    fn drop(&mut self) {
        // SAFETY: it was made by `new`, and is freed once.
        unsafe { (self.functions.context_free)(self.context.as_ptr()) }
    }
}

impl Keyed {
    /// Sets `key`, if it is as long as the algorithm's keys are.
    pub(crate) fn new(
        algorithm: &Algorithm,
        key: &[u8],
        direction: Direction,
    ) -> Result<Self, Failed> {
        let functions = algorithm.functions;
        if key.len() != algorithm.key_bytes {
            return Err(Failed::Call);
        }
        // SAFETY: no argument.
        let context = unsafe { (functions.context_new)() };
        let context = NonNull::new(context).ok_or(Failed::Call)?;
        let keyed = Self { functions, context, nonce_bytes: algorithm.nonce_bytes };
        let encrypts = c_int::from(direction == Direction::Encrypt);
        // SAFETY: the key has the length that the algorithm reads; the context is this one's.
        let set = unsafe {
            let (raw, cipher) = (context.as_ptr(), algorithm.cipher.as_ptr());
            (functions.init)(raw, cipher, key.as_ptr(), ptr::null(), encrypts, ptr::null())
        };
        if set == 1 { Ok(keyed) } else { Err(functions.failed()) }
    }

    /// Encrypts `data` in GCM and returns its tag.
    pub(crate) fn seal(
        &mut self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
    ) -> Result<[u8; 16], Failed> {
        self.begin(nonce)?;
        self.bind(associated)?;
        self.pass(data)?;
        self.end()?;
        let mut tag = [0; 16];
        self.control(GET_TAG, &mut tag)?;
        Ok(tag)
    }

    /// Decrypts `data` in GCM; its content is of no use after an error.
    pub(crate) fn open(
        &mut self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Failed> {
        self.begin(nonce)?;
        self.bind(associated)?;
        self.pass(data)?;
        self.control(SET_TAG, &mut { *tag })?;
        // the only step that depends on the tag
        self.end().map_err(|_| Failed::Tag)
    }

    /// Takes `data`, whole blocks, through CBC from `iv` on, in the direction of the context.
    pub(crate) fn chain(&mut self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Failed> {
        let none: c_uint = 0;
        let list = [RawParameter::number(c"padding", &none), RawParameter::end()];
        self.begin_with(iv, list.as_ptr())?;
        self.pass(data)?;
        self.end()
    }

    /// XORs `data` with the key stream in counter mode from `counter` on, less its first `skip`
    /// bytes, fewer than a block.
    pub(crate) fn stream(
        &mut self,
        counter: &[u8; 16],
        skip: usize,
        data: &mut [u8],
    ) -> Result<(), Failed> {
        self.begin(counter)?;
        self.pass(&mut [0; 16][..skip])?;
        self.pass(data)
    }

    fn begin(&mut self, nonce: &[u8]) -> Result<(), Failed> {
        self.begin_with(nonce, ptr::null())
    }

    /// Begins a message, with a list of parameters that ends as it must, or none.
    fn begin_with(&mut self, nonce: &[u8], list: *const RawParameter) -> Result<(), Failed> {
        if nonce.len() != self.nonce_bytes {
            return Err(Failed::Call);
        }
        let raw = self.context.as_ptr();
        // SAFETY: the nonce has the length that the algorithm reads, and the list lives in the
        // caller; everything else stays.
        let set = unsafe {
            let nonce = nonce.as_ptr();
            (self.functions.init)(raw, ptr::null(), ptr::null(), nonce, -1, list)
        };
        if set == 1 { Ok(()) } else { Err(self.functions.failed()) }
    }

    fn bind(&mut self, associated: &[u8]) -> Result<(), Failed> {
        for piece in associated.chunks(PIECE_BYTES) {
            let mut bytes = 0;
            let (raw, length) = (self.context.as_ptr(), piece.len() as c_int);
            // SAFETY: without an output the piece is associated data, as long as it is said to be.
            let done = unsafe {
                (self.functions.update)(
                    raw,
                    ptr::null_mut(),
                    &raw mut bytes,
                    piece.as_ptr(),
                    length,
                )
            };
            if done != 1 {
                return Err(self.functions.failed());
            }
        }
        Ok(())
    }

    /// Encrypts or decrypts `data` in place.
    fn pass(&mut self, data: &mut [u8]) -> Result<(), Failed> {
        for piece in data.chunks_mut(PIECE_BYTES) {
            let mut bytes = 0;
            let (raw, length, place) =
                (self.context.as_ptr(), piece.len() as c_int, piece.as_mut_ptr());
            // SAFETY: a stream cipher, and one of whole blocks without padding, writes as many
            // bytes as it reads, and takes input and output at one place (EVP_EncryptInit(3)); the
            // piece is as long as it is said to be.
            let done =
                unsafe { (self.functions.update)(raw, place, &raw mut bytes, place, length) };
            if done != 1 || bytes != length {
                return Err(self.functions.failed());
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failed> {
        // nothing is written here without padding; room for a block is what the interface requires
        let (mut rest, mut bytes) = ([0; 32], 0);
        let raw = self.context.as_ptr();
        // SAFETY: there is room for more than the longest block.
        let done = unsafe { (self.functions.finish)(raw, rest.as_mut_ptr(), &raw mut bytes) };
        if done == 1 && bytes == 0 { Ok(()) } else { Err(self.functions.failed()) }
    }

    fn control(&mut self, what: c_int, tag: &mut [u8; 16]) -> Result<(), Failed> {
        let (raw, length) = (self.context.as_ptr(), tag.len() as c_int);
        // SAFETY: the tag has room for as many bytes as it is said to have.
        let done = unsafe { (self.functions.control)(raw, what, length, tag.as_mut_ptr().cast()) };
        if done == 1 { Ok(()) } else { Err(self.functions.failed()) }
    }
}
