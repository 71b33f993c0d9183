//! Counter blocks of GCM (SP 800-38D, 7.1): the nonce, then 32 bits that count, from 1 on.
//!
//! Not here: counter mode by itself (`ctr`).

use crate::error::Error;
use crate::limits::Limits;

/// Returns the first counter block: it masks the tag, data starts with the next one (SP 800-38D,
/// 7.1).
///
/// # Errors
/// `Error::NonceLength`, `Error::MessageTooLong`.
pub(crate) fn first_counter(limits: &Limits, nonce: &[u8], data: &[u8]) -> Result<[u8; 16], Error> {
    checked_nonce(limits, nonce, data).map(first_counter_of)
}

/// Returns `nonce` if it and the length of `data` are what a message under GCM has.
///
/// # Errors
/// As [`first_counter`].
#[inline]
pub(crate) fn checked_nonce<'a>(
    limits: &Limits,
    nonce: &'a [u8],
    data: &[u8],
) -> Result<&'a [u8; 12], Error> {
    let (found, limit) = (data.len() as u64, limits.message_bytes);
    if found > limit {
        return Err(Error::MessageTooLong { found, limit });
    }
    nonce.try_into().map_err(|_| Error::NonceLength { found: nonce.len(), want: 12 })
}

/// Returns the counter block that block `block` of the data, from 0, is encrypted with; `first` is
/// from [`first_counter`]. No message is long enough to wrap.
pub(crate) fn data_counter(first: &[u8; 16], block: usize) -> [u8; 16] {
    let mut counter = *first;
    let low: &mut [u8; 4] = counter.last_chunk_mut().expect("four of sixteen bytes");
    *low = (2 + block as u32).to_be_bytes();
    counter
}

/// Returns the first counter block of the message with `nonce`.
///
/// Kernels call it themselves, and it puts halves together in registers: a block that was written
/// in parts, and is then read as a vector, is there only once all stores before it are done, those
/// of the message before among them.
#[inline(always)]
pub(crate) fn first_counter_of(nonce: &[u8; 12]) -> [u8; 16] {
    let (low, high) = nonce.split_at(8);
    let low = u64::from_le_bytes(low.try_into().expect("eight of twelve bytes"));
    let high = u32::from_le_bytes(high.try_into().expect("four of twelve bytes"));
    // the last byte is 1
    (1 << 120 | u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}
