//! The messages of the key exchange as bytes; docs/formats.md lists them.

use sealstone_keys::{KEY_ID_BYTES_MAX, KeyRef, check_key_id};

use super::refusal::Refused;

/// Version of the exchange.
const PROTOCOL: u8 = 1;
/// Longest name of a suite, in bytes.
const SUITE_BYTES_MAX: usize = 32;
/// Length of what proves that a [`Message::Retry`] comes from somebody with the key, in bytes.
pub(crate) const PROOF_BYTES: usize = 16;

const INIT: u8 = 1;
const RETRY: u8 = 2;
const RESPONSE: u8 = 3;
const CONTROL: u8 = 4;
const REFUSAL: u8 = 5;

/// Identifier of one start of one end: drawn when it starts, so that recordings from before it can
/// be recognised as old.
pub(crate) type Start = [u8; 16];

/// Data that an end shows in the clear, so that the other end can report what does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Identifier of the handshake; drawn by the end that begins it.
    pub(crate) id: u64,
    pub(crate) key: KeyRef,
    /// Name of the suite.
    pub(crate) suite: String,
}

/// Reasons why an end does not answer a first message, as it reports them to the other end. The
/// sender of a report is unverified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Why {
    OtherSuite = 1,
    OtherKey = 2,
    UnknownVersion = 3,
    WrongKey = 4,
}

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// The first message: `head` is the part in the clear, `noise` the first message of Noise.
    Init { offer: Offer, head: &'a [u8], noise: &'a [u8] },
    /// Begin again, with the start of this end, which the first message did not name.
    Retry { id: u64, start: Start, proof: [u8; PROOF_BYTES] },
    /// The answer: the second message of Noise.
    Response { id: u64, noise: &'a [u8] },
    /// Between ends that have keys: `head` is in the clear, the rest sealed.
    Control { spi: u32, counter: u64, head: &'a [u8], sealed: &'a [u8] },
    /// The first message is not answered; `offer` is what who refuses has.
    Refusal { why: Why, offer: Offer },
}

impl<'a> Message<'a> {
    /// Reads a message.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Refused> {
        let mut rest = Rest(bytes);
        let [kind, version] = rest.array()?;
        if version != PROTOCOL {
            return Err(Refused::OtherProtocol { found: version, known: PROTOCOL });
        }
        let message = match kind {
            INIT => {
                let offer = rest.offer()?;
                let (head, noise) = bytes.split_at(bytes.len() - rest.0.len());
                return Ok(Self::Init { offer, head, noise });
            }
            RETRY => Self::Retry { id: rest.u64()?, start: rest.array()?, proof: rest.array()? },
            RESPONSE => return Ok(Self::Response { id: rest.u64()?, noise: rest.0 }),
            CONTROL => {
                let (spi, counter) = (u32::from_be_bytes(rest.array()?), rest.u64()?);
                let (head, sealed) = bytes.split_at(bytes.len() - rest.0.len());
                return Ok(Self::Control { spi, counter, head, sealed });
            }
            REFUSAL => {
                let [why] = rest.array()?;
                let known = [Why::OtherSuite, Why::OtherKey, Why::UnknownVersion, Why::WrongKey];
                let why = known
                    .into_iter()
                    .find(|known| *known as u8 == why)
                    .ok_or(malformed("unknown refusal"))?;
                Self::Refusal { why, offer: rest.offer()? }
            }
            _ => return Err(malformed("unknown kind")),
        };
        if rest.0.is_empty() { Ok(message) } else { Err(malformed("it is too long")) }
    }
}

fn malformed(found: &'static str) -> Refused {
    Refused::Malformed { found }
}

/// Bytes that have not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Refused> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(malformed("it is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        self.take(N)?.try_into().map_err(|_| malformed("it is too short"))
    }

    fn u64(&mut self) -> Result<u64, Refused> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<&'a str, Refused> {
        let [bytes] = self.array()?;
        std::str::from_utf8(self.take(bytes.into())?)
            .map_err(|_| malformed("a name that is no text"))
    }

    fn offer(&mut self) -> Result<Offer, Refused> {
        let id = self.u64()?;
        let version = u32::from_be_bytes(self.array()?);
        let key_id = self.text()?;
        // it is shown: nothing that a terminal would obey
        check_key_id(key_id).map_err(|_| malformed("a key id that is none"))?;
        let suite = self.text()?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if suite.is_empty() || suite.len() > SUITE_BYTES_MAX || !suite.bytes().all(plain) {
            return Err(malformed("the name of a suite that is none"));
        }
        Ok(Offer { id, key: KeyRef { id: key_id.to_owned(), version }, suite: suite.to_owned() })
    }
}

