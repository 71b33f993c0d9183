//! The sieve: looks for all patterns at once. Every third place of a file is looked at; four bytes
//! there, hashed, are in a table of bits if a pattern has them near its beginning, and only then
//! that pattern is compared. A pattern of at least six bytes has exactly one such place in its
//! first window of six.

use std::collections::HashMap;

use super::hit::Encoding;
use super::pattern::Pattern;
use super::window::View;

/// Distance of the places that are looked at.
const STEP: usize = 3;
/// Bytes that are looked at.
const KEY_BYTES: usize = 4;
/// Bytes of a pattern that contain all bytes looked at.
const ANCHOR_BYTES: usize = STEP - 1 + KEY_BYTES;
/// Number of places within a pattern among which its anchor is chosen.
const ANCHORS_MAX: usize = 64;

/// Patterns, ready to be looked for.
pub(super) struct Sieve {
    patterns: Vec<Pattern>,
    /// One bit for each hash of four bytes.
    bits: Vec<u64>,
    /// Number of bits by which a product is shifted to be a hash.
    shift: u32,
    /// In order of keys.
    entries: Vec<Entry>,
    /// Largest distance of a key from the beginning of its pattern.
    farthest: usize,
}

struct Entry {
    key: u32,
    pattern: u32,
    /// Distance from the beginning of the pattern.
    at: usize,
}

impl Sieve {
    pub(super) fn new(patterns: Vec<Pattern>) -> Self {
        let mut entries = Vec::new();
        let mut users = HashMap::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let anchor = anchor(&pattern.bytes, &users);
            for at in anchor..anchor + STEP {
                let key = key(&pattern.bytes[at..]);
                *users.entry(key).or_default() += 1;
                entries.push(Entry { key, pattern: number as u32, at });
            }
        }
        entries.sort_unstable_by_key(|entry| entry.key);
        // few of the bits are set, and the table stays in the processor's cache
        let log = (entries.len() * 64).next_power_of_two().ilog2().clamp(14, 20);
        let mut sieve = Self {
            farthest: entries.iter().map(|entry| entry.at).max().unwrap_or_default(),
            bits: vec![0; 1 << (log - 6)],
            shift: u32::BITS - log,
            patterns,
            entries: Vec::new(),
        };
        for entry in &entries {
            let (word, bit) = sieve.place(entry.key);
            sieve.bits[word] |= bit;
        }
        sieve.entries = entries;
        sieve
    }

    /// Returns the length of the longest pattern, in bytes.
    pub(super) fn longest(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.bytes.len()).max().unwrap_or_default()
    }

    /// Calls `found` for every pattern that begins in the piece, with the number of its marker, its
    /// encoding and its offset.
    pub(super) fn search(&self, view: &View<'_>, found: &mut dyn FnMut(u32, Encoding, u64)) {
        if self.patterns.is_empty() {
            return;
        }
        let end = view.bytes.len().min(view.to + self.farthest + KEY_BYTES);
        let places = view.bytes[view.from..end].windows(KEY_BYTES).step_by(STEP);
        for (number, place) in places.enumerate() {
            let key = key(place);
            let (word, bit) = self.place(key);
            if self.bits[word] & bit != 0 {
                self.compare(view, view.from + number * STEP, key, found);
            }
        }
    }

    /// Compares the patterns that have `key`, which is at `index`.
    #[cold]
    fn compare(
        &self,
        view: &View<'_>,
        index: usize,
        key: u32,
        found: &mut dyn FnMut(u32, Encoding, u64),
    ) {
        let first = self.entries.partition_point(|entry| entry.key < key);
        for entry in self.entries[first..].iter().take_while(|entry| entry.key == key) {
            let Some(start) = index.checked_sub(entry.at) else { continue };
            let pattern = &self.patterns[entry.pattern as usize];
            if (view.from..view.to).contains(&start) && pattern.is_at(view, start) {
                found(pattern.what, pattern.encoding, view.offset(start));
            }
        }
    }

    /// Returns the word and the bit in it that stand for `key`.
    fn place(&self, key: u32) -> (usize, u64) {
        // the golden ratio, as in Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4)
        let hash = key.wrapping_mul(0x9E37_79B1) >> self.shift;
        ((hash / u64::BITS) as usize, 1 << (hash % u64::BITS))
    }
}

/// Returns the first four of `bytes` as a number.
fn key(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Returns the place of a pattern's anchor: the one whose keys the fewest patterns have already,
/// and that does not repeat one byte, as filled space does.
fn anchor(pattern: &[u8], users: &HashMap<u32, u32>) -> usize {
    let cost = |anchor: usize| {
        let keys = (anchor..anchor + STEP).map(|at| key(&pattern[at..]));
        let cost = |key: u32| {
            let repeats = key == key.rotate_left(8);
            (u32::from(repeats), users.get(&key).copied().unwrap_or_default())
        };
        keys.map(cost).max()
    };
    let anchors = 0..(pattern.len() + 1 - ANCHOR_BYTES).min(ANCHORS_MAX);
    anchors.min_by_key(|&anchor| cost(anchor)).unwrap_or_default()
}
