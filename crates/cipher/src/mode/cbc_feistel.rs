//! CBC of whole blocks, with a Feistel network for what is left at the end: over CBC alone, so that
//! a module can compute it. Not here: its guarantees, and how keys are set
//! ([`crate::cbc_feistel`]).

use std::fmt;

use zeroize::Zeroizing;

use super::cbc::Cbc;
use crate::error::Error;

/// Length of a block, and of a nonce, in bytes.
const BLOCK_BYTES: usize = 16;
/// Rounds over what is left at the end: as many as FF1 has (SP 800-38G), whose network this is,
/// over halves of bytes or of nibbles.
const ROUNDS: u8 = 10;
/// Longest half of an end, in bytes.
const HALF_BYTES_MAX: usize = BLOCK_BYTES / 2;

/// The mode keyed with one cipher. One object serves many threads at once; its keys are zeroed on
/// drop.
pub struct CbcFeistel {
    /// For whole blocks.
    blocks: Cbc,
    /// For ends.
    ends: Cbc,
}

/// State of a message between its pieces.
pub struct Chain {
    /// Last block that was enciphered, or what stands for it before the first one.
    last: [u8; BLOCK_BYTES],
    /// True after a piece that was no whole blocks: the message has ended.
    has_ended: bool,
}

impl CbcFeistel {
    /// Takes CBC of a cipher with blocks of 16 bytes, under a key for whole blocks and under
    /// another one for ends.
    pub(crate) fn new(blocks: Cbc, ends: Cbc) -> Self {
        Self { blocks, ends }
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`, or of the
    /// module that computes.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.blocks.backend()
    }

    /// Begins a message under `nonce`: its first block is chained to the encryption of that.
    ///
    /// # Errors
    /// `Error::Module`.
    ///
    /// Source: SP 800-38A, appendix C, the first method.
    pub fn begin(&self, nonce: &[u8; BLOCK_BYTES]) -> Result<Chain, Error> {
        Ok(Chain { last: encrypted(&self.blocks, nonce)?, has_ended: false })
    }

    /// Encrypts the next piece of a message in place: whole blocks, or the last piece, of any
    /// length. Pieces of another division give the same.
    ///
    /// # Errors
    /// `Error::AfterEnd` if the message has ended, or failed; `piece` is untouched.
    /// `Error::Module`; it is zeros then, and the message has ended.
    pub fn encrypt(&self, chain: &mut Chain, piece: &mut [u8]) -> Result<(), Error> {
        chain.check(piece)?;
        self.encrypt_piece(chain, piece).inspect_err(|_| chain.give_up(piece))
    }

    fn encrypt_piece(&self, chain: &mut Chain, piece: &mut [u8]) -> Result<(), Error> {
        let (whole, end) = chain.split(piece);
        if !whole.is_empty() {
            self.blocks.encrypt(&chain.last, whole)?;
            chain.last = *whole.last_chunk().expect("a block at least");
        }
        self.pass(&chain.last, end, &mut (0..ROUNDS))
    }

    /// Decrypts the next piece of a message in place, as [`encrypt`](Self::encrypt). A change is
    /// not noticed.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn decrypt(&self, chain: &mut Chain, piece: &mut [u8]) -> Result<(), Error> {
        chain.check(piece)?;
        self.decrypt_piece(chain, piece).inspect_err(|_| chain.give_up(piece))
    }

    fn decrypt_piece(&self, chain: &mut Chain, piece: &mut [u8]) -> Result<(), Error> {
        let (whole, end) = chain.split(piece);
        if let Some(&last) = whole.last_chunk() {
            self.blocks.decrypt(&chain.last, whole)?;
            chain.last = last;
        }
        self.pass(&chain.last, end, &mut (0..ROUNDS).rev())
    }

    /// Takes `end` through the network, in place: in each of `rounds` one half is added to by a
    /// function of the other one, of the round, of the length and of the block `last` before. An
    /// end of one byte has nibbles for halves.
    fn pass(
        &self,
        last: &[u8; BLOCK_BYTES],
        end: &mut [u8],
        rounds: &mut dyn Iterator<Item = u8>,
    ) -> Result<(), Error> {
        let length = end.len();
        let mut halves = Zeroizing::new([[0; HALF_BYTES_MAX]; 2]);
        let (sizes, mask) = match end {
            [] => return Ok(()),
            [one] => {
                (halves[0][0], halves[1][0]) = (*one >> 4, *one & 0x0f);
                ([1, 1], 0x0f)
            }
            _ => {
                let (left, right) = end.split_at(length / 2);
                halves[0][..left.len()].copy_from_slice(left);
                halves[1][..right.len()].copy_from_slice(right);
                ([left.len(), right.len()], 0xff)
            }
        };
        let before = Zeroizing::new(encrypted(&self.ends, last)?);
        for round in rounds {
            let (to, from) = (usize::from(round % 2), usize::from(1 - round % 2));
            let mut block = Zeroizing::new([0; BLOCK_BYTES]);
            (block[0], block[1]) = (round, length as u8);
            block[2..][..sizes[from]].copy_from_slice(&halves[from][..sizes[from]]);
            // chained to the block before: the MAC of two blocks, whose number is fixed
            self.ends.encrypt(&*before, &mut *block)?;
            for (byte, pad) in halves[to][..sizes[to]].iter_mut().zip(&*block) {
                *byte ^= pad & mask;
            }
        }
        match end {
            [one] => *one = halves[0][0] << 4 | halves[1][0],
            _ => {
                let (left, right) = end.split_at_mut(length / 2);
                left.copy_from_slice(&halves[0][..left.len()]);
                right.copy_from_slice(&halves[1][..right.len()]);
            }
        }
        Ok(())
    }
}

impl Chain {
    /// Refuses a `piece` after the end of the message, unless it is empty.
    fn check(&self, piece: &[u8]) -> Result<(), Error> {
        if self.has_ended && !piece.is_empty() { Err(Error::AfterEnd) } else { Ok(()) }
    }

    /// Splits `piece` into whole blocks and an end, which ends the message if there is one.
    fn split<'a>(&mut self, piece: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]) {
        let (whole, end) = piece.split_at_mut(piece.len() / BLOCK_BYTES * BLOCK_BYTES);
        self.has_ended |= !end.is_empty();
        (whole, end)
    }

    /// Ends a message of which `piece` failed, and leaves nothing of that.
    fn give_up(&mut self, piece: &mut [u8]) {
        self.has_ended = true;
        piece.fill(0);
    }
}

/// Returns the encryption of `block` alone: chained to zeros it is the cipher itself.
fn encrypted(cbc: &Cbc, block: &[u8; BLOCK_BYTES]) -> Result<[u8; BLOCK_BYTES], Error> {
    let mut block = *block;
    cbc.encrypt(&[0; BLOCK_BYTES], &mut block)?;
    Ok(block)
}

impl fmt::Debug for CbcFeistel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcFeistel").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::cbc_feistel::cbc_feistel;
    use crate::{Backend, cipher};

    use super::*;

    fn key(name: &str) -> CbcFeistel {
        let cipher = cipher(name).unwrap();
        let [blocks, ends] = [1, 2].map(|byte| vec![byte; cipher.key_bytes]);
        cbc_feistel(cipher, [&blocks, &ends], Backend::auto()).unwrap()
    }

    fn encrypted_alone(key: &CbcFeistel, text: &[u8]) -> Vec<u8> {
        let mut data = text.to_vec();
        key.encrypt(&mut key.begin(&[7; BLOCK_BYTES]).unwrap(), &mut data).unwrap();
        data
    }

    /// Each value of a short end goes to another one.
    #[test]
    fn ends_are_permuted() {
        let key = key("aes-256");
        let one: HashSet<Vec<u8>> = (0..=255).map(|byte| encrypted_alone(&key, &[byte])).collect();
        assert_eq!(one.len(), 256);
        let two: HashSet<Vec<u8>> =
            (0..=u16::MAX).map(|number| encrypted_alone(&key, &number.to_be_bytes())).collect();
        assert_eq!(two.len(), 1 << 16);
    }

    /// Under one nonce, messages show the blocks that they have in common at their beginning: the
    /// first that differs, all behind it, and an end that differs, have nothing in common.
    #[test]
    fn messages_under_one_nonce_show_equal_beginnings_alone() {
        let key = key("aria-256");
        let sum = |one: &[u8], other: &[u8]| -> Vec<u8> {
            one.iter().zip(other).map(|(one, other)| one ^ other).collect()
        };
        for length in [5, 8, 15, 16, 31, 47, 80] {
            for at in 0..length {
                let (one, mut other) = (vec![0x5a; length], vec![0x5a; length]);
                other[at] ^= 1;
                let (first, second) = (encrypted_alone(&key, &one), encrypted_alone(&key, &other));
                let same = at / BLOCK_BYTES * BLOCK_BYTES;
                assert_eq!(first[..same], second[..same]);
                let shown = sum(&first[same..], &second[same..]);
                assert_ne!(shown, sum(&one[same..], &other[same..]), "{length} {at}");
                // some half of the bits differ, and of few bytes not few
                let bits: u32 = shown.iter().map(|byte| byte.count_ones()).sum();
                let least = if shown.len() < 8 { 3 } else { 2 * shown.len() as u32 };
                assert!(bits >= least, "{length} {at}: {bits} bits of {}", shown.len() * 8);
            }
        }
    }
}
