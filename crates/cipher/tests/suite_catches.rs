//! The conformance suite must fail on wrong implementations; here are some, wrong on purpose.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sealstone_cipher::memory::Protected;
use sealstone_cipher::testing::{aead_conformance, ctr_conformance};
use sealstone_cipher::{
    Aead, Backend, Context, Ctr, Error, Limits, Part, PartError, Unsealed, aead, cipher, ciphers,
    ctr,
};

/// Faults of an AEAD.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Compares 15 bytes of the tag.
    ShortTag,
    /// Leaves data as it was where opening fails.
    KeepsData,
    /// Authenticates only the first 16 bytes of associated data.
    ShortAssociated,
    /// Takes a nonce that is too long and drops the rest.
    LongNonce,
    /// Encrypts the last byte wrongly, at one length.
    WrongAt(usize),
    /// Binds the body of a pair to what its head is bound to.
    MixesPair,
    /// Writes a refused message.
    TouchesRefused,
    /// Reports what made a message fail.
    TwoErrors,
    /// Decrypts a stretch from the beginning of its block on.
    PartBegins,
    /// Decrypts a stretch whatever the tag.
    PartUnchecked,
    /// Leaves a stretch as it was where opening fails.
    PartKeepsData,
    /// Checks the first of several parts alone.
    PartsFirstChecked,
    /// Decrypts all parts from the nonce of the first on.
    PartsOneNonce,
    /// Names the last part for whichever is forged.
    PartsNameLast,
    /// Gives each message of a run the tag of the first.
    RunSharesTag,
}

struct FaultyAead(Protected<dyn Aead>, Fault);

impl FaultyAead {
    /// Decrypts parts whatever their tags: both ways are the same key stream.
    fn unchecked(&self, parts: &[Part<'_>], out: &mut [u8]) {
        let mut rest = out;
        for Part { context, sealed, skip, bytes, .. } in parts {
            let mut whole = sealed.to_vec();
            // what is refused stays as it is, which no check takes for the plaintext
            let _ = self.0.seal(context.nonce, context.associated, &mut whole);
            let (this, after) = rest.split_at_mut(*bytes);
            this.copy_from_slice(&whole[*skip..][..*bytes]);
            rest = after;
        }
    }
}

impl Aead for FaultyAead {
    fn nonce_bytes(&self) -> usize {
        self.0.nonce_bytes()
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn backend(&self) -> &'static str {
        "faulty"
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        match self.1 {
            Fault::ShortAssociated => {
                self.0.seal(nonce, &associated[..associated.len().min(16)], data)
            }
            Fault::LongNonce => {
                self.0.seal(&nonce[..nonce.len().min(self.nonce_bytes())], associated, data)
            }
            Fault::WrongAt(length) if data.len() == length => {
                let tag = self.0.seal(nonce, associated, data)?;
                data[length - 1] ^= 1;
                Ok(tag)
            }
            Fault::TouchesRefused => {
                self.0.seal(nonce, associated, data).inspect_err(|_| data.fill(0))
            }
            _ => self.0.seal(nonce, associated, data),
        }
    }

    fn seal_with_head(
        &self,
        head: Context<'_>,
        body: Context<'_>,
        data: &mut [u8],
    ) -> Result<[[u8; 16]; 2], Error> {
        let tag = self.seal(head.nonce, head.associated, &mut [])?;
        let associated = if self.1 == Fault::MixesPair { head.associated } else { body.associated };
        Ok([tag, self.seal(body.nonce, associated, data)?])
    }

    fn seal_run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        self.0.seal_run(messages)?;
        if let (Fault::RunSharesTag, [first, rest @ ..]) = (self.1, messages) {
            rest.iter_mut().for_each(|message| *message.tag = *first.tag);
        }
        Ok(())
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        let before = out.to_vec();
        match self.1 {
            // whole vectors from the first on
            Fault::PartBegins => {
                let parts: Vec<Part<'_>> =
                    parts.iter().map(|part| Part { skip: part.skip / 16 * 16, ..*part }).collect();
                self.0.open_parts(&parts, out)
            }
            Fault::PartUnchecked => {
                self.unchecked(parts, out);
                Ok(())
            }
            Fault::PartKeepsData => self.0.open_parts(parts, out).inspect_err(|_| {
                out.copy_from_slice(&before);
            }),
            Fault::PartsFirstChecked => {
                let (first, _) = parts.split_at(parts.len().min(1));
                self.0
                    .open_parts(first, &mut vec![0; first.iter().map(|part| part.bytes).sum()])?;
                self.unchecked(parts, out);
                Ok(())
            }
            Fault::PartsOneNonce => {
                self.0.open_parts(parts, out)?;
                let mut parts = parts.to_vec();
                for at in 1..parts.len() {
                    parts[at].context.nonce = parts[0].context.nonce;
                }
                self.unchecked(&parts, out);
                Ok(())
            }
            Fault::PartsNameLast => self.0.open_parts(parts, out).map_err(|failed| {
                let index = parts.len() - 1;
                PartError { index, ..failed }
            }),
            _ => self.0.open_parts(parts, out),
        }
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        let before = data.to_vec();
        let result = match self.1 {
            Fault::ShortAssociated => {
                self.0.open(nonce, &associated[..associated.len().min(16)], data, tag)
            }
            Fault::LongNonce => {
                self.0.open(&nonce[..nonce.len().min(self.nonce_bytes())], associated, data, tag)
            }
            _ => self.0.open(nonce, associated, data, tag),
        };
        match (self.1, result) {
            (Fault::ShortTag, Err(Error::Authentication)) => {
                let accepted = (0..=255).any(|last| {
                    let mut tag = *tag;
                    tag[15] = last;
                    data.copy_from_slice(&before);
                    self.0.open(nonce, associated, data, &tag).is_ok()
                });
                if accepted { Ok(()) } else { Err(Error::Authentication) }
            }
            (Fault::KeepsData, Err(error)) => {
                data.copy_from_slice(&before);
                Err(error)
            }
            (Fault::TwoErrors, Err(Error::Authentication)) if data.is_empty() => {
                Err(Error::MessageTooLong { found: 0, limit: 0 })
            }
            (_, result) => result,
        }
    }
}

