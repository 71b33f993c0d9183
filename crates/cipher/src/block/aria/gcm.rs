//! ARIA-GCM (SP 800-38D) in one pass: the rounds of one batch of counter blocks and the hash of a
//! batch of ciphertext side by side, since neither waits for the other.
//!
//! A few blocks take as long as many if they are encrypted alone. So a short message has the blocks
//! that mask its tags in a vector beside its own; a long message has them, and a short tail, beside
//! its first batch. Sealing hashes the batch before the one it encrypts; opening hashes the batch
//! it decrypts, and wipes what it decrypted where the tag turns out wrong.

use zeroize::optimization_barrier;

use super::lanes::{
    Beside, Encrypt, Expand, LaneKeys, ROWS_MAX, RowRounds, XorKeystream, encrypt_rows,
    keystream_beside, xor_rest, xor_rows_beside,
};
use crate::arch::{AesLanes, ByteLanes, Kernel, Lanes};
use crate::declassify::is_tag;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::Protected;
use crate::mode::aead::{Aead, Context, Part, PartError, Unsealed};
use crate::mode::counter_block::{first_counter, first_counter_of};
use crate::mode::gcm::Head;
use crate::mode::ghash::{
    BATCH, LONG, LongPowers, Powers, Products, TagInput, absorb, absorb_batch, field_key_in_lanes,
    finish, hash_head, lengths,
};
use crate::mode::key_stream::EncryptBlocks;
use crate::mode::run::{CipherAndHash, message_counters, open_parts};
use crate::mode::wipe_stack::{WipeStack, wipe_spilled};

/// ARIA of `R` rounds in GCM.
pub(super) struct AriaGcm<L, const R: usize> {
    lanes: L,
    limits: Limits,
    keys: LaneKeys,
    powers: LongPowers,
}

impl<L: ByteLanes + AesLanes, const R: usize> AriaGcm<L, R> {
    /// Sets `key`, of 4 (R - 8) bytes, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, limits: Limits, key: &[u8]) -> Protected<dyn Aead> {
        let mut gcm = Protected::with(|| Self {
            lanes,
            limits,
            keys: LaneKeys::zero(),
            powers: LongPowers(Powers::zero()),
        });
        let Self { keys, powers, .. } = &mut *gcm;
        Lanes::enter(lanes, SetKey::<R> { key, keys, powers: &mut powers.0 });
        gcm.unsize(|gcm| gcm)
    }

    /// Returns the tags of `message`, and overwrites what its kernel may have spilled: rounds of
    /// ARIA and the hash side by side need more than all the registers.
    #[inline(always)]
    fn crypt<const SEAL: bool>(&self, message: Crypt<'_, L, R, SEAL>) -> [[u8; 16]; 2] {
        if message.data.len() < BATCH_BYTES {
            let tags = Lanes::enter(self.lanes, Short(message));
            Lanes::enter(self.lanes, WipeStack::<2048>);
            tags
        } else {
            let tags = Lanes::enter(self.lanes, message);
            Lanes::enter(self.lanes, WipeStack::<4096>);
            tags
        }
    }
}

