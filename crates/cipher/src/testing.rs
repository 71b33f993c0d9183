//! The conformance suite, which every implementation of a cipher must pass, fast or slow, built in
//! or from a plug-in.
//!
//! It takes a way to set a key and checks published vectors, lengths on every boundary, counters
//! just below a carry, misaligned buffers, pieces against the whole, forgeries and refused
//! arguments, each against a plain [`mod@reference`]. A failed check panics with the cipher, the
//! backend and the input's shape; checks that were impossible are counted in the [`Summary`].

mod blocks;
mod cbc_cs1;
mod cbc_feistel;
mod debug_output;
mod ff1;
mod hctr2;
mod hmac;
mod misaligned_buffer;
mod parts;
mod pseudorandom;
pub mod reference;
mod summary;
pub mod vectors;

#[cfg(all(target_os = "linux", not(miri)))]
pub use crate::arch::fork;

use crate::aead::{Aead, Context, Part, PartError, aead};
use crate::backend::Backend;
use crate::cbc::cbc;
use crate::cbc_cs1::cbc_cs1;
use crate::cbc_feistel::cbc_feistel;
use crate::cmac::cmac;
use crate::ctr::{Ctr, ctr};
use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
use crate::modes::Mode;
use debug_output::assert_prints_no_key;
use misaligned_buffer::Misaligned;
use parts::aead_parts;
use summary::offered_key;
use vectors::{Case, vectors_of};

pub use crate::arch::allocations::{CountingAllocator, allocations};
pub use crate::arch::memcheck;
#[cfg(all(unix, not(miri)))]
pub use crate::arch::page_end::{Behind, PageEnd};
pub use crate::block::toy::CIPHERS as TOY_CIPHERS;
pub use blocks::{
    MakeBlocks, MakeCbc, MakeCmac, blocks_conformance, cbc_conformance, cmac_conformance,
};
pub use cbc_cs1::{MakeCbcCs1, cbc_cs1_conformance};
pub use cbc_feistel::{MakeCbcFeistel, cbc_feistel_conformance};
pub use ff1::ff1_conformance;
pub use hctr2::{MakeHctr2, hctr2_conformance};
pub use hmac::{MakeHmac, hmac_conformance};
pub use pseudorandom::bytes;
pub use summary::Summary;

/// Sets a key for an AEAD under test.
pub type MakeAead<'a> = &'a dyn Fn(&[u8]) -> Result<Protected<dyn Aead>, Error>;

/// Sets a key for a counter mode under test.
pub type MakeCtr<'a> = &'a dyn Fn(&[u8]) -> Result<Protected<dyn Ctr>, Error>;

/// Makes `rows` known to [`crate::registry::cipher`] and [`crate::registry::cipher_by_id`] of this
/// process, so that a store sealed with them opens again. No list shows them.
///
/// # Panics
/// If rows were added before, or a name or an id is in use.
pub fn add_ciphers(rows: &'static [Cipher]) {
    for row in rows {
        let taken = crate::registry::ciphers()
            .iter()
            .find(|other| other.id == row.id || other.name == row.name);
        if let Some(taken) = taken {
            panic!("{} has the name or the id of {}", row.name, taken.name);
        }
    }
    assert!(crate::test_rows::add(rows), "ciphers were added before");
}

/// Message lengths in bytes around every boundary that an implementation may have: the block, small
/// vectors of blocks, 255 blocks (every possible tail of a wide loop), batches and 16 KiB.
pub fn lengths(block_bytes: usize) -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..=2 * block_bytes + 1).collect();
    for blocks in [
        3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 96, 127, 128, 129, 192, 255,
        256,
    ] {
        lengths.extend([blocks * block_bytes - 1, blocks * block_bytes, blocks * block_bytes + 1]);
    }
    // the rest after a batch of blocks
    for blocks in [66, 68, 72, 76, 80, 136, 137] {
        lengths.extend([blocks * block_bytes - 3, blocks * block_bytes, blocks * block_bytes + 5]);
    }
    lengths.extend([1000, 1500, 4095, 4096, 4097, 16383, 16384, 16385]);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// Checks `cipher` in `mode`, one of [`Cipher::modes`], on `backend`, by the constructors that
