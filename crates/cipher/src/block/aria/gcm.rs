//! ARIA-GCM (SP 800-38D) in one pass: the rounds of one batch of counter blocks and the hash of a batch of ciphertext side
//! by side, since neither waits for the other.
//!
//! The first batch of key stream begins with the mask of the tag, which would cost as much as many blocks if it were
//! encrypted alone. Sealing hashes the batch before the one it encrypts; opening hashes the batch it decrypts, and wipes
//! what it decrypted where the tag turns out wrong.

use subtle::ConstantTimeEq;
use zeroize::optimization_barrier;

use super::lanes::{Beside, Expand, LaneKeys, XorKeystream, encrypt_rows, keystream_beside};
use crate::aead::{Aead, Error};
use crate::arch::{AesLanes, ByteLanes, Kernel, Lanes};
use crate::mode::gcm::first_counter;
use crate::mode::ghash::{BATCH, Powers, Products, absorb, absorb_batch, finish, lengths, set_powers};
use crate::registry::Limits;

/// ARIA of `R` rounds in GCM.
pub(super) struct AriaGcm<L, const R: usize> {
    lanes: L,
    limits: Limits,
    keys: LaneKeys,
    powers: Powers,
}

impl<L: ByteLanes + AesLanes, const R: usize> AriaGcm<L, R> {
    /// Sets `key`, of 4 (R - 8) bytes, in place, so that no copy stays behind.
    pub(super) fn boxed(lanes: L, limits: Limits, key: &[u8]) -> Box<dyn Aead> {
        let mut gcm = Box::new(Self { lanes, limits, keys: LaneKeys::zero(), powers: Powers::zero() });
        let Self { keys, powers, .. } = &mut *gcm;
        Lanes::enter(lanes, SetKey::<R> { key, keys, powers });
        gcm
    }
}

struct SetKey<'a, const R: usize> {
    key: &'a [u8],
    keys: &'a mut LaneKeys,
    powers: &'a mut Powers,
}

impl<L: ByteLanes + AesLanes, const R: usize> Kernel<L> for SetKey<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { key, keys, powers } = self;
        Expand::<R> { key, keys }.run(lanes);
        let mut encrypted = [lanes.splat_block(&[0; 16])];
        encrypt_rows::<L, R, 1>(lanes, keys, &mut encrypted);
        let mut hash_key = [0; 16];
        lanes.xor_partial(encrypted[0], &mut hash_key);
        set_powers(lanes, &hash_key, powers);
        hash_key.fill(0);
        optimization_barrier(&hash_key);
    }
}

impl<L: ByteLanes + AesLanes, const R: usize> Aead for AriaGcm<L, R> {
    fn nonce_bytes(&self) -> usize {
        12
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn backend(&self) -> &'static str {
        Lanes::name(self.lanes)
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let counter = first_counter(&self.limits, nonce, data)?;
        Ok(Lanes::enter(self.lanes, Crypt::<L, R, true> { gcm: self, counter, associated, data }))
    }

    fn open(&self, nonce: &[u8], associated: &[u8], data: &mut [u8], tag: &[u8; 16]) -> Result<(), Error> {
        // A wrong length is the caller's error and told apart; it depends on no secret.
        let counter = first_counter(&self.limits, nonce, data).inspect_err(|_| data.fill(0))?;
        let expected = Lanes::enter(self.lanes, Crypt::<L, R, false> { gcm: self, counter, associated, data });
        if bool::from(expected.ct_eq(tag)) {
            Ok(())
        } else {
            data.fill(0);
            Err(Error::Authentication)
        }
    }
}

/// Encrypts (`SEAL`) or decrypts `data` and computes the tag.
struct Crypt<'a, L, const R: usize, const SEAL: bool> {
    gcm: &'a AriaGcm<L, R>,
    /// The counter block that masks the tag.
    counter: [u8; 16],
    associated: &'a [u8],
    data: &'a mut [u8],
}

/// Bytes in the widest batch of key stream.
const STREAM_BYTES: usize = 1024;

/// The beginning of a key stream: the mask of the tag, then what the first data is encrypted with. Zeroed on drop.
#[repr(align(64))]
struct Stream([u8; STREAM_BYTES]);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(self);
    }
}

