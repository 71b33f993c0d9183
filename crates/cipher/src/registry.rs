//! The tables: which ciphers there are, and in which modes they are used.
//!
//! Help texts, tests, benches and the report iterate over them. A cipher is one file, which holds
//! its rows, and one line here; CONTRIBUTING.md lists what else the tests demand.

use crate::Cipher;
use crate::block::{aes, aria, blowfish, hight, lea, pipo, seed, tdes};
use sealstone_message::Unknown;

/// The table of ciphers, in the order in which to show them. The ids in use are listed in
/// docs/formats.md: a new row takes the next one, a withdrawn row leaves a gap.
const TABLE: &[&[Cipher]] = &[
    aes::CIPHERS,
    aria::CIPHERS,
    seed::CIPHERS,
    lea::CIPHERS,
    hight::CIPHERS,
    pipo::CIPHERS,
    tdes::CIPHERS,
    blowfish::CIPHERS,
];

static CIPHERS: [Cipher; count(TABLE)] = rows(TABLE);

const fn count(table: &[&[Cipher]]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < table.len() {
        count += table[i].len();
        i += 1;
    }
    count
}

/// Returns all rows, one after the other.
const fn rows<const N: usize>(table: &[&[Cipher]]) -> [Cipher; N] {
    let mut rows = [table[0][0]; N];
    let (mut next, mut i) = (0, 0);
    while i < table.len() {
        let mut j = 0;
        while j < table[i].len() {
            rows[next] = table[i][j];
            (next, j) = (next + 1, j + 1);
        }
        i += 1;
    }
    rows
}

/// Returns the row called `name` of a cipher that the code itself names; in a constant, a name
/// without a row does not compile.
///
/// # Panics
/// If no row of the table has this name.
///
/// ```
/// use sealstone_cipher::{Cipher, cipher_row};
///
/// const ARIA: &Cipher = cipher_row("aria-256");
/// assert_eq!(ARIA.key_bytes, 32);
/// ```
///
/// ```compile_fail
/// # use sealstone_cipher::{Cipher, cipher_row};
/// const NONE: &Cipher = cipher_row("aria-512");
/// ```
#[must_use]
pub const fn cipher_row(name: &str) -> &'static Cipher {
    let mut i = 0;
    while i < TABLE.len() {
        let mut j = 0;
        while j < TABLE[i].len() {
            if equal(TABLE[i][j].name.as_bytes(), name.as_bytes()) {
                return &TABLE[i][j];
            }
            j += 1;
        }
        i += 1;
    }
    panic!("no cipher has this name")
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

/// Returns all ciphers, in the order in which to show them.
pub fn ciphers() -> &'static [Cipher] {
    &CIPHERS
}

/// Returns the rows that can be looked up: the table's, and any that a test added.
fn known() -> impl Iterator<Item = &'static Cipher> {
    #[cfg(any(test, feature = "testing"))]
    let added = crate::test_rows::added_ciphers();
    #[cfg(not(any(test, feature = "testing")))]
    let added: &[Cipher] = &[];
    CIPHERS.iter().chain(added)
}

/// The cipher where nobody names one: it meets every policy but Korea's, and CPUs have instructions
/// for it.
pub const DEFAULT_CIPHER: &Cipher = cipher_row("aes-256");

/// Returns the cipher called `name`, such as `aria-256`; case does not matter.
///
/// # Errors
/// [`Unknown`], with the nearest known name.
pub fn cipher(name: &str) -> Result<&'static Cipher, Unknown> {
    let found = known().find(|cipher| cipher.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Unknown::new("cipher", name, CIPHERS.iter().map(|cipher| cipher.name)))
}

