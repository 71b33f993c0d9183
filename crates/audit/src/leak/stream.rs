//! Decompression of streams, also of such that are cut, damaged, or none at all. Damaged
//! data is searched, too, whatever its checksum.
//!
//! Not here: where streams begin (`header`), and the blocks of WiredTiger and RocksDB
//! (`wiredtiger`, `rocksdb`).

use std::io::{self, BufRead, Read};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::hit::Compression;
use super::lz4::Frame;
use super::source::Source;

/// Most bytes of each compressed stream that are searched, decompressed.
pub const STREAM_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of it that are read: incompressible data is a little longer compressed.
const INPUT_BYTES_MAX: u64 = STREAM_BYTES_MAX + (STREAM_BYTES_MAX >> 5);
/// Bytes that are read and made at once. Deflate loses nothing at an error if all of its window of
/// 32 KiB has room.
const BUFFER_BYTES: usize = 64 << 10;
/// Largest window of zstd, as a power of two: what its own tools accept.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Longest name, comment or field in a header of gzip, in bytes.
const GZIP_FIELD_MAX: u64 = 1 << 16;

/// Compressed bytes: what is in memory already, and then the source.
pub(super) struct Input<'a> {
    head: &'a [u8],
    source: &'a dyn Source,
    /// Offset in the source of what comes behind `head` and `buffer`.
    at: u64,
    buffer: Vec<u8>,
    used: usize,
    pub(super) read_bytes: u64,
}

impl<'a> Input<'a> {
    /// - `head`: the first bytes
    /// - `at`: offset of the first byte in `source`
    pub(super) fn new(head: &'a [u8], source: &'a dyn Source, at: u64) -> Self {
        let at = at + head.len() as u64;
        Self { head, source, at, buffer: Vec::new(), used: 0, read_bytes: 0 }
    }

    fn is_cut(&self) -> bool {
        self.read_bytes >= INPUT_BYTES_MAX
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.is_cut() {
            return Ok(&[]);
        }
        if !self.head.is_empty() {
            return Ok(self.head);
        }
        if self.used == self.buffer.len() {
            self.buffer.resize(BUFFER_BYTES, 0);
            let count = self.source.read_at(self.at, &mut self.buffer)?;
            self.buffer.truncate(count);
            (self.at, self.used) = (self.at + count as u64, 0);
        }
        Ok(&self.buffer[self.used..])
    }

