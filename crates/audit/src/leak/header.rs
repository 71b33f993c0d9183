//! Headers: places at which compressed data may begin.
//!
//! Not here: decompression, which shows whether it does (`stream`), and the blocks of WiredTiger
//! and RocksDB, which have no header of their own (`wiredtiger`, `rocksdb`).

use memchr::memmem::Finder;

use super::hit::Compression;
use super::window::View;

/// RFC 1952, 2.3: with the one method that there is.
const GZIP: &[u8] = &[0x1F, 0x8B, 0x08];
/// RFC 8878, 3.1.1.
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
/// The frame format of lz4, 1.6.4.
const LZ4: &[u8] = &[0x04, 0x22, 0x4D, 0x18];
/// First bytes of zlib (RFC 1950, 2.2): of windows of 32 KiB, and of 16 KiB, as in compressed pages
/// of InnoDB.
const ZLIB: [u8; 2] = [0x78, 0x68];
/// Set in the second byte of zlib if a dictionary is needed.
const ZLIB_DICTIONARY: u8 = 0x20;

/// The headers, ready to be looked for.
pub(super) struct Headers(Vec<(Compression, Finder<'static>)>);

impl Headers {
    pub(super) fn new() -> Self {
        let all = [(Compression::Gzip, GZIP), (Compression::Zstd, ZSTD), (Compression::Lz4, LZ4)];
        Self(all.map(|(kind, magic)| (kind, Finder::new(magic))).into())
    }

    /// Calls `found` for every header that begins in the piece, with its index.
    pub(super) fn search(&self, view: &View<'_>, found: &mut dyn FnMut(Compression, usize)) {
        for (kind, finder) in &self.0 {
            let end = view.bytes.len().min(view.to + finder.needle().len() - 1);
            for place in finder.find_iter(&view.bytes[view.from..end]) {
                found(*kind, view.from + place);
            }
        }
        let piece = &view.bytes[view.from..view.to];
        for place in memchr::memchr2_iter(ZLIB[0], ZLIB[1], piece) {
            let at = view.from + place;
            if is_zlib(&view.bytes[at..]) {
                found(Compression::Zlib, at);
            }
        }
    }
}

/// Returns whether `bytes` begin with a right second byte of zlib, and a block that may be one.
fn is_zlib(bytes: &[u8]) -> bool {
    let [method, flags, rest @ ..] = bytes else { return false };
    let check = u16::from_be_bytes([*method, *flags]);
    check.is_multiple_of(31) && flags & ZLIB_DICTIONARY == 0 && is_block(rest)
}

/// Returns whether `bytes` may begin with the first block of deflate (RFC 1951, 3.2.3): quicker
/// than to try, for random data.
fn is_block(bytes: &[u8]) -> bool {
    match bytes {
        // two lengths, one the complement of the other
        [first, low, high, not_low, not_high, ..] if first & 0b110 == 0 => {
            *low == !not_low && *high == !not_high
        }
        [first, second, ..] if first & 0b110 == 0b100 => {
            // numbers of codes: at most 286 and 30
            first >> 3 <= 29 && second & 0b1_1111 <= 29
        }
        [first, _, ..] => first & 0b110 == 0b010,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_told_from_other_bytes() {
        let found = |bytes: &[u8]| {
            let mut all = Vec::new();
            let view = View { bytes, base: 0, from: 0, to: bytes.len() };
            Headers::new().search(&view, &mut |kind, at| all.push((kind, at)));
            all
        };
        assert_eq!(found(&[0, 0x1F, 0x8B, 0x08]), [(Compression::Gzip, 1)]);
        assert_eq!(found(&[0x28, 0xB5, 0x2F, 0xFD, 0]), [(Compression::Zstd, 0)]);
        assert_eq!(found(&[0x04, 0x22, 0x4D, 0x18, 0x04]), [(Compression::Lz4, 0)]);
        assert_eq!(found(&[0x1F, 0x1F, 0x8B]), []);
        // fixed codes
        for (method, flags) in
            [(0x78, 0x01), (0x78, 0x5E), (0x78, 0x9C), (0x78, 0xDA), (0x68, 0xDE)]
        {
            assert_eq!(found(&[method, flags, 0x4B, 0x4C]), [(Compression::Zlib, 0)]);
        }
        assert_eq!(found(&[0x78, 0x9D, 0x4B, 0x4C]), [], "the check of the header");
        assert_eq!(found(&[0x78, 0xBB, 0x4B, 0x4C]), [], "a dictionary");
        assert_eq!(found(&[0x78, 0x9C, 0x07, 0x4C]), [], "no type of block");
        assert_eq!(found(&[0x78, 0x9C, 0x01, 5, 0, 0xFA, 0xFF]), [(Compression::Zlib, 0)]);
        assert_eq!(found(&[0x78, 0x9C, 0x01, 5, 0, 0xFA, 0xFE]), [], "a length");
        assert_eq!(found(&[0x78, 0x9C, 0xF5, 0]), [], "too many codes");
        assert_eq!(found(&[0x78, 0x9C]), []);
    }
}
