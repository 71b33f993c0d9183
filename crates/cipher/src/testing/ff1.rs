//! The suite for FF1: known answers, every length on either side of each way to compute, radices of
//! every kind, tweaks of every length around a block, batches against single values, and refused
//! arguments, against a plain reference.

use super::debug_output::assert_prints_no_key;
use super::pseudorandom::bytes;
use super::reference;
use super::summary::{Summary, offered_key};
use super::vectors::{Case, vectors_of};
use crate::backend::Backend;
use crate::facts::Cipher;
use crate::ff1::{Domain, Ff1, Ff1Error, LENGTH_MAX, Tweaks, ff1};

/// Radices of every kind: powers of two and their neighbours, digits, letters and both, syllables,
/// the ends.
const RADICES: [u32; 14] =
    [2, 3, 10, 16, 26, 36, 62, 255, 256, 257, 11_172, 32_769, 65_535, 65_536];

/// Any domain, so that short values can be tested.
const ANY: Domain = Domain::AllowSmall { least_values: 0 };

/// Checks FF1 over `cipher`, one that has it, on `backend`. Not every cipher has vectors; then the
/// reference alone is the measure.
///
/// # Panics
/// At the first failed check, naming it.
pub fn ff1_conformance(cipher: &'static Cipher, backend: Backend) -> Summary {
    let mut summary = Summary::default();
    known_answers(cipher, backend, &mut summary);
    for (i, radix) in RADICES.into_iter().enumerate() {
        let key = bytes(&format!("ff1 key {i}"), cipher.key_bytes);
        let keyed = ff1(cipher, &key, backend, radix, ANY).expect("a key of the right length");
        assert_prints_no_key(&format!("{keyed:?} {keyed:#?}"), &key);
        let encrypt = reference::block_cipher(cipher, &key);
        let values = Values {
            keyed: &keyed,
            radix,
            what: format!("{} on {}, radix {radix}", cipher.name, keyed.backend()),
        };
        let seal = |tweak: &[u8], value: &mut [u16]| {
            reference::ff1(&encrypt, cipher.block_bytes, radix, tweak, value)
        };
        // all lengths up to 40 and some beyond, in one radix or another
        let longer = [45, 57, 58, 63, 64, 65, 97, 100, 111, 128, 129, 192, 193, 199, 200];
        for length in (2..=40)
            .filter(|length| (length + i).is_multiple_of(2) || *length < 8)
            .chain(longer.into_iter().skip(i % 3).step_by(3))
        {
            let tweak = bytes("tweak", [0, 5, 16, 31, 11, 3, 8, 12][(length + i) % 8]);
            values.single(&tweak, length, &seal, &mut summary);
        }
        for tweak_bytes in (0..=34).chain([63, 64, 65, 255, 1000]).skip(i % 5).step_by(5) {
            values.single(
                &bytes("tweak", tweak_bytes),
                [6, 13, 40][tweak_bytes % 3],
                &seal,
                &mut summary,
            );
        }
        for (j, (length, count)) in
            [(2, 40), (3, 9), (6, 260), (16, 257), (19, 60), (37, 20), (56, 10), (130, 5)]
                .into_iter()
                .enumerate()
        {
            values.batch(length, count, i + j, &mut summary);
        }
        values.arguments();
    }
    let radix = 10;
    let keyed = ff1(cipher, &bytes("ff1 key", cipher.key_bytes), backend, radix, Domain::Standard)
        .expect("a right key");
    let what = cipher.name.to_owned();
    Values { keyed: &keyed, radix, what }.lengths();
    summary
}

fn known_answers(cipher: &'static Cipher, backend: Backend, summary: &mut Summary) {
    for vector in vectors_of(cipher) {
        let Case::Ff1 { radix, tweak, plaintext, ciphertext } = &vector.case else { continue };
        let Some(key) = offered_key(cipher, vector, summary) else { continue };
        let keyed = ff1(cipher, &key, backend, *radix, Domain::Standard)
            .expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", cipher.name, keyed.backend(), vector.place, vector.source);
        let mut value = plaintext.clone();
        assert_eq!(keyed.seal(tweak, &mut value), Ok(()), "{what}");
        assert_eq!(&value, ciphertext, "{what}: seal");
        assert_eq!(keyed.open(tweak, &mut value), Ok(()), "{what}");
        assert_eq!(&value, plaintext, "{what}: open");
        let mut batch = plaintext.repeat(20);
        assert_eq!(keyed.seal_batch(Tweaks::One(tweak), &mut batch, value.len()), Ok(()), "{what}");
        assert_eq!(batch, ciphertext.repeat(20), "{what}: seal_batch");
        assert_eq!(keyed.open_batch(Tweaks::One(tweak), &mut batch, value.len()), Ok(()), "{what}");
        assert_eq!(batch, plaintext.repeat(20), "{what}: open_batch");
        let mut found = plaintext.clone();
        let encrypt = reference::block_cipher(cipher, &key);
        reference::ff1(&encrypt, cipher.block_bytes, *radix, tweak, &mut found);
        assert_eq!(&found, ciphertext, "reference, {what}");
        summary.vectors += 1;
    }
}

