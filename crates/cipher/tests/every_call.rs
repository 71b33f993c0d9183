//! Every public call of every cipher on every backend, once each on a few lengths, against the
//! results of `portable`: small enough to run under Miri (`make miri`), which checks each memory
//! access of the `unsafe` code.

use sealstone_cipher::cbc::{cbc, pad, unpad};
use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::ff1::{Domain, Tweaks, ff1, takes};
use sealstone_cipher::hmac::{Message, hmac, macs};
use sealstone_cipher::testing::bytes;
use sealstone_cipher::{
    Aead, Backend, Cipher, Context, Error, aead, blocks, cbc_cs1, ciphers, cmac, ctr, hctr2,
};

/// Lengths in bytes: parts of blocks and of vectors, and more than a batch.
const LENGTHS: &[usize] =
    if cfg!(miri) { &[13, 150] } else { &[0, 1, 13, 16, 63, 64, 70, 130, 500, 1100] };

/// Largest number of bytes of a message that go one block after the other: under Miri a pass over
/// several blocks takes seconds.
const CHAINED_BYTES_MAX: usize = if cfg!(miri) { 40 } else { 1100 };

/// Returns all that `cipher` makes of one message, one after the other.
fn outputs(cipher: &'static Cipher, backend: Backend, length: usize) -> Vec<Vec<u8>> {
    let key = bytes("every call key", cipher.key_bytes);
    let (nonce, iv) = (bytes("nonce", cipher.nonce_bytes()), bytes("iv", cipher.block_bytes));
    let plain = bytes("every call data", length);
    let mut outputs = sealed(&*aead(cipher, &key, backend).unwrap(), &nonce, &plain);

    let counting = ctr(cipher, &key, backend).unwrap();
    for offset_bytes in [0, 3] {
        let mut data = plain.clone();
        counting.apply(&iv, offset_bytes, &mut data).unwrap();
        outputs.push(data);
    }
    let (whole, chained) =
        (blocks(cipher, &key, backend).unwrap(), cbc(cipher, &key, backend).unwrap());
    let plain = &plain[..length.min(CHAINED_BYTES_MAX)];
    let mut padded = plain.to_vec();
    pad(&mut padded, cipher.block_bytes);
    let mut data = padded.clone();
    whole.encrypt(&mut data).unwrap();
    outputs.push(data.clone());
    whole.decrypt(&mut data).unwrap();
    assert_eq!(data, padded);
    chained.encrypt(&iv, &mut data).unwrap();
    outputs.push(data.clone());
    chained.decrypt(&iv, &mut data).unwrap();
    unpad(&mut data, cipher.block_bytes).unwrap();
    assert_eq!(data, plain);
    let mac = cmac(cipher, &key, backend).unwrap();
    outputs.push(mac.mac(plain).unwrap());
    assert_eq!(mac.verify(plain, outputs.last().unwrap()), Ok(()));
    if cipher.block_bytes == 16 && plain.len() >= 16 {
        let wide = hctr2(cipher, &key, backend).unwrap();
        let mut data = plain.to_vec();
        wide.encrypt(b"tweak", &mut data).unwrap();
        outputs.push(data.clone());
        wide.decrypt(b"tweak", &mut data).unwrap();
        assert_eq!(data, plain);
        let stealing = cbc_cs1(cipher, &key, backend).unwrap();
        let iv = stealing.iv(&[9; 16]).unwrap();
        stealing.encrypt(&iv, &mut data).unwrap();
        outputs.push(data.clone());
        stealing.decrypt(&iv, &mut data).unwrap();
        assert_eq!(data, plain);
    }
    // some fifty passes of one block, each of which takes long under Miri
    if cipher.block_bytes == 16 && (length % 16 == 13 || !cfg!(miri)) {
        let records = cbc_feistel(cipher, [&key, &key], backend).unwrap();
        let mut data = plain.to_vec();
        records.encrypt(&mut records.begin(&[9; 16]).unwrap(), &mut data).unwrap();
        outputs.push(data.clone());
        records.decrypt(&mut records.begin(&[9; 16]).unwrap(), &mut data).unwrap();
        assert_eq!(data, plain);
    }
    if takes(cipher) {
        outputs.extend(numerals(cipher, &key, backend, length));
    }
    outputs
}

