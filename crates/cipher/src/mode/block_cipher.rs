//! Block ciphers as modes use them: one trait that takes many blocks at a time, and the functions
//! that set a key.
//!
//! A cipher has up to two forms: one for counter modes, which never decrypt a block and count by
//! themselves, and one for whole blocks both ways. Neither form pays for the needs of the other.

use super::aead::Aead;
use super::ctr::{Counter64, Counter128};
use super::ff1_value::one_value::OneValue;
use super::wide_block::XctrAndPolyval;
use super::xctr;
use crate::backend::Backend;
use crate::error::Error;
use crate::memory::Protected;

/// Sets a key on a backend. Its length must be the one in the table of ciphers, or the result is
/// `Error::KeyLength`.
pub(crate) type SetOn<T> = fn(&[u8], Backend) -> Result<Protected<T>, Error>;

/// Ways to set a key, by block length.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SetKey {
    /// 16-byte blocks.
    Block128 {
        /// The block cipher alone, for modes to build on.
        counter: SetOn<dyn Counter128>,
        /// GCM as a whole, where the cipher has one that is faster than its parts put together.
        gcm: Option<SetOn<dyn Aead>>,
        /// The parts of HCTR2 side by side, where the cipher has them.
        hctr2: Option<SetOn<dyn XctrAndPolyval>>,
        /// Whole blocks, both ways.
        block: SetOn<dyn BlockCipher<16>>,
        /// True if a backend has instructions for this very cipher, so that GCM hides its time
        /// behind the hash.
        has_instructions: fn(Backend) -> bool,
    },
    /// 8-byte blocks.
    Block64 {
        /// The block cipher alone, for modes to build on.
        counter: SetOn<dyn Counter64>,
        /// Whole blocks, both ways.
        block: SetOn<dyn BlockCipher<8>>,
    },
}

/// A keyed block cipher, both ways, that zeroes its key schedule on drop.
pub(crate) trait BlockCipher<const BLOCK_BYTES: usize>: Send + Sync {
    /// Returns the name of the backend in use.
    fn backend(&self) -> &'static str;

    /// Encrypts each of `blocks` in place. Independent blocks are handed over together, so that
    /// several are worked on at once.
    fn encrypt_blocks(&self, blocks: &mut [[u8; BLOCK_BYTES]]);

    /// Encrypts one block, for a caller that waits for it: in registers, where that is quicker.
    fn encrypt_block(&self, mut block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        self.encrypt_blocks(std::slice::from_mut(&mut block));
        block
    }

    /// Encrypts `blocks` in place, each with the one before it added (XOR), the first with `iv`:
    /// CBC (SP 800-38A, 6.2). Each waits for the one before, in registers where that is quicker.
    fn encrypt_chain(&self, iv: &[u8; BLOCK_BYTES], blocks: &mut [[u8; BLOCK_BYTES]]) {
        let (mut last, mut rest) = (iv, blocks);
        while let Some((block, after)) = rest.split_first_mut() {
            // written at once: a wide read waits for bytes that were written one by one
            *block = std::array::from_fn(|i| block[i] ^ last[i]);
            self.encrypt_blocks(std::slice::from_mut(block));
            (last, rest) = (block, after);
        }
    }

    /// Seals or opens (by `seal`) one value of FF1, all its rounds in registers, where it can do
    /// so; whether it did. Nothing of it is left on the stack.
    fn crypt_value(&self, _value: OneValue<'_, BLOCK_BYTES>, _seal: bool) -> bool {
        false
    }

    /// Decrypts each of `blocks` in place.
    fn decrypt_blocks(&self, blocks: &mut [[u8; BLOCK_BYTES]]);

    /// XORs `data`, at most 2^32 - 1 blocks, with the encryptions of `first` whose first four bytes
    /// have the number of the block added to them (XOR): 1, 2, 3 …, little-endian.
    fn xor_xctr(&self, first: &[u8; BLOCK_BYTES], data: &mut [u8]) {
        xctr::xor_by_blocks(first, data, |blocks| self.encrypt_blocks(blocks));
    }
}
