//! The table of suites: the cipher and the MAC of a packet.

use sealstone_message::Unknown;

use crate::approval::Approval;
use crate::facts::{Cipher, Standing};
use crate::macs::{HMAC_MD5 as MD5, HMAC_SHA1 as SHA1, HMAC_SHA256 as SHA256};
pub use crate::macs::{HMAC_MD5, HMAC_SHA1, HMAC_SHA256, Hash, Mac, macs};
use crate::modes::Mode;
use crate::registry::cipher_row;

/// Method of encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing, for measuring the path alone.
    Null,
    /// A cipher in CBC, with an unpredictable initialisation vector in each packet.
    Cbc(&'static Cipher),
    /// A cipher in GCM, which authenticates as well.
    Gcm(&'static Cipher),
}

/// The number of the encryption algorithm in IKEv2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Assigned by IANA.
    Iana(u16),
    /// Taken from the range for private use: both ends must be Sealstone.
    Private(u16),
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suite {
    /// The name in flags, tables and reports, such as `aes-128-sha1`.
    pub name: &'static str,
    /// Method of encryption.
    pub encryption: Encryption,
    /// The MAC, where what encrypts does not authenticate.
    pub mac: Option<&'static Mac>,
    /// IKEv2's identifier of the encryption.
    pub transform: Transform,
    /// The specification of what encrypts.
    pub source: &'static str,
    /// Bytes of packets that are worth sealing at once. CBC is serial within a packet, so what a
    /// cipher computes side by side comes from different packets.
    pub batch_bytes: usize,
}

/// Bytes of a GCM key that are the beginning of each nonce.
pub const GCM_SALT_BYTES: usize = 4;
/// Bytes of the nonce that a packet under GCM carries.
const EXPLICIT_NONCE_BYTES: usize = 8;
/// Length of GCM's tag, in bytes.
pub const GCM_TAG_BYTES: usize = 16;

const AES_128: &Cipher = cipher_row("aes-128");
const AES_256: &Cipher = cipher_row("aes-256");
const TDES: &Cipher = cipher_row("3des");
const BLOWFISH: &Cipher = cipher_row("blowfish");
const AES_GCM: Transform = Transform::Iana(20);
const ARIA_GCM: Transform = Transform::Private(1024);
const LEA_GCM: Transform = Transform::Private(1025);
const AS_RFC_4106: &str = "as RFC 4106, with a private transform";

/// A few packets.
const FEW: usize = 3 << 14;

const fn gcm(
    name: &'static str,
    cipher: &'static Cipher,
    transform: Transform,
    source: &'static str,
) -> Suite {
    Suite {
        name,
        encryption: Encryption::Gcm(cipher),
        mac: None,
        transform,
        source,
        batch_bytes: FEW,
    }
}

const fn aes(name: &'static str, cipher: &'static Cipher, mac: &'static Mac) -> Suite {
    let transform = Transform::Iana(12);
    Suite {
        name,
        encryption: Encryption::Cbc(cipher),
        mac: Some(mac),
        transform,
        source: "RFC 3602",
        batch_bytes: FEW,
    }
}

/// Returns a suite of 3DES, computed in bits, which needs hundreds of packets to be fast.
const fn tdes(name: &'static str, mac: &'static Mac) -> Suite {
    let (transform, batch_bytes) = (Transform::Iana(3), 12 << 16);
    Suite {
        name,
        encryption: Encryption::Cbc(TDES),
        mac: Some(mac),
        transform,
        source: "RFC 2451",
        batch_bytes,
    }
}

const fn blowfish(name: &'static str, mac: &'static Mac) -> Suite {
    let (transform, batch_bytes) = (Transform::Iana(7), 2 << 16);
    Suite {
        name,
        encryption: Encryption::Cbc(BLOWFISH),
        mac: Some(mac),
        transform,
        source: "RFC 2451",
        batch_bytes,
    }
}

/// The table, in the order in which to show it.
static SUITES: [Suite; 19] = [
    gcm("aes-256-gcm", AES_256, AES_GCM, "RFC 4106"),
    gcm("aes-128-gcm", AES_128, AES_GCM, "RFC 4106"),
    gcm("aria-256-gcm", cipher_row("aria-256"), ARIA_GCM, AS_RFC_4106),
    gcm("aria-128-gcm", cipher_row("aria-128"), ARIA_GCM, AS_RFC_4106),
    gcm("lea-256-gcm", cipher_row("lea-256"), LEA_GCM, AS_RFC_4106),
    gcm("lea-128-gcm", cipher_row("lea-128"), LEA_GCM, AS_RFC_4106),
    aes("aes-256-sha256", AES_256, SHA256),
    aes("aes-256-sha1", AES_256, SHA1),
    aes("aes-256-md5", AES_256, MD5),
    aes("aes-128-sha256", AES_128, SHA256),
    aes("aes-128-sha1", AES_128, SHA1),
    aes("aes-128-md5", AES_128, MD5),
    tdes("3des-sha256", SHA256),
    tdes("3des-sha1", SHA1),
    tdes("3des-md5", MD5),
    blowfish("blowfish-sha256", SHA256),
    blowfish("blowfish-sha1", SHA1),
    blowfish("blowfish-md5", MD5),
    Suite {
        name: "null",
        encryption: Encryption::Null,
        mac: None,
        transform: Transform::Iana(11),
        source: "RFC 2410; without integrity, for measuring alone",
        batch_bytes: FEW,
    },
];

/// Returns all suites, in the order in which to show them.
#[must_use]
pub fn suites() -> &'static [Suite] {
    &SUITES
}

