//! Modes of operation, over whatever block cipher and backend was chosen when the key was set.

pub(crate) mod ctr;
pub(crate) mod ctr_mac;
pub(crate) mod gcm;
pub(crate) mod ghash;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64", not(miri)))]
mod left_in_memory;
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod left_on_stack;

use crate::ctr::Ctr;
pub(crate) use ctr::counter_mode;

/// A keyed 128-bit block cipher as GCM needs it: many counter blocks at a time. Counter mode of it is [`Ctr`], by
/// [`counter_mode`], so that it takes no object of its own.
pub(crate) trait Counter128: Ctr {
    /// Encrypts one 16-byte block in place.
    fn encrypt_block(&self, block: &mut [u8; 16]);

    /// XORs `data` (any length) with the key stream that starts at `counter`; between blocks the last 32 bits count
    /// up big-endian and wrap (SP 800-38D, 6.2, inc32).
    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]);
}

/// A keyed 64-bit block cipher as counter mode needs it.
pub(crate) trait Counter64: Ctr {
    /// XORs `data` (any length) with the key stream whose first block encrypts `counter`, big-endian; between blocks
    /// all 64 bits count up and wrap.
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]);
}

#[cfg(test)]
mod tests {
    use crate::backend::Backend;
    use crate::block::SetKey;
    use crate::registry::ciphers;
    use crate::testing::bytes;

    /// Around the wrap of GCM's 32-bit counter the upper 96 bits must stay. No message that the AEAD takes gets there,
    /// so the key stream is looked at itself.
    #[test]
    fn keystream_wraps_in_32_bits() {
        for cipher in ciphers() {
            let SetKey::Block128 { counter: set_key, .. } = cipher.set_key else { continue };
            for backend in Backend::available() {
                let keyed = set_key(&bytes("wrap key", cipher.key_bytes), backend).unwrap();
                for (low, blocks) in [(u32::MAX, 3), (u32::MAX - 1, 17), (u32::MAX - 30, 100), (u32::MAX - 255, 300)] {
                    let mut counter: [u8; 16] = bytes("wrap counter", 16).try_into().unwrap();
                    counter[12..].copy_from_slice(&low.to_be_bytes());
                    let mut stream = vec![0; 16 * blocks - 5];
                    keyed.xor_keystream32(&counter, &mut stream);
                    for (i, found) in stream.chunks(16).enumerate() {
                        let mut expected = counter;
                        expected[12..].copy_from_slice(&low.wrapping_add(i as u32).to_be_bytes());
                        keyed.encrypt_block(&mut expected);
                        let what = format!("{} on {}, block {i} from {low:#x}", cipher.name, backend.name());
                        assert_eq!(found, &expected[..found.len()], "{what}");
                    }
                }
            }
        }
    }
}
