//! The callbacks of an encryptor, as WiredTiger calls them: from its pointers to slices and back.
//! The rules that `SAFETY` lines name are in `ffi`.
//!
//! Not here: sealing and opening (`encryptor`), and WiredTiger's headers (`header`).

use std::ffi::{CStr, c_int};
use std::ptr;
use std::slice;
use std::sync::Arc;

use sealstone_seal::engine_page::{
    EnginePageError, HEADER_BYTES, OVERHEAD_BYTES, PlaceKind, inspect,
};

use super::api::{ConfigArg, ConfigItem, FAILED, Log, Session, UNREADABLE, guarded};
use crate::encryptor::Encryptor;
use crate::error::ExtensionError;
use crate::header::{
    Bound, EXPANSION_BYTES, LENGTH_BYTES, PAGE_BYTES, RECORD_BYTES, Skip, TEXT_BYTES, check_fill,
    check_page, check_record,
};
use crate::journal::Journal;

pub(super) type Crypt = unsafe extern "C" fn(
    *mut Iface,
    *mut Session,
    *mut u8,
    usize,
    *mut u8,
    usize,
    *mut usize,
) -> c_int;

/// `WT_ENCRYPTOR`.
#[repr(C)]
pub(super) struct Iface {
    pub(super) encrypt: Crypt,
    pub(super) decrypt: Crypt,
    pub(super) sizing: unsafe extern "C" fn(*mut Self, *mut Session, *mut usize) -> c_int,
    customize:
        unsafe extern "C" fn(*mut Self, *mut Session, *mut ConfigArg, *mut *mut Self) -> c_int,
    pub(super) terminate: unsafe extern "C" fn(*mut Self, *mut Session) -> c_int,
}

/// Object of ours that WiredTiger holds. The table comes first, so that a pointer to it is a
/// pointer to this.
#[repr(C)]
pub(super) struct Object {
    pub(super) iface: Iface,
    log: Log,
    encryptor: Arc<Encryptor>,
    /// None without a connection.
    journal: Option<Arc<Journal>>,
}

impl Object {
    pub(super) fn new(
        log: Log,
        encryptor: Arc<Encryptor>,
        journal: Option<Arc<Journal>>,
    ) -> Box<Self> {
        Box::new(Self {
            iface: Iface { encrypt, decrypt, sizing, customize, terminate },
            log,
            encryptor,
            journal,
        })
    }
}

/// Most bytes in one call: WiredTiger counts them, with its headers, in 32 bits.
const BYTES_MAX: usize = u32::MAX as usize - PAGE_BYTES - LENGTH_BYTES - EXPANSION_BYTES;

/// Checks what WiredTiger passes before anything is done with it. A length that it reads from a
/// file is in no way authenticated: one that is too small for the headers becomes, minus their
/// length, one near 2^64.
///
/// # Errors
/// [`ExtensionError::Lengths`]: nothing was read or written.
pub(super) fn check_lengths(
    object: &Object,
    call: &'static str,
    bytes: Bytes,
) -> Result<(), ExtensionError> {
    let Bytes { src, src_len, dst, dst_len, result_len } = bytes;
    let least = if call == "encrypt" { src_len.saturating_add(OVERHEAD_BYTES) } else { 0 };
    let null = src.is_null() || dst.is_null() || result_len.is_null();
    if null || src_len > BYTES_MAX || dst_len > BYTES_MAX + EXPANSION_BYTES || dst_len < least {
        let key = object.encryptor.pages().key().clone();
        return Err(ExtensionError::Lengths { call, src_len, dst_len, key });
    }
    Ok(())
}

/// Bytes that WiredTiger passes to be sealed or opened.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) src: *mut u8,
    pub(super) src_len: usize,
    pub(super) dst: *mut u8,
    pub(super) dst_len: usize,
    pub(super) result_len: *mut usize,
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
    counted(object, session, "encrypt", FAILED, || {
        check_lengths(object, "encrypt", Bytes { src, src_len, dst, dst_len, result_len })?;
        // SAFETY: rules "bytes" and "headers"; the length was checked.
        let bound = unsafe { bound_of_new(src, src_len, dst) };
        let padding_bytes = bound.padding_bytes(src_len, dst_len);
        let bytes = src_len + OVERHEAD_BYTES + padding_bytes + bound.place_tag_bytes();
        if dst_len < bytes {
            return Err(EnginePageError::Buffer { found: dst_len, wanted: bytes }.into());
        }
        // SAFETY: rule "bytes": the source has src_len bytes, the destination at least `bytes`, all
        // of which are written here before the slice is made; the two do not overlap.
        let block = unsafe {
            ptr::write_bytes(dst, 0, HEADER_BYTES);
            ptr::copy_nonoverlapping(src, dst.add(HEADER_BYTES), src_len);
            ptr::write_bytes(dst.add(HEADER_BYTES + src_len), 0, bytes - HEADER_BYTES - src_len);
            slice::from_raw_parts_mut(dst, bytes)
        };
        let kept = object.journal.as_ref().is_some_and(|journal| journal.is_kept());
        object.encryptor.pages().seal_in_place(
            block,
            padding_bytes,
            bound.place().with_journal_kept(kept),
        )?;
        // SAFETY: WiredTiger passes a place for the length.
        unsafe { *result_len = bytes };
        object.encryptor.tally().sealed(src_len);
        Ok(())
    })
}

