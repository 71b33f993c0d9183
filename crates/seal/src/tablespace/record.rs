//! Records of a log whose server uses one nonce for thousands of them: whole blocks in CBC, and
//! what is left at the end, 1 to 15 bytes, through a Feistel network. Records under one nonce show
//! how many blocks they have in common at their beginning, and nothing of the others; in a counter
//! mode they would show the difference of all that they hold.
//!
//! The network is that of FF1, and not FF1 itself, which refuses so short a text and which no
//! module has. Not here: which key, and which nonce (`tablespace`).

use sealstone_cipher::{CbcCs1, Cipher, Error as CipherError, Provider, cbc_cs1};
use zeroize::Zeroizing;

/// Length of a block, and of a nonce, in bytes.
const BLOCK_BYTES: usize = 16;
/// Rounds over what is left at the end: as many as FF1 has (SP 800-38G), whose network this is,
/// over halves of bytes or of nibbles.
const ROUNDS: u8 = 10;
/// Longest half of an end, in bytes.
const HALF_BYTES_MAX: usize = BLOCK_BYTES / 2;

/// Reason why a piece of a record is not enciphered or deciphered.
#[derive(Debug)]
pub(super) enum RecordError {
    /// The record has ended with a piece that was no whole blocks.
    Pieces,
    /// The cipher refused.
    Cipher(CipherError),
}

impl From<CipherError> for RecordError {
    fn from(error: CipherError) -> Self {
        Self::Cipher(error)
    }
}

/// The keys of records.
pub(super) struct RecordKey {
    /// For whole blocks.
    blocks: CbcCs1,
    /// For ends.
    ends: CbcCs1,
}

/// State of a record between its pieces.
pub(super) struct Chain {
    /// Last block that was enciphered, or what stands for it before the first one.
    last: [u8; BLOCK_BYTES],
    /// True after a piece that was no whole blocks: the record has ended.
    has_ended: bool,
}

impl RecordKey {
    /// Sets the keys `blocks` and `ends` for `cipher`, which has blocks of 16 bytes.
    ///
    /// # Errors
    /// Those of a module that lacks CBC with it.
    pub(super) fn new(
        cipher: &'static Cipher,
        blocks: &[u8],
        ends: &[u8],
        provider: Provider,
    ) -> Result<Self, CipherError> {
        let [blocks, ends] = [blocks, ends].map(|key| cbc_cs1(cipher, key, provider));
        Ok(Self { blocks: blocks?, ends: ends? })
    }

    /// Begins a record under `nonce`: the first block is chained to its encryption.
    ///
    /// # Errors
    /// Those of a module.
    ///
    /// Source: SP 800-38A, appendix C, the first method.
    pub(super) fn begin(&self, nonce: &[u8; BLOCK_BYTES]) -> Result<Chain, CipherError> {
        Ok(Chain { last: self.blocks.iv(nonce)?, has_ended: false })
    }
}

impl Chain {
    /// Enciphers the next piece.
    ///
    /// # Errors
    /// [`RecordError::Pieces`], [`RecordError::Cipher`]; `data` is of no use then.
    pub(super) fn encrypt(&mut self, key: &RecordKey, data: &mut [u8]) -> Result<(), RecordError> {
        let (whole, end) = self.split(data)?;
        if !whole.is_empty() {
            key.blocks.encrypt(&self.last, whole)?;
            self.last = *whole.last_chunk().expect("a block at least");
        }
        Ok(self.pass(key, end, &mut (0..ROUNDS))?)
    }

    /// Deciphers the next piece.
    ///
    /// # Errors
    /// As [`Chain::encrypt`].
    pub(super) fn decrypt(&mut self, key: &RecordKey, data: &mut [u8]) -> Result<(), RecordError> {
        let (whole, end) = self.split(data)?;
        if let Some(&last) = whole.last_chunk() {
            key.blocks.decrypt(&self.last, whole)?;
            self.last = last;
        }
        Ok(self.pass(key, end, &mut (0..ROUNDS).rev())?)
    }

