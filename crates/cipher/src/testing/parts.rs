//! Checks of parts of messages that are opened together: every mix of messages gives what each
//! gives alone, and one forged message spoils all.

use super::pseudorandom::bytes;
use super::summary::Summary;
use crate::aead::{Aead, Context, PARTS_MAX, Part, PartError, Unsealed};
use crate::error::Error;
use crate::facts::Cipher;

/// A sealed message, and the stretch of it to be opened.
struct Message {
    plaintext: Vec<u8>,
    nonce: Vec<u8>,
    associated: Vec<u8>,
    sealed: Vec<u8>,
    tag: [u8; 16],
    skip: usize,
    bytes: usize,
}

impl Message {
    fn part(&self) -> Part<'_> {
        Part {
            context: Context { nonce: &self.nonce, associated: &self.associated },
            sealed: &self.sealed,
            tag: &self.tag,
            skip: self.skip,
            bytes: self.bytes,
        }
    }

    fn stretch(&self) -> &[u8] {
        &self.plaintext[self.skip..][..self.bytes]
    }
}

/// Checks that a refused part left nothing behind.
fn assert_zeros(out: &[u8], what: &str) {
    assert!(out.iter().all(|byte| *byte == 0), "{what}: data of a forged part was returned");
}

/// Opens `messages` as parts into a buffer that was not zeros.
fn open(aead: &dyn Aead, messages: &[Message]) -> (Result<(), PartError>, Vec<u8>) {
    let parts: Vec<Part<'_>> = messages.iter().map(Message::part).collect();
    let mut out = vec![0xa5; messages.iter().map(|message| message.bytes).sum()];
    (aead.open_parts(&parts, &mut out), out)
}

/// Checks that sealing `messages` in one call gives what each gave alone.
fn assert_run(aead: &dyn Aead, messages: &[Message], what: &str) {
    let mut sealed: Vec<(Vec<u8>, [u8; 16])> =
        messages.iter().map(|message| (message.plaintext.clone(), [0xa5; 16])).collect();
    let mut run: Vec<Unsealed<'_>> = sealed
        .iter_mut()
        .zip(messages)
        .map(|((data, tag), message)| Unsealed { context: message.part().context, data, tag })
        .collect();
    assert_eq!(aead.seal_run(&mut run), Ok(()), "{what}: do not seal");
    for ((data, tag), message) in sealed.iter().zip(messages) {
        assert!(*data == message.sealed, "{what}: sealed to something else");
        assert_eq!(*tag, message.tag, "{what}: tags differ");
    }
}

/// Makes `count` messages. `choose` gives a number below the one it is given, from a seed.
///
/// They are pages of one length that follow each other, of which the first and the last are wanted
/// in part (`pages`); or they are of any length, and any stretch is wanted.
fn messages(
    cipher: &'static Cipher,
    aead: &dyn Aead,
    count: usize,
    pages: bool,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Vec<Message> {
    const LENGTHS: [usize; 10] = [0, 1, 15, 16, 17, 255, 256, 1008, 1024, 4096];
    let page_bytes = [256, 1024, 1032, 4096][choose(4)];
    let mut counter = choose(1 << 20) as u64;
    let mut made = Vec::new();
    for number in 0..count {
        let length = if pages { page_bytes } else { LENGTHS[choose(LENGTHS.len())] };
        let (from, to) = if pages {
            let from = if number == 0 { choose(length) } else { 0 };
            let to = if number == count - 1 { from + choose(length - from + 1) } else { length };
            (from, to)
        } else {
            let from = choose(length + 1);
            (from, from + choose(length - from + 1))
        };
        let mut nonce = vec![0; cipher.nonce_bytes()];
        *nonce.last_chunk_mut().expect("8 or 12 bytes") = counter.to_be_bytes();
        counter += (length.div_ceil(cipher.block_bytes)) as u64;
        counter += if pages { 0 } else { choose(3) as u64 };
        let plaintext = bytes(&format!("part {number} {length}"), length);
        let associated = bytes("associated with a part", choose(40));
        let mut sealed = plaintext.clone();
        let tag = aead.seal(&nonce, &associated, &mut sealed).expect("allowed arguments");
        let (skip, bytes) = (from, to - from);
        made.push(Message { plaintext, nonce, associated, sealed, tag, skip, bytes });
    }
    made
}

/// Returns a function that chooses numbers, the same ones each time.
fn chooser() -> impl FnMut(usize) -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    }
}

