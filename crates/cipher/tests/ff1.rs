//! Tests of FF1 over all values of small domains: it is a permutation, a different permutation for
//! each tweak; and tests of the limit for small domains.

use std::collections::HashSet;

use sealstone_cipher::ff1::{Domain, Ff1, Ff1Error, LENGTH_MAX, Tweaks, ff1, takes};
use sealstone_cipher::testing::bytes;
use sealstone_cipher::{Backend, Cipher, Standing, cipher, ciphers};

/// Returns all values of `length` numerals.
fn all_values(radix: u32, length: usize) -> Vec<u16> {
    let values = (0..u64::from(radix).pow(length as u32)).flat_map(|value| {
        let numeral = move |place: usize| {
            (value / u64::from(radix).pow(place as u32) % u64::from(radix)) as u16
        };
        (0..length).rev().map(numeral)
    });
    values.collect()
}

#[test]
fn small_domains_are_permuted() {
    let small =
        [(2, 2), (2, 3), (2, 9), (3, 4), (10, 2), (10, 3), (10, 4), (36, 2), (255, 2), (300, 2)];
    for name in ["aes-256", "aria-128", "pipo-128"] {
        let cipher = cipher(name).unwrap();
        let key = bytes("enumerated", cipher.key_bytes);
        for (radix, length) in small {
            let any = Domain::AllowSmall { least_values: 0 };
            let keyed = ff1(cipher, &key, Backend::auto(), radix, any).unwrap();
            let plain = all_values(radix, length);
            let mut sealed = plain.clone();
            keyed.seal_batch(Tweaks::One(b"tweak"), &mut sealed, length).unwrap();
            let distinct: HashSet<&[u16]> = sealed.chunks(length).collect();
            let what = format!("{name}, {length} numerals of radix {radix}");
            assert_eq!(distinct.len(), plain.len() / length, "{what}: two values are sealed alike");
            assert!(
                sealed.iter().all(|numeral| u32::from(*numeral) < radix),
                "{what}: out of the domain"
            );
            keyed.open_batch(Tweaks::One(b"tweak"), &mut sealed, length).unwrap();
            assert!(sealed == plain, "{what}");
        }
    }
}

#[test]
fn every_bit_of_a_tweak_counts() {
    for cipher in ciphers().iter().filter(|cipher| takes(cipher)) {
        let keyed =
            ff1(cipher, &bytes("key", cipher.key_bytes), Backend::auto(), 10, Domain::Standard)
                .unwrap();
        for tweak_bytes in [1, 8, 11, 16, 41] {
            let tweak = bytes("tweak", tweak_bytes);
            let flipped = (0..8 * tweak_bytes).map(|bit| {
                let mut tweak = tweak.clone();
                tweak[bit / 8] ^= 1 << (bit % 8);
                tweak
            });
            let longer = [[&tweak[..], &[0]].concat(), tweak[..tweak_bytes - 1].to_vec()];
            let tweaks: Vec<Vec<u8>> = flipped.chain(longer).chain([tweak.clone()]).collect();
            let sealed: HashSet<Vec<u16>> = tweaks
                .iter()
                .map(|tweak| {
                    let mut value = [4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
                    keyed.seal(tweak, &mut value).unwrap();
                    value.to_vec()
                })
                .collect();
            assert_eq!(sealed.len(), tweaks.len(), "{}, tweak of {tweak_bytes} bytes", cipher.name);
        }
    }
}

fn keyed(cipher: &'static Cipher, radix: u32, domain: Domain) -> Result<Ff1, Ff1Error> {
    ff1(cipher, &vec![7; cipher.key_bytes], Backend::auto(), radix, domain)
}

#[test]
fn the_shortest_length_has_a_million_values() {
    let aes = cipher("aes-128").unwrap();
    for radix in (2..=1100).chain([11_172, 65_535, 65_536]) {
        let shortest = *keyed(aes, radix, Domain::Standard).unwrap().lengths().start();
        let values = |length: usize| u128::from(radix).pow(length as u32);
        assert!(values(shortest) >= 1_000_000, "radix {radix}");
        assert!(shortest == 2 || values(shortest - 1) < 1_000_000, "radix {radix}: {shortest}");
    }
    let allowed = |least_values| {
        *keyed(aes, 10, Domain::AllowSmall { least_values }).unwrap().lengths().start()
    };
    let found = [0, 1, 100, 101, 10_000, 10_000_000, u64::MAX].map(allowed);
    assert_eq!(found, [2, 2, 2, 3, 4, 7, 20]);
}

#[test]
fn errors_say_what_and_where() {
    let aes = cipher("aes-128").unwrap();
    for radix in [0, 1, 65_537, u32::MAX] {
        let error = keyed(aes, radix, Domain::Standard).err();
        assert_eq!(error, Some(Ff1Error::Radix { found: radix }));
    }
    let error = ff1(aes, &[7; 15], Backend::auto(), 10, Domain::Standard).err();
    assert_eq!(error, Some(Ff1Error::KeyLength { found: 15, want: 16 }));
    let keyed = keyed(aes, 10, Domain::Standard).unwrap();
    let text = |result: Result<(), Ff1Error>| result.unwrap_err().to_string();
    let mut values = [1; 24];
    let short = keyed.seal(b"", &mut values[..5]);
    let (least, most) = (6, LENGTH_MAX);
    assert_eq!(short, Err(Ff1Error::Length { found: 5, least, most, radix: 10 }));
    assert_eq!(
        text(short),
        "value of 5 numerals in radix 10, must have 6 to 4096: shorter ones are too few to hide \
         among"
    );
    values[13] = 10;
    let found = text(keyed.seal_batch(Tweaks::One(b""), &mut values, 8));
    assert_eq!(found, "value 1 has 10 at position 5, and numerals of radix 10 are 0 to 9");
    let found = text(keyed.seal_batch(Tweaks::One(b""), &mut values, 7));
    assert_eq!(found, "24 numerals are not whole values of 7");
    let found = text(keyed.seal_batch(Tweaks::Each(&[b"a", b"b"]), &mut values, 8));
    assert_eq!(found, "2 tweaks for 3 values");
}

#[test]
fn small_blocks_are_for_what_is_experimental_anyway() {
    for cipher in ciphers() {
        let made = keyed(cipher, 10, Domain::Standard).map(|ff1| ff1.standing());
        match (cipher.block_bytes, cipher.standing) {
            (16, standing) => assert_eq!(made, Ok(standing), "{}", cipher.name),
            (_, Standing::Experimental) => {
                assert_eq!(made, Ok(Standing::Experimental), "{}", cipher.name)
            }
            _ => assert_eq!(made, Err(Ff1Error::Cipher { name: cipher.name })),
        }
    }
}