/// everybody has.
///
/// # Panics
/// At the first failed check, naming it.
pub fn conformance(cipher: &'static Cipher, mode: Mode, backend: Backend) -> Summary {
    match mode {
        Mode::Gcm | Mode::CtrMac => aead_conformance(cipher, &|key| aead(cipher, key, backend)),
        Mode::Ctr => ctr_conformance(cipher, &|key| ctr(cipher, key, backend)),
        Mode::Cbc => cbc_conformance(cipher, &|key| cbc(cipher, key, backend)),
        Mode::Cmac => cmac_conformance(cipher, &|key| cmac(cipher, key, backend)),
        Mode::Ff1 => ff1_conformance(cipher, backend),
        Mode::Hctr2 => hctr2_conformance(cipher, &|key| crate::hctr2::hctr2(cipher, key, backend)),
        Mode::CbcCs1 => cbc_cs1_conformance(cipher, &|key| cbc_cs1(cipher, key, backend)),
        Mode::CbcFeistel => {
            cbc_feistel_conformance(cipher, &|keys| cbc_feistel(cipher, keys, backend))
        }
    }
}

/// Checks an AEAD: `make` sets a key of `cipher.key_bytes` bytes for the cipher's authenticated
/// mode.
///
/// # Panics
/// At the first failed check, naming it.
pub fn aead_conformance(cipher: &'static Cipher, make: MakeAead) -> Summary {
    let mut summary = Summary::default();
    aead_vectors(cipher, make, &mut summary);
    aead_lengths(cipher, make, &mut summary);
    aead_counters(cipher, make, &mut summary);
    aead_forgeries(cipher, make, &mut summary);
    let key = make(&bytes("key of parts", cipher.key_bytes)).expect("a key of the right length");
    aead_parts(cipher, &*key, &mut summary);
    aead_arguments(cipher, make);
    aead_threads(cipher, make);
    assert!(
        summary.vectors > 0,
        "{}: no vector was of use: {:?}",
        cipher.name,
        summary.not_offered
    );
    summary
}

/// Checks a counter mode: `make` sets a key of `cipher.key_bytes` bytes.
///
/// # Panics
/// At the first failed check, naming it.
pub fn ctr_conformance(cipher: &'static Cipher, make: MakeCtr) -> Summary {
    let mut summary = Summary::default();
    ctr_vectors(cipher, make, &mut summary);
    ctr_lengths(cipher, make, &mut summary);
    ctr_pieces(cipher, make);
    ctr_arguments(cipher, make);
    assert!(
        summary.vectors > 0,
        "{}: no vector was of use: {:?}",
        cipher.name,
        summary.not_offered
    );
    summary
}

fn aead_vectors(cipher: &'static Cipher, make: MakeAead, summary: &mut Summary) {
    for vector in vectors_of(cipher) {
        let Case::Aead { nonce, associated, plaintext, ciphertext, tag } = &vector.case else {
            continue;
        };
        let Some(key) = offered_key(cipher, vector, summary) else { continue };
        let aead = make(&key).expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", cipher.name, aead.backend(), vector.place, vector.source);
        let mut opened = ciphertext.clone();
        let result = aead.open(nonce, associated, &mut opened, tag);
        if nonce.len() != aead.nonce_bytes() {
            let refused = Error::NonceLength { found: nonce.len(), want: aead.nonce_bytes() };
            assert_eq!(result, Err(refused), "{what}: nonce");
            assert_zeroed(&opened, &what);
            // The implementation must refuse this nonce; it still shows whether the reference can
            // be trusted.
            if let (Mode::Gcm, Some(plaintext)) = (cipher.mode, plaintext) {
                let mut sealed = plaintext.clone();
                let found = reference::gcm(
                    &reference::block_cipher(cipher, &key),
                    nonce,
                    associated,
                    &mut sealed,
                );
                assert_eq!((&sealed, &found), (ciphertext, tag), "reference, {what}");
            }
        } else if let Some(plaintext) = plaintext {
            assert_eq!(result, Ok(()), "{what}: open");
            assert_eq!(&opened, plaintext, "{what}: open");
            let mut sealed = plaintext.clone();
            assert_eq!(aead.seal(nonce, associated, &mut sealed).as_ref(), Ok(tag), "{what}: tag");
            assert_eq!(&sealed, ciphertext, "{what}: seal");
        } else {
            assert_eq!(result, Err(Error::Authentication), "{what}: must not open");
            assert_zeroed(&opened, &what);
        }
        summary.vectors += 1;
    }
}

