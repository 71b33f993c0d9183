//! Boundaries of records and their fields (RFC 4180, and the line ends and delimiters that files
//! really have).

use std::borrow::Cow;

/// Longest record in bytes. A longer one is more likely a quote that was closed much later than it
/// should be.
pub const RECORD_BYTES_MAX: usize = 1 << 20;

/// A record without what is in it. Offsets are from the beginning of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Offset behind its last field.
    pub text_end: usize,
    /// Offset of the next record.
    pub end: usize,
}

/// A field: its bytes with its quotes, if it has any. Offsets are from the beginning of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
    /// True if it begins and ends with a quote.
    pub quoted: bool,
}

impl Span {
    /// Returns the bytes of the field in `data` without the quotes around it; a quote within it is
    /// still doubled if the field is quoted.
    #[must_use]
    pub fn bytes(self, data: &[u8]) -> &[u8] {
        let quote = usize::from(self.quoted);
        &data[self.start + quote..self.end - quote]
    }

    /// Returns the value of the field in `data`: without the quotes around it, quotes within it
    /// single.
    #[must_use]
    pub fn value(self, data: &[u8]) -> Cow<'_, [u8]> {
        let bytes = self.bytes(data);
        if !self.quoted || memchr::memchr(b'"', bytes).is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut value = Vec::with_capacity(bytes.len());
        let mut doubled = false;
        for &byte in bytes {
            doubled = byte == b'"' && !doubled;
            if byte != b'"' || doubled {
                value.push(byte);
            }
        }
        Cow::Owned(value)
    }
}

/// Reason why a record cannot be read. Offsets are from the beginning of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A quote that is never closed.
    OpenQuote {
        /// Offset of the quote.
        at: usize,
    },
    /// Something between a closing quote and the end of the field.
    InnerQuote {
        /// Offset behind the closing quote.
        at: usize,
        /// Offset of the opening one.
        opened: usize,
    },
    /// A byte that no text has.
    NoText {
        /// Its offset.
        at: usize,
        /// Description of it.
        what: &'static str,
    },
}

/// Splits the record that begins at offset `at` of `data` into `fields`, which are replaced. A
/// record without its line end is the last one; a blank line is a record of one empty field.
///
/// # Errors
/// [`Flaw`]; `fields` then holds those before it.
///
/// Source: RFC 4180, section 2.
pub fn record(
    data: &[u8],
    at: usize,
    delimiter: u8,
    fields: &mut Vec<Span>,
) -> Result<Record, Flaw> {
    fields.clear();
    let mut at = at;
    loop {
        let quoted = data.get(at) == Some(&b'"');
        let start = at;
        if quoted {
            at = closing_quote(data, at)? + 1;
        } else {
            at += data[at..]
                .iter()
                .position(|&byte| is_end(byte, delimiter))
                .unwrap_or(data.len() - at);
        }
        fields.push(Span { start, end: at, quoted });
        match data.get(at) {
            None => return Ok(Record { text_end: at, end: at }),
            Some(b'\n') => return Ok(Record { text_end: at, end: at + 1 }),
            Some(b'\r') if data.get(at + 1) == Some(&b'\n') => {
                return Ok(Record { text_end: at, end: at + 2 });
            }
            Some(&byte) if byte == delimiter => at += 1,
            Some(0) => return Err(Flaw::NoText { at, what: "a zero byte" }),
            Some(b'\r') => {
                return Err(Flaw::NoText { at, what: "a carriage return within a line" });
            }
            Some(_) => return Err(Flaw::InnerQuote { at, opened: start }),
        }
    }
}

/// Returns whether an unquoted field ends at `byte`, or may not go on there.
fn is_end(byte: u8, delimiter: u8) -> bool {
    byte == delimiter || byte == b'\n' || byte == b'\r' || byte == 0
}

/// Returns the position at which the quote that opens at `at` is closed.
fn closing_quote(data: &[u8], at: usize) -> Result<usize, Flaw> {
    let mut next = at + 1;
    loop {
        let Some(found) = memchr::memchr2(b'"', 0, &data[next..]) else {
            return Err(Flaw::OpenQuote { at });
        };
        let found = next + found;
        if data[found] == 0 {
            return Err(Flaw::NoText { at: found, what: "a zero byte" });
        }
        if data.get(found + 1) != Some(&b'"') {
            return Ok(found);
        }
        next = found + 2;
    }
}

