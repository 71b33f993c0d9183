#![forbid(unsafe_code)]
//! Every kernel of counter mode on a real device: published vectors, the conformance suite, any
//! length at any offset beside the CPU, and the state after a failure. The device is `opencl:0`, or
//! the device in SEALSTONE_TEST_DEVICE; PoCL makes one of a CPU.

mod opencl;

use std::fmt;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sealstone_cipher::memory::Protected;
use sealstone_cipher::testing::ctr_conformance;
use sealstone_cipher::{Backend, Cipher, Ctr, Error as CipherError, cipher, ctr};
use sealstone_gpu::testing::{Failure, failing};
use sealstone_gpu::{Device, DeviceCtr, Error, Left, Settings, kernel_names};

use opencl::device;

fn rows() -> impl Iterator<Item = &'static Cipher> {
    kernel_names().into_iter().map(|name| cipher(name).unwrap())
}

const SMALL: Settings = Settings { lanes: 3, chunk_bytes: 64 << 10 };

/// A device as the suite takes ciphers: it fails by a panic.
struct OnDevice(DeviceCtr);

impl fmt::Debug for OnDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Ctr for OnDevice {
    fn block_bytes(&self) -> usize {
        self.0.block_bytes()
    }

    fn backend(&self) -> &'static str {
        "device"
    }

    fn apply(&self, initial: &[u8], offset_bytes: u64, data: &mut [u8]) -> Result<(), CipherError> {
        match self.0.apply(initial, offset_bytes, data) {
            Err(Error::Cipher(error)) => Err(error),
            other => {
                other.expect("a device that works");
                Ok(())
            }
        }
    }
}

#[test]
fn every_kernel_passes_the_conformance_suite() {
    let Some(device) = device("every_kernel_passes_the_conformance_suite") else { return };
    for cipher in rows() {
        let summary = ctr_conformance(cipher, &|key| match device.ctr(cipher, key, SMALL) {
            Ok(keyed) => Ok(Protected::new(OnDevice(keyed)).unsize(|keyed| keyed)),
            Err(Error::Cipher(error)) => Err(error),
            Err(error) => panic!("{error}"),
        });
        println!(
            "{} on {}: {} vectors, {} messages",
            cipher.name,
            device.facts().name,
            summary.vectors,
            summary.messages
        );
    }
}

#[test]
fn any_length_at_any_offset_is_what_the_cpu_makes() {
    let Some(device) = device("any_length_at_any_offset_is_what_the_cpu_makes") else { return };
    let mut random = StdRng::seed_from_u64(18);
    let rounds = if std::env::var_os("SEALSTONE_TEST_DEVICE").is_some() { 200 } else { 24 };
    for cipher in rows() {
        let mut key = vec![0; cipher.key_bytes];
        random.fill_bytes(&mut key);
        let keyed = device.ctr(cipher, &key, SMALL).unwrap();
        let cpu = ctr(cipher, &key, Backend::auto()).unwrap();
        let mut locked = device.page_locked(900_000).unwrap();
        for round in 0..rounds {
            let mut initial = vec![0; cipher.block_bytes];
            random.fill_bytes(&mut initial);
            if round % 3 == 0 {
                // carries through the whole counter
                initial.fill(0xff);
            }
            let offset = random.random::<u64>() >> random.random_range(0..64);
            let length = random.random_range(0..900_000_usize) >> random.random_range(0..16);
            let mut text = vec![0; length];
            random.fill_bytes(&mut text);
            let what = format!("{}, {length} bytes from {offset} of {initial:02x?}", cipher.name);

            let mut expected = text.clone();
            cpu.apply(&initial, offset, &mut expected).unwrap();
            let start = random.random_range(0..9);
            let mut data = vec![0xa5; start + length + 9];
            data[start..start + length].copy_from_slice(&text);
            keyed.apply(&initial, offset, &mut data[start..start + length]).unwrap();
            assert!(data[start..start + length] == expected, "{what}");
            let outside = data[..start].iter().chain(&data[start + length..]);
            assert!(outside.into_iter().all(|byte| *byte == 0xa5), "{what}: wrote outside");

            let mut resident = keyed.resident(&initial, offset, length).unwrap();
            resident.load(&text).unwrap();
            resident.apply().unwrap();
            resident.store(&mut data[..length]).unwrap();
            assert!(data[..length] == expected, "{what}, resident");

            // all of the page-locked memory, the beginning of which is known
            locked.fill(0);
            locked[..length].copy_from_slice(&text);
            keyed.apply_page_locked(&initial, offset, &mut locked).unwrap();
            assert!(locked[..length] == expected, "{what}, page-locked");
        }
    }
}

#[test]
fn one_key_serves_many_threads() {
    let Some(device) = device("one_key_serves_many_threads") else { return };
    let cipher = cipher("aria-256").unwrap();
    let keyed = device.ctr(cipher, &[3; 32], SMALL).unwrap();
    let cpu = ctr(cipher, &[3; 32], Backend::auto()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (keyed, cpu) = (&keyed, &cpu);
            scope.spawn(move || {
                let (mut data, mut expected) = (vec![thread; 300_000], vec![thread; 300_000]);
                keyed.apply(&[thread; 16], 5, &mut data).unwrap();
                cpu.apply(&[thread; 16], 5, &mut expected).unwrap();
                assert!(data == expected, "thread {thread}");
            });
        }
    });
}

