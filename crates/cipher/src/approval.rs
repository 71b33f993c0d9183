//! Lists of approved algorithms, and their entries: FIPS 140 and Korea's validation programme
//! (KCMVP). Ciphers and modes have their entries in their rows; this module has the lists for both
//! together.
//!
//! Sources: SP 800-140C (FIPS 140-3), which has SP 800-38A with its addendum on ciphertext
//! stealing; the list of algorithms of the Korean programme, National
//! Intelligence Service: ARIA, SEED, LEA and HIGHT in the modes of KS X 1213-2 and the like (GCM
//! and CCM with blocks of 128 bits only), CMAC, GMAC, HMAC over SHA-2, SHA-3 and LSH.

use crate::facts::Cipher;
use crate::modes::Mode;

/// Statement that must be made wherever a list is named.
pub const NOT_A_MODULE: &str =
    "Sealstone is not a validated module; fips and kcmvp speak of algorithm and mode only";

/// The lists that something is on. Algorithms are on them, not implementations: see
/// [`NOT_A_MODULE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Approved for new encryption under FIPS 140.
    pub fips: bool,
    /// On the Korean validation list (KCMVP).
    pub kcmvp: bool,
}

impl Approval {
    /// On no list.
    pub const NONE: Self = Self { fips: false, kcmvp: false };

    /// Returns the lists that something made of this and `other` is on.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { fips: self.fips && other.fips, kcmvp: self.kcmvp && other.kcmvp }
    }

    /// Returns the lists by name, `–` for none.
    #[must_use]
    pub fn words(self) -> &'static str {
        match (self.fips, self.kcmvp) {
            (true, true) => "FIPS 140, KCMVP",
            (true, false) => "FIPS 140",
            (false, true) => "KCMVP",
            (false, false) => "–",
        }
    }
}

impl Cipher {
    /// Returns the lists that this cipher is on in `mode`; none where it has no such mode.
    pub fn approval_in(&self, mode: Mode) -> Approval {
        let facts = mode.facts();
        if !facts.block_bytes.contains(&self.block_bytes) {
            return Approval::NONE;
        }
        Approval { fips: self.fips, kcmvp: self.kcmvp }
            .and(Approval { fips: facts.fips, kcmvp: facts.kcmvp })
    }

    /// Returns the lists that this row's cipher is on in its authenticated mode.
    pub fn approval(&self) -> Approval {
        self.approval_in(self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes;
    use crate::registry::{cipher, ciphers};

    /// Every pair of cipher and mode, as the two lists have it.
    #[test]
    fn lists_have_ciphers_in_modes() {
        let words = |name: &str, mode| cipher(name).unwrap().approval_in(mode).words();
        for (name, mode, lists) in [
            ("aes-256", Mode::Gcm, "FIPS 140"),
            ("aes-128", Mode::Ctr, "FIPS 140"),
            ("aes-192", Mode::Cbc, "FIPS 140"),
            ("aes-256", Mode::Cmac, "FIPS 140"),
            ("aes-256", Mode::Ff1, "FIPS 140"),
            ("aria-256", Mode::Gcm, "KCMVP"),
            ("lea-128", Mode::Ctr, "KCMVP"),
            ("seed-128", Mode::Cbc, "KCMVP"),
            ("aria-192", Mode::Cmac, "KCMVP"),
            // no Korean list has a format-preserving mode
            ("aria-256", Mode::Ff1, "–"),
            ("aes-256", Mode::Hctr2, "–"),
            ("aria-256", Mode::Hctr2, "–"),
            ("aes-256", Mode::CbcCs1, "FIPS 140"),
            // plain CBC is on the Korean list, and stealing is not named there
            ("aria-256", Mode::CbcCs1, "–"),
            ("hight", Mode::CbcCs1, "–"),
            ("aes-256", Mode::CbcFeistel, "–"),
            ("aria-256", Mode::CbcFeistel, "–"),
            ("seed-128", Mode::Ff1, "–"),
            ("lea-256", Mode::Ff1, "–"),
            ("hight", Mode::Ctr, "KCMVP"),
            ("hight", Mode::Cbc, "KCMVP"),
            ("hight", Mode::Cmac, "KCMVP"),
            // keyed BLAKE3 is on none, and GCM is not defined for blocks of 64 bits
            ("hight", Mode::CtrMac, "–"),
            ("hight", Mode::Gcm, "–"),
            ("3des", Mode::Cbc, "–"),
            ("pipo-128", Mode::Ctr, "–"),
            ("blowfish", Mode::Cbc, "–"),
        ] {
            assert_eq!(words(name, mode), lists, "{name} in {}", mode.word());
        }
        for cipher in ciphers() {
            assert_eq!(cipher.approval(), cipher.approval_in(cipher.mode));
            for mode in modes() {
                let found = cipher.approval_in(mode.mode);
                assert!(
                    !found.fips || cipher.fips && mode.fips,
                    "{} in {}",
                    cipher.name,
                    mode.name
                );
                assert!(
                    !found.kcmvp || cipher.kcmvp && mode.kcmvp,
                    "{} in {}",
                    cipher.name,
                    mode.name
                );
            }
        }
    }
}
