//! Counter mode (SP 800-38A, 6.5) over any block cipher that makes key streams. Which cipher and backend stand
//! behind it was decided when the key was set.

use zeroize::Zeroize;

use super::{Counter64, Counter128};
use crate::error::Error;

/// Implements [`Ctr`](crate::ctr::Ctr) for a type that is a `Counter128` or `Counter64`: block bits, generic parameters
/// and type, name of the backend.
macro_rules! counter_mode {
    ($bits:tt, [$($generics:tt)*] $type:ty, |$cipher:ident| $backend:expr) => {
        impl<$($generics)*> $crate::ctr::Ctr for $type {
            fn block_bytes(&self) -> usize {
                $bits / 8
            }

            fn backend(&self) -> &'static str {
                let $cipher = self;
                $backend
            }

            fn apply(&self, initial: &[u8], offset_bytes: u64, data: &mut [u8]) -> Result<(), $crate::aead::Error> {
                counter_mode!(@$bits self, initial, offset_bytes, data)
            }
        }
    };
    (@128 $($arguments:expr),*) => { $crate::mode::ctr::apply128($($arguments),*) };
    (@64 $($arguments:expr),*) => { $crate::mode::ctr::apply64($($arguments),*) };
}
pub(crate) use counter_mode;

/// [`Ctr::apply`](crate::ctr::Ctr::apply) over 16-byte blocks.
pub(crate) fn apply128(
    cipher: &impl Counter128,
    initial_counter_block: &[u8],
    offset_bytes: u64,
    data: &mut [u8],
) -> Result<(), Error> {
    let found = initial_counter_block.len();
    let initial: [u8; 16] = initial_counter_block.try_into().map_err(|_| Error::NonceLength { found, want: 16 })?;
    // Most calls need no arithmetic, and short ones would wait for the counter block to be written and read again.
    if offset_bytes == 0 && data.len() as u64 <= bytes_until_carry(&initial) {
        cipher.xor_keystream32(&initial, data);
        return Ok(());
    }
    let mut counter = u128::from_be_bytes(initial).wrapping_add(u128::from(offset_bytes / 16));
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
        let (run, after) = rest.split_at_mut(rest.len().min(usize::try_from(run).unwrap_or(usize::MAX)));
        cipher.xor_keystream32(&block, run);
        counter = counter.wrapping_add(run.len().div_ceil(16) as u128);
        rest = after;
    }
    Ok(())
}

/// [`Ctr::apply`](crate::ctr::Ctr::apply) over 8-byte blocks.
pub(crate) fn apply64(
    cipher: &impl Counter64,
    initial_counter_block: &[u8],
    offset_bytes: u64,
    data: &mut [u8],
) -> Result<(), Error> {
    let found = initial_counter_block.len();
    let initial: [u8; 8] = initial_counter_block.try_into().map_err(|_| Error::NonceLength { found, want: 8 })?;
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

/// Length of the key stream from `counter` on until its last 32 bits are all used, in bytes.
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
