//! Key agreement between two ends that hold the same secret, for the keys of packets: one handshake
//! of the Noise protocol, in the pattern NNpsk0, by the crate `snow`. Sealed packets are as strong
//! as its result; each property has its source here:
//!
//! - **Both ends are genuine**: the pre-shared key, a subkey, for this purpose, of the key of a key
//!   file or key server, is mixed in before anything else. An end that lacks it can neither make
//!   nor read a first message, and is refused before any work with curves.
//! - **Forward secrecy**: both ends draw a fresh key of X25519 for each handshake. An attacker who
//!   learns the shared secret later cannot open recorded packets.
//! - **Nothing can be mixed up**: the prologue of Noise is the part in the clear (version of the
//!   exchange, suite, key id and version), so a handshake succeeds only if both ends read the same.
//! - **Each direction has its own keys**, and so has each security association: HKDF-SHA256 of
//!   Noise's split for the direction, bound to suite, index and the hash of the whole handshake.
//!
//! There are no static keys to distribute, as in the patterns IK and XX: an end that holds the
//! secret is trusted.
//!
//! Not here: the time of a handshake, and replays of first messages (`protocol`).

pub(crate) mod message;
mod refusal;

use std::sync::LazyLock;

use sealstone_cipher::Provider;
use sealstone_keys::{KeyRef, KeySource, Secret, subkey};
use snow::params::NoiseParams;
use snow::{Builder, HandshakeState};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use message::{PROOF_BYTES, Start};
pub use refusal::{Reason, Refused};

static PARAMETERS: LazyLock<NoiseParams> = LazyLock::new(|| {
    "Noise_NNpsk0_25519_ChaChaPoly_SHA256".parse().expect("the name of a pattern that is built in")
});

/// Length of a public key, which begins both messages of Noise, in bytes.
const PUBLIC_BYTES: usize = 32;
/// Length of the tag of what a message seals, in bytes.
const TAG_BYTES: usize = 16;
/// Most security associations that one handshake makes for a direction.
pub(crate) const SERIES_MAX: u16 = 64;
/// The first index that is not reserved (RFC 4303, 2.1).
const SPI_MIN: u32 = 0x100;

/// Start of the prologue, before what a first message shows.
const PROLOGUE: &[u8] = b"sealstone wire ";
/// Purposes of the subkeys here.
const PURPOSE_PSK: &str = "wire handshake";
const PURPOSE_PROOF: &str = "wire retry";
const PURPOSE_PACKETS: &str = "wire packets";
const PURPOSE_CONTROL: &str = "wire control";

/// Noise could not make a message.
#[derive(Debug, thiserror::Error)]
#[error("cannot begin a handshake: {0}\nit takes randomness from the operating system")]
pub(crate) struct HandshakeError(String);

/// Derives `out` from `secret`: a tunnel computes with our own code alone.
fn derive(secret: &[u8], purpose: &str, context: &[&[u8]], out: &mut [u8]) {
    subkey(Provider::own(), secret, purpose, context, out)
        .expect("our own derivation takes everything");
}

/// The secret that both ends share, of one version of a key.
#[derive(Debug)]
pub(crate) struct Psk {
    key: KeyRef,
    secret: Secret,
}

impl Psk {
    /// Returns the secret for handshakes, of version `key` with the secret `secret`.
    #[must_use]
    pub(crate) fn new(key: KeyRef, secret: &Secret) -> Self {
        let mut derived = Secret::zero();
        derive(secret.as_bytes(), PURPOSE_PSK, &[], derived.as_bytes_mut());
        Self { key, secret: derived }
    }

    /// Returns the secrets of every version that `keys` has, ascending; the last begins handshakes.
    ///
    /// # Errors
    /// Whatever prevents the source from answering.
    pub(crate) fn all(keys: &dyn KeySource) -> Result<Vec<Self>, sealstone_keys::KeyError> {
        let mut all: Vec<Self> =
            keys.all()?.into_iter().map(|(key, secret)| Self::new(key, &secret)).collect();
        let (current, _) = keys.current()?;
        // a version that is newer than the current one is not in use yet
        all.retain(|psk| psk.key.version <= current.version);
        all.sort_by_key(|psk| psk.key.version);
        Ok(all)
    }

    /// Returns the key and version that the pre-shared key belongs to.
    #[must_use]
    pub(crate) fn key(&self) -> &KeyRef {
        &self.key
    }

