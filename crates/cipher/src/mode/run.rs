//! Runs: several messages under one key, sealed or opened in one call. Opening compares all tags
//! first, and then decrypts the stretches that were asked for, from one buffer into another.
//!
//! Not here: their key stream (`key_stream`); AES in one pass (`block/aes/gcm.rs`); and counter
//! mode with a MAC, whose counters follow each other (`ctr_mac`).

use super::aead::{PARTS_MAX, Part, PartError, Unsealed};
use super::counter_block::{checked_nonce, first_counter};
use super::key_stream::{EncryptBlocks, KeyStream, Stretch};
use crate::declassify::is_tag;
use crate::error::Error;
use crate::limits::Limits;

/// GCM put together from a block cipher and the hash.
pub(crate) trait CipherAndHash: EncryptBlocks {
    /// Limits on what its key may protect.
    fn limits(&self) -> &Limits;

    /// GHASH of a message: the tag before its mask.
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16];
}

/// Opens parts as [`Aead::open_parts`](super::aead::Aead::open_parts).
#[inline]
pub(crate) fn open_parts(
    mode: &impl CipherAndHash,
    parts: &[Part<'_>],
    out: &mut [u8],
) -> Result<(), PartError> {
    check_parts(parts, out);
    let firsts = first_counters(mode.limits(), parts, out)?;
    let mut stretches = [Stretch::default(); PARTS_MAX];
    for (stretch, Part { skip, bytes, .. }) in stretches.iter_mut().zip(parts) {
        *stretch = Stretch { skip: *skip, bytes: *bytes };
    }
    let (firsts, stretches) = (&firsts[..parts.len()], &stretches[..parts.len()]);
    let mut stream = KeyStream::new(mode, firsts, stretches);
    for (index, part) in parts.iter().enumerate() {
        let hash = mode.tag_input(part.context.associated, part.sealed);
        if !is_tag(&stream.tag(index, hash), part.tag) {
            out.fill(0);
            return Err(PartError { index, error: Error::Authentication });
        }
    }
    let mut rest = out;
    for part in parts {
        let (this, after) = rest.split_at_mut(part.bytes);
        stream.xor_into(part.skip, &part.sealed[part.skip..][..part.bytes], this);
        rest = after;
    }
    Ok(())
}

/// Seals messages as [`Aead::seal_run`](super::aead::Aead::seal_run).
#[inline]
pub(crate) fn seal_run(
    mode: &impl CipherAndHash,
    messages: &mut [Unsealed<'_>],
) -> Result<(), PartError> {
    let firsts = message_counters(mode.limits(), messages)?;
    let mut stretches = [Stretch::default(); PARTS_MAX];
    for (stretch, message) in stretches.iter_mut().zip(&*messages) {
        stretch.bytes = message.data.len();
    }
    let (firsts, stretches) = (&firsts[..messages.len()], &stretches[..messages.len()]);
    let mut stream = KeyStream::new(mode, firsts, stretches);
    for (index, message) in messages.iter_mut().enumerate() {
        stream.xor(message.data);
        let hash = mode.tag_input(message.context.associated, message.data);
        *message.tag = stream.tag(index, hash);
    }
    Ok(())
}

/// Panics unless each part is within its message, and `out` as long as all of them.
#[inline]
pub(crate) fn check_parts(parts: &[Part<'_>], out: &[u8]) {
    assert!(parts.len() <= PARTS_MAX, "{} parts, more than {PARTS_MAX}", parts.len());
    let mut total = 0;
    for Part { sealed, skip, bytes, .. } in parts {
        let end = skip.checked_add(*bytes);
        assert!(
            end.is_some_and(|end| end <= sealed.len()),
            "{bytes} bytes from {skip} on of a message of {}",
            sealed.len()
        );
        total += bytes;
    }
    assert!(total == out.len(), "parts of {total} bytes into a buffer of {}", out.len());
}

/// Returns the first counter block of each part, zeros after the last one.
///
/// # Errors
/// Those of [`first_counter`]; `out` is zeroed.
#[inline]
pub(crate) fn first_counters(
    limits: &Limits,
    parts: &[Part<'_>],
    out: &mut [u8],
) -> Result<[[u8; 16]; PARTS_MAX], PartError> {
    let messages = parts.iter().map(|part| (part.context.nonce, part.sealed));
    counters(limits, messages).inspect_err(|_| out.fill(0))
}

/// Returns the first counter block of each message, zeros after the last one.
///
/// # Errors
/// Those of [`first_counter`].
///
/// # Panics
/// If there are more than [`PARTS_MAX`].
#[inline]
pub(crate) fn message_counters(
    limits: &Limits,
    messages: &[Unsealed<'_>],
) -> Result<[[u8; 16]; PARTS_MAX], PartError> {
    assert!(messages.len() <= PARTS_MAX, "{} messages, more than {PARTS_MAX}", messages.len());
    counters(limits, messages.iter().map(|message| (message.context.nonce, &*message.data)))
}

/// Checks the nonce and the length of each message.
///
/// # Errors
/// As [`message_counters`].
///
/// # Panics
/// As [`message_counters`].
#[inline]
pub(crate) fn check_messages(limits: &Limits, messages: &[Unsealed<'_>]) -> Result<(), PartError> {
    assert!(messages.len() <= PARTS_MAX, "{} messages, more than {PARTS_MAX}", messages.len());
    for (index, Unsealed { context, data, .. }) in messages.iter().enumerate() {
        checked_nonce(limits, context.nonce, data).map_err(|error| PartError { index, error })?;
    }
    Ok(())
}

#[inline]
fn counters<'a>(
    limits: &Limits,
    messages: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<[[u8; 16]; PARTS_MAX], PartError> {
    let mut firsts = [[0; 16]; PARTS_MAX];
    for (index, ((nonce, data), first)) in messages.zip(&mut firsts).enumerate() {
        *first = first_counter(limits, nonce, data).map_err(|error| PartError { index, error })?;
    }
    Ok(firsts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::aead::Context;

    #[test]
    #[should_panic(expected = "2 bytes from 18446744073709551615 on of a message of 8")]
    fn a_stretch_beyond_the_message_is_refused() {
        let context = Context { nonce: &[0; 12], associated: &[] };
        let part = Part { context, sealed: &[0; 8], tag: &[0; 16], skip: usize::MAX, bytes: 2 };
        check_parts(&[part], &[0; 2]);
    }
}
