//! Security associations that others agreed on, with their keys.

use std::fmt;
use std::net::IpAddr;

use sealstone_cipher::Backend;
use sealstone_cipher::hmac::{Message, hmac};
use sealstone_cipher::suites::{HMAC_SHA256, Mac};
use sealstone_seal::esp::{Association, Encryption, EspError, Inbound, Outbound, Suite, suites};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The public key of the MAC that makes fingerprints of keys.
const FINGERPRINT: &[u8; 32] = b"sealstone: fingerprint of a key ";

/// An association with its keys. It protects packets from `source` to `destination`.
#[derive(Clone)]
pub struct ManualAssociation {
    /// The sealing end.
    pub source: IpAddr,
    /// The opening end.
    pub destination: IpAddr,
    /// Association that both agreed on.
    pub association: Association,
    /// The ports of UDP, source and destination, if packets travel in UDP, like our path's.
    pub ports: Option<(u16, u16)>,
    /// Packets that its source had sealed, as far as recorded.
    pub sealed_before: u64,
    /// The newest number that had come there.
    pub came_before: u64,
    /// The line of the text on which it is, or begins, from 1.
    pub line: usize,
    key: Zeroizing<Vec<u8>>,
    integrity_key: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for ManualAssociation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ManualAssociation");
        shown.field("source", &self.source).field("destination", &self.destination);
        shown
            .field("spi", &self.association.spi)
            .field("suite", &self.association.suite.name)
            .finish_non_exhaustive()
    }
}

impl ManualAssociation {
    /// Returns a name that identifies its key but reveals nothing of it: a digest, of 128 bits, in
    /// hexadecimal digits. Associations with another key have another name.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let digest = hmac(HMAC_SHA256, FINGERPRINT, Backend::auto()).expect("a key of its length");
        let tag = digest.tag(&Message { data: &self.key, tail: &[] });
        tag.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns whether its nonces are made from a number that counts, so that a key and salt may
    /// seal in only one place. All other ciphers draw initialisation vectors that nobody can
    /// predict.
    #[must_use]
    pub(crate) fn counts_nonces(&self) -> bool {
        matches!(self.association.suite.encryption, Encryption::Gcm(_))
    }

    /// Returns whether both are one association, written down twice.
    #[must_use]
    pub(crate) fn is_again(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.source, one.destination, one.association.spi);
        of(self) == of(other)
    }

    /// Returns whether both have the same key, which for a cipher in GCM includes the same salt.
    #[must_use]
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        let is_same = self.association.suite.encryption == other.association.suite.encryption;
        is_same && self.key.ct_eq(&other.key).into()
    }

    /// Returns whether packets of one are taken for packets of the other: they have index, key and
    /// integrity key in common.
    #[must_use]
    pub(crate) fn opens_for(&self, other: &Self) -> bool {
        let is_same = self.association.spi == other.association.spi && self.has_key_of(other);
        is_same
            && self.association.suite.mac == other.association.suite.mac
            && self.integrity_key.ct_eq(&other.integrity_key).into()
    }

    /// Returns the association in a few words, to find it in its file.
    #[must_use]
    pub fn named(&self) -> String {
        format!("{:#010x} from {} to {}", self.association.spi, self.source, self.destination)
    }

    /// Returns the end that seals. Nobody else may seal under these keys, and nobody may have
    /// before, this program included: numbers begin again, so GCM would use its nonces twice (RFC
    /// 4106, section 2); [`Outbound::after`] continues.
    ///
    /// # Errors
    /// As [`Outbound::new`].
    pub fn outbound(&self) -> Result<Outbound, EspError> {
        Outbound::new(&self.association, &self.key, &self.integrity_key)
    }

    /// Returns the end that opens; `window_packets` as for [`Inbound::new`].
    ///
    /// # Errors
    /// As [`Inbound::new`].
    pub fn inbound(&self, window_packets: u32) -> Result<Inbound, EspError> {
        Inbound::new(&self.association, &self.key, &self.integrity_key, window_packets)
    }
}

