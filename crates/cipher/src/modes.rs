//! The table of modes: the name, the guarantees and the approvals of each.
//!
//! Help texts, documents, tests and the recommendation read it here. Not here: how a mode computes
//! (`mode`).

/// A mode of operation: the key into the table of modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Galois/Counter Mode.
    Gcm,
    /// Counter mode plus an independent MAC.
    CtrMac,
    /// Counter mode.
    Ctr,
    /// Cipher block chaining.
    Cbc,
    /// A MAC from a block cipher.
    Cmac,
    /// Format-preserving encryption.
    Ff1,
    /// Wide-block encryption.
    Hctr2,
    /// Cipher block chaining with ciphertext stealing.
    CbcCs1,
    /// Cipher block chaining with a Feistel network for what is left at the end.
    CbcFeistel,
}

/// Input that a mode needs besides key and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonce {
    /// Nothing.
    None,
    /// A nonce of this many bytes, another one for each message.
    Bytes(usize),
    /// The first counter block: a message of n blocks uses up n consecutive counter blocks.
    CounterBlock,
    /// An initialisation vector of one block, which nobody can predict.
    InitialisationVector,
    /// A tweak of any length, none included: under one tweak equal messages give equal ciphertexts.
    Tweak,
}

/// One row of the table of modes.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModeFacts {
    /// The key.
    pub mode: Mode,
    /// The name in flags, tables and reports, such as `ctr+mac`.
    pub name: &'static str,
    /// True if it hides data.
    pub encrypts: bool,
    /// Data that it protects against change; none if it protects nothing.
    pub authenticates: Option<&'static str>,
    /// The block lengths that it takes, in bytes.
    pub block_bytes: &'static [usize],
    /// Input that it needs besides key and message.
    pub nonce: Nonce,
    /// Approved under FIPS 140.
    pub fips: bool,
    /// On the Korean validation list (KCMVP).
    pub kcmvp: bool,
    /// The specification, such as `SP 800-38D`.
    pub source: &'static str,
}

/// The table, in the order in which to show it.
static MODES: [ModeFacts; 9] = [
    ModeFacts {
        mode: Mode::Gcm,
        name: "gcm",
        encrypts: true,
        authenticates: Some("ciphertext and associated data"),
        block_bytes: &[16],
        nonce: Nonce::Bytes(12),
        fips: true,
        kcmvp: true,
        source: "SP 800-38D",
    },
    ModeFacts {
        mode: Mode::CtrMac,
        name: "ctr+mac",
        encrypts: true,
        authenticates: Some("ciphertext and associated data"),
        block_bytes: &[8],
        nonce: Nonce::CounterBlock,
        // Keyed BLAKE3 is on no list, whatever the block cipher.
        fips: false,
        kcmvp: false,
        source: "docs/formats.md",
    },
    ModeFacts {
        mode: Mode::Ctr,
        name: "ctr",
        encrypts: true,
        authenticates: None,
        block_bytes: &[8, 16],
        nonce: Nonce::CounterBlock,
        fips: true,
        kcmvp: true,
        source: "SP 800-38A, 6.5",
    },
    ModeFacts {
        mode: Mode::Cbc,
        name: "cbc",
        encrypts: true,
        authenticates: None,
        block_bytes: &[8, 16],
        nonce: Nonce::InitialisationVector,
        fips: true,
        kcmvp: true,
        source: "SP 800-38A, 6.2",
    },
    ModeFacts {
        mode: Mode::Cmac,
        name: "cmac",
        encrypts: false,
        authenticates: Some("the message"),
        block_bytes: &[8, 16],
        nonce: Nonce::None,
        fips: true,
        kcmvp: true,
        source: "SP 800-38B",
    },
    ModeFacts {
        mode: Mode::Ff1,
        name: "ff1",
        encrypts: true,
        authenticates: None,
        block_bytes: &[16],
        nonce: Nonce::Tweak,
        fips: true,
        kcmvp: false,
        source: "SP 800-38G",
    },
    ModeFacts {
        mode: Mode::Hctr2,
        name: "hctr2",
        encrypts: true,
        authenticates: None,
        block_bytes: &[16],
        nonce: Nonce::Tweak,
        fips: false,
        kcmvp: false,
        source: "IACR ePrint 2021/1441",
    },
    ModeFacts {
        mode: Mode::CbcCs1,
        name: "cbc-cs1",
        encrypts: true,
        authenticates: None,
        block_bytes: &[16],
        nonce: Nonce::InitialisationVector,
        fips: true,
        // The list has CBC; we know of no entry for ciphertext stealing.
        kcmvp: false,
        source: "SP 800-38A, addendum",
    },
    ModeFacts {
        mode: Mode::CbcFeistel,
        name: "cbc-feistel",
        encrypts: true,
        authenticates: None,
        block_bytes: &[16],
        nonce: Nonce::Bytes(16),
        // No list has such an end of a message.
        fips: false,
        kcmvp: false,
        source: "docs/formats.md",
    },
];

/// Returns all modes, in the order in which to show them.
#[must_use]
pub fn modes() -> &'static [ModeFacts] {
    &MODES
}

impl Mode {
    /// Returns the row of this mode.
    #[must_use]
    pub fn facts(self) -> &'static ModeFacts {
        // The rows are in the order of the keys; a test holds them to it.
        &MODES[self as usize]
    }

    /// Returns the name in flags, tables and reports, such as `ctr+mac`.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.facts().name
    }
}

impl ModeFacts {
    /// Returns whether it is authenticated encryption.
    #[must_use]
    pub(crate) fn is_aead(&self) -> bool {
        self.encrypts && self.authenticates.is_some()
    }

    /// Returns the length of what it needs besides key and message, in bytes, under a cipher of
    /// `block_bytes` bytes a block.
    #[must_use]
    pub fn nonce_bytes(&self, block_bytes: usize) -> usize {
        match self.nonce {
            // that of the caller, and no part of the message
            Nonce::None | Nonce::Tweak => 0,
            Nonce::Bytes(bytes) => bytes,
            Nonce::CounterBlock | Nonce::InitialisationVector => block_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_where_their_keys_say_and_names_are_unique() {
        for (i, row) in modes().iter().enumerate() {
            assert_eq!(row.mode.facts().mode, row.mode);
            assert!(modes()[..i].iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(row.encrypts || row.authenticates.is_some(), "{} does nothing", row.name);
        }
    }
}