struct SetKey<'a, const R: usize> {
    key: &'a [u8],
    keys: &'a mut LaneKeys,
    powers: &'a mut Powers<LONG>,
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
        powers.set_all(lanes, field_key_in_lanes(lanes, AesLanes::splat(lanes, &hash_key)));
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
        let crypt = Crypt::<L, R, true> { gcm: self, head: None, counter, associated, data };
        let [_, tag] = self.crypt(crypt);
        Ok(tag)
    }

    fn seal_with_head(
        &self,
        head: Context<'_>,
        body: Context<'_>,
        data: &mut [u8],
    ) -> Result<[[u8; 16]; 2], Error> {
        let head = Some(Head::new(&self.limits, head)?);
        let counter = first_counter(&self.limits, body.nonce, data)?;
        let associated = body.associated;
        Ok(self.crypt(Crypt::<L, R, true> { gcm: self, head, counter, associated, data }))
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        // A wrong length is the caller's error and reported as such; it depends on no secret.
        let counter = first_counter(&self.limits, nonce, data).inspect_err(|_| data.fill(0))?;
        let crypt = Crypt::<L, R, false> { gcm: self, head: None, counter, associated, data };
        let [_, expected] = self.crypt(crypt);
        if is_tag(&expected, tag) {
            Ok(())
        } else {
            data.fill(0);
            Err(Error::Authentication)
        }
    }

    fn seal_run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        let firsts = &message_counters(&self.limits, messages)?;
        Lanes::enter(self.lanes, SealRun { gcm: self, firsts, messages });
        Lanes::enter(self.lanes, WipeStack::<4096>);
        Ok(())
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        open_parts(self, parts, out)
    }
}

/// Seals messages one after the other: the end of one goes beside the beginning of the next.
struct SealRun<'a, 'm, L, const R: usize> {
    gcm: &'a AriaGcm<L, R>,
    firsts: &'a [[u8; 16]],
    messages: &'a mut [Unsealed<'m>],
}

impl<L: ByteLanes + AesLanes, const R: usize> Kernel<L> for SealRun<'_, '_, L, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { gcm, firsts, messages } = self;
        for (Unsealed { context, data, tag }, counter) in messages.iter_mut().zip(firsts) {
            let (counter, associated) = (*counter, context.associated);
            let message = Crypt::<L, R, true> { gcm, head: None, counter, associated, data };
            [_, **tag] = message.run(lanes);
        }
    }
}

impl<L: ByteLanes + AesLanes, const R: usize> EncryptBlocks for AriaGcm<L, R> {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        Lanes::enter(self.lanes, Encrypt::<R> { keys: &self.keys, blocks });
    }
}

impl<L: ByteLanes + AesLanes, const R: usize> CipherAndHash for AriaGcm<L, R> {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let powers = &self.powers.0;
        let input = Lanes::enter(self.lanes, TagInput { powers, associated, ciphertext });
        wipe_spilled(self.lanes);
        input
    }
}

/// Encrypts (`SEAL`) or decrypts `data` and computes the tags: of the head, meaningless if there is
/// none, and of the message.
struct Crypt<'a, L, const R: usize, const SEAL: bool> {
    gcm: &'a AriaGcm<L, R>,
    head: Option<Head<'a>>,
    /// The counter block that masks the tag.
    counter: [u8; 16],
    associated: &'a [u8],
    data: &'a mut [u8],
}

/// A message of less than a batch. A kernel of its own needs half the stack.
struct Short<'a, L, const R: usize, const SEAL: bool>(Crypt<'a, L, R, SEAL>);

impl<L: ByteLanes + AesLanes, const R: usize, const SEAL: bool> Kernel<L>
    for Short<'_, L, R, SEAL>
{
    type Output = [[u8; 16]; 2];

    #[inline(always)]
    fn run(self, lanes: L) -> [[u8; 16]; 2] {
        self.0.run_short(lanes)
    }
}

/// Bytes in a batch of key stream.
const BATCH_BYTES: usize = 1024;
/// Vectors that a long message has encrypted beside its first batch if its tail fits into what the
/// masks leave of them.
const BESIDE: usize = 2;
/// Bytes of such a tail.
const TAIL_BYTES: usize = 16 * (4 * BESIDE - 2);

impl<L: ByteLanes + AesLanes, const R: usize, const SEAL: bool> Kernel<L>
    for Crypt<'_, L, R, SEAL>
{
    type Output = [[u8; 16]; 2];

    #[inline(always)]
    fn run(self, lanes: L) -> [[u8; 16]; 2] {
        const {
            assert!(
                16 * <L as Lanes>::BYTES == BATCH_BYTES
                    && 2 * BATCH * <L as AesLanes>::BYTES == BATCH_BYTES
            )
        };
        if self.data.len() < BATCH_BYTES { self.run_short(lanes) } else { self.run_long(lanes) }
    }
}

