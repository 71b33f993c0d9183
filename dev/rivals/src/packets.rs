//! HMAC and sealed packets, our code and other libraries alternately. Ours takes many messages in
//! one call; the others take only one after the other.

use std::hint::black_box;

use anyhow::{Context, Result};
use sealstone_cipher::Backend;
use sealstone_cipher::hmac::{Mac, Message, TAG_BYTES_MAX, hmac, macs};
use sealstone_seal::esp::{Association, Encryption, Outbound, Sealed, Suite, suites};

use crate::contest::{Call, Contest, Contestant};
use crate::{Library, SetKey};

/// Messages in a call of ours: as many as one read of 64 KiB gives.
const MESSAGES: usize = 44;
/// Bytes of a packet before it is sealed.
const PACKET_BYTES: usize = 1_400;
/// A key is replaced after so many batches: one of 3DES ends with 2^20 blocks.
const BATCHES_PER_KEY: usize = 100;

/// Prints GB/s of HMAC over messages of each of `sizes`, and of sealing packets under each suite.
///
/// # Errors
/// None that tables with these names have.
pub fn print(
    backends: &[Backend],
    libraries: &[Library],
    sizes: &[usize],
    contest: Contest,
) -> Result<()> {
    println!(
        "\n{MESSAGES} messages, ours in one call, GB/s; last line: our fastest against the fastest \
         rival, median (and 10 to 90 % of the rounds)"
    );
    for mac in macs() {
        let mut contestants: Vec<Contestant> = Vec::new();
        for backend in backends {
            contestants.push(Contestant {
                name: format!("ours, {}", backend.name()),
                call: our_tags(mac, *backend)?,
            });
        }
        for library in libraries {
            let Some(call) = their_tags(library.mac, mac) else { continue };
            contestants.push(Contestant { name: library.name.clone(), call });
        }
        contest.print(mac.name, sizes, MESSAGES, backends.len(), contestants);
    }
    println!(
        "\nsealing {MESSAGES} packets of {PACKET_BYTES} bytes, GB/s; the others encrypt and \
         authenticate, no more"
    );
    for suite in suites().iter().filter(|suite| suite.encryption != Encryption::Null) {
        let mut contestants: Vec<Contestant> = Vec::new();
        for backend in backends {
            contestants.push(Contestant {
                name: format!("ours, {}", backend.name()),
                call: our_packets(suite, *backend)?,
            });
        }
        for library in libraries {
            let Some(call) = their_packets(library, suite) else { continue };
            contestants.push(Contestant { name: library.name.clone(), call });
        }
        contest.print(suite.name, &[PACKET_BYTES], MESSAGES, backends.len(), contestants);
    }
    Ok(())
}

fn key(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 37 + 11) as u8).collect()
}

fn our_tags(mac: &'static Mac, backend: Backend) -> Result<Box<Call>> {
    let keyed = hmac(mac, &key(mac.key_bytes), backend)?;
    Ok(Box::new(move |data: &mut [u8]| {
        let mut messages = [Message::default(); MESSAGES];
        for (message, data) in messages.iter_mut().zip(data.chunks_exact(data.len() / MESSAGES)) {
            message.data = data;
        }
        let mut tags = [[0; TAG_BYTES_MAX]; MESSAGES];
        keyed.tags(&messages, &mut tags);
        black_box(tags);
    }))
}

fn their_tags(set_key: SetKey<dyn crate::RivalMac>, mac: &'static Mac) -> Option<Box<Call>> {
    let mut rival = set_key(mac.name, &key(mac.key_bytes))?;
    Some(Box::new(move |data: &mut [u8]| {
        for message in data.chunks_exact(data.len() / MESSAGES) {
            let mut tag = [0; 12];
            rival.tag(message, &mut tag);
            black_box(tag);
        }
    }))
}

/// Our whole packets: laid out, encrypted and authenticated.
fn our_packets(suite: &'static Suite, backend: Backend) -> Result<Box<Call>> {
    let association = Association { spi: 0x1000, suite, extended: true, backend };
    let set_key = move || {
        Outbound::new(&association, &key(suite.key_bytes()), &key(suite.integrity_key_bytes()))
    };
    let mut packet = vec![0x45; PACKET_BYTES];
    packet[2..4].copy_from_slice(&(PACKET_BYTES as u16).to_be_bytes());
    let (mut outbound, mut sealed, mut batches) =
        (set_key().context("setting a key")?, Sealed::default(), 0);
    Ok(Box::new(move |_: &mut [u8]| {
        if batches == BATCHES_PER_KEY {
            (outbound, batches) = (set_key().expect("keys as before"), 0);
        }
        batches += 1;
        sealed.clear();
        outbound.seal(&[&*packet; MESSAGES], &mut sealed).expect("within a lifetime");
        black_box(sealed.bytes());
    }))
}

/// Returns a call that does the same with another library: one packet after the other.
fn their_packets(library: &Library, suite: &'static Suite) -> Option<Box<Call>> {
    let cipher = suite.cipher()?;
    let cipher_key = key(cipher.key_bytes);
    if let Encryption::Gcm(cipher) = suite.encryption {
        let mut rival = (library.gcm)(cipher.name, &cipher_key)?;
        return Some(Box::new(move |data: &mut [u8]| {
            for packet in data.chunks_exact_mut(PACKET_BYTES) {
                black_box(rival.seal(&[3; 12], packet));
            }
        }));
    }
    let mut chained = (library.cbc)(cipher.name, &cipher_key)?;
    let mut mac = (library.mac)(suite.mac?.name, &key(suite.integrity_key_bytes()))?;
    let whole = PACKET_BYTES - PACKET_BYTES % cipher.block_bytes;
    Some(Box::new(move |data: &mut [u8]| {
        for packet in data.chunks_exact_mut(PACKET_BYTES) {
            chained.encrypt(&[3; 16][..cipher.block_bytes], &mut packet[..whole]);
            let mut tag = [0; 12];
            mac.tag(packet, &mut tag);
            black_box(tag);
        }
    }))
}