/// Returns the suite called `name`; case does not matter.
///
/// # Errors
/// [`Unknown`], with the nearest known name.
pub fn suite(name: &str) -> Result<&'static Suite, Unknown> {
    let found = SUITES.iter().find(|suite| suite.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Unknown::new("suite", name, SUITES.iter().map(|suite| suite.name)))
}

impl Suite {
    /// Returns the cipher; none if nothing encrypts.
    #[must_use]
    pub fn cipher(&self) -> Option<&'static Cipher> {
        match self.encryption {
            Encryption::Null => None,
            Encryption::Cbc(cipher) | Encryption::Gcm(cipher) => Some(cipher),
        }
    }

    /// Returns the mode in which it encrypts; none if nothing encrypts.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        match self.encryption {
            Encryption::Null => None,
            Encryption::Cbc(_) => Some(Mode::Cbc),
            Encryption::Gcm(_) => Some(Mode::Gcm),
        }
    }

    /// Returns the lists that all of it is on: algorithms, not implementations.
    #[must_use]
    pub fn approval(&self) -> Approval {
        let (Some(cipher), Some(mode)) = (self.cipher(), self.mode()) else {
            return Approval::NONE;
        };
        let encrypted = cipher.approval_in(mode);
        self.mac.map_or(encrypted, |mac| encrypted.and(mac.approval))
    }

    /// Returns the standing of its weakest part.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.cipher() {
            Some(cipher) if self.mac.is_none_or(|mac| mac.caveat.is_none()) => cipher.standing,
            _ => Standing::Legacy,
        }
    }

    /// Returns the length of the encryption key, in bytes; under GCM with the four bytes that begin
    /// each nonce, after the key.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        let salt = if matches!(self.encryption, Encryption::Gcm(_)) { GCM_SALT_BYTES } else { 0 };
        self.cipher().map_or(0, |cipher| cipher.key_bytes) + salt
    }

    /// Returns the length of the key of the MAC, in bytes; 0 where there is none.
    #[must_use]
    pub fn integrity_key_bytes(&self) -> usize {
        self.mac.map_or(0, |mac| mac.key_bytes)
    }

    /// Returns the length of what a packet carries for the decryption, in bytes: an initialisation
    /// vector, or a piece of a nonce.
    #[must_use]
    pub fn iv_bytes(&self) -> usize {
        match self.encryption {
            Encryption::Null => 0,
            Encryption::Cbc(_) => self.block_bytes(),
            Encryption::Gcm(_) => EXPLICIT_NONCE_BYTES,
        }
    }

    /// Returns the length that encrypted data is a multiple of, in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        match self.encryption {
            Encryption::Cbc(_) => self.cipher().map_or(4, |cipher| cipher.block_bytes),
            // RFC 4303, 2.4: the trailer ends on four bytes
            Encryption::Null | Encryption::Gcm(_) => 4,
        }
    }

    /// Returns the length of the value that authenticates a packet, in bytes.
    #[must_use]
    pub fn tag_bytes(&self) -> usize {
        match self.encryption {
            Encryption::Gcm(_) => GCM_TAG_BYTES,
            Encryption::Null | Encryption::Cbc(_) => self.mac.map_or(0, |mac| mac.tag_bytes),
        }
    }

    /// Returns the caveats that a user must know before choosing the suite, if there are any.
    #[must_use]
    pub fn caveats(&self) -> Vec<&'static str> {
        let unprotected =
            matches!(self.encryption, Encryption::Null).then_some("it protects nothing");
        let of_parts =
            [self.cipher().and_then(|cipher| cipher.caveat), self.mac.and_then(|mac| mac.caveat)];
        unprotected.into_iter().chain(of_parts.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::cipher;

    #[test]
    fn rows_name_what_there_is() {
        for (at, row) in suites().iter().enumerate() {
            assert!(suites()[..at].iter().all(|other| other.name != row.name), "{}", row.name);
            assert_eq!(suite(&row.name.to_uppercase()), Ok(row));
            // a row of the table of ciphers, and no other one
            assert!(
                row.cipher().is_none_or(|found| cipher(found.name) == Ok(found)),
                "{}",
                row.name
            );
            assert!(
                row.cipher().is_none_or(|found| row.name.starts_with(found.name)),
                "{}",
                row.name
            );
            let authenticates = row.mac.is_some() || matches!(row.encryption, Encryption::Gcm(_));
            assert_eq!(authenticates, row.name != "null");
            if let Transform::Private(number) = row.transform {
                // RFC 7296, 3.3.2
                assert!(number >= 1024, "{}", row.name);
            }
        }
        let lengths = |name| {
            let row = suite(name).unwrap();
            (
                row.key_bytes(),
                row.integrity_key_bytes(),
                row.iv_bytes(),
                row.block_bytes(),
                row.tag_bytes(),
            )
        };
        assert_eq!(lengths("aes-256-gcm"), (36, 0, 8, 4, 16));
        assert_eq!(lengths("3des-md5"), (24, 16, 8, 8, 12));
        assert_eq!(lengths("aes-128-sha256"), (16, 32, 16, 16, 16));
        assert_eq!(lengths("null"), (0, 0, 0, 4, 0));
    }

    #[test]
    fn outdated_suites_say_so() {
        assert!(suite("aes-256-gcm").unwrap().caveats().is_empty());
        assert!(suite("aes-256-sha256").unwrap().caveats().is_empty());
        for name in ["3des-md5", "blowfish-sha1"] {
            assert_eq!(suite(name).unwrap().caveats().len(), 2, "{name}");
        }
        assert!(!suite("null").unwrap().caveats().is_empty());
    }

    #[test]
    fn an_unknown_suite_comes_with_the_nearest() {
        let error = suite("3des-md6").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown suite \"3des-md6\"; did you mean 3des-md5?\nknown suites: "),
            "{error}"
        );
    }

    #[test]
    fn a_suite_stands_as_its_weakest_part() {
        let facts = |name| {
            let row = suite(name).unwrap();
            (row.standing().by_default(), row.approval().fips, row.approval().kcmvp)
        };
        assert_eq!(facts("aes-256-gcm"), (true, true, false));
        assert_eq!(facts("aes-256-sha256"), (true, true, false));
        assert_eq!(facts("aes-256-sha1"), (false, false, false));
        assert_eq!(facts("lea-128-gcm"), (true, false, true));
        assert_eq!(facts("aria-128-gcm"), (true, false, true));
        assert_eq!(facts("3des-sha256"), (false, false, false));
        assert_eq!(facts("null"), (false, false, false));
    }
}