impl<L: ByteLanes + AesLanes, const R: usize, const SEAL: bool> Crypt<'_, L, R, SEAL> {
    /// Handles less than a batch.
    #[inline(always)]
    fn run_short(self, lanes: L) -> [[u8; 16]; 2] {
        let first = self.first_blocks(lanes);
        let Self {
            gcm: AriaGcm { keys, powers: LongPowers(powers), .. },
            head,
            mut counter,
            associated,
            data,
        } = self;
        count(&mut counter, 1);
        let lengths = lengths(associated, data.len());
        let mut hash = absorb(lanes, powers, lanes.zero(), associated);
        if !SEAL {
            hash = finish_all(lanes, powers, hash, data, lengths);
        }
        let masks = match data.len().div_ceil(<L as Lanes>::BYTES) {
            0 => xor_rows_beside::<L, R, 1>(lanes, keys, &counter, data, first),
            1 => xor_rows_beside::<L, R, 2>(lanes, keys, &counter, data, first),
            2 => xor_rows_beside::<L, R, 3>(lanes, keys, &counter, data, first),
            3 | ROWS_MAX => {
                xor_rows_beside::<L, R, { ROWS_MAX + 1 }>(lanes, keys, &counter, data, first)
            }
            _ => {
                let mut masks = RowRounds::<L, R, 1>::new(lanes, keys, [first]);
                xor_rest(lanes, &keystream_beside::<L, R>(lanes, keys, &counter, &mut masks), data);
                let [masks] = masks.finish(lanes);
                masks
            }
        };
        if SEAL {
            hash = finish_all(lanes, powers, hash, data, lengths);
        }
        tags(lanes, powers, masks, hash, head)
    }

    /// Returns the counter blocks that mask the tags, of the message and of the head, in a vector.
    #[inline(always)]
    fn first_blocks(&self, lanes: L) -> <L as Lanes>::Vector {
        Lanes::load(
            lanes,
            mask_blocks::<{ BATCH_BYTES / 256 }>(&self.counter, self.head.as_ref()).as_flattened(),
        )
    }

    /// Handles a batch and more.
    #[inline(always)]
    fn run_long(self, lanes: L) -> [[u8; 16]; 2] {
        let Self {
            gcm: AriaGcm { keys, powers: LongPowers(powers), .. },
            head,
            mut counter,
            associated,
            data,
        } = self;
        let lengths = lengths(associated, data.len());
        let tail_bytes = data.len() % BATCH_BYTES;
        let tail_beside = (1..=TAIL_BYTES).contains(&tail_bytes);
        let mut beside = RowBlocks::masking(&counter, head.as_ref());
        count(&mut counter, 1);
        if tail_beside {
            let mut of_tail = counter;
            count(&mut of_tail, (data.len() - tail_bytes) / 16);
            beside.set_tail(of_tail);
        }
        let mut hash = absorb(lanes, powers, lanes.zero(), associated);
        let (batch, _) = data.split_at_mut(BATCH_BYTES);
        if !SEAL {
            hash = absorb(lanes, powers, hash, batch);
        }
        if tail_beside {
            xor_batch_beside::<L, R, BESIDE>(lanes, keys, &counter, batch, &mut beside);
        } else {
            xor_batch_beside::<L, R, 1>(lanes, keys, &counter, batch, &mut beside);
        }
        let mut start = BATCH_BYTES;
        while start + BATCH_BYTES <= data.len() {
            count(&mut counter, BATCH_BYTES / 16);
            let (before, after) = data.split_at_mut(start);
            let hashed = if SEAL { &before[start - BATCH_BYTES..] } else { &after[..] };
            let stream;
            (stream, hash) =
                keystream_and_hash::<L, R>(lanes, keys, powers, &counter, hash, hashed);
            xor_batch(lanes, stream, &mut after[..BATCH_BYTES]);
            start += BATCH_BYTES;
        }
        count(&mut counter, BATCH_BYTES / 16);
        let (before, tail) = data.split_at_mut(start);
        if !SEAL {
            hash = finish_all(lanes, powers, hash, tail, lengths);
        }
        let mut to_hash = start - BATCH_BYTES;
        if tail_beside {
            beside.xor_tail(lanes, tail);
        } else if SEAL && tail_bytes > ROWS_MAX * <L as Lanes>::BYTES {
            let stream;
            (stream, hash) =
                keystream_and_hash::<L, R>(lanes, keys, powers, &counter, hash, &before[to_hash..]);
            to_hash = start;
            xor_rest(lanes, &stream, tail);
        } else {
            Lanes::enter(lanes, XorKeystream::<R> { keys, counter: &counter, data: tail });
        }
        if SEAL {
            hash = finish_all(lanes, powers, hash, &data[to_hash..], lengths);
        }
        tags(lanes, powers, beside.masks(lanes), hash, head)
    }
}

