//! AES-GCM (SP 800-38D) in one pass: the rounds of one batch of counter blocks and the hash of a
//! batch of ciphertext side by side, since neither waits for the other.
//!
//! Sealing hashes the batch before the one it encrypts; opening hashes the batch it decrypts, and
//! wipes what it decrypted where the tag turns out wrong.

use std::hint::black_box;
use std::sync::OnceLock;

use zeroize::optimization_barrier;

use super::key_schedule::RoundKeys;
use super::lanes::{
    LaneKeys, Schedule, encrypt, last_round, load_tail, round, take_counters, whiten, xor_rest,
    xor_whole,
};
use crate::arch::{AesLanes, Kernel};
use crate::declassify::is_tag;
use crate::error::Error;
use crate::limits::{GCM_LIMITS, Limits};
use crate::memory::Protected;
use crate::mode::aead::{Aead, Context, PARTS_MAX, Part, PartError, Unsealed};
use crate::mode::counter_block::{checked_nonce, data_counter, first_counter_of};
use crate::mode::gcm::{Head, Mask};
use crate::mode::ghash::{
    BATCH, LONG, Powers, Products, SHORT, SHORT_BYTES, TagInput, absorb, absorb_batch,
    field_key_in_lanes, hash_head, lengths,
};
use crate::mode::run::{check_messages, check_parts, first_counters};
use crate::mode::wipe_stack::{WipeStack, wipe_spilled, wipe_stack};

/// AES of `R` rounds in GCM. The powers for short messages are made with the key, the rest with the
/// first longer message: a caller that sets a key for each field or packet does not pay for powers
/// that no message uses.
pub(super) struct AesGcm<L, const R: usize> {
    lanes: L,
    keys: RoundKeys,
    powers: Powers<SHORT>,
    long: OnceLock<Protected<Long>>,
}

/// Data needed for messages of any length.
#[repr(C, align(64))]
struct Long {
    keys: LaneKeys,
    powers: Powers<LONG>,
}

impl<L: AesLanes, const R: usize> AesGcm<L, R> {
    /// Sets `key`, of (R - 6) words, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, key: &[u8]) -> Protected<dyn Aead> {
        let zero = || Self {
            lanes,
            keys: RoundKeys::zero(),
            powers: Powers::zero(),
            long: OnceLock::new(),
        };
        let mut gcm = Protected::with(zero);
        let Self { keys, powers, .. } = &mut *gcm;
        lanes.enter(SetKey::<R> { key, keys, powers });
        gcm.unsize(|gcm| gcm)
    }

    fn long(&self) -> &Long {
        self.long.get_or_init(|| {
            let mut long =
                Protected::with(|| Long { keys: LaneKeys::zero(), powers: Powers::zero() });
            self.lanes.enter(Lengthen::<R> {
                keys: &self.keys,
                powers: &self.powers,
                long: &mut long,
            });
            wipe_stack::<4096>();
            long
        })
    }

    /// Encrypts (`SEAL`) or decrypts `data` and returns the tags of head and message, as [`Crypt`].
    fn crypt<const SEAL: bool>(
        &self,
        head: Option<Head<'_>>,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
    ) -> [[u8; 16]; 2] {
        let head_bytes = head.as_ref().map_or(0, |head| head.associated.len());
        let tags = if data.len().max(associated.len()).max(head_bytes) <= SHORT_BYTES {
            let (keys, powers) = (&self.keys, &self.powers);
            self.lanes.enter(Crypt::<_, R, SEAL, SHORT> {
                keys,
                powers,
                head,
                nonce,
                associated,
                data,
            })
        } else {
            let Long { keys, powers } = self.long();
            self.lanes.enter(Crypt::<_, R, SEAL, LONG> {
                keys,
                powers,
                head,
                nonce,
                associated,
                data,
            })
        };
        wipe_spilled(self.lanes);
        tags
    }
}

struct SetKey<'a, const R: usize> {
    key: &'a [u8],
    keys: &'a mut RoundKeys,
    powers: &'a mut Powers<SHORT>,
}

