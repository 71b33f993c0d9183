//! HMAC with a shortened tag, as packets carry it.
//!
//! For protocols that prescribe it. MD5 and SHA-1 are broken as hash functions; HMAC over them is not known to be, and
//! is nothing for new uses. For storage take [`crate::aead`].
//!
//! Not here: the hash functions (the crates `md-5`, `sha1` and `sha2`, which take the CPU's instructions for SHA where
//! it has them), MACs from block ciphers ([`crate::cmac`]).

use std::fmt;

use hmac::{Hmac as Keyed, KeyInit};
use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::memory::Protected;

/// Length of the longest tag, in bytes.
pub const TAG_BYTES_MAX: usize = 16;

/// A hash function with the lengths of key and tag that a protocol takes: one row of the table.
#[derive(Debug)]
pub struct Mac {
    /// The name in flags, tables and reports, such as `hmac-sha1-96`.
    pub name: &'static str,
    /// Length of the key, in bytes.
    pub key_bytes: usize,
    /// Length of the tag, in bytes: the beginning of the hash function's.
    pub tag_bytes: usize,
    /// What a user must know before taking it, where there is something.
    pub caveat: Option<&'static str>,
    /// The specification, such as `RFC 2404`.
    pub source: &'static str,
    set_key: fn(&[u8]) -> Protected<dyn Tagging>,
}

/// The table, in the order in which to show it.
static MACS: [Mac; 3] = [
    Mac {
        name: "hmac-md5-96",
        key_bytes: 16,
        tag_bytes: 12,
        caveat: Some("MD5 is broken as a hash function"),
        source: "RFC 2403",
        set_key: set_key::<Keyed<md5::Md5>>,
    },
    Mac {
        name: "hmac-sha1-96",
        key_bytes: 20,
        tag_bytes: 12,
        caveat: Some("SHA-1 is broken as a hash function"),
        source: "RFC 2404",
        set_key: set_key::<Keyed<sha1::Sha1>>,
    },
    Mac {
        name: "hmac-sha-256-128",
        key_bytes: 32,
        tag_bytes: 16,
        caveat: None,
        source: "RFC 4868",
        set_key: set_key::<Keyed<sha2::Sha256>>,
    },
];

/// All of them, in the order in which to show them.
#[must_use]
pub fn macs() -> &'static [Mac] {
    &MACS
}

/// Sets `key` (`mac.key_bytes` long).
///
/// # Errors
/// `Error::KeyLength`.
///
/// Source: RFC 2104.
pub fn hmac(mac: &'static Mac, key: &[u8]) -> Result<Hmac, Error> {
    if key.len() != mac.key_bytes {
        return Err(Error::KeyLength { found: key.len(), want: mac.key_bytes });
    }
    Ok(Hmac { mac, keyed: (mac.set_key)(key) })
}

/// A keyed HMAC. One object serves many threads at once; what is derived from its key is in protected memory.
pub struct Hmac {
    mac: &'static Mac,
    keyed: Protected<dyn Tagging>,
}

impl fmt::Debug for Hmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hmac").field("mac", &self.mac.name).finish_non_exhaustive()
    }
}

impl Hmac {
    /// Length of the tag, in bytes.
    #[must_use]
    pub fn tag_bytes(&self) -> usize {
        self.mac.tag_bytes
    }

    /// The tag over `parts`, one after the other, in the first [`Hmac::tag_bytes`] bytes; the others are zeros.
    #[must_use]
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES_MAX] {
        let mut tag = self.keyed.tag(parts);
        tag[self.mac.tag_bytes..].fill(0);
        tag
    }

    /// Whether `tag` is the one over `parts`, compared in constant time.
    ///
    /// # Errors
    /// `Error::Authentication` whatever the cause.
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> Result<(), Error> {
        let want = self.tag(parts);
        if bool::from(want[..self.mac.tag_bytes].ct_eq(tag)) { Ok(()) } else { Err(Error::Authentication) }
    }
}

/// A keyed hash function.
trait Tagging: Send + Sync {
    /// The first bytes of its output over `parts`.
    fn tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES_MAX];
}

impl<M: hmac::Mac + Clone + Send + Sync> Tagging for M {
    fn tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES_MAX] {
        let mut running = self.clone();
        parts.iter().for_each(|part| running.update(part));
        let output = running.finalize().into_bytes();
        std::array::from_fn(|i| output[i])
    }
}

fn set_key<M: hmac::Mac + KeyInit + Clone + Send + Sync + 'static>(key: &[u8]) -> Protected<dyn Tagging> {
    Protected::with(|| <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length"))
        .unsize(|keyed| keyed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// RFC 2202, test cases 1 and 5 (with a shortened tag) of each; RFC 4868, section 2.7.2.1, cases AUTH256-1 and 2.
    #[test]
    fn vectors_of_the_standards() {
        let cases: [(&str, Vec<u8>, &[u8], &str); 5] = [
            ("hmac-md5-96", vec![0x0b; 16], b"Hi There", "9294727a3638bb1c13f48ef8"),
            ("hmac-md5-96", vec![0x0c; 16], b"Test With Truncation", "56461ef2342edc00f9bab995"),
            ("hmac-sha1-96", vec![0x0b; 20], b"Hi There", "b617318655057264e28bc0b6"),
            ("hmac-sha1-96", vec![0x0c; 20], b"Test With Truncation", "4c1a03424b55e07fe7f27be1"),
            ("hmac-sha-256-128", vec![0x0b; 32], b"Hi There", "198a607eb44bfbc69903a0f1cf2bbdc5"),
        ];
        for (name, key, message, tag) in cases {
            let mac = macs().iter().find(|mac| mac.name == name).unwrap();
            let keyed = hmac(mac, &key).unwrap();
            let (head, tail) = message.split_at(3);
            assert_eq!(keyed.tag(&[message])[..mac.tag_bytes], hex(tag), "{name}");
            assert_eq!(keyed.tag(&[head, tail, b""])[..mac.tag_bytes], hex(tag), "{name} in parts");
        }
    }

    #[test]
    fn another_tag_key_or_length_is_refused() {
        for mac in macs() {
            let keyed = hmac(mac, &bytes("hmac", mac.key_bytes)).unwrap();
            let tag = keyed.tag(&[b"message"]);
            let tag = &tag[..mac.tag_bytes];
            assert_eq!(keyed.verify(&[b"mess", b"age"], tag), Ok(()));
            assert_eq!(keyed.verify(&[b"massage"], tag), Err(Error::Authentication));
            assert_eq!(keyed.verify(&[b"message"], &tag[1..]), Err(Error::Authentication));
            for bit in 0..8 * tag.len() {
                let mut wrong = tag.to_vec();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(keyed.verify(&[b"message"], &wrong), Err(Error::Authentication));
            }
            let short = hmac(mac, &vec![0; mac.key_bytes - 1]).unwrap_err();
            assert_eq!(short, Error::KeyLength { found: mac.key_bytes - 1, want: mac.key_bytes });
        }
    }
}