    /// Splits `data` into whole blocks and an end, which ends the record if there is one.
    fn split<'a>(
        &mut self,
        data: &'a mut [u8],
    ) -> Result<(&'a mut [u8], &'a mut [u8]), RecordError> {
        if self.has_ended && !data.is_empty() {
            return Err(RecordError::Pieces);
        }
        let (whole, end) = data.split_at_mut(data.len() / BLOCK_BYTES * BLOCK_BYTES);
        self.has_ended |= !end.is_empty();
        Ok((whole, end))
    }

    /// Takes `end` through the network, in place: in each of `rounds` one half is added to by a
    /// function of the other one, of the round, of the length and of the block before. An end of
    /// one byte has nibbles for halves.
    fn pass(
        &self,
        key: &RecordKey,
        end: &mut [u8],
        rounds: &mut dyn Iterator<Item = u8>,
    ) -> Result<(), CipherError> {
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
        let before = Zeroizing::new(key.ends.iv(&self.last)?);
        for round in rounds {
            let (to, from) = (usize::from(round % 2), usize::from(1 - round % 2));
            let mut block = Zeroizing::new([0; BLOCK_BYTES]);
            (block[0], block[1]) = (round, length as u8);
            block[2..][..sizes[from]].copy_from_slice(&halves[from][..sizes[from]]);
            // chained to the block before: the MAC of two blocks, whose number is fixed
            key.ends.encrypt(&before, &mut *block)?;
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use sealstone_cipher::{Backend, cipher};

    use super::*;

    fn key(name: &str) -> RecordKey {
        let cipher = cipher(name).unwrap();
        let [blocks, ends] = [1, 2].map(|byte| vec![byte; cipher.key_bytes]);
        RecordKey::new(cipher, &blocks, &ends, Backend::auto().into()).unwrap()
    }

    /// Takes `data` through the cipher in pieces of `sizes`, then the rest.
    fn crypt(key: &RecordKey, encrypts: bool, data: &mut [u8], sizes: &[usize]) {
        let mut chain = key.begin(&[7; BLOCK_BYTES]).unwrap();
        let mut rest = data;
        for size in sizes.iter().copied().chain([usize::MAX]) {
            let (piece, more) = rest.split_at_mut(size.min(rest.len()));
            match encrypts {
                true => chain.encrypt(key, piece).unwrap(),
                false => chain.decrypt(key, piece).unwrap(),
            }
            rest = more;
        }
    }

    #[test]
    fn records_of_every_length_come_back_from_other_pieces() {
        for name in ["aes-256", "aria-128", "lea-192", "seed-128"] {
            let key = key(name);
            let text: Vec<u8> = (0..200_u8).map(|at| at.wrapping_mul(37)).collect();
            for length in 0..=text.len() {
                let mut data = text[..length].to_vec();
                crypt(&key, true, &mut data, &[16, 0, 64]);
                assert!(length < 3 || data != text[..length], "{name} {length}");
                crypt(&key, false, &mut data, &[32, 32, 16]);
                assert_eq!(data, text[..length], "{name} {length}");
            }
        }
    }

    /// Each value of a short end goes to another one.
    #[test]
    fn ends_are_permuted() {
        let key = key("aes-256");
        let one: HashSet<u8> = (0..=255)
            .map(|byte| {
                let mut data = [byte];
                crypt(&key, true, &mut data, &[]);
                data[0]
            })
            .collect();
        assert_eq!(one.len(), 256);
        let two: HashSet<[u8; 2]> = (0..=u16::MAX)
            .map(|number| {
                let mut data = number.to_be_bytes();
                crypt(&key, true, &mut data, &[]);
                data
            })
            .collect();
        assert_eq!(two.len(), 1 << 16);
    }

    /// Under one nonce, records show the blocks that they have in common at their beginning: the
    /// first that differs, all behind it, and an end that differs, have nothing in common.
    #[test]
    fn records_under_one_nonce_show_equal_beginnings_alone() {
        let key = key("aria-256");
        let enciphered = |text: &[u8]| {
            let mut data = text.to_vec();
            crypt(&key, true, &mut data, &[]);
            data
        };
        let sum = |one: &[u8], other: &[u8]| -> Vec<u8> {
            one.iter().zip(other).map(|(one, other)| one ^ other).collect()
        };
        for length in [5, 8, 15, 16, 31, 47, 80] {
            for at in 0..length {
                let (one, mut other) = (vec![0x5a; length], vec![0x5a; length]);
                other[at] ^= 1;
                let (first, second) = (enciphered(&one), enciphered(&other));
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

    #[test]
    fn a_record_ends_with_a_piece_that_is_no_whole_blocks() {
        let key = key("lea-128");
        let mut chain = key.begin(&[1; BLOCK_BYTES]).unwrap();
        chain.encrypt(&key, &mut [1; 32]).unwrap();
        chain.encrypt(&key, &mut [2; 5]).unwrap();
        chain.encrypt(&key, &mut []).unwrap();
        assert!(matches!(chain.encrypt(&key, &mut [3; 16]), Err(RecordError::Pieces)));
        assert!(matches!(chain.decrypt(&key, &mut [3; 1]), Err(RecordError::Pieces)));
    }
}
