//! XCTR (Crowley, Huckleberry, Biggers 2021, section 2.2): a counter mode whose block number, from
//! 1 on and little-endian, is XORed to the first block instead of added. Not here: ciphers that
//! make its blocks in registers (`BlockCipher::xor_xctr`).

use zeroize::optimization_barrier;

/// Blocks of key stream that are made at once: as many as the widest backend works on.
const STREAM_BLOCKS: usize = 128;

/// Most bytes of a message: its blocks are numbered by 32 bits.
pub(crate) const MESSAGE_BYTES_MAX: u64 = u32::MAX as u64 * 16;

/// A part of a key stream. Zeroed on drop.
struct Stream<const N: usize>([[u8; N]; STREAM_BLOCKS]);

impl<const N: usize> Drop for Stream<N> {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// XORs `data` with the key stream that `first` begins, by blocks in memory, which `encrypt`
/// encrypts in place.
pub(super) fn xor_by_blocks<const N: usize>(
    first: &[u8; N],
    data: &mut [u8],
    encrypt: impl Fn(&mut [[u8; N]]),
) {
    let mut stream = Stream([[0; N]; STREAM_BLOCKS]);
    let mut number = 1_u32;
    for piece in data.chunks_mut(N * STREAM_BLOCKS) {
        let stream = &mut stream.0[..piece.len().div_ceil(N)];
        for block in stream.iter_mut() {
            *block = *first;
            for (byte, number) in block.iter_mut().zip(number.to_le_bytes()) {
                *byte ^= number;
            }
            number = number.wrapping_add(1);
        }
        encrypt(stream);
        for (byte, key) in piece.iter_mut().zip(stream.as_flattened()) {
            *byte ^= key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::mode::SetKey;
    use crate::registry::ciphers;
    use crate::testing::bytes;

    /// Blocks whose numbers are made in registers are those that are made in memory, also where a
    /// number carries into its third byte, which no message of the suite reaches.
    #[test]
    fn numbers_carry() {
        let blocks = (1 << 16) + 300;
        let text = bytes("xctr text", 16 * blocks - 5);
        let first = *bytes("xctr first", 16).first_chunk().unwrap();
        for cipher in ciphers() {
            let SetKey::Block128 { block: set_key, .. } = cipher.set_key else { continue };
            for backend in Backend::available() {
                let keyed = set_key(&bytes("xctr key", cipher.key_bytes), backend).unwrap();
                let (mut found, mut wanted) = (text.clone(), text.clone());
                keyed.xor_xctr(&first, &mut found);
                xor_by_blocks(&first, &mut wanted, |blocks| keyed.encrypt_blocks(blocks));
                assert!(found == wanted, "{} on {}", cipher.name, backend.name());
            }
        }
    }
}
