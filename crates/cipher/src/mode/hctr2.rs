//! HCTR2: wide-block encryption over any 128-bit block cipher, by one block of it, a counter mode
//! (XCTR) and POLYVAL twice (Crowley, Huckleberry, Biggers 2021, section 2).
//!
//! The second hash goes over what the counter mode writes, in both directions; AES has the two side
//! by side (`block/aes/hctr2.rs`), and for all others they are put together here.

use std::fmt;

use zeroize::Zeroize;

use super::BlockCipher;
use super::ghash::polyval::PolyvalKey;
use super::wide_block::{Block, XctrAndPolyval};
use super::wipe_stack::wipe_stack;
use super::xctr;
use crate::backend::Backend;
use crate::error::Error;
use crate::memory::Protected;

/// Bytes of a block: the shortest message.
const BLOCK_BYTES: usize = 16;

/// Returns what `absorb` makes of the blocks of `message`: a last part of a block has a one behind
/// it, then zeros (section 2.1).
fn absorb_closed(message: &[u8], absorb: impl FnOnce(&[&[u8]]) -> Block) -> Block {
    let (whole, rest) = message.split_at(message.len() / BLOCK_BYTES * BLOCK_BYTES);
    if rest.is_empty() {
        return absorb(&[whole]);
    }
    let mut end = [0; BLOCK_BYTES];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 1;
    let hash = absorb(&[whole, &end]);
    end.zeroize();
    hash
}

/// HCTR2 keyed with one cipher. One object serves many threads at once; its key is zeroed on drop.
pub struct Hctr2 {
    keyed: Protected<dyn XctrAndPolyval>,
    /// The block that the paper calls L.
    offset: Protected<Offset>,
}

/// A secret block.
struct Offset(Block);

impl Drop for Offset {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Hctr2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hctr2").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

impl Hctr2 {
    /// HCTR2 of a keyed cipher, whose hash is keyed with the encryption of zero; makes the offset,
    /// the encryption of one (section 2).
    pub(crate) fn new(keyed: Protected<dyn XctrAndPolyval>) -> Self {
        let mut offset = Protected::with(|| Offset([0; BLOCK_BYTES]));
        offset.0 = keyed.encrypt_block(1_u128.to_le_bytes());
        wipe_stack::<4096>();
        Self { keyed, offset }
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.keyed.backend()
    }

    /// Encrypts `data` (16 bytes and more, in place) under `tweak` (any length, no secret).
    ///
    /// # Errors
    /// `Error::MessageTooShort`, `Error::MessageTooLong` (64 GiB); `data` is untouched.
    pub fn encrypt(&self, tweak: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.crypt(tweak, data, |before| {
            let after = self.keyed.encrypt_block(before);
            (xor(&before, &after), after)
        })
    }

    /// Decrypts `data` (16 bytes and more, in place), which was encrypted under `tweak`. What was
    /// changed is not noticed.
    ///
    /// # Errors
    /// `Error::MessageTooShort`, `Error::MessageTooLong` (64 GiB); `data` is untouched.
    pub fn decrypt(&self, tweak: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.crypt(tweak, data, |after| {
            let before = self.keyed.decrypt_block(after);
            (xor(&before, &after), before)
        })
    }

    /// Takes `data` from one side to the other: `through` takes the first block through the cipher,
    /// and returns the sum of its two sides and the other side.
    fn crypt(
        &self,
        tweak: &[u8],
        data: &mut [u8],
        through: impl FnOnce(Block) -> (Block, Block),
    ) -> Result<(), Error> {
        let (block, rest) = split(data)?;
        let mut head = self.head(tweak, !rest.len().is_multiple_of(BLOCK_BYTES));
        let mut hash = absorb_closed(rest, |parts| self.keyed.absorb(head, parts));
        let (mut sum, mut other) = through(xor(block, &hash));
        sum = xor(&sum, &self.offset.0);
        hash = self.keyed.xor_xctr_and_absorb(&sum, rest, head);
        *block = xor(&other, &hash);
        for left in [&mut sum, &mut other, &mut head, &mut hash] {
            left.zeroize();
        }
        wipe_stack::<1024>();
        Ok(())
    }

    /// Returns the state of the hash after the tweak, which both hashes of a message begin with:
    /// its length and whether the message has a last part of a block, the tweak with zeros (section
    /// 2.1).
    fn head(&self, tweak: &[u8], is_partial: bool) -> Block {
        let bits = 8 * tweak.len() as u128;
        let lengths = (2 * bits + 2 + u128::from(is_partial)).to_le_bytes();
        let (whole, rest) = tweak.split_at(tweak.len() / BLOCK_BYTES * BLOCK_BYTES);
        let mut end = [0; BLOCK_BYTES];
        end[..rest.len()].copy_from_slice(rest);
        let end = if rest.is_empty() { &[][..] } else { &end };
        self.keyed.absorb([0; BLOCK_BYTES], &[&lengths, whole, end])
    }
}

/// Cipher and hash one after the other.
struct InTurn {
    cipher: Protected<dyn BlockCipher<BLOCK_BYTES>>,
    hash: PolyvalKey,
}

/// Puts a keyed `cipher` together with the hash that it keys (section 2: by the encryption of 0).
pub(crate) fn in_turn(
    cipher: Protected<dyn BlockCipher<BLOCK_BYTES>>,
    backend: Backend,
) -> Protected<dyn XctrAndPolyval> {
    let mut key = cipher.encrypt_block([0; BLOCK_BYTES]);
    let hash = PolyvalKey::new(&key, backend);
    key.zeroize();
    wipe_stack::<4096>();
    let keyed = InTurn { cipher, hash };
    Protected::with(|| keyed).unsize(|keyed| keyed)
}

impl XctrAndPolyval for InTurn {
    fn backend(&self) -> &'static str {
        self.cipher.backend()
    }

    fn encrypt_block(&self, block: Block) -> Block {
        self.cipher.encrypt_block(block)
    }

    fn decrypt_block(&self, mut block: Block) -> Block {
        self.cipher.decrypt_blocks(std::slice::from_mut(&mut block));
        block
    }

    fn absorb(&self, state: Block, parts: &[&[u8]]) -> Block {
        self.hash.absorb(state, parts)
    }

    fn xor_xctr_and_absorb(&self, first: &Block, data: &mut [u8], state: Block) -> Block {
        self.cipher.xor_xctr(first, data);
        absorb_closed(data, |parts| self.hash.absorb(state, parts))
    }
}

/// Returns the first block of `data`, and the rest.
fn split(data: &mut [u8]) -> Result<(&mut Block, &mut [u8]), Error> {
    check_length(data.len() as u64)?;
    let found = data.len();
    data.split_first_chunk_mut().ok_or(Error::MessageTooShort { found, least: BLOCK_BYTES })
}

/// Checks that the blocks of a message of `found` bytes after its first one can be numbered.
fn check_length(found: u64) -> Result<(), Error> {
    let limit = BLOCK_BYTES as u64 + xctr::MESSAGE_BYTES_MAX;
    if found > limit { Err(Error::MessageTooLong { found, limit }) } else { Ok(()) }
}

fn xor(one: &Block, other: &Block) -> Block {
    (u128::from_ne_bytes(*one) ^ u128::from_ne_bytes(*other)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_blocks_as_have_a_number() {
        let limit = 16 * (1 << 32);
        assert_eq!(check_length(limit), Ok(()));
        let found = limit + 1;
        assert_eq!(check_length(found), Err(Error::MessageTooLong { found, limit }));
    }
}
