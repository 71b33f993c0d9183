//! Memory kept from one batch to the next, so that none is allocated for each.

use sealstone_cipher::cbc;
use sealstone_cipher::hmac::{self, TAG_BYTES_MAX};

/// The vectors of a batch, empty between batches.
#[derive(Default)]
pub(super) struct Spare {
    /// Messages that go through the cipher.
    pub(super) chained: Vec<cbc::Message<'static>>,
    /// Messages that go through the MAC.
    pub(super) covered: Vec<hmac::Message<'static>>,
    /// The tags that came.
    pub(super) came: Vec<&'static [u8]>,
    /// Set for each received tag that is right.
    pub(super) genuine: Vec<bool>,
    /// The tags that go.
    pub(super) tags: Vec<[u8; TAG_BYTES_MAX]>,
    /// Additional bytes that a MAC covers, one entry for each packet.
    pub(super) tails: Vec<[u8; 4]>,
    /// Whole sequence numbers, 0 for packets that have none.
    pub(super) numbers: Vec<u64>,
}

/// Returns an empty vector with the memory of `used`, for elements that borrow something else.
pub(super) fn emptied<T, U>(mut used: Vec<T>) -> Vec<U> {
    used.clear();
    used.into_iter().map(|_| -> U { unreachable!("it was emptied") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept() {
        let mut used: Vec<&[u8]> = Vec::with_capacity(100);
        used.push(&[1]);
        let (capacity, place) = (used.capacity(), used.as_ptr().addr());
        let mut again: Vec<&'static [u8]> = emptied(used);
        assert_eq!((again.len(), again.capacity(), again.as_ptr().addr()), (0, capacity, place));
        again.push(&[2]);
    }
}