fn assert_zeroed(data: &[u8], what: &str) {
    assert!(data.iter().all(|byte| *byte == 0), "{what}: data is not zeroed after a failure");
}

/// Seals and opens one message at one alignment and compares with the reference.
fn compare_aead(
    cipher: &Cipher,
    (key, aead): (&[u8], &dyn Aead),
    nonce: &[u8],
    associated: &[u8],
    plaintext: &[u8],
    offset: usize,
) {
    let what = format!(
        "{} on {}, {} bytes, {} associated, offset {offset}",
        cipher.name,
        aead.backend(),
        plaintext.len(),
        associated.len()
    );
    let mut ciphertext = plaintext.to_vec();
    let tag = reference::seal(cipher, key, nonce, associated, &mut ciphertext);
    let associated = Misaligned::new(associated, offset / 2);
    let associated = associated.shared();

    let mut buffer = Misaligned::new(plaintext, offset);
    let found = aead.seal(nonce, associated, buffer.data());
    assert!(buffer.data() == ciphertext, "{what}: ciphertext differs");
    assert_eq!(found, Ok(tag), "{what}: tag differs");
    buffer.check_fence(&what);

    // a message without data beside it, bound to something else
    let head_associated = &associated[associated.len() / 3..];
    let mut head_nonce = nonce.to_vec();
    head_nonce[0] ^= 0x80;
    let head_tag = reference::seal(cipher, key, &head_nonce, head_associated, &mut []);
    let head = Context { nonce: &head_nonce, associated: head_associated };
    let mut buffer = Misaligned::new(plaintext, offset);
    let found = aead.seal_with_head(head, Context { nonce, associated }, buffer.data());
    assert!(buffer.data() == ciphertext, "{what}: ciphertext differs beside a head");
    assert_eq!(found, Ok([head_tag, tag]), "{what}: tags differ beside a head");
    buffer.check_fence(&what);

    let mut buffer = Misaligned::new(&ciphertext, offset);
    assert_eq!(aead.open(nonce, associated, buffer.data(), &tag), Ok(()), "{what}: does not open");
    assert!(buffer.data() == plaintext, "{what}: opens to something else");
    buffer.check_fence(&what);
    let context = Context { nonce, associated };
    compare_stretches((aead, &what), context, (&ciphertext, &tag), plaintext, offset);
}

/// Opens stretches of the message `sealed`: all of it, nothing, and what begins or ends beside the
/// boundaries of blocks and batches.
fn compare_stretches(
    (aead, what): (&dyn Aead, &str),
    context: Context<'_>,
    (sealed, tag): (&[u8], &[u8; 16]),
    plaintext: &[u8],
    offset: usize,
) {
    let length = sealed.len();
    let source = Misaligned::new(sealed, (offset + 5) % 16);
    let ends = [1, 15, 16, 17, 100, 512, 1007, 1008, 1009, 1024, 1500];
    let mut stretches = vec![(0, length), (0, 0), (length, length), (length / 3, length / 2)];
    stretches.extend(ends.iter().flat_map(|&end| [(0, end), (end, length), (end, length / 2)]));
    stretches.extend(ends.map(|end| (length.saturating_sub(end), length)));
    for (from, to) in stretches {
        if from > to || to > length {
            continue;
        }
        let what = format!("{what}: bytes {from} to {to}");
        let mut out = Misaligned::new(&vec![0xa5; to - from], offset);
        let part = Part { context, sealed: source.shared(), tag, skip: from, bytes: to - from };
        let opened = aead.open_parts(&[part], out.data());
        assert_eq!(opened, Ok(()), "{what}: does not open");
        assert!(out.data() == &plaintext[from..to], "{what}: opens to something else");
        out.check_fence(&what);
    }
}

