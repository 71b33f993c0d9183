//! The encryptor called as WiredTiger calls it, for tests and measurements. The rules that `SAFETY`
//! lines name are in `ffi`.
//!
//! Not here: the callbacks themselves (`ffi/encryptor.rs`).

use std::ptr;
use std::sync::Arc;

use super::api::Log;
use super::encryptor::{Bytes, Crypt, Object};
use crate::encryptor::Encryptor;
use crate::header::{EXPANSION_BYTES, LENGTH_BYTES, RECORD_BYTES};

/// An encryptor called as WiredTiger calls it, through the table of functions: for tests and
/// measurements.
pub struct Callbacks(*mut Object);

// SAFETY: the object is Sync (rule "threads"), and this owns it.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

impl Callbacks {
    /// Makes it without a connection: messages go nowhere.
    #[must_use]
    pub fn new(encryptor: Encryptor) -> Self {
        Self(Box::into_raw(Object::new(Log(ptr::null_mut()), Arc::new(encryptor), None)))
    }

    /// Returns the result of `sizing`: how much longer a block is, in bytes.
    ///
    /// # Errors
    /// The callback's error.
    pub fn expansion_bytes(&self) -> Result<usize, i32> {
        let mut expansion = 0;
        // SAFETY: the object is ours and whole.
        let code =
            unsafe { ((*self.0).iface.sizing)(self.0.cast(), ptr::null_mut(), &mut expansion) };
        if code == 0 { Ok(expansion) } else { Err(code) }
    }

