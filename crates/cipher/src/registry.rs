//! The table of ciphers: what each is, who stands behind it, and how much one key may encrypt.
//!
//! Help texts, tests, benches and the report iterate over it; adding a cipher is one file and one line here.

use crate::aead::Error;
use crate::block::{SetKey, aes, aria, blowfish, hight, lea, pipo, seed, tdes};
use crate::nearest::nearest;

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
///
/// Two lines are equal when their ids are: an id is never reused.
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
    /// The block cipher is approved for new encryption under FIPS 140; see [`Cipher::meets_fips`] for the mode.
    pub fips: bool,
    /// The block cipher is on the Korean validation list (KCMVP); see [`Cipher::meets_kcmvp`] for the mode.
    pub kcmvp: bool,
    /// How much one key may protect.
    pub limits: Limits,
    /// What a user must know before taking it, where there is something.
    pub caveat: Option<&'static str>,
    /// Sets a key.
    pub(crate) set_key: SetKey,
}

/// GCM over a 128-bit block cipher with a 12-byte nonce.
pub(crate) const GCM_LIMITS: Limits = Limits {
    bytes_per_key: 1 << 52,
    messages_per_key: 1 << 32,
    message_bytes: (1 << 36) - 32,
    source: "SP 800-38D 5.2.1.1 (message), 8.3 (messages); bytes: 2^48 blocks keep the distinguishing bound of \
             counter mode under 2^-32",
};

/// Triple DES: 2^20 blocks, whatever the mode.
const TDES_LIMITS: Limits = Limits {
    bytes_per_key: 8 << 20,
    messages_per_key: 1 << 20,
    message_bytes: 8 << 20,
    source: "SP 800-67r2 3.3: at most 2^20 64-bit blocks under one key bundle",
};

/// Any other 64-bit block: a gigabyte is 2^27 blocks, where two of them collide once in about 2^11 keys.
const BLOCK64_LIMITS: Limits = Limits {
    bytes_per_key: 1_000_000_000,
    messages_per_key: 1 << 27,
    message_bytes: 1_000_000_000,
    source: "collisions of 64-bit blocks (Sweet32, CCS 2016): never a gigabyte under one key",
};