fn aead_lengths(cipher: &'static Cipher, make: MakeAead, summary: &mut Summary) {
    let key = bytes("key", cipher.key_bytes);
    let aead = make(&key).expect("a key of the right length");
    let (text, associated) = (bytes("text", 16385), bytes("associated", 600));
    for (i, length) in lengths(cipher.block_bytes).into_iter().enumerate() {
        let nonce = bytes(&format!("nonce {length}"), cipher.nonce_bytes());
        let associated = &associated[..[0, 1, 16, 13, 31, 64, 512, 600][i % 8]];
        let offsets: &[usize] =
            if length <= 80 { &[0, 1, 7, 13] } else { &[[0, 1, 3, 8, 15][i % 5]] };
        for offset in offsets {
            compare_aead(cipher, (&key, &*aead), &nonce, associated, &text[..length], *offset);
            summary.messages += 1;
        }
    }
    for associated_bytes in 0..associated.len() {
        let nonce = bytes(&format!("associated {associated_bytes}"), cipher.nonce_bytes());
        compare_aead(
            cipher,
            (&key, &*aead),
            &nonce,
            &associated[..associated_bytes],
            &text[..associated_bytes % 3],
            0,
        );
        summary.messages += 1;
    }
}

/// Nonces whose counters carry within the message. GCM counts in 32 bits of its own that no allowed
/// message exhausts; only for 64-bit blocks is the nonce the first counter block.
fn aead_counters(cipher: &'static Cipher, make: MakeAead, summary: &mut Summary) {
    let key = bytes("counter key", cipher.key_bytes);
    let aead = make(&key).expect("a key of the right length");
    let text = bytes("counter text", 300 * 16);
    for low in [u64::MAX, u64::from(u32::MAX), 0xffff, 0xff] {
        for below in [0, 1, 7, 31, 32, 255] {
            let mut nonce = vec![0xff; cipher.nonce_bytes()];
            let tail = nonce.len() - 8;
            nonce[tail..].copy_from_slice(&low.wrapping_sub(below).to_be_bytes());
            compare_aead(cipher, (&key, &*aead), &nonce, b"", &text, 0);
            summary.messages += 1;
        }
    }
}

fn aead_forgeries(cipher: &'static Cipher, make: MakeAead, summary: &mut Summary) {
    let key = bytes("forgery key", cipher.key_bytes);
    let aead = make(&key).expect("a key of the right length");
    let nonce = bytes("forgery nonce", cipher.nonce_bytes());
    let associated = bytes("forgery associated", 21);
    for length in [0, 1, 37, 4101] {
        let mut sealed = bytes("forgery text", length);
        let tag = aead.seal(&nonce, &associated, &mut sealed).expect("allowed arguments");
        let mut refused = |nonce: &[u8],
                           associated: &[u8],
                           ciphertext: &[u8],
                           tag: &[u8; 16],
                           what: &dyn Fn() -> String| {
            let mut data = ciphertext.to_vec();
            let result = aead.open(nonce, associated, &mut data, tag);
            let what =
                || format!("{} on {}, {length} bytes: {}", cipher.name, aead.backend(), what());
            assert_eq!(result, Err(Error::Authentication), "{}", what());
            assert_zeroed(&data, &what());
            // all of it, and a stretch that may be far from what was changed
            for from in [0, ciphertext.len() - ciphertext.len() / 3] {
                let mut out = vec![0xa5; ciphertext.len() - from];
                let context = Context { nonce, associated };
                let part = Part { context, sealed: ciphertext, tag, skip: from, bytes: out.len() };
                let result = aead.open_parts(&[part], &mut out);
                let refused = PartError { index: 0, error: Error::Authentication };
                assert_eq!(result, Err(refused), "{}, from {from}", what());
                assert_zeroed(&out, &what());
            }
            summary.forgeries += 1;
        };
        for (at, bit) in (0..16).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut forged = tag;
            forged[at] ^= 1 << bit;
            refused(&nonce, &associated, &sealed, &forged, &|| {
                format!("bit {bit} of tag byte {at}")
            });
        }
        let step = if length > 100 { 61 } else { 1 };
        for at in (0..length).step_by(step).chain(length.checked_sub(1)) {
            let mut forged = sealed.clone();
            forged[at] ^= 1 << (at % 8);
            refused(&nonce, &associated, &forged, &tag, &|| format!("ciphertext byte {at}"));
        }
        for at in 0..associated.len() {
            let mut forged = associated.clone();
            forged[at] ^= 1 << (at % 8);
            refused(&nonce, &forged, &sealed, &tag, &|| format!("associated byte {at}"));
        }
        for at in 0..nonce.len() {
            let mut forged = nonce.clone();
            forged[at] ^= 1 << (at % 8);
            refused(&forged, &associated, &sealed, &tag, &|| format!("nonce byte {at}"));
        }
        let padded = [&sealed[..], &[0]].concat();
        refused(&nonce, &associated, &padded, &tag, &|| "a zero byte more".to_owned());
        refused(&nonce, &[&associated[..], &[0]].concat(), &sealed, &tag, &|| {
            "an associated zero more".to_owned()
        });
        refused(&nonce, &associated[1..], &sealed, &tag, &|| {
            "first associated byte gone".to_owned()
        });
        refused(&nonce, &associated, &sealed, &[0; 16], &|| "a tag of zeros".to_owned());
        if length > 0 {
            refused(&nonce, &associated, &sealed[..length - 1], &tag, &|| {
                "last byte gone".to_owned()
            });
            let (moved, rest) = sealed.split_at(1);
            let longer = [&associated[..], moved].concat();
            refused(&nonce, &longer, rest, &tag, &|| {
                "a byte moved to the associated data".to_owned()
            });
        }
        let other =
            make(&bytes("another key", cipher.key_bytes)).expect("a key of the right length");
        let mut data = sealed.clone();
        assert_eq!(
            other.open(&nonce, &associated, &mut data, &tag),
            Err(Error::Authentication),
            "another key opens"
        );
        assert_zeroed(&data, cipher.name);
        assert_eq!(
            aead.open(&nonce, &associated, &mut sealed, &tag),
            Ok(()),
            "the true message no longer opens"
        );
    }
}