impl<L: ByteLanes + AesLanes, const R: usize, const SEAL: bool> Kernel<L> for Crypt<'_, L, R, SEAL> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run(self, lanes: L) -> [u8; 16] {
        const { assert!(batch_bytes::<L>() == STREAM_BYTES && <L as AesLanes>::BYTES == <L as Lanes>::BYTES) };
        let Self { gcm: AriaGcm { keys, powers, .. }, mut counter, associated, data } = self;
        let lengths = lengths(associated, data.len());
        let mut hash = absorb(lanes, powers, lanes.zero(), associated);
        let mut stream = Stream([0; STREAM_BYTES]);
        let head_bytes = batch_bytes::<L>() - 16;
        let hash = if data.len() < head_bytes + batch_bytes::<L>() {
            // too short for anything to go side by side
            let bytes = 16 + data.len().min(head_bytes);
            Lanes::enter(lanes, XorKeystream::<R> { keys, counter: &counter, data: &mut stream.0[..bytes] });
            count_batch::<L>(&mut counter);
            if SEAL {
                xor_all::<L, R>(lanes, keys, &stream, &counter, data);
                finish_all(lanes, powers, hash, data, lengths)
            } else {
                let hash = finish_all(lanes, powers, hash, data, lengths);
                xor_all::<L, R>(lanes, keys, &stream, &counter, data);
                hash
            }
        } else if SEAL {
            let bytes = batch_bytes::<L>();
            Lanes::enter(lanes, XorKeystream::<R> { keys, counter: &counter, data: &mut stream.0[..bytes] });
            xor_bytes(&mut data[..head_bytes], &stream.0[16..]);
            let mut shifted = [0; STREAM_BYTES];
            shift(lanes, hash, &data[..head_bytes], &mut shifted);
            hash = lanes.zero();
            let mut start = head_bytes;
            while start + bytes <= data.len() {
                count_batch::<L>(&mut counter);
                let (before, after) = data.split_at_mut(start);
                let hashed = if start == head_bytes { &shifted[..] } else { &before[start - bytes..] };
                let batch;
                (batch, hash) = keystream_and_hash::<L, R>(lanes, keys, powers, &counter, hash, hashed);
                xor_batch(lanes, batch, &mut after[..bytes]);
                start += bytes;
            }
            count_batch::<L>(&mut counter);
            Lanes::enter(lanes, XorKeystream::<R> { keys, counter: &counter, data: &mut data[start..] });
            finish_all(lanes, powers, hash, &data[start - bytes..], lengths)
        } else {
            let (head, rest) = data.split_at_mut(head_bytes);
            let mut shifted = [0; STREAM_BYTES];
            shift(lanes, hash, head, &mut shifted);
            hash = lanes.zero();
            let mut start = 0;
            let mut of_head = true;
            while of_head || start + batch_bytes::<L>() <= rest.len() {
                let bytes = if of_head { &mut shifted[..] } else { &mut rest[start..] };
                let batch;
                (batch, hash) = keystream_and_hash::<L, R>(lanes, keys, powers, &counter, hash, bytes);
                if of_head {
                    xor_batch(lanes, batch, &mut stream.0[..batch_bytes::<L>()]);
                    of_head = false;
                } else {
                    xor_batch(lanes, batch, &mut bytes[..batch_bytes::<L>()]);
                    start += batch_bytes::<L>();
                }
                count_batch::<L>(&mut counter);
            }
            xor_bytes(head, &stream.0[16..]);
            let tail = &mut rest[start..];
            let hash = finish_all(lanes, powers, hash, tail, lengths);
            Lanes::enter(lanes, XorKeystream::<R> { keys, counter: &counter, data: tail });
            hash
        };
        let mut tag = lanes.to_block(hash);
        xor_bytes(&mut tag, &stream.0);
        tag
    }
}

/// Bytes of key stream in a batch of sliced blocks.
const fn batch_bytes<L: Lanes>() -> usize {
    16 * <L as Lanes>::BYTES
}