/// Returns FF1 of values of several lengths, so many that they are `length` numerals in all, or
/// one.
fn numerals(cipher: &'static Cipher, key: &[u8], backend: Backend, length: usize) -> Vec<Vec<u8>> {
    let lengths: &[usize] = if cfg!(miri) { &[6, 40] } else { &[6, 16, 19, 40, 70] };
    let of_length = |numerals: &usize| {
        let keyed = ff1(cipher, key, backend, 36, Domain::Standard).unwrap();
        let plain: Vec<u16> =
            (0..numerals * (length / numerals).max(1)).map(|i| (i * 7 % 36) as u16).collect();
        let mut values = plain.clone();
        keyed.seal_batch(Tweaks::One(b"tweak"), &mut values, *numerals).unwrap();
        let sealed = values.iter().flat_map(|numeral| numeral.to_le_bytes()).collect();
        keyed.open_batch(Tweaks::One(b"tweak"), &mut values, *numerals).unwrap();
        assert_eq!(values, plain);
        sealed
    };
    lengths.iter().map(of_length).collect()
}

fn sealed(keyed: &dyn Aead, nonce: &[u8], plain: &[u8]) -> Vec<Vec<u8>> {
    let mut data = plain.to_vec();
    let tag = keyed.seal(nonce, b"bound", &mut data).unwrap();
    let mut outputs = vec![data.clone(), tag.to_vec()];
    let mut damaged = data.clone();
    assert_eq!(keyed.open(nonce, b"bound", &mut data, &tag), Ok(()));
    assert_eq!(data, plain);
    assert_eq!(keyed.open(nonce, b"other", &mut damaged, &tag), Err(Error::Authentication));
    assert!(damaged.iter().all(|byte| *byte == 0));
    let other: Vec<u8> = nonce.iter().map(|byte| byte ^ 1).collect();
    let (head, body) =
        (Context { nonce: &other, associated: b"head" }, Context { nonce, associated: b"bound" });
    let tags = keyed.seal_with_head(head, body, &mut data).unwrap();
    outputs.extend(tags.map(|tag| tag.to_vec()));
    outputs
}

/// Each cipher of `family` on each backend. Under Miri the first one is enough: it checks the
/// code's use of memory, which no key length changes.
fn every_backend_gives_what_portable_gives(family: &str) {
    let portable = Backend::by_name("portable").unwrap();
    println!("backends: {:?}", Backend::available());
    let members = ciphers().iter().filter(|cipher| family_of(cipher) == family);
    for cipher in members.take(if cfg!(miri) { 1 } else { usize::MAX }) {
        println!("{}", cipher.name);
        for &length in LENGTHS {
            let wanted = outputs(cipher, portable, length);
            for backend in Backend::available().into_iter().filter(|backend| *backend != portable) {
                let found = outputs(cipher, backend, length);
                assert!(found == wanted, "{} on {}, {length} bytes", cipher.name, backend.name());
            }
        }
    }
}

/// Each HMAC on each backend, of one message and of more than a vector has words.
#[test]
fn hmacs() {
    for mac in macs() {
        let tags_on = |backend: Backend| {
            let keyed = hmac(mac, &bytes("every call key", mac.key_bytes), backend).unwrap();
            let text = bytes("every call data", 1100);
            let messages: Vec<Message<'_>> = (0..if cfg!(miri) { 5 } else { 45 })
                .map(|i| Message {
                    data: &text[..LENGTHS[i % LENGTHS.len()]],
                    tail: &text[..i % 7],
                })
                .collect();
            let mut tags = vec![[0; 16]; messages.len()];
            keyed.tags(&messages, &mut tags);
            let verified: Vec<bool> = messages
                .iter()
                .zip(&tags)
                .map(|(message, tag)| keyed.verify(message, &tag[..mac.tag_bytes]).is_ok())
                .collect();
            (tags, verified)
        };
        let wanted = tags_on(Backend::portable());
        assert!(wanted.1.iter().all(|verified| *verified));
        for backend in Backend::available() {
            assert!(tags_on(backend) == wanted, "{} on {}", mac.name, backend.name());
        }
    }
}

/// Returns the name without the length of the key; a name in Rust begins with a letter.
fn family_of(cipher: &Cipher) -> &'static str {
    match cipher.name.split('-').next().unwrap() {
        "3des" => "tdes",
        family => family,
    }
}

/// A test for each family, so that `make miri` can run several at a time.
macro_rules! families {
    ($($family:ident)*) => {
        const FAMILIES: &[&str] = &[$(stringify!($family)),*];

        $(#[test]
        fn $family() {
            every_backend_gives_what_portable_gives(stringify!($family));
        })*
    };
}

families! { aes aria blowfish hight lea pipo seed tdes }

#[test]
fn every_cipher_has_its_test() {
    for cipher in ciphers() {
        assert!(FAMILIES.contains(&family_of(cipher)), "{} is in no family above", cipher.name);
    }
}