fn aead_arguments(cipher: &'static Cipher, make: MakeAead) {
    for found in [0, cipher.key_bytes - 1, cipher.key_bytes + 1] {
        let want = cipher.key_bytes;
        assert_eq!(
            make(&vec![0; found]).err(),
            Some(Error::KeyLength { found, want }),
            "{} key",
            cipher.name
        );
    }
    let key = bytes("printed key", cipher.key_bytes);
    let aead = make(&key).expect("a key of the right length");
    assert_prints_no_key(&format!("{aead:?} {aead:#?}"), &key);
    assert_eq!(aead.nonce_bytes(), cipher.nonce_bytes());
    assert_eq!(aead.limits(), cipher.limits);
    for found in [0, aead.nonce_bytes() - 1, aead.nonce_bytes() + 1, 16] {
        let refused = Error::NonceLength { found, want: aead.nonce_bytes() };
        let (nonce, mut data) = (vec![0; found], *b"text");
        assert_eq!(aead.seal(&nonce, b"", &mut data), Err(refused));
        assert_eq!(&data, b"text", "{}: seal changed data it refused", cipher.name);
        let (wrong, right) = (vec![0; found], vec![0; aead.nonce_bytes()]);
        for nonces in [[&wrong, &right], [&right, &wrong]] {
            let [head, body] = nonces.map(|nonce| Context { nonce, associated: b"" });
            assert_eq!(aead.seal_with_head(head, body, &mut data), Err(refused));
            assert_eq!(&data, b"text", "{}: seal changed data it refused", cipher.name);
        }
        assert_eq!(aead.open(&nonce, b"", &mut data, &[0; 16]), Err(refused));
        assert_zeroed(&data, cipher.name);
        let (context, mut out) = (Context { nonce: &nonce, associated: b"" }, [7; 2]);
        let part = Part { context, sealed: b"text", tag: &[0; 16], skip: 1, bytes: 2 };
        let refused = PartError { index: 0, error: refused };
        assert_eq!(aead.open_parts(&[part], &mut out), Err(refused));
        assert_zeroed(&out, cipher.name);
    }
    // Only where the limit fits in memory can it be overstepped.
    let limit = cipher.limits.message_bytes;
    if limit <= 64 << 20 {
        let refused = Error::MessageTooLong { found: limit + 1, limit };
        let (nonce, mut data) = (vec![0; aead.nonce_bytes()], vec![7; limit as usize + 1]);
        assert_eq!(aead.seal(&nonce, b"", &mut data), Err(refused));
        assert!(
            data.iter().all(|byte| *byte == 7),
            "{}: seal changed data it refused",
            cipher.name
        );
        let (context, mut out) = (Context { nonce: &nonce, associated: b"" }, [7; 2]);
        let part = Part { context, sealed: &data, tag: &[0; 16], skip: 1, bytes: 2 };
        let of_part = PartError { index: 0, error: refused };
        assert_eq!(aead.open_parts(&[part], &mut out), Err(of_part));
        assert_zeroed(&out, cipher.name);
        assert_eq!(aead.open(&nonce, b"", &mut data, &[0; 16]), Err(refused));
        assert_zeroed(&data, cipher.name);
    }
}

