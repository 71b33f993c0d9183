//! Reference versions of the modes, as plain as their standards: one block at a time, GHASH bit by
//! bit, no backend.
//!
//! Slow, not constant time in every part, and for tests only. It shares no code with what it
//! checks.

mod ff1;
mod hctr2;

pub use ff1::ff1;
pub use hctr2::hctr2;

use crate::facts::Cipher;
use crate::modes::Mode;
pub use crate::reference::EncryptBlock;

/// Returns the block cipher under `key`, as the cipher's row has it.
///
/// # Panics
/// If `key` has the wrong length.
pub fn block_cipher(cipher: &Cipher, key: &[u8]) -> EncryptBlock {
    assert_eq!(key.len(), cipher.key_bytes, "{}", cipher.name);
    (cipher.evidence.reference)(key)
}

/// Counter mode over the last `counting_bytes` of the block: XORs `data` with the key stream from
/// `counter` on.
pub fn ctr(encrypt: &EncryptBlock, counter: &[u8], counting_bytes: usize, data: &mut [u8]) {
    let mut counter = counter.to_vec();
    for piece in data.chunks_mut(counter.len()) {
        let mut stream = counter.clone();
        encrypt(&mut stream);
        for (byte, key) in piece.iter_mut().zip(stream) {
            *byte ^= key;
        }
        let fixed_bytes = counter.len() - counting_bytes;
        for byte in counter[fixed_bytes..].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }
}

/// CBC encryption of `data`, whole blocks (SP 800-38A, 6.2).
pub fn cbc(encrypt: &EncryptBlock, iv: &[u8], data: &mut [u8]) {
    let mut previous = iv.to_vec();
    for block in data.chunks_mut(iv.len()) {
        for (byte, previous) in block.iter_mut().zip(&previous) {
            *byte ^= previous;
        }
        encrypt(block);
        previous.copy_from_slice(block);
    }
}

/// CBC-CS1 encryption of `data`, a block and more (SP 800-38A, addendum): whole blocks after
/// zeros, less as many bytes of the last block but one.
pub fn cbc_cs1(encrypt: &EncryptBlock, iv: &[u8], data: &mut [u8]) {
    let missing = data.len().next_multiple_of(iv.len()) - data.len();
    let mut padded = data.to_vec();
    padded.resize(data.len() + missing, 0);
    cbc(encrypt, iv, &mut padded);
    let last = padded.split_off(padded.len() - iv.len());
    padded.truncate(padded.len() - missing);
    data.copy_from_slice(&[padded, last].concat());
}

/// CBC encryption of the whole blocks of `data`, from the encrypted `nonce` on, and ten rounds of a
/// Feistel network over the rest (docs/formats.md, section 19). The first of the ciphers is for
/// blocks, the second for the rest.
pub fn cbc_feistel(ciphers: [&EncryptBlock; 2], nonce: &[u8; 16], data: &mut [u8]) {
    let [blocks, ends] = ciphers;
    let mut last = nonce.to_vec();
    blocks(&mut last);
    let (whole, end) = data.split_at_mut(data.len() / 16 * 16);
    cbc(blocks, &last, whole);
    if let Some(block) = whole.last_chunk::<16>() {
        last = block.to_vec();
    }
    if end.is_empty() {
        return;
    }
    ends(&mut last);
    let length = end.len() as u32;
    let bits = if length == 1 { [4, 4] } else { [length / 2 * 8, length.div_ceil(2) * 8] };
    let number = end.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    let mut halves = [number >> bits[1], number & ((1 << bits[1]) - 1)];
    for round in 0..10 {
        let (to, from) = (round % 2, 1 - round % 2);
        let mut block = vec![round as u8, length as u8];
        block.extend(&halves[from].to_be_bytes()[16 - bits[from].div_ceil(8) as usize..]);
        block.resize(16, 0);
        for (byte, last) in block.iter_mut().zip(&last) {
            *byte ^= last;
        }
        ends(&mut block);
        let sum = block.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
        // of a nibble the lower one of the first byte
        let sum = if length == 1 { sum >> 120 & 0x0f } else { sum >> (128 - bits[to]) };
        halves[to] ^= sum;
    }
    let number = halves[0] << bits[1] | halves[1];
    end.copy_from_slice(&number.to_be_bytes()[16 - end.len()..]);
}

