//! Tests of what FF1 leaves on the stack of a call: neither the key nor a round key of AES, nor the
//! block that hides the numbers, nor the number of half a value. Each call runs on a stack of its
//! own, all of which is searched.

use super::{Domain, Ff1, Tweaks};
use crate::arch::own_stack::left_by;
use crate::backend::Backend;
use crate::block::aes::reference;
use crate::ff1::ff1;
use crate::registry::cipher;
use crate::testing::bytes;

/// Description of a secret, and the bytes that must not be found.
type Secret = (String, Vec<u8>);

/// Digits of a value, so that the numbers of its halves are of one, two and more words, and none is
/// small.
const LENGTHS: [usize; 3] = [16, 50, 70];

/// Returns the digits of two values of `length` digits.
fn two_values(length: usize) -> Vec<u16> {
    (0..2 * length).map(|i| 9 - (i * i + i / 7) as u16 % 8).collect()
}

fn secrets(key: &[u8], length: usize) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = Vec::new();
    let aes = reference::Aes::new(key);
    for (round, round_key) in aes.round_keys.iter().enumerate() {
        secrets.push((format!("key of round {round}"), round_key.to_vec()));
    }
    // P without a tweak: everything is added to it
    let (half, all) = (length as u8 / 2, length as u8);
    let head = [1, 2, 1, 0, 0, 10, 10, half, 0, 0, 0, all, 0, 0, 0, 0];
    secrets.push(("block that hides the numbers".into(), aes.encrypt(head).to_vec()));
    for (half, digits) in two_values(length).chunks(length / 2).enumerate() {
        let lowest_word = digits
            .iter()
            .fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(*digit)));
        secrets.push((format!("number of half {half}"), lowest_word.to_le_bytes().to_vec()));
        let numerals: Vec<u8> = digits[..8].iter().flat_map(|digit| digit.to_le_bytes()).collect();
        secrets.push((format!("numerals of half {half}"), numerals));
    }
    secrets
}

#[test]
fn neither_keys_nor_numbers_stay_on_the_stack() {
    let aes = cipher("aes-256").unwrap();
    let key = bytes("key of a stack", aes.key_bytes);
    let mut findings = Vec::new();
    for length in LENGTHS {
        let secrets = secrets(&key, length);
        for backend in Backend::available() {
            let keyed = ff1(aes, &key, backend, 10, Domain::Standard).unwrap();
            for count in [1, 2, 6, 300, 1000] {
                let plain: Vec<u16> =
                    two_values(length).into_iter().cycle().take(length * count).collect();
                let mut values = plain.clone();
                let place = &mut values;
                for what in ["sealing", "opening"] {
                    let call = if what == "sealing" { Ff1::seal_batch } else { Ff1::open_batch };
                    let stack = left_by(|| call(&keyed, Tweaks::One(b""), place, length).unwrap());
                    for (name, secret) in &secrets {
                        if stack.windows(secret.len()).any(|window| window == secret) {
                            findings.push(format!(
                                "{what} {count} values of {length} digits on {} leaves: {name}",
                                backend.name()
                            ));
                        }
                    }
                }
                assert_eq!(values, plain);
            }
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

/// A secret that is left on the stack would be found.
#[test]
fn a_number_on_the_stack_is_found() {
    let secrets = secrets(&[7; 32], 16);
    let number = &secrets.iter().find(|(name, _)| name == "number of half 0").unwrap().1;
    let known = u64::from_le_bytes(number.as_slice().try_into().unwrap());
    let known = &std::hint::black_box(known);
    let stack = left_by(|| {
        let number = std::hint::black_box(*known);
        std::hint::black_box(&number);
    });
    assert!(stack.windows(8).any(|window| window == number));
}
