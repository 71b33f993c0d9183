//! Tests of what GCM leaves on the stack when a key is set or a message is sealed or opened:
//! neither the key nor the hash key, nor any power of it; with AES no round key and no mask of a
//! tag either; and that CBC over AES leaves no round key. Each call runs on a stack of its own, all
//! of which is searched.

use crate::aead::{Aead, Context, Part, Unsealed, aead};
use crate::arch::own_stack::left_by;
use crate::backend::Backend;
use crate::block::aes::reference;
use crate::blocks::blocks;
use crate::cbc::cbc;
use crate::error::Error;
use crate::facts::Cipher;
use crate::modes::Mode;
use crate::registry::ciphers;
use crate::testing::bytes;

const NONCE: [u8; 12] = [9; 12];
const HEAD_NONCE: [u8; 12] = [10; 12];

/// A block that must not be found, and what it is.
pub(super) type Secret = (String, [u8; 16]);

/// x^128 + x^127 + x^126 + x^121 + 1, less its highest term (RFC 8452, 3).
const MODULUS: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// a times b times x^-128 (RFC 8452, 3: dot).
fn dot(a: u128, b: u128) -> u128 {
    (0..128).fold(0, |sum, i| {
        let sum = sum ^ if a >> i & 1 == 1 { b } else { 0 };
        if sum & 1 == 1 { (sum ^ MODULUS) >> 1 | 1 << 127 } else { sum >> 1 }
    })
}

/// Returns the key itself, the key of the hash in every form it is used in, and its powers; of AES
/// round keys and what masks the tags.
pub(super) fn secrets(cipher: &'static Cipher, key: &[u8]) -> Vec<Secret> {
    let portable = blocks(cipher, key, Backend::by_name("portable").unwrap()).unwrap();
    let encrypted = |mut block: [u8; 16]| {
        portable.encrypt(&mut block).unwrap();
        block
    };
    let mut secrets: Vec<Secret> = Vec::new();
    let mut add = |name: &str, number: u128| {
        secrets.push((name.into(), number.to_be_bytes()));
        secrets.push((format!("{name}, bytes reversed"), number.to_le_bytes()));
    };
    for (i, part) in key.as_chunks::<16>().0.iter().enumerate() {
        add(&format!("key, part {i}"), u128::from_be_bytes(*part));
    }
    if cipher.name.starts_with("aes") {
        for (round, round_key) in reference::Aes::new(key).round_keys.iter().enumerate() {
            add(&format!("key of round {round}"), u128::from_be_bytes(*round_key));
        }
    }
    let h = u128::from_be_bytes(encrypted([0; 16]));
    add("hash key", h);
    let unit = h << 1 ^ if h >> 127 == 1 { MODULUS } else { 0 };
    let mut power = unit;
    for exponent in 1..=33 {
        add(&format!("power {exponent} of the hash key"), power);
        power = dot(power, unit);
    }
    if !cipher.name.starts_with("aes") {
        // The ciphers whose blocks are sliced have key stream, and the mask at its head, in many
        // vectors at once.
        return secrets;
    }
    for (name, nonce) in [("mask of the tag", NONCE), ("mask of the head's tag", HEAD_NONCE)] {
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(&nonce);
        counter[15] = 1;
        add(name, u128::from_be_bytes(encrypted(counter)));
    }
    secrets
}

/// Returns the members of `secrets` that are anywhere in `stack`.
fn found<'a>(stack: &[u8], secrets: &'a [Secret]) -> Vec<&'a str> {
    let of_secret = |first: u8| secrets.iter().filter(move |(_, block)| block[0] == first);
    let mut found: Vec<&str> = Vec::new();
    for window in stack.windows(16) {
        if window.iter().all(|byte| *byte == 0) {
            continue;
        }
        found.extend(
            of_secret(window[0])
                .filter(|(_, block)| window == block)
                .map(|(name, _)| name.as_str()),
        );
    }
    found.dedup();
    found
}

