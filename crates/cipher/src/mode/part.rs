//! Decryption of a stretch of a message, from one buffer into another, by a mode whose key stream
//! can be entered at any block.
//!
//! Not here: the check of the message's tag, which comes first (`gcm`, `ctr_mac` and the fused
//! versions of GCM).

use zeroize::optimization_barrier;

/// Bytes at the beginning of a stretch that are decrypted in a buffer of their own if it begins
/// within a block: a multiple of every batch that a backend makes at once, since a few blocks alone
/// take as long as many.
const HEAD_BYTES: usize = 1024;

/// Beginning of a stretch, after bytes of key stream that belong before it. Zeroed on drop.
struct Head([u8; HEAD_BYTES]);

impl Drop for Head {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(&self.0);
    }
}

/// Panics unless `out_bytes` bytes from `skip` on are within a message of `message_bytes`.
#[inline]
pub(crate) fn check_stretch(message_bytes: usize, skip: usize, out_bytes: usize) {
    let end = skip.checked_add(out_bytes);
    assert!(
        end.is_some_and(|end| end <= message_bytes),
        "{out_bytes} bytes from {skip} on of a message of {message_bytes}"
    );
}

/// Decrypts the bytes of `sealed` from `skip` on into `out`, which is filled.
///
/// `xor` XORs data with the key stream that begins with a block of the message, counted from 0;
/// blocks have `BLOCK_BYTES`.
#[inline]
pub(crate) fn decrypt_stretch<const BLOCK_BYTES: usize>(
    sealed: &[u8],
    skip: usize,
    out: &mut [u8],
    xor: impl Fn(usize, &mut [u8]),
) {
    const { assert!(HEAD_BYTES.is_multiple_of(BLOCK_BYTES)) };
    if out.is_empty() {
        return;
    }
    out.copy_from_slice(&sealed[skip..][..out.len()]);
    let (block, before) = (skip / BLOCK_BYTES, skip % BLOCK_BYTES);
    if before == 0 {
        xor(block, out);
        return;
    }
    let mut head = Head([0; HEAD_BYTES]);
    let first_bytes = out.len().min(HEAD_BYTES - before);
    let (first, rest) = out.split_at_mut(first_bytes);
    let end = before + first.len();
    head.0[before..end].copy_from_slice(first);
    xor(block, &mut head.0[..end]);
    first.copy_from_slice(&head.0[before..end]);
    if !rest.is_empty() {
        xor(block + HEAD_BYTES / BLOCK_BYTES, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key stream in which every byte differs from its neighbours.
    fn xor(block: usize, data: &mut [u8]) {
        for (at, byte) in (8 * block..).zip(data) {
            *byte ^= (at % 251) as u8;
        }
    }

    #[test]
    fn every_stretch_is_that_of_the_message() {
        let sealed: Vec<u8> = (0..2500).map(|at| (at * 7 % 253) as u8).collect();
        let mut whole = sealed.clone();
        xor(0, &mut whole);
        for skip in [0, 1, 7, 8, 9, 1000, 1023, 1024, 1025, 2499, 2500] {
            for bytes in [0, 1, 7, 8, 1015, 1016, 1017, 1024, 1100, 2499, 2500] {
                if skip + bytes > sealed.len() {
                    continue;
                }
                let mut out = vec![0xaa; bytes];
                decrypt_stretch::<8>(&sealed, skip, &mut out, xor);
                assert_eq!(out, whole[skip..skip + bytes], "{bytes} from {skip}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "2 bytes from 18446744073709551615 on of a message of 8")]
    fn a_stretch_beyond_the_message_is_refused() {
        check_stretch(8, usize::MAX, 2);
    }
}
