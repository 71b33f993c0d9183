//! The table of functions of a WiredTiger connection: found, verified, and used to hand over an
//! encryptor and a file system.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use super::api::{Connection, ExtensionApi, Log};
use super::encryptor::{Iface, Object};
use super::file_system::FileSystem;
use crate::NAME;
use crate::error::ExtensionError;
use crate::image::Image;
use crate::series::{self, Series, Symbols, Version};

/// The table of a connection whose series is certain.
pub(super) struct Table {
    connection: *mut Connection,
    series: &'static Series,
    pub(super) found: Option<Version>,
}

impl Table {
    /// # Safety
    /// `connection` is WiredTiger's.
    pub(super) unsafe fn find(
        connection: *mut Connection,
        named: Option<&str>,
    ) -> Result<Self, ExtensionError> {
        // SAFETY: the table has more than 21 places in every series (rule "table"), so these are
        // always readable.
        let place = |at: usize| unsafe { *connection.cast::<*const c_void>().add(at - 1) };
        let any = Image::at(place(1) as u64);
        let found = running_version().or_else(|| any.as_ref().and_then(Image::version));
        let series = series::choose(found, named)?;
        let places = [series.add_encryptor, series.set_file_system, series.get_extension_api];
        let addresses = places.map(|at| place(at) as u64);
        let symbols = match any.and_then(|image| image.symbols(addresses)) {
            Some(names) => Symbols::Named(names),
            None => Symbols::None,
        };
        series.prove(&symbols, found, named.is_some())?;
        Ok(Self { connection, series, found })
    }

    /// Returns WiredTiger's functions for extensions, once they report the version that was found.
    pub(super) fn log(&self) -> Result<Log, ExtensionError> {
        type Get = unsafe extern "C" fn(*mut Connection) -> *mut ExtensionApi;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the place was proved to hold this function (rule "table"). It returns the
        // connection's own table of functions, whose version function writes three numbers.
        let api = unsafe {
            let get = *self.connection.cast::<Get>().add(self.series.get_extension_api - 1);
            let api = get(self.connection);
            if api.is_null() || (*api).connection != self.connection {
                return Err(ExtensionError::Refused {
                    attempted: "give its functions for extensions",
                    code: 0,
                });
            }
            ((*api).version)(&mut major, &mut minor, &mut patch);
            api
        };
        let reported = Version { major: major as u32, minor: minor as u32, patch: patch as u32 };
        match self.found {
            Some(found) if found != reported => {
                Err(ExtensionError::OtherVersion { now: reported, found })
            }
            _ => {
                series::choose(Some(reported), Some(self.series.name))?;
                Ok(Log(api))
            }
        }
    }

    /// Makes WiredTiger use `files` for everything that it stores.
    pub(super) fn set_file_system(&self, files: Box<FileSystem>) -> Result<(), ExtensionError> {
        type Set = unsafe extern "C" fn(*mut Connection, *mut FileSystem, *const c_char) -> c_int;
        let files = Box::into_raw(files);
        // SAFETY: as in `add`.
        unsafe {
            let set = *self.connection.cast::<Set>().add(self.series.set_file_system - 1);
            match set(self.connection, files, ptr::null()) {
                0 => Ok(()),
                code => {
                    drop(Box::from_raw(files));
                    Err(ExtensionError::TooLate { code })
                }
            }
        }
    }

    /// Hands `object` over to WiredTiger.
    pub(super) fn add(&self, object: Box<Object>) -> Result<(), ExtensionError> {
        type Add = unsafe extern "C" fn(
            *mut Connection,
            *const c_char,
            *mut Iface,
            *const c_char,
        ) -> c_int;
        let name = CString::new(NAME).expect("a name without a zero byte");
        let object = Box::into_raw(object);
        // SAFETY: the place was proved to hold this function (rule "table"). The object lives until
        // it is terminated (rule "owner"); where WiredTiger does not take it, it is ours again.
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

/// Returns the version that WiredTiger's own function returns, where the program exports that
/// function to libraries.
fn running_version() -> Option<Version> {
    type Report = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: a look-up by name; a function of this name is WiredTiger's, and writes three numbers.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"wiredtiger_version".as_ptr());
        if found.is_null() {
            return None;
        }
        let report = std::mem::transmute::<*mut c_void, Report>(found);
        report(&mut major, &mut minor, &mut patch);
    }
    Some(Version { major: major as u32, minor: minor as u32, patch: patch as u32 })
}