/// Returns the counter blocks that mask the tags, of the message and of the head, and `N` - 2 more.
/// Unused blocks repeat the first: a block of zeros, encrypted, would be the key of the hash.
#[inline(always)]
fn mask_blocks<const N: usize>(counter: &[u8; 16], head: Option<&Head<'_>>) -> [[u8; 16]; N] {
    let mut blocks = [*counter; N];
    if let Some(head) = head {
        blocks[1] = first_counter_of(head.nonce);
    }
    blocks
}

/// Blocks that a long message has encrypted beside its first batch: the masks of the two tags, the
/// key stream of a short tail, and room to load a vector from the third on. Zeroed on drop.
struct RowBlocks([[u8; 16]; 4 * BESIDE + 2]);

impl RowBlocks {
    /// For a message whose tag is masked by the block `counter`.
    #[inline(always)]
    fn masking(counter: &[u8; 16], head: Option<&Head<'_>>) -> Self {
        Self(mask_blocks(counter, head))
    }

    /// Adds the counter blocks of a tail from `counter` on.
    #[inline(always)]
    fn set_tail(&mut self, mut counter: [u8; 16]) {
        for block in &mut self.0[2..][..TAIL_BYTES / 16] {
            *block = counter;
            count(&mut counter, 1);
        }
    }

    /// Returns the masks of the tags, once they are encrypted.
    #[inline(always)]
    fn masks<L: ByteLanes>(&self, lanes: L) -> L::Vector {
        lanes.load(self.0.as_flattened())
    }

    /// XORs `tail`, at most [`TAIL_BYTES`], with its key stream, once that is encrypted.
    #[inline(always)]
    fn xor_tail<L: ByteLanes>(&self, lanes: L, tail: &mut [u8]) {
        let stream = self.0[2..].as_flattened();
        for (vector, stream) in tail.chunks_mut(L::BYTES).zip(stream.chunks_exact(L::BYTES)) {
            lanes.xor_partial(lanes.load(stream), vector);
        }
    }
}

impl Drop for RowBlocks {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(&self.0);
    }
}

/// XORs a batch with the key stream from `counter` on, and encrypts the first `N` vectors of
/// `beside` at the same time.
#[inline(always)]
fn xor_batch_beside<L: ByteLanes + AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    counter: &[u8; 16],
    batch: &mut [u8],
    beside: &mut RowBlocks,
) {
    let of_beside = beside.0.as_flattened_mut();
    let blocks = std::array::from_fn(|i| Lanes::load(lanes, &of_beside[i * <L as Lanes>::BYTES..]));
    let mut rows = RowRounds::<L, R, N>::new(lanes, keys, blocks);
    xor_batch(lanes, keystream_beside::<L, R>(lanes, keys, counter, &mut rows), batch);
    for (i, row) in rows.finish(lanes).into_iter().enumerate() {
        Lanes::store(lanes, row, &mut of_beside[i * <L as Lanes>::BYTES..]);
    }
    // So that masks and tail come back from there: kept in registers for long they might be put
    // anywhere on the stack.
    optimization_barrier(beside);
}

