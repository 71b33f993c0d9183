//! Messages, and their blocks as a hash function sees them.

use crate::arch::HASH_BLOCK_BYTES;

/// A message to be authenticated, in two parts: the bytes in a buffer, and the other bytes that its
/// tag covers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message<'a> {
    /// The first part, any length.
    pub data: &'a [u8],
    /// Data that follows it, of any length; ideally a few bytes.
    pub tail: &'a [u8],
}

/// Bytes that end the last block: the length in bits.
const LENGTH_BYTES: usize = 8;

impl<'a> Message<'a> {
    /// Returns the number of blocks that it ends in.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        (self.data.len() + self.tail.len() + LENGTH_BYTES) / HASH_BLOCK_BYTES + 1
    }

    /// Returns the blocks that are whole in the first part.
    #[inline(always)]
    pub(super) fn whole(&self) -> &'a [[u8; HASH_BLOCK_BYTES]] {
        self.data.as_chunks().0
    }

    /// Writes block `at`, which is not whole in the first part, of a message before which `before`
    /// bytes of whole blocks went in; `big_endian` is the length.
    ///
    /// Source: RFC 1321, 3.1 and 3.2; FIPS 180-4, 5.1.1.
    pub(super) fn write_end(
        &self,
        at: usize,
        before: usize,
        big_endian: bool,
        block: &mut [u8; HASH_BLOCK_BYTES],
    ) {
        let (start, length) = (at * HASH_BLOCK_BYTES, self.data.len() + self.tail.len());
        block.fill(0);
        let mut written = 0;
        if let Some(rest) = self.data.get(start..) {
            written = rest.len();
            block[..written].copy_from_slice(rest);
        }
        // where the next byte comes from
        let next = start + written;
        if let Some(rest) =
            next.checked_sub(self.data.len()).and_then(|skipped| self.tail.get(skipped..))
        {
            let bytes = rest.len().min(HASH_BLOCK_BYTES - written);
            block[written..written + bytes].copy_from_slice(&rest[..bytes]);
        }
        if let Some(bit) = length.checked_sub(start).and_then(|place| block.get_mut(place)) {
            *bit = 0x80;
        }
        if at + 1 == self.blocks() {
            let bits = 8 * (before as u64 + length as u64);
            let bits = if big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
            *block.last_chunk_mut().expect("a block is longer") = bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    #[test]
    fn blocks_are_the_padded_message() {
        let text = bytes("hashed", 400);
        for length in 0..260 {
            for cut in [0, 1, 63, 64, 65, 100, 128, length].into_iter().filter(|cut| *cut <= length)
            {
                let message = Message { data: &text[..cut], tail: &text[cut..length] };
                let mut want = [&text[..length], &[0x80]].concat();
                want.resize(want.len().next_multiple_of(64), 0);
                if want.len() < length + 9 {
                    want.resize(want.len() + 64, 0);
                }
                let end = want.len() - 8;
                want[end..].copy_from_slice(&(8 * (64 + length as u64)).to_be_bytes());
                let found: Vec<u8> = (0..message.blocks())
                    .flat_map(|at| {
                        message.whole().get(at).copied().unwrap_or_else(|| {
                            let mut block = [7; 64];
                            message.write_end(at, 64, true, &mut block);
                            block
                        })
                    })
                    .collect();
                assert_eq!(found, want, "{length} bytes cut at {cut}");
            }
        }
    }
}
