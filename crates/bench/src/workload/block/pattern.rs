//! Contents of a block: its number, its version, and bytes that follow from both and from the seed;
//! also the diagnosis of a block that contains something else.

use std::ops::RangeInclusive;

/// Bytes at the begin of a block that identify it: its number and its version, eight bytes each,
/// least first.
const HEAD_BYTES: usize = 16;

/// Most versions of a block that pieces of it may come from: more are never under way at once.
const VERSIONS_MOST: u64 = 1 << 14;

/// Number of bytes that an error shows.
const SHOWN_BYTES: usize = 16;

/// Makes and checks the contents of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    seed: u64,
}

/// Fault found in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Position in the block, in bytes.
    pub(super) at: usize,
    pub(super) expected: String,
    pub(super) found: String,
}

impl Pattern {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Fills `bytes` with version `version` of block `block`.
    pub(super) fn fill(self, block: u64, version: u64, bytes: &mut [u8]) {
        let (head, rest) = bytes.split_at_mut(HEAD_BYTES);
        head[..8].copy_from_slice(&block.to_le_bytes());
        head[8..].copy_from_slice(&version.to_le_bytes());
        let key = self.key(block, version);
        for (at, word) in rest.chunks_mut(8).enumerate() {
            word.copy_from_slice(&self::word(key, at)[..word.len()]);
        }
    }

    /// Checks that `bytes` are block `block` in one of `versions`; where there are several, writes
    /// overlapped each other or the read, and since no device promises to do a whole block at once,
    /// each piece may be of another of them.
    pub(super) fn check(
        self,
        block: u64,
        versions: RangeInclusive<u64>,
        bytes: &[u8],
    ) -> Result<(), Wrong> {
        let number = |from: usize| {
            u64::from_le_bytes(bytes[from..from + 8].try_into().expect("eight bytes"))
        };
        let (found_block, found_version) = (number(0), number(8));
        let is_whole = self.first_difference(found_block, found_version, bytes).is_none();
        if found_block == block && versions.contains(&found_version) {
            let Some(at) = self.first_difference(block, found_version, bytes) else {
                return Ok(());
            };
            if self.is_mixture(block, &versions, bytes) {
                return Ok(());
            }
            return Err(self.differs(block, found_version, at, bytes));
        }
        // the requested block is not there: the origin of the block found shows the kind of fault
        let expected = match (*versions.start(), *versions.end()) {
            (first, last) if first == last => format!("version {last} of block {block}"),
            (first, last) => format!("version {first} to {last} of block {block}"),
        };
        let found = match is_whole {
            true if found_block == block && found_version < *versions.start() => {
                format!("version {found_version} of it: a write that was acknowledged is not there")
            }
            true if found_block == block => {
                format!("version {found_version} of it, which nobody wrote yet")
            }
            true => format!("version {found_version} of block {found_block}"),
            false if bytes.iter().all(|byte| *byte == 0) => "zeros".into(),
            false => {
                let mut wanted = vec![0; bytes.len()];
                self.fill(block, *versions.end(), &mut wanted);
                let at =
                    wanted.iter().zip(bytes).position(|(one, other)| one != other).unwrap_or(0);
                return Err(self.differs(block, *versions.end(), at, bytes));
            }
        };
        Err(Wrong { at: 0, expected, found })
    }

    /// Returns whether every piece of `bytes` after the head comes from one of `versions`.
    fn is_mixture(self, block: u64, versions: &RangeInclusive<u64>, bytes: &[u8]) -> bool {
        let several = versions.end() - versions.start();
        if several == 0 || several > VERSIONS_MOST {
            return false;
        }
        let keys: Vec<u64> = versions.clone().map(|version| self.key(block, version)).collect();
        let mut pieces = bytes[HEAD_BYTES..].chunks(8).enumerate();
        pieces.all(|(at, found)| keys.iter().any(|key| word(*key, at)[..found.len()] == *found))
    }

    fn differs(self, block: u64, version: u64, at: usize, bytes: &[u8]) -> Wrong {
        let mut wanted = vec![0; bytes.len()];
        self.fill(block, version, &mut wanted);
        let end = bytes.len().min(at + SHOWN_BYTES);
        Wrong { at, expected: hexadecimal(&wanted[at..end]), found: hexadecimal(&bytes[at..end]) }
    }

