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
    let (found, limit) = (data.len() as u64, limits.message_bytes);
    if found > limit {
        return Err(Error::MessageTooLong { found, limit });
    }
    let nonce: &[u8; 12] =
        nonce.try_into().map_err(|_| Error::NonceLength { found: nonce.len(), want: 12 })?;
    Ok(first_counter_of(nonce))
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
pub(crate) fn first_counter_of(nonce: &[u8; 12]) -> [u8; 16] {
    let mut counter = [0; 16];
    counter[..12].copy_from_slice(nonce);
    counter[15] = 1;
    counter
}