    fn consume(&mut self, count: usize) {
        self.read_bytes += count as u64;
        if self.head.is_empty() {
            self.used += count;
        } else {
            self.head = &self.head[count..];
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(into.len());
        into[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// End of a stream.
pub(super) struct Outcome {
    /// Number of bytes made.
    pub(super) made_bytes: u64,
    /// True if the stream has its end, and for zlib the right checksum.
    pub(super) is_whole: bool,
    /// True if it goes on beyond a limit.
    pub(super) is_cut: bool,
}

/// Receiver of decompressed bytes.
pub(super) type Output<'a> = &'a mut dyn FnMut(&[u8]);

/// State that is used again from one stream to the next.
pub(super) struct Streams {
    inflate: Decompress,
    zstd: Option<Decoder<'static>>,
    buffer: Vec<u8>,
}

/// Result of one step of decompression.
enum Step {
    GoesOn,
    Whole,
    /// The input is not one, or it is cut.
    Ends,
}

/// Function that makes the next bytes; returns their number.
type Advance<'a> = &'a mut dyn FnMut(&mut Input<'_>, &mut [u8]) -> (usize, Step);

impl Streams {
    pub(super) fn new() -> Self {
        Self { inflate: Decompress::new(false), zstd: None, buffer: vec![0; BUFFER_BYTES] }
    }

    /// Decompresses `input`, which begins with a header of `kind`, as far as it goes, to `output`.
    ///
    /// - `limit`: number of bytes after which to stop
    pub(super) fn decompress(
        &mut self,
        kind: Compression,
        input: &mut Input<'_>,
        limit: u64,
        output: Output<'_>,
    ) -> Outcome {
        let limit = limit.min(STREAM_BYTES_MAX);
        match kind {
            Compression::Gzip => match gzip_header(input) {
                Ok(true) => self.inflate(false, input, limit, output),
                _ => Outcome { made_bytes: 0, is_whole: false, is_cut: false },
            },
            Compression::Zlib => self.inflate(true, input, limit, output),
            Compression::Zstd => self.zstd(input, limit, output),
            Compression::Lz4 => lz4(input, limit, output),
            Compression::Snappy => unreachable!("it has no header"),
        }
    }

    /// - `is_zlib`: whether header and checksum of zlib are around the data. A header so short is
    ///   in random data often, and then the checksum decides.
    fn inflate(
        &mut self,
        is_zlib: bool,
        input: &mut Input<'_>,
        limit: u64,
        output: Output<'_>,
    ) -> Outcome {
        self.inflate.reset(is_zlib);
        let inflate = &mut self.inflate;
        run(&mut self.buffer, input, limit, output, &mut |input, buffer| {
            let Ok(data) = input.fill_buf() else { return (0, Step::Ends) };
            let (read, made) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(data, buffer, FlushDecompress::None);
            let (read, made) = (inflate.total_in() - read, inflate.total_out() - made);
            input.consume(read as usize);
            let step = match status {
                Ok(Status::StreamEnd) => Step::Whole,
                Ok(_) if read > 0 || made > 0 => Step::GoesOn,
                _ => Step::Ends,
            };
            (made as usize, step)
        })
    }

    fn zstd(&mut self, input: &mut Input<'_>, limit: u64, output: Output<'_>) -> Outcome {
        let decoder = match self.zstd.take() {
            Some(mut decoder) => decoder.reinit().map(|()| decoder),
            None => Decoder::new().and_then(|mut decoder| {
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
                Ok(decoder)
            }),
        };
        let Ok(decoder) = decoder else {
            return Outcome { made_bytes: 0, is_whole: false, is_cut: true };
        };
        let decoder = self.zstd.insert(decoder);
        run(&mut self.buffer, input, limit, output, &mut |input, buffer| {
            let Ok(data) = input.fill_buf() else { return (0, Step::Ends) };
            // an error does not tell how much was made before it: then all of it counts
            buffer.fill(0);
            match decoder.run_on_buffers(data, buffer) {
                Ok(done) => {
                    input.consume(done.bytes_read);
                    let step = match done.remaining {
                        0 => Step::Whole,
                        _ if done.bytes_read > 0 || done.bytes_written > 0 => Step::GoesOn,
                        _ => Step::Ends,
                    };
                    (done.bytes_written, step)
                }
                Err(_) => {
                    let made = buffer.iter().rposition(|byte| *byte != 0);
                    (made.map_or(0, |last| last + 1), Step::Ends)
                }
            }
        })
    }
}

fn lz4(input: &mut Input<'_>, limit: u64, output: Output<'_>) -> Outcome {
    let mut frame = Frame::new(limit, output);
    let is_whole = frame.decompress(input).is_ok();
    let made_bytes = frame.made_bytes;
    let is_cut = !is_whole && (made_bytes >= limit || input.is_cut());
    Outcome { made_bytes, is_whole, is_cut }
}

/// Has `step` fill the buffer until the stream ends or has made `limit` bytes.
fn run(
    buffer: &mut [u8],
    input: &mut Input<'_>,
    limit: u64,
    output: Output<'_>,
    step: Advance<'_>,
) -> Outcome {
    let mut made_bytes = 0;
    loop {
        let (count, end) = step(input, buffer);
        output(&buffer[..count]);
        made_bytes += count as u64;
        let (is_whole, is_cut) = match end {
            Step::Whole => (true, false),
            Step::Ends => (false, input.is_cut()),
            Step::GoesOn if made_bytes >= limit => (false, true),
            Step::GoesOn => continue,
        };
        return Outcome { made_bytes, is_whole, is_cut };
    }
}

/// Reads the header of gzip (RFC 1952, 2.3); returns whether it is one.
fn gzip_header(input: &mut Input<'_>) -> io::Result<bool> {
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    const CHECK: u8 = 1 << 1;
    const RESERVED: u8 = 0b1110_0000;
    let mut fixed = [0; 10];
    input.read_exact(&mut fixed)?;
    let flags = fixed[3];
    if flags & RESERVED != 0 {
        return Ok(false);
    }
    let mut pair = [0; 2];
    if flags & EXTRA != 0 {
        input.read_exact(&mut pair)?;
        let length = u64::from(u16::from_le_bytes(pair));
        if io::copy(&mut input.take(length), &mut io::sink())? < length {
            return Ok(false);
        }
    }
    for field in [NAME, COMMENT] {
        if flags & field != 0 && !skip_text(input)? {
            return Ok(false);
        }
    }
    if flags & CHECK != 0 {
        input.read_exact(&mut pair)?;
    }
    Ok(true)
}

/// Skips a text and the zero at its end; returns whether there is one.
fn skip_text(input: &mut Input<'_>) -> io::Result<bool> {
    let mut skipped = 0;
    while skipped < GZIP_FIELD_MAX {
        let ready = input.fill_buf()?;
        let end = memchr::memchr(0, ready);
        let count = end.map_or(ready.len(), |end| end + 1);
        input.consume(count);
        skipped += count as u64;
        if end.is_some() || count == 0 {
            return Ok(end.is_some());
        }
    }
    Ok(false)
}
