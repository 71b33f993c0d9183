//! Result of one handshake: security associations in both directions, and sealed messages between
//! both ends.

use std::time::Duration;

use sealstone_cipher::memory::Protected;
use sealstone_cipher::{Aead, Backend, Cipher, aead, cipher_row};
use sealstone_keys::KeyRef;
use sealstone_seal::esp::{Association, Inbound, Lifetime, Outbound, Suite};

use crate::tunnel::handshake::message::{Start, control_head};
use crate::tunnel::handshake::{Agreed, Direction, Refused, Role, Series};

/// Number of packets by which a packet may be behind the newest one.
const WINDOW_PACKETS: u32 = 4096;
/// Cipher that seals messages between both ends, whatever the suite for packets is.
const CONTROL_CIPHER: &Cipher = cipher_row("aes-256");
/// Length of its tag, in bytes.
const TAG_BYTES: usize = 16;

/// Message from one end to the other within a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Word {
    /// The initiator has all keys: the responder may use them.
    Confirm = 1,
    /// Are you there?
    Probe = 2,
    /// I am.
    Alive = 3,
    /// This end is taken down.
    End = 4,
}

/// Choice of how an end seals packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing {
    pub(crate) suite: &'static Suite,
    pub(crate) backend: Backend,
    /// Less than the longest.
    pub(crate) lifetime: Option<Lifetime>,
}

/// Result of one handshake.
pub(crate) struct Session {
    /// The handshake's.
    pub(crate) id: u64,
    pub(crate) role: Role,
    pub(crate) key: KeyRef,
    pub(crate) peer_start: Start,
    /// Number of the first message among its sender's.
    pub(crate) counter: u64,
    /// On which this end receives.
    pub(crate) ours: Series,
    /// On which this end sends.
    pub(crate) theirs: Series,
    /// Associations that seal for the other end, in order, until they are handed to the path.
    pub(crate) outbounds: Vec<Outbound>,
    pub(crate) made: Duration,
    /// Time of the last authentic message.
    pub(crate) heard: Duration,
    /// Packets opened, as far as the path has reported.
    pub(crate) opened: u64,
    /// The answer that made it, if this end began.
    pub(crate) answer: Vec<u8>,
    seal: Protected<dyn Aead>,
    open: Protected<dyn Aead>,
    sent: u64,
    received: u64,
}

/// Terms that a session is made of, apart from keys.
pub(crate) struct Terms {
    pub(crate) id: u64,
    pub(crate) key: KeyRef,
    pub(crate) peer_start: Start,
    pub(crate) counter: u64,
    pub(crate) ours: Series,
    pub(crate) theirs: Series,
    pub(crate) now: Duration,
}

impl Session {
    /// Makes the associations of both directions; returns the receiving associations beside the
    /// session.
    pub(crate) fn make(
        agreed: &Agreed,
        terms: Terms,
        sealing: &Sealing,
    ) -> Result<(Self, Vec<Inbound>), String> {
        let Sealing { suite, backend, lifetime } = *sealing;
        let (key_bytes, all) = (suite.key_bytes(), suite.key_bytes() + suite.integrity_key_bytes());
        let association = |spi| Association { spi, suite, extended: true, backend };
        let failed = |error: sealstone_seal::esp::EspError| error.to_string();
        let inbounds = terms.ours.spis().map(|spi| {
            let keys = agreed.packet_keys(Direction::Received, suite.name, spi, all);
            let (key, integrity_key) = keys.split_at(key_bytes);
            Inbound::new(&association(spi), key, integrity_key, WINDOW_PACKETS).map_err(failed)
        });
        let inbounds = inbounds.collect::<Result<Vec<_>, _>>()?;
        let outbounds = terms.theirs.spis().map(|spi| {
            let keys = agreed.packet_keys(Direction::Sent, suite.name, spi, all);
            let (key, integrity_key) = keys.split_at(key_bytes);
            let outbound = Outbound::new(&association(spi), key, integrity_key).map_err(failed)?;
            Ok(match lifetime {
                Some(lifetime) => outbound.with_lifetime(lifetime),
                None => outbound,
            })
        });
        let outbounds = outbounds.collect::<Result<_, String>>()?;
        let control = |direction| {
            aead(CONTROL_CIPHER, agreed.control_key(direction).as_bytes(), backend)
                .map_err(|error| error.to_string())
        };
        let (seal, open) = (control(Direction::Sent)?, control(Direction::Received)?);
        let Terms { id, key, peer_start, counter, ours, theirs, now } = terms;
        let session = Self {
            id,
            role: agreed.role(),
            key,
            peer_start,
            counter,
            ours,
            theirs,
            outbounds,
            made: now,
            heard: now,
            opened: 0,
            answer: Vec::new(),
            seal,
            open,
            sent: 0,
            received: 0,
        };
        Ok((session, inbounds))
    }

    /// Seals `word` for the other end.
    pub(crate) fn say(&mut self, word: Word) -> Result<Vec<u8>, String> {
        let counter = self.sent + 1;
        let head = control_head(self.theirs.first, counter);
        let mut sealed = [word as u8];
        let tag = self
            .seal
            .seal(&nonce(counter), &head, &mut sealed)
            .map_err(|error| error.to_string())?;
        self.sent = counter;
        Ok([&head[..], &sealed, &tag].concat())
    }

    /// Opens the other end's message number `counter`; `head` is the part in the clear.
    pub(crate) fn hear(
        &mut self,
        counter: u64,
        head: &[u8],
        sealed: &[u8],
    ) -> Result<Word, Refused> {
        let (&[word], tag) =
            sealed.split_first_chunk().ok_or(Refused::Malformed { found: "it is too short" })?;
        let tag: &[u8; TAG_BYTES] =
            tag.try_into().map_err(|_| Refused::Malformed { found: "another length" })?;
        if counter <= self.received {
            return Err(Refused::Replayed);
        }
        let mut word = [word];
        self.open.open(&nonce(counter), head, &mut word, tag).map_err(|_| Refused::Forged)?;
        self.received = counter;
        let words = [Word::Confirm, Word::Probe, Word::Alive, Word::End];
        let known = words.into_iter().find(|known| [*known as u8] == word);
        known.ok_or(Refused::Malformed { found: "a word that this version does not know" })
    }
}

fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce
}