/// Checks parts of several messages under the key of `aead`.
pub(super) fn aead_parts(cipher: &'static Cipher, aead: &dyn Aead, summary: &mut Summary) {
    let what = format!("{} on {}", cipher.name, aead.backend());
    let mut choose = chooser();
    for round in 0..3 {
        for count in 0..=PARTS_MAX {
            for pages in [false, true] {
                let mut messages = messages(cipher, aead, count, pages, &mut choose);
                let what = format!("{what}: {count} parts, pages {pages}, round {round}");
                let (opened, out) = open(aead, &messages);
                assert_eq!(opened, Ok(()), "{what}: do not open");
                let want: Vec<&[u8]> = messages.iter().map(Message::stretch).collect();
                assert!(out == want.concat(), "{what}: open to something else");
                summary.messages += count;
                assert_run(aead, &messages, &what);
                // one at a time gives the same, and a forged one is named and spoils all
                let mut forged = Vec::new();
                for _ in 0..count.min(3) {
                    forged.push(choose(count));
                    let message = &mut messages[forged[forged.len() - 1]];
                    match choose(3) {
                        0 if !message.sealed.is_empty() => {
                            let at = choose(message.sealed.len());
                            message.sealed[at] ^= 1 << choose(8);
                        }
                        1 if !message.associated.is_empty() => {
                            let at = choose(message.associated.len());
                            message.associated[at] ^= 1 << choose(8);
                        }
                        _ => message.tag[choose(16)] ^= 1 << choose(8),
                    }
                    let alone = |message| open(aead, std::slice::from_ref(message)).0.is_err();
                    // a second change may have undone the first
                    let Some(index) = messages.iter().position(alone) else { continue };
                    let (opened, out) = open(aead, &messages);
                    let error = Error::Authentication;
                    assert_eq!(opened, Err(PartError { index, error }), "{what}: forged");
                    assert_zeros(&out, &what);
                    summary.forgeries += 1;
                }
            }
        }
    }
    wrong_nonces(cipher, aead, &mut choose);
}

/// Checks that a nonce of the wrong length is an error of its part, wherever that is.
fn wrong_nonces(cipher: &'static Cipher, aead: &dyn Aead, choose: &mut dyn FnMut(usize) -> usize) {
    for index in 0..3 {
        let mut messages = messages(cipher, aead, 3, true, choose);
        messages[index].nonce.push(0);
        let (found, want) = (aead.nonce_bytes() + 1, aead.nonce_bytes());
        let error = Error::NonceLength { found, want };
        let (opened, out) = open(aead, &messages);
        assert_eq!(opened, Err(PartError { index, error }), "{}", cipher.name);
        assert_zeros(&out, cipher.name);
        let mut tags = vec![[0; 16]; 3];
        let mut data: Vec<Vec<u8>> = messages.iter().map(|one| one.plaintext.clone()).collect();
        let mut run: Vec<Unsealed<'_>> = messages
            .iter()
            .zip(data.iter_mut().zip(&mut tags))
            .map(|(one, (data, tag))| Unsealed { context: one.part().context, data, tag })
            .collect();
        assert_eq!(aead.seal_run(&mut run), Err(PartError { index, error }), "{}", cipher.name);
        assert_eq!(data[index], messages[index].plaintext, "{}: changed", cipher.name);
    }
}
