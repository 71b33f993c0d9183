//! Positions of the bytes of a message in tiles of key stream. A kernel makes whole tiles of 256
//! blocks, whose first counter is a multiple of 256; data is put into the device's memory at its
//! position in the tile.

use sealstone_cipher::Error;

use crate::runtime::{Argument, Launch};

/// Blocks in a tile, and threads that share one.
const TILE_BLOCKS: u64 = 256;
const TILE_THREADS: u32 = 8;

/// The counter block of a tile's first block: for blocks of 8 bytes the high half is 0 and of no
/// effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) high: u64,
    pub(crate) low: u64,
}

/// The place of a message in the key stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    block_bytes: usize,
    /// Counter block of the first tile.
    first: u128,
    /// Bytes of the first tile before the message.
    before: usize,
}

/// A piece of a message, as a device takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Offset in the device's memory, in bytes.
    pub(crate) at: usize,
    /// The counter block of the first tile.
    pub(crate) start: Start,
    /// Tiles that it touches.
    pub(crate) tiles: u32,
    /// Length of a tile in bytes.
    pub(crate) tile_bytes: usize,
}

impl Piece {
    /// Encrypts it by `run`, which runs a kernel of counter mode.
    pub(crate) fn apply<T>(&self, run: impl FnOnce(&Launch) -> T) -> T {
        let Self { start, tiles, tile_bytes, .. } = *self;
        let threads = tiles.checked_mul(TILE_THREADS).expect("tiles of one lane");
        let arguments =
            [Argument::Word64(start.high), Argument::Word64(start.low), Argument::Word(tiles)];
        run(&Launch { threads, bytes: tiles as usize * tile_bytes, arguments: &arguments })
    }
}

impl Place {
    /// Returns the place from byte `offset_bytes` on of the key stream that begins at `initial`,
    /// one block of 8 or 16 bytes.
    ///
    /// # Errors
    /// `Error::NonceLength` for another length.
    pub(crate) fn new(
        block_bytes: usize,
        initial: &[u8],
        offset_bytes: u64,
    ) -> Result<Self, Error> {
        if initial.len() != block_bytes {
            return Err(Error::NonceLength { found: initial.len(), want: block_bytes });
        }
        let initial = initial.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        // The upper half of a sum of 64-bit counters is never looked at.
        let counter = initial.wrapping_add(u128::from(offset_bytes / block_bytes as u64));
        let block = counter % u128::from(TILE_BLOCKS);
        let before = block as usize * block_bytes + (offset_bytes % block_bytes as u64) as usize;
        Ok(Self { block_bytes, first: counter - block, before })
    }

    /// Returns the length of a tile in bytes.
    pub(crate) fn tile_bytes(block_bytes: usize) -> usize {
        TILE_BLOCKS as usize * block_bytes
    }

    /// Returns the piece of `bytes` bytes from byte `from` of the message on. It needs `at +
    /// bytes`, rounded up to whole tiles, of the device's memory.
    pub(crate) fn piece(&self, from: usize, bytes: usize) -> Piece {
        let tile_bytes = Self::tile_bytes(self.block_bytes);
        let (tile, at) = ((self.before + from) / tile_bytes, (self.before + from) % tile_bytes);
        let counter = self.first.wrapping_add(tile as u128 * u128::from(TILE_BLOCKS));
        let start = Start { high: (counter >> 64) as u64, low: counter as u64 };
        let tiles =
            u32::try_from((at + bytes).div_ceil(tile_bytes)).expect("a chunk of the device's");
        Piece { at, start, tiles, tile_bytes }
    }

    /// Returns the length of the first chunk of a message where each takes `chunk_bytes` (whole
    /// tiles) of the device's memory.
    pub(crate) fn first_chunk_bytes(&self, chunk_bytes: usize) -> usize {
        chunk_bytes - self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_where_the_stream_does() {
        let place = Place::new(8, &[0, 0, 0, 0, 0, 0, 1, 3], 8 * 256 + 5).unwrap();
        let piece = place.piece(0, 1);
        assert_eq!(
            (piece.at, piece.start, piece.tiles),
            (3 * 8 + 5, Start { high: 0, low: 0x200 }, 1)
        );
        let piece = place.piece(2048 - 29, 2049);
        assert_eq!((piece.at, piece.start, piece.tiles), (0, Start { high: 0, low: 0x300 }, 2));
        assert_eq!(place.first_chunk_bytes(4096), 4096 - 29);
    }

    #[test]
    fn counters_wrap_within_their_block() {
        let place = Place::new(16, &[0xff; 16], 16).unwrap();
        assert_eq!(place.piece(0, 16).start, Start { high: 0, low: 0 });
        let place = Place::new(16, &[0xff; 16], 0).unwrap();
        assert_eq!(place.piece(16, 1).start, Start { high: 0, low: 0 });
        assert_eq!(place.piece(0, 1).start, Start { high: u64::MAX, low: u64::MAX - 255 });
        let place = Place::new(8, &[0xff; 8], 8).unwrap();
        assert_eq!(place.piece(0, 1).start.low, 0);
    }

    #[test]
    fn wrong_counter_blocks_are_refused() {
        assert_eq!(Place::new(8, &[0; 16], 0), Err(Error::NonceLength { found: 16, want: 8 }));
    }
}
