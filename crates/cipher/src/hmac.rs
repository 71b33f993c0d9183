//! HMAC with a shortened tag, as packets carry it, of many messages at once.
//!
//! For protocols that prescribe it. MD5 and SHA-1 are broken as hash functions; HMAC over them is
//! not known to be broken, but is not for new uses. For storage take [`crate::aead`].
//!
//! Each block of a message waits for the one before it, so a single message cannot keep a CPU busy:
//! [`Hmac::tags`] takes a message for each word of a vector, or alternates between two with the
//! CPU's instructions for SHA, whichever is quicker for the number of messages.
//!
//! MD5, SHA-1 and SHA-256 are written once each over `HashWords`: a word alone, or a vector with a
//! word for each of 4, 8 or 16 messages (`message_lanes`). SHA-1 and SHA-256 have a second version
//! over `ShaLanes` (`sha_instructions`).

mod hash;
mod md5;
mod message;
mod message_lanes;
mod queue;
mod sha1;
mod sha256;
mod sha_instructions;
mod tagger;

use std::fmt;

use zeroize::Zeroize;

use crate::backend::Backend;
use crate::declassify::is_tag;
use crate::error::Error;
pub use crate::macs::{Hash, Mac, macs};
use crate::memory::Protected;
use crate::provider::own_in_use;
#[cfg(any(test, feature = "testing"))]
use crate::reference;
pub use message::Message;
pub use queue::TAG_BYTES_MAX;
use tagger::{Tagging, set_key, set_sha_key};

/// Messages verified at a time.
const VERIFIED: usize = 128;

/// Evidence that the conformance suite checks a MAC against.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct MacEvidence {
    /// The MAC once more, written independently: the whole output under a key, of any length, over
    /// a message.
    pub(crate) reference: fn(&[u8], &[u8]) -> Vec<u8>,
    /// The file with known answers: name and text.
    pub(crate) vectors: (&'static str, &'static str),
}

/// Evidence of a reference and a file of `vectors/`, compiled in so that a test needs no path.
#[cfg(any(test, feature = "testing"))]
macro_rules! mac_evidence {
    ($reference:path, $file:literal) => {
        MacEvidence {
            reference: $reference,
            vectors: ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/", $file))),
        }
    };
}

/// Returns the evidence for `mac`.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn evidence(mac: &Mac) -> MacEvidence {
    match mac.hash {
        Hash::Md5 => mac_evidence!(reference::hmac_md5, "hmac-md5.txt"),
        Hash::Sha1 => mac_evidence!(reference::hmac_sha1, "hmac-sha1.txt"),
        Hash::Sha256 => mac_evidence!(reference::hmac_sha256, "hmac-sha-256.txt"),
    }
}

/// Sets `key` (`mac.key_bytes` long) on `backend`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`.
///
/// Source: RFC 2104.
///
/// ```
/// use sealstone_cipher::Backend;
/// use sealstone_cipher::hmac::{Message, TAG_BYTES_MAX, hmac, macs};
///
/// let sha256 = macs().iter().find(|mac| mac.name == "hmac-sha-256-128").unwrap();
/// let keyed = hmac(sha256, &[7; 32], Backend::auto())?;
/// let one = Message { data: b"one packet", tail: &[] };
/// let packets = [one, Message { data: b"and another", tail: b", longer" }];
/// let mut tags = [[0; TAG_BYTES_MAX]; 2];
/// keyed.tags(&packets, &mut tags);
/// assert_eq!(keyed.verify(&packets[1], &tags[1]), Ok(()));
/// assert!(keyed.verify(&packets[1], &tags[0]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hmac(mac: &'static Mac, key: &[u8], backend: Backend) -> Result<Hmac, Error> {
    if key.len() != mac.key_bytes {
        return Err(Error::KeyLength { found: key.len(), want: mac.key_bytes });
    }
    own_in_use("HMAC");
    Ok(Hmac { mac, keyed: keyed(mac.hash, key, backend) })
}

/// Sets `key`, of any length, for HMAC over `hash`.
fn keyed(hash: Hash, key: &[u8], backend: Backend) -> Protected<dyn Tagging> {
    match hash {
        // each step waits for the one before, and one vector would leave the CPU idle
        Hash::Md5 => set_key::<md5::Md5, 2>(key, backend),
        Hash::Sha1 => set_sha_key::<sha1::Sha1>(key, backend),
        Hash::Sha256 => set_sha_key::<sha256::Sha256>(key, backend),
    }
}

