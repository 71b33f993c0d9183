//! Our ciphers produce what other libraries produce: counter mode and GCM, on every backend, over many keys and
//! lengths.

use sealstone_cipher::aead::aead;
use sealstone_cipher::backend::Backend;
use sealstone_cipher::ctr::ctr;
use sealstone_cipher::registry::{Mode, ciphers};
use sealstone_cipher::testing::bytes;
use sealstone_rivals::libraries;

const LENGTHS: [usize; 14] = [0, 1, 7, 8, 15, 16, 17, 255, 256, 1000, 1025, 2049, 4097, 9001];

#[test]
fn counter_mode_equals_that_of_other_libraries() {
    let mut compared = Vec::new();
    for library in libraries() {
        for cipher in ciphers() {
            for seed in 0..8 {
                let key = bytes(&format!("rival key {seed}"), cipher.key_bytes);
                let Some(mut rival) = (library.ctr)(cipher.name, &key) else { continue };
                let mut counter = bytes(&format!("rival counter {seed}"), cipher.block_bytes);
                if seed % 2 == 0 {
                    // close to a carry far beyond the last byte, but not out of 64 bits, in which crate `lea` counts
                    let seven = cipher.block_bytes - 7;
                    counter[seven..].fill(0xff);
                }
                for length in LENGTHS {
                    let plain = bytes("rival data", length);
                    let mut wanted = plain.clone();
                    rival.ctr(&counter, &mut wanted);
                    for backend in Backend::available() {
                        let mut found = plain.clone();
                        ctr(cipher, &key, backend).unwrap().apply(&counter, 0, &mut found).unwrap();
                        let place = format!("{} on {}, {length} bytes", cipher.name, backend.name());
                        assert!(found == wanted, "{place}: {} says otherwise", library.name);
                    }
                }
                compared.push(cipher.name);
            }
        }
    }
    for name in ["aes-128", "aes-256", "aria-128", "aria-256", "seed-128", "lea-128", "lea-192", "lea-256", "3des"] {
        assert!(compared.contains(&name), "no library here has {name}: is OpenSSL's legacy provider missing?");
    }
}

#[test]
fn gcm_equals_that_of_other_libraries() {
    let mut compared = Vec::new();
    for library in libraries() {
        for cipher in ciphers().iter().filter(|cipher| cipher.mode == Mode::Gcm) {
            for seed in 0..8 {
                let key = bytes(&format!("rival key {seed}"), cipher.key_bytes);
                let Some(mut rival) = (library.gcm)(cipher.name, &key) else { continue };
                let nonce: [u8; 12] = bytes(&format!("rival nonce {seed}"), 12).try_into().unwrap();
                for length in LENGTHS {
                    let plain = bytes("rival data", length);
                    let mut wanted = plain.clone();
                    let wanted_tag = rival.seal(&nonce, &mut wanted);
                    for backend in Backend::available() {
                        let mut found = plain.clone();
                        let tag = aead(cipher, &key, backend).unwrap().seal(&nonce, &[], &mut found).unwrap();
                        let place = format!("{} on {}, {length} bytes", cipher.name, backend.name());
                        assert!(found == wanted && tag == wanted_tag, "{place}: {} says otherwise", library.name);
                    }
                }
                compared.push(cipher.name);
            }
        }
    }
    for name in ["aes-128", "aes-256", "aria-128", "aria-256"] {
        assert!(compared.contains(&name), "no library here has {name} in GCM");
    }
}