/// Returns the tags of head and message: the hash of each under its mask.
#[inline(always)]
fn tags<L: ByteLanes + AesLanes>(
    lanes: L,
    powers: &Powers<LONG>,
    masks: <L as Lanes>::Vector,
    hash: <L as AesLanes>::Vector,
    head: Option<Head<'_>>,
) -> [[u8; 16]; 2] {
    let mut tags = [lanes.to_block(hash), [0; 16]];
    if let Some(head) = head {
        tags[1] = lanes.to_block(hash_head(lanes, powers, head.associated));
    }
    lanes.xor_partial(masks, tags.as_flattened_mut());
    let [message, head] = tags;
    [head, message]
}

/// Goes on by `blocks` counter blocks; no message is long enough to wrap.
#[inline(always)]
fn count(counter: &mut [u8; 16], blocks: usize) {
    let low: &mut [u8; 4] = counter.last_chunk_mut().expect("four of sixteen bytes");
    *low = u32::from_be_bytes(*low).wrapping_add(blocks as u32).to_be_bytes();
}

/// XORs `bytes`, a batch, with `stream`.
#[inline(always)]
fn xor_batch<L: ByteLanes>(lanes: L, stream: [L::Vector; 16], bytes: &mut [u8]) {
    for (vector, stream) in bytes.chunks_exact_mut(L::BYTES).zip(stream) {
        lanes.store(lanes.xor(lanes.load(vector), stream), vector);
    }
}

/// Takes `rest`, any length, and the block of lengths, and gives GHASH as bytes.
#[inline(always)]
fn finish_all<L: AesLanes>(
    lanes: L,
    powers: &Powers<LONG>,
    hash: L::Vector,
    rest: &[u8],
    lengths: u128,
) -> L::Vector {
    let (mut hash, mut rest) = (hash, rest);
    // The lengths go together with the last batch, even a whole one: each time the sum is reduced
    // takes a while.
    while rest.len() > BATCH * L::BYTES {
        let (batch, after) = rest.split_at(BATCH * L::BYTES);
        hash = absorb_batch(lanes, powers, hash, batch);
        rest = after;
    }
    finish(lanes, powers, hash, rest, lengths)
}

/// The key stream of the batch that `counter` begins, and the hash with the batch `hashed` taken
/// in.
#[inline(always)]
fn keystream_and_hash<L: ByteLanes + AesLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    powers: &Powers<LONG>,
    counter: &[u8; 16],
    hash: <L as AesLanes>::Vector,
    hashed: &[u8],
) -> ([<L as Lanes>::Vector; 16], <L as AesLanes>::Vector) {
    let mut hashing = Hashing::new(lanes, powers, hash, hashed);
    let stream = keystream_beside::<L, R>(lanes, keys, counter, &mut hashing);
    (stream, hashing.carried)
}

/// The hash of a batch of key stream's length, vector by vector.
struct Hashing<'a, L: AesLanes> {
    powers: &'a Powers<LONG>,
    hashed: &'a [u8],
    products: Products<L>,
    /// The hash so far, until the next vector takes it in.
    carried: L::Vector,
    /// Number of the next vector.
    next: usize,
}

impl<'a, L: AesLanes> Hashing<'a, L> {
    /// Goes on from `hash`.
    #[inline(always)]
    fn new(lanes: L, powers: &'a Powers<LONG>, hash: L::Vector, hashed: &'a [u8]) -> Self {
        Self { powers, hashed, products: Products::zero(lanes), carried: hash, next: 0 }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn key_stream_beside_a_batch_is_zeroed() {
        let blocks = RowBlocks([[7; 16]; 4 * BESIDE + 2]);
        assert!(left_after_drop(blocks).iter().all(|byte| *byte == 0));
    }
}