    /// Returns the proof that the end that requests a new begin has the key; bound to the handshake
    /// and its content.
    pub(crate) fn proof(&self, id: u64, start: &Start) -> [u8; PROOF_BYTES] {
        let mut proof = [0; PROOF_BYTES];
        derive(self.secret.as_bytes(), PURPOSE_PROOF, &[&id.to_be_bytes(), start], &mut proof);
        proof
    }

    /// Returns whether `proof` is that proof.
    pub(crate) fn proves(&self, id: u64, start: &Start, proof: &[u8; PROOF_BYTES]) -> bool {
        self.proof(id, start).ct_eq(proof).into()
    }

    fn noise(&self, head: &[u8], role: Role) -> Result<HandshakeState, snow::Error> {
        let prologue = [PROLOGUE, head].concat();
        let builder =
            Builder::new(PARAMETERS.clone()).psk(0, self.secret.as_bytes())?.prologue(&prologue)?;
        match role {
            Role::Initiator => builder.build_initiator(),
            Role::Responder => builder.build_responder(),
        }
    }
}

/// Role of an end in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The end that sent the first message.
    Initiator,
    /// The end that answered.
    Responder,
}

impl Role {
    fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

/// Indexes of the security associations on which an end receives: `count` of them, beginning with
/// `first`. One key of an old cipher lasts for a few megabytes, so that such a suite gets many at a
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    pub(crate) first: u32,
    pub(crate) count: u16,
}

impl Series {
    const BYTES: usize = 6;

    pub(crate) fn spis(self) -> impl Iterator<Item = u32> {
        self.first..self.first + u32::from(self.count)
    }

    pub(crate) fn holds(self, spi: u32) -> bool {
        spi.checked_sub(self.first).is_some_and(|at| at < u32::from(self.count))
    }

    /// Returns whether indexes may have these values.
    pub(crate) fn is_sound(self) -> bool {
        let ends = self.first.checked_add(SERIES_MAX.into()).is_some();
        self.first >= SPI_MIN && ends && (1..=SERIES_MAX).contains(&self.count)
    }

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.first.to_be_bytes());
        bytes.extend_from_slice(&self.count.to_be_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (first, count) = bytes.split_first_chunk()?;
        let series = Self {
            first: u32::from_be_bytes(*first),
            count: u16::from_be_bytes(count.try_into().ok()?),
        };
        series.is_sound().then_some(series)
    }
}

/// Sealed content of a first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The sender's.
    pub(crate) start: Start,
    /// The receiver's start, as far as the sender has it.
    pub(crate) peer_start: Start,
    /// Counts the first messages of a start.
    pub(crate) counter: u64,
    pub(crate) series: Series,
}

impl Hello {
    const BYTES: usize = 16 + 16 + 8 + Series::BYTES;

    fn write(&self) -> Vec<u8> {
        let mut bytes = [&self.start[..], &self.peer_start, &self.counter.to_be_bytes()].concat();
        self.series.write(&mut bytes);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (start, rest) = bytes.split_first_chunk()?;
        let (peer_start, rest) = rest.split_first_chunk()?;
        let (counter, rest) = rest.split_first_chunk()?;
        let counter = u64::from_be_bytes(*counter);
        Some(Self { start: *start, peer_start: *peer_start, counter, series: Series::read(rest)? })
    }
}

/// Sealed content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The sender's.
    pub(crate) start: Start,
    pub(crate) series: Series,
}

impl Answer {
    const BYTES: usize = 16 + Series::BYTES;
}

/// A handshake that this end began.
pub(crate) struct Begun(HandshakeState);

/// A handshake that the other end began, of which this end has read the first message.
pub(crate) struct Answering(HandshakeState);

/// Begins a handshake. Returns it and its first message.
///
/// - `head`: the part of the message in the clear
pub(crate) fn begin(
    psk: &Psk,
    head: &[u8],
    hello: &Hello,
) -> Result<(Begun, Vec<u8>), HandshakeError> {
    let failed = |error: snow::Error| HandshakeError(error.to_string());
    let mut noise = psk.noise(head, Role::Initiator).map_err(failed)?;
    let mut message = head.to_vec();
    append(&mut noise, &hello.write(), &mut message).map_err(failed)?;
    Ok((Begun(noise), message))
}

/// Reads the first message of a handshake. That takes no work with curves.
///
/// - `head`: the part of the message in the clear
/// - `noise`: the rest of it
pub(crate) fn read_first(
    psk: &Psk,
    head: &[u8],
    noise: &[u8],
) -> Result<(Answering, Hello), Refused> {
    let mut payload = [0; Hello::BYTES];
    if noise.len() != PUBLIC_BYTES + Hello::BYTES + TAG_BYTES {
        return Err(Refused::Malformed { found: "a first message of another length" });
    }
    let wrong = |_| Refused::WrongKey { key: psk.key.clone() };
    let mut state = psk.noise(head, Role::Responder).map_err(wrong)?;
    state.read_message(noise, &mut payload).map_err(wrong)?;
    let hello = Hello::read(&payload)
        .ok_or(Refused::Malformed { found: "a first message that asks nonsense" })?;
    Ok((Answering(state), hello))
}

