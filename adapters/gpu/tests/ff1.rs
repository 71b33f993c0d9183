#![forbid(unsafe_code)]
//! FF1 on a real device: published vectors, random radices, lengths, tweaks and numbers of values
//! beside the CPU, and the state after a failure. The device is `opencl:0`, or the device in
//! SEALSTONE_TEST_DEVICE.

mod opencl;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sealstone_cipher::ff1::{Domain, Ff1, Ff1Error, Tweaks, ff1};
use sealstone_cipher::testing::vectors::{Case, vectors_of};
use sealstone_cipher::{Backend, Cipher, cipher};
use sealstone_gpu::testing::{Failure, failing};
use sealstone_gpu::{Device, DeviceFf1, Error, Ff1Settings, Left, Settings, kernel_names};

const ANY: Domain = Domain::AllowSmall { least_values: 0 };
/// Everything goes to the device, a few tiles at a time.
const SMALL: Ff1Settings =
    Ff1Settings { lanes: Settings { lanes: 3, chunk_bytes: 1 << 20 }, values_min: 0 };

fn rows() -> impl Iterator<Item = &'static Cipher> {
    kernel_names().into_iter().map(|name| cipher(name).unwrap())
}

/// The same on the device and on the CPU.
struct Pair {
    device: DeviceFf1,
    cpu: Ff1,
    radix: u32,
    what: String,
}

impl Pair {
    fn new(device: &Device, cipher: &'static Cipher, radix: u32, random: &mut StdRng) -> Self {
        let mut key = vec![0; cipher.key_bytes];
        random.fill_bytes(&mut key);
        let keyed = device.ff1(cipher, &key, radix, ANY, SMALL).unwrap();
        let cpu = ff1(cipher, &key, Backend::auto(), radix, ANY).unwrap();
        Self { device: keyed, cpu, radix, what: format!("{}, radix {radix}", cipher.name) }
    }

    fn values(&self, numerals: usize, random: &mut StdRng) -> Vec<u16> {
        (0..numerals).map(|_| random.random_range(0..self.radix) as u16).collect()
    }

    /// Seals and opens `values`, and compares.
    fn check(&self, tweaks: Tweaks<'_>, values: &[u16], length: usize, shown: &str) {
        let what = format!(
            "{}, {} values of {length} numerals, {shown}",
            self.what,
            values.len() / length
        );
        let (mut found, mut expected) = (values.to_vec(), values.to_vec());
        self.cpu.seal_batch(tweaks, &mut expected, length).unwrap();
        self.device.seal_batch(tweaks, &mut found, length).unwrap();
        assert!(found == expected, "{what}: sealed");
        self.device.open_batch(tweaks, &mut found, length).unwrap();
        assert!(found == values, "{what}: opened");
    }
}

#[test]
fn every_vector_of_ff1() {
    let Some(device) = opencl::device("every_vector_of_ff1") else { return };
    let mut checked = 0;
    for cipher in rows() {
        for vector in vectors_of(cipher) {
            let Case::Ff1 { radix, tweak, plaintext, ciphertext } = &vector.case else { continue };
            if vector.key.len() != cipher.key_bytes {
                continue;
            }
            let keyed = device.ff1(cipher, &vector.key, *radix, Domain::Standard, SMALL).unwrap();
            let (mut value, length) = (plaintext.clone(), plaintext.len());
            keyed.seal_batch(Tweaks::One(tweak), &mut value, length).unwrap();
            assert_eq!(&value, ciphertext, "{} ({})", vector.place, vector.source);
            keyed
                .open_batch(
                    Tweaks::Packed { bytes: tweak, tweak_bytes: tweak.len() },
                    &mut value,
                    length,
                )
                .unwrap();
            assert_eq!(&value, plaintext, "{} ({})", vector.place, vector.source);
            assert!(
                keyed.counts().device_values == 2 || keyed.cpu().outline(length).is_none(),
                "{}",
                vector.place
            );
            checked += 1;
        }
    }
    println!("{checked} vectors on {}", device.facts().name);
    assert!(checked > 100);
}

