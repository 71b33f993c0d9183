//! A MAC from a block cipher (CMAC, SP 800-38B). Not here: how a key is set ([`crate::cmac`]).

use zeroize::{Zeroize, Zeroizing, optimization_barrier};

use super::blocks::{Blocks, xor};
use crate::error::Error;
use crate::memory::Protected;

/// CMAC keyed with one cipher, as this crate computes it: see [`crate::Cmac`].
pub(crate) struct Cmac {
    blocks: Protected<dyn Blocks>,
    /// On the heap, where moving the object leaves no copy behind.
    subkeys: Protected<Subkeys>,
}

/// Subkeys that are added to the last block. Zeroed on drop.
struct Subkeys {
    /// Added to the last block where it is whole: K1.
    whole: [u8; 16],
    /// Added to the last block where it had to be filled up: K2.
    partial: [u8; 16],
}

impl Cmac {
    /// Makes the subkeys (SP 800-38B, 6.1).
    pub(crate) fn new(blocks: Protected<dyn Blocks>) -> Result<Self, Error> {
        let block_bytes = blocks.block_bytes();
        let mut cmac = Self {
            blocks,
            subkeys: Protected::with(|| Subkeys { whole: [0; 16], partial: [0; 16] }),
        };
        let Subkeys { whole, partial } = &mut *cmac.subkeys;
        let (whole, partial) = (&mut whole[..block_bytes], &mut partial[..block_bytes]);
        cmac.blocks.encrypt(whole)?;
        double(whole);
        partial.copy_from_slice(whole);
        double(partial);
        Ok(cmac)
    }

    /// Returns the length of a tag in bytes, that of a block: 8 or 16.
    pub(crate) fn tag_bytes(&self) -> usize {
        self.blocks.block_bytes()
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    pub(crate) fn backend(&self) -> &'static str {
        self.blocks.backend()
    }

    /// Returns the tag over `message` (any length): [`Cmac::tag_bytes`] bytes, of which a protocol
    /// may take the first few.
    ///
    /// Source: SP 800-38B, 6.2.
    pub(crate) fn mac(&self, message: &[u8]) -> Vec<u8> {
        let block_bytes = self.tag_bytes();
        // The last block is held back: a whole one too, and an empty one where there is nothing
        // else.
        let last_at = message.len().saturating_sub(1) / block_bytes * block_bytes;
        let (before, last) = message.split_at(last_at);
        let mut state = Zeroizing::new([0; 16]);
        let state = &mut state[..block_bytes];
        for block in before.chunks_exact(block_bytes) {
            xor(state, block);
            self.encrypt(state);
        }
        xor(state, last);
        if last.len() == block_bytes {
            xor(state, &self.subkeys.whole);
        } else {
            state[last.len()] ^= 0x80;
            xor(state, &self.subkeys.partial);
        }
        self.encrypt(state);
        state.to_vec()
    }

    fn encrypt(&self, block: &mut [u8]) {
        self.blocks.encrypt(block).expect("one block");
    }
}

impl Drop for Subkeys {
    fn drop(&mut self) {
        self.whole.zeroize();
        self.partial.zeroize();
        optimization_barrier(self);
    }
}

/// Times 2 in the field of the block length, in constant time (SP 800-38B, 5.3 and 6.1).
fn double(block: &mut [u8]) {
    let reduction = if block.len() == 16 { 0x87 } else { 0x1b };
    let mut carry = 0;
    for byte in block.iter_mut().rev() {
        (*byte, carry) = (*byte << 1 | carry, *byte >> 7);
    }
    let last = block.len() - 1;
    block[last] ^= 0_u8.wrapping_sub(carry) & reduction;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;
    use crate::backend::Backend;
    use crate::cmac::cmac;
    use crate::registry::ciphers;

    #[test]
    fn tags_of_other_lengths_are_refused() {
        for cipher in ciphers() {
            let cmac = cmac(cipher, &vec![7; cipher.key_bytes], Backend::auto()).unwrap();
            let mut tag = cmac.mac(b"message").unwrap();
            assert_eq!(tag.len(), cipher.block_bytes);
            assert_eq!(cmac.verify(b"message", &tag[1..]), Err(Error::Authentication));
            assert_eq!(cmac.verify(b"message", &tag[..tag.len() - 1]), Err(Error::Authentication));
            assert_eq!(cmac.verify(b"message", &[]), Err(Error::Authentication));
            tag.push(0);
            assert_eq!(cmac.verify(b"message", &tag), Err(Error::Authentication));
        }
    }

    #[test]
    fn subkeys_are_zeroed() {
        let subkeys = Subkeys { whole: [7; 16], partial: [7; 16] };
        assert!(left_after_drop(subkeys).iter().all(|byte| *byte == 0));
    }

    /// The subkeys of SP 800-38B, D.1: 2 E(0) and 4 E(0).
    #[test]
    fn subkeys_are_those_of_the_standard() {
        let mut key = 0x7df7_6b0c_1ab8_99b3_3e42_f047_b91b_546f_u128.to_be_bytes();
        for want in [
            0xfbee_d618_3571_3366_7c85_e08f_7236_a8de_u128,
            0xf7dd_ac30_6ae2_66cc_f90b_c11e_e46d_513b,
        ] {
            double(&mut key);
            assert_eq!(key, want.to_be_bytes());
        }
    }
}
