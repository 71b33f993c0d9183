//! Entries: the tag of one sealed piece of a volume and what its nonce was made of.

use crate::TAG_BYTES;

/// Length of an entry, in bytes.
pub const ENTRY_BYTES: usize = 32;

/// Everything, beside the keys, that it takes to open one sealed piece and to tell it from others.
///
/// The entry of all zeros is that of a piece that was never written: a hole. No sealed piece has
/// it, since epochs count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Authentication tag.
    pub tag: [u8; TAG_BYTES],
    /// The opening of the volume in which it was sealed, from 1.
    pub epoch: u32,
    /// Random bits of the nonce; zero for ciphers with 64-bit blocks.
    pub random: u32,
    /// Counter of the nonce.
    pub counter: u64,
}

impl Entry {
    /// The entry of a piece that was never written.
    pub const HOLE: Self = Self { tag: [0; TAG_BYTES], epoch: 0, random: 0, counter: 0 };

    /// Returns whether the piece was never written.
    #[must_use]
    pub fn is_hole(&self) -> bool {
        *self == Self::HOLE
    }

    /// Returns the stored bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..16].copy_from_slice(&self.tag);
        bytes[16..20].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.random.to_be_bytes());
        bytes[24..].copy_from_slice(&self.counter.to_be_bytes());
        bytes
    }

    /// Reads stored bytes. Any bytes are an entry; that it is genuine shows when its piece opens.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let number = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("32 bytes"));
        let (tag, _) = bytes.split_first_chunk().expect("32 bytes");
        Self {
            tag: *tag,
            epoch: number(16),
            random: number(20),
            counter: u64::from_be_bytes(*bytes[24..].first_chunk().expect("32 bytes")),
        }
    }

    /// Returns the nonce, right-aligned: its last bytes, as many as a nonce of the cipher has.
    pub(super) fn nonce(&self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.random.to_be_bytes());
        nonce[4..].copy_from_slice(&self.counter.to_be_bytes());
        nonce
    }
}