impl<L: AesLanes, const R: usize> Kernel<L> for SetKey<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.keys.expand_in_lanes::<L, R>(lanes, self.key);
        let mut hash_key = [lanes.zero()];
        encrypt::<L, R, 1>(lanes, self.keys, &mut hash_key);
        self.powers.set_all(lanes, field_key_in_lanes(lanes, hash_key[0]));
    }
}

struct Lengthen<'a, const R: usize> {
    keys: &'a RoundKeys,
    powers: &'a Powers<SHORT>,
    long: &'a mut Long,
}

impl<L: AesLanes, const R: usize> Kernel<L> for Lengthen<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.long.keys.spread::<L, R>(lanes, self.keys);
        self.long.powers.set_all(lanes, self.powers.unit(lanes));
    }
}

impl<L: AesLanes, const R: usize> Aead for AesGcm<L, R> {
    fn nonce_bytes(&self) -> usize {
        12
    }

    fn limits(&self) -> Limits {
        GCM_LIMITS
    }

    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let nonce = checked_nonce(&GCM_LIMITS, nonce, data)?;
        let [_, tag] = self.crypt::<true>(None, nonce, associated, data);
        Ok(tag)
    }

    fn seal_with_head(
        &self,
        head: Context<'_>,
        body: Context<'_>,
        data: &mut [u8],
    ) -> Result<[[u8; 16]; 2], Error> {
        let head = Some(Head::new(&GCM_LIMITS, head)?);
        let nonce = checked_nonce(&GCM_LIMITS, body.nonce, data)?;
        Ok(self.crypt::<true>(head, nonce, body.associated, data))
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        // A wrong length is the caller's error and reported as such; it depends on no secret.
        let nonce = checked_nonce(&GCM_LIMITS, nonce, data).inspect_err(|_| data.fill(0))?;
        let [_, expected] = self.crypt::<false>(None, nonce, associated, data);
        if is_tag(&expected, tag) {
            Ok(())
        } else {
            data.fill(0);
            Err(Error::Authentication)
        }
    }

    fn seal_run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        check_messages(&GCM_LIMITS, messages)?;
        let Long { keys, powers } = self.long();
        self.lanes.enter(SealRun::<_, R> { keys, powers, messages });
        // its frame is larger than that of one message
        match L::BLOCKS {
            4 => self.lanes.enter(WipeStack::<2048>),
            _ => wipe_stack::<4096>(),
        }
        Ok(())
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        check_parts(parts, out);
        let firsts = first_counters(&GCM_LIMITS, parts, out)?;
        let Long { keys, powers } = self.long();
        let mut masks = Masks::of(&firsts, parts.len());
        self.lanes.enter(Encrypt::<_, R> { keys, masks: &mut masks, count: parts.len() });
        let tags = &mut masks.0[..parts.len()];
        self.lanes.enter(AddHashes { powers, parts, tags });
        let wrong = parts.iter().zip(tags).position(|(part, expected)| !is_tag(expected, part.tag));
        match wrong {
            None => self.lanes.enter(DecryptParts::<_, R> { keys, firsts: &firsts, parts, out }),
            Some(_) => out.fill(0),
        }
        match L::BLOCKS {
            4 => self.lanes.enter(WipeStack::<2048>),
            _ => wipe_spilled(self.lanes),
        }
        wrong.map_or(Ok(()), |index| Err(PartError { index, error: Error::Authentication }))
    }
}

/// Seals messages one after the other: the end of one goes beside the beginning of the next.
struct SealRun<'a, 'm, S, const R: usize> {
    keys: &'a S,
    powers: &'a Powers<LONG>,
    /// Each passed [`check_messages`].
    messages: &'a mut [Unsealed<'m>],
}

