//! The table of MACs over hash functions, as packets have them. Not here: their computation
//! (`crate::hmac`, a feature).

use crate::approval::Approval;

/// Hash function under a MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// MD5 (RFC 1321).
    Md5,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
}

/// A hash function with the lengths of key and tag that a protocol takes: one row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Mac {
    /// The name in flags and tables, such as `hmac-sha1-96`.
    pub name: &'static str,
    /// The name in a report, such as `HMAC-SHA-1`.
    pub title: &'static str,
    /// The hash function.
    pub hash: Hash,
    /// Length of the key, in bytes.
    pub key_bytes: usize,
    /// Length of the tag, in bytes: the beginning of the hash function's.
    pub tag_bytes: usize,
    /// Caveat that a user must know before choosing it; a MAC with a caveat is unsuitable for new
    /// uses (RFC 8221, section 6).
    pub caveat: Option<&'static str>,
    /// The lists that it is on.
    pub approval: Approval,
    /// The specification, such as `RFC 2404`.
    pub source: &'static str,
}

/// HMAC over MD5.
pub const HMAC_MD5: &Mac = &Mac {
    name: "hmac-md5-96",
    title: "HMAC-MD5",
    hash: Hash::Md5,
    key_bytes: 16,
    tag_bytes: 12,
    caveat: Some("MD5 is broken as a hash function"),
    approval: Approval::NONE,
    source: "RFC 2403",
};

/// HMAC over SHA-1.
pub const HMAC_SHA1: &Mac = &Mac {
    name: "hmac-sha1-96",
    title: "HMAC-SHA-1",
    hash: Hash::Sha1,
    key_bytes: 20,
    tag_bytes: 12,
    caveat: Some("SHA-1 is broken as a hash function"),
    // SP 800-131A retires it by the end of 2030: nothing for new uses
    approval: Approval::NONE,
    source: "RFC 2404",
};

/// HMAC over SHA-256.
pub const HMAC_SHA256: &Mac = &Mac {
    name: "hmac-sha-256-128",
    title: "HMAC-SHA-256",
    hash: Hash::Sha256,
    key_bytes: 32,
    tag_bytes: 16,
    caveat: None,
    approval: Approval { fips: true, kcmvp: true },
    source: "RFC 4868",
};

static MACS: [&Mac; 3] = [HMAC_MD5, HMAC_SHA1, HMAC_SHA256];

/// Returns all of them, in the order in which to show them.
#[must_use]
pub fn macs() -> &'static [&'static Mac] {
    &MACS
}