/// Radices of every kind, and lengths with numbers of every size that a device takes.
#[test]
fn random_values_are_what_the_cpu_makes() {
    let Some(device) = opencl::device("random_values_are_what_the_cpu_makes") else { return };
    let mut random = StdRng::seed_from_u64(18);
    let rounds = if std::env::var_os("SEALSTONE_TEST_DEVICE").is_some() { 40 } else { 3 };
    for cipher in rows() {
        for radix in [2, 3, 10, 26, 36, 62, 256, 1000, 11_172, 32_769, 65_535, 65_536] {
            let pair = Pair::new(device, cipher, radix, &mut random);
            let longest =
                (2..=200).take_while(|length| pair.cpu.outline(*length).is_some()).last().unwrap();
            for round in 0..rounds {
                let length = match round {
                    0 => longest,
                    _ => random.random_range(2..=longest),
                };
                let count =
                    [1, random.random_range(2..1024), random.random_range(1024..2500)][round % 3];
                let values = pair.values(count * length, &mut random);
                let tweak_bytes = random.random_range(0..70);
                let mut tweaks = vec![0; count * 71];
                random.fill_bytes(&mut tweaks);
                let shown = format!("tweaks of {tweak_bytes} bytes");
                pair.check(Tweaks::One(&tweaks[..tweak_bytes]), &values, length, &shown);
                let packed = Tweaks::Packed { bytes: &tweaks[..count * tweak_bytes], tweak_bytes };
                pair.check(packed, &values, length, &format!("{shown} each"));
                if round == 1 {
                    let each: Vec<&[u8]> =
                        (0..count).map(|i| &tweaks[71 * i..][..[3, 16, 0, 71][i % 4]]).collect();
                    pair.check(Tweaks::Each(&each), &values, length, "tweaks of any length");
                }
            }
            let ends = [vec![0; longest], vec![(radix - 1) as u16; longest]].concat();
            pair.check(Tweaks::One(b""), &ends, longest, "the lowest and the highest");
            assert_eq!(pair.device.counts().cpu_values, 0, "{}", pair.what);
        }
    }
}

/// Chunks of a tile or two, tiles that are not full, and more values than one run may have.
#[test]
fn any_number_of_values_goes_through() {
    let Some(device) = opencl::device("any_number_of_values_goes_through") else { return };
    let mut random = StdRng::seed_from_u64(19);
    let tweaks: Vec<u8> = (0..6000 * 12_u32).map(|i| (i * 7) as u8).collect();
    for name in ["aes-128", "pipo-256"] {
        let mut pair = Pair::new(device, cipher(name).unwrap(), 10, &mut random);
        let key = vec![3; cipher(name).unwrap().key_bytes];
        let one_tile =
            Ff1Settings { lanes: Settings { lanes: 2, chunk_bytes: 100 << 10 }, values_min: 0 };
        pair.device = device.ff1(cipher(name).unwrap(), &key, 10, ANY, one_tile).unwrap();
        pair.cpu = ff1(cipher(name).unwrap(), &key, Backend::auto(), 10, ANY).unwrap();
        for count in [1, 1023, 1024, 1025, 2048, 5999] {
            let values = pair.values(count * 16, &mut random);
            pair.check(Tweaks::One(b"all"), &values, 16, "one tweak");
            let packed = Tweaks::Packed { bytes: &tweaks[..12 * count], tweak_bytes: 12 };
            pair.check(packed, &values, 16, "a tweak for each");
        }
        pair.check(Tweaks::One(b"all"), &[], 16, "none at all");
    }
}

