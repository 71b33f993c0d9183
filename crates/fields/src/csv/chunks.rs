//! A file in pieces of whole records, each with the number of its first line.

use std::io::Read;

use sealstone_csv::{RECORD_BYTES_MAX, whole_records};

use super::error::CsvError;

/// Number of bytes read at once unless specified otherwise.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Some whole records.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) data: Vec<u8>,
    /// Number of its first line, from 1.
    pub(super) line: u64,
}

/// Reads chunks.
#[derive(Debug)]
pub(super) struct Chunks<R> {
    input: R,
    delimiter: u8,
    chunk_bytes: usize,
    /// The beginning of a record whose end was not read yet.
    rest: Vec<u8>,
    line: u64,
    at_end: bool,
}

impl<R: Read> Chunks<R> {
    /// Reads `chunk_bytes` at a time from `input`.
    pub(super) fn new(input: R, delimiter: u8, chunk_bytes: usize) -> Self {
        Self {
            input,
            delimiter,
            chunk_bytes: chunk_bytes.max(1),
            rest: Vec::new(),
            line: 1,
            at_end: false,
        }
    }

    /// Returns the next chunk, in the memory of `used`; none at the end.
    pub(super) fn next(&mut self, mut used: Vec<u8>) -> Result<Option<Chunk>, CsvError> {
        used.clear();
        used.append(&mut self.rest);
        let mut wanted = self.chunk_bytes;
        while !self.at_end {
            let before = used.len();
            let missing = (wanted - before) as u64;
            let read =
                self.input.by_ref().take(missing).read_to_end(&mut used).map_err(CsvError::Read)?;
            self.at_end = (read as u64) < missing;
            let end = if self.at_end { used.len() } else { whole_records(&used, self.delimiter) };
            if end > 0 {
                self.rest.extend_from_slice(&used[end..]);
                used.truncate(end);
                break;
            }
            if used.len() > RECORD_BYTES_MAX.max(self.chunk_bytes) {
                return Err(CsvError::TooLong { line: self.line });
            }
            wanted += self.chunk_bytes;
        }
        if used.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        self.line += memchr::memchr_iter(b'\n', &used).count() as u64;
        Ok(Some(Chunk { data: used, line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8]) -> Result<Vec<Chunk>, CsvError> {
        let mut chunks = Chunks::new(data, b',', CHUNK_BYTES);
        std::iter::from_fn(|| chunks.next(Vec::new()).transpose()).collect()
    }

    #[test]
    fn all_is_read_once_and_lines_are_counted() {
        let row = "17,\"two\nlines\",x\n";
        let data = row.repeat(3 * CHUNK_BYTES / row.len());
        let chunks = read(data.as_bytes()).unwrap();
        assert!(chunks.len() > 2);
        assert_eq!(
            chunks.iter().map(|chunk| chunk.data.as_slice()).collect::<Vec<_>>().concat(),
            data.as_bytes()
        );
        let mut line = 1;
        for chunk in chunks {
            assert_eq!(chunk.line, line);
            assert!(chunk.data.starts_with(b"17,"));
            line += chunk.data.iter().filter(|&&byte| byte == b'\n').count() as u64;
        }
        assert!(read(b"").unwrap().is_empty());
        assert_eq!(read(b"a,b").unwrap()[0].data, b"a,b");
    }

    #[test]
    fn a_quote_left_open_ends_the_reading() {
        let data = [b"a\n\"".to_vec(), vec![b'x'; 4 * CHUNK_BYTES]].concat();
        assert!(matches!(read(&data), Err(CsvError::TooLong { line: 2 })));
    }
}
