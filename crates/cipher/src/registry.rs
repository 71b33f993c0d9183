//! The table of ciphers: what each is, who stands behind it, and how much one key may encrypt.
//!
//! Help texts, tests, benches and the report iterate over it; adding a cipher is one file and one line here.

/// Who stands behind a cipher, and so when it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// An international standard without known weakness.
    Standard,
    /// A national standard, required or accepted by that nation's validation scheme.
    National,
    /// Published, not standardised: used only when asked for by name.
    Experimental,
    /// Withdrawn or outdated: for comparison and old data, only when asked for by name.
    Legacy,
}

/// Which mode authenticates data under a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Galois/Counter Mode, for 128-bit blocks.
    Gcm,
    /// Counter mode plus an independent MAC, for 64-bit blocks.
    CtrMac,
}

/// How much one key may protect before a fresh one is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that may be encrypted under one key.
    pub bytes_per_key: u64,
    /// Messages (pages, frames, records) that may be encrypted under one key.
    pub messages_per_key: u64,
    /// Bytes in one message.
    pub message_bytes: u64,
    /// Where the limit comes from (standard and section).
    pub source: &'static str,
}

/// One line of the table.
#[derive(Debug)]
pub struct Cipher {
    /// The name in flags, files and reports, such as `aria-256`.
    pub name: &'static str,
    /// Number that stands for this cipher in sealed files; never reused.
    pub id: u16,
    /// Block length in bytes: 8 or 16.
    pub block_bytes: usize,
    /// Key length in bytes.
    pub key_bytes: usize,
    /// The mode that authenticates data under this cipher.
    pub mode: Mode,
    /// Who stands behind it.
    pub standing: Standing,
    /// The specification, such as `FIPS 197`.
    pub source: &'static str,
    /// Approved for new encryption under FIPS 140.
    pub fips: bool,
    /// On the Korean validation list (KCMVP).
    pub kcmvp: bool,
    /// How much one key may protect.
    pub limits: Limits,
    /// What a user must know before taking it, where there is something.
    pub caveat: Option<&'static str>,
}
