//! Every cipher on every backend that this CPU has, through the conformance suite; the backends
//! against each other; and AES-GCM against RustCrypto's. A backend that the CPU lacks is reported
//! as skipped, by name.

use aes_gcm::aead::array::Array;
use aes_gcm::aead::{AeadInOut, KeyInit};
use sealstone_cipher::ff1::takes;
use sealstone_cipher::hmac::{hmac, macs};
use sealstone_cipher::memory::Protected;
use sealstone_cipher::testing::{
    Summary, blocks_conformance, bytes, conformance, hmac_conformance, lengths,
};
use sealstone_cipher::{Aead, Backend, Cipher, Mode, aead, blocks, cipher, ciphers, modes};

/// Runs `conformance` for every cipher on the backend `name`, or reports that this CPU has no such
/// backend.
fn every_cipher(
    test: &str,
    name: &str,
    conformance: impl Fn(&'static Cipher, Backend) -> Option<Summary>,
) {
    let backend = match Backend::by_name(name) {
        Ok(backend) => backend,
        Err(error) => return println!("SKIP: {test}::{name}: {error}"),
    };
    let mut ran = 0;
    for cipher in ciphers() {
        let Some(summary) = conformance(cipher, backend) else { continue };
        println!(
            "{} on {name}: {} vectors, {} messages, {} forgeries refused",
            cipher.name, summary.vectors, summary.messages, summary.forgeries
        );
        // vectors with keys of other lengths are for the tests beside the cipher
        let none_left = summary.not_offered.is_empty() || cipher.other_key_bits.is_some();
        assert!(none_left, "{}: {:?}", cipher.name, summary.not_offered);
        ran += 1;
    }
    assert!(ran > 0, "no cipher has it");
}

/// Checks `mode` of every cipher that has it, and FF1 also of the ciphers where it is experimental.
fn every_cipher_in(mode: Mode, test: &str, name: &str) {
    every_cipher(test, name, |cipher, backend| {
        let has = cipher.modes().any(|row| row.mode == mode) || mode == Mode::Ff1 && takes(cipher);
        has.then(|| conformance(cipher, mode, backend))
    });
}

/// Checks every HMAC on the backend `name`, or reports that this CPU has no such backend.
fn every_mac(name: &str) {
    let backend = match Backend::by_name(name) {
        Ok(backend) => backend,
        Err(error) => return println!("SKIP: hmac_conforms::{name}: {error}"),
    };
    for mac in macs() {
        let summary = hmac_conformance(mac, &|key| hmac(mac, key, backend));
        println!(
            "{} on {name}: {} vectors, {} messages, {} forgeries refused",
            mac.name, summary.vectors, summary.messages, summary.forgeries
        );
    }
}

/// One test for each mode and backend, so that what a CPU cannot run is counted by name.
macro_rules! every_mode_on_every_backend {
    ($modes:tt $backends:tt) => {
        every_mode_on_every_backend!(@modes $modes $backends);

        mod blocks_conform {
            use super::*;
            every_mode_on_every_backend!(@blocks $backends);
        }

        mod hmac_conforms {
            use super::*;
            every_mode_on_every_backend!(@macs $backends);
        }

        #[test]
        fn no_mode_and_no_backend_is_left_out() {
            let tested = every_mode_on_every_backend!(@names $modes);
            assert!(modes().iter().all(|row| tested.contains(&row.mode)), "{tested:?}");
            let tested = stringify!($backends);
            for name in Backend::all_names() {
                assert!(tested.contains(name), "{name}");
            }
        }
    };
    (@modes {$($test:ident: $mode:ident),*} $backends:tt) => {
        $(mod $test {
            use super::*;
            every_mode_on_every_backend!(@mode $test $mode $backends);
        })*
    };
    (@mode $test:ident $mode:ident [$($name:ident)*]) => {
        $(#[test] fn $name() {
            every_cipher_in(Mode::$mode, stringify!($test), stringify!($name));
        })*
    };
    (@blocks [$($name:ident)*]) => {
        $(#[test] fn $name() {
            every_cipher("blocks_conform", stringify!($name), |cipher, backend| {
                Some(blocks_conformance(cipher, &|key| blocks(cipher, key, backend)))
            });
        })*
    };
    (@macs [$($name:ident)*]) => {
        $(#[test] fn $name() {
            every_mac(stringify!($name));
        })*
    };
    (@names {$($test:ident: $mode:ident),*}) => {
        [$(Mode::$mode),*]
    };
}

every_mode_on_every_backend! {
    {gcm_conforms: Gcm, ctr_mac_conforms: CtrMac, ctr_conforms: Ctr, cbc_conforms: Cbc,
        cmac_conforms: Cmac,
        ff1_conforms: Ff1,
        hctr2_conforms: Hctr2,
        cbc_cs1_conforms: CbcCs1,
        cbc_feistel_conforms: CbcFeistel}
    [portable aesni avx2 vaes avx512]
}

/// Data sealed by one backend can be opened by every other, and tags are the same to the bit.
#[test]
fn backends_agree() {
    for cipher in ciphers() {
        let key = bytes("agreement", cipher.key_bytes);
        let keyed: Vec<Protected<dyn Aead>> = Backend::available()
            .into_iter()
            .map(|backend| aead(cipher, &key, backend).unwrap())
            .collect();
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