/// The table. Ids stand in sealed files: a new cipher takes the next number, a withdrawn one leaves a gap.
static CIPHERS: [Cipher; 15] = [
    Cipher {
        name: "aes-128",
        id: 1,
        block_bytes: 16,
        key_bytes: 16,
        mode: Mode::Gcm,
        standing: Standing::Standard,
        source: "FIPS 197",
        fips: true,
        kcmvp: false,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: aes::aes_counter, gcm: Some(aes::aes_gcm), block: aes::aes_block },
    },
    Cipher {
        name: "aes-192",
        id: 14,
        block_bytes: 16,
        key_bytes: 24,
        mode: Mode::Gcm,
        standing: Standing::Standard,
        source: "FIPS 197",
        fips: true,
        kcmvp: false,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: aes::aes_counter, gcm: Some(aes::aes_gcm), block: aes::aes_block },
    },
    Cipher {
        name: "aes-256",
        id: 2,
        block_bytes: 16,
        key_bytes: 32,
        mode: Mode::Gcm,
        standing: Standing::Standard,
        source: "FIPS 197",
        fips: true,
        kcmvp: false,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: aes::aes_counter, gcm: Some(aes::aes_gcm), block: aes::aes_block },
    },
    Cipher {
        name: "aria-128",
        id: 3,
        block_bytes: 16,
        key_bytes: 16,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "RFC 5794, KS X 1213",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: aria::aria_counter, gcm: Some(aria::aria_gcm), block: aria::aria_block },
    },
    Cipher {
        name: "aria-192",
        id: 15,
        block_bytes: 16,
        key_bytes: 24,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "RFC 5794, KS X 1213",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: aria::aria_counter, gcm: Some(aria::aria_gcm), block: aria::aria_block },
    },
    Cipher {
        name: "aria-256",
        id: 4,
        block_bytes: 16,
        key_bytes: 32,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "RFC 5794, KS X 1213",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: aria::aria_counter, gcm: Some(aria::aria_gcm), block: aria::aria_block },
    },
    Cipher {
        name: "seed-128",
        id: 7,
        block_bytes: 16,
        key_bytes: 16,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "RFC 4269",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: seed::counter, gcm: None, block: seed::block },
    },
    Cipher {
        name: "lea-128",
        id: 8,
        block_bytes: 16,
        key_bytes: 16,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "KS X 3246",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: lea::counter, gcm: None, block: lea::block },
    },
    Cipher {
        name: "lea-192",
        id: 9,
        block_bytes: 16,
        key_bytes: 24,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "KS X 3246",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: lea::counter, gcm: None, block: lea::block },
    },
    Cipher {
        name: "lea-256",
        id: 10,
        block_bytes: 16,
        key_bytes: 32,
        mode: Mode::Gcm,
        standing: Standing::National,
        source: "KS X 3246",
        fips: false,
        kcmvp: true,
        limits: GCM_LIMITS,
        caveat: None,
        set_key: SetKey::Block128 { counter: lea::counter, gcm: None, block: lea::block },
    },
    Cipher {
        name: "hight",
        id: 11,
        block_bytes: 8,
        key_bytes: 16,
        mode: Mode::CtrMac,
        standing: Standing::National,
        source: "ISO/IEC 18033-3",
        fips: false,
        kcmvp: true,
        limits: BLOCK64_LIMITS,
        caveat: Some("64-bit blocks (Sweet32): never a gigabyte under one key"),
        set_key: SetKey::Block64 { counter: hight::counter, block: hight::block },
    },
    Cipher {
        name: "pipo-128",
        id: 12,
        block_bytes: 8,
        key_bytes: 16,
        mode: Mode::CtrMac,
        standing: Standing::Experimental,
        source: "Kim et al., ICISC 2020",
        fips: false,
        kcmvp: false,
        limits: BLOCK64_LIMITS,
        caveat: Some("a research design: no standard, little analysis so far; 64-bit blocks (Sweet32)"),
        set_key: SetKey::Block64 { counter: pipo::counter, block: pipo::block },
    },
    Cipher {
        name: "pipo-256",
        id: 13,
        block_bytes: 8,
        key_bytes: 32,
        mode: Mode::CtrMac,
        standing: Standing::Experimental,
        source: "Kim et al., ICISC 2020",
        fips: false,
        kcmvp: false,
        limits: BLOCK64_LIMITS,
        caveat: Some("a research design: no standard, little analysis so far; 64-bit blocks (Sweet32)"),
        set_key: SetKey::Block64 { counter: pipo::counter, block: pipo::block },
    },
    Cipher {
        name: "3des",
        id: 5,
        block_bytes: 8,
        key_bytes: 24,
        mode: Mode::CtrMac,
        standing: Standing::Legacy,
        source: "SP 800-67r2",
        fips: false,
        kcmvp: false,
        limits: TDES_LIMITS,
        caveat: Some("NIST disallows it for new encryption since 2024; at most 8 MiB under one key"),
        set_key: SetKey::Block64 { counter: tdes::keyed, block: tdes::block },
    },
    // The cipher takes 4 to 56 bytes of key. 16 are what its libraries and protocols default to; more would not
    // mend its 64-bit block, and one line of this table is one key length.
    Cipher {
        name: "blowfish",
        id: 6,
        block_bytes: 8,
        key_bytes: 16,
        mode: Mode::CtrMac,
        standing: Standing::Legacy,
        source: "Schneier, FSE 1993",
        fips: false,
        kcmvp: false,
        limits: BLOCK64_LIMITS,
        caveat: Some("no standard stands behind it; 64-bit blocks (Sweet32); its table look-ups leak through caches"),
        set_key: SetKey::Block64 { counter: blowfish::keyed, block: blowfish::block },
    },
];

/// All ciphers, in the order in which to show them.
pub fn ciphers() -> &'static [Cipher] {
    &CIPHERS
}

/// The cipher called `name`, such as `aria-256`; case does not matter.
///
/// # Errors
/// `UnknownCipher`, which names the nearest known name.
pub fn cipher(name: &str) -> Result<&'static Cipher, UnknownCipher> {
    CIPHERS.iter().find(|cipher| cipher.name.eq_ignore_ascii_case(name)).ok_or_else(|| UnknownCipher::nearest_to(name))
}

/// The cipher that sealed files call `id`, if this build knows it.
pub fn by_id(id: u16) -> Option<&'static Cipher> {
    CIPHERS.iter().find(|cipher| cipher.id == id)
}

/// A name that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown cipher {name:?}; did you mean {nearest}?\nknown ciphers: {}", known_names())]
pub struct UnknownCipher {
    /// The name asked for.
    pub name: String,
    /// The name in the table that is most like it.
    pub nearest: &'static str,
}

impl UnknownCipher {
    fn nearest_to(name: &str) -> Self {
        Self { name: name.to_owned(), nearest: nearest(name, CIPHERS.iter().map(|cipher| cipher.name)) }
    }
}

fn known_names() -> String {
    CIPHERS.iter().map(|cipher| cipher.name).collect::<Vec<_>>().join(", ")
}

impl PartialEq for Cipher {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Cipher {}

impl Standing {
    /// The word for tables and reports: `standard`, `national`, `experimental`, `legacy`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::National => "national",
            Self::Experimental => "experimental",
            Self::Legacy => "legacy",
        }
    }

    /// Whether such a cipher may be taken without being asked for by name.
    pub fn by_default(self) -> bool {
        matches!(self, Self::Standard | Self::National)
    }
}