#[test]
fn values_may_stay_there_and_be_page_locked() {
    let Some(device) = opencl::device("values_may_stay_there_and_be_page_locked") else { return };
    let mut random = StdRng::seed_from_u64(20);
    for name in ["aria-192", "pipo-128"] {
        let pair = Pair::new(device, cipher(name).unwrap(), 10, &mut random);
        let mut values = pair.values(3000 * 16, &mut random);
        let bytes: Vec<u8> = values.iter().flat_map(|numeral| numeral.to_le_bytes()).collect();
        let mut resident = pair.device.resident(b"tweak", &bytes, 16).unwrap();
        let mut locked = device.page_locked(bytes.len()).unwrap();
        locked.copy_from_slice(&bytes);
        for times in 1..=2 {
            pair.cpu.seal_batch(Tweaks::One(b"tweak"), &mut values, 16).unwrap();
            let expected: Vec<u8> =
                values.iter().flat_map(|numeral| numeral.to_le_bytes()).collect();
            resident.seal().unwrap();
            let mut found = vec![0; bytes.len()];
            resident.store(&mut found).unwrap();
            assert!(found == expected, "{name}: {times} times, resident");
            pair.device.seal_page_locked(b"tweak", &mut locked, 16).unwrap();
            assert!(locked[..] == expected, "{name}: {times} times, page-locked");
        }
        let refused = pair.device.resident(b"", &[0; 2 * 300], 300).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "value of 300 numerals in radix 10, must have 2 to 56",
            "halves of more than 96 bits are the CPU's"
        );
    }
}

#[test]
fn what_is_no_work_for_a_device_is_done_on_the_cpu() {
    let Some(device) = opencl::device("what_is_no_work_for_a_device_is_done_on_the_cpu") else {
        return;
    };
    let mut random = StdRng::seed_from_u64(21);
    let mut pair = Pair::new(device, cipher("aes-256").unwrap(), 10, &mut random);
    let long = vec![7; 2000];
    for (tweak, length, why) in
        [(&b"t"[..], 57, "wide halves"), (&b"t"[..], 400, "long values"), (&long, 16, "tweaks")]
    {
        let values = pair.values(10 * length, &mut random);
        let each: Vec<&[u8]> = vec![tweak; 10];
        pair.check(Tweaks::Each(&each), &values, length, why);
    }
    assert_eq!(pair.device.counts().device_values, 0);
    assert_eq!(pair.device.counts().cpu_values, 60);
    let few = Ff1Settings { values_min: 100, ..SMALL };
    let key = [3; 32];
    pair.device = device.ff1(cipher("aes-256").unwrap(), &key, 10, ANY, few).unwrap();
    pair.cpu = ff1(cipher("aes-256").unwrap(), &key, Backend::auto(), 10, ANY).unwrap();
    for (count, shown) in [(99, "few"), (100, "enough")] {
        let values = pair.values(count * 9, &mut random);
        pair.check(Tweaks::One(b""), &values, 9, shown);
    }
    // of tweaks of two lengths one is common, the other rare
    let each: Vec<&[u8]> =
        (0..120).map(|i| if i % 10 == 0 { &b"rare one"[..] } else { &b"all"[..] }).collect();
    let values = pair.values(120 * 9, &mut random);
    pair.check(Tweaks::Each(&each), &values, 9, "tweaks of two lengths, a common and a rare one");
    let counts = pair.device.counts();
    assert_eq!((counts.device_values, counts.cpu_values), (416, 222));
    let counts = [counts.copying_ns, counts.computing_ns];
    assert!(counts.into_iter().all(|ns| ns > 0), "{counts:?}");
}