/// As [`guarded`]; a failure is counted.
fn counted(
    object: &Object,
    session: *mut Session,
    place: &'static str,
    code: c_int,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    let outcome = guarded(object.log, session, place, code, call);
    if outcome != 0 {
        object.encryptor.failed();
    }
    outcome
}

/// Returns the header before the data to seal.
///
/// # Safety
/// As WiredTiger calls `encrypt`; `src_len` was checked.
unsafe fn bound_of_new(src: *const u8, src_len: usize, dst: *const u8) -> Bound {
    // SAFETY: rule "bytes": that many bytes are there.
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
    counted(object, session, "decrypt", UNREADABLE, || {
        check_lengths(object, "decrypt", Bytes { src, src_len, dst, dst_len, result_len })?;
        // SAFETY: rule "bytes"; the length was checked.
        let block = unsafe { slice::from_raw_parts(src.cast_const(), src_len) };
        let info = inspect(block)?;
        let bytes = info.ciphertext(src_len)?.len();
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
            // SAFETY: rule "bytes": the destination has at least `bytes`, all of which are written
            // here before the slice is made; it does not overlap the block.
            unsafe {
                ptr::write_bytes(dst, 0, bytes);
                slice::from_raw_parts_mut(dst, bytes)
            }
        };
        object.encryptor.pages().open_inspected(block, &info, page, bound.place())?;
        if let Some(journal) = object.journal.as_ref().filter(|_| info.journal_kept) {
            journal.must_be_kept().inspect_err(|_| page.fill(0))?;
        }
        // SAFETY: WiredTiger passes a place for the length.
        unsafe { *result_len = bytes };
        object.encryptor.tally().opened(bytes);
        Ok(())
    })
}

/// Returns the header before a block, with what WiredTiger sets later checked.
///
/// # Safety
/// As WiredTiger calls `decrypt`; `src_len` was checked.
unsafe fn bound_of_stored(
    object: &Object,
    src: *const u8,
    src_len: usize,
) -> Result<Bound, ExtensionError> {
    let changed = |kind, found| {
        let key = object.encryptor.pages().key().clone();
        ExtensionError::Header { kind, found, bytes: src_len, key }
    };
    // SAFETY: rule "headers": the length is always there, WiredTiger has just read it.
    let length = u32::from_le_bytes(unsafe { *src.sub(LENGTH_BYTES).cast() });
    match Skip::of_stored(length, src_len) {
        Skip::Page => {
            // SAFETY: rule "headers".
            let header = unsafe { &*src.sub(LENGTH_BYTES + PAGE_BYTES).cast() };
            check_page(header, src_len).map_err(|found| changed("page", found))?;
            Ok(Bound::page(header))
        }
        Skip::Record => {
            // SAFETY: rule "headers".
            let header = unsafe { &*src.sub(LENGTH_BYTES + RECORD_BYTES).cast() };
            if let Some(fill) =
                check_record(header, src_len).map_err(|found| changed("journal record", found))?
            {
                // SAFETY: rule "headers": the whole record, with the length in its header, is in
                // the buffer.
                let fill = unsafe { slice::from_raw_parts(src.add(src_len), fill) };
                check_fill(fill).map_err(|found| changed("journal record", found))?;
            }
            Ok(Bound::record(header))
        }
        Skip::Text => Ok(Bound::TEXT),
        Skip::Unknown => Ok(Bound::UNKNOWN),
    }
}

unsafe extern "C" fn sizing(
    iface: *mut Iface,
    session: *mut Session,
    expansion: *mut usize,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` or `customize` gave it (rule "owner").
    let object = unsafe { &*iface.cast::<Object>() };
    guarded(object.log, session, "sizing", FAILED, || {
        // SAFETY: WiredTiger passes a place for the constant.
        unsafe { *expansion = object.encryptor.expansion_bytes() };
        Ok(())
    })
}

/// Makes the encryptor of a key id, once for each of them, while a lock of the whole connection is
/// held: it contacts nobody.
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
            // SAFETY: the table is the connection's own, the configuration and the session are
            // WiredTiger's of this call, name and item live through it. On success the item is a
            // text of that many bytes in the configuration.
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
        if let Some(journal) = &object.journal {
            journal.activate();
        }
        let own = Object::new(object.log, object.encryptor.clone(), object.journal.clone());
        // SAFETY: WiredTiger passes a place for the encryptor, and terminates it later (rule
        // "owner").
        unsafe { *custom = Box::into_raw(own).cast() };
        Ok(())
    })
}

unsafe extern "C" fn terminate(iface: *mut Iface, session: *mut Session) -> c_int {
    // SAFETY: WiredTiger calls this once for each object that it was given, after every other call
    // (rule "owner").
    let object = unsafe { Box::from_raw(iface.cast::<Object>()) };
    guarded(object.log, session, "terminate", FAILED, || {
        drop(object);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn the_table_is_laid_out_as_wiredtigers() {
        assert_eq!(size_of::<Iface>(), 5 * size_of::<*const c_void>());
        assert_eq!(offset_of!(Object, iface), 0);
    }
}