impl Mode {
    /// The name for tables and reports: `gcm`, `ctr+mac`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gcm => "gcm",
            Self::CtrMac => "ctr+mac",
        }
    }

    /// Whether FIPS 140 (SP 800-38D) and the Korean validation list (KCMVP) have this mode. Counter mode plus keyed
    /// BLAKE3 is our own and on no list, whatever the block cipher.
    pub fn is_listed(self) -> bool {
        match self {
            Self::Gcm => true,
            Self::CtrMac => false,
        }
    }
}

impl Cipher {
    /// Nonce length of this cipher's AEAD, in bytes: 12 for GCM, 8 (the first counter block) for CTR plus MAC.
    pub fn nonce_bytes(&self) -> usize {
        match self.mode {
            Mode::Gcm => 12,
            Mode::CtrMac => 8,
        }
    }

    /// Whether what this line seals with, cipher and mode, is approved for new encryption under FIPS 140. The approval
    /// of algorithms, that is: this library was not validated.
    pub fn meets_fips(&self) -> bool {
        self.fips && self.mode.is_listed()
    }

    /// Whether what this line seals with, cipher and mode, is on the Korean validation list (KCMVP). Algorithms, again.
    pub fn meets_kcmvp(&self) -> bool {
        self.kcmvp && self.mode.is_listed()
    }

    /// Whether `key` is as long as this cipher's keys are.
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        let (found, want) = (key.len(), self.key_bytes);
        if found == want { Ok(()) } else { Err(Error::KeyLength { found, want }) }
    }

    /// Blocks that may be encrypted under one key.
    pub fn blocks_per_key(&self) -> u64 {
        self.limits.bytes_per_key / self.block_bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_unique() {
        for (i, a) in ciphers().iter().enumerate() {
            for b in &ciphers()[i + 1..] {
                assert_ne!(a.id, b.id, "{} and {}", a.name, b.name);
                assert_ne!(a.name, b.name);
            }
            assert_eq!(by_id(a.id), Some(a));
            assert_eq!(cipher(&a.name.to_uppercase()), Ok(a));
        }
        assert_eq!(by_id(0), None);
    }

    /// Ids stand in files on disk, so the numbers given out so far are fixed here too.
    #[test]
    fn ids_given_out_stay() {
        for (name, id) in [
            ("aes-128", 1),
            ("aes-256", 2),
            ("aria-128", 3),
            ("aria-256", 4),
            ("3des", 5),
            ("blowfish", 6),
            ("seed-128", 7),
            ("lea-128", 8),
            ("lea-192", 9),
            ("lea-256", 10),
            ("hight", 11),
            ("pipo-128", 12),
            ("pipo-256", 13),
            ("aes-192", 14),
            ("aria-192", 15),
        ] {
            assert_eq!(cipher(name).map(|cipher| cipher.id), Ok(id));
        }
    }

    #[test]
    fn modes_fit_blocks_and_limits_fit_modes() {
        for cipher in ciphers() {
            match cipher.mode {
                Mode::Gcm => assert_eq!(cipher.block_bytes, 16, "{}", cipher.name),
                Mode::CtrMac => {
                    assert_eq!(cipher.block_bytes, 8, "{}", cipher.name);
                    assert!(cipher.limits.bytes_per_key <= 1_000_000_000, "{}", cipher.name);
                }
            }
            assert!(cipher.limits.message_bytes <= cipher.limits.bytes_per_key);
            assert!(cipher.standing.by_default() || cipher.caveat.is_some(), "{} needs its caveat", cipher.name);
        }
        assert_eq!(cipher("3des").unwrap().blocks_per_key(), 1 << 20);
    }

    /// What a policy allows is sealed with a mode of that list, too; BLAKE3 is on none.
    #[test]
    fn lists_are_met_by_cipher_and_mode() {
        let names = |meets: fn(&Cipher) -> bool| -> Vec<&str> {
            ciphers().iter().filter(|cipher| meets(cipher)).map(|cipher| cipher.name).collect()
        };
        assert_eq!(names(Cipher::meets_fips), ["aes-128", "aes-192", "aes-256"]);
        assert_eq!(
            names(Cipher::meets_kcmvp),
            ["aria-128", "aria-192", "aria-256", "seed-128", "lea-128", "lea-192", "lea-256"]
        );
        assert!(cipher("hight").unwrap().kcmvp, "the block cipher alone is on the list");
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        for (asked, nearest) in
            [("aes256", "aes-256"), ("aira-128", "aria-128"), ("tdes", "3des"), ("BlowFisch", "blowfish")]
        {
            let error = cipher(asked).unwrap_err();
            assert_eq!(error.nearest, nearest);
            assert!(error.to_string().starts_with(&format!("unknown cipher {asked:?}; did you mean {nearest}?")));
        }
    }
}
