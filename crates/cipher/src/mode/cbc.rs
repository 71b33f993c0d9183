//! Cipher block chaining (SP 800-38A, 6.2), and its padding. Not here: its guarantees, and how a
//! key is set ([`crate::cbc`]).

use std::fmt;

use zeroize::Zeroize;

use super::blocks::{Blocks, xor};
use crate::declassify::revealed;
use crate::error::Error;
use crate::memory::Protected;

/// Bytes decrypted at a time: several passes of the widest backend, and small enough for the stack.
const BATCH_BYTES: usize = 8192;
/// Messages encrypted side by side: as many as the widest bitsliced backend has room for.
const MESSAGES: usize = 512;

/// One of several messages that are encrypted side by side.
#[derive(Debug)]
pub struct Message<'a> {
    /// The initialisation vector, one block.
    pub iv: &'a [u8],
    /// Whole blocks, encrypted in place.
    pub data: &'a mut [u8],
}

/// CBC in a module with its key set, which serves many threads at once. Its key is zeroed on drop.
pub trait KeyedCbc: Send + Sync {
    /// Encrypts `data` (whole blocks, any number) in place, from `iv` (one block) on.
    ///
    /// # Errors
    /// `Error::Module`; `data` is of no use then.
    fn encrypt(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error>;

    /// Decrypts `data` (whole blocks, any number) in place, from `iv` (one block) on.
    ///
    /// # Errors
    /// `Error::Module`; `data` is of no use then.
    fn decrypt(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error>;
}

/// CBC keyed with one cipher. One object serves many threads at once; its key is zeroed on drop.
///
/// Each block waits for the one before it when encrypting, so encryption takes one block at a time
/// on every backend, except for several messages at once ([`Cbc::encrypt_many`]); decryption takes
/// many. With `3des`, and on `portable` with every cipher whose S-boxes are circuits there (AES,
/// ARIA, SEED), a pass costs the same for one block as for many, so encryption is slow.
///
/// The caller owns the iv: nobody may be able to predict it, and no two messages under one key may
/// share it (SP 800-38A, appendix C).
pub struct Cbc(Computed);

/// Implementation that computes: that of this crate, or a module.
enum Computed {
    /// This crate.
    Own(Protected<dyn Blocks>),
    /// A module of somebody else.
    Module { name: &'static str, block_bytes: usize, keyed: Box<dyn KeyedCbc> },
}

impl Cbc {
    pub(crate) fn new(blocks: Protected<dyn Blocks>) -> Self {
        Self(Computed::Own(blocks))
    }

    /// Takes what the module called `name` set, of a cipher with blocks of `block_bytes` bytes.
    pub(crate) fn in_module(
        name: &'static str,
        block_bytes: usize,
        keyed: Box<dyn KeyedCbc>,
    ) -> Self {
        Self(Computed::Module { name, block_bytes, keyed })
    }

    /// Returns the block length in bytes, and so the length of the iv: 8 or 16.
    pub fn block_bytes(&self) -> usize {
        match &self.0 {
            Computed::Own(blocks) => blocks.block_bytes(),
            Computed::Module { block_bytes, .. } => *block_bytes,
        }
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`, or of the
    /// module that computes.
    pub fn backend(&self) -> &'static str {
        match &self.0 {
            Computed::Own(blocks) => blocks.backend(),
            Computed::Module { name, .. } => name,
        }
    }

    /// Encrypts `data` (whole blocks, see [`pad`]) in place, from the initialisation vector `iv`
    /// (one block) on.
    ///
    /// # Errors
    /// `Error::NonceLength` where `iv` is not one block long, `Error::PartialBlock` where `data` is
    /// no whole number of blocks; `data` is untouched. `Error::Module`; it is zeros then.
    pub fn encrypt(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.check(iv, data)?;
        let blocks = match &self.0 {
            Computed::Own(blocks) => blocks,
            Computed::Module { keyed, .. } => {
                return keyed.encrypt(iv, data).inspect_err(|_| data.fill(0));
            }
        };
        blocks.encrypt_chain(iv, data)
    }

    /// Encrypts each of `messages` as [`Cbc::encrypt`] does, side by side: the first blocks of all,
    /// then the second blocks. Their lengths may differ; equal lengths are quickest.
    ///
    /// # Errors
    /// As [`Cbc::encrypt`], of the first message that is wrong; all messages are untouched, unless
    /// a module failed.
    pub fn encrypt_many(&self, messages: &mut [Message<'_>]) -> Result<(), Error> {
        for message in &*messages {
            self.check(message.iv, message.data)?;
        }
        match &self.0 {
            Computed::Own(blocks) if blocks.block_bytes() == 8 => {
                encrypt_side_by_side::<8>(&**blocks, messages)
            }
            Computed::Own(blocks) => encrypt_side_by_side::<16>(&**blocks, messages),
            Computed::Module { .. } => {
                messages.iter_mut().try_for_each(|message| self.encrypt(message.iv, message.data))
            }
        }
    }

    /// Decrypts `data` (whole blocks) in place, from the initialisation vector `iv` (one block) on.
    ///
    /// # Errors
    /// `Error::NonceLength` where `iv` is not one block long, `Error::PartialBlock` where `data` is
    /// no whole number of blocks; `data` is untouched. `Error::Module`; it is zeros then.
    pub fn decrypt(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.check(iv, data)?;
        let blocks = match &self.0 {
            Computed::Own(blocks) => blocks,
            Computed::Module { keyed, .. } => {
                return keyed.decrypt(iv, data).inspect_err(|_| data.fill(0));
            }
        };
        let block_bytes = self.block_bytes();
        // The last block of ciphertext before the batch, then the batch itself: public, both of
        // them.
        let mut ciphertext = [0; 16 + BATCH_BYTES];
        ciphertext[..block_bytes].copy_from_slice(iv);
        for batch in data.chunks_mut(BATCH_BYTES) {
            ciphertext[block_bytes..block_bytes + batch.len()].copy_from_slice(batch);
            blocks.decrypt(batch)?;
            xor(batch, &ciphertext);
            ciphertext.copy_within(batch.len()..batch.len() + block_bytes, 0);
        }
        Ok(())
    }

    /// Decrypts each of `messages` as [`Cbc::decrypt`] does, so that blocks of several go through
    /// the cipher together: for short messages, and ciphers whose passes take many blocks (`3des`).
    ///
    /// # Errors
    /// As [`Cbc::decrypt`], of the first message that is wrong; all messages are untouched, unless
    /// a module failed.
    pub fn decrypt_many(&self, messages: &mut [Message<'_>]) -> Result<(), Error> {
        for message in &*messages {
            self.check(message.iv, message.data)?;
        }
        let blocks = match &self.0 {
            Computed::Own(blocks) => blocks,
            Computed::Module { .. } => {
                return messages
                    .iter_mut()
                    .try_for_each(|message| self.decrypt(message.iv, message.data));
            }
        };
        let block_bytes = self.block_bytes();
        let mut batch = [0; BATCH_BYTES];
        // where the batch begins in which message, and the block of ciphertext before it where that
        // is no iv
        let (mut message, mut start, mut before) = (0, 0, [0; 16]);
        while message < messages.len() {
            let filled = gather(&messages[message..], start, &mut batch);
            blocks.decrypt(&mut batch[..filled])?;
            let mut rest = &mut batch[..filled];
            while let Some(Message { iv, data }) = messages.get_mut(message) {
                let left = data.len() - start;
                let (plain, after) = rest.split_at_mut(left.min(rest.len()));
                rest = after;
                let piece = &mut data[start..start + plain.len()];
                if let Some(previous) = piece.len().checked_sub(block_bytes) {
                    let (first, others) = plain.split_at_mut(block_bytes);
                    xor(first, if start == 0 { iv } else { &before });
                    xor(others, &piece[..previous]);
                    before[..block_bytes].copy_from_slice(&piece[previous..]);
                    piece.copy_from_slice(plain);
                }
                if plain.len() < left {
                    start += plain.len();
                    break;
                }
                (message, start) = (message + 1, 0);
            }
        }
        batch.zeroize();
        Ok(())
    }

    fn check(&self, iv: &[u8], data: &[u8]) -> Result<(), Error> {
        let block_bytes = self.block_bytes();
        if iv.len() != block_bytes {
            return Err(Error::NonceLength { found: iv.len(), want: block_bytes });
        }
        if !data.len().is_multiple_of(block_bytes) {
            return Err(Error::PartialBlock { found: data.len(), block_bytes });
        }
        Ok(())
    }
}

impl fmt::Debug for Cbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cbc").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

/// Implements [`Cbc::encrypt_many`] with blocks of `N` bytes.
fn encrypt_side_by_side<const N: usize>(
    blocks: &dyn Blocks,
    messages: &mut [Message<'_>],
) -> Result<(), Error> {
    // the block that each message's next block is chained to, the longest message first:
    // ciphertext, and so public
    let mut chained = [[0; N]; MESSAGES];
    for messages in messages.chunks_mut(MESSAGES) {
        messages.sort_unstable_by_key(|message| std::cmp::Reverse(message.data.len()));
        for (chained, message) in chained.iter_mut().zip(&*messages) {
            chained.copy_from_slice(message.iv);
        }
        let mut left = messages.len();
        for at in 0.. {
            while left > 0 && messages[left - 1].data.len() <= at * N {
                left -= 1;
            }
            if left == 0 {
                break;
            }
            let chained = &mut chained[..left];
            for (chained, message) in chained.iter_mut().zip(&*messages) {
                xor(chained, &message.data.as_chunks::<N>().0[at]);
            }
            blocks.encrypt(chained.as_flattened_mut())?;
            for (chained, message) in chained.iter().zip(&mut *messages) {
                message.data.as_chunks_mut::<N>().0[at] = *chained;
            }
        }
    }
    Ok(())
}

/// Copies ciphertext of `messages`, of the first from `start` on, until `batch` is full. Returns
/// how many bytes.
fn gather(messages: &[Message<'_>], start: usize, batch: &mut [u8; BATCH_BYTES]) -> usize {
    let (mut start, mut filled) = (start, 0);
    for message in messages {
        let place = &mut batch[filled..];
        let rest = &message.data[start..];
        let bytes = rest.len().min(place.len());
        place[..bytes].copy_from_slice(&rest[..bytes]);
        (start, filled) = (0, filled + bytes);
        if filled == batch.len() {
            break;
        }
    }
    filled
}

/// Appends 1 to `block_bytes` bytes (1 to 255), each holding their count, so that `data` is whole
/// blocks.
///
/// Source: PKCS #7 (RFC 5652, 6.3).
///
/// # Panics
/// If `block_bytes` is 0 or more than 255.
pub fn pad(data: &mut Vec<u8>, block_bytes: usize) {
    assert!((1..=255).contains(&block_bytes), "padding to blocks of {block_bytes} bytes");
    let count = block_bytes - data.len() % block_bytes;
    data.resize(data.len() + count, count as u8);
}

/// Removes what [`pad`] appended. The time it takes depends on the length of `data` alone.
///
/// # Errors
/// `Error::Padding` whatever is wrong; `data` is then empty and its memory zeroed. An answer to
/// others that differs by this outcome, in words or in time, gives them the plaintext.
///
/// # Panics
/// If `block_bytes` is 0 or more than 255.
pub fn unpad(data: &mut Vec<u8>, block_bytes: usize) -> Result<(), Error> {
    assert!((1..=255).contains(&block_bytes), "padding to blocks of {block_bytes} bytes");
    let count = match data.last() {
        Some(last) if data.len().is_multiple_of(block_bytes) => *last,
        _ => {
            data.zeroize();
            return Err(Error::Padding);
        }
    };
    // 0 or 1 in plain arithmetic. The crate `subtle` has such comparisons too; in debug builds it
    // asserts their results, and that is a branch. The optimiser must not see that they are 0 or 1,
    // or it makes branches of them, too.
    let is_less =
        |a: u8, b: u8| std::hint::black_box((u32::from(a).wrapping_sub(u32::from(b)) >> 31) as u8);
    let differ = |a: u8, b: u8| std::hint::black_box((u32::from(a ^ b).wrapping_neg() >> 31) as u8);
    let mut wrong = is_less(count, 1) | is_less(block_bytes as u8, count);
    for (byte, i) in data.iter().rev().take(block_bytes).zip(0_u8..) {
        wrong |= is_less(i, count) & differ(*byte, count);
    }
    if revealed(wrong) == 0 {
        data.truncate(data.len() - usize::from(revealed(count)));
        Ok(())
    } else {
        data.zeroize();
        Err(Error::Padding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::cbc::cbc;
    use crate::registry;
    use crate::testing::bytes;

    #[test]
    fn messages_side_by_side_are_encrypted_and_decrypted_as_one_by_one() {
        for cipher in registry::ciphers() {
            let key = bytes("cbc key", cipher.key_bytes);
            for backend in Backend::available() {
                let cbc = cbc(cipher, &key, backend).unwrap();
                let block_bytes = cbc.block_bytes();
                // more than are taken at once, of lengths from nothing to a packet
                for count in [0, 1, 2, 17, MESSAGES + 3] {
                    let blocks = |message: usize| {
                        if count > 20 { message % 4 } else { (message * 137) % 1195 }
                    };
                    let mut one_by_one: Vec<(Vec<u8>, Vec<u8>)> = (0..count)
                        .map(|message| {
                            let iv = bytes(&format!("iv {message}"), block_bytes);
                            (iv, bytes(&format!("data {message}"), blocks(message) * block_bytes))
                        })
                        .collect();
                    let mut many = one_by_one.clone();
                    for (iv, data) in &mut one_by_one {
                        cbc.encrypt(iv, data).unwrap();
                    }
                    let mut messages: Vec<Message<'_>> =
                        many.iter_mut().map(|(iv, data)| Message { iv, data }).collect();
                    cbc.encrypt_many(&mut messages).unwrap();
                    assert!(
                        many == one_by_one,
                        "{} on {}, {count} messages",
                        cipher.name,
                        backend.name()
                    );
                    for (iv, data) in &mut one_by_one {
                        cbc.decrypt(iv, data).unwrap();
                    }
                    let mut messages: Vec<Message<'_>> =
                        many.iter_mut().map(|(iv, data)| Message { iv, data }).collect();
                    cbc.decrypt_many(&mut messages).unwrap();
                    assert!(
                        many == one_by_one,
                        "{} on {}, {count} messages back",
                        cipher.name,
                        backend.name()
                    );
                }
            }
        }
    }

    #[test]
    fn one_wrong_message_leaves_all_untouched() {
        let cbc = cbc(registry::cipher("aes-128").unwrap(), &[7; 16], Backend::auto()).unwrap();
        for (iv_bytes, bytes, error) in [
            (15, 16, Error::NonceLength { found: 15, want: 16 }),
            (16, 17, Error::PartialBlock { found: 17, block_bytes: 16 }),
        ] {
            let (mut right, mut wrong) = ([1; 32], vec![2; bytes]);
            let mut messages = [
                Message { iv: &[0; 16], data: &mut right },
                Message { iv: &vec![0; iv_bytes], data: &mut wrong },
            ];
            assert_eq!(cbc.encrypt_many(&mut messages), Err(error));
            assert_eq!(cbc.decrypt_many(&mut messages), Err(error));
            assert!(right == [1; 32] && wrong.iter().all(|byte| *byte == 2));
        }
    }

    #[test]
    fn padding_comes_off_again() {
        for block_bytes in [1, 8, 16, 255] {
            for length in 0..600 {
                let text = bytes("padded", length);
                let mut data = text.clone();
                pad(&mut data, block_bytes);
                assert!(data.len() > length && data.len() <= length + block_bytes);
                assert!(data.len().is_multiple_of(block_bytes));
                assert_eq!(unpad(&mut data, block_bytes), Ok(()));
                assert_eq!(data, text);
            }
        }
    }

    /// Every last byte, on every block that is right except in one place.
    #[test]
    fn wrong_padding_is_one_error() {
        let refused = |data: &[u8], block_bytes: usize| {
            let mut data = data.to_vec();
            assert_eq!(unpad(&mut data, block_bytes), Err(Error::Padding), "{data:?}");
            assert!(data.is_empty());
        };
        for block_bytes in [8, 16] {
            refused(&[], block_bytes);
            refused(&vec![1; block_bytes + 1], block_bytes);
            refused(&vec![1; block_bytes - 1], block_bytes);
            for last in 0..=255 {
                let good = usize::from(last);
                let data = vec![last; 2 * block_bytes];
                if (1..=block_bytes).contains(&good) {
                    for wrong in 1..good {
                        let mut data = data.clone();
                        data[2 * block_bytes - 1 - wrong] ^= 0x40;
                        refused(&data, block_bytes);
                    }
                } else {
                    refused(&data, block_bytes);
                }
            }
        }
    }
}