impl<L: AesLanes, S: Schedule<L>, const R: usize> Kernel<L> for SealRun<'_, '_, S, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, powers, messages } = self;
        for Unsealed { context, data, tag } in messages {
            let nonce = context.nonce.try_into().expect("twelve bytes, as was checked");
            let associated = context.associated;
            let message =
                Crypt::<_, R, true, LONG> { keys, powers, head: None, nonce, associated, data };
            [_, **tag] = message.run(lanes);
        }
    }
}

/// Masks of tags, then the tags that messages should have; see [`Mask`].
struct Masks([[u8; 16]; PARTS_MAX.next_multiple_of(4)]);

impl Masks {
    /// The first `count` counter blocks. Room left over repeats the first one: a block of zeros,
    /// encrypted, would be the key of the hash.
    fn of(firsts: &[[u8; 16]; PARTS_MAX], count: usize) -> Self {
        let mut masks = Self([firsts[0]; PARTS_MAX.next_multiple_of(4)]);
        masks.0[..count].copy_from_slice(&firsts[..count]);
        masks
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// Makes the masks of `count` tags from their counter blocks.
struct Encrypt<'a, S, const R: usize> {
    keys: &'a S,
    masks: &'a mut Masks,
    count: usize,
}

impl<L: AesLanes, S: Schedule<L>, const R: usize> Kernel<L> for Encrypt<'_, S, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, masks, count } = self;
        let bytes = 16 * count.next_multiple_of(L::BLOCKS);
        for few in masks.0.as_flattened_mut()[..bytes].chunks_mut(4 * L::BYTES) {
            let mut v = [lanes.load(few); 4];
            for (v, bytes) in v.iter_mut().zip(few.chunks_exact(L::BYTES)) {
                *v = lanes.load(bytes);
            }
            encrypt::<L, R, 4>(lanes, keys, &mut v);
            for (v, bytes) in v.into_iter().zip(few.chunks_exact_mut(L::BYTES)) {
                lanes.store(v, bytes);
            }
        }
    }
}

/// Adds the hashes of whole messages to the masks of their tags.
struct AddHashes<'a> {
    powers: &'a Powers<LONG>,
    parts: &'a [Part<'a>],
    tags: &'a mut [[u8; 16]],
}

impl<L: AesLanes> Kernel<L> for AddHashes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { powers, parts, tags } = self;
        for (part, tag) in parts.iter().zip(tags) {
            let (associated, ciphertext) = (part.context.associated, part.sealed);
            let hash = TagInput { powers, associated, ciphertext }.run(lanes);
            *tag = (u128::from_ne_bytes(*tag) ^ u128::from_ne_bytes(hash)).to_ne_bytes();
        }
    }
}

/// Decrypts stretches of messages whose tags are right.
struct DecryptParts<'a, S, const R: usize> {
    keys: &'a S,
    /// From [`first_counters`].
    firsts: &'a [[u8; 16]],
    parts: &'a [Part<'a>],
    out: &'a mut [u8],
}

impl<L: AesLanes, S: Schedule<L>, const R: usize> Kernel<L> for DecryptParts<'_, S, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, firsts, parts, out } = self;
        let mut rest = out;
        for (part, counter) in parts.iter().zip(firsts) {
            let (out, after) = rest.split_at_mut(part.bytes);
            rest = after;
            let from = &part.sealed[part.skip..][..part.bytes];
            decrypt_stretch::<L, R>(lanes, keys, counter, part.skip, from, out);
        }
    }
}