/// Returns the CMAC over `message` (SP 800-38B, 6.2), with blocks of 8 or 16 bytes.
pub fn cmac(encrypt: &EncryptBlock, block_bytes: usize, message: &[u8]) -> Vec<u8> {
    // Blocks as numbers; blocks of 8 bytes are the low half.
    let bits = 8 * block_bytes as u32;
    let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    let bytes = |number: u128| number.to_be_bytes()[16 - block_bytes..].to_vec();
    let encrypt = |block: u128| {
        let mut block = bytes(block);
        encrypt(&mut block);
        number(&block)
    };
    let double = |x: u128| {
        let reduction = if x >> (bits - 1) & 1 == 0 {
            0
        } else if bits == 128 {
            0x87
        } else {
            0x1b
        };
        let doubled = x << 1;
        (if bits == 128 { doubled } else { doubled & u128::from(u64::MAX) }) ^ reduction
    };
    let k1 = double(encrypt(0));
    let count = message.len().div_ceil(block_bytes).max(1);
    let mut sum = 0;
    for i in 0..count {
        let rest = &message[i * block_bytes..];
        let mut block = rest[..rest.len().min(block_bytes)].to_vec();
        let mut subkey = 0;
        if i + 1 == count {
            subkey = k1;
            if block.len() < block_bytes {
                subkey = double(k1);
                block.push(0x80);
                block.resize(block_bytes, 0);
            }
        }
        sum = encrypt(sum ^ number(&block) ^ subkey);
    }
    bytes(sum)
}

/// Seals `data` in place under the cipher's authenticated mode and returns the tag.
pub fn seal(
    cipher: &Cipher,
    key: &[u8],
    nonce: &[u8],
    associated: &[u8],
    data: &mut [u8],
) -> [u8; 16] {
    match cipher.mode {
        Mode::Gcm => gcm(&block_cipher(cipher, key), nonce, associated, data),
        Mode::CtrMac => ctr_mac(cipher, key, nonce, associated, data),
        other => panic!("{} is no authenticated mode of encryption", other.word()),
    }
}

/// GCM encryption with a nonce of any length but none (SP 800-38D, 7.1).
pub fn gcm(encrypt: &EncryptBlock, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> [u8; 16] {
    let mut hash_key = [0; 16];
    encrypt(&mut hash_key);
    let mut first = [0; 16];
    if nonce.len() == 12 {
        first[..12].copy_from_slice(nonce);
        first[15] = 1;
    } else {
        first = ghash(hash_key, &[], nonce);
    }
    // The first counter block masks the tag, its successor starts the data: run them as one stream.
    let mut stream = vec![0; 16 + data.len()];
    stream[16..].copy_from_slice(data);
    ctr(encrypt, &first, 4, &mut stream);
    data.copy_from_slice(&stream[16..]);
    let mut tag = ghash(hash_key, associated, data);
    for (byte, mask) in tag.iter_mut().zip(&stream[..16]) {
        *byte ^= mask;
    }
    tag
}

/// GHASH over both parts, each padded to whole blocks, and their lengths in bits (SP 800-38D, 6.4).
fn ghash(hash_key: [u8; 16], associated: &[u8], text: &[u8]) -> [u8; 16] {
    let hash_key = u128::from_be_bytes(hash_key);
    let mut sum = 0;
    for piece in associated.chunks(16).chain(text.chunks(16)) {
        let mut block = [0; 16];
        block[..piece.len()].copy_from_slice(piece);
        sum = multiply(sum ^ u128::from_be_bytes(block), hash_key);
    }
    let bits = (associated.len() as u128 * 8) << 64 | (text.len() as u128 * 8);
    multiply(sum ^ bits, hash_key).to_be_bytes()
}

/// Returns the product in GCM's field, whose first bit is the coefficient of 1 (SP 800-38D, 6.3,
/// algorithm 1).
fn multiply(x: u128, y: u128) -> u128 {
    let (mut product, mut power) = (0, y);
    for i in (0..128).rev() {
        if x >> i & 1 == 1 {
            product ^= power;
        }
        power = if power & 1 == 1 { power >> 1 ^ 0xe1 << 120 } else { power >> 1 };
    }
    product
}

/// Counter mode plus MAC, as docs/formats.md has it.
fn ctr_mac(
    cipher: &Cipher,
    key: &[u8],
    nonce: &[u8],
    associated: &[u8],
    data: &mut [u8],
) -> [u8; 16] {
    let subkey = |purpose: &str| {
        let context = format!("sealstone 2026-11 ctr+mac v1 {} {purpose}", cipher.name);
        blake3::derive_key(&context, key)
    };
    let encrypt = block_cipher(cipher, &subkey("cipher key")[..cipher.key_bytes]);
    ctr(&encrypt, nonce, nonce.len(), data);
    let lengths = [associated.len() as u64, data.len() as u64].map(u64::to_le_bytes).concat();
    let input = [nonce, &lengths, associated, data].concat();
    let hash = blake3::keyed_hash(&subkey("mac key"), &input);
    hash.as_bytes()[..16].try_into().expect("16 of 32 bytes")
}
