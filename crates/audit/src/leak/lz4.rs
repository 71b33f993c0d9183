//! Frames of lz4 (frame format 1.6.4, block format), sequence by sequence, so that of a block that
//! is cut or damaged what is before is found; libraries give whole blocks, of 4 MiB usually.
//!
//! Not here: checksums, which are skipped; frames that need a dictionary; the legacy format.

use std::io::{self, BufRead, Read};

/// Farthest that a sequence refers back, in bytes.
const HISTORY_BYTES: usize = 64 << 10;
/// Fewest bytes that a sequence repeats.
const MATCH_MIN: usize = 4;
/// Value of a length in a token that goes on in further bytes.
const LENGTH_GOES_ON: usize = 15;
/// Bit of a block's length: the block is not compressed.
const PLAIN: u32 = 1 << 31;

/// A frame that is being decompressed.
pub(super) struct Frame<'a> {
    /// The last bytes, [`HISTORY_BYTES`] of which stay.
    recent: Vec<u8>,
    /// Number of bytes of `recent` that the output has got.
    shown: usize,
    limit: u64,
    /// Number of bytes made.
    pub(super) made_bytes: u64,
    output: &'a mut dyn FnMut(&[u8]),
}

impl<'a> Frame<'a> {
    /// - `limit`: number of bytes after which to stop
    pub(super) fn new(limit: u64, output: &'a mut dyn FnMut(&[u8])) -> Self {
        let recent = Vec::with_capacity(3 * HISTORY_BYTES);
        Self { recent, shown: 0, limit, made_bytes: 0, output }
    }

    /// Decompresses `input`, from the magic number on.
    ///
    /// # Errors
    /// It is no frame, or has no end within the limit. The output has got everything before.
    pub(super) fn decompress(&mut self, input: &mut impl BufRead) -> io::Result<()> {
        let result = self.blocks(input);
        let shown = self.show();
        result.and(shown)
    }

    fn blocks(&mut self, input: &mut impl BufRead) -> io::Result<()> {
        const VERSION: u8 = 0b1100_0000;
        const BLOCK_CHECKSUM: u8 = 1 << 4;
        const CONTENT_SIZE: u8 = 1 << 3;
        const RESERVED_OR_DICTIONARY: u8 = 0b11;
        let [.., flags, sizes] = read::<6>(input)?;
        let size = sizes >> 4;
        if flags & (VERSION | RESERVED_OR_DICTIONARY) != 1 << 6
            || sizes & 0b1111 != 0
            || !(4..=7).contains(&size)
        {
            return Err(wrong());
        }
        if flags & CONTENT_SIZE != 0 {
            read::<8>(input)?;
        }
        // the check of the header
        read::<1>(input)?;
        loop {
            let word = u32::from_le_bytes(read(input)?);
            let bytes = word & !PLAIN;
            if word == 0 {
                return Ok(());
            }
            if bytes > 1 << (8 + 2 * size) {
                return Err(wrong());
            }
            let mut block = input.take(u64::from(bytes));
            if word & PLAIN != 0 {
                self.copy(&mut block, bytes as usize)?;
            } else {
                self.sequences(&mut block)?;
            }
            if flags & BLOCK_CHECKSUM != 0 {
                read::<4>(input)?;
            }
        }
    }

    fn sequences(&mut self, block: &mut io::Take<&mut impl BufRead>) -> io::Result<()> {
        loop {
            let [token] = read(block)?;
            let literals = length(usize::from(token >> 4), block)?;
            self.copy(block, literals)?;
            if block.limit() == 0 {
                return Ok(());
            }
            let back = usize::from(u16::from_le_bytes(read(block)?));
            let bytes = length(usize::from(token & 15), block)? + MATCH_MIN;
            self.repeat(back, bytes)?;
        }
    }

    /// Copies `bytes` bytes of the input.
    fn copy(&mut self, input: &mut impl BufRead, mut bytes: usize) -> io::Result<()> {
        while bytes > 0 {
            let ready = input.fill_buf()?;
            let count = ready.len().min(bytes).min(HISTORY_BYTES);
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.recent.extend_from_slice(&ready[..count]);
            input.consume(count);
            bytes -= count;
            self.make_room()?;
        }
        Ok(())
    }