/// Returns the cipher whose id in sealed files is `id`, if this build has it.
pub fn cipher_by_id(id: u16) -> Option<&'static Cipher> {
    known().find(|cipher| cipher.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    #[test]
    fn ids_and_names_are_unique() {
        for (i, a) in ciphers().iter().enumerate() {
            for b in &ciphers()[i + 1..] {
                assert_ne!(a.id, b.id, "{} and {}", a.name, b.name);
                assert_ne!(a.name, b.name);
            }
            assert_eq!(cipher_by_id(a.id), Some(a));
            assert_eq!(cipher(&a.name.to_uppercase()), Ok(a));
        }
        assert_eq!(cipher_by_id(0), None);
    }

    /// Returns the rows of the first table of `document` whose first column names ciphers: these
    /// names, and the second column.
    fn documented(document: &str) -> Vec<(Vec<&str>, &str)> {
        let rows = document.lines().skip_while(|line| !line.starts_with("| cipher |")).skip(2);
        let rows = rows.take_while(|line| line.starts_with('|'));
        rows.map(|line| {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            (columns[1].split(", ").collect(), columns[2])
        })
        .collect()
    }

    /// Ids are in files on disk, so assigned ids are fixed in the description of the formats too.
    #[test]
    fn ids_are_those_of_the_documented_formats() {
        let mut count = 0;
        for (names, ids) in documented(include_str!("../../../docs/formats.md")) {
            let ids: Vec<u16> = ids.split(", ").map(|id| id.parse().unwrap()).collect();
            let found: Vec<u16> = names.iter().map(|name| cipher(name).unwrap().id).collect();
            assert_eq!(found, ids, "docs/formats.md: {names:?}");
            count += ids.len();
        }
        assert_eq!(count, ciphers().len(), "docs/formats.md lists the id of every row");
    }

    /// The rows agree with the page on side channels about which ciphers leak.
    #[test]
    fn side_channels_are_those_of_the_document() {
        let mut count = 0;
        for (names, portable) in documented(include_str!("../../../docs/side-channels.md")) {
            for name in names {
                let constant_time = portable == "constant time";
                assert_eq!(
                    cipher(name).unwrap().constant_time,
                    constant_time,
                    "docs/side-channels.md: {name}"
                );
                count += 1;
            }
        }
        assert_eq!(count, ciphers().len(), "docs/side-channels.md lists every row");
    }

    #[test]
    fn modes_fit_blocks_and_limits_fit_modes() {
        for cipher in ciphers() {
            let mode = cipher.mode.facts();
            assert!(
                mode.is_aead() && mode.block_bytes.contains(&cipher.block_bytes),
                "{}",
                cipher.name
            );
            let others: Vec<Mode> = cipher.modes().skip(1).map(|row| row.mode).collect();
            let narrow = [Mode::Ctr, Mode::Cbc, Mode::Cmac];
            let wide = [Mode::Ff1, Mode::Hctr2, Mode::CbcCs1, Mode::CbcFeistel];
            let wanted = if cipher.block_bytes == 16 { &wide[..] } else { &[] };
            assert_eq!(others, [&narrow, wanted].concat());
            if cipher.block_bytes == 8 {
                assert!(cipher.limits.bytes_per_key <= 1_000_000_000, "{}", cipher.name);
            }
            assert!(cipher.limits.message_bytes <= cipher.limits.bytes_per_key);
            assert!(
                cipher.standing.by_default() || cipher.caveat.is_some(),
                "{} needs its caveat",
                cipher.name
            );
            assert!(
                cipher.constant_time || cipher.caveat.is_some(),
                "{} needs its caveat",
                cipher.name
            );
        }
        assert_eq!(cipher("3des").unwrap().blocks_per_key(), 1 << 20);
    }

    /// Everything that a policy allows is also sealed with a mode on that list; BLAKE3 is on none.
    #[test]
    fn lists_are_met_by_cipher_and_mode() {
        let names = |meets: fn(&Cipher) -> bool| -> Vec<&str> {
            ciphers().iter().filter(|cipher| meets(cipher)).map(|cipher| cipher.name).collect()
        };
        assert_eq!(names(|cipher| cipher.approval().fips), ["aes-128", "aes-192", "aes-256"]);
        assert_eq!(
            names(|cipher| cipher.approval().kcmvp),
            ["aria-128", "aria-192", "aria-256", "seed-128", "lea-128", "lea-192", "lea-256"]
        );
        assert!(cipher("hight").unwrap().kcmvp, "the block cipher alone is on the list");
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        for (asked, nearest) in [
            ("aes256", "aes-256"),
            ("aira-128", "aria-128"),
            ("tdes", "3des"),
            ("BlowFisch", "blowfish"),
        ] {
            let error = cipher(asked).unwrap_err();
            assert_eq!(error.nearest, nearest);
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("unknown cipher {asked:?}; did you mean {nearest}?"))
            );
        }
    }
}