/// Decrypts `from` into `out`, of the same length: the bytes after the first `skip` of the message
/// whose first counter block is `counter`.
#[inline(always)]
fn decrypt_stretch<L: AesLanes, const R: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    counter: &[u8; 16],
    skip: usize,
    from: &[u8],
    out: &mut [u8],
) {
    let (mut from, mut out) = (from, out);
    let (mut block, before) = (skip / 16, skip % 16);
    if before > 0 {
        let mut first = [lanes.first(&data_counter(counter, block))];
        encrypt::<L, R, 1>(lanes, keys, &mut first);
        let mut stream = Mask([0; 16]);
        stream.keep(lanes.to_block(first[0]));
        let (head, rest) = out.split_at_mut(out.len().min(16 - before));
        for ((to, from), key) in head.iter_mut().zip(from).zip(&stream.0[before..]) {
            *to = from ^ key;
        }
        (from, out) = (&from[head.len()..], rest);
        block += 1;
    }
    let mut counters = lanes.counters(&data_counter(counter, block));
    let batch_bytes = BATCH * L::BYTES;
    let whole = out.len() / batch_bytes * batch_bytes;
    let (batches, rest) = out.split_at_mut(whole);
    for (to, from) in batches.chunks_exact_mut(batch_bytes).zip(from.chunks_exact(batch_bytes)) {
        let mut stream = take_counters::<L, BATCH>(lanes, &mut counters);
        encrypt::<L, R, BATCH>(lanes, keys, &mut stream);
        let vectors = to.chunks_exact_mut(L::BYTES).zip(from.chunks_exact(L::BYTES));
        for ((to, from), key) in vectors.zip(stream) {
            lanes.store(lanes.xor(lanes.load(from), key), to);
        }
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&from[whole..]);
        xor_rest::<L, R, BATCH>(lanes, keys, counters, rest);
    }
}

/// Encrypts (`SEAL`) or decrypts `data` and computes the tags: of the head, zeros if there is none,
/// and of the message.
struct Crypt<'a, S, const R: usize, const SEAL: bool, const SLOTS: usize> {
    keys: &'a S,
    powers: &'a Powers<SLOTS>,
    head: Option<Head<'a>>,
    nonce: &'a [u8; 12],
    associated: &'a [u8],
    data: &'a mut [u8],
}

impl<L: AesLanes, S: Schedule<L>, const R: usize, const SEAL: bool, const SLOTS: usize> Kernel<L>
    for Crypt<'_, S, R, SEAL, SLOTS>
{
    type Output = [[u8; 16]; 2];

    #[inline(always)]
    fn run(self, lanes: L) -> [[u8; 16]; 2] {
        let Self { keys, powers, head, nonce, associated, data } = self;
        let counter = first_counter_of(nonce);
        let lengths = lengths(associated, data.len());
        let (mut mask, mut head_tag) = (Mask([0; 16]), [0; 16]);
        if let Some(head) = head {
            let mut masks = [lanes.first(&counter), lanes.first(&first_counter_of(head.nonce))];
            encrypt::<L, R, 2>(lanes, keys, &mut masks);
            let mut head_mask = Mask([0; 16]);
            head_mask.keep(lanes.to_block(masks[1]));
            mask.keep(lanes.to_block(masks[0]));
            let hash = hash_head(lanes, powers, head.associated);
            head_tag = lanes.to_block(lanes.xor(hash, lanes.first(&head_mask.0)));
        } else {
            let mut masks = [lanes.first(&counter)];
            encrypt::<L, R, 1>(lanes, keys, &mut masks);
            mask.keep(lanes.to_block(masks[0]));
        }
        let mut hash = absorb(lanes, powers, lanes.zero(), associated);
        let mut counters = lanes.count(lanes.counters(&counter), 1);

        let batch_bytes = BATCH * L::BYTES;
        let batches = if SLOTS == LONG { data.len() / batch_bytes } else { 0 };
        let (whole, rest) = data.split_at_mut(batches * batch_bytes);
        let blocks = |bytes: &[u8]| lanes.reverse_bytes(lanes.load(bytes));
        if !SEAL {
            for batch in whole.chunks_exact_mut(batch_bytes) {
                let mut stream = take_counters::<L, BATCH>(lanes, &mut counters);
                hash = encrypt_and_hash::<L, R, SLOTS>(
                    lanes,
                    keys,
                    powers,
                    &mut stream,
                    hash,
                    batch,
                    blocks,
                );
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
                let mut stream = take_counters::<L, BATCH>(lanes, &mut counters);
                hash = encrypt_and_hash::<L, R, SLOTS>(
                    lanes,
                    keys,
                    powers,
                    &mut stream,
                    hash,
                    hashed,
                    blocks,
                );
                xor_whole(lanes, &stream, &mut batch[..batch_bytes]);
                start += batch_bytes;
            }
            hash = absorb_batch(lanes, powers, hash, &whole[start - batch_bytes..]);
        }
        let hash = match rest.len().div_ceil(L::BYTES) {
            0 => crypt_rest::<L, R, 0, SEAL, SLOTS>(
                lanes, keys, powers, counters, hash, rest, lengths,
            ),
            1 => crypt_rest::<L, R, 1, SEAL, SLOTS>(
                lanes, keys, powers, counters, hash, rest, lengths,
            ),
            2 => crypt_rest::<L, R, 2, SEAL, SLOTS>(
                lanes, keys, powers, counters, hash, rest, lengths,
            ),
            3 | 4 => crypt_rest::<L, R, 4, SEAL, SLOTS>(
                lanes, keys, powers, counters, hash, rest, lengths,
            ),
            _ => crypt_rest::<L, R, BATCH, SEAL, SLOTS>(
                lanes, keys, powers, counters, hash, rest, lengths,
            ),
        };
        [head_tag, lanes.to_block(lanes.xor(lanes.reverse_bytes(hash), lanes.first(&mask.0)))]
    }
}