fn caught(what: &str, run: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "the suite passes {what}");
}

#[test]
fn faulty_aeads_are_caught() {
    for name in ["aes-256", "blowfish"] {
        let line = cipher(name).unwrap();
        for fault in [
            Fault::ShortTag,
            Fault::KeepsData,
            Fault::ShortAssociated,
            Fault::LongNonce,
            Fault::WrongAt(1),
            Fault::WrongAt(255 * line.block_bytes),
            Fault::WrongAt(16385),
            Fault::MixesPair,
            Fault::TouchesRefused,
            Fault::TwoErrors,
            Fault::PartBegins,
            Fault::PartUnchecked,
            Fault::PartKeepsData,
            Fault::PartsFirstChecked,
            Fault::PartsOneNonce,
            Fault::PartsNameLast,
            Fault::RunSharesTag,
        ] {
            caught(&format!("{name} with {fault:?}"), || {
                aead_conformance(line, &|key| {
                    Ok(Protected::new(FaultyAead(aead(line, key, Backend::auto())?, fault))
                        .unsize(|faulty| faulty))
                });
            });
        }
    }
}

/// A cipher that is simply another cipher.
#[test]
fn the_wrong_cipher_is_caught() {
    for line in ciphers() {
        for other in ciphers() {
            if other != line
                && other.key_bytes == line.key_bytes
                && other.block_bytes == line.block_bytes
            {
                caught(&format!("{} as {}", other.name, line.name), || {
                    aead_conformance(line, &|key| aead(other, key, Backend::auto()));
                });
                caught(&format!("{} as {}", other.name, line.name), || {
                    ctr_conformance(line, &|key| ctr(other, key, Backend::auto()));
                });
            }
        }
    }
}

/// Faults of a counter mode.
#[derive(Clone, Copy, Debug)]
enum CtrFault {
    /// Counts in so many bytes only.
    Counts(usize),
    /// Starts at the block that holds the offset, not at its byte.
    WholeBlocks,
    /// Forgets the upper half of the offset.
    ShortOffset,
}

struct FaultyCtr(Protected<dyn Ctr>, CtrFault);

impl Ctr for FaultyCtr {
    fn block_bytes(&self) -> usize {
        self.0.block_bytes()
    }

    fn backend(&self) -> &'static str {
        "faulty"
    }

    fn apply(
        &self,
        initial_counter_block: &[u8],
        offset_bytes: u64,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let block_bytes = self.block_bytes();
        match self.1 {
            CtrFault::WholeBlocks => self.0.apply(
                initial_counter_block,
                offset_bytes / block_bytes as u64 * block_bytes as u64,
                data,
            ),
            CtrFault::ShortOffset => {
                self.0.apply(initial_counter_block, u64::from(offset_bytes as u32), data)
            }
            CtrFault::Counts(_)
                if offset_bytes > 0 || initial_counter_block.len() != block_bytes =>
            {
                self.0.apply(initial_counter_block, offset_bytes, data)
            }
            CtrFault::Counts(bytes) => {
                let mut counter = initial_counter_block.to_vec();
                for block in data.chunks_mut(block_bytes) {
                    self.0.apply(&counter, 0, block)?;
                    for byte in counter.iter_mut().rev().take(bytes) {
                        *byte = byte.wrapping_add(1);
                        if *byte != 0 {
                            break;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

#[test]
fn faulty_counter_modes_are_caught() {
    for name in ["aes-128", "3des"] {
        let line = cipher(name).unwrap();
        let counts = [1, 2, 4, line.block_bytes - 1].map(CtrFault::Counts);
        for fault in counts.into_iter().chain([CtrFault::WholeBlocks, CtrFault::ShortOffset]) {
            caught(&format!("{name} with {fault:?}"), || {
                ctr_conformance(line, &|key| {
                    Ok(Protected::new(FaultyCtr(ctr(line, key, Backend::auto())?, fault))
                        .unsize(|faulty| faulty))
                });
            });
        }
    }
}

/// The same wrappers without a fault pass: it is the fault that is caught, not the wrapper.
#[test]
fn sound_wrappers_pass() {
    let line = cipher("aes-256").unwrap();
    aead_conformance(line, &|key| {
        Ok(Protected::new(FaultyAead(
            aead(line, key, Backend::auto())?,
            Fault::WrongAt(usize::MAX),
        ))
        .unsize(|faulty| faulty))
    });
    ctr_conformance(line, &|key| {
        let all = CtrFault::Counts(line.block_bytes);
        Ok(Protected::new(FaultyCtr(ctr(line, key, Backend::auto())?, all)).unsize(|faulty| faulty))
    });
}