    /// Seals `item`, except for its first `skip` bytes, which are a header, into `stored`, as
    /// WiredTiger does: header, length, block. Returns how many bytes that is.
    ///
    /// # Errors
    /// The callback's error.
    ///
    /// # Panics
    /// If `stored` is shorter than header, length, content and expansion, or a buffer does not
    /// begin at a multiple of 16, as allocated buffers do.
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
        let length = u32::try_from(start + block_bytes).expect("the callback checks the length");
        stored[skip..start].copy_from_slice(&length.to_le_bytes());
        Ok(start + block_bytes)
    }

    /// Opens what [`Callbacks::encrypt`] made, as WiredTiger does, which trusts the length in
    /// `stored` as long as it does not reach beyond the end. Returns the length of header and
    /// content in `item`.
    ///
    /// # Errors
    /// The callback's error; -1 where WiredTiger itself would refuse.
    ///
    /// # Panics
    /// If `item` is shorter than `stored`.
    pub fn decrypt(&self, stored: &[u8], skip: usize, item: &mut [u8]) -> Result<usize, i32> {
        assert!(item.len() >= stored.len(), "{} bytes for {}", item.len(), stored.len());
        let start = skip + LENGTH_BYTES;
        let length =
            stored[skip..].first_chunk().map(|length| u32::from_le_bytes(*length) as usize);
        let length = length.filter(|length| *length <= stored.len()).ok_or(-1)?;
        if skip == RECORD_BYTES
            && stored
                .first_chunk()
                .is_some_and(|bytes| u32::from_le_bytes(*bytes) as usize > stored.len())
        {
            // WiredTiger has all of a record in its buffer, with the length in its header (rule
            // "headers")
            return Err(-1);
        }
        let src_len = length.wrapping_sub(start);
        let (src, dst) = (stored[start..].as_ptr().cast_mut(), item[skip..].as_mut_ptr());
        let bytes = Bytes { src, src_len, dst, dst_len: src_len, result_len: &mut 0 };
        // SAFETY: the object is ours and whole; both buffers are as WiredTiger's are, the length as
        // well, right or wrong.
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
    use super::*;
    use crate::ffi::api::{FAILED, UNREADABLE};
    use crate::ffi::encryptor::check_lengths;
    use crate::settings::Settings;

    fn callbacks(dir: &std::path::Path) -> Callbacks {
        let key = dir.join("orders.key");
        sealstone_keys::KeyFile::create(&key, "orders").unwrap();
        let settings =
            Settings::parse(&format!("key=\"{}\",cipher=aes-256", key.display())).unwrap();
        Callbacks::new(Encryptor::open(&settings).unwrap())
    }

    /// Lengths that WiredTiger cannot mean, and null: nothing is read, nothing is written.
    #[test]
    fn impossible_lengths_are_refused_before_anything_else() {
        let dir = tempfile::tempdir().unwrap();
        let callbacks = callbacks(dir.path());
        let (src, mut dst, mut result) = ([0xEE_u8; 64], [0xEE_u8; 64], 7_usize);
        let (from, to, result_len) = (src.as_ptr().cast_mut(), dst.as_mut_ptr(), &raw mut result);
        let huge = [
            usize::MAX,
            usize::MAX - 43,
            usize::MAX / 2,
            usize::MAX / 2 + 1,
            1 << 40,
            u32::MAX as usize + 1,
        ];
        let bytes = |src, src_len, dst, dst_len, result_len| Bytes {
            src,
            src_len,
            dst,
            dst_len,
            result_len,
        };
        let none = ptr::null_mut;
        let mut cases: Vec<Bytes> =
            huge.iter().map(|huge| bytes(from, *huge, to, *huge, result_len)).collect();
        cases.extend(huge.iter().map(|huge| bytes(from, *huge, to, 64, result_len)));
        cases.extend(huge.iter().map(|huge| bytes(from, 1, to, *huge, result_len)));
        cases
            .extend([bytes(none(), 0, to, 64, result_len), bytes(from, 0, none(), 64, result_len)]);
        cases.push(bytes(from, 0, to, 64, ptr::null_mut()));
        for case in cases {
            // SAFETY: the object is ours and whole. The memory at the pointers does not match the
            // lengths: that is under test, and where it is refused nothing is read.
            let (sealed, opened) = unsafe {
                let iface = &(*callbacks.0).iface;
                (callbacks.crypt(iface.encrypt, case), callbacks.crypt(iface.decrypt, case))
            };
            assert_eq!(
                (sealed, opened),
                (Err(FAILED), Err(UNREADABLE)),
                "{} {}",
                case.src_len,
                case.dst_len
            );
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
            "WiredTiger asks to decrypt 18446744073709551612 bytes into a buffer of \
             18446744073709551612 under key orders version 1: a length in a file was changed, or \
             memory is damaged\n\
             nothing was read or written; restore the file from a backup, or resync this member"
        );
    }

    /// A forked child has the salt and the counter of its parent: it seals nothing, and opens
    /// nothing.
    #[test]
    fn a_forked_child_uses_no_nonce() {
        let dir = tempfile::tempdir().unwrap();
        let callbacks = callbacks(dir.path());
        let mut item = vec![0x81; RECORD_BYTES + 100];
        item[..RECORD_BYTES].fill(0);
        let mut sealed = vec![0; item.len() + LENGTH_BYTES + EXPANSION_BYTES];
        let bytes = callbacks.encrypt(&item, RECORD_BYTES, &mut sealed).unwrap();
        // fields that WiredTiger sets after sealing
        let mut stored = sealed[..bytes].to_vec();
        stored.resize(bytes.next_multiple_of(128), 0);
        let length = stored.len() as u32;
        stored[..4].copy_from_slice(&length.to_le_bytes());
        stored[8] |= 2;
        let mut opened = vec![0; stored.len()];
        callbacks.decrypt(&stored, RECORD_BYTES, &mut opened).unwrap();
        // SAFETY: the child calls nothing but the callbacks, which take no lock that another thread
        // might hold, and ends without running what the test program does at its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let decrypted = callbacks.decrypt(&stored, RECORD_BYTES, &mut opened);
            let encrypted = callbacks.encrypt(&item, RECORD_BYTES, &mut sealed);
            let refused = encrypted == Err(FAILED) && decrypted == Err(UNREADABLE);
            // SAFETY: ends the child.
            unsafe { libc::_exit(if refused { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child of this test.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
            "the child went on: {status:#x}"
        );
        callbacks.encrypt(&item, RECORD_BYTES, &mut sealed).unwrap();
    }
}