impl Answering {
    /// Appends the answer to `message`, and returns what both ends then share.
    pub(crate) fn answer(
        mut self,
        answer: &Answer,
        message: &mut Vec<u8>,
    ) -> Result<Agreed, HandshakeError> {
        let mut payload = answer.start.to_vec();
        answer.series.write(&mut payload);
        append(&mut self.0, &payload, message)
            .map_err(|error| HandshakeError(error.to_string()))?;
        Ok(Agreed::of(&mut self.0, Role::Responder))
    }
}

impl Begun {
    /// Reads the answer. A forged one has no effect.
    pub(crate) fn finish(&mut self, noise: &[u8]) -> Result<(Agreed, Answer), Refused> {
        let mut payload = [0; Answer::BYTES];
        if noise.len() != PUBLIC_BYTES + Answer::BYTES + TAG_BYTES {
            return Err(Refused::Malformed { found: "an answer of another length" });
        }
        self.0.read_message(noise, &mut payload).map_err(|_| Refused::Forged)?;
        let malformed = Refused::Malformed { found: "an answer that says nonsense" };
        let (start, rest) = payload.split_first_chunk().ok_or(malformed.clone())?;
        let series = Series::read(rest).ok_or(malformed)?;
        Ok((Agreed::of(&mut self.0, Role::Initiator), Answer { start: *start, series }))
    }
}

fn append(
    noise: &mut HandshakeState,
    payload: &[u8],
    message: &mut Vec<u8>,
) -> Result<(), snow::Error> {
    let begin = message.len();
    message.resize(begin + PUBLIC_BYTES + payload.len() + TAG_BYTES, 0);
    let written = noise.write_message(payload, &mut message[begin..])?;
    message.truncate(begin + written);
    Ok(())
}

/// Result of a handshake that both ends share.
#[derive(Debug)]
pub(crate) struct Agreed {
    /// Role of this end.
    role: Role,
    /// For what the initiator sends.
    of_initiator: Secret,
    /// For what the responder sends.
    of_responder: Secret,
    /// The hash of all messages of both ends.
    hash: [u8; 32],
}

/// In which direction something is sealed, seen from this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Sent,
    Received,
}