/// Checks every call of a keyed object, on messages of `length` bytes.
fn calls(keyed: &dyn Aead, length: usize, check: &mut dyn FnMut(&str, Vec<u8>)) {
    let associated = &bytes("associated", 20 + length / 3)[..];
    let mut data = bytes("data", length);
    let mut tag = Ok([0; 16]);
    let place = (&mut data, &mut tag);
    check("sealing", left_by(|| *place.1 = keyed.seal(&NONCE, associated, place.0)));
    let tag = tag.unwrap();
    let mut opened = data.clone();
    let mut result = Ok(());
    let place = (&mut opened, &mut result);
    check("opening", left_by(|| *place.1 = keyed.open(&NONCE, associated, place.0, &tag)));
    assert_eq!(result, Ok(()));
    let context = Context { nonce: &NONCE, associated };
    let sealed = &data.clone()[..];
    let part = |skip| Part { context, sealed, tag: &tag, skip, bytes: length - skip };
    let parts = [part(0), part(length / 3)];
    let mut result_of_parts = Ok(());
    let place = (&mut vec![0; 2 * length - length / 3], &mut result_of_parts);
    check("opening parts", left_by(|| *place.1 = keyed.open_parts(&parts, place.0)));
    assert_eq!(result_of_parts, Ok(()));
    let (mut first, mut second, mut tags) = (data.clone(), data.clone(), [[0; 16]; 2]);
    let [one, two] = &mut tags;
    let mut run = [
        Unsealed { context, data: &mut first, tag: one },
        Unsealed { context, data: &mut second, tag: two },
    ];
    let place = (&mut run[..], &mut result_of_parts);
    check("sealing a run", left_by(|| *place.1 = keyed.seal_run(place.0)));
    assert_eq!(result_of_parts, Ok(()));
    let mut wrong = tag;
    wrong[3] ^= 1;
    let place = (&mut data, &mut result);
    check("refusing", left_by(|| *place.1 = keyed.open(&NONCE, associated, place.0, &wrong)));
    assert_eq!(result, Err(Error::Authentication));
    let (head, body) = (
        Context { nonce: &HEAD_NONCE, associated: b"head" },
        Context { nonce: &NONCE, associated },
    );
    let mut tags = Ok([[0; 16]; 2]);
    let place = (&mut data, &mut tags);
    check("sealing with a head", left_by(|| *place.1 = keyed.seal_with_head(head, body, place.0)));
    tags.unwrap();
}

#[test]
fn no_key_and_no_power_of_the_hash_key_stays_on_the_stack() {
    let mut findings = Vec::new();
    for cipher in ciphers().iter().filter(|cipher| cipher.mode == Mode::Gcm) {
        let key = bytes("key of a stack", cipher.key_bytes);
        let secrets = secrets(cipher, &key);
        for backend in Backend::available() {
            let mut check = |call: &str, stack: Vec<u8>| {
                for name in found(&stack, &secrets) {
                    findings.push(format!(
                        "{} on {}: {call} leaves: {name}",
                        cipher.name,
                        backend.name()
                    ));
                }
            };
            let mut keyed = None;
            let place = &mut keyed;
            check("setting a key", left_by(|| *place = Some(aead(cipher, &key, backend))));
            let keyed = keyed.unwrap().unwrap();
            for length in [0, 40, 64, 100, 300, 1000, 5000] {
                calls(&*keyed, length, &mut |call, stack| {
                    check(&format!("{call} {length} bytes"), stack)
                });
            }
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn a_chain_of_aes_leaves_no_round_key() {
    let mut findings = Vec::new();
    for cipher in ciphers().iter().filter(|cipher| cipher.name.starts_with("aes")) {
        let key = bytes("key of a stack", cipher.key_bytes);
        let mut secrets = secrets(cipher, &key);
        secrets.retain(|(name, _)| name.starts_with("key"));
        for backend in Backend::available().into_iter().filter(|one| one.name() != "portable") {
            let keyed = cbc(cipher, &key, backend).unwrap();
            for length in [16, 48, 160, 5040] {
                let mut data = bytes("data", length);
                let stack = left_by(|| keyed.encrypt(&[9; 16], &mut data).unwrap());
                for name in found(&stack, &secrets) {
                    let place = format!("{} on {}", cipher.name, backend.name());
                    findings.push(format!("{place}, {length} bytes: {name}"));
                }
            }
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