/// Encrypts one batch of vectors, and returns the hash with the batch `hashed` taken in, as the
/// blocks that `load` makes of it: a vector of it goes beside each round.
#[inline(always)]
pub(super) fn encrypt_and_hash<L: AesLanes, const R: usize, const SLOTS: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    powers: &Powers<SLOTS>,
    stream: &mut [L::Vector; BATCH],
    hash: L::Vector,
    hashed: &[u8],
    load: impl Fn(&[u8]) -> L::Vector,
) -> L::Vector {
    const { assert!(BATCH < R) };
    whiten(lanes, keys, stream);
    let mut products = Products::zero(lanes);
    // Compilers would unroll this loop and put all products first; then nothing runs side by side.
    // They cannot if its length is hidden from them.
    for i in 1..black_box(BATCH) {
        round(lanes, keys, i, stream);
        let blocks = load(&hashed[i * L::BYTES..]);
        products.add(lanes, blocks, powers, (BATCH - i) * L::BLOCKS);
    }
    // The first vector takes in the hash so far, which may just be ready by now.
    round(lanes, keys, BATCH, stream);
    let first = lanes.xor(load(hashed), hash);
    products.add(lanes, first, powers, BATCH * L::BLOCKS);
    for r in BATCH + 1..R {
        round(lanes, keys, r, stream);
    }
    let hash = products.hash(lanes);
    last_round::<L, R, BATCH>(lanes, keys, stream);
    hash
}

/// Encrypts or decrypts `rest`, at most `N` vectors and less than a batch, and takes its ciphertext
/// and the lengths into the hash, which is now complete.
#[inline(always)]
fn crypt_rest<L: AesLanes, const R: usize, const N: usize, const SEAL: bool, const SLOTS: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    powers: &Powers<SLOTS>,
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
    let tail = load_tail(lanes, rest);
    for (vector, key) in rest.chunks_mut(L::BYTES).zip(stream) {
        let ciphertext = if vector.len() == L::BYTES {
            let input = lanes.load(vector);
            let output = lanes.xor(input, key);
            lanes.store(output, vector);
            if SEAL { output } else { input }
        } else {
            let output = lanes.xor(tail, key);
            lanes.store_partial(output, vector);
            if SEAL { lanes.keep(output, vector.len()) } else { tail }
        };
        products.add(lanes, lanes.xor(lanes.reverse_bytes(ciphertext), carried), powers, exponent);
        carried = lanes.zero();
        exponent = exponent.saturating_sub(L::BLOCKS);
    }
    let last = lanes.xor(lanes.first(&lengths.to_le_bytes()), carried);
    products.add(lanes, last, powers, 1);
    products.hash(lanes)
}
