//! Bindings: what each sealed piece of a volume is bound to, 32 bytes of associated data that no
//! two pieces share.

use super::entry::ENTRY_BYTES;
use crate::header::FILE_ID_BYTES;

/// Kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Block,
    TagPage,
    LeafPage,
    Frame,
    Mark,
}

impl Piece {
    fn code(self) -> u32 {
        match self {
            Self::Block => 1,
            Self::TagPage => 2,
            Self::LeafPage => 3,
            Self::Frame => 4,
            Self::Mark => 5,
        }
    }
}

/// Returns the binding of the piece of kind `piece` with `number`, sealed in `epoch`. It is as long
/// as an entry, since it takes the place of a piece's own entry.
pub(super) fn binding(
    volume: &[u8; FILE_ID_BYTES],
    piece: Piece,
    epoch: u32,
    number: u64,
) -> [u8; ENTRY_BYTES] {
    let mut binding = [0; ENTRY_BYTES];
    binding[..16].copy_from_slice(volume);
    binding[16..20].copy_from_slice(&piece.code().to_be_bytes());
    binding[20..24].copy_from_slice(&epoch.to_be_bytes());
    binding[24..].copy_from_slice(&number.to_be_bytes());
    binding
}
