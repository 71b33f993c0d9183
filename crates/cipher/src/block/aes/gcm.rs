//! AES-GCM (SP 800-38D) in one pass: the rounds of one batch of counter blocks and the hash of a batch of ciphertext
//! side by side, since neither waits for the other.
//!
//! Sealing hashes the batch before the one it encrypts; opening hashes the batch it decrypts, and wipes what it
//! decrypted where the tag turns out wrong.

use std::hint::black_box;

use subtle::ConstantTimeEq;

use super::lanes::{LaneKeys, encrypt, last_round, round, take_counters, whiten, xor_whole};
use crate::aead::{Aead, Context, Error};
use crate::arch::{AesLanes, Kernel};
use crate::mode::gcm::{Head, first_counter};
use crate::mode::ghash::{BATCH, Powers, Products, absorb, absorb_batch, hash_head, lengths, set_powers};
use crate::registry::Limits;

/// AES of `R` rounds in GCM.
pub(super) struct AesGcm<L, const R: usize> {
    lanes: L,
    limits: Limits,
    keys: LaneKeys,
    powers: Powers,
}

impl<L: AesLanes, const R: usize> AesGcm<L, R> {
    /// Sets `key`, of (R - 6) words, in place, so that no copy stays behind.
    pub(super) fn boxed(lanes: L, limits: Limits, key: &[u8]) -> Box<dyn Aead> {
        let mut gcm = Box::new(Self { lanes, limits, keys: LaneKeys::zero(), powers: Powers::zero() });
        let Self { keys, powers, .. } = &mut *gcm;
        lanes.enter(SetKey::<R> { key, keys, powers });
        gcm
    }
}

struct SetKey<'a, const R: usize> {
    key: &'a [u8],
    keys: &'a mut LaneKeys,
    powers: &'a mut Powers,
}

impl<L: AesLanes, const R: usize> Kernel<L> for SetKey<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.keys.expand::<L, R>(lanes, self.key);
        let mut hash_key = [lanes.zero()];
        encrypt::<L, R, 1>(lanes, self.keys, &mut hash_key);
        set_powers(lanes, &lanes.to_block(hash_key[0]), self.powers);
    }
}

impl<L: AesLanes, const R: usize> Aead for AesGcm<L, R> {
    fn nonce_bytes(&self) -> usize {
        12
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let counter = first_counter(&self.limits, nonce, data)?;
        let [_, tag] = self.lanes.enter(Crypt::<L, R, true> { gcm: self, head: None, counter, associated, data });
        Ok(tag)
    }

    fn seal_with_head(&self, head: Context<'_>, body: Context<'_>, data: &mut [u8]) -> Result<[[u8; 16]; 2], Error> {
        let head = Some(Head::new(&self.limits, head)?);
        let counter = first_counter(&self.limits, body.nonce, data)?;
        let associated = body.associated;
        Ok(self.lanes.enter(Crypt::<L, R, true> { gcm: self, head, counter, associated, data }))
    }

    fn open(&self, nonce: &[u8], associated: &[u8], data: &mut [u8], tag: &[u8; 16]) -> Result<(), Error> {
        // A wrong length is the caller's error and told apart; it depends on no secret.
        let counter = first_counter(&self.limits, nonce, data).inspect_err(|_| data.fill(0))?;
        let crypt = Crypt::<L, R, false> { gcm: self, head: None, counter, associated, data };
        let [_, expected] = self.lanes.enter(crypt);
        if bool::from(expected.ct_eq(tag)) {
            Ok(())
        } else {
            data.fill(0);
            Err(Error::Authentication)
        }
    }
}

/// Encrypts (`SEAL`) or decrypts `data` and computes the tags: of the head, zeros if there is none, and of the message.
struct Crypt<'a, L, const R: usize, const SEAL: bool> {
    gcm: &'a AesGcm<L, R>,
    head: Option<Head<'a>>,
    /// From [`first_counter`].
    counter: [u8; 16],
    associated: &'a [u8],
    data: &'a mut [u8],
}

