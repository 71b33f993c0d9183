//! Counter mode (SP 800-38A, 6.5) over any block cipher that makes key streams: its definition, its
//! requirements on the cipher, and its construction. Cipher and backend were chosen when the key
//! was set.

use std::fmt;

use zeroize::Zeroize;

use crate::error::Error;

/// Counter mode keyed with one cipher. One object serves many threads at once; its key is zeroed on
/// drop.
///
/// Between blocks the whole initial block counts up, big-endian, and wraps: 128 bits for 16-byte
/// blocks, 64 for 8-byte blocks. The caller owns uniqueness: under one key no counter block may
/// encrypt two things.
pub trait Ctr: Send + Sync {
    /// Returns the block length in bytes, and so the length of the initial counter block: 8 or 16.
    fn block_bytes(&self) -> usize;

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    fn backend(&self) -> &'static str;

    /// XORs `data` (any length, in place) with the key stream, from byte `offset_bytes` of that
    /// stream on. Encrypts and decrypts alike; pieces of a message, each at its own offset and in
    /// any order, give the same result as one call.
    ///
    /// # Errors
    /// `Error::NonceLength` where `initial_counter_block` is not one block long; `data` is
    /// untouched.
    fn apply(
        &self,
        initial_counter_block: &[u8],
        offset_bytes: u64,
        data: &mut [u8],
    ) -> Result<(), Error>;
}

impl fmt::Debug for dyn Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

/// A keyed 128-bit block cipher as GCM needs it: many counter blocks at a time. Counter mode of it
/// is [`Ctr`], by [`counter_mode`], so that it takes no object of its own.
pub(crate) trait Counter128: Ctr {
    /// Encrypts one 16-byte block in place.
    fn encrypt_block(&self, block: &mut [u8; 16]);

    /// Encrypts each of `blocks` in place: counters of several messages, or others that do not
    /// follow each other.
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]);

    /// XORs `data` (any length) with the key stream that starts at `counter`; between blocks the
    /// last 32 bits count up big-endian and wrap (SP 800-38D, 6.2, inc32).
    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]);
}

/// A keyed 64-bit block cipher as counter mode needs it.
pub(crate) trait Counter64: Ctr {
    /// XORs `data` (any length) with the key stream whose first block encrypts `counter`,
    /// big-endian; between blocks all 64 bits count up and wrap.
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]);
}

/// Implements [`Ctr`] for a type that is a `Counter128` or `Counter64`: block bits, generic
/// parameters and type, name of the backend.
macro_rules! counter_mode {
    ($bits:tt, [$($generics:tt)*] $type:ty, |$cipher:ident| $backend:expr) => {
        impl<$($generics)*> $crate::mode::ctr::Ctr for $type {
            fn block_bytes(&self) -> usize {
                $bits / 8
            }

            fn backend(&self) -> &'static str {
                let $cipher = self;
                $backend
            }

            fn apply(
                &self,
                initial: &[u8],
                offset_bytes: u64,
                data: &mut [u8],
            ) -> Result<(), $crate::error::Error> {
                counter_mode!(@$bits self, initial, offset_bytes, data)
            }
        }
    };
    (@128 $($arguments:expr),*) => { $crate::mode::ctr::apply128($($arguments),*) };
    (@64 $($arguments:expr),*) => { $crate::mode::ctr::apply64($($arguments),*) };
}
pub(crate) use counter_mode;

/// Implements [`Ctr::apply`](crate::ctr::Ctr::apply) over 16-byte blocks.
pub(crate) fn apply128(
    cipher: &impl Counter128,
    initial_counter_block: &[u8],
    offset_bytes: u64,
    data: &mut [u8],
) -> Result<(), Error> {
    let found = initial_counter_block.len();
    let initial: &[u8; 16] =
        initial_counter_block.try_into().map_err(|_| Error::NonceLength { found, want: 16 })?;
    // Most calls need no arithmetic. The caller's own block, not a copy: one that was just written
    // in two halves is read as a vector only once all stores before it are done, those of the
    // message before among them.
    if offset_bytes == 0 && data.len() as u64 <= bytes_until_carry(initial) {
        cipher.xor_keystream32(initial, data);
        return Ok(());
    }
    let mut counter = u128::from_be_bytes(*initial).wrapping_add(u128::from(offset_bytes / 16));
    let (head, mut rest) = split_head(data, (offset_bytes % 16) as usize, 16);
    if !head.is_empty() {
        let mut block = counter.to_be_bytes();
        cipher.encrypt_block(&mut block);
        xor_tail(head, &block, (offset_bytes % 16) as usize);
        block.zeroize();
        counter = counter.wrapping_add(1);
    }
    // The cipher counts in the last 32 bits alone, so a carry beyond them starts a new run.
    while !rest.is_empty() {
        let block = counter.to_be_bytes();
        let run = bytes_until_carry(&block);
        let (run, after) =
            rest.split_at_mut(rest.len().min(usize::try_from(run).unwrap_or(usize::MAX)));
        cipher.xor_keystream32(&block, run);
        counter = counter.wrapping_add(run.len().div_ceil(16) as u128);
        rest = after;
    }
    Ok(())
}