/// A keyed HMAC. One object serves many threads at once; everything derived from its key is in
/// protected memory.
pub struct Hmac {
    mac: &'static Mac,
    keyed: Protected<dyn Tagging>,
}

impl fmt::Debug for Hmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Hmac");
        shown.field("mac", &self.mac.name).field("backend", &self.backend()).finish_non_exhaustive()
    }
}

impl Hmac {
    /// Returns the length of the tag, in bytes.
    #[must_use]
    pub fn tag_bytes(&self) -> usize {
        self.mac.tag_bytes
    }

    /// Returns the name of the backend, such as `avx512`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.keyed.backend()
    }

    /// Returns the tag of `message`, in the first [`Hmac::tag_bytes`] bytes; the others are zeros.
    #[must_use]
    pub fn tag(&self, message: &Message<'_>) -> [u8; TAG_BYTES_MAX] {
        let mut tag = [[0; TAG_BYTES_MAX]];
        self.tags(std::slice::from_ref(message), &mut tag);
        tag[0]
    }

    /// Writes the tag of each of `messages` to `tags`, as [`Hmac::tag`] returns it. Their lengths
    /// may differ; it is quickest with many at a time, of lengths that are alike.
    ///
    /// # Panics
    /// If there are not as many `tags` as `messages`.
    pub fn tags(&self, messages: &[Message<'_>], tags: &mut [[u8; TAG_BYTES_MAX]]) {
        assert_eq!(messages.len(), tags.len(), "a tag for each message");
        self.keyed.tags(messages, tags);
        for tag in tags {
            tag[self.mac.tag_bytes..].fill(0);
        }
    }

    /// Checks that `tag` is the tag of `message`, comparing in constant time.
    ///
    /// # Errors
    /// `Error::Authentication` whatever the cause.
    pub fn verify(&self, message: &Message<'_>, tag: &[u8]) -> Result<(), Error> {
        let mut genuine = [false];
        self.verify_many(std::slice::from_ref(message), &[tag], &mut genuine);
        if genuine[0] { Ok(()) } else { Err(Error::Authentication) }
    }

    /// Writes to `genuine`, for each of `messages`, whether its tag equals the tag in `tags`,
    /// compared in constant time.
    ///
    /// # Panics
    /// If there are not as many `tags` and answers as `messages`.
    pub fn verify_many(&self, messages: &[Message<'_>], tags: &[&[u8]], genuine: &mut [bool]) {
        assert_eq!(
            (messages.len(), messages.len()),
            (tags.len(), genuine.len()),
            "a tag and an answer for each message"
        );
        let each =
            messages.chunks(VERIFIED).zip(tags.chunks(VERIFIED)).zip(genuine.chunks_mut(VERIFIED));
        // values that a forger lacks
        let mut wanted = [[0; TAG_BYTES_MAX]; VERIFIED];
        for ((messages, tags), genuine) in each {
            let wanted = &mut wanted[..messages.len()];
            self.keyed.tags(messages, wanted);
            for ((genuine, wanted), tag) in genuine.iter_mut().zip(wanted).zip(tags) {
                *genuine = is_tag(&wanted[..self.mac.tag_bytes], tag);
            }
        }
        wanted.as_flattened_mut().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vectors::{Case, vectors_of_mac};

    /// All published vectors, whatever their key length, on every backend.
    #[test]
    fn published_vectors_of_every_key_length() {
        let mut lengths = std::collections::BTreeSet::new();
        for mac in macs() {
            for vector in vectors_of_mac(mac) {
                let Case::Hmac { message, tag } = &vector.case else { continue };
                for backend in Backend::available() {
                    let keyed = keyed(mac.hash, &vector.key, backend);
                    for count in [1, 2, 40] {
                        let mut found = vec![[0; TAG_BYTES_MAX]; count];
                        keyed.tags(&vec![Message { data: message, tail: &[] }; count], &mut found);
                        let what =
                            format!("{} on {}, {count} at once", vector.place, backend.name());
                        assert!(
                            found.iter().all(|found| found[..] == tag[..TAG_BYTES_MAX]),
                            "{what}"
                        );
                    }
                }
                lengths.insert(vector.key.len());
            }
        }
        assert!(
            [4, 16, 20, 25, 32, 80, 131].iter().all(|length| lengths.contains(length)),
            "{lengths:?}"
        );
    }
}