impl<L: AesLanes, const R: usize, const SEAL: bool> Kernel<L> for Crypt<'_, L, R, SEAL> {
    type Output = [[u8; 16]; 2];

    #[inline(always)]
    fn run(self, lanes: L) -> [[u8; 16]; 2] {
        let Self { gcm: AesGcm { keys, powers, .. }, head, counter, associated, data } = self;
        let lengths = lengths(associated, data.len());
        let mut mask = [lanes.first(&counter)];
        let mut head_tag = [0; 16];
        if let Some(head) = head {
            let mut masks = [mask[0], lanes.first(&head.counter)];
            encrypt::<L, R, 2>(lanes, keys, &mut masks);
            head_tag = lanes.to_block(lanes.xor(hash_head(lanes, powers, head.associated), masks[1]));
            mask = [masks[0]];
        } else {
            encrypt::<L, R, 1>(lanes, keys, &mut mask);
        }
        let mut hash = absorb(lanes, powers, lanes.zero(), associated);
        let mut counters = lanes.count(lanes.counters(&counter), 1);

        let batch_bytes = BATCH * L::BYTES;
        let (whole, rest) = data.split_at_mut(data.len() / batch_bytes * batch_bytes);
        if !SEAL {
            for batch in whole.chunks_exact_mut(batch_bytes) {
                let stream;
                (stream, hash) = encrypt_and_hash::<L, R>(lanes, keys, powers, &mut counters, hash, batch);
                xor_whole(lanes, &stream, batch);
            }
        } else if !whole.is_empty() {
            let mut stream = take_counters::<L, BATCH>(lanes, &mut counters);
            encrypt::<L, R, BATCH>(lanes, keys, &mut stream);
            xor_whole(lanes, &stream, &mut whole[..batch_bytes]);
            let mut start = batch_bytes;
            while start < whole.len() {
                let (before, batch) = whole.split_at_mut(start);
                let hashed = &before[start - batch_bytes..];
                let stream;
                (stream, hash) = encrypt_and_hash::<L, R>(lanes, keys, powers, &mut counters, hash, hashed);
                xor_whole(lanes, &stream, &mut batch[..batch_bytes]);
                start += batch_bytes;
            }
            hash = absorb_batch(lanes, powers, hash, &whole[start - batch_bytes..]);
        }
        let hash = match rest.len().div_ceil(L::BYTES) {
            0 => crypt_rest::<L, R, 0, SEAL>(lanes, keys, powers, counters, hash, rest, lengths),
            1 => crypt_rest::<L, R, 1, SEAL>(lanes, keys, powers, counters, hash, rest, lengths),
            2 => crypt_rest::<L, R, 2, SEAL>(lanes, keys, powers, counters, hash, rest, lengths),
            3 | 4 => crypt_rest::<L, R, 4, SEAL>(lanes, keys, powers, counters, hash, rest, lengths),
            _ => crypt_rest::<L, R, BATCH, SEAL>(lanes, keys, powers, counters, hash, rest, lengths),
        };
        [head_tag, lanes.to_block(lanes.xor(lanes.reverse_bytes(hash), mask[0]))]
    }
}

/// The key stream of one batch, and the hash with the batch `hashed` taken in: a vector of it goes beside each round.
#[inline(always)]
fn encrypt_and_hash<L: AesLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    powers: &Powers,
    counters: &mut L::Vector,
    hash: L::Vector,
    hashed: &[u8],
) -> ([L::Vector; BATCH], L::Vector) {
    const { assert!(BATCH < R) };
    let mut stream = take_counters::<L, BATCH>(lanes, counters);
    whiten(lanes, keys, &mut stream);
    let mut products = Products::zero(lanes);
    // Compilers would unroll this loop and put all products first; then nothing runs side by side. They cannot where
    // they do not know its length.
    for i in 1..black_box(BATCH) {
        round(lanes, keys, i, &mut stream);
        let blocks = lanes.reverse_bytes(lanes.load(&hashed[i * L::BYTES..]));
        products.add(lanes, blocks, powers, (BATCH - i) * L::BLOCKS);
    }
    // The first vector takes in the hash so far, which may just be ready by now.
    round(lanes, keys, BATCH, &mut stream);
    let first = lanes.xor(lanes.reverse_bytes(lanes.load(hashed)), hash);
    products.add(lanes, first, powers, BATCH * L::BLOCKS);
    for r in BATCH + 1..R {
        round(lanes, keys, r, &mut stream);
    }
    let hash = products.hash(lanes);
    last_round::<L, R, BATCH>(lanes, keys, &mut stream);
    (stream, hash)
}

/// Encrypts or decrypts `rest`, at most `N` vectors and less than a batch, and takes its ciphertext and the lengths
/// into the hash, which is now complete.
#[inline(always)]
fn crypt_rest<L: AesLanes, const R: usize, const N: usize, const SEAL: bool>(
    lanes: L,
    keys: &LaneKeys,
    powers: &Powers,
    counters: L::Vector,
    hash: L::Vector,
    rest: &mut [u8],
    lengths: u128,
) -> L::Vector {
    let mut counters = counters;
    let mut stream = take_counters::<L, N>(lanes, &mut counters);
    encrypt::<L, R, N>(lanes, keys, &mut stream);
    let mut products = Products::zero(lanes);
    let mut carried = hash;
    // The lengths come after the data's blocks.
    let mut exponent = rest.len().div_ceil(16) + 1;
    for (vector, key) in rest.chunks_mut(L::BYTES).zip(stream) {
        let ciphertext = if vector.len() == L::BYTES {
            let input = lanes.load(vector);
            let output = lanes.xor(input, key);
            lanes.store(output, vector);
            if SEAL { output } else { input }
        } else {
            let input = lanes.load_partial(vector);
            let output = lanes.xor(input, key);
            lanes.store_partial(output, vector);
            if SEAL { lanes.keep(output, vector.len()) } else { input }
        };
        products.add(lanes, lanes.xor(lanes.reverse_bytes(ciphertext), carried), powers, exponent);
        carried = lanes.zero();
        exponent = exponent.saturating_sub(L::BLOCKS);
    }
    let last = lanes.xor(lanes.first(&lengths.to_le_bytes()), carried);
    products.add(lanes, last, powers, 1);
    products.hash(lanes)
}