/// Returns the end of the last complete record of `data`, including its line end; 0 if none is
/// complete. `data` begins with a record.
#[must_use]
pub fn whole_records(data: &[u8], delimiter: u8) -> usize {
    if memchr::memchr(b'"', data).is_none() {
        return memchr::memrchr(b'\n', data).map_or(0, |at| at + 1);
    }
    let (mut at, mut end) = (0, 0);
    let mut field_begins = true;
    while let Some(&byte) = data.get(at) {
        match byte {
            b'"' if field_begins => match closing_quote(data, at) {
                Ok(closed) => {
                    at = closed;
                    field_begins = false;
                }
                // cut within the quotes; an error there is found when it is read
                Err(_) => break,
            },
            b'\n' => {
                end = at + 1;
                field_begins = true;
            }
            byte => field_begins = byte == delimiter,
        }
        at += 1;
    }
    end
}

/// Returns the line, from 1, on which offset `at` of `data` is.
#[must_use]
pub fn line_of(data: &[u8], at: usize) -> u64 {
    1 + memchr::memchr_iter(b'\n', &data[..at]).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &str, delimiter: u8) -> Result<Vec<Vec<String>>, Flaw> {
        let (mut at, mut records, mut fields) = (0, Vec::new(), Vec::new());
        while at < data.len() {
            at = record(data.as_bytes(), at, delimiter, &mut fields)?.end;
            records.push(fields.iter().map(|span| data[span.start..span.end].to_owned()).collect());
        }
        Ok(records)
    }

    #[test]
    fn records_and_fields_are_found() {
        let rows = |data: &str| all(data, b',').unwrap();
        assert_eq!(rows("a,b\n1,2\r\n3,\n"), [["a", "b"], ["1", "2"], ["3", ""]]);
        assert_eq!(rows("a,b"), [["a", "b"]]);
        assert_eq!(rows("\"a,\n\"\"x\",b\n"), [["\"a,\n\"\"x\"", "b"]]);
        assert_eq!(rows("5\" pipe,b\n"), [["5\" pipe", "b"]]);
        assert_eq!(rows(",\n"), [["", ""]]);
        assert_eq!(rows("\"\",\"\"\"\"\n"), [["\"\"", "\"\"\"\""]]);
        assert_eq!(all("a;b\n", b';').unwrap(), [["a", "b"]]);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_a_flaw() {
        assert_eq!(all("a,\"b\n", b','), Err(Flaw::OpenQuote { at: 2 }));
        assert_eq!(all("a,\"b\"c\n", b','), Err(Flaw::InnerQuote { at: 5, opened: 2 }));
        assert_eq!(all("a,\0b\n", b','), Err(Flaw::NoText { at: 2, what: "a zero byte" }));
        assert_eq!(
            all("a,b\rc\n", b','),
            Err(Flaw::NoText { at: 3, what: "a carriage return within a line" })
        );
    }

    #[test]
    fn values_have_single_quotes() {
        let data = b"\"said \"\"no\"\"\",5\" \"\",\"\"\"\"\"\",\"\",plain\n";
        let mut fields = Vec::new();
        record(data, 0, b',', &mut fields).unwrap();
        let values: Vec<_> = fields.iter().map(|field| field.value(data)).collect();
        assert_eq!(values, [&b"said \"no\""[..], b"5\" \"\"", b"\"\"", b"", b"plain"]);
        assert_eq!((line_of(data, 0), line_of(data, data.len())), (1, 2));
    }

    #[test]
    fn pieces_end_with_records() {
        for data in [
            "a,b\n1,2\n3",
            "a,\"x\ny\"\n1,\"2\n",
            "\"a\"\"\n\"\nb,c\nd",
            "5\" pipe\n\"a\nb\"\n",
            "a\r\n\"b\r\n",
        ] {
            let end = whole_records(data.as_bytes(), b',');
            let records = all(&data[..end], b',').unwrap();
            assert!(end == 0 || data[..end].ends_with('\n'), "{data:?}");
            // one more byte than that is no whole record
            for longer in end + 1..=data.len() {
                let more = all(&data[..longer], b',');
                assert!(
                    more.is_err()
                        || !data[..longer].ends_with('\n')
                        || more.unwrap().len() == records.len()
                );
            }
        }
    }
}