impl Offer {
    fn write(&self, bytes: &mut Vec<u8>) {
        assert!(
            self.key.id.len() <= KEY_ID_BYTES_MAX && self.suite.len() <= SUITE_BYTES_MAX,
            "names were checked"
        );
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.extend_from_slice(&self.key.version.to_be_bytes());
        for name in [&self.key.id, &self.suite] {
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
        }
    }

    /// Returns the beginning of a first message.
    pub(crate) fn init_head(&self) -> Vec<u8> {
        let mut bytes = vec![INIT, PROTOCOL];
        self.write(&mut bytes);
        bytes
    }

    /// Returns a refusal. It is shorter than any first message, so that it is of no use to who
    /// forges addresses.
    pub(crate) fn refusal(&self, why: Why) -> Vec<u8> {
        let mut bytes = vec![REFUSAL, PROTOCOL, why as u8];
        self.write(&mut bytes);
        bytes
    }
}

/// Returns a [`Message::Retry`].
pub(crate) fn retry(id: u64, start: &Start, proof: &[u8; PROOF_BYTES]) -> Vec<u8> {
    [&[RETRY, PROTOCOL][..], &id.to_be_bytes(), start, proof].concat()
}

/// Returns the beginning of a [`Message::Response`].
pub(crate) fn response_head(id: u64) -> Vec<u8> {
    [&[RESPONSE, PROTOCOL][..], &id.to_be_bytes()].concat()
}

/// Returns the beginning of a [`Message::Control`].
pub(crate) fn control_head(spi: u32, counter: u64) -> Vec<u8> {
    [&[CONTROL, PROTOCOL][..], &spi.to_be_bytes(), &counter.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(key_id: &str) -> Offer {
        Offer { id: 7, key: KeyRef { id: key_id.into(), version: 3 }, suite: "aes-256-gcm".into() }
    }

    #[test]
    fn messages_are_read_as_written() {
        let head = offer("wire").init_head();
        let first = [&head[..], b"noise"].concat();
        assert_eq!(
            Message::parse(&first),
            Ok(Message::Init { offer: offer("wire"), head: &head, noise: b"noise" })
        );
        let retry = retry(7, &[1; 16], &[2; 16]);
        assert_eq!(
            Message::parse(&retry),
            Ok(Message::Retry { id: 7, start: [1; 16], proof: [2; 16] })
        );
        let answer = [&response_head(7)[..], b"noise"].concat();
        assert_eq!(Message::parse(&answer), Ok(Message::Response { id: 7, noise: b"noise" }));
        let head = control_head(0x1234, 9);
        let control = [&head[..], b"sealed"].concat();
        let want = Message::Control { spi: 0x1234, counter: 9, head: &head, sealed: b"sealed" };
        assert_eq!(Message::parse(&control), Ok(want));
        let refusal = offer("wire").refusal(Why::OtherSuite);
        assert_eq!(
            Message::parse(&refusal),
            Ok(Message::Refusal { why: Why::OtherSuite, offer: offer("wire") })
        );
        assert_eq!(
            Message::parse(&[&retry[..], b"x"].concat()),
            Err(Refused::Malformed { found: "it is too long" })
        );
    }

    #[test]
    fn what_is_cut_or_odd_is_refused() {
        let first = offer("wire").init_head();
        for end in 0..first.len() {
            assert!(Message::parse(&first[..end]).is_err(), "{end} bytes");
        }
        for id in ["two words", "\u{1b}[31m", ""] {
            assert!(Message::parse(&offer(id).init_head()).is_err(), "{id:?}");
        }
        let odd = Offer { suite: "AES\u{1b}".into(), ..offer("wire") };
        assert!(Message::parse(&odd.init_head()).is_err());
        assert_eq!(Message::parse(&[1, 2, 0]), Err(Refused::OtherProtocol { found: 2, known: 1 }));
        assert!(Message::parse(&[9, 1]).is_err());
    }
}
