//! Our ciphers produce the same results as other libraries: counter mode and GCM, on every backend,
//! over many keys and lengths.

use aes::Aes256;
use fpe::ff1::{FF1, FlexibleNumeralString};
use openssl::cipher::Cipher as Fetched;
use openssl::cipher_ctx::CipherCtx;
use sealstone_cipher::cbc::cbc;
use sealstone_cipher::ff1::{Domain, Tweaks, ff1};
use sealstone_cipher::hmac::{Message, TAG_BYTES_MAX, hmac, macs};
use sealstone_cipher::testing::bytes;
use sealstone_cipher::{Backend, Mode, aead, cbc_cs1, cipher, ciphers, ctr};
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
                    // close to a carry far beyond the last byte, but not out of 64 bits, in which
                    // crate `lea` counts
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
                        let place =
                            format!("{} on {}, {length} bytes", cipher.name, backend.name());
                        assert!(found == wanted, "{place}: {} says otherwise", library.name);
                    }
                }
                compared.push(cipher.name);
            }
        }
    }
    for name in [
        "aes-128", "aes-256", "aria-128", "aria-256", "seed-128", "lea-128", "lea-192", "lea-256",
        "3des",
    ] {
        assert!(
            compared.contains(&name),
            "no library here has {name}: is OpenSSL's legacy provider missing?"
        );
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
                        let tag = aead(cipher, &key, backend)
                            .unwrap()
                            .seal(&nonce, &[], &mut found)
                            .unwrap();
                        let place =
                            format!("{} on {}, {length} bytes", cipher.name, backend.name());
                        assert!(
                            found == wanted && tag == wanted_tag,
                            "{place}: {} says otherwise",
                            library.name
                        );
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

#[test]
fn hmac_and_cbc_equal_those_of_other_libraries() {
    let mut compared = 0;
    for library in libraries() {
        for mac in macs() {
            let key = bytes("rival key", mac.key_bytes);
            let Some(mut rival) = (library.mac)(mac.name, &key) else { continue };
            let text = bytes("rival data", 9001);
            let messages = LENGTHS.map(|length| Message { data: &text[..length], tail: &[] });
            for backend in Backend::available() {
                let mut found = [[0; TAG_BYTES_MAX]; LENGTHS.len()];
                hmac(mac, &key, backend).unwrap().tags(&messages, &mut found);
                for (message, found) in messages.iter().zip(found) {
                    let mut wanted = vec![0; mac.tag_bytes];
                    rival.tag(message.data, &mut wanted);
                    let place =
                        format!("{} on {}, {} bytes", mac.name, backend.name(), message.data.len());
                    assert!(
                        found[..mac.tag_bytes] == wanted,
                        "{place}: {} says otherwise",
                        library.name
                    );
                }
            }
            compared += 1;
        }
        for cipher in ciphers() {
            let key = bytes("rival key", cipher.key_bytes);
            let Some(mut rival) = (library.cbc)(cipher.name, &key) else { continue };
            let (iv, plain) = (bytes("rival iv", cipher.block_bytes), bytes("rival data", 1408));
            let mut wanted = plain.clone();
            rival.encrypt(&iv, &mut wanted);
            for backend in Backend::available() {
                let mut found = plain.clone();
                cbc(cipher, &key, backend).unwrap().encrypt(&iv, &mut found).unwrap();
                assert!(
                    found == wanted,
                    "{} on {}: {} says otherwise",
                    cipher.name,
                    backend.name(),
                    library.name
                );
            }
            compared += 1;
        }
    }
    assert!(compared >= 3 + 5, "OpenSSL alone has more than {compared}");
}

/// OpenSSL has AES-CBC-CTS, of the variant CS1 unless another is asked for.
#[test]
fn ciphertext_stealing_equals_that_of_openssl() {
    for name in ["aes-128", "aes-192", "aes-256"] {
        let cipher = cipher(name).unwrap();
        let (key, iv) = (bytes("rival key", cipher.key_bytes), bytes("rival iv", 16));
        let theirs = Fetched::fetch(None, &format!("{}-CBC-CTS", name.to_uppercase()), None);
        let theirs = theirs.unwrap();
        for length in (16..=100).chain([226, 8191, 8192, 8193, 16_354]) {
            let plain = bytes("rival data", length);
            let mut context = CipherCtx::new().unwrap();
            context.encrypt_init(Some(&theirs), Some(&key), Some(&iv)).unwrap();
            let mut wanted = vec![0; length + 16];
            let written = context.cipher_update(&plain, Some(&mut wanted)).unwrap();
            wanted.truncate(written);
            for backend in Backend::available() {
                let ours = cbc_cs1(cipher, &key, backend).unwrap();
                let mut found = plain.clone();
                ours.encrypt(iv.first_chunk().unwrap(), &mut found).unwrap();
                assert!(found == wanted, "{name} on {}, {length} bytes", backend.name());
                ours.decrypt(iv.first_chunk().unwrap(), &mut found).unwrap();
                assert!(found == plain, "{name} on {}, {length} bytes back", backend.name());
            }
        }
    }
}

#[test]
fn ff1_equals_that_of_the_crate_fpe() {
    let aes = cipher("aes-256").unwrap();
    let key = bytes("rival key", 32);
    for radix in [2, 10, 26, 36, 255, 256, 11_172, 65_535, 65_536] {
        let theirs = FF1::<Aes256>::new(&key, radix).unwrap();
        for length in (20..60).step_by(3).chain([100, 199, 200]) {
            let tweak = bytes("rival tweak", length % 37);
            let random = bytes(&format!("rival value {length}"), 2 * length);
            let numeral = |bytes: &[u8; 2]| (u32::from(u16::from_le_bytes(*bytes)) % radix) as u16;
            let plain: Vec<u16> = random.as_chunks().0.iter().map(numeral).collect();
            let wanted: Vec<u16> =
                theirs.encrypt(&tweak, &FlexibleNumeralString::from(plain.clone())).unwrap().into();
            for backend in Backend::available() {
                let ours = ff1(aes, &key, backend, radix, Domain::Standard).unwrap();
                let mut found = plain.repeat(9);
                ours.seal(&tweak, &mut found[..length]).unwrap();
                ours.seal_batch(Tweaks::One(&tweak), &mut found[length..], length).unwrap();
                assert!(
                    found == wanted.repeat(9),
                    "{length} numerals of radix {radix} on {}",
                    backend.name()
                );
            }
        }
    }
}