/// Place where a text is not what it should be. No key is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read associations from {form}: line {line}: {found}\n{next}")]
#[non_exhaustive]
pub struct Unreadable {
    /// Format that the text should have.
    pub form: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// Description of the fault there.
    pub found: String,
    /// Advice on what to do.
    pub next: &'static str,
}

/// The parts of an association as they are collected.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) source: Option<IpAddr>,
    pub(crate) destination: Option<IpAddr>,
    pub(crate) spi: Option<u32>,
    pub(crate) extended: bool,
    pub(crate) ports: Option<(u16, u16)>,
    pub(crate) sealed_before: u64,
    pub(crate) came_before: u64,
    /// Encryption: a cipher's name without its key length, and whether in GCM.
    pub(crate) encryption: Option<(&'static str, bool)>,
    pub(crate) key: Zeroizing<Vec<u8>>,
    pub(crate) mac: Option<&'static Mac>,
    pub(crate) integrity_key: Zeroizing<Vec<u8>>,
}

impl Parts {
    /// Returns the association on `line`; on an error the missing or wrong part, in words.
    pub(crate) fn whole(self, line: usize) -> Result<ManualAssociation, String> {
        let missing = |what: &str| format!("an association without {what}");
        let source = self.source.ok_or_else(|| missing("a source"))?;
        let destination = self.destination.ok_or_else(|| missing("a destination"))?;
        let spi = self.spi.ok_or_else(|| missing("an index (spi)"))?;
        let (cipher, is_gcm) = self.encryption.ok_or_else(|| missing("encryption"))?;
        let suite = self.suite(cipher, is_gcm)?;
        if spi < 256 {
            return Err(format!("the index (spi) {spi:#x}, which is reserved"));
        }
        let association =
            Association { spi, suite, extended: self.extended, backend: Backend::auto() };
        let Self { ports, sealed_before, came_before, key, integrity_key, .. } = self;
        Ok(ManualAssociation {
            source,
            destination,
            association,
            ports,
            sealed_before,
            came_before,
            line,
            key,
            integrity_key,
        })
    }

    fn suite(&self, cipher: &str, is_gcm: bool) -> Result<&'static Suite, String> {
        let fits = |suite: &&Suite| {
            let (name, in_gcm) = match suite.encryption {
                Encryption::Gcm(cipher) => (cipher.name, true),
                Encryption::Cbc(cipher) => (cipher.name, false),
                Encryption::Null => return false,
            };
            let is_same = name == cipher
                || name.strip_prefix(cipher).is_some_and(|rest| rest.starts_with('-'));
            is_same
                && in_gcm == is_gcm
                && suite.mac == self.mac
                && suite.key_bytes() == self.key.len()
        };
        let suite = suites().iter().find(fits).ok_or_else(|| {
            let mac = self.mac.map_or("no integrity", |mac| mac.name);
            let bytes = self.key.len();
            format!(
                "no suite has {cipher}{} with a key of {bytes} bytes and {mac}",
                if is_gcm { " in GCM" } else { "" }
            )
        })?;
        let (found, want) = (self.integrity_key.len(), suite.integrity_key_bytes());
        match found == want {
            true => Ok(suite),
            false => Err(format!(
                "an integrity key of {found} bytes for suite {}, which takes {want}",
                suite.name
            )),
        }
    }
}

/// Returns the bytes of a key that is written in hexadecimal digits.
pub(crate) fn key_of(digits: &str) -> Option<Zeroizing<Vec<u8>>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => {
            Some((char::from(*high).to_digit(16)? * 16 + char::from(*low).to_digit(16)?) as u8)
        }
        _ => None,
    };
    pairs.map(byte).collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// Returns a word of a text in a form safe for errors: possible keys are hidden.
pub(crate) fn shown(word: &str) -> String {
    let digits = word.chars().filter(char::is_ascii_hexdigit).count();
    match digits < 16 && word.chars().count() <= 40 {
        true => format!("{word:?}"),
        false => format!("a word of {} characters", word.chars().count()),
    }
}
