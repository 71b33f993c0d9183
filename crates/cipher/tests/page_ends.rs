//! Buffers that end with a page behind which nothing may be read or written: every cipher, mode and
//! backend gives the same results there as elsewhere, touches nothing beyond the end (the process
//! would die of it) and writes nothing before the beginning.
#![cfg(unix)]

use sealstone_cipher::cbc::cbc;
use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::hmac::{Message, hmac, macs};
use sealstone_cipher::testing::{Behind, PageEnd, bytes};
use sealstone_cipher::{Backend, Cipher, aead, blocks, cbc_cs1, ciphers, cmac, ctr, hctr2};

const LENGTH_MAX: usize = 4200;
/// Bytes in front of the buffer that are looked at.
const FENCE_BYTES: usize = 128;

/// Returns every length around a vector, and some around batches.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=200).chain([
        255, 257, 500, 511, 513, 1000, 1023, 1025, 1040, 1500, 2049, 4095, 4096, 4097, LENGTH_MAX,
    ])
}

/// Compares the results of `call` for `data` at the end of a page and elsewhere.
fn compare(what: &str, memory: &mut PageEnd, data: &[u8], call: &dyn Fn(&mut [u8]) -> Vec<u8>) {
    let mut elsewhere = data.to_vec();
    let wanted = call(&mut elsewhere);
    memory.before_end(data.len() + FENCE_BYTES, 0).fill(0xa5);
    let place = memory.before_end(data.len(), 0);
    place.copy_from_slice(data);
    assert_eq!(call(place), wanted, "{what}: {} bytes", data.len());
    assert_eq!(place, elsewhere, "{what}: {} bytes", data.len());
    let fence = &memory.before_end(data.len() + FENCE_BYTES, 0)[..FENCE_BYTES];
    assert!(
        fence.iter().all(|byte| *byte == 0xa5),
        "{what}: {} bytes: wrote before its buffer",
        data.len()
    );
}

fn check(cipher: &'static Cipher, backend: Backend) {
    let what = |mode: &str| format!("{} {mode} on {}", cipher.name, backend.name());
    let key = bytes("page end key", cipher.key_bytes);
    let (nonce, counter) =
        (bytes("nonce", cipher.nonce_bytes()), bytes("counter", cipher.block_bytes));
    let (sealing, counting) =
        (aead(cipher, &key, backend).unwrap(), ctr(cipher, &key, backend).unwrap());
    let (whole, chained) =
        (blocks(cipher, &key, backend).unwrap(), cbc(cipher, &key, backend).unwrap());
    let mac = cmac(cipher, &key, backend).unwrap();
    let wide = hctr2(cipher, &key, backend).ok();
    let stealing = cbc_cs1(cipher, &key, backend).ok();
    let records = cbc_feistel(cipher, [&key, &key], backend).ok();
    let mut memory = PageEnd::new(LENGTH_MAX + FENCE_BYTES, Behind::Unreadable).unwrap();
    for length in lengths() {
        let data = bytes("page end data", length);
        compare(&what("seal"), &mut memory, &data, &|data| {
            sealing.seal(&nonce, b"page", data).unwrap().to_vec()
        });
        let mut sealed = data.clone();
        let tag = sealing.seal(&nonce, b"page", &mut sealed).unwrap();
        compare(&what("open"), &mut memory, &sealed, &|data| {
            sealing.open(&nonce, b"page", data, &tag).unwrap();
            Vec::new()
        });
        compare(&what("associated"), &mut memory, &data, &|data| {
            sealing.seal(&nonce, data, &mut []).unwrap().to_vec()
        });
        compare(&what("ctr"), &mut memory, &data, &|data| {
            counting.apply(&counter, 0, data).unwrap();
            Vec::new()
        });
        compare(&what("cmac"), &mut memory, &data, &|data| mac.mac(data).unwrap());
        if let Some(wide) = wide.as_ref().filter(|_| length >= 16) {
            compare(&what("hctr2"), &mut memory, &data, &|data| {
                wide.encrypt(b"tweak", data).unwrap();
                let encrypted = data.to_vec();
                wide.decrypt(b"tweak", data).unwrap();
                encrypted
            });
            // a tweak up to the end of a page
            compare(&what("hctr2 tweak"), &mut memory, &data, &|data| {
                let mut page = [7; 40];
                wide.encrypt(data, &mut page).unwrap();
                page.to_vec()
            });
        }
        if let Some(stealing) = stealing.as_ref().filter(|_| length >= 16) {
            compare(&what("cbc-cs1"), &mut memory, &data, &|data| {
                stealing.encrypt(&[7; 16], data).unwrap();
                let encrypted = data.to_vec();
                stealing.decrypt(&[7; 16], data).unwrap();
                encrypted
            });
        }
        if let Some(records) = &records {
            compare(&what("cbc-feistel"), &mut memory, &data, &|data| {
                records.encrypt(&mut records.begin(&[7; 16]).unwrap(), data).unwrap();
                let encrypted = data.to_vec();
                records.decrypt(&mut records.begin(&[7; 16]).unwrap(), data).unwrap();
                encrypted
            });
        }
        if length.is_multiple_of(cipher.block_bytes) {
            compare(&what("blocks"), &mut memory, &data, &|data| {
                whole.encrypt(data).unwrap();
                let encrypted = data.to_vec();
                whole.decrypt(data).unwrap();
                encrypted
            });
            compare(&what("cbc"), &mut memory, &data, &|data| {
                chained.encrypt(&counter, data).unwrap();
                let encrypted = data.to_vec();
                chained.decrypt(&counter, data).unwrap();
                encrypted
            });
        }
    }
}

fn check_macs(backend: Backend) {
    let mut memory = PageEnd::new(LENGTH_MAX + FENCE_BYTES, Behind::Unreadable).unwrap();
    for mac in macs() {
        let keyed = hmac(mac, &bytes("page end key", mac.key_bytes), backend).unwrap();
        for length in lengths() {
            let what = format!("{} on {}", mac.name, backend.name());
            compare(&what, &mut memory, &bytes("page end data", length), &|data| {
                let mut tags = [[0; 16]; 20];
                keyed.tags(&[Message { data, tail: b"tail" }; 20], &mut tags);
                let at_end = keyed.tag(&Message { data: b"head", tail: data });
                [tags.as_flattened(), &at_end, &keyed.tag(&Message { data, tail: &[] })].concat()
            });
        }
    }
}

macro_rules! on_every_backend {
    ($($name:ident)*) => {
        $(#[test] fn $name() {
            match Backend::by_name(stringify!($name)) {
                Ok(backend) => {
                    ciphers().iter().for_each(|cipher| check(cipher, backend));
                    check_macs(backend);
                }
                Err(error) => println!("SKIP: page_ends::{}: {error}", stringify!($name)),
            }
        })*
    };
}

on_every_backend!(portable aesni avx2 vaes avx512);