/// Goes on to the counter block of the next batch; no message is long enough to wrap.
#[inline(always)]
fn count_batch<L: Lanes>(counter: &mut [u8; 16]) {
    let low: &mut [u8; 4] = counter.last_chunk_mut().expect("four of sixteen bytes");
    *low = u32::from_be_bytes(*low).wrapping_add(<L as Lanes>::BYTES as u32).to_be_bytes();
}

/// XORs `bytes` with the beginning of `stream`.
#[inline(always)]
fn xor_bytes(bytes: &mut [u8], stream: &[u8]) {
    for (byte, key) in bytes.iter_mut().zip(stream) {
        *byte ^= key;
    }
}

/// XORs `data` with the key stream of which `stream` holds the beginning, after the mask, and `counter` begins the rest.
#[inline(always)]
fn xor_all<L: ByteLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    stream: &Stream,
    counter: &[u8; 16],
    data: &mut [u8],
) {
    let (head, tail) = data.split_at_mut(data.len().min(batch_bytes::<L>() - 16));
    xor_bytes(head, &stream.0[16..]);
    if !tail.is_empty() {
        lanes.enter(XorKeystream::<R> { keys, counter, data: tail });
    }
}

/// XORs `bytes`, at most a batch of them, with `stream`.
#[inline(always)]
fn xor_batch<L: ByteLanes>(lanes: L, stream: [L::Vector; 16], bytes: &mut [u8]) {
    for (vector, stream) in bytes.chunks_exact_mut(L::BYTES).zip(stream) {
        lanes.store(lanes.xor(lanes.load(vector), stream), vector);
    }
}

/// Lays out `head` as a batch to be hashed that lacks its first block: with `hash`, which came before it, added to the
/// second.
#[inline(always)]
fn shift<L: AesLanes>(lanes: L, hash: L::Vector, head: &[u8], batch: &mut [u8; STREAM_BYTES]) {
    batch[16..16 + head.len()].copy_from_slice(head);
    xor_bytes(&mut batch[16..32], &lanes.to_block(lanes.reverse_bytes(hash)));
}

/// Takes `rest`, any length, and the block of lengths, and gives GHASH as bytes.
#[inline(always)]
fn finish_all<L: AesLanes>(lanes: L, powers: &Powers, hash: L::Vector, rest: &[u8], lengths: u128) -> L::Vector {
    let mut hash = hash;
    let mut batches = rest.chunks_exact(BATCH * L::BYTES);
    for batch in &mut batches {
        hash = absorb_batch(lanes, powers, hash, batch);
    }
    finish(lanes, powers, hash, batches.remainder(), lengths)
}

/// The key stream of the batch that `counter` begins, and the hash with the batch `hashed` taken in.
#[inline(always)]
fn keystream_and_hash<L: ByteLanes + AesLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    powers: &Powers,
    counter: &[u8; 16],
    hash: <L as AesLanes>::Vector,
    hashed: &[u8],
) -> ([<L as Lanes>::Vector; 16], <L as AesLanes>::Vector) {
    let mut hashing = Hashing { powers, hashed, products: Products::zero(lanes), carried: hash, next: 0 };
    let stream = keystream_beside::<L, R>(lanes, keys, counter, &mut hashing);
    (stream, hashing.carried)
}

/// The hash of a batch of key stream's length, vector by vector.
struct Hashing<'a, L: AesLanes> {
    powers: &'a Powers,
    hashed: &'a [u8],
    products: Products<L>,
    /// The hash so far, until the next vector takes it in.
    carried: L::Vector,
    /// Number of the next vector.
    next: usize,
}

impl<L: AesLanes> Beside<L> for Hashing<'_, L> {
    #[inline(always)]
    fn step(&mut self, lanes: L) {
        // Two batches of the hash are as long as one of the key stream.
        if self.next == 2 * BATCH {
            return;
        }
        let vector = lanes.load(&self.hashed[self.next * L::BYTES..]);
        let blocks = lanes.xor(lanes.reverse_bytes(vector), self.carried);
        self.products.add(lanes, blocks, self.powers, (BATCH - self.next % BATCH) * L::BLOCKS);
        self.next += 1;
        self.carried = lanes.zero();
        if self.next.is_multiple_of(BATCH) {
            self.carried = std::mem::replace(&mut self.products, Products::zero(lanes)).hash(lanes);
        }
    }
}
