//! Boundaries of records and their fields (RFC 4180, and the line ends and delimiters that files
//! really have). Stricter than a reader that guesses: ambiguous text is an error, since a field
//! read wrongly would be left in the clear.

/// A field: its bytes with its quotes, if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
}

/// Reason why a record cannot be read. Offsets are from the beginning of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    OpenQuote { at: usize },
    InnerQuote { at: usize },
    NoText { at: usize, what: &'static str },
}

/// Splits the record that begins at `at` in `data` into `fields`. Returns where its text ends and
/// where the next record begins. A record without its line end is the last one.
pub(super) fn record(
    data: &[u8],
    at: usize,
    delimiter: u8,
    fields: &mut Vec<Span>,
) -> Result<(usize, usize), Flaw> {
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
            None => return Ok((at, at)),
            Some(b'\n') => return Ok((at, at + 1)),
            Some(b'\r') if data.get(at + 1) == Some(&b'\n') => return Ok((at, at + 2)),
            Some(&byte) if byte == delimiter => at += 1,
            Some(0) => return Err(Flaw::NoText { at, what: "a zero byte" }),
            Some(b'\r') => {
                return Err(Flaw::NoText { at, what: "a carriage return within a line" });
            }
            Some(_) => return Err(Flaw::InnerQuote { at }),
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
pub(super) fn whole_records(data: &[u8], delimiter: u8) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &str, delimiter: u8) -> Result<Vec<Vec<String>>, Flaw> {
        let (mut at, mut records, mut fields) = (0, Vec::new(), Vec::new());
        while at < data.len() {
            (_, at) = record(data.as_bytes(), at, delimiter, &mut fields)?;
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
        assert_eq!(all("a,\"b\"c\n", b','), Err(Flaw::InnerQuote { at: 5 }));
        assert_eq!(all("a,\0b\n", b','), Err(Flaw::NoText { at: 2, what: "a zero byte" }));
        assert_eq!(
            all("a,b\rc\n", b','),
            Err(Flaw::NoText { at: 3, what: "a carriage return within a line" })
        );
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