/// One object serves many threads at once.
fn aead_threads(cipher: &'static Cipher, make: MakeAead) {
    let key = bytes("thread key", cipher.key_bytes);
    let aead = &*make(&key).expect("a key of the right length");
    let text = bytes("thread text", 1000);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (key, text) = (&key, &text);
            scope.spawn(move || {
                for message in 0..16 {
                    let nonce = bytes(&format!("thread {thread} {message}"), aead.nonce_bytes());
                    compare_aead(cipher, (key, aead), &nonce, b"shared", text, 0);
                }
            });
        }
    });
}

fn ctr_vectors(cipher: &'static Cipher, make: MakeCtr, summary: &mut Summary) {
    for vector in vectors_of(cipher) {
        let what = format!("{} ({})", vector.place, vector.source);
        match &vector.case {
            Case::Block { plaintext, ciphertext } => {
                let Some(key) = offered_key(cipher, vector, summary) else { continue };
                let ctr = make(&key).expect("a key of the right length");
                // The key stream under a counter block is that block's encryption.
                for (plain, encrypted) in
                    plaintext.chunks(cipher.block_bytes).zip(ciphertext.chunks(cipher.block_bytes))
                {
                    let mut block = vec![0; cipher.block_bytes];
                    assert_eq!(ctr.apply(plain, 0, &mut block), Ok(()));
                    assert_eq!(block, encrypted, "{what} on {}", ctr.backend());
                }
            }
            Case::Ctr { counter, plaintext, ciphertext } => {
                let Some(key) = offered_key(cipher, vector, summary) else { continue };
                let ctr = make(&key).expect("a key of the right length");
                for (from, to) in [(plaintext, ciphertext), (ciphertext, plaintext)] {
                    let mut data = from.clone();
                    assert_eq!(ctr.apply(counter, 0, &mut data), Ok(()));
                    assert_eq!(&data, to, "{what} on {}", ctr.backend());
                }
            }
            Case::Cbc { .. }
            | Case::CbcCs1 { .. }
            | Case::Cmac { .. }
            | Case::Hmac { .. }
            | Case::Ff1 { .. }
            | Case::Hctr2 { .. }
            | Case::Aead { .. } => continue,
        }
        summary.vectors += 1;
    }
}

/// Counter blocks that carry soon: into the second, third, fifth and ninth byte, and around the
/// end.
fn counters(block_bytes: usize) -> Vec<Vec<u8>> {
    let mut counters = vec![vec![0; block_bytes]];
    for ones in [1, 2, 4, 8, 16] {
        for below in [0, 1, 2, 31, 32, 200] {
            let mut counter = bytes("counter", block_bytes);
            let fixed = block_bytes.saturating_sub(ones);
            counter[fixed..].fill(0xff);
            counter[block_bytes - 1] -= below;
            counters.push(counter);
        }
    }
    counters
}

