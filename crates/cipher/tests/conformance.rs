//! Every cipher on every backend that this CPU has, through the conformance suite; the backends against each other;
//! and AES-GCM against RustCrypto's. A backend that the CPU lacks is reported as skipped, by name.

use aes_gcm::aead::array::Array;
use aes_gcm::aead::{AeadInOut, KeyInit};
use sealstone_cipher::aead::{Aead, aead};
use sealstone_cipher::backend::Backend;
use sealstone_cipher::blocks::blocks;
use sealstone_cipher::cbc::cbc;
use sealstone_cipher::cmac::cmac;
use sealstone_cipher::ctr::ctr;
use sealstone_cipher::memory::Protected;
use sealstone_cipher::registry::{Cipher, cipher, ciphers};
use sealstone_cipher::testing::{
    Summary, aead_conformance, blocks_conformance, bytes, cbc_conformance, cmac_conformance, ctr_conformance, lengths,
};

/// Vectors of Blowfish with keys of 4 to 24 bytes that do not divide the 16 offered. `block/blowfish.rs` tests them.
const BLOWFISH_OTHER_KEYS: usize = 19;

/// Runs `conformance` for every cipher on the backend `name`, or says that this CPU has no such backend.
fn every_cipher(test: &str, name: &str, conformance: impl Fn(&'static Cipher, Backend) -> Summary) {
    let backend = match Backend::by_name(name) {
        Ok(backend) => backend,
        Err(error) => return println!("SKIP: {test}::{name}: {error}"),
    };
    for cipher in ciphers() {
        let summary = conformance(cipher, backend);
        println!(
            "{} on {name}: {} vectors, {} messages, {} forgeries refused",
            cipher.name, summary.vectors, summary.messages, summary.forgeries
        );
        let others = if cipher.name == "blowfish" { BLOWFISH_OTHER_KEYS } else { 0 };
        assert!(summary.not_offered.len() <= others, "{}: {:?}", cipher.name, summary.not_offered);
    }
}

/// One test for each backend and mode, so that what a CPU cannot run is counted by name.
macro_rules! on_every_backend {
    ($($name:ident)*) => {
        mod aead_conforms {
            use super::*;
            $(#[test] fn $name() {
                let name = stringify!($name);
                every_cipher("aead_conforms", name, |cipher, backend| {
                    aead_conformance(cipher, &|key| aead(cipher, key, backend))
                });
            })*
        }

        mod ctr_conforms {
            use super::*;
            $(#[test] fn $name() {
                let name = stringify!($name);
                every_cipher("ctr_conforms", name, |cipher, backend| {
                    ctr_conformance(cipher, &|key| ctr(cipher, key, backend))
                });
            })*
        }

        mod blocks_conform {
            use super::*;
            $(#[test] fn $name() {
                let name = stringify!($name);
                every_cipher("blocks_conform", name, |cipher, backend| {
                    blocks_conformance(cipher, &|key| blocks(cipher, key, backend))
                });
            })*
        }

        mod cbc_conforms {
            use super::*;
            $(#[test] fn $name() {
                let name = stringify!($name);
                every_cipher("cbc_conforms", name, |cipher, backend| {
                    cbc_conformance(cipher, &|key| cbc(cipher, key, backend))
                });
            })*
        }

        mod cmac_conforms {
            use super::*;
            $(#[test] fn $name() {
                let name = stringify!($name);
                every_cipher("cmac_conforms", name, |cipher, backend| {
                    cmac_conformance(cipher, &|key| cmac(cipher, key, backend))
                });
            })*
        }

        #[test]
        fn no_backend_is_left_out() {
            let tested = [$(stringify!($name)),*];
            for name in Backend::all_names() {
                assert!(tested.contains(&name), "{name}");
            }
        }
    };
}

on_every_backend!(portable aesni avx2 avx512);

/// What one backend seals every other opens, and tags are the same to the bit.
#[test]
fn backends_agree() {
    for cipher in ciphers() {
        let key = bytes("agreement", cipher.key_bytes);
        let keyed: Vec<Protected<dyn Aead>> =
            Backend::available().into_iter().map(|backend| aead(cipher, &key, backend).unwrap()).collect();
        let nonce = bytes("agreement nonce", cipher.nonce_bytes());
        for length in lengths(cipher.block_bytes).into_iter().chain([65_537, 100_000]) {
            let text = bytes("agreement text", length);
            let associated = &text[..length % 47];
            for one in &keyed {
                let mut sealed = text.clone();
                let tag = one.seal(&nonce, associated, &mut sealed).unwrap();
                for other in &keyed {
                    let mut opened = sealed.clone();
                    let result = other.open(&nonce, associated, &mut opened, &tag);
                    let pair = (cipher.name, one.backend(), other.backend(), length);
                    assert_eq!(result, Ok(()), "{pair:?}");
                    assert!(opened == text, "{pair:?}");
                }
            }
        }
    }
}

#[test]
fn aes_gcm_equals_rustcrypto() {
    fn compare<C: AeadInOut + KeyInit>(name: &str) {
        let line = cipher(name).unwrap();
        for seed in 0..400 {
            let key = bytes(&format!("rival key {seed}"), line.key_bytes);
            let nonce = bytes(&format!("rival nonce {seed}"), 12);
            let length = seed * 37 % 5000;
            let text = bytes(&format!("rival text {seed}"), length);
            let associated = bytes("rival associated", seed % 80);
            let theirs = C::new_from_slice(&key).unwrap();
            let mut expected = text.clone();
            let expected_tag = theirs
                .encrypt_inout_detached(
                    &Array::try_from(&nonce[..]).unwrap(),
                    &associated,
                    expected.as_mut_slice().into(),
                )
                .unwrap();
            for backend in Backend::available() {
                let ours = aead(line, &key, backend).unwrap();
                let mut sealed = text.clone();
                let tag = ours.seal(&nonce, &associated, &mut sealed).unwrap();
                assert!(sealed == expected, "{name} on {}, seed {seed}", backend.name());
                assert_eq!(tag[..], expected_tag[..], "{name} on {}, seed {seed}", backend.name());
                assert_eq!(ours.open(&nonce, &associated, &mut sealed, &tag), Ok(()));
                assert!(sealed == text, "{name} on {}, seed {seed}", backend.name());
            }
        }
    }
    compare::<aes_gcm::Aes128Gcm>("aes-128");
    compare::<aes_gcm::Aes256Gcm>("aes-256");
}