#[test]
fn a_device_lost_midway_leaves_the_data_as_it_was() {
    let Some(device) = device("a_device_lost_midway_leaves_the_data_as_it_was") else { return };
    let cipher = cipher("pipo-128").unwrap();
    let text: Vec<u8> = (0..1_000_003_u32).map(|i| (i * 7) as u8).collect();
    for failure in [
        Failure::Run(0),
        Failure::Run(5),
        Failure::Run(15),
        Failure::Download(0),
        Failure::Download(9),
    ] {
        let keyed = failing(device, failure).ctr(cipher, &[1; 16], SMALL).unwrap();
        let mut data = text.clone();
        let error = keyed.apply(&[9; 8], 77, &mut data).unwrap_err();
        let Error::Lost { left: Left::AsItWas, .. } = &error else {
            panic!("{failure:?}: {error}")
        };
        assert!(data == text, "{failure:?}: changed");
        let said = error.to_string();
        assert!(said.contains("the device was taken away; the data is as it was\n"), "{said}");
        assert!(said.starts_with(&format!("{} failed while ", device.facts().name)), "{said}");
    }
}

#[test]
fn a_device_lost_midway_leaves_nothing_in_page_locked_memory() {
    let Some(device) = device("a_device_lost_midway_leaves_nothing_in_page_locked_memory") else {
        return;
    };
    let cipher = cipher("pipo-128").unwrap();
    for failure in [Failure::Run(3), Failure::Download(4)] {
        let failing = failing(device, failure);
        let keyed = failing.ctr(cipher, &[1; 16], SMALL).unwrap();
        let mut data = failing.page_locked(700_000).unwrap();
        data.fill(7);
        let error = keyed.apply_page_locked(&[9; 8], 0, &mut data).unwrap_err();
        assert!(matches!(error, Error::Lost { left: Left::Wiped, .. }), "{error}");
        assert!(data.iter().all(|byte| *byte == 0), "{failure:?}: left data behind");
    }
}

#[test]
fn memory_that_a_device_lacks_is_one_error_and_changes_nothing() {
    let Some(device) = device("memory_that_a_device_lacks_is_one_error_and_changes_nothing") else {
        return;
    };
    let cipher = cipher("aes-256").unwrap();
    // more than any device has, but still a size that can be requested from a driver
    let huge = Settings { lanes: 2, chunk_bytes: 1 << 46 };
    let keyed = device.ctr(cipher, &[1; 32], huge).unwrap();
    let mut data = vec![7; 5000];
    let error = keyed.apply(&[0; 16], 0, &mut data).unwrap_err();
    let Error::OutOfMemory { bytes, left, .. } = &error else { panic!("{error}") };
    assert_eq!((*bytes, *left), (1 << 46, Left::AsItWas));
    assert!(data.iter().all(|byte| *byte == 7));
    let said = error.to_string();
    assert!(
        said.ends_with(
            "has no 70368744177664 bytes of memory left; the data is as it was\n\
             try smaller chunks, or end what else uses the device"
        ),
        "{said}"
    );
    // the device itself is as good as before
    device.ctr(cipher, &[1; 32], SMALL).unwrap().apply(&[0; 16], 0, &mut data).unwrap();
}

#[test]
fn kernels_that_do_not_compile_are_one_error_with_the_compilers_words() {
    let Some(device) = device("kernels_that_do_not_compile_are_one_error_with_the_compilers_words")
    else {
        return;
    };
    let broken = failing(device, Failure::Source("\n#error broken on purpose\n"));
    let error = broken.ctr(cipher("aes-128").unwrap(), &[1; 16], SMALL).unwrap_err();
    let Error::Compile { cipher, log, .. } = &error else { panic!("{error}") };
    assert_eq!(*cipher, "aes-128");
    assert!(log.contains("broken on purpose"), "{log}");
}

#[test]
fn wrong_keys_ciphers_and_names_are_refused() {
    for (name, said) in [
        ("cuda:9999", "there is no device \"cuda:9999\" on this machine: "),
        ("opencl:9999", "there is no device \"opencl:9999\" on this machine: "),
        ("opencl:-1", "there is no device \"opencl:-1\" on this machine: \"-1\" is not a number\n"),
        (
            "gpu",
            "there is no device \"gpu\" on this machine: devices have names such as cuda:0, \
             opencl:0\n",
        ),
    ] {
        let error = Device::open(name).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
        assert!(error.ends_with("\ntry: sealstone ciphers --devices"), "{error}");
    }
    let Some(device) = device("wrong_keys_ciphers_and_names_are_refused") else { return };
    let refused = device.ctr(cipher("aes-128").unwrap(), &[1; 15], SMALL).unwrap_err();
    assert_eq!(refused, Error::Cipher(CipherError::KeyLength { found: 15, want: 16 }));
    let refused = device.ctr(cipher("lea-128").unwrap(), &[1; 16], SMALL).unwrap_err();
    assert_eq!(refused, Error::NoKernel { cipher: "lea-128", known: kernel_names() });
}