impl Agreed {
    fn of(noise: &mut HandshakeState, role: Role) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(noise.get_handshake_hash());
        let (initiator, responder) = noise.dangerously_get_raw_split();
        let (initiator, responder) = (Zeroizing::new(initiator), Zeroizing::new(responder));
        Self {
            role,
            of_initiator: Secret::from_bytes(&initiator),
            of_responder: Secret::from_bytes(&responder),
            hash,
        }
    }

    /// This end's.
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    fn secret(&self, direction: Direction) -> &[u8; Secret::BYTES] {
        let sender = match direction {
            Direction::Sent => self.role,
            Direction::Received => self.role.other(),
        };
        match sender {
            Role::Initiator => self.of_initiator.as_bytes(),
            Role::Responder => self.of_responder.as_bytes(),
        }
    }

    /// Returns the keys of the security association with index `spi`: `bytes` bytes for a suite.
    pub(crate) fn packet_keys(
        &self,
        direction: Direction,
        suite: &str,
        spi: u32,
        bytes: usize,
    ) -> Zeroizing<Vec<u8>> {
        let mut keys = Zeroizing::new(vec![0; bytes]);
        let context: [&[u8]; 3] = [suite.as_bytes(), &spi.to_be_bytes(), &self.hash];
        derive(self.secret(direction), PURPOSE_PACKETS, &context, &mut keys);
        keys
    }

    /// Returns the key for messages between both ends.
    pub(crate) fn control_key(&self, direction: Direction) -> Secret {
        let mut key = Secret::zero();
        derive(self.secret(direction), PURPOSE_CONTROL, &[&self.hash], key.as_bytes_mut());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn psk(byte: u8) -> Psk {
        Psk::new(KeyRef { id: "wire".into(), version: 1 }, &Secret::from_bytes(&[byte; 32]))
    }

    const HELLO: Hello = Hello {
        start: [1; 16],
        peer_start: [2; 16],
        counter: 3,
        series: Series { first: 0x1000, count: 4 },
    };
    const ANSWER: Answer = Answer { start: [2; 16], series: Series { first: 0x2000, count: 1 } };

    fn both() -> (Agreed, Agreed) {
        let (mut begun, first) = begin(&psk(7), b"head", &HELLO).unwrap();
        let (answering, hello) = read_first(&psk(7), b"head", &first[4..]).unwrap();
        assert_eq!(hello, HELLO);
        let mut message = b"answer".to_vec();
        let theirs = answering.answer(&ANSWER, &mut message).unwrap();
        let (ours, answer) = begun.finish(&message[6..]).unwrap();
        assert_eq!(answer, ANSWER);
        (ours, theirs)
    }

    #[test]
    fn both_ends_get_the_same_keys_and_no_two_are_alike() {
        let (ours, theirs) = both();
        let mut seen = Vec::new();
        for (one, other) in
            [(Direction::Sent, Direction::Received), (Direction::Received, Direction::Sent)]
        {
            let mut keys = vec![ours.control_key(one).as_bytes().to_vec()];
            assert_eq!(keys[0], theirs.control_key(other).as_bytes());
            for (suite, spi) in
                [("aes-256-gcm", 0x1000), ("aes-256-gcm", 0x1001), ("aria-256-gcm", 0x1000)]
            {
                let key = ours.packet_keys(one, suite, spi, 36);
                assert_eq!(*key, *theirs.packet_keys(other, suite, spi, 36));
                keys.push(key.to_vec());
            }
            seen.extend(keys);
        }
        let (again, _) = both();
        seen.push(again.packet_keys(Direction::Sent, "aes-256-gcm", 0x1000, 36).to_vec());
        for (at, key) in seen.iter().enumerate() {
            assert!(
                seen[..at].iter().all(|other| other[..32] != key[..32]),
                "key {at} came up twice"
            );
        }
    }

    #[test]
    fn another_secret_or_another_head_is_refused() {
        let (_, first) = begin(&psk(7), b"head", &HELLO).unwrap();
        let wrong = Some(Refused::WrongKey { key: psk(8).key });
        assert_eq!(read_first(&psk(8), b"head", &first[4..]).err(), wrong);
        assert_eq!(read_first(&psk(7), b"Head", &first[4..]).err(), wrong);
        for at in 4..first.len() {
            let mut changed = first.clone();
            changed[at] ^= 1;
            assert_eq!(read_first(&psk(7), b"head", &changed[4..]).err(), wrong, "byte {at}");
        }
        assert!(matches!(
            read_first(&psk(7), b"head", &first[5..]).err(),
            Some(Refused::Malformed { .. })
        ));
    }

    #[test]
    fn forged_answers_leave_the_handshake_as_it_was() {
        let (mut begun, first) = begin(&psk(7), b"head", &HELLO).unwrap();
        let (answering, _) = read_first(&psk(7), b"head", &first[4..]).unwrap();
        let mut message = Vec::new();
        let theirs = answering.answer(&ANSWER, &mut message).unwrap();
        for at in 0..message.len() {
            let mut forged = message.clone();
            forged[at] ^= 0x80;
            // the highest bit of a public key does not count for X25519, but for the hash
            assert_eq!(begun.finish(&forged).err(), Some(Refused::Forged), "byte {at}");
        }
        assert!(begun.finish(&message[1..]).is_err());
        let (ours, _) = begun.finish(&message).unwrap();
        assert_eq!(
            ours.control_key(Direction::Sent).as_bytes(),
            theirs.control_key(Direction::Received).as_bytes()
        );
    }

    #[test]
    fn a_proof_is_of_one_handshake_and_one_start() {
        let proof = psk(7).proof(1, &[3; 16]);
        assert!(psk(7).proves(1, &[3; 16], &proof));
        assert!(!psk(7).proves(2, &[3; 16], &proof) && !psk(7).proves(1, &[4; 16], &proof));
        assert!(!psk(8).proves(1, &[3; 16], &proof));
    }

    #[test]
    fn indexes_are_sound() {
        let series = |first, count| Series { first, count };
        assert!(series(0x100, 1).is_sound() && series(0x100, 64).is_sound());
        for odd in [series(0xff, 1), series(0x100, 0), series(0x100, 65), series(u32::MAX, 1)] {
            assert!(!odd.is_sound(), "{odd:?}");
        }
        assert!(
            series(0x100, 2).holds(0x101)
                && !series(0x100, 2).holds(0x102)
                && !series(0x100, 2).holds(0xff)
        );
    }
}