fn ctr_lengths(cipher: &'static Cipher, make: MakeCtr, summary: &mut Summary) {
    let key = bytes("ctr key", cipher.key_bytes);
    let ctr = make(&key).expect("a key of the right length");
    let encrypt = reference::block_cipher(cipher, &key);
    let text = bytes("ctr text", 16385);
    let counters = counters(cipher.block_bytes);
    let compare = |counter: &[u8], length: usize, offset: usize| {
        let what = format!(
            "{} on {}, counter {counter:02x?}, {length} bytes, offset {offset}",
            cipher.name,
            ctr.backend()
        );
        let mut expected = text[..length].to_vec();
        reference::ctr(&encrypt, counter, cipher.block_bytes, &mut expected);
        let mut buffer = Misaligned::new(&text[..length], offset);
        assert_eq!(ctr.apply(counter, 0, buffer.data()), Ok(()), "{what}");
        assert!(buffer.data() == expected, "{what}: differs from the reference");
        buffer.check_fence(&what);
    };
    for (i, length) in lengths(cipher.block_bytes).into_iter().enumerate() {
        for offset in [0, 1, 5, 8] {
            compare(&counters[i % counters.len()], length, offset);
            summary.messages += 1;
        }
    }
    for counter in &counters {
        for blocks in [1, 2, 33, 64, 255] {
            compare(counter, blocks * cipher.block_bytes + 3, 0);
            summary.messages += 1;
        }
    }
}

/// Pieces taken each at its own offset, in reverse order, give what one call gives; and large
/// offsets count on.
fn ctr_pieces(cipher: &'static Cipher, make: MakeCtr) {
    let ctr = make(&bytes("piece key", cipher.key_bytes)).expect("a key of the right length");
    let text = bytes("piece text", 5000);
    for (at, counter) in counters(cipher.block_bytes).into_iter().enumerate() {
        let mut whole = text.clone();
        assert_eq!(ctr.apply(&counter, 0, &mut whole), Ok(()));
        for piece_bytes in [1, 7, cipher.block_bytes - 1, cipher.block_bytes + 1, 61, 1023, 4999] {
            // each piece is a call, which takes a device long: thousands of them under a few
            // counters, no two of which carry into the same byte
            let taken = match piece_bytes {
                1 => at == 0 || at == 22,
                2..=17 => at == 0 || at % 7 == 1,
                _ => true,
            };
            if !taken {
                continue;
            }
            let mut pieces = text.clone();
            for (i, piece) in pieces.chunks_mut(piece_bytes).enumerate().rev() {
                assert_eq!(ctr.apply(&counter, (i * piece_bytes) as u64, piece), Ok(()));
            }
            assert!(
                pieces == whole,
                "{} on {}: pieces of {piece_bytes} bytes differ",
                cipher.name,
                ctr.backend()
            );
        }
    }
    let ones = (1_u64 << 32).wrapping_mul(cipher.block_bytes as u64);
    for offset_bytes in [ones - 100, ones, ones + 3, u64::MAX - 7000] {
        let (initial, mut far) = (bytes("far counter", cipher.block_bytes), text.clone());
        assert_eq!(ctr.apply(&initial, offset_bytes, &mut far), Ok(()));
        let mut near = text.clone();
        let skip = (offset_bytes % cipher.block_bytes as u64) as usize;
        let counter = advance(&initial, offset_bytes / cipher.block_bytes as u64);
        assert_eq!(ctr.apply(&counter, skip as u64, &mut near), Ok(()));
        assert!(far == near, "{} on {}: offset {offset_bytes} differs", cipher.name, ctr.backend());
    }
}

/// Returns the counter block `blocks` after `counter`.
fn advance(counter: &[u8], blocks: u64) -> Vec<u8> {
    let mut sum = counter.to_vec();
    let mut carry = u128::from(blocks);
    for byte in sum.iter_mut().rev() {
        carry += u128::from(*byte);
        *byte = carry as u8;
        carry >>= 8;
    }
    sum
}

fn ctr_arguments(cipher: &'static Cipher, make: MakeCtr) {
    for found in [0, cipher.key_bytes - 1, cipher.key_bytes + 1] {
        let want = cipher.key_bytes;
        assert_eq!(
            make(&vec![0; found]).err(),
            Some(Error::KeyLength { found, want }),
            "{} key",
            cipher.name
        );
    }
    let key = bytes("printed key", cipher.key_bytes);
    let ctr = make(&key).expect("a key of the right length");
    assert_prints_no_key(&format!("{ctr:?} {ctr:#?}"), &key);
    assert_eq!(ctr.block_bytes(), cipher.block_bytes);
    for found in [0, 1, 12, cipher.block_bytes + 1] {
        let mut data = *b"text";
        let refused = Error::NonceLength { found, want: cipher.block_bytes };
        assert_eq!(ctr.apply(&vec![0; found], 0, &mut data), Err(refused));
        assert_eq!(&data, b"text");
    }
}