/// Values that are checked in one radix.
struct Values<'a> {
    keyed: &'a Ff1,
    radix: u32,
    what: String,
}

impl Values<'_> {
    /// Returns `count` numerals, all kinds of them.
    fn numerals(&self, label: &str, count: usize) -> Vec<u16> {
        let random = bytes(label, 4 * count);
        let random = random
            .as_chunks()
            .0
            .iter()
            .map(|bytes| (u32::from_le_bytes(*bytes) % self.radix) as u16);
        random.collect()
    }

    /// Checks one value at a time: random values, the lowest and the highest.
    fn single(
        &self,
        tweak: &[u8],
        length: usize,
        seal: &dyn Fn(&[u8], &mut [u16]),
        summary: &mut Summary,
    ) {
        let random = self.numerals(&format!("value {length}"), length);
        for value in [random, vec![0; length], vec![(self.radix - 1) as u16; length]] {
            let what = format!("{}, {length} numerals, tweak of {} bytes", self.what, tweak.len());
            let (mut sealed, mut expected) = (value.clone(), value.clone());
            assert_eq!(self.keyed.seal(tweak, &mut sealed), Ok(()), "{what}");
            seal(tweak, &mut expected);
            assert_eq!(sealed, expected, "{what}: seal");
            assert!(sealed.iter().all(|numeral| u32::from(*numeral) < self.radix), "{what}");
            let mut opened = sealed.clone();
            assert_eq!(self.keyed.open(tweak, &mut opened), Ok(()), "{what}");
            assert_eq!(opened, value, "{what}: open");
            // Another tweak gives something else, unless there is hardly anything else.
            if f64::from(self.radix).log2() * length as f64 > 40.0 {
                let mut other = tweak.to_vec();
                match other.get_mut(length % tweak.len().max(1)) {
                    Some(byte) => *byte ^= 1 << (length % 8),
                    None => other.push(0),
                }
                assert_eq!(self.keyed.open(&other, &mut sealed), Ok(()), "{what}");
                assert_ne!(sealed, value, "{what}: another tweak opens");
            }
            summary.messages += 1;
        }
    }

    /// `count` values of `length` numerals, under tweaks of two shapes that `number` chooses,
    /// against one at a time.
    fn batch(&self, length: usize, count: usize, number: usize, summary: &mut Summary) {
        let packed = bytes("packed tweaks", 8 * count);
        let longer = bytes("longer tweaks", 37 * count);
        let mixed: Vec<&[u8]> = (0..count).map(|i| &longer[37 * i..][..i * 7 % 37]).collect();
        let alike = vec![&longer[..16]; count];
        let values = self.numerals(&format!("batch {length}"), length * count);
        let shapes = [
            Tweaks::One(b""),
            Tweaks::One(b"one tweak for all"),
            Tweaks::Packed { bytes: &packed, tweak_bytes: 8 },
            Tweaks::Packed { bytes: &longer, tweak_bytes: 37 },
            Tweaks::Each(&mixed),
            Tweaks::Each(&alike),
        ];
        for tweaks in [shapes[number % 6], shapes[(number / 2 + 3) % 6]] {
            let what =
                format!("{}, {count} times {length} numerals, {}", self.what, shape_of(&tweaks));
            let tweak = |i: usize| match tweaks {
                Tweaks::One(tweak) => tweak,
                Tweaks::Each(tweaks) => tweaks[i],
                Tweaks::Packed { bytes, tweak_bytes } => &bytes[tweak_bytes * i..][..tweak_bytes],
            };
            let (mut batch, mut expected) = (values.clone(), values.clone());
            assert_eq!(self.keyed.seal_batch(tweaks, &mut batch, length), Ok(()), "{what}");
            for (i, value) in expected.chunks_exact_mut(length).enumerate() {
                assert_eq!(self.keyed.seal(tweak(i), value), Ok(()), "{what}");
            }
            assert!(batch == expected, "{what}: seal_batch is not seal of each");
            assert_eq!(self.keyed.open_batch(tweaks, &mut batch, length), Ok(()), "{what}");
            assert!(batch == values, "{what}: open_batch does not undo seal_batch");
            summary.messages += count;
        }
    }

    /// Checks which arguments are refused, and that nothing is changed then.
    fn arguments(&self) {
        let (radix, length) = (self.radix, 24);
        let values = self.numerals("refused", 5 * length);
        let tweaks: [&[u8]; 4] = [b"a"; 4];
        let refuse = |tweaks: Tweaks, values: &[u16], length: usize, error: Ff1Error| {
            for call in [Ff1::seal_batch, Ff1::open_batch] {
                let mut found = values.to_vec();
                assert_eq!(
                    call(self.keyed, tweaks, &mut found, length),
                    Err(error),
                    "{}",
                    self.what
                );
                assert!(found == values, "{}: changed values it refused", self.what);
            }
        };
        let one = Tweaks::One(b"");
        refuse(Tweaks::Each(&tweaks), &values, length, Ff1Error::Tweaks { found: 4, want: 5 });
        let packed = Tweaks::Packed { bytes: &[1; 9], tweak_bytes: 2 };
        refuse(
            packed,
            &values,
            length,
            Ff1Error::PackedTweaks { found: 9, tweak_bytes: 2, values: 5 },
        );
        refuse(one, &values[1..], length, Ff1Error::Values { found: 5 * length - 1, length });
        for (found, value) in [
            (0, &[][..]),
            (1, &values[..1]),
            (LENGTH_MAX + 1, &[0; LENGTH_MAX + 1]),
            (usize::MAX, &values[..]),
        ] {
            refuse(
                one,
                value,
                found,
                Ff1Error::Length { found, least: 2, most: LENGTH_MAX, radix },
            );
        }
        if radix < 1 << 16 {
            for at in [0, 1, length, 3 * length - 1, 5 * length - 1] {
                for found in [radix as u16, u16::MAX] {
                    let mut wrong = values.clone();
                    wrong[at] = found;
                    let error = Ff1Error::Symbol {
                        value: at / length,
                        position: at % length,
                        found,
                        radix,
                    };
                    refuse(one, &wrong, length, error);
                    let mut value = wrong[at / length * length..][..length].to_vec();
                    let error = Ff1Error::Symbol { value: 0, position: at % length, found, radix };
                    assert_eq!(self.keyed.seal(b"", &mut value), Err(error), "{}", self.what);
                    assert_eq!(value[..], wrong[at / length * length..][..length], "{}", self.what);
                }
            }
        }
    }

    /// Checks radix 10 by the standard's rule: at least six numerals, and the longest value.
    fn lengths(&self) {
        assert_eq!(self.keyed.lengths(), 6..=LENGTH_MAX, "{}", self.what);
        for found in [0, 1, 2, 5, LENGTH_MAX + 1, 100_000] {
            let mut value = vec![3; found];
            let error = Ff1Error::Length { found, least: 6, most: LENGTH_MAX, radix: self.radix };
            assert_eq!(self.keyed.seal(b"", &mut value), Err(error), "{}", self.what);
            assert_eq!(self.keyed.open(b"", &mut value), Err(error), "{}", self.what);
            assert!(value.iter().all(|numeral| *numeral == 3), "{}", self.what);
        }
        let value = self.numerals("longest", LENGTH_MAX);
        let mut sealed = value.clone();
        assert_eq!(self.keyed.seal(b"longest", &mut sealed), Ok(()), "{}", self.what);
        assert_ne!(sealed, value, "{}", self.what);
        assert_eq!(self.keyed.open(b"longest", &mut sealed), Ok(()), "{}", self.what);
        assert_eq!(sealed, value, "{}", self.what);
    }
}

fn shape_of(tweaks: &Tweaks) -> &'static str {
    match tweaks {
        Tweaks::One(_) => "one tweak",
        Tweaks::Each(_) => "a tweak each",
        Tweaks::Packed { .. } => "packed tweaks",
    }
}