/// Implements [`Ctr::apply`](crate::ctr::Ctr::apply) over 8-byte blocks.
pub(crate) fn apply64(
    cipher: &impl Counter64,
    initial_counter_block: &[u8],
    offset_bytes: u64,
    data: &mut [u8],
) -> Result<(), Error> {
    let found = initial_counter_block.len();
    let initial: [u8; 8] =
        initial_counter_block.try_into().map_err(|_| Error::NonceLength { found, want: 8 })?;
    let mut counter = u64::from_be_bytes(initial).wrapping_add(offset_bytes / 8);
    let (head, rest) = split_head(data, (offset_bytes % 8) as usize, 8);
    if !head.is_empty() {
        let mut stream = [0; 8];
        cipher.xor_keystream64(counter, &mut stream);
        xor_tail(head, &stream, (offset_bytes % 8) as usize);
        stream.zeroize();
        counter = counter.wrapping_add(1);
    }
    cipher.xor_keystream64(counter, rest);
    Ok(())
}

/// Returns the length of the key stream from `counter` on until its last 32 bits are all used, in
/// bytes.
fn bytes_until_carry(counter: &[u8; 16]) -> u64 {
    let low: &[u8; 4] = counter.last_chunk().expect("four of sixteen bytes");
    ((1 << 32) - u64::from(u32::from_be_bytes(*low))) * 16
}

/// Cuts off the bytes of `data` that complete a block of which `skip` bytes were used before.
fn split_head(data: &mut [u8], skip: usize, block_bytes: usize) -> (&mut [u8], &mut [u8]) {
    let head_bytes = if skip == 0 { 0 } else { (block_bytes - skip).min(data.len()) };
    data.split_at_mut(head_bytes)
}

fn xor_tail(data: &mut [u8], block: &[u8], skip: usize) {
    for (byte, key) in data.iter_mut().zip(&block[skip..]) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::Backend;
    use crate::mode::SetKey;
    use crate::registry::ciphers;
    use crate::testing::bytes;

    /// Around the wrap of GCM's 32-bit counter the upper 96 bits must stay. No message that the
    /// AEAD takes gets there, so the key stream itself is checked.
    #[test]
    fn keystream_wraps_in_32_bits() {
        for cipher in ciphers() {
            let SetKey::Block128 { counter: set_key, .. } = cipher.set_key else { continue };
            for backend in Backend::available() {
                let keyed = set_key(&bytes("wrap key", cipher.key_bytes), backend).unwrap();
                for (low, blocks) in
                    [(u32::MAX, 3), (u32::MAX - 1, 17), (u32::MAX - 30, 100), (u32::MAX - 255, 300)]
                {
                    let mut counter: [u8; 16] = bytes("wrap counter", 16).try_into().unwrap();
                    counter[12..].copy_from_slice(&low.to_be_bytes());
                    let mut stream = vec![0; 16 * blocks - 5];
                    keyed.xor_keystream32(&counter, &mut stream);
                    for (i, found) in stream.chunks(16).enumerate() {
                        let mut expected = counter;
                        expected[12..].copy_from_slice(&low.wrapping_add(i as u32).to_be_bytes());
                        keyed.encrypt_block(&mut expected);
                        let what = format!(
                            "{} on {}, block {i} from {low:#x}",
                            cipher.name,
                            backend.name()
                        );
                        assert_eq!(found, &expected[..found.len()], "{what}");
                    }
                }
            }
        }
    }
}