#[test]
fn a_device_lost_midway_leaves_the_values_as_they_were() {
    let Some(device) = opencl::device("a_device_lost_midway_leaves_the_values_as_they_were") else {
        return;
    };
    let mut random = StdRng::seed_from_u64(22);
    let pair = Pair::new(device, cipher("pipo-128").unwrap(), 36, &mut random);
    let values = pair.values(40_000 * 12, &mut random);
    let tweaks: Vec<u8> = (0..40_000_u32).flat_map(u32::to_be_bytes).collect();
    let each: Vec<&[u8]> =
        tweaks.chunks(4).map(|tweak| &tweak[..[4, 3][usize::from(tweak[3] % 2)]]).collect();
    for failure in [Failure::Run(0), Failure::Run(2), Failure::Download(0), Failure::Download(2)] {
        let failing = failing(device, failure);
        let keyed = failing
            .ff1(cipher("pipo-128").unwrap(), &[1; 16], 36, Domain::Standard, SMALL)
            .unwrap();
        for tweaks in [
            Tweaks::One(b"one"),
            Tweaks::Packed { bytes: &tweaks, tweak_bytes: 4 },
            Tweaks::Each(&each),
        ] {
            let mut found = values.clone();
            let error = keyed.seal_batch(tweaks, &mut found, 12).unwrap_err();
            let Error::Lost { left: Left::AsItWas, .. } = &error else {
                panic!("{failure:?}: {error}")
            };
            assert!(found == values, "{failure:?}: changed");
            assert!(
                error.to_string().contains("the device was taken away; the data is as it was\n"),
                "{error}"
            );
            let error = keyed.open_batch(tweaks, &mut found, 12).unwrap_err();
            assert!(matches!(error, Error::Lost { .. }) && found == values, "{failure:?}: {error}");
        }
        let mut locked = failing.page_locked(2 * values.len()).unwrap();
        let error = keyed.seal_page_locked(b"", &mut locked, 12).unwrap_err();
        assert!(matches!(error, Error::Lost { left: Left::Wiped, .. }), "{error}");
        assert!(locked.iter().all(|byte| *byte == 0), "{failure:?}: left values behind");
    }
}

#[test]
fn memory_that_a_device_lacks_and_kernels_that_do_not_compile_are_one_error() {
    let Some(device) =
        opencl::device("memory_that_a_device_lacks_and_kernels_that_do_not_compile_are_one_error")
    else {
        return;
    };
    let aes = cipher("aes-256").unwrap();
    let huge = Ff1Settings { lanes: Settings { lanes: 2, chunk_bytes: 1 << 46 }, values_min: 0 };
    let keyed = device.ff1(aes, &[1; 32], 10, Domain::Standard, huge).unwrap();
    let mut values = vec![7; 16 * 5000];
    let error = keyed.seal_batch(Tweaks::One(b""), &mut values, 16).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { left: Left::AsItWas, .. }), "{error}");
    assert!(values.iter().all(|numeral| *numeral == 7));
    let broken = failing(device, Failure::Source("\n#error broken on purpose\n"));
    let error = broken.ff1(aes, &[1; 32], 10, Domain::Standard, SMALL).unwrap_err();
    let Error::Compile { cipher: "aes-256", log, .. } = &error else { panic!("{error}") };
    assert!(log.contains("broken on purpose"), "{log}");
}

#[test]
fn what_ff1_refuses_is_refused_before_anything_is_computed() {
    let Some(device) = opencl::device("what_ff1_refuses_is_refused_before_anything_is_computed")
    else {
        return;
    };
    let aes = cipher("aes-128").unwrap();
    let refused =
        |key: &[u8], radix| device.ff1(aes, key, radix, Domain::Standard, SMALL).unwrap_err();
    assert_eq!(refused(&[1; 15], 10), Error::Ff1(Ff1Error::KeyLength { found: 15, want: 16 }));
    assert_eq!(refused(&[1; 16], 1), Error::Ff1(Ff1Error::Radix { found: 1 }));
    let keyed = device.ff1(aes, &[1; 16], 10, Domain::Standard, SMALL).unwrap();
    let mut values = vec![3; 60];
    values[41] = 10;
    let before = values.clone();
    for (tweaks, length, expected) in [
        (Tweaks::One(b""), 6, Ff1Error::Symbol { value: 6, position: 5, found: 10, radix: 10 }),
        (Tweaks::One(b""), 5, Ff1Error::Length { found: 5, least: 6, most: 4096, radix: 10 }),
        (Tweaks::One(b""), 7, Ff1Error::Values { found: 60, length: 7 }),
        (Tweaks::Each(&[b""]), 6, Ff1Error::Tweaks { found: 1, want: 10 }),
        (
            Tweaks::Packed { bytes: b"abc", tweak_bytes: 2 },
            6,
            Ff1Error::PackedTweaks { found: 3, tweak_bytes: 2, values: 10 },
        ),
    ] {
        assert_eq!(keyed.seal_batch(tweaks, &mut values, length), Err(Error::Ff1(expected)));
        assert_eq!(values, before);
    }
}
