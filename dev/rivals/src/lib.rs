#![deny(unsafe_code)]
//! Other libraries' ciphers behind one interface: to check that ours produce the same results, and
//! how much faster.
//!
//! Not here: our ciphers.

#[cfg(feature = "botan")]
pub mod botan;
pub mod contest;
pub mod ff1;
mod ffi;
pub mod gcrypt;
pub mod lea;
mod libraries;
pub mod openssl;
pub mod packets;
pub mod page_ends;

pub use libraries::libraries;

/// A keyed cipher of some library.
pub trait Rival {
    /// Sets another key, of the same length.
    fn set_key(&mut self, key: &[u8]);

    /// XORs `data` with the key stream whose first block encrypts `counter`, one block long; the
    /// whole block counts up, big-endian.
    fn ctr(&mut self, counter: &[u8], data: &mut [u8]);
}

/// A keyed AEAD of some library.
pub trait RivalAead {
    /// Sets another key, of the same length.
    fn set_key(&mut self, key: &[u8]);

    /// Encrypts `data` in place under a `nonce` of 12 bytes, without associated data, and returns
    /// the tag.
    fn seal(&mut self, nonce: &[u8; 12], data: &mut [u8]) -> [u8; 16];
}

/// A keyed cipher of some library in CBC.
pub trait RivalCbc {
    /// Encrypts `data`, whole blocks, in place, from the initialisation vector `iv` on.
    fn encrypt(&mut self, iv: &[u8], data: &mut [u8]);
}

/// A keyed MAC of some library.
pub trait RivalMac {
    /// Fills `tag` with the beginning of the tag over `message`.
    fn tag(&mut self, message: &[u8], tag: &mut [u8]);
}

/// A library: its name, and what it has under the name and key of one of our ciphers.
pub struct Library {
    /// Name and version.
    pub name: String,
    /// Counter mode, where the library has the cipher.
    pub ctr: SetKey<dyn Rival>,
    /// GCM, where the library has it.
    pub gcm: SetKey<dyn RivalAead>,
    /// CBC, where the library has it.
    pub cbc: SetKey<dyn RivalCbc>,
    /// MACs by our names, where the library has them.
    pub mac: SetKey<dyn RivalMac>,
}

/// Sets a key for the cipher, or MAC, with our name, if there is one.
pub type SetKey<T> = fn(name: &str, key: &[u8]) -> Option<Box<T>>;

/// A keyed block cipher of some library.
pub(crate) trait Blocks {
    /// Sets another key, of the same length.
    fn set_key(&mut self, key: &[u8]);

    /// Encrypts whole blocks in place.
    fn encrypt(&mut self, blocks: &mut [u8]);
}

/// Counter mode from single blocks, for libraries that do not offer it with a cipher: counter
/// blocks are written, encrypted all together, and added.
pub(crate) struct FromBlocks<B> {
    block_bytes: usize,
    stream: Vec<u8>,
    blocks: B,
}

impl<B: Blocks> FromBlocks<B> {
    /// Over `blocks` of `block_bytes` bytes.
    pub(crate) fn new(block_bytes: usize, blocks: B) -> Self {
        Self { block_bytes, stream: Vec::new(), blocks }
    }
}

impl<B: Blocks> Rival for FromBlocks<B> {
    fn set_key(&mut self, key: &[u8]) {
        self.blocks.set_key(key);
    }

    fn ctr(&mut self, counter: &[u8], data: &mut [u8]) {
        let blocks = data.len().div_ceil(self.block_bytes);
        self.stream.resize(blocks * self.block_bytes, 0);
        if self.block_bytes == 8 {
            let first = u64::from_be_bytes(counter.try_into().expect("a block"));
            for (i, block) in self.stream.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *block = first.wrapping_add(i as u64).to_be_bytes();
            }
        } else {
            let first = u128::from_be_bytes(counter.try_into().expect("a block"));
            for (i, block) in self.stream.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                *block = first.wrapping_add(i as u128).to_be_bytes();
            }
        }
        self.blocks.encrypt(&mut self.stream);
        for (byte, key) in data.iter_mut().zip(&self.stream) {
            *byte ^= key;
        }
    }
}