    /// Repeats `bytes` bytes from `back` bytes before the end on, also such as come of that.
    fn repeat(&mut self, back: usize, mut bytes: usize) -> io::Result<()> {
        if back == 0 || back > self.recent.len() {
            return Err(wrong());
        }
        while bytes > 0 {
            let from = self.recent.len() - back;
            let count = back.min(bytes).min(HISTORY_BYTES);
            self.recent.extend_from_within(from..from + count);
            bytes -= count;
            self.make_room()?;
        }
        Ok(())
    }

    fn make_room(&mut self) -> io::Result<()> {
        if self.recent.len() >= 2 * HISTORY_BYTES { self.show() } else { Ok(()) }
    }

    /// Gives the output what it has not got, and forgets what is out of reach.
    fn show(&mut self) -> io::Result<()> {
        let new = &self.recent[self.shown..];
        self.made_bytes += new.len() as u64;
        (self.output)(new);
        self.recent.drain(..self.recent.len().saturating_sub(HISTORY_BYTES));
        self.shown = self.recent.len();
        if self.made_bytes >= self.limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    }
}

/// Reads the rest of a length that begins with `start`.
fn length(start: usize, block: &mut impl BufRead) -> io::Result<usize> {
    let mut length = start;
    let mut goes_on = start == LENGTH_GOES_ON;
    while goes_on {
        let [more] = read(block)?;
        // a block has at most 4 MiB of these
        length += usize::from(more);
        goes_on = more == u8::MAX;
    }
    Ok(length)
}

fn read<const BYTES: usize>(input: &mut impl Read) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn decompressed(mut frame: &[u8], limit: u64) -> (Vec<u8>, bool) {
        let mut all = Vec::new();
        let mut take = |bytes: &[u8]| all.extend_from_slice(bytes);
        let is_whole = Frame::new(limit, &mut take).decompress(&mut frame).is_ok();
        (all, is_whole)
    }

    /// Returns bytes that repeat near and far, and do not.
    fn data(bytes: usize, seed: u64) -> Vec<u8> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut data: Vec<u8> = vec![7; 300];
        while data.len() < bytes {
            let count = random.random_range(1..3000);
            let back = random.random_range(1..=data.len().min(70_000));
            for _ in 0..count {
                data.push(if seed.is_multiple_of(2) {
                    data[data.len() - back]
                } else {
                    random.random()
                });
            }
            data.push(random.random());
        }
        data.truncate(bytes);
        data
    }

    #[test]
    fn frames_of_another_implementation_are_read() {
        let modes = [BlockMode::Independent, BlockMode::Linked];
        let sizes = [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max4MB];
        for (seed, bytes) in
            [0, 1, 12, 13, 70_000, 700_000, 5_000_000, 1_000_001].iter().enumerate()
        {
            let data = data(*bytes, seed as u64);
            for (mode, size) in modes.iter().flat_map(|mode| sizes.map(|size| (*mode, size))) {
                for checked in [false, true] {
                    let info = FrameInfo::new()
                        .block_mode(mode)
                        .block_size(size)
                        .block_checksums(checked)
                        .content_checksum(checked)
                        .content_size(checked.then_some(data.len() as u64));
                    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
                    encoder.write_all(&data).unwrap();
                    let frame = encoder.finish().unwrap();
                    let (all, is_whole) = decompressed(&frame, u64::MAX);
                    assert!(is_whole && all == data, "{seed} {mode:?} {size:?}");
                    let (some, is_whole) = decompressed(&frame[..frame.len() / 2], u64::MAX);
                    assert!(!is_whole && data.starts_with(&some));
                    if data.len() > 100_000 {
                        assert!(!some.is_empty());
                        let (some, is_whole) = decompressed(&frame, 1000);
                        assert!(!is_whole && data.starts_with(&some));
                        assert!((1000..400_000).contains(&some.len()));
                    }
                }
            }
        }
    }

    #[test]
    fn anything_else_ends() {
        let mut random = StdRng::seed_from_u64(3);
        for _ in 0..20_000 {
            let mut frame = vec![0x04, 0x22, 0x4D, 0x18, 0x40, 0x70, 0];
            let mut block = vec![0; random.random_range(0..200)];
            random.fill(block.as_mut_slice());
            frame.extend((block.len() as u32).to_le_bytes());
            frame.extend(block);
            let (all, _) = decompressed(&frame, 1 << 20);
            assert!(all.len() <= (1 << 20) + 3 * HISTORY_BYTES);
        }
    }
}