    /// Returns the position after the head at which `bytes` begin to differ from version `version`
    /// of block `block`.
    fn first_difference(self, block: u64, version: u64, bytes: &[u8]) -> Option<usize> {
        let key = self.key(block, version);
        let rest = &bytes[HEAD_BYTES..];
        let (at, found) = rest
            .chunks(8)
            .enumerate()
            .find(|(at, found)| word(key, *at)[..found.len()] != **found)?;
        let wanted = word(key, at);
        let within = found.iter().zip(wanted).position(|(one, other)| *one != other).unwrap_or(0);
        Some(HEAD_BYTES + 8 * at + within)
    }

    fn key(self, block: u64, version: u64) -> u64 {
        scrambled(self.seed ^ scrambled(block ^ scrambled(version)))
    }
}

/// Returns eight bytes of the block with `key`.
fn word(key: u64, at: usize) -> [u8; 8] {
    scrambled(key.wrapping_add(at as u64)).to_le_bytes()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the finalizer of SplitMix64 (Steele, Lea, Flood 2014), after one step of its counter:
/// every bit of `value` affects every bit of the result.
pub(super) fn scrambled(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERN: Pattern = Pattern { seed: 42 };

    fn block(number: u64, version: u64) -> Vec<u8> {
        let mut bytes = vec![0; 520];
        PATTERN.fill(number, version, &mut bytes);
        bytes
    }

    #[test]
    fn a_block_is_what_it_was_made_as_and_nothing_else() {
        PATTERN.check(7, 3..=3, &block(7, 3)).unwrap();
        PATTERN.check(7, 1..=5, &block(7, 3)).unwrap();
        let wrong = |versions, bytes: &[u8]| {
            let Wrong { at, expected, found } = PATTERN.check(7, versions, bytes).unwrap_err();
            (at, expected, found)
        };
        let lost = wrong(3..=3, &block(7, 2));
        let words = "version 2 of it: a write that was acknowledged is not there";
        assert_eq!(lost, (0, "version 3 of block 7".into(), words.into()));
        assert_eq!(wrong(2..=3, &block(9, 3)).2, "version 3 of block 9");
        assert_eq!(
            wrong(2..=3, &block(7, 4)),
            (
                0,
                "version 2 to 3 of block 7".into(),
                "version 4 of it, which nobody wrote yet".into()
            )
        );
        assert_eq!(wrong(0..=0, &[0; 520]).2, "zeros");
    }

    #[test]
    fn every_flipped_byte_is_found_where_it_is() {
        for at in 0..520 {
            let mut bytes = block(7, 3);
            bytes[at] ^= 1;
            let wrong = PATTERN.check(7, 3..=3, &bytes).unwrap_err();
            assert_eq!(wrong.at, at, "{wrong:?}");
            let expected = hexadecimal(&block(7, 3)[at..520.min(at + 16)]);
            assert!(wrong.expected == expected && wrong.found != expected, "{wrong:?}");
        }
    }

    #[test]
    fn writes_that_overlap_may_leave_pieces_of_each() {
        let mixed = [&block(7, 3)[..256], &block(7, 4)[256..]].concat();
        PATTERN.check(7, 3..=4, &mixed).unwrap();
        PATTERN.check(7, 1..=9, &mixed).unwrap();
        assert_eq!(
            PATTERN.check(7, 3..=3, &mixed).unwrap_err().at,
            256,
            "one write alone is whole"
        );
        assert!(PATTERN.check(7, 2..=3, &mixed).is_err());
        let foreign = [&block(7, 3)[..256], &block(8, 4)[256..]].concat();
        assert!(PATTERN.check(7, 3..=4, &foreign).is_err());
    }

    #[test]
    fn other_seeds_make_other_blocks() {
        let mut other = vec![0; 520];
        Pattern::new(43).fill(7, 3, &mut other);
        assert_ne!(other, block(7, 3));
        assert!(PATTERN.check(7, 3..=3, &other).is_err());
    }
}
